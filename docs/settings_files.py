"""Files that generate.py writes from the settings: config.yaml, its JSON schema, and a page."""

import json
import textwrap
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from lingprob.catalog import read_yaml
from lingprob.workflow.refusals import KINDS
from lingprob.workflow.settings import Section, Settings, descriptions, keys, section_of

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "workflow_scripts/lingprob/workflow/config.schema.json"
WIDTH = 100
CONFIG_HEAD = f"""\
# yaml-language-server: $schema={SCHEMA.relative_to(ROOT)}
# Everything that you may change. A key that is left out has the value of the chosen scale
# (workflow_scripts/lingprob/catalog/scales.yaml) or the default in settings.py, from which this
# file is written. Override single keys with --config, e.g. --config scale=laptop. A key after a #
# without a space has a value by scale. The value shown is the paper's, or an example.
"""
PAGE_HEAD = """\
# Settings

Every key of `config.yaml`, with its default. Written from
`workflow_scripts/lingprob/workflow/settings.py`. A key without a default has a value in each scale
(`workflow_scripts/lingprob/catalog/scales.yaml`).
"""


def written_files() -> dict[Path, str]:
    """Return the text of each file that is written from the settings."""
    return {
        ROOT / "config.yaml": config_text(),
        ROOT / "docs" / "settings.md": settings_page(),
        SCHEMA: expanded(json_schema()) + "\n",
    }


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of config.yaml, by which editors complete and check it."""
    schema = Settings.model_json_schema()
    parts = {**schema["$defs"], Settings.__name__: schema}
    for name, part in parts.items():
        for key, value in part["properties"].items():
            if said := descriptions().get((name, key)):
                part["properties"][key] = dict(sorted({**value, "description": said}.items()))
    for name, field in Settings.model_fields.items():
        if section_of(field):  # its keys may all be commented out
            schema["properties"][name] = {"anyOf": [schema["properties"][name], {"type": "null"}]}
    schema["$defs"] |= read_yaml("schema.yaml")["$defs"]
    for section, kind in KINDS.items():
        entries = schema["properties"][section]
        pattern = next(iter(entries["patternProperties"]))
        entries["patternProperties"] = {pattern: {"$ref": f"#/$defs/{kind}"}}
    return schema


def expanded(value: Any, levels: int = 4, indent: str = "") -> str:
    """Return JSON with one line for each key of the first levels."""
    if levels == 0 or not (isinstance(value, dict) and value):
        return json.dumps(value, ensure_ascii=False)
    below = indent + " "
    parts = [f'{below}"{key}": {expanded(part, levels - 1, below)}' for key, part in value.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def config_text() -> str:
    """Return config.yaml: every key with its default and description, section by section.

    A key that scales set is a comment with its default, its example or the paper's value. It would
    win over the scale otherwise.
    """
    presets = list(read_yaml("scales.yaml").values())
    lines = CONFIG_HEAD.splitlines()
    for name, field in Settings.model_fields.items():
        lines.append("")
        if inner := section_of(field):
            lines += section_lines(name, inner, [preset.get(name, {}) for preset in presets], "")
        else:
            lines += commented(descriptions()["Settings", name], "")
            lines.append(f"{name}: {flow(shown(field))}")
    return "\n".join(lines) + "\n"


def section_lines(
    name: str, section: type[Section], presets: list[dict[str, Any]], indent: str
) -> list[str]:
    """Return the lines of a section and of sections in it. The last preset is the paper's."""
    lines, below = [f"{indent}{name}:"], indent + "  "
    for key, field in section.model_fields.items():
        if inner := section_of(field):
            lines += section_lines(key, inner, [preset.get(key, {}) for preset in presets], below)
            continue
        by_scale = field.is_required() or any(key in preset for preset in presets)
        value = shown(field, presets[-1].get(key))
        setting = f"{below}{'#' if by_scale else ''}{key}: {flow(value)}"
        said = described(descriptions()[section.__name__, key], field, value)
        if len(setting) + len(said) + 3 <= WIDTH:
            lines.append(f"{setting} # {said}")
        else:
            lines += [*commented(said, below), setting]
    return lines


def shown(field: FieldInfo, otherwise: Any = None) -> Any:
    """Return a key's default, its example or another value, whichever it has first."""
    if field.default is not PydanticUndefined:
        return field.default
    return field.examples[0] if field.examples else otherwise


def described(said: str, field: FieldInfo, value: Any, mark: str = "") -> str:
    """Return a key's description, and its choices other than a value, each between marks."""
    others = [f"{mark}{flow(choice)}{mark}" for choice in choices(field) if choice != value]
    return said + (f". Other values: {', '.join(others)}" if others else "")


def choices(field: FieldInfo) -> list[Any]:
    """Return the values that a key may have, if they are few."""
    kind = field.annotation
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else [kind]
    found = [value for part in parts if get_origin(part) is Literal for value in get_args(part)]
    return [*found, *([True, False] if found and bool in parts else [])]


def commented(text: str, indent: str) -> list[str]:
    """Return a text as comment lines."""
    return [f"{indent}# {line}" for line in textwrap.wrap(text, WIDTH - len(indent) - 2)]


def flow(value: Any) -> str:
    """Return a value as YAML in one line."""
    written = yaml.safe_dump([value], default_flow_style=True, sort_keys=False, width=10**6)
    return written.strip()[1:-1]


def settings_page() -> str:
    """Return the docs' page: a table of each section's keys."""
    lines, before = PAGE_HEAD.splitlines(), None
    for key in keys():
        section, _, name = key.path.rpartition(".")
        if section != before:
            lines += ["", f"## {section or 'Top level'}", "", "| key | default | description |"]
            lines.append("|---|---|---|")
            before = section
        default = "by scale" if key.field.is_required() else f"`{flow(key.field.default)}`"
        said = described(key.description, key.field, key.field.default, "`").replace("|", r"\|")
        lines.append(f"| `{name}` | {default} | {said} |")
    return "\n".join(lines) + "\n"
