"""All conventions crossed (`specifications.explained` says how much each of them moves).

Normalising published unigrams is not among them: it adds the same to u/l of every sentence, which
an intercept absorbs, so that no linking function's beta, gamma or r moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from lingprob.papers.morcela.analysis import fit_model
from lingprob.papers.morcela.rated import DataSet
from lingprob.papers.morcela.units import UNITS

FUNCTIONS = ("logprob", "slor", "morcela")
# Hundreds of specifications: fewer draws and shuffles than the fits that are reported.
DRAWS, SHUFFLES = 200, 20
SPECIFICATION = ["bos", "unigrams", "cluster", "kept_together"]


def cross_conventions(
    model: str,
    given: Mapping[str, DataSet],
    *,
    cluster: str,
    keep_together: str,
    bootstrap: int,
    repeats: int,
    **fitting: Any,
) -> pd.DataFrame:
    """Fit a model under every BOS policy, unigram source, unit of folds and unit of resamples.

    Arguments as of `fit_model`; its `cluster` and `keep_together` are the default ones. Returns a
    `linking_functions` table of raw log-probability, SLOR and MORCELA, in which
    `default_convention` marks the one default specification of each data set. Units that a data
    set does not have are left out.
    """
    units = [(cluster, keep_together)]
    units += [pair for pair in product(UNITS, UNITS) if pair != units[0]]
    tables = []
    for number, (resampled, kept) in enumerate(units):
        fits = fit_model(
            model,
            given,
            cluster=resampled,
            keep_together=kept,
            linking_functions=FUNCTIONS,
            bootstrap=min(bootstrap, DRAWS),
            repeats=min(repeats, SHUFFLES),
            **fitting,
        )
        # The first pair is the default, whatever finer units a data set has in its place.
        default = fits["default_convention"] & (number == 0)
        tables.append(fits.assign(default_convention=default))
    keys = ["model", "dataset", "linking_function", *SPECIFICATION]
    return pd.concat(tables, ignore_index=True).drop_duplicates(keys, ignore_index=True)
