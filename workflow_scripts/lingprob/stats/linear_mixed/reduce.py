"""Reducing the maximal random-effects structure (leakage, appendix B)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from lingprob.stats.linear_mixed.formula import INTERCEPT, MixedFormula, parse_formula
from lingprob.stats.linear_mixed.moments import MixedModelData
from lingprob.stats.linear_mixed.result import MixedFit

logger = logging.getLogger(__name__)


class Reduction(NamedTuple):
    """What is left of a random-effects structure.

    `fits` has a list for each data set, in the order of `formulas`. `removed` maps each slope
    that was taken out, in that order, to the log-likelihood (nats, all fits together) it cost.
    """

    formulas: list[MixedFormula]
    fits: list[list[MixedFit]]
    removed: dict[str, float]


def reduce_random_effects(
    data: MixedModelData | Sequence[MixedModelData],
    formulas: Iterable[str],
    *,
    roles: Mapping[str, str] | None = None,
) -> Reduction:
    """Take out the least predictive random slope, again and again, until all models converge.

    All formulas are fitted to all data sets and keep one structure. The least predictive slope is
    the one whose removal costs all these fits together the least log-likelihood. Fits here end at
    their optimum where lme4 stops short of it with a warning, usually as the covariance is
    singular: so a singular fit counts as one that does not converge.

    `roles` names what predictors stand for ({'surprisal_gpt2': 'surprisal', ...}), so that the
    slopes of different models' predictors in one role go together. No model loses its last random
    effect. Raises LingprobError if the models do not converge and no slope can be taken out.
    """
    data_sets = [data] if isinstance(data, MixedModelData) else list(data)
    current = [parse_formula(text) for text in formulas]
    removed: dict[str, float] = {}
    fits = _fit_all(data_sets, current)
    while not all(settled(fit) for row in fits for fit in row):
        candidates = {}
        for role in _slope_roles(current, roles):
            without = [_without(formula, role, roles) for formula in current]
            candidates[role] = without, _fit_all(data_sets, without)
        if not candidates:
            fit = next(fit for row in fits for fit in row if not settled(fit))
            raise LingprobError(
                f"{fit.formula.text!r} has no random slope to spare and does not converge: "
                f"standard deviation between groups {fit.covariance.iloc[0, 0] ** 0.5:.3g}."
            )
        before = _total(fits)
        role = max(candidates, key=lambda name: _total(candidates[name][1]))
        current, fits = candidates[role]
        removed[role] = before - _total(fits)
        logger.info("random slope of %s taken out: %.3f nats less", role, removed[role])
    return Reduction(current, fits, removed)


def settled(fit: MixedFit) -> bool:
    """Tell whether nothing is to be taken out for a fit's sake."""
    return fit.converged and not fit.singular


def _fit_all(data_sets: list[MixedModelData], formulas: list[MixedFormula]) -> list[list[MixedFit]]:
    return [fit_mixed_models(data, formulas, "ML") for data in data_sets]


def _total(fits: list[list[MixedFit]]) -> float:
    return sum(fit.log_likelihood for row in fits for fit in row)


def _role(name: str, roles: Mapping[str, str] | None) -> str:
    return (roles or {}).get(name, name)


def _slope_roles(formulas: list[MixedFormula], roles: Mapping[str, str] | None) -> list[str]:
    """Return the roles of slopes whose removal leaves every formula a random effect."""
    slopes = [name for formula in formulas for name in formula.random if name != INTERCEPT]
    found = dict.fromkeys(_role(name, roles) for name in slopes)
    return [role for role in found if all(_without(each, role, roles).random for each in formulas)]


def _without(formula: MixedFormula, role: str, roles: Mapping[str, str] | None) -> MixedFormula:
    for name in formula.random:
        if _role(name, roles) == role:
            formula = formula.without_random(name)
    return formula
