"""What each specification of the multiverse is, and what each of its conventions explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd

# What an analyst chooses, by the words of the figures.
CONVENTIONS = {
    "start_token": "start token or mask",
    "first_token": "first token",
    "unigrams": "unigrams",
    "kept_together": "folds keep",
    "cluster": "resampled",
}
QUANTITIES = ["beta", "gamma", "r_cv", "over_slor", "beta_width", "r_cv_width"]


def specifications(
    multiverse: pd.DataFrame, bos_policies: Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Return MORCELA's rows with a column for each of `CONVENTIONS` and all `QUANTITIES`.

    A unigram source loses the name of the model that was sampled: its samples are a convention,
    whose they are is none.
    """
    table = multiverse[multiverse["linking_function"] == "morcela"].reset_index(drop=True)
    policies = [bos_policies[bos] for bos in table["bos"]]
    return table.assign(
        start_token=[policy["start_token"] for policy in policies],
        first_token=[policy["first_token"] for policy in policies],
        unigrams=table["unigrams"].map(source_name),
        beta_width=table["beta_high"] - table["beta_low"],
        r_cv_width=table["r_cv_high"] - table["r_cv_low"],
    )


def source_name(source: str) -> str:
    """Return a unigram source's name without the model or `corpus_` before the corpus."""
    kind, _, of = source.partition("_")
    return of if kind == "corpus" else kind if kind.startswith("unigrahams") else source


def explained(specified: pd.DataFrame) -> pd.DataFrame:
    """Return how much of each quantity's variance over specifications each convention explains.

    `specified` are `specifications` of one model and data set. A row a quantity: its lowest and
    highest value, the share of its variance by convention, and `together`, what only several of
    them explain. Conventions are not all crossed (without a start token no first token is scored),
    so a share is the mean of what R² rises by when the convention joins the others, over all orders
    (Shapley; Lindeman, Merenda & Gold 1980).
    """
    varied = [name for name in CONVENTIONS if specified[name].nunique() > 1]
    rows = []
    for quantity in QUANTITIES:
        values = specified[quantity].to_numpy(np.float64)
        shares = shapley(specified, varied, values)
        row = {"quantity": quantity, "lowest": values.min(), "highest": values.max()}
        row |= {name: shares.get(name, 0.0) for name in CONVENTIONS}
        rows.append(row | {"together": 1 - sum(shares.values()) if shares else 0.0})
    return pd.DataFrame(rows)


def shapley(table: pd.DataFrame, factors: Sequence[str], values: np.ndarray) -> dict[str, float]:
    """Return each factor's part of the R² of values (n,) on all of them; none if values are one."""
    if np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())):
        return {}
    r2 = {
        chosen: _r_squared(table, chosen, values)
        for size in range(len(factors) + 1)
        for chosen in combinations(factors, size)
    }
    shares = dict.fromkeys(factors, 0.0)
    for chosen, before in r2.items():
        for name in set(factors) - set(chosen):
            joined = tuple(one for one in factors if one in chosen or one == name)
            orders = factorial(len(chosen)) * factorial(len(factors) - len(joined))
            shares[name] += orders / factorial(len(factors)) * (r2[joined] - before)
    return shares


def _r_squared(table: pd.DataFrame, factors: Sequence[str], values: np.ndarray) -> float:
    if not factors:
        return 0.0
    dummies = pd.get_dummies(table[list(factors)].astype(str), dtype=float).to_numpy()
    design = np.column_stack([np.ones(len(values)), dummies])
    centred = values - values.mean()
    fitted = design @ np.linalg.lstsq(design, centred, rcond=None)[0]
    return float(fitted @ fitted / (centred @ centred))
