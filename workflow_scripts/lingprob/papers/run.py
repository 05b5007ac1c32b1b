"""What a paper's figures, tables and scorecard say of a run that none of its tables says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

logger = logging.getLogger(__name__)
FAILED = "failed"  # the one column of what stands in the place of a table
# Tables by the names of their schemas (`io.tables.read_tables`).
Tables = Mapping[str, pd.DataFrame]
# A paper's part of the catalog (`catalog.read_published`).
Published = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """What is said of a run, beside its tables.

    Args:
        scale: of the run.
        models: title, family, size and look of each model shown (`palette.describe_models`).
        titles: of data sets, by name.
        published: the paper's numbers and claims.
        note: stands in every figure.
    """

    scale: str
    models: Mapping[str, Any] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    published: Published = field(default_factory=dict)
    note: str = ""


def make_each(makers: Mapping[str, Callable[[], pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Make each table, by name. One that fails takes no other away: it says why in its place.

    The log has the whole error, and `failures` its message.
    """
    tables = {}
    for name, make in makers.items():
        try:
            tables[name] = make()
        except Exception as error:
            logger.exception("table %s was not made", name)
            text = f"{name} was not made. {type(error).__name__}: {error}"
            tables[name] = pd.DataFrame({FAILED: [text]})
    return tables


def failures(tables: Tables) -> dict[str, str]:
    """Return why tables of `make_each` were not made, by name; empty if all were."""
    failed = {name: table for name, table in tables.items() if list(table) == [FAILED]}
    return {name: table[FAILED].iloc[0] for name, table in failed.items()}
