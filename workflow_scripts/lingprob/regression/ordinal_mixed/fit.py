"""Ordinal mixed regression of single judgments: cumulative probit, participants and items crossed.

    from lingprob.regression.ordinal_mixed.fit import fit_ordinal_mixed
    fit = fit_ordinal_mixed(ratings["rating"], ratings["item_id"], ratings["participant_id"], terms)
    print(fit.table())

On a latent scale on which one judgment's noise has standard deviation 1, an item's acceptability
is its terms times slopes and a random deviation. Every participant has thresholds of their own:
the common ones, stretched and shifted at random, which is to ordinal judgments what z-scores by
participant are to ratings. The likelihood is Laplace's (`laplace`), as in R's ordinal::clmm, which
has shifts and no stretches; statsmodels' OrderedModel has no random effects at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.stats import norm
from scipy.stats import t as student

from lingprob.errors import LingprobError
from lingprob.regression.ordinal_mixed.laplace import (
    Judgments,
    negative_log_likelihood,
    unpack,
)
from lingprob.regression.ratios import fieller

Array = NDArray[np.float64]

STEP = 1e-4
# What another Newton step may still gain (nats).
ACCEPTED = 1e-5
# A curvature below this is none (nats).
FLAT = 1e-6
FEWEST_CATEGORIES = 3


@dataclass(frozen=True)
class OrdinalMixedFit:
    """A cumulative probit model of judgments, fitted.

    `slopes` and `covariance` (k, k) are by term, on the latent scale (noise of a judgment: 1);
    `thresholds` has the categories below which each lies; `sd_items` is the standard deviation of
    items about their terms, `sd_shifts` and `sd_stretches` (of logarithms) those of participants'
    thresholds. `acceptability` is each item's, terms and deviation at their mode. `log_likelihood`
    in nats; `freedom` are items less terms less 1; `newton_decrement` is what another step gains.
    """

    slopes: pd.Series
    covariance: pd.DataFrame
    thresholds: pd.Series
    sd_items: float
    sd_shifts: float
    sd_stretches: float
    acceptability: pd.Series
    log_likelihood: float
    n_judgments: int
    freedom: int
    newton_decrement: float

    def table(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return term, estimate, std_error and the ends of t intervals, low and high."""
        errors = np.sqrt(np.diag(self.covariance))
        reach = student.ppf((1 + confidence) / 2, self.freedom) * errors
        columns = {"estimate": self.slopes, "std_error": errors,
                   "low": self.slopes - reach, "high": self.slopes + reach}  # fmt: skip
        return pd.DataFrame(columns).rename_axis("term").reset_index()

    def ratio(
        self, numerator: str, denominator: str, confidence: float = 0.95
    ) -> tuple[float, float, float]:
        """Return the ratio of two slopes and its interval, as `fieller`."""
        names = [numerator, denominator]
        covariance = self.covariance.loc[names, names].to_numpy()
        return fieller(self.slopes[names].to_numpy(), covariance, self.freedom, confidence)


def fit_ordinal_mixed(
    rating: ArrayLike,
    item: ArrayLike,
    participant: ArrayLike,
    terms: pd.DataFrame,
    *,
    stretch: bool = True,
) -> OrdinalMixedFit:
    """Fit judgments, (n,) each, whose items have `terms` (items, k), indexed by item.

    `rating` has ordered categories (whatever numbers they are), `stretch` whether participants
    stretch the thresholds or only shift them. Raises LingprobError for missing values, items
    without terms, terms that are constant or determine one another, fewer than three categories,
    and likelihoods without a maximum.
    """
    frame = pd.DataFrame(
        {"rating": np.asarray(rating, dtype=np.float64), "item": item, "participant": participant}
    )
    judgments, labels, scale = _checked(frame, terms)
    with _one_thread():
        return _fitted(judgments, labels, scale, terms, stretch)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in one thread: threads of so small products wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _fitted(
    judgments: Judgments, labels: list[str], scale: Array, terms: pd.DataFrame, stretch: bool
) -> OrdinalMixedFit:
    start = _start(judgments, stretch)
    modes = torch.zeros(judgments.items + 2 * judgments.participants, dtype=torch.float64)
    objective = _Objective(judgments, stretch, modes)
    curvature, axes = np.linalg.eigh(_hessian(objective, start))
    inverse = axes / np.maximum(np.abs(curvature), 1.0) @ axes.T
    options = {"gtol": 1e-3, "hess_inv0": (inverse + inverse.T) / 2}
    found = minimize(objective, start, jac=True, method="BFGS", options=options)
    vector, hessian, decrement = _polished(objective, found.x)
    if decrement > ACCEPTED:
        raise LingprobError(
            "the likelihood of the ordinal model has no maximum at finite values: some categories "
            "are hardly used, or participants or items do not differ. Merge categories, or give "
            "more judgments."
        )
    with torch.no_grad():
        parameters = unpack(torch.tensor(vector), judgments, stretch)
        latent = judgments.terms @ parameters.slopes
        latent = latent + parameters.sd[0] * objective.modes[: judgments.items]
    k = terms.shape[1]
    # Where a variance is (nearly) zero, its logarithm has no curvature, and no part in the rest.
    is_sd = np.arange(len(vector)) >= len(vector) - (3 if stretch else 2)
    kept = ~is_sd | (np.diag(hessian) > FLAT)
    covariance = np.linalg.inv(hessian[np.ix_(kept, kept)])[:k, :k] / np.outer(scale, scale)
    names = list(terms.columns)
    return OrdinalMixedFit(
        slopes=pd.Series(parameters.slopes.numpy() / scale, names),
        covariance=pd.DataFrame(covariance, names, names),
        thresholds=pd.Series(parameters.thresholds[1:-1].numpy(), labels[1:]),
        sd_items=float(parameters.sd[0]),
        sd_shifts=float(parameters.sd[1]),
        sd_stretches=float(parameters.sd[2]),
        acceptability=pd.Series(latent.numpy(), terms.index),
        log_likelihood=-objective.value,
        n_judgments=len(judgments.category),
        freedom=judgments.items - k - 1,
        newton_decrement=decrement,
    )


class _Objective:
    """Minus the log-likelihood and its gradient, the modes of the last call as a start."""

    def __init__(self, judgments: Judgments, stretch: bool, modes: torch.Tensor) -> None:
        self.judgments, self.stretch, self.modes, self.value = judgments, stretch, modes, np.nan

    def __call__(self, vector: Array) -> tuple[float, Array]:
        self.value, gradient, self.modes = negative_log_likelihood(
            vector, self.judgments, self.stretch, self.modes
        )
        return self.value, gradient


def _polished(objective: _Objective, vector: Array) -> tuple[Array, Array, float]:
    """Return the optimum after a few Newton steps, the Hessian there and the last decrement."""
    for _ in range(4):
        hessian = _hessian(objective, vector)
        gradient = objective(vector)[1]
        curvature, axes = np.linalg.eigh(hessian)
        along = axes.T @ gradient
        # Along a flat axis (a variance of zero) there is nothing to gain.
        steep = np.where(curvature > FLAT, curvature, np.inf)
        decrement = float((along**2 / steep).sum() / 2)
        if decrement < ACCEPTED / 10:
            break
        vector = vector - axes @ (along / steep)
    objective(vector)
    return vector, hessian, decrement


def _hessian(objective: _Objective, vector: Array) -> Array:
    """Return the Hessian by central differences of the gradient."""
    moves = STEP * np.eye(len(vector))
    rows = [objective(vector + move)[1] - objective(vector - move)[1] for move in moves]
    hessian = np.array(rows) / (2 * STEP)
    return (hessian + hessian.T) / 2


def _checked(frame: pd.DataFrame, terms: pd.DataFrame) -> tuple[Judgments, list[str], Array]:
    """Return the judgments as codes with scaled terms, the categories' names and the scales."""
    missing = frame.isna().any(axis=1).to_numpy()
    if missing.any():
        raise LingprobError(
            f"judgment in row {int(missing.argmax())}: rating, item or participant is missing "
            f"({int(missing.sum())} such rows). Drop them."
        )
    absent = set(frame["item"]) - set(terms.index)
    if absent or terms.index.duplicated().any():
        raise LingprobError(
            f"terms must have one row for each item that was judged; {len(absent)} have none, such "
            f"as {next(iter(absent), 'none')!r}; {int(terms.index.duplicated().sum())} rows repeat "
            "an item."
        )
    values = terms.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise LingprobError("terms have missing or infinite values. Drop such items.")
    centred = values - values.mean(axis=0)
    scale = centred.std(axis=0)
    names = ", ".join(map(str, terms))
    if (scale <= 1e-12 * np.abs(values).max(axis=0)).any() or (
        np.linalg.matrix_rank(centred / scale, tol=1e-8) < terms.shape[1]
    ):
        raise LingprobError(
            f"terms {names}: one is constant, or others determine it. Leave it out."
        )
    category, found = pd.factorize(frame["rating"], sort=True)
    if len(found) < FEWEST_CATEGORIES:
        raise LingprobError(
            f"ratings have {len(found)} categories; an ordinal model needs three at least. Are "
            "they single judgments?"
        )
    participant, people = pd.factorize(frame["participant"])
    judgments = Judgments(
        category=torch.tensor(category),
        item=torch.tensor(terms.index.get_indexer(frame["item"])),
        participant=torch.tensor(participant),
        terms=torch.tensor(centred / scale),
        categories=len(found),
        participants=len(people),
    )
    return judgments, [f"{value:g}" for value in found], scale


def _start(judgments: Judgments, stretch: bool) -> Array:
    """Thresholds that give the categories' shares, and slopes of the items' mean ratings."""
    counts = np.bincount(judgments.category.numpy(), minlength=judgments.categories)
    spread = 1.5
    thresholds = spread * norm.ppf(counts.cumsum()[:-1] / counts.sum())
    category = judgments.category.numpy()
    z = (category - category.mean()) / category.std()
    slopes, *_ = np.linalg.lstsq(judgments.terms.numpy()[judgments.item.numpy()], spread * z)
    sds = np.log([0.8, 0.4, 0.2] if stretch else [0.8, 0.4])
    return np.concatenate([slopes, thresholds[:1], np.log(np.diff(thresholds)), sds])
