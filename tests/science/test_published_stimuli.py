"""The published stimuli of the mirror: known counts, texts, ratings and odd pairs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.run import Run
from lingprob.papers.string_probability.tables import count_datasets, count_filters
from lingprob.stimuli.build import build_stimuli
from lingprob.stimuli.distances import PAPER_FILTER, edit_threshold, measure_pairs, pair_texts
from lingprob.stimuli.linguistic_inquiry import SCORES, published_scores
from lingprob.stimuli.syntaxgym import read_suite

# Pairs, pairs of identical sentences, paradigms and phenomena.
PAIRS_AS_PUBLISHED = {
    "blimp": (67_000, 7, 67, 13), "scamp_plausible": (67_000, 0, 67, 67),
    "scamp_implausible": (67_000, 0, 67, 67), "zhoblimp": (35_400, 0, 118, 15),
    "sling": (40_000, 24, 40, 8),
}  # fmt: skip


def read_pairs(mirror: Path, dataset: str) -> pd.DataFrame:
    """Return the table of the mirror's files. Without them, the test is skipped."""
    entry = Catalog().dataset(dataset)
    first = entry["files"][0]
    path = mirror / first.get("mirror", f"{dataset}/{first['name']}")
    folder = Path(str(path).removesuffix(first["name"]))
    if not path.exists():
        pytest.skip(f"the mirror has no {path}")
    stimuli, _ = build_stimuli(dataset, entry, folder, 0)
    assert set(stimuli.columns) == set(SCHEMAS["stimuli"].names)
    return stimuli


@pytest.fixture(scope="module")
def tables(mirror):
    entry = Catalog().dataset("linguistic_inquiry")
    return build_stimuli("linguistic_inquiry", entry, mirror / "linguistic_inquiry", 0)


@pytest.fixture(scope="module")
def suites(mirror):
    names = [file["name"] for file in Catalog().dataset("syntaxgym")["files"]]
    return {name[:-5]: read_suite(mirror / "syntaxgym" / "json" / name) for name in names}


@pytest.mark.parametrize("dataset", PAIRS_AS_PUBLISHED)
def test_counts_are_those_published(mirror, dataset):
    stimuli = read_pairs(mirror, dataset)
    pairs, identical, paradigms, phenomena = PAIRS_AS_PUBLISHED[dataset]
    assert stimuli["pair_id"].nunique() == pairs
    assert stimuli.groupby("pair_id").size().eq(2).all()
    assert (stimuli.groupby("pair_id")["text"].nunique() == 1).sum() == identical
    assert stimuli["paradigm"].nunique() == paradigms
    assert stimuli["phenomenon"].nunique() == phenomena


def test_a_blimp_pair_equals_the_file(mirror):
    stimuli = read_pairs(mirror, "blimp").set_index("item_id")
    good, bad = (stimuli.loc[f"adjunct_island.0.{side}"] for side in ("good", "bad"))
    assert good["text"] == "Who should Derek hug after shocking Richard?"
    assert bad["text"] == "Who should Derek hug Richard after shocking?"
    assert good["pair_id"] == bad["pair_id"] == "adjunct_island.0"
    assert (good["condition"], good["grammatical"]) == ("good", True)
    assert (bad["condition"], bad["grammatical"]) == ("bad", False)
    assert good["phenomenon"] == "island_effects"


def test_syntaxgym_gives_the_paper_s_1018_pairs(mirror):
    stimuli = read_pairs(mirror, "syntaxgym_pairs")
    pairs = pair_texts(stimuli, "syntaxgym_pairs")
    assert stimuli["condition"].tolist() == ["good", "bad"] * 1018
    assert (pairs["good"] != pairs["bad"]).all()
    by_suite = stimuli.groupby("paradigm")["pair_id"].nunique()
    suites = ["number_orc", "center_embed", "cleft", "fgd_hierarchy"]
    assert by_suite[suites].tolist() == [38, 28, 80, 48]
    sides = stimuli.set_index("item_id")["text"]
    assert sides["subordination/1/sub_matrix.good"].startswith("As ")
    assert sides["number_orc/1/match_sing.bad"].endswith(" are good")


def test_cola_has_its_sentences_and_labels(mirror):
    stimuli = read_pairs(mirror, "cola")
    assert stimuli["grammatical"].value_counts().to_dict() == {True: 6023, False: 2528}
    assert stimuli["pair_id"].isna().all()


def test_ratings_of_li_and_the_1883_filtered_pairs(mirror):
    """The 75th percentile of the 2,275 rated pairs is 18 characters. 1,884 of all pairs are at most
    18 apart, and one of them has two identical strings."""
    stimuli = read_pairs(mirror, "li_large")
    assert stimuli["paradigm"].nunique() == 62  # articles
    ratings = stimuli.pivot(index="pair_id", columns="condition", values="rating")
    assert (ratings["good"] - ratings["bad"]).isna().sum() == 104
    distances = measure_pairs(stimuli, "li_large", lambda texts: np.ones((len(texts), 1)))
    assert edit_threshold(stimuli, distances, PAPER_FILTER) == 18
    tables = {"li_large": stimuli}
    run = Run("", titles={"li_large": "LI"}, published=read_published("string_probability"))
    about = ({"li_large": distances}, run)
    filters = count_filters(tables, *about)
    used = filters.loc[filters["used"], ["kept", "kept_published"]]
    assert used.to_numpy().tolist() == [[1883, 1883]]
    counts = count_datasets(tables, tables, *about).iloc[0]
    assert counts["counted"] == 1883
    # Readings of the quantile over all pairs and of words give other numbers.
    assert filters["kept"].value_counts()[1883] == 1


def test_means_of_li_are_those_of_judgments(mirror):
    entry = Catalog().dataset("li_large")
    stimuli, ratings = build_stimuli("li_large", entry, mirror / "linguistic_inquiry", 0)
    judged = stimuli[stimuli["item_id"].isin(ratings["item_id"])]
    assert set(judged["phenomenon"]) == {"Sprouse"}
    assert len(judged) == 2232
    means = ratings.groupby("item_id")["z"].mean().reindex(judged["item_id"])
    assert (means.to_numpy() - judged["rating"]).abs().max() < 1e-12
    assert stimuli.loc[stimuli["phenomenon"] == "Mahowald", "rating"].notna().all()


def test_published_scores_cover_the_pairs_they_came_with(mirror):
    stimuli = read_pairs(mirror, "li_adger")
    file = mirror / "published_scores/li_adger_models/li-adger_min_pairs_all_models.csv"
    first = published_scores(file, "bert-base-uncased").set_index("item_id").loc["pair.0.good"]
    assert first["logprob"] == pytest.approx(-27.880026874001487)
    assert first["n_tokens"] == 6
    for model in SCORES:
        scores = published_scores(file, model)
        assert set(scores["item_id"]) == set(stimuli["item_id"])
        assert scores["logprob"].lt(0).all()


def test_reordered_words_have_the_same_unigram_logprob(mirror):
    """Up to 17 pairs whose words the n-gram model's tokenizer splits in another way."""
    stimuli = read_pairs(mirror, "li_adger").set_index("item_id")
    file = mirror / "published_scores/li_adger_models/li-adger_min_pairs_all_models.csv"
    scores = published_scores(file, "trigram").set_index("item_id")
    words = stimuli["text"].str.lower().str.findall(r"\w+|[^\w\s]").map(sorted).str.join(" ")
    sides = {
        side: pd.DataFrame({"words": words, "unigrams": scores["unigram_logprob"]})
        .filter(regex=f"{side}$", axis=0)
        .rename(index=lambda name: name.rpartition(".")[0])
        for side in ("good", "bad")
    }
    pairs = sides["good"].join(sides["bad"], suffixes=("", "_bad"))
    same = pairs[pairs["words"] == pairs["words_bad"]]
    assert len(same) == 443
    assert ((same["unigrams"] - same["unigrams_bad"]).abs() < 1e-3).sum() == 426


def test_mixed_acceptability_gives_725_pairs(tables):
    stimuli, _ = tables
    assert len(stimuli) == 1450
    assert stimuli["pair_id"].nunique() == 725
    assert stimuli.groupby("pair_id")["grammatical"].sum().eq(1).all()
    assert stimuli["text"].nunique() == 1439
    assert stimuli["item_id"].iloc[0] == "32.1.martin.20a.g.01"
    assert stimuli["rating"].iloc[0] == pytest.approx(0.8223392831538462, abs=1e-15)
    assert set(stimuli["rating_source"]) == {"human"}


def test_example_sentences_have_the_paper_s_scores(tables):
    """morcela, Figure 1, with scores rounded to two places."""
    stimuli, _ = tables
    ratings = stimuli.set_index("text")["rating"]
    assert round(ratings["It is silly for one to sing in the shower."], 2) == 1.19
    assert round(ratings["It seems a cat to be in the tree."], 2) == -1.11


def test_mean_judgments_are_the_ratings(tables):
    stimuli, judgments = tables
    assert len(judgments) == 18_326
    means = judgments.groupby("item_id")["z"].mean().reindex(stimuli["item_id"])
    assert (means.to_numpy() - stimuli["rating"]).abs().max() < 1e-12


def test_34_suites_of_842_items(suites):
    assert len(suites) == 34
    assert sum(len(suite.items) for suite in suites.values()) == 842
    assert len(suites["fgd_hierarchy"].predictions) == 2


def test_the_stimulus_table_has_a_row_a_sentence(mirror):
    entry = Catalog().dataset("syntaxgym")
    stimuli, ratings = build_stimuli("syntaxgym", entry, mirror / "syntaxgym" / "json", 0)
    text = stimuli.set_index("item_id")["text"]
    assert text["number_prep/1/match_sing"] == "The author next to the senators is good"
    assert text["npz_obj/1/obj_comma"] == (
        "As the criminal shot his gun, the woman yelled at the top of her lungs"
    )
    assert text["subordination/1/sub_matrix"] == (
        "As the doctor studied the book, the nurse walked into the room."
    )
    assert stimuli.groupby("phenomenon")["paradigm"].nunique().to_dict() == {
        "agreement": 3, "center_embedding": 2, "garden_path_effects": 7, "gross_syntactic_state": 4,
        "licensing": 10, "long_distance_dependencies": 8,
    }  # fmt: skip
    assert ratings.empty


def test_formulas_say_which_conditions_are_acceptable(suites):
    def verdicts(name):
        suite = suites[name]
        return {name: suite.grammatical(name) for name in suite.items[0].sentences}

    assert verdicts("fgd_object") == {
        "what_nogap": False, "that_nogap": True, "what_gap": True, "that_gap": False,
    }  # fmt: skip
    assert verdicts("npi_orc_any") == {
        "neg_pos": True, "neg_neg": True, "pos_pos": False, "pos_neg": False,
    }  # fmt: skip
    assert verdicts("mvrr") == {
        "reduced_ambig": False, "unreduced_ambig": True, "reduced_unambig": True,
        "unreduced_unambig": None,
    }  # fmt: skip
    assert set(verdicts("cleft").values()) == {None}


def test_crows_pairs_has_nine_types_and_two_directions(mirror):
    """`crows_1` (stereo) blames the poor, `crows_2` (antistereo) has a doctor who is a woman."""
    stimuli = read_pairs(mirror, "crows_pairs")
    assert stimuli["pair_id"].nunique() == 1508
    assert stimuli["paradigm"].nunique() == 9
    assert stimuli["condition"].value_counts().to_dict() == {
        "stereo/less": 1290, "stereo/more": 1290, "antistereo/less": 218, "antistereo/more": 218,
    }  # fmt: skip
    assert set(stimuli["phenomenon"]) == {"stereo", "antistereo"}
    rows = stimuli.set_index(["pair_id", "grammatical"])
    assert rows.loc[("crows_1", True), "text"].startswith("The rich are really ignorant")
    assert rows.loc[("crows_1", False), "condition"] == "stereo/more"
    assert "whether she would come" in rows.loc[("crows_2", True), "text"]
    assert rows.loc[("crows_2", True), "condition"] == "antistereo/less"
    assert (stimuli["grammatical"] == stimuli["condition"].str.endswith("less")).all()
