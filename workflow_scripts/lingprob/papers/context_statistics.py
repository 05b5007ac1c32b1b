"""Regressions and correlations behind the claims of Sinha et al. (2023)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from lingprob.context.sampling import KINDS, MATCHED, MISMATCHED, UNRELATED
from lingprob.errors import LingprobError
from lingprob.papers.context import at_longest
from lingprob.tables import SCHEMAS

logger = logging.getLogger(__name__)
RELATED = (*MATCHED, *MISMATCHED)
Design = Callable[[pd.DataFrame], tuple[list[str], np.ndarray]]


def regressions(
    judgments: pd.DataFrame,
    fit: Callable[..., Any],
    *,
    bootstrap: int,
    seed: int,
    scale: str,
) -> pd.DataFrame:
    """Fit the mixed logistic regressions of accuracy, per model and data set (context, §3).

    Over related prefixes: log length by match by acceptability with all interactions, factors
    coded 1 (matched, acceptable) and -1, the log length centred on its mean over cells, and a
    random intercept for the suite; over unrelated ones: log length alone. Judgments are counted
    per suite, kind and length.

    Args:
        judgments: `context_judgments` table.
        fit: `lingprob.regression.mixed_logistic.fit_mixed_logistic`.
        bootstrap: draws of pairs within suites for the standard error beside; 0 for none.
        seed: theirs.
        scale: of the run.

    Returns:
        A `context_regression` table: estimates on the logit scale, Wald z and p from the model,
        and a standard error and p from the bootstrap over pairs, which the judgments of one pair
        at all lengths make necessary: a random intercept alone is anticonservative.
    """
    tables = [SCHEMAS["context_regression"].empty_table().to_pandas()]
    designs: dict[str, tuple[tuple[str, ...], Design]] = {
        "related": (RELATED, related_design),
        "unrelated": ((UNRELATED,), unrelated_design),
    }
    grown = judgments[judgments["kind"].isin(KINDS) & judgments["perturbation"].isna()]
    for (model, dataset), group in grown.groupby(["model", "dataset"], sort=False):
        for prefixes, (kinds, design) in designs.items():
            rows = group[group["kind"].isin(kinds)]
            if rows["length"].nunique() > 1 and rows["suite"].nunique() > 1:
                logger.info("%s, %s: %s prefixes", model, dataset, prefixes)
                table = regression(rows, design, fit, bootstrap, np.random.default_rng(seed))
                described = {"model": model, "dataset": dataset, "prefixes": prefixes}
                tables.append(table.assign(scale=scale, **described))
    return pd.concat(tables[1:] or tables, ignore_index=True)[SCHEMAS["context_regression"].names]


def regression(
    rows: pd.DataFrame,
    design: Design,
    fit: Callable[..., Any],
    bootstrap: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Fit one regression, and again to pairs drawn with replacement within each suite."""
    cells = rows.groupby(["suite", "kind", "length"], sort=True)["correct"]
    counted = cells.agg(["sum", "size"]).reset_index()
    names, matrix = design(counted)
    result = fit(counted["sum"], counted["size"], matrix, counted["suite"])
    drawn = []
    for successes, trials in resampled(rows, counted, bootstrap, rng):
        kept = trials > 0
        try:
            again = fit(successes[kept], trials[kept], matrix[kept], counted["suite"][kept])
        except LingprobError:
            continue  # a draw that the model cannot be fitted to
        drawn.append(again.estimates)
    error = np.std(drawn, axis=0, ddof=1) if len(drawn) > 1 else np.full(len(names), np.nan)
    estimates = np.asarray(result.estimates, dtype=float)
    return pd.DataFrame(
        {
            "term": names,
            "estimate": estimates,
            "std_error": result.std_errors,
            "z": result.z,
            "p": result.p,
            "bootstrap_std_error": error,
            "bootstrap_p": 2 * stats.norm.sf(np.abs(estimates / error)),
            "sd_suite": result.sd_group,
            "converged": result.converged,
            "n": len(rows),
        }
    )


def related_design(cells: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Return terms and columns of the three-way design, intercept first."""
    length = centred_log(cells["length"])
    matched = np.where(cells["kind"].isin(MATCHED), 1.0, -1.0)
    acceptable = np.where(cells["kind"].str.endswith("unacceptable"), -1.0, 1.0)
    columns = {
        "intercept": np.ones(len(cells)),
        "log_length": length,
        "matched": matched,
        "acceptable": acceptable,
        "log_length:matched": length * matched,
        "log_length:acceptable": length * acceptable,
        "matched:acceptable": matched * acceptable,
        "log_length:matched:acceptable": length * matched * acceptable,
    }
    return list(columns), np.column_stack(list(columns.values()))


def unrelated_design(cells: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Return an intercept and the log length."""
    length = centred_log(cells["length"])
    return ["intercept", "log_length"], np.column_stack([np.ones(len(cells)), length])


def centred_log(lengths: pd.Series) -> np.ndarray:
    """Return log lengths (natural, tokens) less the mean over the distinct lengths."""
    logs = np.log(lengths.to_numpy(dtype=float))
    return logs - np.log(lengths.unique().astype(float)).mean()


def resampled(
    rows: pd.DataFrame, cells: pd.DataFrame, bootstrap: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield successes and trials of every cell with pairs drawn anew within each suite."""
    pair = pd.factorize(rows["pair_id"])[0]
    suite_of_pair = rows.drop_duplicates("pair_id")["suite"].to_numpy()
    members = [np.flatnonzero(suite_of_pair == suite) for suite in dict.fromkeys(suite_of_pair)]
    keys = ["suite", "kind", "length"]
    cell = pd.MultiIndex.from_frame(cells[keys]).get_indexer(pd.MultiIndex.from_frame(rows[keys]))
    correct = rows["correct"].to_numpy(dtype=float)
    for _ in range(bootstrap):
        drawn = np.concatenate([rng.choice(group, len(group)) for group in members])
        weight = np.bincount(drawn, minlength=len(suite_of_pair))[pair].astype(float)
        yield (
            np.bincount(cell, weight * correct, minlength=len(cells)),
            np.bincount(cell, weight, minlength=len(cells)),
        )


def baseline_correlations(judgments: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Correlate suites' accuracy without a prefix and after the longest (Figures 10 and 11)."""
    rows = []
    for kind in MATCHED:
        points = suite_points(judgments, kind)
        for (model, dataset), group in points.groupby(["model", "dataset"], sort=False):
            value, p = _pearson(group["baseline"], group["accuracy"])
            rows.append(
                (model, dataset, "metric", "baseline", kind, "pearson", value, p, len(group))
            )
    return correlations(rows, scale)


def suite_points(judgments: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return each suite's accuracy without a prefix and after its longest of one kind."""
    longest = at_longest(judgments, kind)
    grouped = longest.groupby(["model", "dataset", "suite"], sort=False)
    return grouped.agg(
        baseline=("baseline_correct", "mean"), accuracy=("correct", "mean")
    ).reset_index()


def overlap_correlations(
    judgments: pd.DataFrame,
    prefix_overlaps: dict[str, pd.DataFrame],
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
        prefix_overlaps: by measure, what `similarity.prefix_overlaps` returns.
        matrix: `context_matrix` table.
        overlap: `context_overlap` table.
        scale: of the run.
    """
    rows = []
    for measure, overlaps in prefix_overlaps.items():
        for kind in (MATCHED[0], MISMATCHED[0]):
            longest = at_longest(judgments, kind)
            keys = ["prefix_id", "pair_id", "n_sentences"]
            both = longest.join(overlaps.set_index(keys)["f1"], on=keys, how="inner")
            for (model, dataset), group in both.groupby(["model", "dataset"], sort=False):
                value, p = _pearson(group["correct"].astype(float), group["f1"])
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
                value, p = _spearman(group["f1"], group[y])
                x = f"{measure} overlap of suites"
                rows.append((model, dataset, "suites", x, y, "spearman", value, p, len(group)))
    return correlations(rows, scale)


def perturbation_correlations(points: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Correlate how similar perturbed prefixes stay with the change in accuracy (Figure 9)."""
    rows = []
    for (model, dataset, kind), group in points.groupby(["model", "dataset", "kind"], sort=False):
        value, p = _spearman(group["similarity"], group["delta"])
        rows.append(
            (
                model,
                dataset,
                "perturbations",
                "similarity",
                f"delta, {kind}",
                "spearman",
                value,
                p,
                len(group),
            )
        )
    return correlations(rows, scale)


def perturbation_points(accuracy: pd.DataFrame, similarity: pd.Series) -> pd.DataFrame:
    """Return a row a perturbation and kind: its similarity and mean change over lengths (App. B).

    `accuracy` is a `context_accuracy` table of the perturbed suites, unperturbed rows included;
    `similarity` the mean F1 by perturbation (1 for none).
    """
    rows = accuracy[(accuracy["level"] == "all") & accuracy["kind"].isin(MATCHED)]
    rows = rows.assign(perturbation=rows["perturbation"].fillna("original"))
    mean = rows.groupby(["model", "dataset", "kind", "perturbation"], sort=False)["delta"].mean()
    points = mean.reset_index()
    return points.assign(similarity=points["perturbation"].map({**similarity, "original": 1.0}))


def correlations(rows: list[tuple[Any, ...]], scale: str) -> pd.DataFrame:
    """Lay rows out as a `context_correlations` table."""
    names = SCHEMAS["context_correlations"].names
    return pd.DataFrame(rows, columns=names[:-1]).assign(scale=scale)


def _pearson(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    if len(x) < 3 or x.nunique() < 2 or y.nunique() < 2:
        return np.nan, np.nan
    return tuple(map(float, stats.pearsonr(x, y)))  # type: ignore[return-value]


def _spearman(x: pd.Series, y: pd.Series) -> tuple[float, float]:
    if len(x) < 3 or x.nunique() < 2 or y.nunique() < 2:
        return np.nan, np.nan
    return tuple(map(float, stats.spearmanr(x, y)))  # type: ignore[return-value]
