"""Estimate differences between prefixes, lengths or models that are judged on the same suites."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lingprob.papers.context.statistics import permuted_correlations
from lingprob.scorecard.estimates import combined
from lingprob.scorecard.verdicts import Estimate
from lingprob.stats.resampling import TAILS, interval, widened

# One row of `context_accuracy` for each model, data set and kind of prefix.
ByKind = dict[tuple[str, str, str], Any]
DRAWS = 1000  # resamples of suites
# With fewer units, chance puts all on one side of 0 in more than one case in twenty.
FEWEST = 6


def rows_at(
    accuracy: pd.DataFrame, column: str = "delta", part: float = 1.0, perturbation: str = ""
) -> ByKind:
    """Return the row of `context_accuracy` over all pairs for each model, data set and kind.

    Its length is the nearest to the share `part` of the longest. Rows with NaN in `column` (delta,
    accuracy or margin) are left out. `perturbation` is '' for unperturbed prefixes.
    """
    rows = accuracy[(accuracy["level"] == "all") & accuracy[column].notna()]
    rows = rows.assign(perturbation=rows["perturbation"].fillna(""))
    rows = rows[rows["perturbation"] == perturbation]
    by = ["model", "dataset", "kind"]
    longest = rows.groupby(by)["length"].transform("max")
    rows = rows.assign(away=(rows["length"] - part * longest).abs()).sort_values("away")
    return {
        (row.model, row.dataset, row.kind): row for row in rows.drop_duplicates(by).itertuples()
    }


def weighted_sum(
    accuracy: pd.DataFrame, rows: Sequence[Any], weights: Sequence[float], column: str
) -> Estimate:
    """Return a weighted sum of rows of a `context_accuracy` table over all pairs.

    All rows have the same suites. So suites, weighted by their numbers of pairs, are resampled once
    for all rows. If the table lacks some suites, or there is only one, rows count as independent,
    which makes the interval of a difference wider.
    """
    parts = [_resampled(row, column) for row in rows]
    total = replace(combined(parts, weights), note=parts[0].note)
    if len(rows) < 2 or (of_suites := accuracy[accuracy["level"] == "suite"]).empty:
        return total
    keys = ["model", "dataset", "kind", "length", "perturbation"]
    known = of_suites[keys].fillna({"perturbation": ""})
    tables = [of_suites[(known == [getattr(row, key) for key in keys]).all(axis=1)] for row in rows]
    values, pairs = shared_suites(tables, column)
    if len(pairs) < max(FEWEST, *(row.n_suites for row in rows)):
        return total
    # If pairs lack a judgment, the mean over judgments differs from the mean over suites.
    shift = total.value - np.average(values @ weights, weights=pairs)
    ends = interval(resampled_means(values, pairs) @ weights + shift)
    low, high = widened(total.value, ends, pairs, (-np.inf, np.inf))
    return replace(total, low=low, high=high) if low < high else without_interval(total)


def _resampled(row: Any, column: str) -> Estimate:
    """Return a row's value, with an interval unless its units are too few or all equal."""
    value, low, high = (float(getattr(row, column + end)) for end in ("", "_low", "_high"))
    several = row.n_suites > 1
    n, what = (row.n_suites, "suites") if several else (row.n_pairs, "pairs")
    found = Estimate(value, low, high, int(n), f"{n} {what}, {row.length} tokens")
    return without_interval(found) if n < FEWEST or low == high else found


def without_interval(estimate: Estimate) -> Estimate:
    """Return an estimate with NaN as the ends of its interval."""
    return replace(estimate, low=np.nan, high=np.nan)


def shared_suites(tables: Sequence[pd.DataFrame], column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a column for the suites in all tables, (suites, tables), and their numbers of pairs.

    Each table has rows of `context_accuracy`, one for each suite.
    """
    by_suite = [table[["group", column, "n_pairs"]].set_index("group") for table in tables]
    wide = pd.concat(by_suite, axis=1, join="inner").dropna().sort_index()
    return wide[[column]].to_numpy(float), wide[["n_pairs"]].to_numpy(float).max(axis=1)


def resampled_means(values: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return means of values (suites, k), weighted by pairs, in resamples of suites: (DRAWS, k)."""
    chances = np.full(len(pairs), 1 / len(pairs))
    weights = np.random.default_rng(0).multinomial(len(pairs), chances, DRAWS) * pairs
    means: np.ndarray = weights @ values / weights.sum(axis=1, keepdims=True)
    return means


def correlation_difference(suites: Sequence[Sequence[pd.DataFrame]], total: Estimate) -> Estimate:
    """Return `total`, a difference of two models' mean r, with an interval over shared suites.

    r correlates suites' accuracies without a prefix with those after one. `suites` has the
    `suite_points` of both models on each data set, which are resampled once for both models. If
    they are too few, `total` keeps its interval for independent r.
    """
    drawn, fewest = [], np.inf
    for pair in suites:
        x, _ = shared_suites(pair, "baseline")
        y, _ = shared_suites(pair, "accuracy")
        if len(x) < FEWEST:
            return total
        weights = np.random.default_rng(0).multinomial(len(x), np.full(len(x), 1 / len(x)), DRAWS)
        mean_x, mean_y, xx, yy, xy = (weights @ v / len(x) for v in (x, y, x * x, y * y, x * y))
        with np.errstate(divide="ignore", invalid="ignore"):
            r = (xy - mean_x * mean_y) / np.sqrt((xx - mean_x**2) * (yy - mean_y**2))
        drawn.append(r[:, 0] - r[:, 1])
        fewest = min(fewest, len(x))
    ends = interval(np.mean(drawn, axis=0))
    low, high = widened(total.value, ends, np.ones(int(fewest)), (-2.0, 2.0))
    return replace(total, low=low, high=high)


def overlap_difference(cells: pd.DataFrame, total: Estimate) -> Estimate:
    """Return `total`, rho of token overlap minus rho of label overlap, with a paired interval.

    Both rho correlate with the same `accuracy` of suites after suites, so suites are permuted once
    for both. `cells` are those of different suites, with F1 in `token` and `dependency` (labels).
    With too few suites, `total` keeps its interval for independent rho.
    """
    known = cells.dropna(subset=["token", "dependency", "accuracy"])
    tokens, labels = (
        permuted_correlations(known, name, "accuracy", DRAWS, 0)[1]
        for name in ("token", "dependency")
    )
    if not (len(tokens) and len(labels)):
        return total
    low, high = np.quantile(tokens - labels, TAILS)
    return replace(total, low=float(total.value - high), high=float(total.value - low))
