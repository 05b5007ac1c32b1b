"""Where each paper's room is, and what its rules need to know of it.

A room is a package with `figures.draw(tables, run) -> {name: Figure}` and
`scorecard.compare(tables, published, run) -> scorecard table`, of tables that its own `TABLES`
names. Nothing here, nor in a room's `__init__`, imports what only a job needs.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import NamedTuple

# The parts of Oh, Zhu & Schuler (2025) are targets of their own.
ROOMS = {
    "morcela": "lingprob.papers.morcela",
    "overlap": "lingprob.papers.leakage.overlap",
    "training": "lingprob.papers.leakage.training",
    "reading": "lingprob.papers.leakage.reading",
    "string_probability": "lingprob.papers.string_probability",
    "context": "lingprob.papers.context",
}


class Table(NamedTuple):
    """What a table of a room is read as, and who takes it.

    `schema` is None for CSV and JSON lines, which are read as they are. Where rows do not say
    which model, data set or size they are of, `part` is the column that gets the name of each
    file's. The files of one table are put below each other.
    """

    schema: str | None
    part: str = ""
    drawn: bool = True
    compared: bool = True


def module_name(paper: str, part: str) -> str:
    """Return the full name of a room's `figures` or `scorecard`."""
    return f"{ROOMS[paper]}.{part}"


def tables_of(paper: str) -> dict[str, Table]:
    """Return the tables that a room declares, by name."""
    tables: dict[str, Table] = import_module(ROOMS[paper]).TABLES
    return tables


def part_of(paper: str, part: str) -> ModuleType:
    """Import a room's `figures` or `scorecard`."""
    return import_module(module_name(paper, part))
