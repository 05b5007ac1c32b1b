"""The statistic of each claim of Sinha et al. (2023)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from lingprob.context.names import (
    CROWS_PAIRS,
    FIGURES_OF,
    MATCHED,
    MISMATCHED,
    SYNTAXGYM,
    UNRELATED,
)
from lingprob.papers.context.analysis import PAPER_DATASET
from lingprob.papers.context.statistics import suite_points
from lingprob.papers.run import Run, Tables
from lingprob.scorecard.comparison import Statistic
from lingprob.scorecard.estimates import (
    combined,
    known_correlation,
    mean_difference,
    slope_within,
    slopes_within,
    widened,
)
from lingprob.scorecard.verdicts import NOTHING, Estimate

Found = Iterator[tuple[str, Estimate]]
# Estimates by model, data set and kind of prefix.
ByKind = dict[tuple[str, str, str], Estimate]
PAPER_DATASETS = (PAPER_DATASET, SYNTAXGYM, CROWS_PAIRS)
SMALLEST, LARGEST = "gpt2", "opt-6.7b"
LEAST_PREDICTABLE = "opt-2.7b"
DRAWS = 1000  # resamples of suites
# Fewer units are all on one side of 0 by chance in more than a twentieth of cases.
FEWEST = 6
# Analyses whose points are not independent, so that tables have their intervals.
OF_DEPENDENT_POINTS = ("pairs", "suites")


def any_dataset(dataset: str) -> bool:
    """Return whether a data set is judged by grammar (BLiMP, SyntaxGym, a user's)."""
    return dataset != CROWS_PAIRS


def plain_pairs(dataset: str) -> bool:
    """Return whether a data set has pairs of sentences, half of which are right by chance."""
    return dataset not in FIGURES_OF


def only(*datasets: str) -> Callable[[str], bool]:
    """Return a test for these data sets."""
    return lambda dataset: dataset in datasets


def estimates(
    accuracy: pd.DataFrame,
    column: str = "delta",
    part: float = 1.0,
    perturbation: str | None = None,
) -> ByKind:
    """Return a column with its intervals over all pairs, at one length of each kind's.

    Args:
        accuracy: `context_accuracy` table.
        column: delta, accuracy or margin. Rows without it are left out.
        part: share of the longest length. The nearest length is taken, for 0 the shortest.
        perturbation: perturbation of prefixes, or None for unchanged ones.
    """
    rows = accuracy[(accuracy["level"] == "all") & accuracy[column].notna()]
    same = rows["perturbation"].isna() if perturbation is None else (
        rows["perturbation"] == perturbation
    )  # fmt: skip
    rows = rows[same]
    by = ["model", "dataset", "kind"]
    longest = rows.groupby(by)["length"].transform("max")
    rows = rows.assign(away=(rows["length"] - part * longest).abs()).sort_values("away")
    return {
        (row.model, row.dataset, row.kind): _resampled(row, column)
        for row in rows.drop_duplicates(by).itertuples()
    }


def _resampled(row: Any, column: str) -> Estimate:
    """Return a row's value, without an interval if its units are too few or all alike."""
    value, low, high = (float(getattr(row, column + end)) for end in ("", "_low", "_high"))
    several = row.n_suites > 1
    n, what = (row.n_suites, "suites") if several else (row.n_pairs, "pairs")
    note = f"{n} {what}, {row.length} tokens"
    if n < FEWEST or low == high:
        return Estimate(value, np.nan, np.nan, int(n), note)
    return Estimate(value, low, high, int(n), note)


def populations(found: Mapping[tuple[str, str, str], Any]) -> list[tuple[str, str]]:
    """Return the models and data sets of estimates, each once."""
    return list(dict.fromkeys((model, dataset) for model, dataset, _ in found))


def weighted(
    weights: Mapping[str, float],
    of: Callable[[str], bool] = any_dataset,
    column: str = "delta",
    perturbation: str | None = None,
) -> Statistic:
    """Return a weighted sum over kinds of prefixes at their longest, per model and data set."""

    def statistic(tables: Tables, run: Run) -> Found:
        found = estimates(tables["context_accuracy"], column, perturbation=perturbation)
        for model, dataset in populations(found):
            parts = [found.get((model, dataset, kind)) for kind in weights]
            known = [part for part in parts if part is not None]
            if of(dataset) and len(known) == len(weights):
                total = combined(known, list(weights.values()))
                yield f"{model}/{dataset}", replace(total, note=known[0].note)

    return statistic


def over_lengths(
    kind: str, part: float, column: str = "delta", model: str | None = None
) -> Statistic:
    """Return a column at the longest length minus at a part of it, for one model or all."""

    def statistic(tables: Tables, run: Run) -> Found:
        later = estimates(tables["context_accuracy"], column)
        sooner = estimates(tables["context_accuracy"], column, part)
        for name, dataset in populations(later):
            key = (name, dataset, kind)
            wanted = plain_pairs(dataset) and model in (None, name) and key in later
            # With one length there is nothing between them, which the notes tell.
            if wanted and later[key].note != sooner[key].note:
                yield f"{name}/{dataset}", combined([later[key], sooner[key]], [1, -1])

    return statistic


def between_models(kind: str, first: str, second: str) -> Statistic:
    """Return the change in accuracy of one model minus that of another, per data set."""

    def statistic(tables: Tables, run: Run) -> Found:
        found = estimates(tables["context_accuracy"])
        for dataset in dict.fromkeys(dataset for _, dataset, _ in found):
            pair = [found.get((model, dataset, kind)) for model in (first, second)]
            known = [one for one in pair if one is not None]
            if any_dataset(dataset) and len(known) == 2:
                yield f"{first} less {second}/{dataset}", combined(known, [1, -1])

    return statistic


def over_scale(kind: str) -> Statistic:
    """Return the slope of the change in accuracy on log10 parameters, within families.

    Models without a size are left out. All models are judged on the same suites, so the interval
    has the chance of suites as well as that of models. With one suite there is no interval.
    """

    def statistic(tables: Tables, run: Run) -> Found:
        found = estimates(tables["context_accuracy"])
        accuracy = suite_points(tables["context_accuracy"], kind)
        suites = dict([*accuracy.groupby("dataset", observed=True)])
        for dataset in dict.fromkeys(dataset for _, dataset, _ in found):
            sized = [name for name in run.models if run.models[name]["parameters"]]
            models = [name for name in sized if (name, dataset, kind) in found]
            sizes = np.log10([float(run.models[name]["parameters"]) for name in models])
            families = [run.models[name]["family"] for name in models]
            changes = [found[(name, dataset, kind)].value for name in models]
            if any_dataset(dataset) and len(models) > 2:
                slope = slope_within(sizes, changes, families)
                draws = drawn_changes(suites[dataset], models) if dataset in suites else None
                if draws is None:
                    note = "one suite, whose chance is not known"
                    slope = replace(slope, low=np.nan, high=np.nan, note=note)
                else:
                    every = np.broadcast_to(sizes, draws.shape)
                    slope = widened(slope, slopes_within(every, draws, families))
                yield f"all models/{dataset}", slope

    return statistic


def drawn_changes(suites: pd.DataFrame, models: Sequence[str]) -> np.ndarray | None:
    """Return models' changes in accuracy in resamples of suites, (DRAWS, models).

    Those of the `suite_points` of a data set are drawn that all models were judged on, the same for
    all models, and count by their pairs. None if they are fewer than two.
    """
    wide = suites.pivot(index="group", columns="model", values="delta").reindex(columns=models)
    wide = wide.dropna()
    if len(wide) < 2:
        return None
    pairs = suites.groupby("group")["n_pairs"].max()[wide.index].to_numpy(float)
    drawn = np.random.default_rng(0).multinomial(len(wide), [1 / len(wide)] * len(wide), DRAWS)
    weights = drawn * pairs
    return weights @ wide.to_numpy(float) / weights.sum(axis=1, keepdims=True)


def coefficient(prefixes: str, term: str) -> Statistic:
    """Return a coefficient of the mixed regressions (logits), with errors by suites.

    It has no interval if no judgment changes.
    """

    def statistic(tables: Tables, run: Run) -> Found:
        rows = tables["context_regression"]
        rows = rows[(rows["prefixes"] == prefixes) & rows["dataset"].map(any_dataset).astype(bool)]
        for row in rows[rows["estimate"].isna()].itertuples():
            yield f"{row.model}/{row.dataset}", replace(NOTHING, note="no regression: see the log")
        for row in rows[(rows["term"] == term) & rows["estimate"].notna()].itertuples():
            error = float(row.suite_std_error)
            note = f"{row.n} judgments" if np.isfinite(error) else "no error by suites is known"
            value = float(row.estimate)
            reach = float(stats.t.ppf(0.975, row.suite_df)) * error
            ends = (value - reach, value + reach)
            yield f"{row.model}/{row.dataset}", Estimate(value, *ends, int(row.n), note)

    return statistic


def correlations(tables: Tables, analysis: str, y: str = "", x: str = "") -> Found:
    """Return the correlations of one analysis with their intervals, by model, data set and x."""
    table = tables["context_correlations"]
    rows = table[(table["analysis"] == analysis) & table["value"].notna()]
    for row in rows.itertuples():
        if y in ("", row.y) and x in ("", row.x):
            about = f"{row.model}/{row.dataset}" + ("" if x or y else f"/{row.x}")
            n, ranks = int(row.n), row.statistic == "spearman"
            if analysis in OF_DEPENDENT_POINTS:
                ends = (float(row.value_low), float(row.value_high))
                yield about, Estimate(float(row.value), *ends, n, f"n = {n}")
            else:
                yield about, known_correlation(float(row.value), n, ranks=ranks)


def mean_predictability(tables: Tables, kind: str) -> dict[str, Estimate]:
    """Return Appendix C's r by model: the mean over the paper's three data sets."""
    found = dict(correlations(tables, "metric", y=kind))
    by_model = {
        model: [found.get(f"{model}/{dataset}") for dataset in PAPER_DATASETS]
        for model in dict.fromkeys(name.partition("/")[0] for name in found)
    }
    weights = [1 / len(PAPER_DATASETS)] * len(PAPER_DATASETS)
    return {
        model: combined([one for one in parts if one is not None], weights)
        for model, parts in by_model.items()
        if None not in parts
    }


def more_predictable(kind: str) -> Statistic:
    """Return by how much GPT-2's mean r exceeds OPT 2.7B's."""

    def statistic(tables: Tables, run: Run) -> Found:
        means = mean_predictability(tables, kind)
        if {SMALLEST, LEAST_PREDICTABLE} <= set(means):
            pair = [means[SMALLEST], means[LEAST_PREDICTABLE]]
            yield f"{SMALLEST} less {LEAST_PREDICTABLE}", combined(pair, [1, -1])

    return statistic


def overlap_advantage(tables: Tables, run: Run) -> Found:
    """Return rho of tokens' overlap with accuracy minus that of dependency labels'."""
    tokens, labels = (
        dict(correlations(tables, "suites", "accuracy", f"{measure} overlap of suites"))
        for measure in ("token", "dependency")
    )
    for name in tokens:
        if name in labels:
            yield name, combined([tokens[name], labels[name]], [1, -1])


def suite_overlaps(tables: Tables, run: Run) -> Found:
    """Return rho of either overlap of suites with accuracy."""
    for measure in ("token", "dependency"):
        named = correlations(tables, "suites", "accuracy", f"{measure} overlap of suites")
        yield from ((f"{name}/{measure}", estimate) for name, estimate in named)


def labels_above_tokens(tables: Tables, run: Run) -> Found:
    """Return the mean over target suites of F1 of dependency labels minus that of tokens."""
    overlap = tables["context_overlap"]
    different = overlap[overlap["target_suite"] != overlap["prefix_suite"]]
    by_suite = different.groupby(["dataset", "target_suite", "measure"])["f1"].mean().unstack()
    if {"token", "dependency"} <= set(by_suite.columns):
        for dataset, rows in by_suite.groupby("dataset"):
            yield str(dataset), mean_difference(rows["token"], rows["dependency"])


def improvements(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
    """Return the cells of Figure 14 of every model: relative improvements in percent."""
    rows = tables["context_matrix"]
    rows = rows[(rows["dataset"] == SYNTAXGYM) & rows["relative_improvement"].notna()]
    for model, cells in rows.groupby("model", sort=False):
        yield str(model), cells


def mean_of_cells(cells: pd.DataFrame) -> Estimate:
    """Return the mean of cells of Figure 14 with the mean of their intervals' ends.

    The same items follow all prefix suites and have one accuracy without a prefix, so cells are not
    independent, and their errors may be one. If they are not, the interval is too wide.
    """
    low, value, high = (
        float(cells[f"relative_improvement{end}"].mean()) for end in ("_low", "", "_high")
    )
    note = f"{len(cells)} cells"
    return Estimate(value, low, high, int(cells["n_pairs"].min()), note)


def mean_improvement(*suites: str, after: str = "") -> Statistic:
    """Return suites' mean improvement over prefix suites that end in `after`, but themselves."""

    def statistic(tables: Tables, run: Run) -> Found:
        for model, cells in improvements(tables):
            others = cells[cells["prefix_suite"] != cells["target_suite"]]
            others = others[others["prefix_suite"].str.endswith(after)]
            for suite in suites:
                if len(of_suite := others[others["target_suite"] == suite]):
                    yield f"{model}/{SYNTAXGYM}, {suite}", mean_of_cells(of_suite)

    return statistic


def feminine_advantage(tables: Tables, run: Run) -> Found:
    """Return how much more feminine than masculine reflexives help feminine ones (Appendix D.1)."""
    feminine, masculine = (
        [f"reflexive_{where}_{gender}" for where in ("orc", "prep", "src")]
        for gender in ("fem", "masc")
    )
    for model, cells in improvements(tables):
        targets = cells[cells["target_suite"].isin(feminine)]
        after = [targets[targets["prefix_suite"].isin(names)] for names in (feminine, masculine)]
        if all(map(len, after)):
            means = [mean_of_cells(some) for some in after]
            yield f"{model}/{SYNTAXGYM}", replace(combined(means, [1, -1]), note=means[0].note)


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
    "similarity_raises_acceptable": lambda tables, run: correlations(
        tables, "perturbations", f"delta, {UP}"
    ),
    "similarity_lowers_unacceptable": lambda tables, run: correlations(
        tables, "perturbations", f"delta, {DOWN}"
    ),
    "mismatched_stereotypes_change_nothing": weighted({OTHER_DOWN: 1}, only(CROWS_PAIRS)),
    "stereotypes_lower": weighted({DOWN: 1}, only(CROWS_PAIRS)),
    "antistereotypes_raise": weighted({UP: 1}, only(CROWS_PAIRS)),
    "antistereotypes_reach_balance": weighted({UP: 1}, only(CROWS_PAIRS), "accuracy"),
    "gpt2_predictable_acceptable": more_predictable(UP),
    "gpt2_predictable_unacceptable": more_predictable(DOWN),
    "prefix_overlap_tells_nothing": lambda tables, run: correlations(tables, "pairs"),
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
