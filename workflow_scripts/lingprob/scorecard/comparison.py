"""Compare a paper's printed numbers and claims with a run: the rows of its scorecard.

The catalog (`catalog/published/PAPER.yaml`) has the printed numbers (`items`) and the sentences
that are tested (`claims`). A paper's `STATISTICS` compute the estimates that judge each sentence.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
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

# The role of a row. Rows of the paper's own models and data decide the verdict on its sentence.
# Other models and data are shown below it. Re-readings of published tables check the pipeline.
PAPER, ALSO, CHECK, SIMULATED = "paper", "also", "check", "simulated"
OWN, OWN_SIMULATED = "own", "own, simulated"  # role in sentences that are not the paper's
# Sources of models that no sentence of a paper is about, unless the sentence names them.
MADE_HERE = ("trained", "ngram")
# The estimate of a run by row and column, as the files of `catalog/published` name them.
Quantities = dict[tuple[str, str], Estimate]
# Yields, given a paper's tables and Run, each population's name ("MODEL/DATASET") and estimate.
Statistic = Callable[[Mapping[str, pd.DataFrame], Any], Iterable[tuple[str, Estimate]]]


def judge_claims(
    published: Mapping[str, Any],
    statistics: Mapping[str, Statistic],
    tables: Mapping[str, pd.DataFrame],
    run: Any,
) -> list[dict[str, Any]]:
    """Return rows of a `scorecard` table, one for each claim and population of models and data.

    Each of the `claims` in the paper's part of the catalog (`published`) has `id`, `section`,
    `sentence` (in our words) and `expected` ("> X", "< X", "within X to Y"). Optional keys:
    `exceptions` (other expectations, by the first name of a population), `figure`, `note`, `power`
    (at the paper's effect and n, if below 0.8), `own` (the sentence is not the paper's), and
    `models`, `datasets` and `scales` (`role_of`). Statistics are by the claims' ids, and `run` is
    the paper's `papers.run.Run`.

    A claim that no population of the run can test has one row, `not run`. Raises LingprobError if a
    claim has no statistic, or a statistic no claim.
    """
    claims = {claim["id"]: claim for claim in published.get("claims", [])}
    if odd := set(claims) ^ set(statistics):
        raise LingprobError(
            f"claims of {published['paper']}: {sorted(odd)} are not both in the catalog and in "
            "STATISTICS. Add the missing ones."
        )
    rows = []
    for name, claim in claims.items():
        found = list(statistics[name](tables, run))
        if not found:
            found = [("(none)", replace(NOTHING, note="nothing in this run tests it"))]
        rows += [_row(published, claim, about, estimate, run) for about, estimate in found]
    return rows


def role_of(
    published: Mapping[str, Any], claim: Mapping[str, Any], about: str, note: str, run: Any
) -> str:
    """Return the role of a population in the verdict on a sentence: PAPER, ALSO, CHECK, ...

    A sentence is about the `models` and `datasets` (patterns) and the `scales` of its claim, else
    of its paper, else about all. Each part of a population's name (`about`: "MODEL/DATASET,
    condition") may match. Models trained here, n-gram models and masked models count only for a
    claim that names them. The note of an estimate says if ratings or reading times are simulated.
    """
    if claim.get("own"):
        return OWN_SIMULATED if "simulated" in note else OWN
    parts = re.split(r"[/,]\s*", about)
    if "published" in parts:
        return CHECK
    if "simulated" in note:
        return SIMULATED
    for key in ("models", "datasets"):
        patterns = claim.get(key, published.get(key, ["*"]))
        if not any(fnmatchcase(part, pattern) for part in parts for pattern in patterns):
            return ALSO
    if run.scale not in claim.get("scales", published.get("scales", [run.scale])):
        return ALSO
    named = [run.models[part] for part in parts if part in run.models]
    made_here = any(one.get("source") in MADE_HERE or one.get("kind") == "masked" for one in named)
    return ALSO if made_here and "models" not in claim else PAPER


def _row(
    published: Mapping[str, Any], claim: Mapping[str, Any], about: str, estimate: Estimate, run: Any
) -> dict[str, Any]:
    """Return the row of a claim about a population, given the estimate that judges it."""
    exception = claim.get("exceptions", {}).get(about.split("/")[0])
    expected = exception or claim["expected"]
    verdict, more = judge_claim(estimate, expected)
    notes = [estimate.note, more, "the paper's stated exception" if exception else ""]
    if "power" in claim:
        notes.append(f"power at the paper's size: {claim['power']}")
    return {
        "paper": published["paper"],
        "kind": "claim",
        "role": role_of(published, claim, about, estimate.note, run),
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
        "scale": run.scale,
        "note": "; ".join(note for note in [*notes, claim.get("note", "")] if note),
    }


def compare_numbers(
    published: Mapping[str, Any], ours: Quantities, scale: str
) -> list[dict[str, Any]]:
    """Return rows of a `scorecard` table, one for each number of `published`.

    For each column, an item of the catalog has `places` (number of printed decimals) and `decides`
    (if the interval's half width exceeds it, the verdict is undecided). It may have a `tolerance`
    with its `reason`, and `check: true` if the numbers are not the paper's own results or come from
    its published tables.
    """
    rows = []
    for item in published["items"]:
        about = {"paper": published["paper"], "kind": "number", "item": item["item"]}
        about |= {"role": CHECK if item.get("check") else PAPER}
        about |= {"figure": item.get("figure"), "scale": scale}
        for row, values in item["rows"].items():
            for place, value in enumerate(values):
                column = item["columns"][place]
                judged = _judged(ours.get((row, column), NOTHING), float(value), item, place)
                rows.append({**about, "row": row, "column": column, **judged})
    return rows


def _judged(
    ours: Estimate, published: float, item: Mapping[str, Any], place: int
) -> dict[str, Any]:
    """Return the columns of the row about one printed number, given its estimate in this run."""
    rounding = 0.5 * 10.0 ** -item["places"][place]
    verdict, more = judge_number(ours, published, rounding, item["decides"][place])
    notes = [ours.note, more, item["note"]]
    tolerance = item["tolerance"][place] if "tolerance" in item else 0
    if tolerance and verdict != NOT_RUN:
        verdict = REPRODUCED if abs(ours.value - published) <= tolerance else DIFFERS
        notes.append(f"within {tolerance:g}: {item['reason']}")
    return {
        "published": published,
        "verdict": verdict,
        "note": "; ".join(note for note in notes if note),
        "ours": ours.value,
        "low": ours.low,
        "high": ours.high,
        "difference": ours.value - published,
    }


def with_failures(card: pd.DataFrame, failures: Mapping[str, str]) -> pd.DataFrame:
    """Return a paper's `scorecard` table with a row for each figure or table that failed.

    `failures` has the error of each by name (`figures.style.failures`, `papers.run.failures`).
    """
    about = {"kind": "output", "role": PAPER, "verdict": FAILED, "row": "", "column": ""}
    about |= card.iloc[0][["paper", "scale"]].to_dict()
    rows = [about | {"item": name, "note": why} for name, why in failures.items()]
    return make_scorecard(card.to_dict("records") + rows) if rows else card


def score(
    statistics: Mapping[str, Statistic],
    tables: Mapping[str, pd.DataFrame],
    ours: Quantities,
    run: Any,
) -> pd.DataFrame:
    """Return a paper's `scorecard`: its claims (`judge_claims`) and its printed numbers."""
    claims = judge_claims(run.published, statistics, tables, run)
    return make_scorecard(claims + compare_numbers(run.published, ours, run.scale))


def make_scorecard(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows of numbers and claims as a table with the columns of the schema `scorecard`."""
    names = SCHEMAS["scorecard"].names
    return pd.DataFrame(rows, columns=names)[names]
