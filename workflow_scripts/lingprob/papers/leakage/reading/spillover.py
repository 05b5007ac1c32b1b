"""How far does surprisal spill over? The regressions with 0, 1, 2 ... previous words.

Reading slows down after a surprising word, too (cf. Rayner 1998; Smith & Levy 2013). Each
regression has the surprisals of a word and of so many before it, and its baseline has their length
and unigram surprisal; all are fitted to the same times and judged as ΔLogLik is. A word's place in
the sentence tells that of the words before it, and has no lags.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.papers.leakage.reading.analysis import Study
from lingprob.papers.leakage.reading.spillover_fits import (
    BY_SUBJECT,
    BY_WORD,
    LEAST_SQUARES,
    RESPONSE,
    SUBJECT,
    WORD,
    Fitted,
    Times,
    fit_regressions,
)
from lingprob.reading.predictors import PREVIOUS_FIXATED, standardised
from lingprob.reading.previous_words import lag_name, lagged
from lingprob.reading.unigrams import unigram_surprisal
from lingprob.regression.linear_mixed.formula import INTERCEPT, parse_formula
from lingprob.regression.resampling import resampled_sums
from lingprob.schemas import SCHEMAS

logger = logging.getLogger(__name__)

SURPRISAL, LAGGED = "surprisal", ("unigram_surprisal", "length")
INDEX = "index"
KEYS = (SUBJECT, "sentence", "partition", RESPONSE, WORD)
# A random slope of the paper in the words of these regressions.
IN_OUR_WORDS = {"previous_surprisal": lag_name(SURPRISAL, 1)}


class Rows(NamedTuple):
    """The times of all regressions.

    `frame` has KEYS and the baseline's predictors, `unlagged` names those that have no lags;
    `surprisals` has a frame by model, a row a word, with a column a lag. `n_left_out` times are
    in no regression, as words before theirs, or predictors, are missing.
    """

    frame: pd.DataFrame
    unlagged: tuple[str, ...]
    surprisals: dict[str, pd.DataFrame]
    n_left_out: int

    def fixed(self, words: int, *, with_surprisal: bool) -> list[str]:
        """Return the predictors of a regression with so many previous words."""
        names = (SURPRISAL, *LAGGED) if with_surprisal else LAGGED
        lagged_names = [lag_name(name, lag) for name in names for lag in range(words + 1)]
        return [*lagged_names, *self.unlagged]

    def of_model(self, model: str) -> pd.DataFrame:
        """Return the frame with a model's surprisals."""
        return self.frame.join(self.surprisals[model], on=WORD)


class _Options(NamedTuple):
    """What `spillover` is asked for that decides what is fitted to what."""

    words: int
    word_intercepts: bool
    partition: str
    held_out: str


class Pair(NamedTuple):
    """A regression with surprisals of a word and of `words` before it, and the one without."""

    model: str
    random_by: str
    words: int
    full: Fitted
    baseline: Fitted

    @property
    def gains(self) -> pd.Series:
        """What surprisals add to the log-likelihood (nats) of each item."""
        return self.full.values - self.baseline.values


def spillover(
    study: Study,
    deltas: pd.DataFrame,
    *,
    words: int,
    word_intercepts: bool = True,
    corrected: bool = True,
    partition: str = "exploratory",
    held_out: str = "marginal",
    smoothing: float = 1.0,
    bootstrap: int,
    seed: int,
    scale: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what surprisals of a word and of those before it add to the regressions of a data set.

    A `spillover` table, a row a model and number of previous words, and a `spillover_slopes` table,
    a row a predictor of each.

    Args:
        study: the data.
        deltas: its `delta_log_likelihood` table, whose random slopes are taken.
        words: the most previous words.
        word_intercepts: fit the regressions by subject with the most words with random intercepts
            by word, too.
        corrected, partition, held_out, smoothing, bootstrap, seed, scale: as `compare_regressions`
            has them.

    Times of words that have fewer than `words` before them in the passage, or for which a predictor
    is missing, are left out of all regressions alike.

    Raises LingprobError if no times are left.
    """
    rows = _rows(study, words, smoothing, corrected=corrected)
    parts = rows.frame["partition"].value_counts()
    if not {"fit", partition} <= set(parts.index):
        raise LingprobError(
            f"{study.where}: the partition 'fit' or {partition!r} has no word with {words} words "
            "before it whose predictors are known. Lower reading.spillover_words."
        )
    common = {
        "dataset": study.dataset,
        "rt_source": study.entry.get("rt_source", "human"),
        "n_fit": parts["fit"],
        "n_evaluated": parts[partition],
        "n_left_out": rows.n_left_out,
        "scale": scale,
    }
    gains, slopes, before = [], [], None
    kept = _Options(words, word_intercepts, partition, held_out)
    for pair in _pairs(study, rows, _slopes(deltas), kept):
        before = before if before is not None and before.words + 1 == pair.words else None
        gains.append({**common, **_gain(pair, before, bootstrap, seed)})
        slopes.append(_slope_rows(pair).assign(**common))
        before = pair
    table = pd.concat(slopes, ignore_index=True)[SCHEMAS["spillover_slopes"].names]
    return pd.DataFrame(gains)[SCHEMAS["spillover"].names], table


def _rows(study: Study, words: int, smoothing: float, *, corrected: bool) -> Rows:
    """Return the times that all regressions share, with their predictors."""
    numbers = pd.DataFrame({WORD: np.arange(len(study.words))})
    frame, _ = study.frame(smoothing, corrected=corrected, covariates=numbers)
    frame[WORD] = frame[WORD].astype(int)
    column = "surprisal" if corrected else "surprisal_uncorrected"
    surprisals = {
        model: lagged({SURPRISAL: table[column].to_numpy()}, study.words, words)
        for model, table in study.surprisals.items()
    }
    of_word = {
        "unigram_surprisal": unigram_surprisal(study.words["word"], study.counts, smoothing),
        "length": study.words["word"].str.len().to_numpy(),
    }
    baseline = lagged(of_word, study.words, words)
    known = pd.concat([baseline, *surprisals.values()], axis=1).notna().all(axis=1)
    unlagged = [INDEX, *({PREVIOUS_FIXATED} & {*frame.columns})]
    kept = frame.loc[known[frame[WORD]].to_numpy(), [*KEYS, *unlagged]].join(baseline, on=WORD)
    n_left_out = int(study.times["excluded"].isna().sum()) - len(kept)
    logger.info(
        "%s: %d reading times are in no regression, as words before theirs, or predictors, are "
        "missing", study.where, n_left_out,
    )  # fmt: skip
    return Rows(kept.reset_index(drop=True), tuple(unlagged), surprisals, n_left_out)


def _slopes(deltas: pd.DataFrame) -> tuple[str, ...] | None:
    """Return the random slopes of the paper's regressions by subject; None for least squares."""
    formula = str(deltas["formula"].iloc[0])
    if "|" not in formula:
        return None
    random = parse_formula(formula).random
    return tuple(IN_OUR_WORDS.get(name, name) for name in random if name != INTERCEPT)


def _pairs(
    study: Study, rows: Rows, slopes: tuple[str, ...] | None, options: _Options
) -> Iterator[Pair]:
    """Fit each model's regressions, fewer words before more; the baselines are fitted once."""
    numbers = list(range(options.words + 1))
    wanted = {LEAST_SQUARES if slopes is None else BY_SUBJECT: numbers}
    baselines: dict[str, list[Fitted]] = {}
    for model in rows.surprisals:
        times = _times(study, rows, model, slopes or (), options)
        if slopes is not None and options.word_intercepts and not baselines:
            if times.tells_words():
                wanted[BY_WORD] = numbers[-1:]
            else:
                logger.info("%s: too few times of a word, or too many readers, for intercepts by "
                            "word", study.where)  # fmt: skip
        for random_by, of_these in wanted.items():
            full, without = (
                [rows.fixed(number, with_surprisal=given) for number in of_these]
                for given in (True, False)
            )
            if random_by not in baselines:
                baselines[random_by] = fit_regressions(times, random_by, without)
            fits = fit_regressions(times, random_by, full)
            for number, *both in zip(of_these, fits, baselines[random_by], strict=True):
                yield Pair(model, random_by, number, *both)


def _times(
    study: Study, rows: Rows, model: str, slopes: tuple[str, ...], options: _Options
) -> Times:
    """Return one model's times to fit and to evaluate, standardised."""
    where = f"{study.where}, model {model!r}"
    columns = rows.fixed(options.words, with_surprisal=True)
    data = standardised(rows.of_model(model), columns, where)
    fitted, evaluated = (data[data["partition"] == name] for name in ("fit", options.partition))
    if options.held_out == "restandardised":
        evaluated = standardised(evaluated, columns, where, like=options.partition)
    kind = "conditional" if options.held_out == "conditional" else "marginal"
    return Times(fitted, evaluated, slopes, cast(Literal["marginal", "conditional"], kind))


def _gain(pair: Pair, before: Pair | None, bootstrap: int, seed: int) -> dict[str, Any]:
    """Return the part of a `spillover` row that says what surprisals add, and the last one's."""
    items = pair.gains.index.to_numpy()
    found = {
        "model": pair.model,
        "random_by": pair.random_by,
        "words": pair.words,
        "items": len(items),
        "log_likelihood_baseline": pair.baseline.values.sum(),
        "log_likelihood": pair.full.values.sum(),
        "joint_delta": pair.full.joint - pair.baseline.joint,
        "word_sd_baseline": pair.baseline.word_sd,
        "word_sd": pair.full.word_sd,
        "converged": pair.full.converged and pair.baseline.converged,
        "singular": pair.full.singular or pair.baseline.singular,
    }
    growth = pair.gains * np.nan if before is None else pair.gains - before.gains
    for name, gains in {"delta": pair.gains, "growth": growth}.items():
        low, high = resampled_sums(gains.to_numpy(), items, bootstrap, seed)
        total = gains.sum(skipna=False)
        found |= {name: total, f"{name}_low": low, f"{name}_high": high}
    return found


def _slope_rows(pair: Pair) -> pd.DataFrame:
    """Return the part of a `spillover_slopes` table that one regression gives."""
    names = {lag_name(name, lag): (name, lag) for name in (SURPRISAL, *LAGGED)
             for lag in range(pair.words + 1)}  # fmt: skip
    effects = pair.full.effects.iloc[1:]  # less the intercept
    apart = [names.get(name, (name, 0)) for name in effects.index]
    return pd.DataFrame(apart, columns=["predictor", "lag"]).assign(
        model=pair.model,
        random_by=pair.random_by,
        words=pair.words,
        ms=effects.to_numpy(),
        std_error=pair.full.errors[effects.index].to_numpy(),
    )
