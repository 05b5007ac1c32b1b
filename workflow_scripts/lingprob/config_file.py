"""config.yaml, written from its schema, so that what it says of a key cannot drift.

After a change in config.schema.yaml: `cd workflow_scripts && python -m lingprob.config_file`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import yaml

from lingprob.catalog import read_yaml
from lingprob.config import ROOT, config_schema

WIDTH = 100
HEAD = """\
Everything that you may change. A key that is left out has the value of the chosen scale
(workflow_scripts/lingprob/catalog/scales.yaml) or the default in config.schema.yaml, from which
this file is written. Override single keys with --config, e.g. --config scale=laptop. A key after
a # without a blank has a value by scale; the one shown is the paper's, or an example.
"""


def config_text(schema: dict[str, Any], scales: dict[str, dict[str, Any]]) -> str:
    """Return config.yaml: every key with its default and description, section by section.

    Args:
        schema: of the configuration; `examples` show a value of a key that has no default.
        scales: presets of each scale. A key that has some is shown but not set, or it would win;
            the paper's value is its example where the schema has none.
    """
    lines = [f"# {line}" for line in HEAD.splitlines()]
    for key, part in schema["properties"].items():
        lines.append("")
        if "properties" in part:
            lines += section(key, part, [preset.get(key, {}) for preset in scales.values()], "")
        else:
            lines += [*commented(part["description"], ""), f"{key}: {flow(part['default'])}"]
    return "\n".join(lines) + "\n"


def section(
    name: str, schema: dict[str, Any], presets: list[dict[str, Any]], indent: str
) -> list[str]:
    """Return the lines of a section, sections within it included; the last preset: the paper's."""
    lines, below = [f"{indent}{name}:"], indent + "  "
    for key, part in schema["properties"].items():
        if "properties" in part:
            lines += section(key, part, [preset.get(key, {}) for preset in presets], below)
            continue
        by_scale = "default" not in part or any(key in preset for preset in presets)
        example = part.get("examples", [presets[-1].get(key)])[0]
        value = part.get("default", example)
        setting = f"{below}{'#' if by_scale else ''}{key}: {flow(value)}"
        said = "; ".join(remarks(part, value))
        if len(setting) + len(said) + 3 <= WIDTH:
            lines.append(f"{setting} # {said}")
        else:
            lines += [*commented(said, below), setting]
    return lines


def remarks(part: dict[str, Any], value: Any) -> Iterator[str]:
    """Yield what is to be said of a key: its other choices, and its description."""
    others = [flow(choice) for choice in part.get("enum", []) if choice != value]
    if others:
        yield f"or {', '.join(others)}"
    yield part["description"]


def commented(text: str, indent: str) -> list[str]:
    """Return a text as comment lines."""
    return [f"{indent}# {line}" for line in textwrap.wrap(text, WIDTH - len(indent) - 2)]


def flow(value: Any) -> str:
    """Return a value as YAML in one line."""
    written = yaml.safe_dump([value], default_flow_style=True, sort_keys=False, width=10**6)
    return written.strip()[1:-1]


if __name__ == "__main__":
    written = config_text(config_schema(), read_yaml("scales.yaml"))
    (ROOT / "config.yaml").write_text(written, encoding="utf-8")
