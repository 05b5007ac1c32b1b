"""What the site is written from beside a run's results: its templates, and captions.

Rules read this module, so it imports nothing that only a job needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).parent / "templates"


def template_files() -> list[Path]:
    """Return the templates, style and script of the site, by name."""
    return sorted(TEMPLATES.iterdir())


def read_captions(folder: Path, rooms: Iterable[str]) -> dict[str, str]:
    """Return the captions of rooms (folders of results) by ROOM/NAME, from ROOM_NAME.rst."""
    found = {}
    for room in rooms:
        for path in sorted(folder.glob(f"{room}_*.rst")):
            name = path.stem.removeprefix(f"{room}_")
            found[f"{room}/{name}"] = path.read_text(encoding="utf-8").strip()
    return found


def rules_of(rules: Iterable[Any], files: Iterable[str]) -> dict[str, str]:
    """Return the name of the rule that makes each of some results, by its path below the results.

    Args:
        rules: Snakemake's, each with its `name` and its `output`.
        files: below results/. One that only a pattern with wildcards is the output for is none.
    """
    made = {str(path): rule.name for rule in rules for path in rule.output}
    return {path.removeprefix("results/"): made[path] for path in files if path in made}


def sentences(caption: str) -> list[str]:
    """Return the sentences of a caption as plain text; one begins with a capital."""
    plain = " ".join(caption.replace("`", "").split())
    return [part for part in re.split(r"(?<=[.?!])\s+(?=[A-Z])", plain) if part]
