"""Compare the numbers and claims of Sinha et al. (2023) with a run."""

import numpy as np
import pandas as pd

from lingprob.context.names import MATCHED, SYNTAXGYM
from lingprob.papers.context.analysis import PAPER_DATASET, extreme_suites
from lingprob.papers.context.effects import (
    STATISTICS,
    correlations,
    mean_predictability,
    overlaps_of_suites,
)
from lingprob.papers.context.statistics import of_suites
from lingprob.papers.run import Published, Run, Tables
from lingprob.scorecard.comparison import Quantities, score
from lingprob.scorecard.verdicts import Estimate


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Return a `scorecard` table of the paper's numbers and claims, given all `context_` tables."""
    return score(STATISTICS, tables, context_quantities(tables, run.published), run)


def context_quantities(tables: Tables, published: Published) -> Quantities:
    """Return the run's values of Tables 1 and 2, Figure 14, §5 and Appendices C and D.

    Values are from the paper's data sets alone. Means over models need all models of the paper.
    """
    rows = [row for item in published["items"] if "Table" in item["item"] for row in item["rows"]]
    # Rows are MODEL/SUITE or mean/SUITE.
    models = {row.partition("/")[0] for row in rows} - {"mean"}
    return {
        **_tables(tables["context_accuracy"], models),
        **_matrix(tables["context_matrix"]),
        **_correlations(tables),
    }


def _tables(accuracy: pd.DataFrame, theirs: set[str]) -> Quantities:
    """Return Tables 1 and 2: means and standard deviations over lengths, and means over models.

    Lengths share their pairs, so the interval of a mean over lengths is the mean of their
    intervals. A standard deviation is off by at most the root mean square of its values' errors.
    """
    found: Quantities = {}
    for kind in MATCHED:
        side = kind.removeprefix("matched_")
        rows = of_suites(accuracy[accuracy["dataset"] == PAPER_DATASET], kind)
        by = rows.assign(square=((rows["delta_high"] - rows["delta_low"]) / 2) ** 2).groupby(
            ["model", "group"], sort=False
        )
        reach = np.sqrt(by["square"].mean())
        means = by[["delta", "delta_low", "delta_high", "n_pairs"]].mean()
        spread = by["delta"].std(ddof=0)
        for (model, suite), mean in means.iterrows():
            n, row = int(mean["n_pairs"]), f"{model}/{suite}"
            found[(row, f"delta_{side}")] = Estimate.of(mean, "delta", n, f"{n} pairs")
            found[(row, f"sd_{side}")] = _around(spread[(model, suite)], reach[(model, suite)])
        if theirs <= set(rows["model"]):
            of_theirs = accuracy[accuracy["model"].isin(theirs)]
            found |= _means(of_theirs, kind, means.loc[sorted(theirs)])
    return found


def _means(accuracy: pd.DataFrame, kind: str, by_model: pd.DataFrame) -> Quantities:
    """Return the last column of Table 1 or 2: mean and standard deviation over models."""
    found: Quantities = {}
    side = kind.removeprefix("matched_")
    half = (by_model["delta_high"] - by_model["delta_low"]) / 2
    reach = half.groupby("group").mean()
    squared = np.sqrt((half**2).groupby("group").mean())
    for row in extreme_suites(accuracy, PAPER_DATASET, kind).itertuples():
        name = f"mean/{row.suite}"
        delta, wide = float(row.mean_delta), float(reach[row.suite])
        found[(name, f"delta_{side}")] = Estimate(delta, delta - wide, delta + wide)
        found[(name, f"sd_{side}")] = _around(row.mean_sd, squared[row.suite])
    return found


def _around(value: float, reach: float) -> Estimate:
    return Estimate(float(value), max(0.0, float(value - reach)), float(value + reach))


def _matrix(matrix: pd.DataFrame) -> Quantities:
    """Return the cells of Figure 14, and the accuracies without a prefix."""
    of_syntaxgym = matrix[matrix["dataset"] == SYNTAXGYM]
    baselines = of_syntaxgym.groupby(["model", "target_suite"])["baseline"].first()
    rows = of_syntaxgym[of_syntaxgym["relative_improvement"].notna()]
    return {
        (f"{model}/{suite}", "accuracy_unprefixed"): Estimate.exact(float(value))
        for (model, suite), value in baselines.items()
    } | {
        (f"{row['model']}/{row['target_suite']}", row["prefix_suite"]): Estimate.of(
            row,
            "relative_improvement",
            row["n_pairs"],
            f"{row['n_pairs']} items, {row['n_prefixes']} prefixes",
        )
        for row in rows.to_dict("records")
    }


def _correlations(tables: Tables) -> Quantities:
    """Return the correlations of §5 and Appendices C and D."""
    found: Quantities = {}
    for kind in MATCHED:
        side = kind.removeprefix("matched_")
        for name, estimate in correlations(tables, "perturbations", f"delta, {kind}"):
            model, _, dataset = name.partition("/")
            if dataset == PAPER_DATASET:
                found[(f"{model}/perturbations", f"rho_{side}")] = estimate
        for model, estimate in mean_predictability(tables, kind).items():
            found[(f"{model}/mean", f"r_{side}")] = estimate
    for measure in ("dependency", "token"):
        for name, estimate in overlaps_of_suites(tables, measure).items():
            model, _, dataset = name.partition("/")
            if dataset == PAPER_DATASET:
                found[(f"{model}/suites", f"rho_{measure}")] = estimate
    return found
