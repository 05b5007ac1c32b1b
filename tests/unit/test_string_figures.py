"""Figures of string probability, and their notes on simulated ratings and faults."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from layout import check_points
from lingprob.figures.palette import describe_models
from lingprob.figures.style import failures
from lingprob.papers.run import Run
from lingprob.papers.string_probability.analysis import analyse
from lingprob.papers.string_probability.claims import compare
from lingprob.papers.string_probability.data import Dataset, toy_surprisals
from lingprob.papers.string_probability.figures import CONFOUND_LINES, draw
from lingprob.papers.string_probability.separation_figures import METRICS
from lingprob.papers.string_probability.tables import page
from strings_for_tests import OPTIONS, PUBLISHED, VOCABULARY, found, made

pytest_plugins = ["strings_for_tests"]
MODEL = {"title": "M", "family": "opt", "family_title": "OPT", "parameters": 1}
LOOKS = describe_models({"m": MODEL})


def test_simulated_ratings_mark_what_is_computed_with_ratings(datasets):
    """Prediction 2 is about ratings, and prediction 1 of the same data set is not."""
    rated = made("rated", {1, 2}, pairs=300, seed=1)
    for source in ("human", "simulated"):
        stimuli = rated.stimuli.assign(rating_source="human")
        stimuli.loc[10, "rating_source"] = source
        given = Dataset("rated", rated.predictions, stimuli, rated.scores, rated.distances)
        tables = analyse("m", [given], ["rated"], VOCABULARY, OPTIONS)
        for name in ("string_correlations", "string_confounds"):
            marked = tables[name].groupby("prediction")["simulated"].agg(["min", "max"])
            expected = source == "simulated"
            assert marked.loc[1].tolist() == [False, False]
            assert marked.loc[2].tolist() == [expected, expected]
        card = compare({**tables, "toy_surprisals": NO_TOY}, Run("demo", published=PUBLISHED))
        claims = card[card["row"] == "m/rated"].set_index("column")["note"]
        of_ratings = claims.index.str.startswith("prediction_2")
        assert of_ratings.sum() == 4
        said = claims.str.contains("simulated ratings")
        assert said.tolist() == (of_ratings & (source == "simulated")).tolist()
        shown = page("confounds", tables["string_confounds"])
        assert shown.groupby("prediction").size().to_dict() == {1: 6, 2: 6}
        assert set(shown.loc[shown["prediction"] == 2, "note"]) == {
            "simulated ratings" if source == "simulated" else ""
        }
        assert set(shown.loc[shown["prediction"] == 1, "note"]) == {""}


@pytest.mark.parametrize("source", ["human", "simulated"])
def test_figures_show_models_and_mark_simulated_ratings(datasets, results, source):
    models = {"m": 10**8, "n": 10**9}
    catalog = {name: {"title": name.upper(), "family": "opt", "family_title": "OPT",
                      "parameters": size} for name, size in models.items()}  # fmt: skip
    catalog["n"]["note"] = "N is fine-tuned."
    run, shown = Run("demo", describe_models(catalog), note="Absent: HLL."), {}
    for name, table in results.items():
        half = table.filter(regex="^(r|auc|accuracy|value|logprob)(_low|_high)?$") / 2
        both = pd.concat([table, table.assign(model="n", **half)], ignore_index=True)
        shown[name] = both.assign(colour=both["model"].map(run.models).str["colour"])
    other = shown["string_correlations"].query("subset == 'bin'").assign(dataset="other", r=0.1)
    shown["string_correlations"] = pd.concat([shown["string_correlations"], other])
    about_ratings = shown["string_correlations"]["prediction"] == 2
    shown["string_correlations"]["simulated"] = about_ratings & (source == "simulated")
    figures = draw(tables_drawn(shown, datasets), run, ["pairs"])
    looks = {entry["colour"]: entry["title"] for entry in run.models.values()}
    legend = figures["figure_2b"].legends[0]
    assert {line.get_color(): line.get_label() for line in legend.legend_handles} == looks
    r, lines = (
        shown[f"string_{name}"].query("subset == 'bin'").astype({"name": int})
        for name in ("correlations", "confounds")
    )
    for number in (1, 2):
        bins = r.loc[r["prediction"] == number, ["colour", "name", "r", "cosine_mean"]]
        axes = figures[f"figure_{number + 1}b"].axes
        check_points(axes, bins, "name", "r")
        means = [f"{mean:.2g}" for mean in bins["cosine_mean"].iloc[:10:3]]
        assert [text.get_text() for text in axes[0].get_xticklabels()] == means
    whole = shown["string_separation"].query("phenomenon == ''")
    whole = whole.assign(label=whole["metric"].map(METRICS).str[0])
    for name, value in (("figure_4b", "auc"), ("figure_8", "accuracy")):
        check_points(figures[name].axes, whole, "label", value, named="x")
    said = [text.get_text() for ax in figures["figure_6"].axes for text in ax.get_legend().texts]
    assert said == [f"{row.label} {row.auc:.2f}" for row in whole.itertuples()]
    for quantity, (_, colour, style) in CONFOUND_LINES.items():
        line = lines.loc[lines["quantity"] == quantity, ["name", "value"]].assign(colour=colour)
        check_points(figures["deconfounded"].axes, line, "name", "value", style)
    said = {
        name: f"{figure.get_supxlabel()} {figure.get_label()}" for name, figure in figures.items()
    }
    simulated = {name for name, text in said.items() if "SIMULATED RATINGS" in text}
    rated = {"figure_3a", "figure_3b", "deconfounded"}
    assert simulated == (rated if source == "simulated" else set())
    # Notes on a model are in figures that show it, and notes on absence in all others.
    assert {name for name, text in said.items() if "HLL" in text} == set(said) - simulated
    without_n = {"figure_1a", "figure_1b"}
    noted = {name for name, text in said.items() if re.search(r"N\s+is\s+fine-\n?tuned", text)}
    assert noted == set(said) - simulated - without_n


NO_TOY = toy_surprisals(pd.DataFrame(), None, {})


def stimuli_of(datasets: list[Dataset]) -> pd.DataFrame:
    return pd.concat([one.stimuli.assign(dataset=one.name) for one in datasets], ignore_index=True)


def tables_drawn(results: dict, datasets: list[Dataset]) -> dict:
    """Return all tables that figures are drawn from."""
    return {**results, "stimuli": stimuli_of(datasets), "toy_surprisals": NO_TOY}


def toy_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two toy strings under two conventions, with two sources of one model and one of another."""
    stimuli = pd.DataFrame(
        {"item_id": ["a", "b"], "text": ["ok", "ko"], "grammatical": [True, False]}
    )
    rows = [("a", "bos", -3.0), ("b", "bos", -5), ("a", "none", -9), ("b", "none", -7)]
    scores = pd.DataFrame(rows, columns=["item_id", "bos", "logprob"])
    given = [scores.assign(model=model, unigrams=of) for model, of in ("mu", "mv", "nv")]
    return stimuli, pd.concat(given).assign(logprob=lambda rows: rows["logprob"] * np.log(2))


def test_toy_strings_have_one_policy_s_surprisal():
    toy = toy_surprisals(*toy_tables(), {"m": "bos", "n": "none"})
    assert toy["surprisal"].tolist() == pytest.approx([3, 5, 9, 7])
    assert toy["model"].tolist() == ["m", "m", "n", "n"]
    assert NO_TOY.empty


@pytest.mark.parametrize("lone", [0, 6])
def test_own_data_without_paradigms_or_pairs(lone):
    """Nothing fails, and sentences without a pair make no point of a pair."""
    own = [made("pairs", {1, 3}), made("rated", {2, 3}, seed=1, lone=lone)]
    own = [replace(one, stimuli=one.stimuli.assign(paradigm=None, phenomenon=None)) for one in own]
    tables = analyse("m", own, ["pairs", "rated"], VOCABULARY, OPTIONS)
    figures = draw(tables_drawn(tables, own), Run("demo", LOOKS), ["pairs"])
    assert failures(figures) == {}
    points = figures["figure_3a"].axes[0].lines[0].get_xdata()
    assert len(points) == found(tables, "rated", subset="overall")["n"].item()
