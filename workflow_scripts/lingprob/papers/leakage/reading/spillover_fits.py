"""The regressions behind spillover: by least squares, by subject, or by subject and by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import numpy as np
import pandas as pd

from lingprob.regression.least_squares import fit_least_squares
from lingprob.regression.linear_mixed.added_intercepts import add_intercepts
from lingprob.regression.linear_mixed.crossed_data import CrossedData
from lingprob.regression.linear_mixed.fit import fit_mixed_models
from lingprob.regression.linear_mixed.formula import INTERCEPT, MixedFormula, write_formula
from lingprob.regression.linear_mixed.held_out import held_out_log_likelihood
from lingprob.regression.linear_mixed.moments import MixedModelData
from lingprob.regression.linear_mixed.result import CrossedFit

RESPONSE, SUBJECT, WORD = "rt_ms", "subject_id", "word"
LEAST_SQUARES, BY_SUBJECT, BY_WORD = "none", "subject", "subject and word"
# Intercepts of words are told from residuals by so many fitted times of a word, on average, and
# fitted beside so many effects of subjects, whose covariance is inverted as a whole.
FEWEST_TIMES, MOST_EFFECTS = 2, 1000


class Fitted(NamedTuple):
    """A regression of reading times.

    `values` are log-likelihoods (nats) of the evaluated times by item: of each subject's by
    themselves; of each sentence's, for means. `joint` (nats) is that of all together: their sum,
    but where readers share words that have intercepts. `effects` and `errors` are the fixed effects
    (ms per standard deviation) and their standard errors, `word_sd` (ms) is the standard deviation
    of words' intercepts, NaN without.
    """

    values: pd.Series
    joint: float
    effects: pd.Series
    errors: pd.Series
    word_sd: float
    converged: bool
    singular: bool


class Times(NamedTuple):
    """The times that regressions are fitted to and evaluated on, predictors standardised.

    Frames with rt_ms, subject_id, sentence, word and the predictors. `slopes` are the random ones
    by subject, of which a regression has those that are among its fixed effects.
    """

    fitted: pd.DataFrame
    evaluated: pd.DataFrame
    slopes: tuple[str, ...] = ()
    kind: Literal["marginal", "conditional"] = "marginal"

    def formula(self, fixed: Sequence[str]) -> MixedFormula:
        """Return the mixed model with these fixed effects."""
        random = [name for name in self.slopes if name in fixed]
        return write_formula(RESPONSE, (INTERCEPT, *fixed), (INTERCEPT, *random), SUBJECT)

    def tells_words(self) -> bool:
        """Whether intercepts of words can be told from residuals, and fitted."""
        effects = self.fitted[SUBJECT].nunique() * (len(self.slopes) + 1)
        times = len(self.fitted) / self.fitted[WORD].nunique()
        return times >= FEWEST_TIMES and effects <= MOST_EFFECTS


def fit_regressions(times: Times, random: str, wanted: Sequence[Sequence[str]]) -> list[Fitted]:
    """Fit a regression for each list of fixed effects, all on one pass over the data.

    `random` says by what there are random effects: LEAST_SQUARES, BY_SUBJECT or BY_WORD.
    """
    fit = {LEAST_SQUARES: _least_squares, BY_SUBJECT: _by_subject, BY_WORD: _by_subject_and_word}
    return fit[random](times, wanted)


def _least_squares(times: Times, wanted: Sequence[Sequence[str]]) -> list[Fitted]:
    sentences = times.evaluated["sentence"].to_numpy()
    found = []
    for fixed in wanted:
        fit = fit_least_squares(times.fitted, RESPONSE, fixed)
        values = pd.Series(fit.log_likelihoods(times.evaluated)).groupby(sentences).sum()
        found.append(
            Fitted(
                values, float(values.sum()), fit.coefficients, fit.standard_errors, np.nan, True,
                False,
            )
        )  # fmt: skip
    return found


def _by_subject(times: Times, wanted: Sequence[Sequence[str]]) -> list[Fitted]:
    names = list(dict.fromkeys(name for fixed in wanted for name in fixed))
    data, other = (
        MixedModelData.from_frame(part, response=RESPONSE, predictors=names, group=SUBJECT)
        for part in (times.fitted, times.evaluated)
    )
    found = []
    for fit in fit_mixed_models(data, [times.formula(fixed) for fixed in wanted]):
        values = cast(pd.Series, fit.held_out_log_likelihood(other, kind=times.kind, per="group"))
        found.append(
            Fitted(
                values, float(values.sum()), fit.fixed_effects, fit.standard_errors, np.nan,
                fit.converged, fit.singular,
            )
        )  # fmt: skip
    return found


def _by_subject_and_word(times: Times, wanted: Sequence[Sequence[str]]) -> list[Fitted]:
    names = list(dict.fromkeys(name for fixed in wanted for name in fixed))
    data, other = (
        CrossedData.from_frame(part, response=RESPONSE, predictors=names, groups=(SUBJECT, WORD))
        for part in (times.fitted, times.evaluated)
    )
    of_subjects, found = other.by(SUBJECT), []
    formulas = [times.formula(fixed) for fixed in wanted]
    for without in fit_mixed_models(data.by(SUBJECT), formulas):
        fit = add_intercepts(data, without, WORD)
        found.append(
            Fitted(
                each_reader_s(fit, of_subjects, times.kind),
                fit.held_out_log_likelihood(other, kind=times.kind), fit.fixed_effects,
                fit.standard_errors, float(np.sqrt(fit.covariances[1].iloc[0, 0])), fit.converged,
                fit.singular,
            )
        )  # fmt: skip
    return found


def each_reader_s(fit: CrossedFit, data: MixedModelData, kind: str) -> pd.Series:
    """Return the log-likelihood (nats) of each subject's times by themselves, a Series (subjects,).

    The fit has effects by subject and intercepts by word. A subject reads a word once, so that the
    variance of words adds to that of residuals; `kind` is about the subject's own effects.
    """
    of_subject, of_word = fit.covariances
    return held_out_log_likelihood(
        data,
        fit.formula._replace(terms=fit.formula.terms[:1]),
        fit.fixed_effects.to_numpy(),
        of_subject.to_numpy(),
        float(np.sqrt(fit.sigma**2 + of_word.iloc[0, 0])),
        fit.random_effects[0] if kind == "conditional" else None,
    )
