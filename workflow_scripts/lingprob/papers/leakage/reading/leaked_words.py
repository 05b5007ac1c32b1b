"""ΔLogLik adjusted for leakage: without the words that a corpus has, or with their leakage known.

If what surprisal adds came from words that a model had seen in their context, it should go with
them. The paper asks by chunks and by fine-tuning; this asks by words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lingprob.papers.leakage.reading.analysis import Study, compare_regressions
from lingprob.schemas import SCHEMAS

COVARIATE = "leakage"
MOST_LEFT_OUT = 0.5
DELTAS = ("delta", "delta_low", "delta_high")


def most_leaked(tables: Sequence[pd.DataFrame]) -> np.ndarray:
    """Return the length (tokens) of the longest match that covers each word, over several corpora.

    `tables` are `word_leakage` tables of one text.
    """
    return np.max([table["covering_tokens"].to_numpy() for table in tables], axis=0)


def adjusted_deltas(
    study: Study, leakage: np.ndarray, thresholds: Sequence[int], **options: Any
) -> pd.DataFrame:
    """Return a `leakage_adjusted` table: a row a model and adjustment.

    Args:
        study, options: as `compare_regressions` has them.
        leakage: tokens of the longest match that covers each of the study's words.
        thresholds: lengths from which on a word counts as leaked.

    The adjustments: `none`; `without` the words of `threshold` tokens or more, which neither the
    fitted nor the evaluated times then have; `covariate`: the binary logarithm of one more than the
    length is a predictor of all regressions. ΔLogLik is also given by evaluated time, as fewer are
    evaluated without leaked words. Thresholds that leave out no time, or more than half of them,
    have no row.
    """
    keys, times, words = ["passage_id", "word_index"], study.times, study.words
    of_times = times[keys].merge(words[keys].assign(leaked=leakage), on=keys, how="left")
    leaked = of_times["leaked"].to_numpy()
    used = times["excluded"].isna().to_numpy()
    covariate = pd.DataFrame({COVARIATE: np.log2(1 + leakage)})
    runs: list[tuple[str, int | None, pd.DataFrame, pd.DataFrame | None]]
    runs = [("none", None, times, None)]
    if leakage.min() < leakage.max():
        runs.append(("covariate", None, times, covariate))
    for threshold in thresholds:
        kept = times[leaked < threshold]
        if 0 < (leaked[used] >= threshold).mean() <= MOST_LEFT_OUT:
            runs.append(("without", threshold, kept, None))
    rows = []
    for adjustment, limit, part, covariates in runs:
        deltas, _ = compare_regressions(
            study._replace(times=part), covariates=covariates, **options
        )
        share = 0.0 if limit is None else float((leaked[used] >= limit).mean())
        rows.append(
            deltas.assign(
                adjustment=adjustment,
                threshold=limit,
                left_out=share,
                **{f"{name}_by_time": deltas[name] / deltas["n_evaluated"] for name in DELTAS},
            )
        )
    table = pd.concat(rows, ignore_index=True)
    table["threshold"] = table["threshold"].astype("Int64")
    return table[SCHEMAS["leakage_adjusted"].names]
