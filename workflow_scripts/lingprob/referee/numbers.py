"""Our numbers against the published ones: what agrees, what differs, what we cannot compute.

A module a target; each returns a `scorecard` table of its own paper.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from lingprob.schemas import SCHEMAS

NOT_COMPUTED = "not computed at this scale"
# Our value and a note, by row and column as the files of `catalog/published` name them.
Quantities = dict[tuple[str, str], tuple[float, str]]


def compare_numbers(published: dict[str, Any], ours: Quantities, scale: str) -> pd.DataFrame:
    """Return a `scorecard` table with a row for every number of `published`."""
    rows = []
    for item in published["items"]:
        for row, values in item["rows"].items():
            for column, value, tolerance in zip(
                item["columns"], values, item["tolerance"], strict=True
            ):
                found, note = ours.get((row, column), (None, ""))
                rows.append(
                    {
                        "paper": published["paper"],
                        "item": item["item"],
                        "row": row,
                        "column": column,
                        "published": float(value),
                        "ours": found,
                        "tolerance": float(tolerance),
                        "scale": scale,
                        "note": "; ".join(text for text in (note, item["note"]) if text),
                    }
                )
    numbers = pd.DataFrame(rows)
    numbers["difference"] = numbers["ours"].astype(float) - numbers["published"]
    numbers["verdict"] = [verdict(row) for row in numbers.itertuples()]
    return numbers


def verdict(row: Any) -> str:
    """Say whether a number agrees with the published one within its tolerance."""
    if pd.isna(row.ours):
        return NOT_COMPUTED
    return "agrees" if abs(row.difference) <= row.tolerance else "differs"


def claim(
    published: dict[str, Any],
    item: str,
    row: str,
    text: str,
    value: float,
    holds: bool,
    **more: str,
) -> dict[str, Any]:
    """Return a row of a `scorecard` table for a claim that needs no published number.

    Args:
        published: the target's part of the catalog.
        item: where the paper says so ("§4.1").
        row: what the claim is about (a model, a corpus).
        text: the claim ("gamma > 0").
        value: ours.
        holds: whether the claim holds for it.
        more: `scale` and, where there is one, `note`.
    """
    return {
        "paper": published["paper"],
        "item": item,
        "row": row,
        "column": text,
        "published": None,
        "ours": float(value),
        "difference": None,
        "tolerance": None,
        "verdict": "agrees" if holds else "differs",
        "note": "",
        **more,
    }


def make_scorecard(
    published: dict[str, Any], ours: Quantities, claims: list[dict[str, Any]], scale: str
) -> pd.DataFrame:
    """Return the `scorecard` table of a target: its published numbers, then its claims."""
    numbers = compare_numbers(published, ours, scale)
    parts = [numbers, pd.DataFrame(claims, columns=SCHEMAS["scorecard"].names)]
    filled = [part for part in parts if not part.empty]
    return pd.concat(filled, ignore_index=True)[SCHEMAS["scorecard"].names]
