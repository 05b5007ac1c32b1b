"""String probability's tables of a few sentences: limits, and what is absent or alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.papers.contract import Run
from lingprob.papers.string_probability.analysis import (
    analyse,
    compare_conventions,
    confounds,
    correlations_of,
)
from lingprob.papers.string_probability.data import (
    METRICS,
    Dataset,
    Options,
    assemble,
    pairs_of,
    string_scores,
    units,
    variables,
)
from lingprob.papers.string_probability.scorecard import sizes
from lingprob.papers.string_probability.separation import (
    POOLED,
    curves_of,
    pooled_groups,
    pools,
    separation_rows,
)
from lingprob.papers.string_probability.tables import count_datasets

OPTIONS = Options(
    bins=2,
    levenshtein_unit="characters",
    levenshtein_quantile=0.75,
    levenshtein_comparison="at_most",
    levenshtein_population="all",
    bootstrap=60,
    cluster_by_paradigm=False,
    seed=1,
    scale="demo",
)
CLUSTERED = replace(OPTIONS, cluster_by_paradigm=True)


def data_set(
    name: str,
    pairs: int,
    predictions: set[int],
    *,
    lone: int = 0,
    paradigms: int = 1,
    seed: int = 0,
) -> Dataset:
    """Rated pairs in paradigms and three phenomena, and so many sentences without a pair."""
    rng = np.random.default_rng(seed)
    row = np.arange(2 * pairs + lone)
    number, good = row // 2, row % 2 == 0
    length = 4 + number % 5
    message = rng.normal(0, 6, len(row))[number]
    stimuli = pd.DataFrame({
        "item_id": [f"s{k}" for k in row], "text": [f"{name} {k}" for k in row],
        "pair_id": [f"p{k}" if k < pairs else None for k in number], "grammatical": good,
        "rating": good + rng.normal(size=len(row)), "rating_source": "human",
        "phenomenon": [f"ph{k % 3}" for k in number],
        "paradigm": [f"pa{k % paradigms}" for k in number],
    })  # fmt: skip
    scores = pd.DataFrame({
        "item_id": stimuli["item_id"], "bos": "bos", "unigrams": "u", "n_tokens": length,
        "logprob": -6.0 * length + message + 4 * good + rng.normal(0, 3, len(row)),
        "unigram_logprob": -9.0 * length + rng.normal(0, 3, len(row)), "n_words": length,
    })  # fmt: skip
    distances = pd.DataFrame({
        "pair_id": [f"p{k}" for k in range(pairs)], "levenshtein_characters": 1,
        "levenshtein_words": 1, "cosine_distance": rng.random(pairs),
    })  # fmt: skip
    return Dataset(name, frozenset(predictions), stimuli, scores, distances)


def scored(dataset: Dataset) -> pd.DataFrame:
    return string_scores("m", dataset, 100, OPTIONS)


@pytest.mark.parametrize(("pairs", "bins"), [(4, 4), (3, 0)])
def test_bins_are_made_where_there_is_a_pair_for_each(pairs, bins):
    table = pairs_of(scored(data_set("d", pairs, {1})))
    rows = correlations_of(table, 1, replace(OPTIONS, bins=4))
    assert [row["subset"] for row in rows].count("bin") == bins
    assert list(variables(table, 1)) == [*table, "x", "y"]


@pytest.mark.parametrize(("pairs", "told"), [(10, True), (9, False)])
def test_confounds_are_told_of_five_pairs_a_bin(pairs, told):
    dataset = data_set("d", pairs, {1})
    assert len(confounds("m", [dataset], scored(dataset), OPTIONS)) == told * (2 + 1) * 6


@pytest.fixture(scope="module")
def two() -> list[Dataset]:
    """For Predictions 1 and 3, and 2 and 3; a sentence of the second stands for two."""
    second = data_set("two", 25, {2, 3}, seed=2)
    return [data_set("one", 21, {1, 3}, paradigms=4, seed=1), replace(second, weight=2.0)]


@pytest.fixture(scope="module")
def results(two) -> dict[str, pd.DataFrame]:
    return analyse("m", two, ["one", "two"], 100, OPTIONS)


def test_bins_are_the_same_in_both_tables_of_each_prediction(results):
    keys = ["dataset", "prediction", "name"]
    r = results["correlations"].query("subset == 'bin'").set_index(keys)
    same = results["confounds"].query("subset == 'bin' and quantity == 'r'").set_index(keys)
    assert r["n"].to_dict() == {
        ("one", 1, "1"): 11, ("one", 1, "2"): 10, ("two", 2, "1"): 13, ("two", 2, "2"): 12
    }  # fmt: skip
    assert same["n"].to_dict() == r["n"].to_dict()
    assert same["value"].to_dict() == pytest.approx(r["r"].to_dict())
    changes = results["confounds"].query("subset == 'change'")
    assert set(zip(changes["dataset"], changes["prediction"], strict=True)) == {
        ("one", 1), ("two", 2)
    }  # fmt: skip
    paradigms = results["correlations"].query("subset == 'paradigm'")
    assert len(paradigms) == 4
    assert (paradigms["r_low"] < paradigms["r"]).all()
    assert (paradigms["r"] < paradigms["r_high"]).all()


def test_a_metric_that_one_sentence_lacks_is_not_told_of_any():
    dataset = data_set("d", 12, {3}, lone=2)
    dataset.scores.loc[25, "unigram_logprob"] = np.nan
    table = scored(dataset)
    known = ["logprob", "uniform_bayes_factor", "mean_logprob"]
    rows = pd.DataFrame(separation_rows(table, OPTIONS)).set_index("metric")
    for column in ("auc", "auc_low", "accuracy", "accuracy_high"):
        assert list(rows.index[rows[column].notna()]) == known
    assert (rows["n_pairs"] == 12).all()
    lead = rows.loc["mean_logprob", "auc"] - rows.loc[known[:2], "auc"].max()
    assert rows["lead"].dropna().to_dict() == {"mean_logprob": pytest.approx(lead)}
    assert curves_of(table).groupby("metric", sort=False).size().to_dict() == dict.fromkeys(
        known, 201
    )


@pytest.mark.parametrize(("grammatical", "curves"), [(1, len(METRICS)), (0, 0), (3, 0)])
def test_a_curve_needs_a_sentence_of_either_class(grammatical, curves):
    table = pd.DataFrame({name: [1.0, 2.0, 3.0] for name in METRICS})
    table = table.assign(grammatical=np.arange(3) < grammatical, weight=1.0)
    assert curves_of(table)["metric"].nunique() == curves


def test_two_paradigms_are_two_clusters():
    table = scored(data_set("d", 12, {3}, paradigms=2))
    by_pair, by_paradigm = (
        pd.DataFrame(separation_rows(table, options)) for options in (OPTIONS, CLUSTERED)
    )
    assert (by_pair["auc"] == by_paradigm["auc"]).all()
    assert (by_pair["auc_low"] != by_paradigm["auc_low"]).any()


def test_names_that_join_alike_are_of_different_pairs():
    """Pair `1p0` of `a`, and `p0` of `a1`."""
    one, other = (scored(data_set(name, 6, {3})) for name in ("a", "a1"))
    table = pd.concat([one.assign(pair_id="1" + one["pair_id"]), other], ignore_index=True)
    assert units(table, False).tolist() == [k // 2 for k in range(24)]
    assert {row["n_pairs"] for row in separation_rows(table, OPTIONS)} == {12}


def test_a_sample_is_weighed_and_one_convention_taken():
    whole = data_set("d", 0, {3}, lone=5)
    scores = pd.concat([whole.scores.assign(bos=bos, unigrams=of, logprob=value)
                        for bos, of, value in (("a", "u", -1.0), ("a", "v", -2.0),
                                               ("b", "u", -3.0), ("b", "v", -4.0))])  # fmt: skip
    given = ({"d": [3]}, [whole.stimuli.iloc[:1]], [scores], {})
    (found,) = assemble(*given, convention=("a", "v"), whole=[whole.stimuli])
    assert found.weight == 5
    assert found.scores["logprob"].tolist() == [-2.0] * 5


@pytest.mark.filterwarnings("error")
def test_sentences_that_begin_alike_do_not_differ_in_their_first_word():
    dataset = data_set("d", 6, {1})
    table = compare_conventions(
        "m", [dataset], [dataset.scores], convention=("bos", "u"), options=OPTIONS
    )
    (row,) = table.to_dict("records")
    assert (row["n_pairs"], row["n_first_differs"]) == (6, 0)
    unknown = [row[f"first_differs{end}"] for end in ("", "_low", "_high")]
    assert np.isnan(unknown).all()
    assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]


def test_counts_of_data_sets_with_pairs_without_and_with_both():
    blimp, mine = (data_set(name, 3, {1}, lone=lone).stimuli for name, lone in
                   (("blimp", 0), ("mine", 2)))  # fmt: skip
    blimp.loc[:1, "text"] = "the same"
    given = {"blimp": blimp.assign(rating=np.nan), "mine": mine,
             "cola": data_set("cola", 0, {3}, lone=3).stimuli}  # fmt: skip
    mine.loc[0, "rating"] = np.nan
    table = count_datasets(
        given, given, dict.fromkeys(given, "T"), {}, OPTIONS.filter,
        read_published("string_probability"), "demo",
    ).set_index("dataset")  # fmt: skip
    assert table["counted"].to_dict() == {"blimp": 2, "mine": 3, "cola": 3}
    assert table["counted_published"].dropna().to_dict() == {"blimp": 66993, "cola": 8551}
    assert table["missing_ratings"].to_dict() == {"blimp": 0, "mine": 1, "cola": 0}
    assert table["used_pairs"].to_dict() == {"blimp": 2, "mine": 3, "cola": 0}
    assert table["used_sentences"].to_dict() == {"blimp": 4, "mine": 8, "cola": 3}


def test_sizes_are_told_in_both_units():
    run = Run("demo", {"a": {"parameters": 7 * 10**9}, "b": {"parameters": None}})
    assert {key: one.value for key, one in sizes(run).items()} == {
        ("a/parameters", "millions"): 7000, ("a/parameters", "billions"): 7
    }  # fmt: skip


def test_pools_are_of_ten_pairs_and_widen_as_far_as_they_differ():
    """19 pairs in two paradigms, 12 in one, and a pair alone."""
    given = [data_set("one", 19, {3}, paradigms=2), data_set("two", 12, {3}),
             data_set("tiny", 1, {3})]  # fmt: skip
    given[1].stimuli["phenomenon"] = "ph"
    scores = pd.concat([scored(dataset) for dataset in given], ignore_index=True)
    table = pools("m", scores, ["one", "two", "tiny"], OPTIONS)
    keys = ["dataset", "subset", "name"]
    found = table.groupby(keys, sort=False)["pool"].agg(list).to_dict()
    within = ["paradigm", "phenomenon", "dataset"]
    assert found == {
        ("one", "overall", ""): ["pair", *within, "gain"],
        ("one", "paradigm", "pa0"): ["pair", "dataset", "gain"],
        ("two", "overall", ""): ["pair", "dataset", "gain"],
        (POOLED, "overall", ""): ["pair", *within, "all", "gain"],
    }
    assert set(table.groupby(keys)["n_pairs"].first()) == {19, 10, 12, 32}
    names = {(name, subset) for name, subset, *_ in pooled_groups(scores, [])}
    assert names == {(name, subset) for name in ("one", "two", "tiny")
                     for subset in ("overall", "length")} | {("one", "paradigm")}  # fmt: skip
