"""The published minimal pairs: known counts, texts and odd pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.run import Run
from lingprob.papers.string_probability.tables import count_datasets, count_filters
from lingprob.stimuli.build import build_stimuli
from lingprob.stimuli.distances import EditFilter, edit_threshold, measure_pairs, pair_texts
from lingprob.stimuli.linguistic_inquiry import JUDGMENTS, SCORES, published_scores

# Pairs, pairs of identical sentences, paradigms and phenomena.
PAIRS_AS_PUBLISHED = {
    "blimp": (67_000, 7, 67, 13),
    "scamp_plausible": (67_000, 0, 67, 67),
    "scamp_implausible": (67_000, 0, 67, 67),
    "zhoblimp": (35_400, 0, 118, 15),
    "sling": (40_000, 24, 40, 8),
}


def read_pairs(mirror: Path, dataset: str) -> pd.DataFrame:
    """Parse the mirror's files; the table, or a skip where the mirror lacks them."""
    entry = Catalog().dataset(dataset)
    first = entry["files"][0]
    path = mirror / first.get("mirror", f"{dataset}/{first['name']}")
    folder = Path(str(path).removesuffix(first["name"]))
    if not path.exists():
        pytest.skip(f"the mirror has no {path}")
    stimuli, _ = build_stimuli(dataset, entry, folder, 0)
    assert set(stimuli.columns) == set(SCHEMAS["stimuli"].names)
    return stimuli


@pytest.mark.parametrize("dataset", PAIRS_AS_PUBLISHED)
def test_counts_are_those_published(mirror, dataset):
    stimuli = read_pairs(mirror, dataset)
    pairs, identical, paradigms, phenomena = PAIRS_AS_PUBLISHED[dataset]
    assert stimuli["pair_id"].nunique() == pairs
    assert stimuli.groupby("pair_id").size().eq(2).all()
    assert (stimuli.groupby("pair_id")["text"].nunique() == 1).sum() == identical
    assert stimuli["paradigm"].nunique() == paradigms
    assert stimuli["phenomenon"].nunique() == phenomena


def test_a_pair_of_blimp_is_what_the_file_says(mirror):
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
    assert len(pairs) == 1018
    assert (pairs["good"] != pairs["bad"]).all()
    by_suite = stimuli.groupby("paradigm")["pair_id"].nunique()
    assert by_suite[["number_orc", "center_embed", "cleft", "fgd_hierarchy"]].tolist() == [
        38,
        28,
        80,
        48,
    ]
    sides = stimuli.set_index("item_id")["text"]
    assert sides["subordination/1/sub_matrix.good"].startswith("As ")
    assert sides["number_orc/1/match_sing.bad"].endswith(" are good")


def test_cola_has_its_sentences_and_labels(mirror):
    stimuli = read_pairs(mirror, "cola")
    assert stimuli["grammatical"].value_counts().to_dict() == {True: 6023, False: 2528}
    assert stimuli["pair_id"].isna().all()


def test_li_s_ratings_and_the_1883_pairs_that_the_filter_keeps(mirror):
    """The 75th percentile of the 2,275 rated pairs is 18 characters; 1,884 of all pairs are at most
    18 apart, and one of them has two identical strings."""
    stimuli = read_pairs(mirror, "li_large")
    assert stimuli["paradigm"].nunique() == 62  # articles
    ratings = stimuli.pivot(index="pair_id", columns="condition", values="rating")
    assert (ratings["good"] - ratings["bad"]).isna().sum() == 104
    distances = measure_pairs(stimuli, "li_large", lambda texts: np.ones((len(texts), 1)))
    reading = EditFilter()
    assert edit_threshold(stimuli, distances, reading) == 18
    tables = {"li_large": stimuli}
    run = Run("", titles={"li_large": "LI"}, published=read_published("string_probability"))
    about = ({"li_large": distances}, reading, run)
    filters = count_filters(tables, *about)
    assert filters.loc[filters["used"], ["kept", "kept_published"]].to_numpy().tolist() == [
        [1883, 1883]
    ]
    counts = count_datasets(tables, tables, *about).iloc[0]
    assert (counts["counted"], counts["used_pairs"]) == (1883, 1883)
    # Readings of the quantile over all pairs and of words give other numbers.
    assert filters["kept"].value_counts()[1883] == 1


def test_li_s_means_are_those_of_single_judgments_where_these_are_known(mirror):
    folder = mirror / "linguistic_inquiry"
    if not (folder / JUDGMENTS).exists():
        pytest.skip("the mirror has no single judgments")
    stimuli, ratings = build_stimuli("li_large", Catalog().dataset("li_large"), folder, 0)
    judged = stimuli[stimuli["item_id"].isin(ratings["item_id"])]
    assert set(judged["phenomenon"]) == {"Sprouse"}
    assert len(judged) == 2232
    assert judged["rating"].notna().all()
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


def test_the_same_words_in_another_order_have_the_same_unigram_logprob(mirror):
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
