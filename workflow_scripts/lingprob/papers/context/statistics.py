"""Compute the regressions and correlations that test the claims of Sinha et al. (2023)."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from lingprob.context.judgments import at_longest
from lingprob.context.names import MATCHED, MISMATCHED, UNRELATED
from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.stats.logistic_mixed import (
    aggregate,
    all_interactions,
    fit_mixed_logistic,
    group_standard_errors,
)
from lingprob.stats.resampling import TAILS, correlation_interval, widened

logger = logging.getLogger(__name__)
RELATED = (*MATCHED, *MISMATCHED)
SUITES = ["target_suite", "prefix_suite"]
FEWEST_SUITES = 4  # fewer suites have fewer permutations than an interval needs
# A jackknife error below this share of the model's standard error is rounding: nothing changed.
ROUNDING = 1e-6


def regressions(judgments: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Return the mixed logistic regressions of accuracy, per model and data set (context, §3).

    After related prefixes, predictors are log length, match and acceptability with all interactions
    (factors 1 for matched, acceptable, else -1), with a random intercept by suite. After unrelated
    prefixes, log length is the only predictor. The length is the actual one (tokens, natural
    logarithm), centred. It is below a configured length if a suite has too few sentences.

    Returns a `context_regression` table: estimates (logits), with standard errors, z and p for
    these suites only. `suite_std_error` and `suite_p` generalise to other suites, by a jackknife
    over suites and Student's t with `suite_df` degrees of freedom. They are null if no judgment
    changes. All values are null if a fit fails, and the log has the reason.
    """
    tables = []
    grown = judgments[judgments["perturbation"].isna()]
    for (model, dataset), group in grown.groupby(["model", "dataset"], sort=False):
        for prefixes, kinds in (("related", RELATED), ("unrelated", (UNRELATED,))):
            rows = group[group["kind"].isin(kinds)]
            if rows.empty:
                continue
            described = {"model": model, "dataset": dataset, "prefixes": prefixes, "n": len(rows)}
            try:
                table = regression(rows, related=prefixes == "related")
            except LingprobError as error:
                logger.warning("no regression of %s: %s", described, error)
                table = pd.DataFrame({"term": ["none"]})
            tables.append(table.assign(scale=scale, **described))
    schema = SCHEMAS["context_regression"]
    if not tables:
        return schema.empty_table().to_pandas()
    return pd.concat(tables, ignore_index=True).reindex(columns=schema.names)


def regression(rows: pd.DataFrame, related: bool) -> pd.DataFrame:
    """Return the columns of `context_regression` for one regression, one row per term."""
    fit = fit_mixed_logistic(*aggregate(rows["correct"], design(rows, related), rows["suite"]))
    table = fit.table().assign(sd_suite=fit.sd)
    by_suite = group_standard_errors(fit).reindex(table["term"]).to_numpy()
    known = by_suite > ROUNDING * table["std_error"]
    table["suite_std_error"] = np.where(known, by_suite, np.nan)
    table["suite_df"] = np.where(known, rows["suite"].nunique() - 1, np.nan)
    t = (table["estimate"] / table["suite_std_error"]).abs()
    table["suite_p"] = 2 * stats.t.sf(t, table["suite_df"])
    return table


def design(rows: pd.DataFrame, related: bool) -> pd.DataFrame:
    """Return the terms of a regression, without the intercept, as columns: one row per judgment."""
    lengths = np.log(rows["prefix_tokens"].to_numpy(dtype=float))
    columns = {"log_length": lengths - lengths.mean()}
    if related:
        columns["matched"] = np.where(rows["kind"].isin(MATCHED), 1.0, -1.0)
        unacceptable = rows["kind"].str.endswith("unacceptable")
        columns["acceptable"] = np.where(unacceptable, -1.0, 1.0)
    return all_interactions(pd.DataFrame(columns, index=rows.index))


def baseline_correlations(accuracy: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Correlate suites' accuracy without a prefix with that after the longest (Figures 10, 11)."""
    points = pd.concat([suite_points(accuracy, kind).assign(y=kind) for kind in MATCHED])
    about = ("metric", "baseline", "pearson")
    return correlate_points(points, about, "baseline", "accuracy", scale)


def of_suites(accuracy: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the rows of `context_accuracy` about suites after unperturbed prefixes of one kind."""
    same = (accuracy["level"] == "suite") & (accuracy["kind"] == kind)
    return accuracy[same & accuracy["perturbation"].isna()]


def suite_points(accuracy: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the rows of `of_suites` at each suite's greatest length."""
    longest = of_suites(accuracy, kind).sort_values("length", kind="stable")
    return longest.drop_duplicates(["model", "dataset", "group"], keep="last").sort_index()


def overlap_correlations(
    judgments: pd.DataFrame,
    prefix_overlap: pd.DataFrame,
    matrix: pd.DataFrame,
    overlap: pd.DataFrame,
    scale: str,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Correlate overlap with accuracy over minimal pairs, and over every two suites (Appendix D).

    Over minimal pairs: the point-biserial correlation of the judgment with the mean F1 between the
    sentences of the longest acceptable prefix and the target. Over two different suites: Spearman's
    rho of F1 with accuracy after ten sentences, and with its change.

    All `context_` tables are of one data set. `draws` is the number of resamples of suites.
    """
    rows: list[tuple[Any, ...]] = []
    for measure, overlaps in prefix_overlap.groupby("measure", sort=False):
        for kind in (MATCHED[0], MISMATCHED[0]):
            both = at_longest(judgments, kind).merge(overlaps, on=["prefix_id", "pair_id"])
            ends = zip(both["f1"], both["n_sentences"], strict=True)
            both["f1"] = [grown[sentences - 1] for grown, sentences in ends]
            for (model, dataset), group in both.groupby(["model", "dataset"], sort=False):
                about = (model, dataset, "pairs", f"{measure} overlap with {kind} prefixes")
                found = pair_correlation(group, draws, seed)
                rows.append((*about, "correct", "point_biserial", *found, len(group)))
    keys = ["dataset", *SUITES]
    for measure, table in overlap.groupby("measure", sort=False):
        joined = matrix.merge(table.drop(columns="scale"), on=keys)
        joined = joined[joined["target_suite"] != joined["prefix_suite"]]
        for (model, dataset), group in joined.groupby(["model", "dataset"], sort=False):
            about = (model, dataset, "suites", f"{measure} overlap of suites")
            for y in ("accuracy", "delta"):
                found = matrix_correlation(group, "f1", y, draws, seed)
                rows.append((*about, y, "spearman", *found, len(group)))
    return correlations(rows, scale)


def pair_correlation(
    rows: pd.DataFrame, draws: int, seed: int
) -> tuple[float, float, float, float]:
    """Return the correlation of `f1` with `correct`, the ends of its 95% interval, and NaN as p.

    Suites are resampled with their pairs, because pairs of one suite are not independent.
    """
    f1, correct = rows["f1"].to_numpy(float), rows["correct"].to_numpy(float)
    value, _ = _correlation(stats.pearsonr, pd.Series(correct), pd.Series(f1))
    suite = pd.factorize(rows["suite"])[0]
    ends = correlation_interval(f1, correct, suite, draws=draws, seed=seed)
    low, high = widened(value, ends, np.bincount(suite), (-1, 1))
    return value, low, high, np.nan


def matrix_correlation(
    cells: pd.DataFrame, x: str, y: str, draws: int, seed: int
) -> tuple[float, float, float, float]:
    """Return Spearman's rho of two matrices of suites, the ends of its 95% interval, and p.

    Cells of one row or column are not independent. The null distribution of rho therefore permutes
    the suites of one matrix, its rows and columns together (Mantel's test). The interval is
    Fisher's z minus the percentiles of z under these permutations.

    `cells` has one row per target_suite and other prefix_suite, with the columns x and y. `draws`
    and `seed` are those of the permutations.
    """
    value, by_chance = permuted_correlations(cells, x, y, draws, seed)
    if not len(by_chance):
        return value, np.nan, np.nan, np.nan
    share = (np.sum(np.abs(by_chance) >= np.abs(value) - ROUNDING) + 1) / (draws + 1)
    limit = 1 - ROUNDING
    z = np.arctanh(np.clip([value, *np.quantile(by_chance, TAILS)], -limit, limit))
    low, high = np.tanh(z[0] - z[[2, 1]])
    return value, float(low), float(high), float(share)


def permuted_correlations(
    cells: pd.DataFrame, x: str, y: str, draws: int, seed: int
) -> tuple[float, np.ndarray]:
    """Return Spearman's rho of two matrices, and rho under permutations of suites, (draws,).

    Arguments are those of `matrix_correlation`. For too few suites there are no permutations.
    """
    known = cells.dropna(subset=[x, y])
    value, _ = _correlation(stats.spearmanr, known[x], known[y])
    suites = sorted({*known["target_suite"], *known["prefix_suite"]})
    if not np.isfinite(value) or len(suites) < FEWEST_SUITES:
        return value, np.array([])
    place = [known[name].map(suites.index).to_numpy(int) for name in SUITES]
    ranks = np.full((2, len(suites), len(suites)), np.nan)
    ranks[:, place[0], place[1]] = stats.rankdata(known[[x, y]].to_numpy(float).T, axis=1)
    generator = np.random.default_rng(seed)
    by_chance = []
    for _ in range(draws):
        order = generator.permutation(len(suites))
        pairs = np.stack([ranks[0][np.ix_(order, order)], ranks[1]]).reshape(2, -1)
        by_chance.append(np.corrcoef(pairs[:, np.isfinite(pairs).all(axis=0)])[0, 1])
    return value, np.array(by_chance)


def perturbation_correlations(accuracy: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Correlate perturbations' similarity with the change in accuracy (context, Figure 9)."""
    points = perturbation_points(accuracy).assign(y=lambda table: "delta, " + table["kind"])
    about = ("perturbations", "similarity", "spearman")
    return correlate_points(points, about, "similarity", "delta", scale)


def correlate_points(
    points: pd.DataFrame, about: tuple[str, str, str], x: str, y: str, scale: str
) -> pd.DataFrame:
    """Correlate the columns x and y of `points`, by model, data set and the column `y`.

    `about` has the analysis, the name of x, and the statistic, `pearson` or `spearman`.
    """
    analysis, of_x, statistic = about
    test = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[statistic]
    rows = []
    for (name, model, dataset), group in points.groupby(["y", "model", "dataset"], sort=False):
        value, p = _correlation(test, group[x], group[y])
        described = (model, dataset, analysis, of_x, name, statistic)
        rows.append((*described, value, np.nan, np.nan, p, len(group)))
    return correlations(rows, scale)


def perturbation_points(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return similarity and mean change over lengths, one row per perturbation and kind."""
    rows = accuracy[(accuracy["level"] == "all") & accuracy["kind"].isin(MATCHED)]
    rows = rows[rows["perturbation"].notna()]
    grouped = rows.groupby(["model", "dataset", "kind", "perturbation"], sort=False)
    points = grouped.agg(delta=("delta", "mean"), similarity=("similarity", "first"))
    return points.reset_index()


def correlations(rows: list[tuple[Any, ...]], scale: str) -> pd.DataFrame:
    """Return a `context_correlations` table, given rows as tuples of all columns but scale."""
    names = SCHEMAS["context_correlations"].names
    return pd.DataFrame(rows, columns=names[:-1]).assign(scale=scale)


def _correlation(test: Callable[..., Any], x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Return r and p of scipy's test, or NaN for fewer than three points or a constant array."""
    if len(x) < 3 or x.nunique() < 2 or y.nunique() < 2:
        return np.nan, np.nan
    value, p = test(x, y)
    return float(value), float(p)
