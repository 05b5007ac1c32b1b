"""A paper's numbers and claims beside ours: the rows of its scorecard.

The catalog (`catalog/published/PAPER.yaml`) has the printed numbers (`items`) and what the paper
claims (`claims`). A paper's `STATISTICS` compute what each claim is judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.scorecard.verdicts import (
    DIFFERS,
    FAILED,
    NOT_RUN,
    NOTHING,
    REPRODUCED,
    Estimate,
    judge_claim,
    judge_number,
)

# Our estimate by row and column as the files of `catalog/published` name them.
Quantities = dict[tuple[str, str], Estimate]
# From a room's tables and its Run to the estimate of every population, by name ("MODEL/DATASET").
Statistic = Callable[[Mapping[str, pd.DataFrame], Any], Iterable[tuple[str, Estimate]]]


def judge_claims(
    published: Mapping[str, Any],
    statistics: Mapping[str, Statistic],
    tables: Mapping[str, pd.DataFrame],
    run: Any,
) -> list[dict[str, Any]]:
    """Return rows of a `scorecard` table, one for each claim and population.

    Args:
        published: the paper's part of the catalog. Each of its `claims` has `id`, `section`,
            `sentence` (in our words) and `expected` ("> X", "< X", "within X to Y"). It may have
            `exceptions` (what the paper says of single populations instead, by their first name),
            `figure`, `note` and, below .8, the `power` at the paper's effect and n.
        statistics: by claim id; each claim must have one.
        tables: the room's.
        run: the paper's `papers.run.Run`.

    A claim that no population of the run can test is one row, `not run`.
    Raises LingprobError for a claim without a statistic and a statistic without a claim.
    """
    claims = {claim["id"]: claim for claim in published.get("claims", [])}
    if odd := set(claims) ^ set(statistics):
        raise LingprobError(
            f"claims of {published['paper']}: {sorted(odd)} are not both in the catalog and in the "
            "room's STATISTICS. Add what is missing."
        )
    rows = []
    for name, claim in claims.items():
        found = list(statistics[name](tables, run))
        rows += [_row(published, claim, about, estimate, run.scale) for about, estimate in found]
        if not found:
            nothing = replace(NOTHING, note="nothing here tests it")
            rows.append(_row(published, claim, "(none)", nothing, run.scale))
    return rows


def _row(
    published: Mapping[str, Any],
    claim: Mapping[str, Any],
    about: str,
    estimate: Estimate,
    scale: str,
) -> dict[str, Any]:
    exceptions = claim.get("exceptions", {})
    exception = exceptions.get(about.split("/")[0])
    expected = exception or claim["expected"]
    verdict, more = judge_claim(estimate, expected)
    notes = [estimate.note, more, "the paper's stated exception" if exception else ""]
    if "power" in claim:
        notes.append(f"power at the paper's size: {claim['power']}")
    return {
        "paper": published["paper"],
        "kind": "claim",
        "item": claim["section"],
        "row": about,
        "column": claim["id"],
        "sentence": claim["sentence"],
        "expected": expected,
        "ours": estimate.value if verdict != NOT_RUN else None,
        "low": estimate.low,
        "high": estimate.high,
        "verdict": verdict,
        "figure": claim.get("figure"),
        "scale": scale,
        "note": "; ".join(note for note in [*notes, claim.get("note", "")] if note),
    }


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


def with_failures(card: pd.DataFrame, failures: Mapping[str, str]) -> pd.DataFrame:
    """Return a paper's scorecard with a row for each figure or table that failed.

    Args:
        card: a `scorecard` table of one paper.
        failures: why, by name (`figures.style.failures`, `papers.run.failures`).
    """
    about = card.iloc[0][["paper", "scale"]].to_dict() | {"kind": "output", "verdict": FAILED}
    rows = [
        about | {"item": name, "row": "", "column": "", "note": why}
        for name, why in failures.items()
    ]
    return make_scorecard(card.to_dict("records") + rows) if rows else card


def make_scorecard(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a `scorecard` table of rows of numbers and claims."""
    names = SCHEMAS["scorecard"].names
    return pd.DataFrame(rows, columns=names)[names]
