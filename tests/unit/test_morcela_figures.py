"""MORCELA's figures, of small tables."""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from layout import check_points
from lingprob.catalog import Catalog, read_published
from lingprob.figures.palette import describe_models
from lingprob.figures.style import save_figures
from lingprob.papers.morcela.figures import draw, source_name
from lingprob.papers.morcela.parameter_figures import LABELS, STYLES, parameters_by_correlation
from lingprob.papers.morcela.tables import printed_fits, tabulate, with_certain_parameters
from lingprob.papers.run import Run
from morcela_for_tests import fits, tables_of

PUBLISHED = read_published("morcela")
PAPER, NAMES = "linguistic_inquiry", ["pythia-14m", "pythia-1b", "opt-125m"]
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


def described(rows: pd.DataFrame) -> pd.DataFrame:
    look = rows["model"].map(RUN.models).str
    return rows.assign(colour=look["colour"], parameters=look["parameters"],
                       title=look["title"].str.split().str[1])  # fmt: skip


def test_figures_show_each_value_at_its_place(tmp_path):
    """Fits of distinct values. OPT is on one data set, and its slope may be 0."""
    open_before = plt.get_fignums()
    panels = [("opt-125m", PAPER), *product(("pythia-1b", "pythia-14m"), ("mine", PAPER))]
    every = described(pd.concat([fits().assign(model=model, dataset=name)
                                 for model, name in panels], ignore_index=True))  # fmt: skip
    number = every.index.to_series()
    values = {"r_cv": number / 200, "beta": 1 + number / 100, "gamma": 9 - number / 10,
              "logprob_slope": 1.0 - (every["model"] == "opt-125m")}  # fmt: skip
    for name, value in values.items():
        every[name], every[f"{name}_low"], every[f"{name}_high"] = value, value - 0.1, value + 0.2
    every.loc[every["dataset"] == "mine", "rating_source"] = "simulated"
    halves = pd.DataFrame({"dataset": [PAPER], "definition": ["equal_halves"], "r": [0.896]})
    draws = pd.DataFrame({"model": NAMES * 2, "beta": [2, 1, 1] * 2, "gamma": [3, 3, 2] * 2})
    draws = draws.assign(draw=np.repeat([0, 1], 3), r_cv=0.5, n=9, cluster="x", dataset=PAPER,
                         linking_function="morcela")  # fmt: skip
    slopes = pd.DataFrame({"model": [*NAMES[:2], NAMES[1]], "start_token": ["none", "none", "bos"],
                           "slope": [0.5, 0.9, 0.7], "slope_std_error": [0.1, 0.3, 0.2],
                           "intercept": -1.5, "corpus": "c"})  # fmt: skip
    bins = pd.DataFrame({"mean_unigram_logprob": [-9.0, -8, -7], "n_tokens": [1, 5, 2]})
    bins = slopes.merge(bins, how="cross").assign(mean_logprob=np.arange(9) / -10)
    models = {name: {**look, "note": "Said once."} for name, look in RUN.models.items()}
    figures = draw({**tables_of(every), "intergroup_correlation": halves, "linking_draws": draws,
                    "frequency_slopes": slopes, "frequency_bins": bins},
                   Run("demo", models, {PAPER: "LI"}, PUBLISHED))  # fmt: skip
    notes = {name: figure.get_label() for name, figure in figures.items()}
    assert {note.count("Said once.") for note in notes.values()} == {1}
    left_out = sorted(name for name, note in notes.items() if "No gamma and beta" in note)
    assert left_out == ["figure_4", "figure_5", "figure_6", "trends"]
    assert all("SIMULATED" in figure._supxlabel.get_text() for figure in figures.values())
    theirs = described(printed_fits(PUBLISHED)).assign(r_cv=lambda table: table["r"])
    shown = every[every["default_convention"]]
    for name, functions in (("figure_2", ["logprob", "slor", "morcela"]),
                            ("figure_3", [*STYLES][2:])):  # fmt: skip
        axes = figures[name].axes
        assert [ax.get_visible() for ax in axes] == [True, True, False, True]
        for kind, rows in (("filled", shown), ("hollow", theirs)):
            rows = rows[rows["linking_function"].isin(functions)]
            rows = rows.assign(colour=rows["linking_function"].map(lambda name: STYLES[name][1]))
            check_points(axes, rows, "title", "r_cv", kind, "x")
        lines = {line.get_label(): line for line in figures[name].legends[0].legend_handles}
        for label, r in (("highest possible r", np.sqrt(2 * 0.896 / 1.896)),
                         ("r between halves of the judgments", 0.896),
                         ("r between two groups, published", 0.86)):  # fmt: skip
            across = {"colour": lines[label].get_color(), "x": [0.0, 1.0] * 2, "r": r}
            check_points(axes, pd.DataFrame(across), "x", "r", lines[label].get_linestyle())
    certain = with_certain_parameters(every)
    shown = certain[certain["default_convention"]]
    for name, parameter, functions in (
        ("figure_4", "gamma", ["morcela"]), ("figure_6", "gamma", ["morcela_beta_1", "morcela"]),
        ("figure_4", "beta", ["morcela"]), ("figure_6", "beta", ["morcela_gamma_0", "morcela"]),
    ):  # fmt: skip
        axes = np.reshape(figures[name].axes, (2, 2, -1))[:, int(parameter == "beta")].ravel()
        assert [ax.get_title() for ax in axes] == [STYLES[name][0] for name in functions] * 2
        for kind, rows in (("filled", shown), ("hollow", theirs)):
            rows = rows[rows["linking_function"].isin(functions)]
            check_points(axes, rows, "r_cv", parameter, kind)
    certain["row"] = np.where(certain["default_convention"], "bos | u (default)", "none | u")
    slor = certain[certain["linking_function"] == "slor"].assign(colour=STYLES["slor"][1])
    certain = certain[certain["linking_function"] == "morcela"]
    of_paper = certain["default_convention"] & (certain["dataset"] == PAPER)
    theirs = theirs[theirs["linking_function"] == "morcela"]
    for place, quantity in enumerate(LABELS):
        axes, right = figures["conventions"].axes[place::3], figures["trends"].axes[2 * place + 1]
        check_points(axes, certain, quantity, "row", named="y")
        squares = slor if quantity == "r_cv" else slor[:0]
        check_points(axes, squares[["colour", "row", quantity]], quantity, "row", "hollow", "y")
        for kind, rows in (("filled", certain[of_paper]), ("hollow", theirs)):
            check_points([right], rows, "parameters", quantity, kind)
    values = every.loc[certain.index[of_paper]].set_index("model").loc[NAMES]
    told = {"beta": [[0, 1, 1], [1, 0, 0], [1, 0, 0]], "gamma": [[0, 0, 1], [0, 0, 1], [1, 1, 0]]}
    for ax, parameter in zip(figures["differences"].axes, told, strict=False):
        names = [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels())]
        assert names == ["Pythia 14M", "Pythia 1B", "OPT 125M"] * 2
        expected = np.subtract.outer(*[values[parameter].to_numpy()] * 2)
        expected[~np.array(told[parameter], bool)] = np.nan
        np.testing.assert_allclose(np.ma.filled(ax.images[0].get_array(), np.nan), expected)
    of = certain[of_paper].merge(slopes, on="model")
    of["slope_low"] = of["slope"] - 1.96 * of["slope_std_error"]
    of["slope_high"] = of["slope"] + 1.96 * of["slope_std_error"]
    bins = bins.query("n_tokens > 1 and start_token == 'none'").merge(
        of[["model", "slope", "colour"]]
    )
    line = bins["intercept"] + bins["slope"] * bins["mean_unigram_logprob"]
    left, *right = figures["figure_5"].axes
    for kind, y in (("filled", bins["mean_logprob"]), ("--", line)):
        check_points([left], bins.assign(y=y), "mean_unigram_logprob", "y", kind)
    for ax, y in zip(right, ("r_cv", "beta"), strict=True):
        for kind, token in (("filled", "none"), ("hollow", "bos")):
            check_points([ax], of[of["start_token"] == token], "slope", y, kind)
    save_figures(figures, [tmp_path / f"{name}.png" for name in figures])
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in figures)
    assert plt.get_fignums() == open_before


def test_sources_are_named_without_the_model():
    assert source_name("unigrahams_smollm2-135m") == "unigrahams"
    assert source_name("unigrahams-released_opt-30b") == "unigrahams-released"
    assert source_name("corpus_my_texts") == "my_texts"
    assert source_name("pile_published") == "pile_published"


@pytest.mark.parametrize(("state", "names"), [("", ["14M"] * 2), (", after step 64", [])])
def test_points_of_checkpoints_have_no_names(state, names):
    rows = fits().assign(model="pythia-14m", dataset=PAPER)
    for name in LABELS:
        rows[name] = rows[f"{name}_low"] = rows[f"{name}_high"] = 1.0
    look = RUN.models["pythia-14m"] | {"group": f"Pythia{state}"}
    run = Run("paper", {"pythia-14m": look}, {})
    nothing = rows.head(0).assign(r=1.0)
    figure = parameters_by_correlation(rows, nothing, run, ["morcela"])
    assert [text.get_text() for ax in figure.axes for text in ax.texts] == names
