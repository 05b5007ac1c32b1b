"""What the site shows of a scorecard: claims with their verdicts, numbers beside published ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from lingprob.scorecard.verdicts import NOT_RUN, order_verdicts

# Of what is simulated: the column of a table that says so, and the words in a scorecard's notes.
SIMULATED = {"ratings": "rating_source", "reading times": "rt_source"}
MINUS = "\N{MINUS SIGN}"


def claims_of(card: pd.DataFrame, figure: str | None) -> list[dict[str, Any]]:
    """Return the claims that a figure (ROOM/NAME; None: no figure) shows, in the card's order.

    Each has its `sentence`, `item` of the paper, `counts` of verdicts, and `rows`, the populations
    that it was tested in; those of claims that nothing was run for are empty.
    """
    claims = card[(card["kind"] == "claim") & _is_of(card, figure)]
    return [
        {
            "sentence": rows["sentence"].iloc[0],
            "item": rows["item"].iloc[0],
            "counts": order_verdicts(rows["verdict"]),
            "rows": rows[rows["verdict"] != NOT_RUN].to_dict("records"),
        }
        for _, rows in claims.groupby(["item", "column"], sort=False)
    ]


def numbers_of(card: pd.DataFrame, figure: str | None) -> list[dict[Any, Any]]:
    """Return the computed numbers that a figure or table (ROOM/NAME; None: none) shows."""
    numbers = card[(card["kind"] == "number") & (card["verdict"] != NOT_RUN) & _is_of(card, figure)]
    return numbers.to_dict("records")


def simulated_in(tables: Iterable[pd.DataFrame]) -> list[str]:
    """Return which of SIMULATED the rows of tables or the notes of scorecards say are simulated."""
    return [
        what
        for what, column in SIMULATED.items()
        if any(_says_simulated(table, what, column) for table in tables)
    ]


def shown(value: object) -> str:
    """Return a value as text: numbers to four significant places, nothing where there is none."""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
        return text.replace("-", MINUS)
    return "" if value is None or value is pd.NA else str(value)


def interval(row: dict[str, Any]) -> str:
    """Return the 95% interval of a row as text; nothing where there is none or it is a point."""
    low, high = row["low"], row["high"]
    known = pd.notna(low) and pd.notna(high) and low != high
    return f"{shown(low)} to {shown(high)}" if known else ""


def _is_of(card: pd.DataFrame, figure: str | None) -> pd.Series:
    return card["figure"].isna() if figure is None else card["figure"] == figure


def _says_simulated(table: pd.DataFrame, what: str, column: str) -> bool:
    in_column = column in table and bool((table[column] == "simulated").any())
    in_note = "note" in table and bool(table["note"].str.contains(f"simulated {what}").any())
    return in_column or in_note
