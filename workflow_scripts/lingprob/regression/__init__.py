"""Regressions of human judgments on language-model scores; agreement between participants."""

from __future__ import annotations

from lingprob.regression.agreement import split_half, standardise_ratings
from lingprob.regression.linking import LINKING_FUNCTIONS, fit_linking_functions

__all__ = ["LINKING_FUNCTIONS", "fit_linking_functions", "split_half", "standardise_ratings"]
