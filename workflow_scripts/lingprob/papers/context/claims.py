"""Compare the tables, numbers and claims of Sinha et al. (2023) with a run."""

import numpy as np
import pandas as pd

from lingprob.context.names import MATCHED, SYNTAXGYM, primary_dataset
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

TABLE_ROWS = 10  # of Tables 1 and 2


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Return a `scorecard` table of the paper's numbers and claims, given all `context_` tables."""
    return score(STATISTICS, tables, context_quantities(tables, run.published), run)


def tabulate(accuracy: pd.DataFrame, run: Run) -> dict[str, pd.DataFrame]:
    """Return `table_1` and `table_2`: ten suites of the run, then the paper's other suites.

    If the data set is BLiMP, columns have the published means over models.
    """
    dataset, found = str(primary_dataset([*run.titles])), {}
    printed = {item["item"]: item["rows"] for item in run.published["items"]}
    for number, kind in enumerate(MATCHED, start=1):
        ranked, rows = extreme_suites(accuracy, dataset, kind), printed[f"Table {number}"]
        shown = ranked.head(TABLE_ROWS).copy()
        if dataset == PAPER_DATASET:
            means = [
                (key.removeprefix("mean/"), *row) for key, row in rows.items() if "mean/" in key
            ]
            columns = ["suite", "published mean_delta", "published mean_sd"]
            theirs = pd.DataFrame(means, columns=columns)
            others = ranked.iloc[TABLE_ROWS:]
            shown = pd.concat([shown, others[others["suite"].isin(theirs["suite"])]])
            shown = shown.merge(theirs, on="suite", how="left")
        titles = {
            f"{name}/{column}": f"{run.models[name]['title']}: {column}"
            for name in run.models
            for column in ("delta", "sd")
        }
        found[f"table_{number}"] = shown.rename(columns=titles).assign(
            scale=accuracy["scale"].iloc[0]
        )
    return found


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
            found |= _means(means.loc[sorted(theirs)], side)
    return found


def _means(by_model: pd.DataFrame, side: str) -> Quantities:
    """Return the last column of Table 1 or 2: mean and standard deviation over models."""
    found: Quantities = {}
    half = (by_model["delta_high"] - by_model["delta_low"]) / 2
    reach = half.groupby("group").mean()
    squared = np.sqrt((half**2).groupby("group").mean())
    wide = by_model["delta"].unstack("model")
    means, deviations = wide.mean(axis=1), wide.std(axis=1, ddof=0)
    for suite, delta in means.items():
        low, high = float(delta - reach[suite]), float(delta + reach[suite])
        found[(f"mean/{suite}", f"delta_{side}")] = Estimate(delta, low, high)
        found[(f"mean/{suite}", f"sd_{side}")] = _around(deviations[suite], squared[suite])
    return found


def _around(value: float, reach: float) -> Estimate:
    return Estimate(float(value), max(0.0, float(value - reach)), float(value + reach))


def _matrix(matrix: pd.DataFrame) -> Quantities:
    """Return the cells of Figure 14, and the accuracies without a prefix."""
    of_syntaxgym = matrix[matrix["dataset"] == SYNTAXGYM]
    baselines = of_syntaxgym.groupby(["model", "target_suite"])["baseline"].first()
    found = {
        (f"{model}/{suite}", "accuracy_unprefixed"): Estimate.exact(float(value))
        for (model, suite), value in baselines.items()
    }
    rows = of_syntaxgym[of_syntaxgym["relative_improvement"].notna()]
    for row in rows.to_dict("records"):
        place = (f"{row['model']}/{row['target_suite']}", row["prefix_suite"])
        note = f"{row['n_pairs']} items, {row['n_prefixes']} prefixes"
        found[place] = Estimate.of(row, "relative_improvement", row["n_pairs"], note)
    return found


def _correlations(tables: Tables) -> Quantities:
    """Return the correlations of §5 and Appendices C and D."""
    found: Quantities = {}
    of_blimp = [
        ("suites", f"rho_{measure}", overlaps_of_suites(tables, measure))
        for measure in ("dependency", "token")
    ]
    for kind in MATCHED:
        side = kind.removeprefix("matched_")
        similarity = dict(correlations(tables, "perturbations", f"delta, {kind}"))
        of_blimp.append(("perturbations", f"rho_{side}", similarity))
        for model, estimate in mean_predictability(tables, kind).items():
            found[(f"{model}/mean", f"r_{side}")] = estimate
    for row, column, estimates in of_blimp:
        for name, estimate in estimates.items():
            model, _, dataset = name.partition("/")
            if dataset == PAPER_DATASET:
                found[(f"{model}/{row}", column)] = estimate
    return found
