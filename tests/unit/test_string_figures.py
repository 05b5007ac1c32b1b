"""Figures of string probability, and their notes on simulated ratings and faults."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lingprob.figures.palette import describe_models
from lingprob.figures.style import failures
from lingprob.papers.run import Run
from lingprob.papers.string_probability.analysis import analyse
from lingprob.papers.string_probability.claims import compare
from lingprob.papers.string_probability.data import Dataset, toy_surprisals
from lingprob.papers.string_probability.figures import draw
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
        columns = ("dataset", "counted", "used_pairs", "identical_pairs", "kept")
        none = pd.DataFrame({name: [] for name in columns} | {"used": np.array([], dtype=bool)})
        counts = {"datasets": none, "filters": none, "toy_surprisals": NO_TOY}
        card = compare({**tables, **counts}, Run("demo", published=PUBLISHED))
        claims = card[card["row"] == "m/rated"].set_index("column")["note"]
        of_ratings = claims.index.str.startswith("prediction_2")
        assert of_ratings.sum() == 4
        said = claims.str.contains("simulated ratings")
        assert said.tolist() == (of_ratings & (source == "simulated")).tolist()
        shown = page("confounds", tables["string_confounds"])
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
    shown = {
        name: pd.concat([table, table.assign(model="n")], ignore_index=True)
        for name, table in results.items()
    }
    about_ratings = shown["string_correlations"]["prediction"] == 2
    shown["string_correlations"]["simulated"] = about_ratings & (source == "simulated")
    run = Run("demo", describe_models(catalog), note="Absent: HLL.")
    figures = draw(tables_drawn(shown, datasets), run, ["pairs"])
    looks = {entry["colour"]: entry["title"] for entry in run.models.values()}
    legend = figures["figure_2b"].legends[0]
    assert {line.get_color(): line.get_label() for line in legend.legend_handles} == looks
    drawn = {line.get_color() for line in figures["figure_2b"].axes[0].lines}
    assert set(looks) <= drawn
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
    """Two toy strings under two conventions of one model."""
    stimuli = pd.DataFrame(
        {"item_id": ["a", "b"], "text": ["ok", "ko"], "grammatical": [True, False]}
    )
    scores = pd.DataFrame({"item_id": ["a", "b"] * 2, "bos": ["bos"] * 2 + ["none"] * 2,
                           "unigrams": "u", "logprob": np.log(2) * np.array([-3, -5, -7, -9.0]),
                           "model": "m"})  # fmt: skip
    return stimuli, scores


def test_toy_strings_have_one_policy_s_surprisal():
    toy = toy_surprisals(*toy_tables(), {"m": "bos"})
    assert toy["surprisal"].tolist() == pytest.approx([3, 5])
    assert toy["model"].tolist() == ["m", "m"]
    assert NO_TOY.empty


def with_lone(dataset: Dataset, number: int) -> Dataset:
    """A data set with a number of rated sentences of each class that have no pair."""
    names = [f"lone{place}" for place in range(2 * number)]
    stimuli = dataset.stimuli.iloc[: 2 * number].assign(item_id=names, pair_id=None)
    scores = dataset.scores.iloc[: 2 * number].assign(item_id=names)
    return replace(
        dataset,
        stimuli=pd.concat([dataset.stimuli, stimuli], ignore_index=True),
        scores=pd.concat([dataset.scores, scores], ignore_index=True),
    )


@pytest.mark.parametrize("lone", [0, 3])
def test_own_data_without_paradigms_or_pairs(lone):
    """Nothing fails, and sentences without a pair make no point of a pair."""
    own = [made("pairs", {1, 3}), with_lone(made("rated", {2, 3}, seed=1), lone)]
    own = [replace(one, stimuli=one.stimuli.assign(paradigm=None, phenomenon=None)) for one in own]
    tables = analyse("m", own, ["pairs", "rated"], VOCABULARY, OPTIONS)
    figures = draw(tables_drawn(tables, own), Run("demo", LOOKS), ["pairs"])
    assert failures(figures) == {}
    points = figures["figure_3a"].axes[0].lines[0].get_xdata()
    assert len(points) == found(tables, "rated", subset="overall")["n"].item()
