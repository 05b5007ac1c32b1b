"""Nothing on a figure is cut or overprinted, with as many models as the papers have."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from layout import layout_faults
from lingprob.catalog import Catalog, read_yaml
from lingprob.figures.labels import (
    add_to_footer,
    few_handles,
    label_provenance,
    legend_above,
    name_point,
    short_title,
)
from lingprob.figures.palette import describe_models
from lingprob.figures.panels import grid
from lingprob.figures.style import COLUMN_INCHES, PAGE_INCHES, plain_number, save_figures
from lingprob.papers.leakage.reading_figures import figure_2
from lingprob.papers.run import Run

SIXTEEN = read_yaml("scales.yaml")["paper"]["morcela"]["models"]
MODELS = describe_models(Catalog().models)


def test_ticks_of_sizes_are_short():
    ticks = [0.01, 1, 200, 50_000, 100_000, 2.7e6, 1e9, 7e10]
    short = ["0.01", "1", "200", "50,000", "100K", "2.7M", "1B", "70B"]
    assert list(map(plain_number, ticks)) == short


def test_cut_and_overlapping_texts_are_found():
    """Labels of ticks at 45 degrees pass each other, though the boxes around them overlap."""
    figure = plt.figure(figsize=(4.0, 2.0), layout="none")
    figure.text(0.7, 0.5, "inside")
    for place in range(3):
        figure.text(0.2 + 0.1 * place, 0.3, "a long label", rotation=45)
    assert layout_faults(figure) == []
    for x, y, text in ((0.95, 0.7, "far right"), (0.2, 1.0, "too high"), (0.72, 0.53, "upon")):
        figure.text(x, y, text)
    cut = ["'far right' is cut off", "'too high' is cut off"]
    assert layout_faults(figure) == [*cut, "'inside' stands on 'upon'"]
    figure.text(0.21, 0.3, "across", rotation=45)
    assert "'a long label' stands on 'across'" in layout_faults(figure)


@pytest.mark.parametrize("width", [COLUMN_INCHES, PAGE_INCHES])
@pytest.mark.parametrize("source", ["human", "simulated"])
def test_a_legend_of_sixteen_models_fits(width, source):
    figure, _ = grid(1, 1, width=width, height=2.0, margins=(0.0, 1.0), narrowest=width)
    legend_above(figure, few_handles(SIXTEEN, MODELS, most=16))
    assert len(figure.legends[0].legend_handles) == 16
    label_provenance(figure, ["paper"], [source], "reading times", note="a note " * 12)
    assert layout_faults(figure) == []


def test_sixteen_models_look_different():
    assert len({(MODELS[name]["colour"], MODELS[name]["marker"]) for name in SIXTEEN}) == 16
    assert [len(few_handles(SIXTEEN[:n], MODELS)) for n in (8, 9)] == [8, 1]
    assert [short_title(name, MODELS) for name in ("pythia-70m", "gpt2")] == ["70M", "GPT-2"]


def test_five_data_sets_by_many_sizes_fit():
    """Figure 2 of the paper on leakage at scale paper."""
    datasets = ["brown", "natural_stories", "dundee", "geco", "provo"]
    table = pd.DataFrame(
        [(dataset, name) for dataset in datasets for name in [*SIXTEEN, "gpt2"]],
        columns=["dataset", "model"],
    )
    table["parameters"] = table["model"].map(lambda name: MODELS[name]["parameters"])
    table["delta"] = 900 - 50 * np.log10(table["parameters"])
    table["delta_low"], table["delta_high"] = table["delta"] - 60, table["delta"] + 60
    table["singular"] = False
    table["word_perplexity"] = 4e3 / np.log10(table["parameters"])
    titles = {name: f"{name.replace('_', ' ').capitalize()}, first pass" for name in datasets}
    figure = figure_2(table, Run("paper", MODELS, titles))
    label_provenance(figure, ["paper"])
    assert layout_faults(figure) == []
    assert [text.get_text() for text in figure.axes[4].get_xticklabels()] == ["14.1M", "30B"]


@pytest.mark.parametrize("first", ["SIMULATED RATINGS (scale demo)", ""])
def test_a_footer_shows_four_lines_of_a_note(tmp_path, first):
    figure, _ = grid(1, 1, width=COLUMN_INCHES, height=2.0)
    if first:
        label_provenance(figure, ["demo"], ["simulated"], note="A model is small.")
    add_to_footer(figure, "")
    assert figure.get_supxlabel().partition("\n")[0] == first
    left_out = f"Left out: {'dundee_first_pass, ' * 20}."
    note = f"{left_out} A model is small." if first else left_out
    save_figures({"f": figure}, [tmp_path / "f.png"], left_out)
    lines = figure.get_supxlabel().split("\n")
    assert (lines[0] == first, len(lines)) == ((True, 5) if first else (False, 4))
    assert lines[-1].endswith(" ...")
    assert layout_faults(figure) == []
    with Image.open(tmp_path / "f.png") as image:
        assert image.text["Description"] == note


def test_near_points_have_separate_names_in_the_panel():
    figure, ((ax,),) = grid(1, 1, width=COLUMN_INCHES, height=2.0)
    points = [(0.0, 0.0), (0.03, 0.0), (1.0, 0.0)]
    for number, (x, y) in enumerate(points):
        ax.plot(x, y, "o")
        name_point(ax, f"a long name {number}", x, y)
    first, second, _ = (name.get_window_extent() for name in ax.texts)
    assert first.overlaps(second)
    assert layout_faults(figure) == []
    panel = ax.get_window_extent()
    boxes = [name.get_window_extent() for name in ax.texts]
    assert all(panel.x0 <= box.x0 and box.x1 <= panel.x1 for box in boxes)
    radius = ax.lines[0].get_markersize() / 2 * figure.dpi / 72
    centres = ax.transData.transform(points)
    assert not any(box.padded(radius).count_contains(centres) for box in boxes)
    for number in range(30):
        name_point(ax, f"name {number}", 0.5, 0.02)
    assert layout_faults(figure) == []
    assert 3 < sum(name.get_visible() for name in ax.texts) < 33
