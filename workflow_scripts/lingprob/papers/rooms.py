"""Papers' rooms: where each is, and what it declares.

A room is a package with `inputs.TABLES`, `figures.draw(tables, run) -> {name: Figure}` and
`scorecard.compare(tables, published, run) -> scorecard table`; one with tables of the paper's own
has `pages.tabulate(tables, run) -> {name: table}` too.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import NamedTuple

# The parts of Oh, Zhu & Schuler (2025) are targets of their own.
PACKAGES = {
    "morcela": "lingprob.papers.morcela",
    "overlap": "lingprob.papers.leakage.overlap",
    "training": "lingprob.papers.leakage.training",
    "reading": "lingprob.papers.leakage.reading",
    "string_probability": "lingprob.papers.string_probability",
    "context": "lingprob.papers.context",
}
# What a room's tables are for, and the module that takes them.
USES = {"plot": "figures", "compare": "scorecard", "tabulate": "pages"}
# Rooms whose claims and tables have one module each.
OF_FOUR_MODULES = {
    name: USES | {"compare": "claims", "tabulate": "tables"}
    for name in ("morcela", "overlap", "training", "reading", "string_probability")
}


class Table(NamedTuple):
    """What a table of a room is read as, and what it is for.

    `schema` is None for CSV and JSON lines, which are read as they are. Where rows do not say
    which model, data set or size they are of, `part` is the column that gets the name of each
    file's. The files of one table are put below each other.
    """

    schema: str | None
    uses: tuple[str, ...] = ("plot", "compare")
    part: str = ""


def module_name(paper: str, use: str) -> str:
    """Return the name of the module of a paper's room that takes its tables for a use."""
    return OF_FOUR_MODULES.get(paper, USES)[use]


def module_of(paper: str, name: str) -> ModuleType:
    """Import a module of a paper's room, by its name or by the use that it is for."""
    named = module_name(paper, name) if name in USES else name
    return import_module(f"{PACKAGES[paper]}.{named}")
