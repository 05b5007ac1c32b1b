"""Reducing the maximal random-effects structure (leakage, appendix B)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.fit import MixedFit, fit_mixed_models
from lingprob.stats.linear_mixed.formula import INTERCEPT, MixedFormula, parse_formula
from lingprob.stats.linear_mixed.moments import MixedModelData

logger = logging.getLogger(__name__)


def reduce_random_effects(
    data: MixedModelData, formulas: Iterable[str], roles: Mapping[str, str]
) -> tuple[list[MixedFit], dict[str, float]]:
    """Take out the least predictive random slope, again and again, until all models converge.

    All formulas keep one structure. The least predictive slope is the one whose removal costs all
    fits together the least log-likelihood. Fits here end at their optimum where lme4 stops short of
    it with a warning, usually because the covariance is singular: so a singular fit counts as one
    that does not converge.

    Args:
        data: that all formulas are fitted to.
        formulas: with the maximal structure.
        roles: what predictors stand for ({'surprisal_gpt2': 'surprisal', ...}), so that the slopes
            of different models' predictors in one role go together; others stand for themselves.

    Returns:
        The fits, in the order of `formulas`; and the log-likelihood (nats, all fits together) that
        each slope cost, by role in the order in which they were taken out.

    Raises LingprobError if the models do not converge and no slope can be taken out: no model loses
    its last random effect.
    """
    current = [parse_formula(text) for text in formulas]
    removed: dict[str, float] = {}
    fits = fit_mixed_models(data, current)
    while not all(map(settled, fits)):
        candidates = {}
        for role in _slope_roles(current, roles):
            without = [_without(formula, role, roles) for formula in current]
            candidates[role] = without, fit_mixed_models(data, without)
        if not candidates:
            fit = next(fit for fit in fits if not settled(fit))
            raise LingprobError(
                f"{fit.formula.text!r} has no random slope to spare and does not converge: "
                f"standard deviation between groups {fit.covariance.iloc[0, 0] ** 0.5:.3g}."
            )
        before = _total(fits)
        role = max(candidates, key=lambda name: _total(candidates[name][1]))
        current, fits = candidates[role]
        removed[role] = before - _total(fits)
        logger.info("random slope of %s taken out: %.3f nats less", role, removed[role])
    return fits, removed


def settled(fit: MixedFit) -> bool:
    """Tell whether nothing is to be taken out for a fit's sake."""
    return fit.converged and not fit.singular


def _total(fits: list[MixedFit]) -> float:
    return sum(fit.log_likelihood for fit in fits)


def _slope_roles(formulas: list[MixedFormula], roles: Mapping[str, str]) -> list[str]:
    """Return the roles of slopes whose removal leaves every formula a random effect."""
    slopes = [name for formula in formulas for name in formula.random if name != INTERCEPT]
    found = dict.fromkeys(roles.get(name, name) for name in slopes)
    return [role for role in found if all(_without(each, role, roles).random for each in formulas)]


def _without(formula: MixedFormula, role: str, roles: Mapping[str, str]) -> MixedFormula:
    for name in formula.random:
        if roles.get(name, name) == role:
            formula = formula.without_random(name)
    return formula
