"""Claims: sentences of a paper that the workflow can test, judged by intervals.

The catalog (`catalog/published/PAPER.yaml`, key `claims`) says what a paper claims; a room's
`claims.py` says, in `STATISTICS`, how each is computed from the room's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.referee.verdicts import NOT_RUN, NOTHING, Estimate, judge_claim

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
            `sentence` (in our words), `expected` ("> X", "< X", "within X to Y") and, where there
            are any, `exceptions` (what the paper says of single populations instead, by their
            first name), `figure`, `note` and, below .8, the `power` at the paper's effect and n.
        statistics: by claim id; each claim must have one.
        tables: the room's.
        run: the room's `contract.Run`.

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
