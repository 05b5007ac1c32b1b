"""Judge the numbers and claims of Hu et al. (2026) by estimates for each population.

A population is a model on a data set, or a model alone for the eight strings about the moon.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from lingprob.papers.run import Found, Run, Tables, judged, parameter_counts, statistic
from lingprob.papers.string_probability.analysis import POOLED
from lingprob.papers.string_probability.data import METRICS
from lingprob.scorecard.comparison import Quantities, Statistic, score
from lingprob.scorecard.verdicts import NOTHING, Estimate

# Error (bits) of half precision in the surprisal of a string of a few tokens.
HALF_PRECISION = 0.05
# Accuracy on pairs from which separation is tested: 10 points below the paper's 80% (§6.4).
LOWEST_ACCURACY = 0.7
# The data sets of minimal pairs, together "280K" pairs (§1).
PAIRED = ("blimp", "scamp_plausible", "scamp_implausible", "syntaxgym_pairs", "zhoblimp", "sling",
          "li_large", "hll")  # fmt: skip


def estimate_of(row: dict, column: str, count: str) -> Estimate:
    """Return the estimate in a column of a row, with its interval. `count` is the column with n."""
    note = "simulated ratings" if row.get("simulated") else ""
    return Estimate.of(row, column, row[count], note)


@statistic
def of_rows(tables: Tables, run: Run, table: str, column: str, **where: object) -> Found:
    """Yield the estimates in a column, for the rows that have the values `where`."""
    rows = tables[table]
    chosen = np.logical_and.reduce([rows[name] == value for name, value in where.items()])
    for row in rows[chosen].to_dict("records"):
        yield f"{row['model']}/{row['dataset']}", estimate_of(row, column, "n")


@statistic
def of_metric(tables: Tables, run: Run, metric: str, column: str, count: str) -> Found:
    """Yield a column of one metric's row of `string_separation` per data set, if it is known."""
    rows = tables["string_separation"].dropna(subset=[column])
    for row in rows[(rows["phenomenon"] == "") & (rows["metric"] == metric)].to_dict("records"):
        yield f"{row['model']}/{row['dataset']}", estimate_of(row, column, count)


def change_over_bins(prediction: int, quantity: str) -> Statistic:
    """Return the statistic of a quantity's change from the first (most minimal) bin to the last."""
    about = {"prediction": prediction, "subset": "change", "quantity": quantity}
    return of_rows("string_confounds", "value", **about)


@statistic
def surprisal_difference(tables: Tables, run: Run, difference: str) -> Found:
    """Yield a difference (bits) between surprisals of the eight toy strings, per model (§2.1.1).

    The strings are not a sample, so the interval covers only the precision of the scores.
    `difference` is `ungrammatical` (mean of ungrammatical minus grammatical strings), `plural`
    (many moons minus one moon) or `moons` ("The moons emerge" minus "*The moon emerge").
    """
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


def highest_area(tables: Tables, run: Run) -> Found:
    """Yield the highest area under the ROC curve of all metrics, per model and data set.

    The ends of its interval are the highest ends of the metrics' intervals. A model at chance on
    pairs is no evidence about the claim. So the claim is tested only if all metrics of the paper
    are known and the accuracy on pairs is at least LOWEST_ACCURACY. If a data set has no pairs, the
    mean accuracy on the model's other data sets is used.
    """
    table = tables["string_separation"]
    table = table[table["phenomenon"] == ""]
    of_logprob = table[(table["metric"] == "logprob") & (table["dataset"] != POOLED)]
    means = of_logprob.groupby("model")["accuracy"].mean()
    for (model, dataset), group in table.groupby(["model", "dataset"], sort=False):
        about, metrics = f"{model}/{dataset}", group.set_index("metric")
        own = metrics.loc["logprob", "accuracy"]
        told = means[model] if np.isnan(own) else own
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


STATISTICS: dict[str, Statistic] = {
    "grammatical_strings_likelier": surprisal_difference("ungrammatical"),
    "one_moon_likelier": surprisal_difference("plural"),
    "moons_below_moon": surprisal_difference("moons"),
    "prediction_1a": of_rows("string_correlations", "r", prediction=1, subset="overall"),
    "prediction_1b": change_over_bins(1, "r"),
    "prediction_1b_common_spread": change_over_bins(1, "r_common_spread"),
    "prediction_1b_without_length": change_over_bins(1, "r_without_length"),
    "prediction_2a": of_rows("string_correlations", "r", prediction=2, subset="overall"),
    "prediction_2b": change_over_bins(2, "r"),
    "prediction_2b_common_spread": change_over_bins(2, "r_common_spread"),
    "prediction_2b_without_length": change_over_bins(2, "r_without_length"),
    "pairing_separates": of_metric("logprob", "gain", "n_pairs"),
    "poor_separation": highest_area,
    "slor_leads": of_metric("slor", "lead", "n_grammatical"),
    "mean_logprob_leads": of_metric("mean_logprob", "lead", "n_grammatical"),
    "good_accuracy": of_metric("logprob", "accuracy", "n_pairs"),
}


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Return the `scorecard` table of the paper's numbers and claims.

    Claims are tested on the models that `judged` keeps. Tables: `string_correlations`,
    `string_confounds`, `string_separation`, `toy_surprisals`, and `datasets` and `filters` of
    `tables.tabulate`.
    """
    counts = {"datasets", "filters"}
    ours = counted(tables["datasets"], tables["filters"]) if counts <= tables.keys() else {}
    kept = {
        name: judged(table, run) if "model" in table else table for name, table in tables.items()
    }
    return score(STATISTICS, kept, ours | parameter_counts(run.models, run), run)


def counted(counts: pd.DataFrame, filters: pd.DataFrame) -> Quantities:
    """Return a run's counts of pairs and sentences by row and column of the published numbers."""
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
