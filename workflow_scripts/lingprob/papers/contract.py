"""What every room is given: its tables by name, and what the run says beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import unknown_name
from lingprob.io.tables import read_table
from lingprob.papers.rooms import Table, module_of

Tables = Mapping[str, pd.DataFrame]
Published = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What figures and scorecards say of a run that no table says.

    Args:
        scale: of the run.
        models: title, family and size of each model shown and, for figures, its look
            (`palette.describe_models`).
        titles: of data sets, by name.
        published: the paper's numbers, for figures that show them beside ours.
        options: what one paper alone needs, by name; its `figures.py` says what that is.
    """

    scale: str
    models: Mapping[str, Any] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    published: Published = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def read_tables(
    paper: str,
    files: Mapping[str, str | Sequence[str]],
    parts: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, pd.DataFrame]:
    """Read a room's tables by the names that the room declares.

    Args:
        paper: the room's target.
        files: the file of each table, or its files.
        parts: which model, data set or size each file is of, where its rows do not say.

    Raises LingprobError if the room has no table of a name, or a file is not such a table.
    """
    declared, found = module_of(paper, "inputs").TABLES, {}
    for name, given in files.items():
        if name not in declared:
            raise unknown_name(f"table of {paper}", name, declared)
        paths = [given] if isinstance(given, str) else list(given)
        tables = [_read(path, declared[name]) for path in paths]
        if declared[name].part:
            named = zip(tables, (parts or {})[name], strict=True)
            tables = [table.assign(**{declared[name].part: part}) for table, part in named]
        found[name] = tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)
    return found


def _read(path: str, table: Table) -> pd.DataFrame:
    if table.schema is not None:
        return read_table(path, table.schema)
    return pd.read_json(path, lines=True) if Path(path).suffix == ".jsonl" else pd.read_csv(path)
