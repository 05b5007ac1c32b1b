"""Regressions and correlations behind the claims of Sinha et al. (2023)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lingprob.context.judgments import at_longest
from lingprob.context.names import MATCHED, MISMATCHED, UNRELATED
from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.stats.logistic_mixed import (
    aggregate,
    all_interactions,
    fit_mixed_logistic,
    item_standard_errors,
)

logger = logging.getLogger(__name__)
RELATED = (*MATCHED, *MISMATCHED)
# A standard error by pairs that is so small beside the model's is rounding noise: no pair changed.
ROUNDING = 1e-6


def regressions(judgments: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Fit the mixed logistic regressions of accuracy, per model and data set (context, §3).

    Over related prefixes: log length by match by acceptability with all interactions, factors
    coded 1 (matched, acceptable) and -1, and a random intercept for the suite; over unrelated
    ones: log length alone. The length is that of the prefix itself (tokens, natural logarithm: one
    whose suite has no more sentences is shorter than was asked for), centred on its mean.

    Returns a `context_regression` table: estimates on the logit scale with the model's standard
    errors, z and p, and standard errors and p that hold where a pair recurs at all lengths, by a
    sandwich over pairs, those that share prefixes together, and the t distribution with as many
    degrees of freedom as there are of these beyond a suite's first; null where no pair's judgment
    changes, or all pairs of a suite share prefixes. Null where no fit exists, as the log says.
    """
    tables = []
    grown = judgments[judgments["perturbation"].isna()]
    for (model, dataset), group in grown.groupby(["model", "dataset"], sort=False):
        for prefixes, kinds in (("related", RELATED), ("unrelated", (UNRELATED,))):
            rows = group[group["kind"].isin(kinds)]
            if rows.empty:
                continue
            try:
                table = regression(rows, related=prefixes == "related")
            except LingprobError as error:
                logger.warning("%s, %s, %s prefixes: no regression (%s)",
                               model, dataset, prefixes, error)  # fmt: skip
                table = pd.DataFrame({"term": ["none"]})
            described = {"model": model, "dataset": dataset, "prefixes": prefixes, "n": len(rows)}
            tables.append(table.assign(scale=scale, **described))
    schema = SCHEMAS["context_regression"]
    if not tables:
        return schema.empty_table().to_pandas()
    return pd.concat(tables, ignore_index=True).reindex(columns=schema.names)


def regression(rows: pd.DataFrame, related: bool) -> pd.DataFrame:
    """Fit one regression to judgments; return a row a term."""
    terms = design(rows, related)
    cells = aggregate(rows["correct"], terms, rows["suite"])
    fit = fit_mixed_logistic(cells.successes, cells.trials, cells.terms, cells.group)
    table = fit.table().assign(sd_suite=fit.sd)
    together = sharing(rows)
    if together.groupby(rows["suite"]).nunique().min() > 1:
        by_pair = item_standard_errors(fit, rows["correct"], terms, rows["suite"], together)
        by_pair = by_pair.reindex(table["term"]).to_numpy()
        known = by_pair > ROUNDING * table["std_error"]
        table["pair_std_error"] = np.where(known, by_pair, np.nan)
        # Each suite's own mean is taken off its units' scores.
        freedom = together.nunique() - rows["suite"].nunique()
        table["pair_df"] = np.where(known, freedom, np.nan)
        t = (table["estimate"] / table["pair_std_error"]).abs()
        table["pair_p"] = 2 * stats.t.sf(t, table["pair_df"])
    return table


def sharing(rows: pd.DataFrame) -> pd.Series:
    """Return, of each judgment, the number of the pairs that share prefixes with its pair.

    What a shared prefix does is one draw for all pairs behind it: over simulated suites of two
    prefixes a kind, errors that took pairs for independent found an effect that is none in 23% of
    runs. Where each pair has prefixes of its own, as the paper's, it is its pair's number.
    """
    pair = rows.groupby(["suite", "pair_id"], sort=False, observed=True).ngroup().to_numpy()
    prefix, prefixes = pd.factorize(rows["prefix_id"])
    n_pairs = int(pair.max()) + 1
    n = n_pairs + len(prefixes)
    links = coo_array((np.ones(len(rows)), (pair, n_pairs + prefix)), shape=(n, n))
    _, component = connected_components(links, directed=False)
    return pd.Series(component[pair], rows.index)


def design(rows: pd.DataFrame, related: bool) -> pd.DataFrame:
    """Return the terms of a regression less its intercept, a row a judgment."""
    lengths = np.log(rows["prefix_tokens"].to_numpy(dtype=float))
    columns = {"log_length": lengths - lengths.mean()}
    if related:
        columns["matched"] = np.where(rows["kind"].isin(MATCHED), 1.0, -1.0)
        unacceptable = rows["kind"].str.endswith("unacceptable")
        columns["acceptable"] = np.where(unacceptable, -1.0, 1.0)
    return all_interactions(pd.DataFrame(columns, index=rows.index))


def baseline_correlations(accuracy: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Correlate suites' accuracy without a prefix and after the longest (Figures 10 and 11).

    `accuracy` is a `context_accuracy` table.
    """
    rows = []
    for kind in MATCHED:
        points = suite_points(accuracy, kind)
        for (model, dataset), group in points.groupby(["model", "dataset"], sort=False):
            value, p = _correlation(stats.pearsonr, group["baseline"], group["accuracy"])
            about = (model, dataset, "metric", "baseline", kind, "pearson")
            rows.append((*about, value, p, len(group)))
    return correlations(rows, scale)


def suite_points(accuracy: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return one row per suite: the `context_accuracy` after its longest prefixes of one kind."""
    rows = accuracy[
        (accuracy["level"] == "suite")
        & (accuracy["kind"] == kind)
        & accuracy["perturbation"].isna()
    ]
    longest = rows.sort_values("length", kind="stable")
    return longest.drop_duplicates(["model", "dataset", "group"], keep="last").sort_index()


def overlap_correlations(
    judgments: pd.DataFrame,
    prefix_overlap: pd.DataFrame,
    matrix: pd.DataFrame,
    overlap: pd.DataFrame,
    scale: str,
) -> pd.DataFrame:
    """Correlate similarity and accuracy, per pair and per two suites (context, Appendix D).

    Per pair: the point-biserial correlation of the mean F1 between the longest acceptable
    prefix's sentences and the target with the judgment; per two different suites: Spearman's rho
    of F1 with accuracy after ten sentences, and with its change.

    Args:
        judgments: `context_judgments` of the data set that the overlaps are of.
        prefix_overlap: `context_prefix_overlap` table.
        matrix: `context_matrix` table.
        overlap: `context_overlap` table.
        scale: of the run.
    """
    rows = []
    for measure, overlaps in prefix_overlap.groupby("measure", sort=False):
        for kind in (MATCHED[0], MISMATCHED[0]):
            both = at_longest(judgments, kind).merge(overlaps, on=["prefix_id", "pair_id"])
            ends = zip(both["f1"], both["n_sentences"], strict=True)
            both["f1"] = [grown[sentences - 1] for grown, sentences in ends]
            for (model, dataset), group in both.groupby(["model", "dataset"], sort=False):
                value, p = _correlation(stats.pearsonr, group["correct"].astype(float), group["f1"])
                x = f"{measure} overlap with {kind} prefixes"
                rows.append(
                    (model, dataset, "pairs", x, "correct", "point_biserial", value, p, len(group))
                )
    keys = ["dataset", "target_suite", "prefix_suite"]
    for measure, table in overlap.groupby("measure", sort=False):
        joined = matrix.merge(table.drop(columns="scale"), on=keys)
        joined = joined[joined["target_suite"] != joined["prefix_suite"]]
        for (model, dataset), group in joined.groupby(["model", "dataset"], sort=False):
            for y in ("accuracy", "delta"):
                value, p = _correlation(stats.spearmanr, group["f1"], group[y])
                x = f"{measure} overlap of suites"
                rows.append((model, dataset, "suites", x, y, "spearman", value, p, len(group)))
    return correlations(rows, scale)


def perturbation_correlations(accuracy: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Correlate how similar perturbed prefixes stay with the change in accuracy (Figure 9)."""
    rows = []
    points = perturbation_points(accuracy)
    for (model, dataset, kind), group in points.groupby(["model", "dataset", "kind"], sort=False):
        value, p = _correlation(stats.spearmanr, group["similarity"], group["delta"])
        about = (model, dataset, "perturbations", "similarity", f"delta, {kind}", "spearman")
        rows.append((*about, value, p, len(group)))
    return correlations(rows, scale)


def perturbation_points(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return one row per perturbation and kind: its similarity and mean change over lengths.

    `accuracy` is a `context_accuracy` table; unchanged prefixes count where they are called
    `original` (context, Appendix B).
    """
    rows = accuracy[(accuracy["level"] == "all") & accuracy["kind"].isin(MATCHED)]
    rows = rows[rows["perturbation"].notna()]
    grouped = rows.groupby(["model", "dataset", "kind", "perturbation"], sort=False)
    points = grouped.agg(delta=("delta", "mean"), similarity=("similarity", "first"))
    return points.reset_index()


def correlations(rows: list[tuple[Any, ...]], scale: str) -> pd.DataFrame:
    """Lay rows out as a `context_correlations` table."""
    names = SCHEMAS["context_correlations"].names
    return pd.DataFrame(rows, columns=names[:-1]).assign(scale=scale)


def _correlation(test: Callable[..., Any], x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """Return r and p of scipy's test; NaN for fewer than three points or where one is constant."""
    if len(x) < 3 or x.nunique() < 2 or y.nunique() < 2:
        return np.nan, np.nan
    value, p = test(x, y)
    return float(value), float(p)
