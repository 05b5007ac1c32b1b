"""Looks of models, ticks, legends and files, the same in every figure."""

from itertools import pairwise
from typing import Any

import matplotlib.colors
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.figures import panels
from lingprob.figures.labels import label_provenance
from lingprob.figures.palette import FAMILIES, RED, SPARE, describe_models, shade
from lingprob.figures.panels import draw_models, grid, in_percent, plain_ticks, whiskers, wrapped
from lingprob.figures.style import PAGE_INCHES, save_figures


def model(family: str, size: int | None, steps: int = 0) -> dict[str, Any]:
    return {
        "title": f"{family} {size}", "family": family, "family_title": family.upper(),
        "parameters": size, "fine_tuning_steps": steps,
    }  # fmt: skip


def look(described: dict[str, Any]) -> tuple[str, str]:
    return described["colour"], described["marker"]


def test_a_model_s_look_is_independent_of_others():
    catalog = Catalog().models
    together = describe_models(catalog)
    for name in catalog:
        assert describe_models(catalog, [name]) == {name: together[name]}
    of_scores = [name for name in catalog if catalog[name]["source"] == "scores"]
    assert [name for name in catalog if not together[name]["causal"]] == of_scores


def test_a_family_shares_marker_and_hue_by_size():
    catalog = {"big": model("opt", 10**9), "small": model("opt", 10**7), "mid": model("opt", 10**8)}
    described = describe_models(catalog)
    assert {entry["marker"] for entry in described.values()} == {FAMILIES["opt"][1]}
    assert described["mid"]["colour"] == FAMILIES["opt"][0]
    brightness = [
        sum(matplotlib.colors.to_rgb(described[name]["colour"])) for name in ("small", "mid", "big")
    ]
    assert all(lighter > darker for lighter, darker in pairwise(brightness))
    assert describe_models({**catalog, "x": model("opt", None)})["small"] == described["small"]
    assert describe_models({"x": model("opt", None)})["x"]["colour"] == FAMILIES["opt"][0]


def test_shades_by_hand():
    """#406080 with 45% of the way to white, and 35% of the way to black."""
    assert [shade("#406080", place, 3) for place in range(3)] == ["#96A8B9", "#406080", "#2A3E53"]
    assert shade("#406080", 0, 1) == "#406080"


def test_user_families_have_distinct_looks():
    names = [f"own{number}" for number in range(len(SPARE))]
    described = describe_models({name: model(name, 10**8) for name in names})
    assert len({look(entry) for entry in described.values()}) == len(names)
    assert described["own0"]["colour"] != described["own1"]["colour"]
    assert not {colour for colour, _ in SPARE} & {colour for colour, _ in FAMILIES.values()}


def test_shipped_families_have_distinct_looks():
    families = {entry["family"] for entry in Catalog().models.values()}
    assert families <= set(FAMILIES)
    assert len(set(FAMILIES.values())) == len({c for c, _ in FAMILIES.values()}) == len(FAMILIES)


def test_fine_tuned_models_differ_from_the_model_itself():
    described = describe_models({"a": model("trained", 10**8), "b": model("trained", 10**8, 5)})
    assert look(described["a"]) != look(described["b"])
    assert [entry["group"] for entry in described.values()] == ["TRAINED", "TRAINED, 5 FT steps"]


def test_joined_models_keep_their_looks_on_the_line():
    models = describe_models(
        {"a": model("opt", 10**7), "b": model("opt", 10**8), "c": model("gpt2", 10**8)}
    )
    table = pd.DataFrame({"model": ["a", "b", "c"], "x": [1, 2, 3], "y": [4.0, 5.0, 6.0]})
    _, ((ax,),) = grid(1, 1, width=2, height=2)
    draw_models(ax, table, "x", "y", models, hollow=True)
    lines = {tuple(line.get_xdata()): line for line in ax.lines if line.get_linestyle() != "None"}
    assert lines[1, 2].get_color() == FAMILIES["opt"][0]
    points = {line.get_xdata()[0]: line for line in ax.lines if line.get_marker() != "None"}
    for place, name in ((1, "a"), (2, "b"), (3, "c")):
        assert (points[place].get_color(), points[place].get_marker()) == look(models[name])
        assert points[place].get_markerfacecolor() == "white"


@pytest.mark.parametrize(("low", "high", "ticks"), [
    (0.5, 2000.0, [1, 10, 100, 1000]), (90.0, 1100.0, [100, 200, 500, 1000]),
    (9.0, 110.0, [10, 20, 50, 100]), (260.0, 480.0, [*range(275, 500, 25)]),
    (12.5, 19.5, [*range(13, 20)]), (1.0, 100.0, [1, 10, 100]),
    (75.0, 170.0, [80, 100, 120, 140, 160]),
])  # fmt: skip
def test_ticks_are_round_and_enough(low, high, ticks):
    assert plain_ticks(low, high) == pytest.approx(ticks)


def test_shares_are_unrounded_percentages():
    """An axis in steps of 2.5 points read 25, 28, 30, 32, 35."""
    ticks = {0.025: "2.5", 0.325: "32.5", 0.1 + 0.2: "30", -1e-17: "0", 1.0: "100"}
    assert {share: in_percent()(share, 0) for share in ticks} == ticks
    assert in_percent()(-0.2, 0) == "\N{MINUS SIGN}20"
    assert in_percent("%")(0.5, None) == "50%"


def test_whiskers_are_lengths_and_never_negative():
    values, low, high = (pd.Series(numbers) for numbers in ([1.0, 2.0], [0.5, 2.5], [1.25, 2.0]))
    assert whiskers(values, low, high).tolist() == [[0.5, 0.0], [0.25, 0.0]]
    assert whiskers(1.0, 0.5, 3.0).tolist() == [[0.5], [2.0]]


def test_panels_fit_their_number_and_the_page():
    figure, axes = wrapped(6, columns=4, width=3.0, height=1.0)
    assert len(axes) == len(figure.axes) == 6
    assert figure.get_size_inches().tolist() == pytest.approx([PAGE_INCHES, 0.7 + 2 * 1.0])
    panels.name_axes(axes, "x", "y")
    labels = [ax.get_xlabel() + ax.get_ylabel() for ax in axes]
    assert labels == ["y", "", "x", "x", "xy", "x"]
    panels.label_logarithmic(axes[0].xaxis, range(1, 8), most=3)
    assert axes[0].get_xticks().tolist() == [1, 4, 7]


def test_long_intervals_do_not_widen_a_panel():
    """Three points that reach from 1 to 3 get at most 1 more at each end, and a margin of 12%."""
    _, ((ax,),) = grid(1, 1, width=2, height=2)
    for low, high, ends in ((-99, 3.25, (0, 3.25)), (0.5, 99, (0.5, 4))):
        table = pd.DataFrame({"y": [1.0, 2, 3], "y_low": [low, 1, 2], "y_high": [1.5, 2.5, high]})
        panels.frame(ax, table, "y")
        assert ax.get_ylim() == pytest.approx((ends[0] - 0.24, ends[1] + 0.24))


def test_a_figure_without_a_panel_says_so():
    figure, axes = wrapped(0, width=3.0, height=1.0)
    assert axes == []
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.texts] == ["This run has nothing to show here."]
    assert not ax.axison


def test_simulated_data_are_said_in_plain_sight():
    figure, _ = grid(1, 1, width=2, height=2)
    label_provenance(figure, ["demo", "demo"], ["human", "simulated"], "reading times", "a note")
    assert figure._supxlabel.get_text() == "SIMULATED READING TIMES (scale demo)\na note"
    assert figure._supxlabel.get_color() == RED
    for scale, said in (("laptop", "scale: laptop"), ("demo", "your own data (draws and")):
        label_provenance(figure, [scale], ["human"])
        assert figure._supxlabel.get_text().startswith(said)


def two_figures() -> dict[str, Any]:
    figures = {}
    for number, name in enumerate(("figure_1", "figure_2")):
        figures[name], ((ax,),) = grid(1, 1, width=2, height=2)
        ax.plot(np.arange(5), np.arange(5) ** number)
    return figures


def test_a_figure_s_files_are_independent_of_others(tmp_path):
    paths = [tmp_path / f"figure_{n}.{suffix}" for n in (1, 2) for suffix in ("png", "pdf")]
    contents = []
    for some in (paths, paths[::-1], paths[::2], paths[1::2]):
        save_figures(two_figures(), some)
        contents.append({path: path.read_bytes() for path in some})
        assert plt.get_fignums() == []
    whole = contents[0]
    assert all(whole | some == whole for some in contents)
    assert len(set(whole.values())) == 4


def test_a_figure_that_nothing_draws_is_named(tmp_path):
    with pytest.raises(LingprobError, match=r"figure_3.png: no figure is called 'figure_3'. .*_2"):
        save_figures(two_figures(), [tmp_path / "figure_3.png"])


@pytest.mark.parametrize("text", [r"\frac{1$", "$5 and $6", "a_b^c $x$"])
def test_dollar_signs_of_users_are_text(text, tmp_path):
    figure, ax = plt.subplots()
    ax.plot([1, 1000], [1, 10], label=text)
    ax.set(title=text, xlabel=text, xscale="log")
    ax.legend()
    save_figures({"figure": figure}, [tmp_path / "figure.png"])
    assert (tmp_path / "figure.png").stat().st_size > 0
    assert not ax.title.get_parse_math()
    assert [label.get_text() for label in ax.get_xticklabels() if "$" in label.get_text()] == []
