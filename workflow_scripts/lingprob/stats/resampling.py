"""Resample units and permute items; compute intervals, p-values and shares of right answers.

Units (pairs, or paradigms with all their pairs) are drawn with replacement. A resample is a count
per unit, which weights statistics, so that nothing is copied.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lingprob.errors import LingprobError

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
COUNTS_AT_ONCE = 2**22
TAILS = (0.025, 0.975)
QUANTILE = TAILS[1]
FEWEST = 3
# A variance below this share of the mean square is rounding.
CONSTANT = 1e-14
CONSTANT_SUMS = 1e-12  # the same share of a variance that is a difference of sums
MOST_IN_FULL = 16  # up to this many items, all 2**15 swaps are counted
SWAPS_AT_ONCE = 2**12
ROUNDING = 1e-9  # rounding of a sum, relative to the sum of absolute values


def fold_numbers(units: int, folds: int, repeats: int, generator: np.random.Generator) -> NDArray:
    """Return the fold of each unit in each shuffle, (repeats, units) int; folds count from 0.

    Fold sizes differ by at most one, the larger folds first, as in scikit-learn's KFold.
    """
    in_order = np.sort(np.arange(units) % folds)
    return generator.permuted(np.tile(in_order, (repeats, 1)), axis=1)


def unit_numbers(name: str, ids: ArrayLike | None, n: int) -> NDArray[np.intp]:
    """Return the index of each sentence's unit, (n,) int. Without ids, each sentence is a unit."""
    if ids is None:
        return np.arange(n)
    unit, _ = pd.factorize(pd.Series(ids))
    if len(unit) != n:
        raise LingprobError(f"{name} has {len(unit)} rows, the other arguments {n}.")
    if (unit < 0).any():
        raise LingprobError(f"{name}, row {int((unit < 0).argmax())}: the id is missing.")
    return unit


def resample_counts(units: int, draws: int, generator: np.random.Generator) -> NDArray:
    """Draw bootstrap resamples: how often each unit occurs in each, (draws, units) int."""
    drawn = generator.integers(units, size=(draws, units))
    drawn += units * np.arange(draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=draws * units).reshape(draws, units)


def resamples(units: int, draws: int, seed: int) -> Iterator[Ints]:
    """Yield resamples in blocks: how often each unit occurs, (some draws, units) int."""
    generator = np.random.default_rng(seed)
    step = max(1, COUNTS_AT_ONCE // max(units, 1))
    for done in range(0, draws, step):
        yield resample_counts(units, min(step, draws - done), generator)


def tails(confidence: float) -> tuple[float, float]:
    """Return the two quantiles (0.025 and 0.975 for 0.95) at which a central interval ends."""
    return (1 - confidence) / 2, (1 + confidence) / 2


def interval(drawn: Array, ends: tuple[float, float] = TAILS) -> tuple[float, float]:
    """Return the percentile interval of the finite values, (NaN, NaN) if there are none."""
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, ends)
    return float(low), float(high)


def correlation(x: Array, y: Array) -> float:
    """Return Pearson's r of two (n,) arrays; NaN for fewer than 3 rows or a constant array."""
    constant = any(values.var() <= CONSTANT * (values**2).mean() for values in (x, y))
    return np.nan if len(x) < FEWEST or constant else float(np.corrcoef(x, y)[0, 1])


def standardise(values: Array) -> Array:
    """Return values (n,) with mean 0 and standard deviation 1 (n in the denominator)."""
    return (values - values.mean()) / values.std()


def correlation_interval(
    x: Array, y: Array, unit: Ints, *, draws: int, seed: int
) -> tuple[float, float]:
    """Return the 95% interval of Pearson's r when units are resampled, NaN if r is.

    `unit`, (n,) int from 0, is the unit of each row. Draws with a constant variable are left out.
    """
    if np.isnan(correlation(x, y)):
        return np.nan, np.nan
    x, y = standardise(x), standardise(y)
    columns = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    n, sx, sy, sxx, syy, sxy = _resampled_sums(columns, unit, int(unit.max()) + 1, draws, seed).T
    vx, vy = n * sxx - sx**2, n * syy - sy**2
    varies = (vx > CONSTANT_SUMS * n * sxx) & (vy > CONSTANT_SUMS * n * syy)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = np.where(varies, (n * sxy - sx * sy) / np.sqrt(vx * vy), np.nan)
    return interval(np.clip(drawn, -1, 1))  # rounding goes beyond


def _resampled_sums(columns: Array, unit: Ints, units: int, draws: int, seed: int) -> Array:
    """Return the sum of each column (n, k) in each resample of `units` units, (draws, k)."""
    by_unit = np.zeros((units, columns.shape[1]))
    np.add.at(by_unit, unit, columns)
    return np.concatenate([counts @ by_unit for counts in resamples(units, draws, seed)])


def resampled_means(
    values: Array, unit: Ints, *, draws: int, seed: int, weight: Array, units: int
) -> Array:
    """Return the mean of each column of values (n, k) in each resample of units, (draws, k).

    Rows have weights (n,) and the numbers of their units, (n,) int from 0. `units` is the number of
    units to draw from, including those without a row here.
    """
    columns = np.column_stack([weight, weight[:, None] * values])
    sums = _resampled_sums(columns, unit, units, draws, seed)
    with np.errstate(invalid="ignore"):
        return sums[:, 1:] / sums[:, :1]


def mean_intervals(values: Array, unit: Ints, *, draws: int, seed: int) -> Array:
    """Return the 95% interval, (k, 2), of the mean of each column of values (n, k).

    All columns share the resampled units. A column with a NaN gets NaN.
    """
    options = {"draws": draws, "seed": seed, "units": int(unit.max()) + 1}
    means = resampled_means(values, unit, weight=np.ones(len(values)), **options)
    return np.array([interval(column) for column in means.T])


class CrossedDraws:
    """Resampled sums over cells of readers (rows) and items (columns).

    Rows and columns are resampled independently, each as if the others were fixed. The two
    deviations are added, and scaled to the variance of two crossed samples, in which the noise of
    single cells counts once (Cameron, Gelbach & Miller 2011). A dimension of size 1 is fixed.

    `values` has shape (variables, rows, columns), 0 in cells without data. All variables share the
    draws. `units` is the number of resampled rows or columns, whichever is smaller.
    """

    def __init__(self, values: Array, draws: int, seed: int) -> None:
        self.sums = values.sum(axis=(1, 2))
        sides = values.sum(axis=2), values.sum(axis=1)
        generator = np.random.default_rng(seed)
        self.deviations = np.zeros((draws, len(values)))
        for side in sides:
            if side.shape[1] > 1:
                counts = resample_counts(side.shape[1], draws, generator)
                self.deviations += counts @ side.T - self.sums
        self.units = min((side.shape[1] for side in sides if side.shape[1] > 1), default=1)
        self.products = [side @ side.T - self._means(side.shape[1]) for side in sides]
        cells = values.reshape(len(values), -1)
        self.cells = cells @ cells.T - self._means(int((cells != 0).any(axis=0).sum()))

    def _means(self, size: int) -> Array:
        return np.outer(self.sums, self.sums) / max(size, 1)

    def of(self, weights: Array) -> Array:
        """Return a weighted sum of the variables in each draw, (draws,)."""
        by_row, by_column = (weights @ products @ weights for products in self.products)
        apart = weights @ self.cells @ weights
        wanted = max(by_row + by_column - apart, by_row, by_column)
        scale = np.sqrt(wanted / (by_row + by_column)) if by_row + by_column > 0 else 1.0
        found: Array = weights @ self.sums + scale * (self.deviations @ weights)
        return found

    def interval(self, weights: Array) -> tuple[float, float]:
        """Return the 95% interval of a weighted sum, which lies in it, widened for few units."""
        value, ends = float(weights @ self.sums), interval(self.of(weights))
        low, high = widened(value, ends, np.ones(self.units), (-np.inf, np.inf))
        return float(np.minimum(value, low)), float(np.maximum(value, high))


def sum_interval(values: Array, draws: int, seed: int) -> tuple[float, float]:
    """Return the 95% interval of the sum of values (readers, items), as CrossedDraws defines it."""
    return CrossedDraws(values[None], draws, seed).interval(np.ones(1))


def widened(
    value: float,
    ends: tuple[float, float],
    sizes: NDArray,
    limits: tuple[float, float],
    quantile: float = QUANTILE,
) -> tuple[float, float]:
    """Return a percentile interval widened for the sizes of the resampled units.

    An interval over n units is short by sqrt((n - 1) / n) and takes the normal quantile instead of
    Student's t (Hesterberg 2015): 22% for ten units. Units of unequal sizes s count as
    n = (sum s)^2 / sum s^2 (Kish), with (sum s^2)^2 / sum s^4 - 1 degrees of freedom
    (Satterthwaite), as if rows of a unit were alike, but at least 1. Both ends stay between the
    limits. (NaN, NaN) for a single unit. The upper end is at `quantile`.
    """
    from scipy import stats  # half a second to import

    squares = np.square(sizes, dtype=float)
    freedom = max(1.0, squares.sum() ** 2 / (squares**2).sum() - 1)
    units = sizes.sum() ** 2 / squares.sum()
    if units < 1 + ROUNDING:
        return np.nan, np.nan
    by_student = float(stats.t.ppf(quantile, freedom) / stats.norm.ppf(quantile))
    factor = by_student * np.sqrt(units / (units - 1))
    low, high = (value + factor * (end - value) for end in ends)
    return float(max(low, limits[0])), float(min(high, limits[1]))


def swap_p_values(values: Array, first: NDArray, second: NDArray, seed: int) -> Array:
    """Return two-sided p-values of sums of paired differences, (pairs,).

    If two columns differ in name alone, swapping them within any item changes their difference by
    chance alone. The p-value is the share of swaps whose summed difference is at least as far from
    0 as the observed one. Up to 16 items all swaps are counted, else 2**15 random ones, the
    observed one included (Phipson & Smyth 2010).

    Rows of values (items, columns) are independent of each other. `first` and `second`, (pairs,)
    int, are the columns of each pair.
    """
    differences = np.abs(values[:, first] - values[:, second]).sum(axis=0)
    totals = values.sum(axis=0)
    least = np.abs(totals[first] - totals[second]) - ROUNDING * differences
    reached, swaps = np.zeros(len(first)), 0
    for signs in _swaps(len(values), seed):
        sums = signs @ values
        reached += (np.abs(sums[:, first] - sums[:, second]) >= least).sum(axis=0)
        swaps += len(signs)
    return reached / swaps


def _swaps(items: int, seed: int) -> Iterator[Array]:
    """Yield blocks of signs (-1 if swapped), (some swaps, items). The first row swaps none.

    Swapping the other items instead gives the opposite sum, so the first item is never swapped.
    """
    free = items - 1
    generator = np.random.default_rng(seed)
    count = 2 ** min(free, MOST_IN_FULL - 1)
    for begin in range(0, count, SWAPS_AT_ONCE):
        rows = np.arange(begin, min(begin + SWAPS_AT_ONCE, count))
        if items <= MOST_IN_FULL:
            swapped = rows[:, None] >> np.arange(free) & 1
        else:
            swapped = generator.integers(2, size=(len(rows), free)) * (rows > 0)[:, None]
        yield np.hstack([np.ones((len(rows), 1)), 1.0 - 2.0 * swapped])


def preferences(good: ArrayLike, bad: ArrayLike) -> NDArray[np.float64]:
    """Return 1 for pairs whose good side scores higher, 0 if the bad side does, 1/2 for ties.

    With ties as halves, accuracy is the area under the ROC curve within pairs. A model that often
    ties, such as a unigram model whose pairs swap two words, is at 0.5. A missing side gives NaN.
    """
    difference = np.asarray(good, dtype=float) - np.asarray(bad, dtype=float)
    return (np.sign(difference) + 1) / 2


def accuracies(right: pd.Series, by: pd.Series) -> pd.DataFrame:
    """Return n, accuracy, accuracy_low and accuracy_high by group, in order of appearance.

    Accuracy is the share of `right`, (n,) bool or float from `preferences`, with Wilson's 95%
    interval. Answers that are NaN or without a group in `by`, (n,), are left out.
    """
    rows = {}
    for group, some in right.groupby(by.to_numpy(), sort=False):
        share, n = float(some.mean()), int(some.count())
        rows[group] = (n, share, *(_wilson(share, n) if n else (np.nan, np.nan)))
    columns = ["n", "accuracy", "accuracy_low", "accuracy_high"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def clustered_proportion_interval(
    correct: NDArray[np.bool_], cluster: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the 95% interval of a share of successes that depend on each other within clusters.

    It is Wilson's interval for the effective number of trials (Korn & Graubard 1998): trials
    divided by the design effect (at least 1), corrected for few clusters by Student's t. Its width
    is positive even if all or no trials succeed. `correct` and `cluster` have shape (n,). With a
    single cluster, trials count as independent.
    """
    from scipy import stats  # half a second to import

    n, share = len(correct), float(np.mean(correct))
    clusters, worth = len(np.unique(cluster)), float(n)
    if clusters > 1:
        ratio = stats.t.ppf(QUANTILE, n - 1) / stats.t.ppf(QUANTILE, clusters - 1)
        worth *= ratio**2 / max(1.0, design_effect(np.asarray(correct, float), cluster))
    return _wilson(share, worth)


def _wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share of n trials."""
    from scipy import stats  # half a second to import

    z = stats.norm.ppf(QUANTILE)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return max(0.0, min(centre - reach, share)), min(1.0, max(centre + reach, share))


def design_effect(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> float:
    """Return the variance of a mean over clusters, divided by that of independent values.

    The variance over clusters is that of a linearised ratio of sums. 1 if values are equal.
    """
    n, codes = len(values), np.unique(cluster, return_inverse=True)[1]
    clusters = codes.max() + 1
    residual = values - values.mean()
    independent = float(residual @ residual) / (n - 1) / n
    if independent == 0 or clusters < 2:
        return 1.0
    sums = np.bincount(codes, residual)
    clustered = clusters / (clusters - 1) * float(sums @ sums) / n**2
    return clustered / independent
