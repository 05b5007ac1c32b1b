"""Combine the verdicts on a claim in all its populations to one verdict on the paper's sentence."""

import math
from typing import Any

import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from lingprob.scorecard.comparison import ALSO, CHECK, OWN, OWN_SIMULATED, PAPER, SIMULATED
from lingprob.scorecard.estimates import CONFIDENCE
from lingprob.scorecard.verdicts import (
    CONTRADICTED,
    NOT_RUN,
    NOT_TESTED,
    SUPPORTED,
    UNDECIDED,
    expected_range,
    order_verdicts,
)

COLUMNS = ["paper", "section", "claim", "sentence", "own", "verdict", "populations", "p", "p_holm",
           "also", "check", "simulated", "figure"]  # fmt: skip


def judge_sentences(card: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each sentence of a paper's `scorecard` table.

    Only rows of the paper's own models and data decide: `supported` if each supports the sentence,
    `contradicted` if none does and at least one contradicts it, `undecided` otherwise, `not tested`
    without any. For sentences that are not the paper's (`own`), all rows decide.

    `populations`, `also` (other models and data), `check` and `simulated` count verdicts in words.
    `p` is the largest two-sided p of the deciding rows, which assumes normal estimates. `p_holm` is
    corrected over the paper's tested sentences (Holm 1979).
    """
    claims = card[card["kind"] == "claim"]
    found = [_sentence(rows) for _, rows in claims.groupby(["item", "column"], sort=False)]
    table = pd.DataFrame(found, columns=COLUMNS).astype({"p": float, "p_holm": float})
    tested = table["p"].notna() & ~table["own"].astype(bool)
    if tested.any():
        table.loc[tested, "p_holm"] = multipletests(table.loc[tested, "p"], method="holm")[1]
    return table


def count_sentences(sentences: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the number of the paper's own sentences by verdict, in one fixed order."""
    return order_verdicts(sentences.loc[~sentences["own"].astype(bool), "verdict"])


def _sentence(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the row of one sentence from the scorecard's rows of its claim."""
    first = rows.iloc[0]
    own = first["role"] in (OWN, OWN_SIMULATED)
    run = rows[rows["verdict"] != NOT_RUN]
    deciding = run[run["role"] == (OWN if own else PAPER)]
    return {
        "paper": first["paper"],
        "section": first["item"],
        "claim": first["column"],
        "sentence": first["sentence"],
        "own": own,
        "verdict": combine_verdicts(list(deciding["verdict"])),
        "populations": counted(deciding),
        "p": max(map(_p_value, deciding.to_dict("records")), default=math.nan),
        "also": counted(run[run["role"] == ALSO]),
        "check": counted(run[run["role"] == CHECK]),
        "simulated": recovered(run[run["role"].isin([SIMULATED, OWN_SIMULATED])]),
        "figure": first["figure"] if len(run) else None,
    }


def combine_verdicts(verdicts: list[str]) -> str:
    """Return the verdict on a sentence from those of the populations that it is about."""
    if not verdicts:
        return NOT_TESTED
    if set(verdicts) == {SUPPORTED}:
        return SUPPORTED
    if CONTRADICTED in verdicts and SUPPORTED not in verdicts:
        return CONTRADICTED
    return UNDECIDED


def counted(rows: pd.DataFrame) -> str:
    """Return the number of rows by verdict in words, such as "2 supported"."""
    return ", ".join(f"{count} {word}" for word, count in order_verdicts(rows["verdict"]))


def recovered(rows: pd.DataFrame) -> str:
    """Return whether a run finds the effect that its simulated data have: yes, no or in part."""
    if not len(rows):
        return ""
    found = int((rows["verdict"] == SUPPORTED).sum())
    return "yes" if found == len(rows) else f"in {found} of {len(rows)}" if found else "no"


def _p_value(row: dict[Any, Any]) -> float:
    """Return the two-sided p of a row's estimate against the nearest limit that it must exceed.

    The standard error is the distance from the estimate to the interval's end on that side, divided
    by the normal quantile, so p < 0.05 if the interval excludes the limit.
    """
    limits = expected_range(str(row["expected"]))
    value, low, high = (float(row[end]) for end in ("ours", "low", "high"))
    bounded = all(map(math.isfinite, limits))
    sides = [(value - limits[0], value - low), (limits[1] - value, high - value)]
    return max(_tail(distance, reach, bounded) for distance, reach in sides)


def _tail(distance: float, reach: float, bounded: bool) -> float:
    """Return the two-sided p that an estimate is on the allowed side of one limit."""
    if math.isinf(distance):
        return 0.0
    if math.isnan(reach):
        return 1.0
    if reach == 0:
        return 0.0 if distance > 0 or (bounded and distance == 0) else 1.0
    quantile = stats.norm.ppf((1 + CONFIDENCE) / 2)
    return min(1.0, 2 * float(stats.norm.sf(distance / reach * quantile)))
