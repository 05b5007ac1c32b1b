"""The context paper's figures: which there are, and that curves are the tables' rows."""

import numpy as np
import pandas as pd
import pytest

from lingprob.context.names import CROWS_PAIRS, KINDS, ORIGINAL, SYNTAXGYM
from lingprob.figures.palette import describe_models
from lingprob.figures.style import failures
from lingprob.papers.context.figures import LOOKS, draw
from lingprob.papers.context.suite_figures import TOO_FEW
from lingprob.papers.run import Run

MODELS = describe_models(
    {
        name: {"title": name, "family": "opt", "family_title": "OPT", "parameters": size}
        for name, size in (("small", 10**8), ("large", 10**9))
    }
)


def tables(datasets: list[str], perturbations: tuple[str | None, ...] = (None, ORIGINAL)) -> dict:
    """Accuracies of two models by length, with two suites in every matrix."""
    keys = ["model", "dataset", "level", "group", "kind", "perturbation", "length"]
    rows = [
        (model, dataset, level, group, kind, perturbation, length)
        for model in MODELS
        for dataset in datasets
        for level, group in (("all", "all"), ("suite", "a"), ("suite", "b"))
        for kind in KINDS
        for perturbation in perturbations
        for length in (10, 20)
    ]
    accuracy = pd.DataFrame(rows, columns=keys)
    change = accuracy["length"] * accuracy["kind"].map(
        {kind: (n + 1) / 1000 for n, kind in enumerate(KINDS)}
    )
    for column, first in (("delta", 0.0), ("accuracy", 0.5), ("margin", 2.0)):
        accuracy[column] = first + change
        accuracy[f"{column}_low"], accuracy[f"{column}_high"] = first, first + 2 * change
    accuracy = accuracy.assign(
        prefix_tokens=accuracy["length"] + 0.5, n_sentences=accuracy["length"] / 10, baseline=0.5,
        baseline_margin=2.0, n_pairs=1340, n_suites=accuracy["level"].map({"all": 67, "suite": 1}),
        similarity=0.5, scale="demo",
    )  # fmt: skip
    matrix = pd.DataFrame(
        [
            (model, dataset, target, prefix, 0.5, 0.1, 20.0, 20, 0.8)
            for model in MODELS for dataset in datasets for target in "ab" for prefix in "ab"
        ],
        columns=["model", "dataset", "target_suite", "prefix_suite", "accuracy", "delta",
                 "relative_improvement", "n_pairs", "baseline"],
    )  # fmt: skip
    related = pd.DataFrame(columns=["model", "dataset", "analysis", "x", "y", "statistic",
                                    "value", "p"])  # fmt: skip
    overlap = matrix.assign(measure="token", f1=0.3)[lambda t: t["model"] == "small"]
    overlap = overlap[overlap["dataset"] == datasets[0]]
    return {"context_accuracy": accuracy, "context_matrix": matrix,
            "context_correlations": related, "context_overlap": overlap}  # fmt: skip


def run(datasets: list[str]) -> Run:
    titles = {name: name.capitalize() for name in datasets}
    return Run("demo", MODELS, titles | {"unrelated": "Wikipedia"})


def test_figures_are_those_whose_data_sets_there_are():
    for datasets, numbers in (
        (["blimp"], {2, 3, 4, 5, 9, 10, 11, 12, 13, 15}),
        (["blimp", CROWS_PAIRS, SYNTAXGYM], range(2, 18)),
    ):
        figures = draw(tables(datasets), run(datasets))
        assert not failures(figures)
        assert set(figures) == {f"figure_{number}" for number in numbers}


def test_figures_say_that_no_suite_has_enough_pairs():
    datasets = ["blimp", SYNTAXGYM]
    full, few = tables(datasets), tables(datasets)
    few["context_matrix"] = few["context_matrix"].iloc[:0]
    few["context_accuracy"] = few["context_accuracy"].query("level != 'suite'")
    before, after = draw(full, run(datasets)), draw(few, run(datasets))
    assert before.keys() == after.keys()
    silent = {
        name
        for name, figure in after.items()
        if [text.get_text() for text in figure.axes[0].texts] == [TOO_FEW]
    }
    assert silent == {"figure_10", "figure_11", "figure_13", "figure_14"}
    assert {figure._supxlabel.get_text() for figure in after.values()} == {"scale: demo"}


def test_curves_begin_without_a_prefix_in_their_colour():
    figures = draw(tables(["blimp"]), run(["blimp"]))
    axes = figures["figure_2"].axes
    assert [ax.get_title() for ax in axes] == ["small: Blimp\nn = 1,340", "large: Blimp\nn = 1,340"]
    lines = {line.get_color(): line for line in axes[1].lines if len(line.get_xdata()) == 3}
    for number, kind in enumerate(KINDS, start=1):
        line = lines[LOOKS[kind][0]]
        assert line.get_xdata().tolist() == [0.0, 10.5, 20.5]
        assert line.get_ydata() == pytest.approx([0.0, 0.01 * number, 0.02 * number])
    assert "Wikipedia" in [text.get_text() for text in figures["figure_2"].legends[0].texts]
    points, _ = figures["figure_10"].axes[1].lines
    assert (points.get_color(), len(points.get_xdata())) == (MODELS["large"]["colour"], 2)
    assert figures["figure_10"].axes[1].get_title().split("\n")[1] == "n = 1,340"
    assert {figure._supxlabel.get_text() for figure in figures.values()} == {"scale: demo"}


def test_figure_13_has_only_sentences_of_other_suites():
    figure = draw(tables(["blimp"]), run(["blimp"]))["figure_13"]
    for image in (image for ax in figure.axes for image in ax.images):
        shown = np.ma.filled(image.get_array(), np.nan)
        assert np.isnan(shown.diagonal()).all()
        assert np.isfinite(shown[~np.eye(len(shown), dtype=bool)]).all()


def test_figure_5_has_panels_by_tokens_and_sentences():
    figure = draw(tables(["blimp"]), run(["blimp"]))["figure_5"]
    assert len(figure.axes) == 2 * 2 * len(MODELS)
    by_tokens, _, by_sentences, _ = figure.axes[:4]
    for ax, sizes in ((by_tokens, [0.0, 10.5, 20.5]), (by_sentences, [0.0, 1.0, 2.0])):
        assert ax.lines[0].get_xdata().tolist() == sizes
        assert ax.lines[0].get_ydata() == pytest.approx([0.0, 0.01, 0.02])
    assert by_sentences.get_xlabel() == "Length of the prefix (sentences)"
