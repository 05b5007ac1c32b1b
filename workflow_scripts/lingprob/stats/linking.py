"""Link a sentence's log-probability to its acceptability (morcela, §2-§3.4).

With p a sentence's logprob, u its unigram_logprob (both nats) and l its n_tokens, each linking
function is an ordinary least-squares (OLS) regression of the rating on a few terms. MORCELA,
rating ~ a p/l + b u/l + c 1/l + d, has beta = -b/a and gamma = c/a.

    from lingprob.stats.linking import fit_linking_functions
    given = (table.logprob, table.unigram_logprob, table.n_tokens, table.rating)
    fits = fit_linking_functions(*given, clusters=table.article)
    print(fits[["linking_function", "r_cv", "beta", "gamma"]])
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lingprob.errors import LingprobError, refuse_other_order, unknown_name
from lingprob.stats.linking_fits import (
    LINKING_FUNCTIONS,
    Array,
    Fit,
    checked_inputs,
    correlations,
    fit_design,
    fitted_slopes,
    needs_unigrams,
    scoring_slopes,
    weighted_moments,
)
from lingprob.stats.resampling import (
    fold_numbers,
    interval,
    resample_counts,
    tails,
    unit_numbers,
    widened,
)

logger = logging.getLogger(__name__)

# By parameter: its term, the sign of its ratio to the first slope, its value if fixed.
PARAMETERS = {"beta": ("u/l", -1.0, 1.0), "gamma": ("1/l", 1.0, 0.0)}
UNLIMITED = (-np.inf, np.inf)
# Columns whose resamples are biased by their repeated sentences (`deviations_about`).
HELD_OUT = ("r_cv", "over_slor", "below_morcela")
LIMITS = dict.fromkeys(("r", "r_cv"), (-1.0, 1.0))
MINIMUM_PER_FOLD = 5
# Resamples that are cross-validated at once, to bound memory.
DRAWS_AT_ONCE = 100


@dataclass(frozen=True)
class Resampling:
    """The options of `fit_linking_functions` on folds, resamples and intervals."""

    folds: int = 5
    repeats: int = 100
    bootstrap: int = 1000
    confidence: float = 0.95
    seed: int = 0
    together: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Raise LingprobError for numbers that allow no cross-validation or no interval."""
        enough = self.folds >= 2 and self.repeats >= 1 and self.bootstrap >= 1
        if not (enough and 0 < self.confidence < 1):
            raise LingprobError(
                f"folds={self.folds}, repeats={self.repeats}, bootstrap={self.bootstrap}, "
                f"confidence={self.confidence}: need folds >= 2, repeats >= 1, bootstrap >= 1 and "
                "0 < confidence < 1."
            )

    def fold_units(self, n: int) -> NDArray:
        """Return the index of each sentence's unit, (n,) int. No fold splits a unit."""
        unit = unit_numbers("together", self.together, n)
        found, needed = len(set(unit)), self.folds * MINIMUM_PER_FOLD
        if found < needed:
            raise LingprobError(
                f"{found} sentences (or units of them) are too few for {self.folds} folds: need "
                f"{needed}. Give more, or lower folds."
            )
        return unit


def fit_linking_functions(
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    *,
    clusters: ArrayLike | None,
    **options: Any,
) -> pd.DataFrame:
    """Fit linking functions to the ratings of n sentences, and return one row per function.

    `resample_linking_functions` describes the columns and errors. With the workflow's clusters,
    seed and order of sentences, the numbers equal the workflow's.

    Args:
        logprob, unigram_logprob: log-probabilities (nats), shape (n,). If unigram_logprob is None
            or all NaN, functions that need it are left out.
        n_tokens, rating: number of tokens and mean rating, shape (n,).
        clusters: ids of the sampled units, shape (n,). Sentences of one article, paradigm or pair
            are not independent, so a resample draws them together. The workflow uses articles.
            None resamples sentences.
        options: `linking_functions` (names, all six by default), `folds` (5), `repeats` (100, how
            often sentences are shuffled into folds), `bootstrap` (1000 resamples), `confidence`
            (0.95), `seed` (0) and `together` (ids, shape (n,), of sentences that stay in one fold).
    """
    given = (logprob, unigram_logprob, n_tokens, rating)
    return resample_linking_functions(*given, clusters=clusters, **options)[0]


def resample_linking_functions(
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    linking_functions: Iterable[str] = LINKING_FUNCTIONS,
    **options: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit and evaluate linking functions on n sentences, and on resamples of them.

    Arguments are those of `fit_linking_functions`. Functions share folds and resamples, also in
    calls for different language models with the same sentences in the same order and the same seed.
    (MORCELA paper, §3.4, Appendix C)

    Returns:
        A table with one row per function:

        - linking_function, predictors (their number, with the intercept) and n.
        - r_cv: Pearson's r between held-out predictions and ratings, averaged over test folds and
          shuffles. With a single term, the term itself is correlated with the ratings, so it may
          be negative. The interval is that of cross-validated resamples (`deviations_about`).
        - r_cv_shuffle_sd: standard deviation over shuffles of the same sentences.
        - r: in-sample, with the interval of refits. The paper's r of functions with a single term,
          and of MORCELA with beta 1, compare with this one (so the authors' released code).
        - logprob_slope: of the first term, which contains the logprob.
        - beta, gamma: without an interval if the function fixes it. Refits with a logprob slope
          near 0 give wild ratios. Non-finite ones are logged and left out.
        - sse, aic, bic: of the OLS fit on all data.
        - over_slor, below_morcela: r_cv minus that of SLOR, and the r_cv of MORCELA minus that of
          this function, paired by resample. NaN if either function is left out.

        Columns _low and _high are percentile intervals, widened for few or unequal clusters
        (`resampling.widened`). And a table with one row per function and draw:
        linking_function, draw, r_cv, r, logprob_slope, beta and gamma.

    Raises LingprobError for the errors of `linking_fits.checked_inputs`, constant or collinear
    terms, a single cluster, or too few sentences for the folds. Memory: 24 bytes times n times
    bootstrap.
    """
    how = Resampling(**options)
    refuse_other_order(
        logprob=logprob, unigram_logprob=unigram_logprob, n_tokens=n_tokens, rating=rating,
        clusters=clusters, together=options.get("together"),
    )  # fmt: skip
    inputs = checked_inputs(logprob, unigram_logprob, n_tokens, rating)
    n = len(inputs["rating"])
    fold_unit = how.fold_units(n)
    names = _computable(linking_functions, inputs)
    fits = {name: fit_design(name, inputs) for name in names}
    columns = {name: fit.columns for name, fit in fits.items()}
    generator = np.random.default_rng([how.seed, 0])
    shuffles = fold_numbers(int(fold_unit.max()) + 1, how.folds, how.repeats, generator)
    shuffles = shuffles[:, fold_unit]
    counts = drawn_units(clusters, n, how.bootstrap, how.seed)
    in_folds = weighted_moments(columns, shuffles[:, None] == np.arange(how.folds)[:, None])
    refits = weighted_moments(columns, counts)
    held_out = _cross_validated_resamples(fits, shuffles, counts, how.folds)
    values = {name: _values(fit, in_folds[name]) for name, fit in fits.items()}
    draws = {name: _draws(fit, refits[name], held_out[name]) for name, fit in fits.items()}
    sizes = np.bincount(unit_numbers("clusters", clusters, n))
    rows = []
    for name, fit in fits.items():
        k, shuffle_sd = len(fit.terms) + 1, values[name].pop("r_cv_shuffle_sd")
        aic, bic = information_criteria(fit.sse, n, k)
        row = {"linking_function": name, "predictors": k, "n": n, "r_cv_shuffle_sd": shuffle_sd}
        row |= {"sse": fit.sse, "aic": aic, "bic": bic}
        drawn = draws[name] | _gains(name, draws)
        for column, value in (values[name] | _gains(name, values)).items():
            if column in HELD_OUT:
                ends = deviations_about(value, drawn[column], name, column, how.confidence)
            else:
                ends = _interval(drawn[column], name, column, how.confidence)
            limits, quantile = LIMITS.get(column, UNLIMITED), tails(how.confidence)[1]
            low, high = ends.values()
            wide = widened(value, (low, high), sizes, limits, quantile)
            row |= {column: value, **dict(zip(ends, wide, strict=True))}
        rows.append(row)
    tables = [
        pd.DataFrame({"linking_function": name, "draw": np.arange(how.bootstrap), **columns})
        for name, columns in draws.items()
    ]
    return pd.DataFrame(rows), pd.concat(tables, ignore_index=True)


def information_criteria(sse: float, n: int, predictors: int) -> tuple[float, float]:
    """Return (AIC, BIC) of an OLS fit up to a constant; `predictors` counts the intercept.

    AIC = n ln(sse/n) + 2k and BIC = n ln(sse/n) + k ln n (morcela, appendix C.2).
    """
    fit = n * np.log(sse / n)
    return float(fit + 2 * predictors), float(fit + predictors * np.log(n))


def _ratios(fit: Fit, slopes: Array) -> dict[str, Array]:
    """Return beta and gamma, if the function learns them, given slopes (..., k) of its terms."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            parameter: sign * slopes[..., fit.terms.index(term)] / slopes[..., 0]
            for parameter, (term, sign, _) in PARAMETERS.items()
            if term in fit.terms
        }


def _computable(linking_functions: Iterable[str], inputs: dict[str, Array]) -> list[str]:
    """Return the names of the linking functions for which all inputs are given."""
    names = list(linking_functions)
    for name in names:
        if name not in LINKING_FUNCTIONS:
            raise unknown_name("linking function", name, LINKING_FUNCTIONS)
    if "unigram_logprob" not in inputs:
        logger.info("without unigram_logprob, functions that need it are left out")
        names = [name for name in names if not needs_unigrams(name)]
    if not names:
        raise LingprobError("linking_functions: none is left that these arguments allow.")
    return names


def drawn_units(clusters: ArrayLike | None, n: int, draws: int, seed: int) -> NDArray:
    """Return how often each of n sentences is in each resample of clusters, (draws, n) int.

    It depends only on the sentences' clusters, in order, and on the seed.
    """
    cluster = unit_numbers("clusters", clusters, n)
    if clusters is not None and cluster.max() == 0:
        raise LingprobError(
            f"clusters: all {n} sentences have the same id, and intervals need at least two "
            "clusters. Give sentences of more clusters, or no clusters (None)."
        )
    generator = np.random.default_rng([seed, 1])
    return resample_counts(int(cluster.max()) + 1, draws, generator)[:, cluster]


def _cross_validated_resamples(
    fits: dict[str, Fit], shuffles: NDArray, counts: NDArray, folds: int
) -> dict[str, Array]:
    """Return r_cv of each resample, (draws,), by function, with one shuffle per resample."""
    columns = {name: fit.columns for name, fit in fits.items()}
    shuffle_of = np.arange(len(counts)) % len(shuffles)
    found: dict[str, list[Array]] = {name: [] for name in fits}
    for first in range(0, len(counts), DRAWS_AT_ONCE):
        some = slice(first, first + DRAWS_AT_ONCE)
        in_fold = shuffles[shuffle_of[some], None] == np.arange(folds)[:, None]
        moments = weighted_moments(columns, counts[some, None] * in_fold)
        for name, fit in fits.items():
            found[name].append(_held_out(fit, moments[name]).mean(axis=1))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _held_out(fit: Fit, in_folds: Array) -> Array:
    """Return r of each test fold, (..., folds), given moments (..., folds, m, m) of the folds."""
    in_training = in_folds.sum(axis=-3, keepdims=True) - in_folds
    return correlations(in_folds, scoring_slopes(fit, in_training))


def _draws(fit: Fit, refits: Array, held_out: Array) -> dict[str, Array]:
    """Return r_cv, r, logprob_slope, beta and gamma, (draws,) each, from moments (draws, m, m)."""
    slopes = fitted_slopes(refits) @ fit.to_slopes.T
    return {
        "r_cv": held_out,
        "r": correlations(refits, scoring_slopes(fit, refits)),
        "logprob_slope": slopes[:, 0],
        **{parameter: np.full(len(refits), np.nan) for parameter in PARAMETERS},
        **_ratios(fit, slopes),
    }


def _values(fit: Fit, in_folds: Array) -> dict[str, float]:
    """Return r_cv (with r_cv_shuffle_sd), r, logprob_slope, beta and gamma of all sentences.

    `in_folds` are moments (repeats, folds, m, m) of the test folds.
    """
    r = _held_out(fit, in_folds)
    if np.isnan(r).any():
        repeat, fold = np.argwhere(np.isnan(r))[0]
        raise LingprobError(
            f"{fit.name}: in shuffle {repeat}, fold {fold}, ratings or predictions do not vary, "
            f"or the training sentences determine no fit ({int(np.isnan(r).sum())} such folds). "
            "Lower folds, or give more varied sentences."
        )
    means = r.mean(axis=1)
    values = {"r_cv": float(means.mean()), "r_cv_shuffle_sd": float(means.std()), "r": fit.r}
    values["logprob_slope"] = float(fit.slopes[0])
    for parameter, (*_, set_to) in PARAMETERS.items():
        values[parameter] = set_to if needs_unigrams(fit.name) else np.nan
    return values | {name: float(ratio) for name, ratio in _ratios(fit, fit.slopes).items()}


def _gains(name: str, of_all: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return differences in r_cv, NaN without the other function. r_cv are numbers or draws."""
    known = {other: of_all[other]["r_cv"] for other in ("slor", "morcela") if other in of_all}
    r_cv = of_all[name]["r_cv"]
    known[name] = np.nan * r_cv  # no gain over itself
    return {
        "over_slor": r_cv - known.get("slor", np.nan * r_cv),
        "below_morcela": known.get("morcela", np.nan * r_cv) - r_cv,
    }


def deviations_about(
    value: float, drawn: Array, name: str, column: str, confidence: float
) -> dict[str, float]:
    """Return COLUMN_low and COLUMN_high, the interval of draws shifted to the mean `value`.

    A resample repeats sentences, so its cross-validation learns from fewer different sentences. Its
    r_cv is therefore biased downwards, which is no sampling error.
    """
    ends = _interval(drawn, name, column, confidence)
    finite = drawn[np.isfinite(drawn)]
    shift = value - float(finite.mean()) if len(finite) else np.nan
    return {end: place + shift for end, place in ends.items()}


def _interval(values: Array, name: str, column: str, confidence: float) -> dict[str, float]:
    """Return COLUMN_low and COLUMN_high, the percentile interval of the finite values."""
    wild = int((~np.isfinite(values)).sum())
    if 0 < wild < len(values):
        logger.warning(
            "%s: %d of %d bootstrap refits gave no finite %s and are left out of its interval",
            name, wild, len(values), column,
        )  # fmt: skip
    low, high = interval(values, tails(confidence))
    return {f"{column}_low": low, f"{column}_high": high}
