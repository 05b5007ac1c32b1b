"""MORCELA's figures, of small tables."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.figures.palette import describe_models
from lingprob.figures.style import save_figures
from lingprob.papers.morcela.figures import draw, highest_r, source_name
from lingprob.papers.morcela.tables import tabulate
from lingprob.papers.run import Run
from morcela_for_tests import fits, tables_of, two_datasets

PUBLISHED = read_published("morcela")
RUN = Run("demo", describe_models(Catalog().models), published=PUBLISHED)


def test_without_unigrams_figures_say_why_they_are_empty():
    """Imported sums of log-probabilities: Figure 2 has their r, and no table fails."""
    table = fits("bert-large-cased")
    table = table[table["linking_function"].isin(["logprob", "mean_logprob"])]
    table = table.assign(dataset="mine")
    run = Run("laptop", RUN.models, titles={"mine": "Mine"}, published=PUBLISHED)
    figures = draw(tables_of(table), run)
    assert list(figures) == ["figure_2", "figure_3", "figure_4", "figure_6", "conventions",
                             "differences", "trends"]  # fmt: skip
    assert [ax.get_title() for ax in figures["figure_2"].axes if ax.get_visible()] == ["BERT"]
    for name in ("figure_3", "figure_4", "figure_6", "conventions", "differences"):
        (ax,) = figures[name].axes
        assert "no model has unigrams" in ax.texts[0].get_text()
    pages = tabulate(tables_of(table), run)
    assert pages["table_2"].empty


def test_published_values_are_drawn_for_their_data_alone():
    """Hollow points, and two groups' printed r with the ceiling that this run's halves give."""
    halves = pd.DataFrame(
        {"dataset": ["linguistic_inquiry"], "definition": ["equal_halves"], "r": [0.896]}
    )
    run = Run("demo", RUN.models, {"linguistic_inquiry": "LI", "mine": "My ratings"}, PUBLISHED)
    figures = draw(tables_of(two_datasets()) | {"intergroup_correlation": halves}, run)
    for name, points in (("figure_2", 27), ("figure_4", 16)):
        axes = figures[name].axes
        titles = [ax.get_ylabel().split("\n")[0] for ax in axes if "\n" in ax.get_ylabel()]
        assert titles == ["LI"] * (len(titles) // 2) + ["My ratings"] * (len(titles) // 2)
        assert titles
        half = len(axes) // 2
        hollow = [
            sum(len(line.get_xdata()) for ax in part for line in ax.lines
                if line.get_markerfacecolor() == "white")
            for part in (axes[:half], axes[half:])
        ]  # fmt: skip
        assert hollow[0] >= points
        assert hollow[1] == 0
    axes = figures["figure_2"].axes
    drawn = [
        sorted(round(line.get_ydata()[0], 3) for line in ax.lines if len(set(line.get_ydata())) == 1
               and list(line.get_xdata()) == [0, 1])
        for ax in axes
    ]  # fmt: skip
    assert drawn[: len(axes) // 2] == [[0.86, 0.896, 0.972]] * (len(axes) // 2)
    assert drawn[len(axes) // 2 :] == [[]] * (len(axes) // 2)


def test_the_ceiling_follows_from_noise_in_mean_ratings():
    """Ratings = truth + noise of the same variance in each half: h = 1 / (1 + v), r(truth, whole
    mean) = 1 / sqrt(1 + v / 2)."""
    assert highest_r(1 / (1 + 0.3)) == pytest.approx(1 / np.sqrt(1 + 0.3 / 2))


def test_figures_say_that_ratings_are_simulated(tmp_path):
    open_before = plt.get_fignums()
    figures = draw(tables_of(fits(rating_source="simulated")), RUN)
    assert all("SIMULATED" in figure._supxlabel.get_text() for figure in figures.values())
    save_figures(figures, [tmp_path / f"{name}.png" for name in figures])
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in figures)
    assert plt.get_fignums() == open_before


def test_sources_are_named_without_the_model():
    assert source_name("unigrahams_smollm2-135m") == "unigrahams"
    assert source_name("unigrahams-released_opt-30b") == "unigrahams-released"
    assert source_name("corpus_my_texts") == "my_texts"
    assert source_name("pile_published") == "pile_published"
