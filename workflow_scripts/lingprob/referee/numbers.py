"""Our numbers against the published ones: reproduced, different, undecided, or not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from lingprob.referee.verdicts import DIFFERS, NOT_RUN, NOTHING, REPRODUCED, Estimate, judge_number
from lingprob.schemas import SCHEMAS

# Our estimate by row and column as the files of `catalog/published` name them.
Quantities = dict[tuple[str, str], Estimate]


def compare_numbers(
    published: Mapping[str, Any], ours: Quantities, scale: str
) -> list[dict[str, Any]]:
    """Return rows of a `scorecard` table, one for every number of `published`.

    An item of the catalog has, per column, `places` (printed decimals: half a unit of the last is
    the rounding), `decides` (the half width of our interval above which nothing is decided) and,
    only where nothing better exists, `tolerance` with its `reason`.
    """
    rows = []
    for item in published["items"]:
        for row, values in item["rows"].items():
            for place, value in enumerate(values):
                column = item["columns"][place]
                found = ours.get((row, column), NOTHING)
                rows.append(
                    {
                        "paper": published["paper"],
                        "kind": "number",
                        "item": item["item"],
                        "row": row,
                        "column": column,
                        "published": float(value),
                        **_judged(found, float(value), item, place),
                        "figure": item.get("figure"),
                        "scale": scale,
                    }
                )
    return rows


def _judged(
    ours: Estimate, published: float, item: Mapping[str, Any], place: int
) -> dict[str, Any]:
    rounding = 0.5 * 10.0 ** -item["places"][place]
    verdict, more = judge_number(ours, published, rounding, item["decides"][place])
    notes = [ours.note, more, item["note"]]
    tolerance = item["tolerance"][place] if "tolerance" in item else 0
    if tolerance and verdict != NOT_RUN:
        verdict = REPRODUCED if abs(ours.value - published) <= tolerance else DIFFERS
        notes.append(f"within {tolerance:g}: {item['reason']}")
    run = verdict != NOT_RUN
    return {
        "ours": ours.value if run else None,
        "low": ours.low if run else None,
        "high": ours.high if run else None,
        "difference": ours.value - published if run else None,
        "verdict": verdict,
        "note": "; ".join(note for note in notes if note),
    }


def make_scorecard(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a `scorecard` table of rows of numbers and claims."""
    names = SCHEMAS["scorecard"].names
    return pd.DataFrame(rows, columns=names)[names]
