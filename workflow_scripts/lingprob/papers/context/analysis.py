"""The tables of Sinha et al. (2023) from the judgments of one model."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from lingprob.context.judgments import at_longest, in_categories, with_baseline
from lingprob.context.names import FROM_SUITE, KINDS, MATCHED, MISMATCHED, NO_PREFIX, ORIGINAL
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table
from lingprob.papers.context.statistics import (
    baseline_correlations,
    of_suites,
    overlap_correlations,
    perturbation_correlations,
    regressions,
)
from lingprob.stats.resampling import Ints, clustered_proportion_interval, mean_intervals, widened

Tables = dict[str, pd.DataFrame]

# Kinds that pool matched and mismatched prefixes (context, Figures 3 and 16).
COLLAPSED = {"acceptable": (MATCHED[0], MISMATCHED[0]), "unacceptable": (MATCHED[1], MISMATCHED[1])}
LEVELS = ("all", "phenomenon", "suite")
# The phenomenon of pairs for which the data set names none.
NAMELESS = "(none)"
PAPER_DATASET = "blimp"
# The smallest and largest possible value of each mean.
LIMITS = {
    **dict.fromkeys(("accuracy", "baseline"), (0, 1)),
    **dict.fromkeys(("margin", "baseline_margin"), (-np.inf, np.inf)),
    "delta": (-1, 1),
}


class Settings(NamedTuple):
    """Settings of all tables: `fewest_pairs`, `bootstrap`, `seed` and `scale` in config.yaml."""

    fewest_pairs: int
    bootstrap: int
    seed: int
    scale: str


def summarise_model(
    judgments: str | Path,
    perturbed: pd.DataFrame,
    similarity: pd.Series,
    overlap: pd.DataFrame,
    prefix_overlap: pd.DataFrame,
    datasets: Sequence[str],
    settings: Settings,
) -> Tables:
    """Return the `context_` tables accuracy, regression, matrix and correlations of a model.

    Args:
        judgments: path of a `context_judgments` table. Its data sets, `datasets`, are read one by
            one, because all together take gigabytes.
        perturbed: `context_judgments` table of one data set after perturbed prefixes.
        similarity: mean F1 of words between perturbed and original prefixes, by perturbation.
        overlap, prefix_overlap: the tables of `overlaps.overlaps` for one data set.
    """
    parts = []
    for dataset in datasets:
        where = {"dataset": [dataset]}
        rows = in_categories(read_table(judgments, "context_judgments", where=where))
        parts.append(summarise(rows, settings))
        if dataset in set(overlap["dataset"]):
            matrix = parts[-1]["context_matrix"]
            how = settings.scale, settings.bootstrap, settings.seed
            related = overlap_correlations(rows, prefix_overlap, matrix, overlap, *how)
            parts.append({"context_correlations": related})
        if dataset in set(perturbed["dataset"]):
            parts.append(summarise_perturbed(rows, in_categories(perturbed), similarity, settings))
    return together(parts)


def summarise(judgments: pd.DataFrame, settings: Settings) -> Tables:
    """Return the tables of `summarise_model` for judgments after unperturbed prefixes."""
    accuracy = accuracy_table(judgments, settings)
    return {
        "context_accuracy": accuracy,
        "context_regression": regressions(judgments, settings.scale),
        "context_matrix": matrix_table(judgments, settings),
        "context_correlations": baseline_correlations(accuracy, settings.scale),
    }


def summarise_perturbed(
    judgments: pd.DataFrame, perturbed: pd.DataFrame, similarity: pd.Series, settings: Settings
) -> Tables:
    """Return the tables context_accuracy and context_correlations after perturbed prefixes.

    Arguments are those of `summarise_model`. Rows with the perturbation `original` are the same
    pairs after their unperturbed prefixes of the same kinds and lengths.
    """
    same = judgments["dataset"].isin(perturbed["dataset"])
    for name, alone in (("pair_id", []), ("kind", [NO_PREFIX]), ("length", [0])):
        same &= judgments[name].isin([*alone, *perturbed[name]])
    original = judgments[same].assign(perturbation=ORIGINAL)
    both = pd.concat([original, perturbed], ignore_index=True)
    accuracy = accuracy_table(both, settings)
    accuracy["similarity"] = accuracy["perturbation"].map({**similarity, ORIGINAL: 1.0})
    return {
        "context_accuracy": accuracy,
        "context_correlations": perturbation_correlations(accuracy, settings.scale),
    }


def together(parts: Sequence[Tables]) -> Tables:
    """Concatenate the tables of the same name in all parts, and return them by name."""
    tables: dict[str, list[pd.DataFrame]] = {}
    for name, table in (item for part in parts for item in part.items()):
        tables.setdefault(name, []).append(table)
    return {name: pd.concat(some, ignore_index=True) for name, some in tables.items()}


def carried_on(prefixed: pd.DataFrame) -> pd.DataFrame:
    """Return judgments of every prefix at each length from its shortest on (context, Appendix C).

    If a prefix does not reach a length, the row of its longest form is repeated. So every point of
    a curve is a mean over the same pairs.
    """
    lengths = sorted(prefixed["length"].unique())
    rows = []
    for _, group in prefixed.groupby(["dataset", "model"], sort=False):
        wide = group.pivot_table(
            index=["prefix_id", "pair_id"], columns="length", values="row", aggfunc="first"
        )
        long = wide.reindex(columns=lengths).ffill(axis=1).stack().dropna().astype(int)
        rows.append(group.set_index("row").loc[long.to_numpy()].reset_index(drop=True))
        rows[-1]["length"] = long.index.get_level_values("length")
    return pd.concat(rows, ignore_index=True)


def accuracy_table(judgments: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a `context_accuracy` table of growing prefixes (context, §4 and Figures 2 to 8).

    Rows are about all pairs of a data set, a phenomenon, or a suite of at least `fewest_pairs`
    pairs. Kinds of prefixes are the paper's five and the pooled ones (COLLAPSED). Intervals are
    percentiles of `bootstrap` resamples of suites (of pairs in a group of one suite), widened if
    these are few.
    """
    prefixed = with_baseline(judgments[judgments["kind"].isin([*KINDS, NO_PREFIX])])
    if prefixed.empty:
        return SCHEMAS["context_accuracy"].empty_table().to_pandas()
    for column, nameless in (("perturbation", ""), ("phenomenon", NAMELESS)):
        prefixed[column] = prefixed[column].astype(object).fillna(nameless)
    shown = carried_on(prefixed.assign(row=np.arange(len(prefixed))))
    parts = [
        shown[shown["kind"].isin(kinds)].assign(kind=name) for name, kinds in COLLAPSED.items()
    ]
    everything = pd.concat([shown, *parts], ignore_index=True)
    rows, keys = [], ["model", "dataset", "kind", "perturbation", "length"]
    for level in LEVELS:
        by = keys if level == "all" else [*keys, level]
        for values, group in everything.groupby(by, sort=False):
            described = dict(zip(by, values, strict=True))
            described |= {"level": level, "group": described.pop(level, "all")}
            rows.append({**described, **summary(group, settings.bootstrap, settings.seed)})
    table = pd.DataFrame(rows).assign(similarity=None, scale=settings.scale)
    table["perturbation"] = table["perturbation"].replace("", None)
    table = table[(table["level"] != "suite") | (table["n_pairs"] >= settings.fewest_pairs)]
    return table[SCHEMAS["context_accuracy"].names]


def summary(group: pd.DataFrame, bootstrap: int, seed: int) -> dict[str, float]:
    """Return means over a group of judgments, with their intervals: values of `context_accuracy`.

    `margin` is NaN if a judgment lacks a margin, as do judgments of SyntaxGym's items.
    """
    names = ("accuracy", "baseline", "margin", "baseline_margin")
    given = group[["correct", "baseline_correct", "margin", "baseline_margin"]]
    columns = dict(zip(names, given.to_numpy(float).T, strict=True))
    columns["delta"] = columns["accuracy"] - columns["baseline"]
    values, units = np.column_stack(list(columns.values())), clusters(group)
    intervals = mean_intervals(values, units, draws=bootstrap, seed=seed)
    found = {name: float(group[name].mean()) for name in ("prefix_tokens", "n_sentences")}
    found |= {"n_pairs": group["pair_id"].nunique(), "n_suites": group["suite"].nunique()}
    sizes = np.bincount(units)
    for (name, column), ends in zip(columns.items(), intervals, strict=True):
        mean = column.mean()
        low, high = widened(mean, tuple(ends), sizes, LIMITS[name])
        found |= {name: mean, f"{name}_low": low, f"{name}_high": high}
    return found


def matrix_table(judgments: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a `context_matrix` table: accuracy on each suite after each suite's sentences.

    Suites have at least `fewest_pairs` pairs. Prefixes from the suite itself are its longest
    matched acceptable ones. The relative improvement is in percent of the accuracy without a
    prefix, null if that is 0. Intervals are over resampled prefixes, each of which precedes some
    pairs, with the accuracy of these pairs without a prefix as known (context, Figures 13 and 14).
    """
    prefixed = with_baseline(judgments)
    across = prefixed[prefixed["kind"] == FROM_SUITE]
    own = at_longest(judgments, MATCHED[0])
    own = own[own["dataset"].isin(across["dataset"])]
    both = pd.concat([across, own.assign(source_suite=own["suite"])], ignore_index=True)
    if both.empty:
        return SCHEMAS["context_matrix"].empty_table().to_pandas()
    names = ["model", "dataset", "target_suite", "prefix_suite"]
    grouped = both.groupby(["model", "dataset", "suite", "source_suite"], sort=True)
    cells = [
        {**dict(zip(names, values, strict=True)), **matrix_cell(cell)} for values, cell in grouped
    ]
    table = pd.DataFrame(cells).assign(scale=settings.scale)[SCHEMAS["context_matrix"].names]
    return table[table["n_pairs"] >= settings.fewest_pairs].reset_index(drop=True)


def matrix_cell(cell: pd.DataFrame) -> dict[str, float]:
    """Return the numbers in one row of `context_matrix`, given the judgments in this cell."""
    correct = cell["correct"].to_numpy(bool)
    low, high = clustered_proportion_interval(correct, pd.factorize(cell["prefix_id"])[0])
    baseline = cell["baseline_correct"].mean()
    found = {
        "baseline": baseline,
        "n_pairs": cell["pair_id"].nunique(),
        "n_prefixes": cell["prefix_id"].nunique(),
    }
    for end, accuracy in (("", correct.mean()), ("_low", low), ("_high", high)):
        delta = accuracy - baseline
        found[f"accuracy{end}"], found[f"delta{end}"] = accuracy, delta
        found[f"relative_improvement{end}"] = 100 * delta / baseline if baseline else np.nan
    return found


def extreme_suites(accuracy: pd.DataFrame, dataset: str, kind: str) -> pd.DataFrame:
    """Return Table 1 (kind matched_acceptable) or 2 (matched_unacceptable) with all suites.

    Suites are sorted by the rise (or fall) in accuracy, averaged over lengths and models. Columns
    are n (pairs), the mean change and its standard deviation over lengths (MODEL/delta, MODEL/sd),
    and those over models (mean_delta, mean_sd).
    """
    rows = of_suites(accuracy[accuracy["dataset"] == dataset], kind)
    by_model = rows.groupby(["group", "model"], sort=False)["delta"]
    means, deviations = by_model.mean().unstack(), by_model.std(ddof=0).unstack()
    n_pairs = rows.groupby("group", sort=False)["n_pairs"].max()
    table = pd.DataFrame({"n": n_pairs[means.index]}).rename_axis("suite")
    for model in dict.fromkeys(rows["model"]):
        table[f"{model}/delta"], table[f"{model}/sd"] = means[model], deviations[model]
    table["mean_delta"], table["mean_sd"] = means.mean(axis=1), means.std(axis=1, ddof=0)
    ascending = kind.endswith("unacceptable")
    return table.sort_values("mean_delta", ascending=ascending, kind="stable").reset_index()


def clusters(group: pd.DataFrame) -> Ints:
    """Return the index of each judgment's suite, or of its prefix if there is one suite, (n,) int.

    These are the units that are resampled, because pairs may share a prefix.
    """
    several = group["suite"].nunique() > 1
    return pd.factorize(group["suite"] if several else group["prefix_id"])[0]
