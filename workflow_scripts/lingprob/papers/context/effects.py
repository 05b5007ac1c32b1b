"""Compute the statistic that judges each claim of Sinha et al. (2023).

Tables are those of `analysis.summarise_model`. "delta" is the change in accuracy from no prefix.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from lingprob.context.names import (
    CROWS_PAIRS,
    FIGURES_OF,
    MATCHED,
    MISMATCHED,
    SYNTAXGYM,
    UNRELATED,
)
from lingprob.papers.context import contrasts
from lingprob.papers.context.analysis import PAPER_DATASET
from lingprob.papers.context.statistics import suite_points
from lingprob.papers.run import Found, Run, Tables, statistic
from lingprob.scorecard.comparison import MADE_HERE, Statistic
from lingprob.scorecard.estimates import (
    combined,
    known_correlation,
    mean_difference,
    slope_within,
    slopes_within,
    student,
    widened,
)
from lingprob.scorecard.verdicts import NOTHING, Estimate

PAPER_DATASETS = (PAPER_DATASET, SYNTAXGYM, CROWS_PAIRS)
SMALLEST, LARGEST = "gpt2", "opt-6.7b"
LEAST_PREDICTABLE = "opt-2.7b"
# Analyses with points that are not independent. Their intervals are in the tables.
OF_DEPENDENT_POINTS = ("pairs", "suites")


def any_dataset(dataset: str) -> bool:
    """Return whether judgments on a data set are about grammar (BLiMP, SyntaxGym, a user's)."""
    return dataset != CROWS_PAIRS


def plain_pairs(dataset: str) -> bool:
    """Return whether a data set has pairs of sentences, on which chance accuracy is one half."""
    return dataset not in FIGURES_OF


def only(*datasets: str) -> Callable[[str], bool]:
    """Return a function that tells whether a data set's name is one of the arguments."""
    return lambda dataset: dataset in datasets


@statistic
def weighted(
    tables: Tables,
    run: Run,
    weights: Mapping[str, float],
    of: Callable[[str], bool] = any_dataset,
    column: str = "delta",
    perturbation: str = "",
) -> Found:
    """Yield a sum of a column weighted by kind, at the longest length, per model and data set.

    `weights` has the weight of each kind of prefix, and `of` selects data sets by name.
    """
    accuracy = tables["context_accuracy"]
    found = contrasts.rows_at(accuracy, column, perturbation=perturbation)
    for model, dataset in dict.fromkeys((model, dataset) for model, dataset, _ in found):
        rows = [found[key] for kind in weights if (key := (model, dataset, kind)) in found]
        if of(dataset) and len(rows) == len(weights):
            total = contrasts.weighted_sum(accuracy, rows, list(weights.values()), column)
            yield f"{model}/{dataset}", total


@statistic
def over_lengths(
    tables: Tables,
    run: Run,
    kind: str,
    part: float,
    column: str = "delta",
    model: str | None = None,
) -> Found:
    """Yield a column at the longest length minus the column at the share `part` of that length.

    There is one value per model (only `model` if given) and data set of plain pairs.
    """
    accuracy = tables["context_accuracy"]
    later, sooner = contrasts.rows_at(accuracy, column), contrasts.rows_at(accuracy, column, part)
    for (name, dataset, of), row in later.items():
        pair = [row, sooner[name, dataset, of]]
        several = pair[0].length != pair[1].length  # one length alone gives no difference
        if several and of == kind and plain_pairs(dataset) and model in (None, name):
            yield f"{name}/{dataset}", contrasts.weighted_sum(accuracy, pair, [1, -1], column)


@statistic
def between_models(tables: Tables, run: Run, kind: str, first: str, second: str) -> Found:
    """Yield delta of the first model minus delta of the second model, per data set."""
    accuracy = tables["context_accuracy"]
    found = contrasts.rows_at(accuracy)
    for dataset in dict.fromkeys(dataset for _, dataset, _ in found):
        keys = [(model, dataset, kind) for model in (first, second)]
        if any_dataset(dataset) and set(keys) <= set(found):
            pair = [found[key] for key in keys]
            difference = contrasts.weighted_sum(accuracy, pair, [1, -1], "delta")
            yield f"{first} less {second}/{dataset}", difference


@statistic
def over_scale(tables: Tables, run: Run, kind: str) -> Found:
    """Yield the slope of delta on log10 parameters over models, within families, per data set.

    Models of unknown size and models trained here are left out. Models share their suites, so the
    interval includes the sampling errors of suites and of models. With one suite there is no
    interval.
    """
    found = contrasts.rows_at(tables["context_accuracy"])
    suites = suite_points(tables["context_accuracy"], kind)
    looks = {name: look for name, look in run.models.items() if look.get("source") not in MADE_HERE}
    sized = [name for name, look in looks.items() if look["parameters"]]
    for dataset in dict.fromkeys(dataset for _, dataset, _ in found):
        models = [name for name in sized if (name, dataset, kind) in found]
        if len(models) < 3 or not any_dataset(dataset):
            continue
        sizes = np.log10([float(looks[name]["parameters"]) for name in models])
        families = [looks[name]["family"] for name in models]
        changes = [found[name, dataset, kind].delta for name in models]
        slope = slope_within(sizes, changes, families)
        of_dataset = suites[suites["dataset"] == dataset]
        of_models = [of_dataset[of_dataset["model"] == name] for name in models]
        values, pairs = contrasts.shared_suites(of_models, "delta")
        if len(pairs) > 1:
            draws = contrasts.resampled_means(values, pairs)
            every = np.broadcast_to(sizes, draws.shape)
            slope = widened(slope, slopes_within(every, draws, families))
        else:
            note = "no interval, because there is only one suite"
            slope = replace(contrasts.without_interval(slope), note=note)
        yield f"all models/{dataset}", slope


@statistic
def coefficient(tables: Tables, run: Run, prefixes: str, term: str) -> Found:
    """Yield a coefficient (logits) of the mixed regressions, with its jackknife error over suites.

    The coefficient has no interval if no judgment changes.
    """
    rows = tables["context_regression"]
    rows = rows[(rows["prefixes"] == prefixes) & (rows["dataset"] != CROWS_PAIRS)]
    for row in rows[rows["estimate"].isna()].itertuples():
        yield f"{row.model}/{row.dataset}", replace(NOTHING, note="no regression: see the log")
    for row in rows[(rows["term"] == term) & rows["estimate"].notna()].itertuples():
        error = float(row.suite_std_error)
        note = f"{row.n} judgments" if np.isfinite(error) else "no standard error over suites"
        found = student(float(row.estimate), error, row.suite_df, row.n, note)
        yield f"{row.model}/{row.dataset}", found


def correlations(tables: Tables, analysis: str, y: str = "", x: str = "") -> Found:
    """Yield the correlations of one analysis with their intervals, by model, data set and x.

    `y` and `x` select correlations by the names of their variables. '' selects all.
    """
    table = tables["context_correlations"]
    rows = table[(table["analysis"] == analysis) & table["value"].notna()]
    for row in rows.to_dict("records"):
        if y in ("", row["y"]) and x in ("", row["x"]):
            about = f"{row['model']}/{row['dataset']}" + ("" if x or y else f"/{row['x']}")
            n, ranks = int(row["n"]), row["statistic"] == "spearman"
            if analysis in OF_DEPENDENT_POINTS:
                yield about, Estimate.of(row, "value", n, f"n = {n:,}")
            else:
                yield about, known_correlation(float(row["value"]), n, ranks=ranks)


def overlaps_of_suites(tables: Tables, measure: str) -> dict[str, Estimate]:
    """Return rho of accuracy with suites' F1 of a `measure` (token, dependency), by population."""
    return dict(correlations(tables, "suites", "accuracy", f"{measure} overlap of suites"))


def mean_predictability(tables: Tables, kind: str) -> dict[str, Estimate]:
    """Return each model's r of Appendix C, averaged over the paper's three data sets.

    r correlates suites' accuracies without a prefix with those after the longest prefix of a kind.
    """
    found = dict(correlations(tables, "metric", y=kind))
    means = {}
    for model in dict.fromkeys(name.partition("/")[0] for name in found):
        names = [f"{model}/{dataset}" for dataset in PAPER_DATASETS]
        if set(names) <= set(found):
            parts = [found[name] for name in names]
            means[model] = combined(parts, [1 / len(parts)] * len(parts))
    return means


@statistic
def more_predictable(tables: Tables, run: Run, kind: str) -> Found:
    """Yield the `mean_predictability` of GPT-2 minus that of OPT 2.7B, if the run has both."""
    means, names = mean_predictability(tables, kind), (SMALLEST, LEAST_PREDICTABLE)
    if {*names} <= set(means):
        total = combined([means[name] for name in names], [1, -1])
        points = suite_points(tables["context_accuracy"], kind)
        suites = [
            [points[(points["model"] == name) & (points["dataset"] == dataset)] for name in names]
            for dataset in PAPER_DATASETS
        ]
        yield " less ".join(names), contrasts.correlation_difference(suites, total)


def overlap_advantage(tables: Tables, run: Run) -> Found:
    """Yield rho of accuracy with token overlap minus rho of accuracy with label overlap."""
    keys = ["dataset", "target_suite", "prefix_suite"]
    tokens, labels = (overlaps_of_suites(tables, name) for name in ("token", "dependency"))
    wide = tables["context_overlap"].pivot(index=keys, columns="measure", values="f1")
    cells = tables["context_matrix"].join(wide, on=keys)
    cells = cells[cells["target_suite"] != cells["prefix_suite"]]
    for name in [name for name in tokens if name in labels]:
        of_model = cells[(cells["model"] + "/" + cells["dataset"]) == name]
        total = combined([tokens[name], labels[name]], [1, -1])
        yield name, contrasts.overlap_difference(of_model, total)


def suite_overlaps(tables: Tables, run: Run) -> Found:
    """Yield rho of accuracy with suites' overlap of tokens, and with that of dependency labels."""
    for measure in ("token", "dependency"):
        for name, estimate in overlaps_of_suites(tables, measure).items():
            yield f"{name}/{measure}", estimate


def labels_above_tokens(tables: Tables, run: Run) -> Found:
    """Yield the mean over target suites of F1 of dependency labels minus F1 of tokens."""
    overlap = tables["context_overlap"]
    different = overlap[overlap["target_suite"] != overlap["prefix_suite"]]
    by_suite = different.groupby(["dataset", "target_suite", "measure"])["f1"].mean().unstack()
    if {"token", "dependency"} <= set(by_suite.columns):
        for dataset, rows in by_suite.groupby("dataset"):
            yield str(dataset), mean_difference(rows["token"], rows["dependency"])


def improvements(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each model's name and its cells of Figure 14 (`context_matrix` rows of SyntaxGym)."""
    rows = tables["context_matrix"]
    rows = rows[(rows["dataset"] == SYNTAXGYM) & rows["relative_improvement"].notna()]
    for model, cells in rows.groupby("model", sort=False):
        yield str(model), cells


def mean_of_cells(cells: pd.DataFrame) -> Estimate:
    """Return the mean relative improvement (%) of cells of Figure 14.

    The ends of its interval are the means of the cells' ends. Cells share items and accuracies
    without a prefix, so their errors may be equal. If errors are not equal, the interval is too
    wide.
    """
    low, value, high = (
        float(cells[f"relative_improvement{end}"].mean()) for end in ("_low", "", "_high")
    )
    note = f"{len(cells)} cells"
    return Estimate(value, low, high, int(cells["n_pairs"].min()), note)


@statistic
def mean_improvement(tables: Tables, run: Run, *suites: str, after: str = "") -> Found:
    """Yield the mean improvement of `suites` after other suites whose names end in `after`.

    There is one value per model (`mean_of_cells`).
    """
    for model, cells in improvements(tables):
        others = cells[cells["prefix_suite"] != cells["target_suite"]]
        others = others[others["prefix_suite"].str.endswith(after)]
        for suite in suites:
            if len(of_suite := others[others["target_suite"] == suite]):
                yield f"{model}/{SYNTAXGYM}, {suite}", mean_of_cells(of_suite)


def feminine_advantage(tables: Tables, run: Run) -> Found:
    """Yield the improvement of feminine reflexives after feminine minus that after masculine ones.

    There is one value per model (context, Appendix D.1).
    """
    feminine, masculine = r"reflexive_(?:orc|prep|src)_fem", r"reflexive_(?:orc|prep|src)_masc"
    for model, cells in improvements(tables):
        targets = cells[cells["target_suite"].str.fullmatch(feminine)]
        after = [targets[targets["prefix_suite"].str.fullmatch(x)] for x in (feminine, masculine)]
        if all(map(len, after)):
            means = [mean_of_cells(some) for some in after]
            yield f"{model}/{SYNTAXGYM}", replace(combined(means, [1, -1]), note=means[0].note)


@statistic
def correlated(tables: Tables, run: Run, analysis: str, y: str = "") -> Found:
    """Yield the `correlations` of one analysis, only those of the variable `y` if it is given."""
    return correlations(tables, analysis, y)


UP, DOWN = MATCHED
OTHER_UP, OTHER_DOWN = MISMATCHED
BLIMP = only(PAPER_DATASET)
STATISTICS: dict[str, Statistic] = {
    "matched_acceptable_raises": weighted({UP: 1}),
    "matched_unacceptable_lowers": weighted({DOWN: 1}),
    "matched_exceeds_mismatched_acceptable": weighted({UP: 1, OTHER_UP: -1}),
    "matched_exceeds_mismatched_unacceptable": weighted({DOWN: 1, OTHER_DOWN: -1}),
    "unacceptable_exceeds_acceptable": weighted({"acceptable": 1, "unacceptable": 1}),
    "below_chance": weighted({DOWN: 1}, plain_pairs, "accuracy"),
    "unrelated_changes_nothing": weighted({UNRELATED: 1}),
    "unrelated_length_changes_nothing": coefficient("unrelated", "log_length"),
    "length_by_acceptability": coefficient("related", "log_length:acceptable"),
    "length_by_match_by_acceptability": coefficient("related", "log_length:matched:acceptable"),
    "matched_acceptable_raise_by_up_to_20": weighted({UP: 1}, only(*PAPER_DATASETS)),
    "acceptable_raise_by_at_most_12": weighted({"acceptable": 1}, BLIMP),
    "matched_acceptable_raise_by_15": weighted({UP: 1}, BLIMP),
    "mismatched_acceptable_raise_by_at_most_5": weighted({OTHER_UP: 1}, BLIMP),
    "unacceptable_lower_by_30_to_40": weighted({"unacceptable": 1}, BLIMP),
    "matched_unacceptable_lower_by_50_to_80": weighted({DOWN: 1}, BLIMP),
    "mismatched_unacceptable_lower_by_at_most_20": weighted({OTHER_DOWN: 1}, BLIMP),
    "scale_amplifies_unacceptable": over_scale("unacceptable"),
    "scale_spares_acceptable": over_scale("acceptable"),
    "opt_falls_below_gpt2": between_models("unacceptable", LARGEST, SMALLEST),
    "opt_gains_above_gpt2": between_models(UP, LARGEST, SMALLEST),
    "gpt2_recovers": over_lengths("unacceptable", 0.5, model=SMALLEST),
    "perturbed_acceptable_still_raise": weighted({UP: 1}, perturbation="all"),
    "perturbed_unacceptable_still_lower": weighted({DOWN: 1}, perturbation="all"),
    "similarity_raises_acceptable": correlated("perturbations", f"delta, {UP}"),
    "similarity_lowers_unacceptable": correlated("perturbations", f"delta, {DOWN}"),
    "mismatched_stereotypes_change_nothing": weighted({OTHER_DOWN: 1}, only(CROWS_PAIRS)),
    "stereotypes_lower": weighted({DOWN: 1}, only(CROWS_PAIRS)),
    "antistereotypes_raise": weighted({UP: 1}, only(CROWS_PAIRS)),
    "antistereotypes_reach_balance": weighted({UP: 1}, only(CROWS_PAIRS), "accuracy"),
    "gpt2_predictable_acceptable": more_predictable(UP),
    "gpt2_predictable_unacceptable": more_predictable(DOWN),
    "prefix_overlap_tells_nothing": correlated("pairs"),
    "suite_overlap_raises": suite_overlaps,
    "suite_overlap_is_weak": suite_overlaps,
    "tokens_above_dependencies": overlap_advantage,
    "dependencies_overlap_more": labels_above_tokens,
    "any_prefix_helps": mean_improvement("npi_src_any", "fgd_subject"),
    "masculine_spoils_feminine": mean_improvement("reflexive_orc_fem", after="_masc"),
    "feminine_helps_feminine": feminine_advantage,
    "margin_falls_with_length": over_lengths(DOWN, 0, "margin"),
    "margin_unacceptable_below_acceptable": weighted({DOWN: 1, UP: -1}, plain_pairs, "margin"),
    "margin_related_below_unrelated": weighted({UP: 1, UNRELATED: -1}, plain_pairs, "margin"),
}
