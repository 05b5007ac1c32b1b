"""Estimates that judge the numbers and claims of Hu et al. (2026), by population.

A population is a model on a data set, or a model alone for the eight strings about the moon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from lingprob.papers.run import Run, Tables, judged
from lingprob.papers.string_probability.analysis import POOLED
from lingprob.papers.string_probability.data import METRICS
from lingprob.scorecard.comparison import Quantities, Statistic, score
from lingprob.scorecard.verdicts import NOTHING, Estimate

Rows = Iterator[tuple[str, Estimate]]
# Bits by which half precision moves the surprisal of a string of a few tokens.
HALF_PRECISION = 0.05
# Accuracy on pairs from which separation is tested: 10 points below the paper's 80% (§6.4).
LOWEST_ACCURACY = 0.7
# The data sets of pairs, "280K" together (§1).
PAIRED = ("blimp", "scamp_plausible", "scamp_implausible", "syntaxgym_pairs", "zhoblimp", "sling",
          "li_large", "hll")  # fmt: skip
UNITS = {"millions": 1e6, "billions": 1e9}


def estimate_of(row: dict, column: str, count: str) -> Estimate:
    """Return a column with its interval. `count` is the column of observations."""
    note = "simulated ratings" if row.get("simulated") else ""
    return Estimate.of(row, column, row[count], note)


def population(row: dict) -> str:
    """Return the name of a row's population."""
    return f"{row['model']}/{row['dataset']}"


def of_rows(table: str, column: str, **where: object) -> Statistic:
    """Return the statistic that is a column of the rows of a table with these values."""

    def statistic(tables: Tables, run: Run) -> Rows:
        rows = tables[table]
        chosen = np.logical_and.reduce([rows[name] == value for name, value in where.items()])
        for row in rows[chosen].to_dict("records"):
            yield population(row), estimate_of(row, column, "n")

    return statistic


def correlation(prediction: int) -> Statistic:
    """Return the statistic of Prediction 1a or 2a: r over all pairs of a data set."""
    return of_rows("string_correlations", "r", prediction=prediction, subset="overall")


def change_over_bins(prediction: int, quantity: str) -> Statistic:
    """Return the statistic that is a quantity's change from the most to the least minimal bin."""
    about = {"prediction": prediction, "subset": "change", "quantity": quantity}
    return of_rows("string_confounds", "value", **about)


def surprisal_difference(difference: str) -> Statistic:
    """Return the statistic that is a difference (bits) between the eight strings (§2.1.1).

    The strings are not a sample, so its interval covers only the precision of the scores.

    Args:
        difference: `ungrammatical` (mean of ungrammatical minus grammatical strings), `plural` (of
            many moons minus one moon) or `moons` ("The moons emerge" minus "*The moon emerge").
    """

    def statistic(tables: Tables, run: Run) -> Rows:
        for model, strings in tables["toy_surprisals"].groupby("model", sort=False):
            of = strings.set_index("text")["surprisal"]
            by_kind = strings.groupby(strings["grammatical"].astype(bool))["surprisal"].mean()
            plural = of.index.str.contains("moons ")
            value = {
                "ungrammatical": by_kind[False] - by_kind[True],
                "plural": of[plural].mean() - of[~plural].mean(),
                "moons": of["The moons emerge."] - of["The moon emerge."],
            }[difference]
            yield str(model), Estimate(value, value - HALF_PRECISION, value + HALF_PRECISION)

    return statistic


def whole(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the metrics of each model on each whole data set, by metric."""
    table = tables["string_separation"]
    table = table[table["phenomenon"] == ""]
    for (model, dataset), group in table.groupby(["model", "dataset"], sort=False):
        yield f"{model}/{dataset}", group.set_index("metric")


def highest_area(tables: Tables, run: Run) -> Rows:
    """Yield the highest area of all metrics, between the highest ends of their intervals.

    A model separates nothing poorly if it cannot tell sentences apart at all. So the claim is
    tested only if all metrics of the paper are known and the accuracy on pairs is at least
    LOWEST_ACCURACY. A data set without pairs takes the mean accuracy on the model's other ones.
    """
    groups = dict(whole(tables))
    accuracies: dict[str, list[float]] = {}
    for about, metrics in groups.items():
        found = float(metrics.loc["logprob", "accuracy"])
        if np.isfinite(found) and not about.endswith(f"/{POOLED}"):
            accuracies.setdefault(about.partition("/")[0], []).append(found)
    for about, metrics in groups.items():
        own = float(metrics.loc["logprob", "accuracy"])
        others = accuracies.get(about.partition("/")[0], [np.nan])
        told = own if np.isfinite(own) else float(np.mean(others))
        unknown = [name for name in METRICS if pd.isna(metrics["auc"].get(name))]
        if unknown:
            yield about, replace(NOTHING, note=f"not known: {', '.join(unknown)}")
        elif not told >= LOWEST_ACCURACY:
            note = f"accuracy on pairs is {told:.2f}, below {LOWEST_ACCURACY}"
            yield about, replace(NOTHING, note=note)
        else:
            highest = metrics[["auc", "auc_low", "auc_high"]].max().to_dict()
            n = metrics[["n_grammatical", "n_ungrammatical"]].sum(axis=1).iloc[0]
            yield about, estimate_of({**highest, "n": n}, "auc", "n")


def lead(metric: str) -> Statistic:
    """Return the statistic that is a metric's area minus the highest of the paper's others."""

    def statistic(tables: Tables, run: Run) -> Rows:
        for about, metrics in whole(tables):
            if metric in metrics.index and pd.notna(metrics.loc[metric, "lead"]):
                yield about, estimate_of(metrics.loc[metric].to_dict(), "lead", "n_grammatical")

    return statistic


def of_pairs(column: str) -> Statistic:
    """Return the statistic that is log-probability's `accuracy` on pairs, or its `gain`.

    The gain is accuracy minus the area without regard to pairs.
    """

    def statistic(tables: Tables, run: Run) -> Rows:
        for about, metrics in whole(tables):
            row = metrics.loc["logprob"].to_dict()
            if pd.notna(row[column]):
                yield about, estimate_of(row, column, "n_pairs")

    return statistic


STATISTICS: dict[str, Statistic] = {
    "grammatical_strings_likelier": surprisal_difference("ungrammatical"),
    "one_moon_likelier": surprisal_difference("plural"),
    "moons_below_moon": surprisal_difference("moons"),
    "prediction_1a": correlation(1),
    "prediction_1b": change_over_bins(1, "r"),
    "prediction_1b_common_spread": change_over_bins(1, "r_common_spread"),
    "prediction_1b_without_length": change_over_bins(1, "r_without_length"),
    "prediction_2a": correlation(2),
    "prediction_2b": change_over_bins(2, "r"),
    "prediction_2b_common_spread": change_over_bins(2, "r_common_spread"),
    "prediction_2b_without_length": change_over_bins(2, "r_without_length"),
    "pairing_separates": of_pairs("gain"),
    "poor_separation": highest_area,
    "slor_leads": lead("slor"),
    "mean_logprob_leads": lead("mean_logprob"),
    "good_accuracy": of_pairs("accuracy"),
}


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Compare the paper's numbers and claims with this run; return a `scorecard` table.

    Claims are tested on the models that `judged` leaves. Tables: `string_correlations`,
    `string_confounds`, `string_separation`, `toy_surprisals`, and `datasets` and `filters` of
    `tables.tabulate`.
    """
    counts = {"datasets", "filters"}
    ours = counted(tables["datasets"], tables["filters"]) if counts <= tables.keys() else {}
    kept = {
        name: judged(table, run) if "model" in table else table for name, table in tables.items()
    }
    return score(STATISTICS, kept, ours | sizes(run), run)


def counted(counts: pd.DataFrame, filters: pd.DataFrame) -> Quantities:
    """Return the counts of this run by the row and column of the published numbers."""
    rated = set(filters["dataset"])
    found: Quantities = {}
    for row in counts[~counts["dataset"].isin(rated)].itertuples():
        note = f"{row.identical_pairs} pairs of identical sentences left out"
        found[f"{row.dataset}/counted", "value"] = Estimate.exact(float(row.counted), note)
    for row in filters[filters["used"]].itertuples():
        at = row.comparison.replace("_", " ")
        note = f"edits of {row.unit}, {at} the quantile of {row.population} pairs"
        found[f"{row.dataset}/kept", "value"] = Estimate.exact(float(row.kept), note)
    pairs = counts.set_index("dataset")["counted"].reindex(PAIRED)
    if pairs.notna().all():
        found["all/pairs", "thousands"] = Estimate.exact(float(pairs.sum()) / 1000)
    return found


def sizes(run: Run) -> Quantities:
    """Return the parameters of the models of this run, in both units of Table 1b."""
    return {
        (f"{name}/parameters", unit): Estimate.exact(entry["parameters"] / one)
        for name, entry in run.models.items()
        for unit, one in UNITS.items()
        if entry.get("parameters")
    }
