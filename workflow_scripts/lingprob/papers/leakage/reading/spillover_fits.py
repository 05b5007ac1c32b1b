"""The regressions behind spillover: by least squares, or with random effects by subject."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import pandas as pd

from lingprob.regression.least_squares import fit_least_squares
from lingprob.regression.linear_mixed.fit import fit_mixed_models
from lingprob.regression.linear_mixed.formula import INTERCEPT, MixedFormula, write_formula
from lingprob.regression.linear_mixed.moments import MixedModelData

RESPONSE, SUBJECT = "rt_ms", "subject_id"
LEAST_SQUARES, BY_SUBJECT = "none", "subject"


class Fitted(NamedTuple):
    """A regression of reading times.

    `values` are log-likelihoods (nats) of the evaluated times by item: of each subject's by
    themselves; of each sentence's, for means. `effects` and `errors` are the fixed effects (ms per
    standard deviation) and their standard errors.
    """

    values: pd.Series
    effects: pd.Series
    errors: pd.Series
    converged: bool
    singular: bool


class Times(NamedTuple):
    """The times that regressions are fitted to and evaluated on, predictors standardised.

    Frames with rt_ms, subject_id, sentence and the predictors. `slopes` are the random ones by
    subject, of which a regression has those that are among its fixed effects.
    """

    fitted: pd.DataFrame
    evaluated: pd.DataFrame
    slopes: tuple[str, ...] = ()
    kind: Literal["marginal", "conditional"] = "marginal"

    def formula(self, fixed: Sequence[str]) -> MixedFormula:
        """Return the mixed model with these fixed effects."""
        random = [name for name in self.slopes if name in fixed]
        return write_formula(RESPONSE, (INTERCEPT, *fixed), (INTERCEPT, *random), SUBJECT)


def fit_regressions(times: Times, random: str, wanted: Sequence[Sequence[str]]) -> list[Fitted]:
    """Fit a regression for each list of fixed effects, all on one pass over the data.

    `random` says by what there are random effects: LEAST_SQUARES or BY_SUBJECT.
    """
    fit = {LEAST_SQUARES: _least_squares, BY_SUBJECT: _by_subject}[random]
    return fit(times, wanted)


def _least_squares(times: Times, wanted: Sequence[Sequence[str]]) -> list[Fitted]:
    sentences = times.evaluated["sentence"].to_numpy()
    found = []
    for fixed in wanted:
        fit = fit_least_squares(times.fitted, RESPONSE, fixed)
        values = pd.Series(fit.log_likelihoods(times.evaluated)).groupby(sentences).sum()
        found.append(Fitted(values, fit.coefficients, fit.standard_errors, True, False))
    return found


def _by_subject(times: Times, wanted: Sequence[Sequence[str]]) -> list[Fitted]:
    names = list(dict.fromkeys(name for fixed in wanted for name in fixed))
    data, other = (
        MixedModelData.from_frame(part, response=RESPONSE, predictors=names, group=SUBJECT)
        for part in (times.fitted, times.evaluated)
    )
    found = []
    for fit in fit_mixed_models(data, [times.formula(fixed) for fixed in wanted]):
        values = fit.held_out_log_likelihood(other, kind=times.kind, per="group")
        found.append(
            Fitted(
                cast(pd.Series, values), fit.fixed_effects, fit.standard_errors, fit.converged,
                fit.singular,
            )
        )  # fmt: skip
    return found
