"""The context paper's figures: which there are, and that curves are the tables' rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from lingprob.context.names import CROWS_PAIRS, KINDS, ORIGINAL, SYNTAXGYM
from lingprob.figures.palette import GREY, describe_models
from lingprob.figures.style import failures
from lingprob.papers.context.figures import LOOKS, PERTURBATION_COLOURS, draw
from lingprob.papers.context.suite_figures import TOO_FEW
from lingprob.papers.run import Run

MODELS = describe_models(
    {
        name: {"title": name, "family": "opt", "family_title": "OPT", "parameters": size}
        for name, size in (("small", 10**8), ("large", 10**9))
    }
)


ALL = ["blimp", CROWS_PAIRS, SYNTAXGYM]
POOLED = ("acceptable", "unacceptable")
PER_TOKEN = {kind: number / 1000 for number, kind in enumerate((*KINDS, *POOLED), start=1)}
# By how much accuracies are higher than those of others.
HIGHER = {"large": 0.1, "b": 0.2, "quote": 0.4, SYNTAXGYM: 0.05}


def tables(datasets: list[str]) -> dict:
    """Accuracies of two models by length, with two suites in every matrix."""
    columns = ["model", "dataset", "kind", "group", "perturbation", "length"]
    rows = product(MODELS, datasets, PER_TOKEN, ("all", *"ab"), (None, ORIGINAL, "quote"), (20, 10))
    rows = [row for row in rows if row[1] == "blimp" or row[4] is None]
    accuracy = pd.DataFrame(rows, columns=columns)
    accuracy["level"] = np.where(accuracy["group"] == "all", "all", "suite")
    change = accuracy[columns[:5]].map(lambda name: HIGHER.get(name, 0)).sum(axis=1)
    change += accuracy["length"] * accuracy["kind"].map(PER_TOKEN)
    for column, first in (("delta", 0.0), ("accuracy", 0.5), ("margin", 2.0)):
        accuracy[column] = first + change
        for end, reach in (("_low", -0.1), ("_high", 0.3)):
            accuracy[column + end] = accuracy[column] + reach
    accuracy = accuracy.assign(
        prefix_tokens=accuracy["length"] + 0.5, n_sentences=accuracy["length"] / 10, baseline=0.3,
        baseline_margin=3.0, n_pairs=1320 + accuracy["length"], n_suites=67, scale="demo",
        similarity=accuracy["perturbation"].map({ORIGINAL: 1.0, "quote": 0.5}),
    )  # fmt: skip
    columns = ["model", "dataset", "target_suite", "prefix_suite"]
    matrix = pd.DataFrame(product(MODELS, datasets, "ab", "ab"), columns=columns)
    cells = {"accuracy": [0.75, 0.1, 0.2, 0.6], "delta": [0, -0.7, -0.3, 0],
             "relative_improvement": [75, 10, -20, 60], "baseline": [0.8, 0.8, 0.5, 0.5],
             "n_pairs": [20, 20, 24, 24]}  # fmt: skip
    matrix = matrix.assign(**{name: np.resize(cell, len(matrix)) for name, cell in cells.items()})
    matrix["accuracy"] += 0.1 * (matrix["model"] == "large")
    related = pd.DataFrame(
        [("small", "metric", "matched_unacceptable", "pearson", 0.75, 0.001),
         ("large", "metric", "matched_unacceptable", "pearson", 0.25, 0.0009),
         ("large", "perturbations", "delta, matched_acceptable", "spearman", -0.5, 0.25)],
        columns=["model", "analysis", "y", "statistic", "value", "p"],
    ).assign(dataset="blimp")  # fmt: skip
    first = matrix[:4].assign(measure="token", f1=matrix["accuracy"])
    overlap = pd.concat([first, first.assign(measure="dependency", f1=first["f1"] / 2)])
    return {"context_accuracy": accuracy, "context_matrix": matrix,
            "context_correlations": related, "context_overlap": overlap}  # fmt: skip


def run(datasets: list[str]) -> Run:
    titles = {name: name.capitalize() for name in datasets}
    return Run("demo", MODELS, titles | {"unrelated": "Wikipedia"})


@pytest.fixture(scope="module")
def figures() -> dict:
    return draw(tables(ALL), run(ALL))


def test_figures_are_those_whose_data_sets_there_are(figures):
    plain = draw(tables(["blimp"]), run(["blimp"]))
    assert not failures(plain | figures)
    assert set(plain) == {f"figure_{number}" for number in (2, 3, 4, 5, 9, 10, 11, 12, 13, 15)}
    assert set(figures) == {f"figure_{number}" for number in range(2, 18)}
    assert {figure._supxlabel.get_text() for figure in figures.values()} == {"scale: demo"}


def test_figures_say_that_no_suite_has_enough_pairs():
    few = tables(ALL)
    few["context_matrix"] = few["context_matrix"].iloc[:0]
    few["context_accuracy"] = few["context_accuracy"].query("level != 'suite'")
    drawn = draw(few, run(ALL)).items()
    texts = {name: [text.get_text() for text in one.axes[0].texts] for name, one in drawn}
    silent = {name for name, found in texts.items() if found == [TOO_FEW]}
    assert silent == {"figure_10", "figure_11", "figure_13", "figure_14"}


def curves(ax, sizes=(0.0, 10.5, 20.5)) -> dict:
    """Values of the curves over these sizes of prefixes, by colour."""
    lines = [line for line in ax.lines if (*line.get_xdata(),) == sizes]
    return {line.get_color(): pytest.approx([*line.get_ydata()]) for line in lines}


RIGHT, WRONG = KINDS[:4:2], KINDS[1:4:2]  # matched and mismatched


@pytest.mark.parametrize(
    ("name", "panel", "title", "kinds", "alone", "first"),
    [
        ("figure_2", 5, "large: Syntaxgym", KINDS, 0, 0.15),
        ("figure_3", 1, "large: Blimp", [*POOLED, KINDS[4]], 0, 0.1),
        ("figure_6", 0, "small: Crows_pairs", WRONG, 0.3, 0.5),
        ("figure_7", 1, "large: Crows_pairs", RIGHT, 0.3, 0.6),
        ("figure_15", 1, "large: Blimp", KINDS, 3, 2.1),
        ("figure_16", 0, "small: Syntaxgym", [*POOLED, KINDS[4]], 0, 0.05),
        ("figure_17", 3, "large: unacceptable prefixes", WRONG, 0, 0.15),
    ],
)
def test_curves_are_of_their_data_and_prefixes(figures, name, panel, title, kinds, alone, first):
    ax = figures[name].axes[panel]
    assert ax.get_title() == f"{title}\nn = 1,340"
    changes = [[alone, *(first + n * PER_TOKEN[kind] for n in (10, 20))] for kind in kinds]
    assert curves(ax) == {LOOKS[kind][0]: one for kind, one in zip(kinds, changes, strict=True)}
    # Bars are intervals of the ends of curves.
    ends = ax.containers[1].lines[2][0].get_segments()[0][:, 1]
    assert (*ends,) == pytest.approx((changes[1][2] - 0.1, changes[1][2] + 0.3))


def test_curves_have_their_names(figures):
    for name, labels, kinds in (
        ("figure_3", ["Acceptable", "Unacceptable", "Wikipedia"], [*POOLED, KINDS[4]]),
        ("figure_6", ["Matched, stereotypical", "Mismatched, stereotypical"], WRONG),
        ("figure_7", ["Matched, antistereotypical", "Mismatched, antistereotypical"], RIGHT),
    ):
        lines = figures[name].legends[0].get_lines()
        assert [line.get_label() for line in lines] == labels
        assert [line.get_color() for line in lines] == [LOOKS[kind][0] for kind in kinds]
    # Thin curves are those of suites.
    by_suite = {LOOKS[KINDS[0]][0]: [0.3, 0.51, 0.52], GREY: [0.3, 0.71, 0.72]}
    assert curves(figures["figure_8"].axes[0]) == by_suite
    straight = [line for line in figures["figure_15"].axes[0].lines if len(line.get_xdata()) == 2]
    assert [line.get_ydata()[0] for line in straight] == [3]


def test_scatters_have_their_points_and_correlations(figures):
    for name, panel, said, points in (
        ("figure_9", 2, "Spearman's ρ = -0.50, p = 0.250", [[1, 0.115], [0.5, 0.515]]),
        ("figure_10", 3, "no correlation", [[0.3, 0.62], [0.3, 0.82]]),
        ("figure_11", 0, "Pearson's r = 0.75, p = 0.001", [[0.3, 0.54], [0.3, 0.74]]),
        ("figure_11", 3, "Pearson's r = 0.25, p < .001", [[0.3, 0.64], [0.3, 0.84]]),
    ):
        ax = figures[name].axes[panel]
        assert ax.get_title().endswith(f"\n{said}")
        assert ax.lines[0].get_xydata() == pytest.approx(np.array(points))
    names = {text.get_text(): text.xy[0] for text in figures["figure_9"].axes[2].texts}
    assert names == {"Original": 1, "Quote": 0.5}


def test_matrices_have_targets_in_rows(figures):
    tokens, labels, _, _ = figures["figure_12"].axes
    _, _, accuracy, change, *_ = figures["figure_13"].axes
    relative, _ = figures["figure_14"].axes
    for ax, title, expected in (
        (tokens, "Overlap of tokens", [[0.75, 0.1], [0.2, 0.6]]),
        (labels, "Overlap of dependency labels", [[0.375, 0.05], [0.1, 0.3]]),
        (accuracy, "large: accuracy\nn = 20 to 24", [[np.nan, 0.2], [0.3, np.nan]]),
        (change, "large: change\nn = 20 to 24", [[np.nan, -0.7], [-0.3, np.nan]]),
    ):
        assert ax.get_title() == title
        np.testing.assert_allclose(np.ma.filled(ax.images[0].get_array(), np.nan), expected)
    numbers = {text.get_position(): text.get_text() for text in relative.texts}
    assert numbers == {(0, 0): "75", (1, 0): "10", (0, 1): "-20", (1, 1): "60"}
    assert [text.get_text() for text in relative.get_yticklabels()] == ["a (≤ 25)", "b (≤ 100)"]


def test_figure_5_has_panels_by_tokens_and_sentences(figures):
    axes = figures["figure_5"].axes
    original, quote = (PERTURBATION_COLOURS[name] for name in (ORIGINAL, "quote"))
    assert curves(axes[0]) == {original: [0, 0.01, 0.02], quote: [0, 0.41, 0.42]}
    by_sentences = {original: [0, 0.12, 0.14], quote: [0, 0.52, 0.54]}
    assert curves(axes[7], (0.0, 1.0, 2.0)) == by_sentences
    assert axes[5].get_title() == "large: unacceptable prefixes\nn = 1,340"
    assert axes[7].get_xlabel() == "Length of the prefix (sentences)"
