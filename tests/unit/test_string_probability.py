"""The three predictions on made scores: against scipy, scikit-learn, plain loops and by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import norm, pearsonr
from sklearn.metrics import roc_auc_score

from lingprob.catalog import Catalog, read_published
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.figures.style import failures
from lingprob.io.tables import write_table
from lingprob.papers.run import Run
from lingprob.papers.run import failures as failures_of_tables
from lingprob.papers.string_probability.analysis import (
    QUANTITIES,
    analyse,
    changes,
    compare_conventions,
    confounds,
    confounds_of,
    correlations_of,
)
from lingprob.papers.string_probability.claims import PAIRED, compare, counted, sizes
from lingprob.papers.string_probability.data import (
    METRICS,
    Dataset,
    Options,
    assemble,
    countable_sentences,
    pairs_of,
    paper_metrics,
    string_scores,
    toy_surprisals,
    units,
    variables,
)
from lingprob.papers.string_probability.figures import draw, pairs_by_prediction
from lingprob.papers.string_probability.separation import (
    LENGTH_GROUPS,
    POOLED,
    binormal,
    curves_of,
    pool_areas,
    pool_numbers,
    pool_rows,
    pooled_groups,
    pools,
    separation_rows,
    variance_within,
)
from lingprob.papers.string_probability.tables import (
    COLUMNS,
    SYNTAXGYM_SYSTEMS,
    count_datasets,
    count_filters,
    page,
    paradigm_accuracies,
    read_accuracies,
    tabulate,
)
from lingprob.stats.resampling import resamples
from lingprob.stimuli.build import build_stimuli
from lingprob.stimuli.distances import EditFilter

VOCABULARY = 1000
OPTIONS = Options(
    bins=10,
    filter=EditFilter(comparison="below", population="all"),
    bootstrap=30,
    cluster_by_paradigm=False,
    seed=1,
    scale="demo",
)
READING = OPTIONS.filter
PUBLISHED = read_published("string_probability")


def made(name: str, predictions: set[int], pairs: int = 120, seed: int = 0) -> Dataset:
    """A data set of made scores; pair 7 has identical sentences, pair 8 lacks a rating."""
    rng = np.random.default_rng(seed)
    n = 2 * pairs
    good = np.arange(n) % 2 == 0
    number = np.arange(n) // 2
    words = rng.integers(4, 12, pairs)[number]
    logprob = -6.0 * words + 3 * good + np.repeat(4 * rng.standard_normal(pairs), 2)
    logprob += rng.standard_normal(n)
    stimuli = pd.DataFrame(
        {
            "item_id": [f"{i}" for i in range(n)],
            "pair_id": [f"p{i}" for i in number],
            "condition": np.where(good, "good", "bad"),
            "text": [f"text {i}" for i in range(n)],
            "grammatical": good,
            "rating": good + rng.standard_normal(n) + 0.1 * logprob,
            "rating_source": "human",
            "phenomenon": [f"ph{i % 3}" for i in number],
            "paradigm": [f"pa{i % 6}" for i in number],
            "language": "en",
        }
    )
    stimuli.loc[stimuli["pair_id"] == "p7", "text"] = "the same"
    stimuli.loc[16, "rating"] = np.nan
    scores = pd.DataFrame(
        {
            "item_id": stimuli["item_id"],
            "bos": "none",
            "unigrams": "u",
            "logprob": logprob,
            "unigram_logprob": -8.0 * words + rng.standard_normal(n),
            "n_tokens": words,
            "n_words": words,
        }
    )
    distances = pd.DataFrame(
        {
            "pair_id": [f"p{i}" for i in range(pairs)],
            "levenshtein_characters": rng.integers(1, 40, pairs),
            "levenshtein_words": rng.integers(1, 9, pairs),
            "cosine_distance": rng.random(pairs),
        }
    )
    return Dataset(name, frozenset(predictions), stimuli, scores, distances)


@pytest.fixture(scope="module")
def datasets() -> list[Dataset]:
    rated = made("rated", {2, 3}, seed=1)
    single = made("single", {3}, seed=2)
    lonely = single.stimuli.assign(pair_id=None, rating=None)
    return [
        made("pairs", {1, 3}),
        rated,
        Dataset("single", single.predictions, lonely, single.scores, None),
    ]


@pytest.fixture(scope="module")
def results(datasets) -> dict[str, pd.DataFrame]:
    return analyse("m", datasets, ["pairs", "rated", "single"], VOCABULARY, OPTIONS)


def wide(dataset: Dataset) -> pd.DataFrame:
    """A pair a row, by a plain loop."""
    rows = []
    joined = dataset.stimuli.merge(dataset.scores, on="item_id")
    for pair, group in joined.groupby("pair_id", sort=False):
        good, bad = (group[group["grammatical"] == side].iloc[0] for side in (True, False))
        if good["text"] != bad["text"]:
            rows.append(
                {
                    "pair_id": pair,
                    "paradigm": good["paradigm"],
                    "good": good["logprob"],
                    "bad": bad["logprob"],
                    "rating": good["rating"] - bad["rating"],
                }
            )
    return pd.DataFrame(rows).merge(dataset.distances, on="pair_id")


def found(results: dict[str, pd.DataFrame], dataset: str, **chosen) -> pd.DataFrame:
    table = results["string_correlations"]
    table = table[table["dataset"] == dataset]
    for key, value in chosen.items():
        table = table[table[key] == value]
    return table


def test_prediction_1_is_scipy_s_r_over_pairs_bins_and_paradigms(datasets, results):
    pairs = wide(datasets[0])
    assert len(pairs) == 119
    whole = found(results, "pairs", subset="overall").iloc[0]
    assert whole["r"] == pytest.approx(stats.pearsonr(pairs["good"], pairs["bad"]).statistic)
    assert whole["n"] == 119
    assert whole["r_low"] < whole["r"] < whole["r_high"]
    ordered = pairs.sort_values("cosine_distance")
    start = 0
    for number in range(10):
        size = 12 if number < 9 else 11
        part = ordered.iloc[start : start + size]
        start += size
        row = found(results, "pairs", subset="bin", name=str(number + 1)).iloc[0]
        assert row["n"] == size
        assert row["r"] == pytest.approx(stats.pearsonr(part["good"], part["bad"]).statistic)
        assert row["cosine_high"] == part["cosine_distance"].max()
    for paradigm, part in pairs.groupby("paradigm"):
        row = found(results, "pairs", subset="paradigm", name=paradigm).iloc[0]
        assert row["r"] == pytest.approx(stats.pearsonr(part["good"], part["bad"]).statistic)


def test_prediction_2_is_of_near_pairs_with_both_ratings(datasets, results):
    pairs = wide(datasets[1])
    edits = datasets[1].distances["levenshtein_characters"]
    near = pairs[pairs["levenshtein_characters"] < np.quantile(edits, 0.75)]
    rated = near.dropna(subset="rating")
    row = found(results, "rated", subset="overall").iloc[0]
    assert row["n"] == len(rated)
    difference = rated["good"] - rated["bad"]
    assert row["r"] == pytest.approx(stats.pearsonr(rated["rating"], difference).statistic)
    assert set(found(results, "rated")["prediction"]) == {2}


def test_prediction_3_is_scikit_learn_s_area_of_each_metric(results):
    scores, table = results["string_scores"], results["string_separation"]
    for name in ["pairs", "rated", "single"]:
        part = scores[scores["dataset"] == name]
        for metric in METRICS:
            row = table[
                (table["dataset"] == name)
                & (table["metric"] == metric)
                & (table["phenomenon"] == "")
            ].iloc[0]
            assert row["auc"] == pytest.approx(roc_auc_score(part["grammatical"], part[metric]))
            assert row["auc_low"] <= row["auc"] <= row["auc_high"]
    pooled = table[(table["dataset"] == POOLED) & (table["metric"] == "slor")].iloc[0]
    assert pooled["auc"] == pytest.approx(roc_auc_score(scores["grammatical"], scores["slor"]))
    single = table[table["dataset"] == "single"]
    assert single["accuracy"].isna().all()
    assert (single["n_pairs"] == 0).all()


def test_a_sample_counts_as_much_as_the_whole_in_the_flat_set(datasets):
    """As if each sampled pair stood there three times: 40 pairs of a data set of 120."""
    small, other = datasets[0], datasets[1]
    few = small.stimuli.iloc[20:100]  # 40 pairs of different sentences
    about = ([few, other.stimuli], [small.scores, other.scores])
    sampled, rest = assemble(
        {"pairs": [3], "rated": [3]}, *about, {}, convention=("none", "u"),
        whole=[small.stimuli, other.stimuli],
    )  # fmt: skip
    assert sampled.weight == pytest.approx(119 / 40)
    tables = analyse("m", [sampled, rest], ["pairs", "rated"], VOCABULARY, OPTIONS)
    scores = tables["string_scores"]
    separated = tables["string_separation"].set_index(["dataset", "phenomenon", "metric"])
    flat = separated.loc[POOLED, "", "slor"]
    weights = scores["weight"]
    area = roc_auc_score(scores["grammatical"], scores["slor"], sample_weight=weights)
    assert flat["auc"] == pytest.approx(area)
    assert flat["auc_low"] < area < flat["auc_high"]
    assert area != pytest.approx(roc_auc_score(scores["grammatical"], scores["slor"]), abs=1e-4)
    shares = {name: separated.loc[name, "", "slor"] for name in ("pairs", "rated")}
    correct = 119 * shares["pairs"]["accuracy"] + 119 * shares["rated"]["accuracy"]
    assert flat["accuracy"] == pytest.approx(correct / 238)
    curve = tables["string_roc"].query("dataset == @POOLED and metric == 'slor'")
    under = np.trapezoid(curve["true_positive_rate"], curve["false_positive_rate"])
    assert under == pytest.approx(area, abs=0.01)


def test_accuracy_is_the_share_of_pairs_by_a_loop(datasets, results):
    pairs = wide(datasets[0])
    table = results["string_separation"]
    rows = table[(table["dataset"] == "pairs") & (table["metric"] == "logprob")]
    whole = rows[rows["phenomenon"] == ""].iloc[0]
    assert whole["accuracy"] == pytest.approx((pairs["good"] > pairs["bad"]).mean())
    assert set(rows["phenomenon"]) == {"", "ph0", "ph1", "ph2"}


def test_the_curve_encloses_the_area(results):
    curve = results["string_roc"]
    table = results["string_separation"].query("phenomenon == ''").set_index(["dataset", "metric"])
    for key, part in curve.groupby(["dataset", "metric"]):
        area = np.trapezoid(part["true_positive_rate"], part["false_positive_rate"])
        assert area == pytest.approx(table.loc[key, "auc"], abs=0.01)


def test_the_metrics_by_hand():
    scores = pd.DataFrame({"logprob": [-10.0], "unigram_logprob": [-16.0], "n_tokens": [2]})
    row = paper_metrics(scores, 100).iloc[0]
    assert row["logprob"] == -10
    assert row["uniform_bayes_factor"] == pytest.approx(-10 + 2 * np.log(100))
    assert row["unigram_bayes_factor"] == 6
    assert row["slor"] == 3
    assert row["mean_logprob"] == -5
    unknown = paper_metrics(scores.assign(unigram_logprob=None), None).iloc[0]
    assert unknown[["uniform_bayes_factor", "unigram_bayes_factor", "slor"]].isna().all()


def test_a_data_set_of_one_class_has_no_area_and_says_so_in_counts():
    dataset = made("pairs", {3})
    alone = dataset.stimuli[dataset.stimuli["grammatical"]].assign(pair_id=None)
    one_class = Dataset("one", frozenset({3}), alone, dataset.scores, None)
    tables = analyse("m", [one_class], [], VOCABULARY, OPTIONS)
    separation = tables["string_separation"]
    assert separation["auc"].isna().all()
    assert (separation["n_ungrammatical"] == 0).all()
    assert tables["string_roc"].empty


def test_a_bin_in_which_nothing_varies_has_no_r(tmp_path):
    dataset = made("pairs", {1})
    scores = dataset.scores.assign(logprob=-50.0, unigram_logprob=np.nan)
    constant = Dataset("pairs", frozenset({1}), dataset.stimuli, scores, dataset.distances)
    tables = analyse("m", [constant], [], None, OPTIONS)
    correlations = tables["string_correlations"]
    assert correlations["r"].isna().all()
    assert (correlations["n"] > 0).all()
    for name, table in tables.items():
        write_table(table, name, tmp_path / f"{name}.parquet")


def test_a_sentence_that_nobody_called_grammatical_is_named(datasets):
    dataset = datasets[0]
    unknown = dataset.stimuli.astype({"grammatical": object})
    unknown.loc[3, "grammatical"] = None
    broken = Dataset("mine", dataset.predictions, unknown, dataset.scores, dataset.distances)
    with pytest.raises(LingprobError, match="'mine', item '3'"):
        string_scores("m", broken, VOCABULARY, OPTIONS)


def test_a_filter_that_keeps_nothing_says_what_to_change(datasets):
    dataset = datasets[1]
    alike = dataset.distances.assign(levenshtein_characters=2)
    same = Dataset("mine", dataset.predictions, dataset.stimuli, dataset.scores, alike)
    with pytest.raises(LingprobError, match=r"at least 2 characters.*prediction_2"):
        string_scores("m", same, VOCABULARY, OPTIONS)
    at_most = replace(OPTIONS, filter=EditFilter(population="all"))
    assert string_scores("m", same, VOCABULARY, at_most)["pair_id"].nunique() == 119


def test_the_conventions_table_shows_what_the_first_token_decides(datasets):
    """A policy without the first token ties the pairs that differ there, which count half."""
    dataset = datasets[0]
    texts = [
        f"{'AB'[row % 2] if row // 2 % 3 == 0 else 'A'} text {row // 2} {row % 2}"
        for row in range(240)
    ]
    stimuli = dataset.stimuli.assign(text=texts)
    good = dataset.stimuli["grammatical"]
    first_differs = np.arange(240) // 2 % 3 == 0
    full = dataset.scores.assign(bos="bos", logprob=np.where(good, -10.0, -11.0))
    cut = full.assign(bos="none", logprob=np.where(good | first_differs, -9.0, -9.5))
    both = pd.concat([full, cut])
    (one,) = assemble(
        {"pairs": [1]}, [stimuli], [both], {"pairs": dataset.distances}, convention=("bos", "u")
    )
    table = compare_conventions("m", [one], [both], convention=("bos", "u"), options=OPTIONS)
    rows = table.set_index("bos")
    assert rows["used"].to_dict() == {"bos": True, "none": False}
    assert (rows["n_pairs"] == 120).all()
    assert (rows["n_first_differs"] == 40).all()
    assert rows["accuracy"].to_dict() == {"bos": 1.0, "none": pytest.approx(100 / 120)}
    assert rows["first_differs"].to_dict() == {"bos": 1.0, "none": 0.5}
    # 40 of the 120 ungrammatical sentences tie with every grammatical one.
    assert rows["auc"].to_dict() == {"bos": 1.0, "none": pytest.approx(80 / 120 + 0.5 * 40 / 120)}
    assert rows.loc["none", "accuracy_low"] < 5 / 6 < rows.loc["none", "accuracy_high"]


def test_a_convention_that_was_not_scored_is_named(datasets):
    with pytest.raises(LingprobError, match=r"'pairs'.*BOS policy 'bos'.*\['none'\]"):
        assemble({"pairs": [1]}, [datasets[0].stimuli], [datasets[0].scores], {},
                 convention=("bos", "u"))  # fmt: skip


def test_one_convention_is_used(datasets):
    scores = pd.concat([datasets[0].scores, datasets[0].scores.assign(bos="bos", logprob=0.0)])
    (dataset,) = assemble(
        {"pairs": [1]}, [datasets[0].stimuli], [scores], {}, convention=("none", "u")
    )
    assert len(dataset.scores) == 240
    assert (dataset.scores["logprob"] < 0).all()


def test_clusters_widen_intervals_where_paradigms_differ(datasets):
    dataset = datasets[0]
    shift = dataset.stimuli["paradigm"].str[-1].astype(int) * 30.0
    scores = dataset.scores.assign(logprob=dataset.scores["logprob"] - shift)
    shifted = Dataset("pairs", frozenset({1}), dataset.stimuli, scores, dataset.distances)
    widths = []
    for clustered in (False, True):
        options = Options(**{**vars(OPTIONS), "cluster_by_paradigm": clustered, "bootstrap": 300})
        table = analyse("m", [shifted], [], None, options)["string_correlations"]
        whole = table[table["subset"] == "overall"].iloc[0]
        widths.append(whole["r_high"] - whole["r_low"])
    assert widths[1] > 1.5 * widths[0]


def test_pairs_without_a_paradigm_are_clusters_of_their_own(datasets):
    """So that clusters of pairs of no paradigm are those pairs, with the same intervals."""
    clustered = Options(**{**vars(OPTIONS), "cluster_by_paradigm": True})
    dataset = datasets[0]
    nameless = Dataset(
        "pairs",
        frozenset({1}),
        dataset.stimuli.assign(paradigm=None),
        dataset.scores,
        dataset.distances,
    )
    one, other = (
        analyse("m", [nameless], [], None, options)["string_correlations"]
        for options in (OPTIONS, clustered)
    )
    pd.testing.assert_frame_equal(one, other)


def test_paradigms_of_one_name_in_two_data_sets_are_two_clusters():
    scores = pd.concat(
        [
            string_scores("m", made(name, {1, 3}, seed=seed), VOCABULARY, OPTIONS)
            for seed, name in enumerate(("one", "two"))
        ]
    )
    clustered = Options(**{**vars(OPTIONS), "cluster_by_paradigm": True})
    renamed = scores.assign(paradigm=scores["dataset"] + scores["paradigm"])
    rows, others = (separation_rows(table, clustered) for table in (scores, renamed))
    columns = ["accuracy_low", "accuracy_high"]
    pd.testing.assert_frame_equal(pd.DataFrame(rows)[columns], pd.DataFrame(others)[columns])


def test_counts_name_what_is_left_out(datasets):
    dataset = datasets[1]
    whole = {"li_large": dataset.stimuli}
    used = {"li_large": dataset.stimuli.iloc[:20]}
    published = PUBLISHED
    row = count_datasets(whole, used, {"li_large": "LI"}, {}, READING, published, "demo").iloc[0]
    assert row["identical_pairs"] == 1
    assert row["duplicated_sentences"] == 1
    assert row["missing_ratings"] == 1
    # One of the ten pairs has identical sentences and is not used.
    assert (row["pairs"], row["counted"], row["used_pairs"]) == (120, 119, 9)
    kept = count_filters(
        {"li_large": dataset.stimuli}, {"li_large": dataset.distances}, READING, published, "demo"
    )
    assert len(kept) == 8
    assert set(kept["kept_published"]) == {1883}
    by_reading = kept.set_index(["unit", "comparison", "population"])["kept"]
    near = dataset.distances["levenshtein_words"]
    near = near <= np.quantile(near, 0.75)
    assert by_reading["words", "at_most", "all"] == (near & (near.index != 7)).sum()
    assert kept.loc[kept["used"], ["unit", "comparison", "population"]].to_numpy().tolist() == [
        ["characters", "below", "all"]
    ]


def test_counts_filters_and_analysis_agree(datasets, results):
    """Whatever the reading: one function decides, and all three tables show its answer."""
    rated = datasets[1]
    for population in ("rated", "all"):
        for comparison in ("below", "at_most"):
            reading = EditFilter(comparison=comparison, population=population)
            options = replace(OPTIONS, filter=reading)
            analysed = string_scores("m", rated, VOCABULARY, options)["pair_id"].nunique()
            tables = {"li_large": rated.stimuli}
            about = ({"li_large": rated.distances}, options.filter, PUBLISHED, "demo")
            filters = count_filters(tables, *about)
            counted = count_datasets(tables, tables, {"li_large": "LI"}, *about).iloc[0]
            (kept,) = filters.loc[filters["used"], "kept"]
            assert analysed == kept == counted["counted"] == counted["used_pairs"]
            assert counted["counted_published"] == 1883


def test_all_pairs_are_counted_in_thousands_where_every_data_set_is_there():
    counts = pd.DataFrame({"dataset": PAIRED, "counted": 35_000, "identical_pairs": 0})
    filters = pd.DataFrame({"dataset": [], "used": np.array([], bool)})
    assert counted(counts, filters)["all/pairs", "thousands"].value == 280
    assert ("all/pairs", "thousands") not in counted(counts.iloc[1:], filters)


def test_the_scorecard_checks_counts_and_claims(datasets, results):
    published = PUBLISHED
    counts = count_datasets({"blimp": datasets[0].stimuli}, {"blimp": datasets[0].stimuli},
                            {"blimp": "BLiMP"}, {}, READING, published, "demo")  # fmt: skip
    rated = datasets[1]
    filters = count_filters(
        {"li_large": rated.stimuli}, {"li_large": rated.distances}, READING, published, "demo"
    )
    toy, _ = build_stimuli("toy_strings", Catalog().dataset("toy_strings"), Path("."), 0)
    # "The moons emerge" is less likely than "*The moon emerge", as the paper says of GPT-2.
    words = toy["text"].str.rstrip(".").str.split()
    cost = words.map(lambda three: 5 * (three[0] == "A") + 20 * (three[1] == "moons"))
    surprise = (
        cost + np.where(toy["grammatical"], 30.0, 34.0) - 6 * (toy["text"] == "A moon emerge.")
    )
    surprisals = toy[["text", "grammatical"]].assign(model="m", surprisal=surprise / np.log(2))
    tables = {"datasets": counts, "filters": filters, "toy_surprisals": surprisals}
    run = Run("demo", {"gpt2": {"parameters": 1.24e8}}, published=published)
    card = compare({**results, **tables}, run)
    rows = card.set_index(["row", "column"])
    assert rows.loc[("blimp/counted", "value"), "ours"] == 119
    assert rows.loc[("blimp/counted", "value"), "verdict"] == "differs"
    assert rows.loc[("all/pairs", "thousands"), "verdict"] == "not run"
    assert rows.loc[("gpt2/parameters", "millions"), "verdict"] == "reproduced"
    assert rows.loc[("m/pairs", "prediction_1a"), "verdict"] == "supported"
    area = rows.loc[("m/pairs", "poor_separation")]
    assert area["ours"] == pytest.approx(
        results["string_separation"].query("dataset == 'pairs' and phenomenon == ''")["auc"].max()
    )
    assert rows.loc[("li_large/kept", "value"), "published"] == 1883
    toy_claims = card[card["item"] == "§2.1.1"].query("kind == 'claim'").set_index("column")
    assert set(toy_claims["verdict"]) == {"supported"}
    assert len(toy_claims) == 3
    # Made scores have a message each and no trend over bins: their interval says so.
    trend = rows.loc[("m/pairs", "prediction_1b_common_spread")]
    change = (
        results["string_confounds"]
        .query("dataset == 'pairs' and subset == 'change' and quantity == 'r_common_spread'")
        .iloc[0]
    )
    assert trend["ours"] == change["value"]
    assert (trend["low"], trend["high"]) == (change["value_low"], change["value_high"])
    assert trend["verdict"] == "undecided"
    paired = rows.loc[("m/pairs", "pairing_separates")]
    assert paired["verdict"] == "supported"
    assert paired["ours"] > 0.05
    lead = rows.loc[("m/pairs", "slor_leads"), "ours"]
    metrics = results["string_separation"].query("dataset == 'pairs' and phenomenon == ''")
    areas = metrics.set_index("metric")["auc"]
    others = areas[["logprob", "uniform_bayes_factor", "unigram_bayes_factor"]]
    assert lead == pytest.approx(areas["slor"] - others.max())


def test_pools_are_of_data_sets_their_paradigms_and_thirds_by_length(results):
    scores = results["string_scores"]
    found = {tuple(key): pairs for *key, pairs in pooled_groups(scores, ["pairs", "rated"])}
    of_each = {name: pairs_of(scores[scores["dataset"] == name]) for name in ("pairs", "rated")}
    for name, pairs in of_each.items():
        assert found[name, "overall", ""].equals(pairs)
        parts = {part: group for (of, kind, part), group in found.items()
                 if (of, kind) == (name, "paradigm")}  # fmt: skip
        if pairs["paradigm"].nunique() > 1:
            assert set(parts) == set(pairs["paradigm"])
            assert all((group["paradigm"] == part).all() for part, group in parts.items())
        thirds = [found[name, "length", part] for part in LENGTH_GROUPS]
        assert sorted(chain.from_iterable(third.index for third in thirds)) == list(pairs.index)
        sizes = [len(third) for third in thirds]
        assert max(sizes) - min(sizes) <= 1
        lengths = [third["n_tokens_good"] for third in thirds]
        ends = [end for third in lengths for end in (third.min(), third.max())]
        assert ends == sorted(ends)
    assert len(found[POOLED, "overall", ""]) == sum(map(len, of_each.values()))
    alone = {name for name, *_ in pooled_groups(scores, ["pairs"])}
    assert POOLED not in alone


def test_there_is_no_flat_set_of_one_data_set():
    tables = analyse("m", [made("alone", {3})], ["alone"], VOCABULARY, OPTIONS)
    for name in ("string_separation", "string_roc", "string_pools"):
        assert set(tables[name]["dataset"]) == {"alone"}


def test_a_paradigm_alone_is_resampled_by_pairs(results):
    scores = results["string_scores"].query("dataset == 'pairs'")
    clustered = replace(OPTIONS, cluster_by_paradigm=True)

    def both(part):
        return [pd.DataFrame(separation_rows(part, way)) for way in (OPTIONS, clustered)]

    one = scores[scores["paradigm"] == scores["paradigm"].iloc[0]]
    pd.testing.assert_frame_equal(*both(one))
    by_pair, by_paradigm = (table.set_index("metric").loc["slor"] for table in both(scores))
    assert by_pair["auc"] == by_paradigm["auc"]
    assert by_pair["auc_low"] != by_paradigm["auc_low"]
    assert by_pair["accuracy_low"] != by_paradigm["accuracy_low"]


def test_pages_show_what_is_of_all_pairs(results):
    assert page("scores", results["string_scores"]) is results["string_scores"]
    shown = page("confounds", results["string_confounds"])
    changes = results["string_confounds"].query("subset == 'change'")
    assert shown["value"].tolist() == changes["value"].tolist()
    whole = results["string_pools"].query("subset == 'overall'").drop(columns=["subset", "name"])
    pd.testing.assert_frame_equal(page("pools", results["string_pools"]), whole)
    assert len(whole) < len(results["string_pools"])


def test_sentences_that_count_are_those_of_pairs_that_differ_and_those_without_pair():
    stimuli = pd.DataFrame({
        "pair_id": ["a", "a", "b", "b", "c", "c", None, None, None],
        "grammatical": [True, False] * 3 + [True, True, False],
        "text": ["one", "two", "same", "same", "three", "four", "x", "y", "z"],
    })  # fmt: skip
    assert countable_sentences(stimuli, "mine") == 2 * 2 + 3
    assert countable_sentences(stimuli[stimuli["pair_id"].notna()], "mine") == 4


def test_without_scores_there_are_no_accuracies(results):
    nothing = paradigm_accuracies(
        results["string_scores"][:0], results["string_correlations"][:0], [], {}
    )
    assert nothing.empty
    assert list(nothing) == COLUMNS


def test_published_accuracies_are_read_from_files(tmp_path):
    systems = {"ngram": 0.5, "lstm": 0.6, "txl": 0.7, "gpt2": 0.8}
    lines = [{"UID": name, **systems} for name in ("overall", "p1", "p2")]
    pd.DataFrame(lines).to_json(tmp_path / "models_summary.jsonl", orient="records", lines=True)
    (tmp_path / "human_validation_summary.csv").write_text(
        "Condition,total_mean,count\np1,0.9,20\nelsewhere,0.1,20\n"
    )
    table = read_accuracies("blimp_accuracies", tmp_path).set_index(["paradigm", "system"])
    assert len(table) == 2 * 4 + 1
    assert table.loc[("p2", "GPT-2 large"), ["accuracy", "n"]].to_list() == [0.8, 1000]
    assert table.loc[("p1", "people"), ["accuracy", "n"]].to_list() == [0.9, 20]
    assert set(table["dataset"]) == {"blimp"}
    for name in SYNTAXGYM_SYSTEMS:
        text = "suite,correct\ns1,True\ns1,False\ns2,True\n"
        (tmp_path / f"syntaxgym_results_{name}.csv").write_text(text)
    suites = read_accuracies("syntaxgym_accuracies", tmp_path).set_index(["paradigm", "system"])
    assert suites.loc[("s1", "GRNN"), ["accuracy", "n"]].to_list() == [0.5, 2]
    assert suites.loc[("s2", "JRNN"), ["accuracy", "n"]].to_list() == [1, 1]
    assert len(suites) == 2 * len(SYNTAXGYM_SYSTEMS)
    assert set(suites["source"]) == {"published"}


def test_accuracies_by_paradigm_stand_beside_published_ones(results):
    published = pd.DataFrame(
        {
            "dataset": ["pairs", "elsewhere"],
            "paradigm": "pa0",
            "system": "LSTM",
            "measure": "pairs",
            "n": 1000,
            "accuracy": 0.7,
            "source": "published",
        }
    )
    # Of another prediction, and of a phenomenon that is called as a paradigm is.
    others = [{"prediction": 2}, {"subset": "phenomenon"}]
    of_others = [results["string_correlations"].assign(r=0.0, **other) for other in others]
    correlations = pd.concat([results["string_correlations"], *of_others], ignore_index=True)
    table = paradigm_accuracies(
        results["string_scores"], correlations, [published], {"m": {"title": "Mine"}}
    )
    assert not table.duplicated(["dataset", "paradigm", "system"]).any()
    assert table["source"].value_counts()["published"] == 1
    ours = table[(table["source"] == "ours") & (table["dataset"] == "pairs")]
    assert set(ours["system"]) == {"Mine"}
    pairs = pairs_of(results["string_scores"].query("dataset == 'pairs'"))
    for row in ours.itertuples():
        part = pairs[pairs["paradigm"] == row.paradigm]
        assert row.n == len(part)
        assert row.accuracy == (part["logprob_good"] > part["logprob_bad"]).mean()
        assert row.accuracy_low < row.accuracy <= row.accuracy_high
        r = stats.pearsonr(part["logprob_good"], part["logprob_bad"]).statistic
        assert row.r == pytest.approx(r)
    with pytest.raises(LingprobError, match="'csv' reads no accuracies"):
        read_accuracies("csv", Path("."))


def test_simulated_ratings_mark_what_is_computed_with_ratings(datasets):
    """Prediction 2 is about ratings; prediction 1, of the same data set, is not."""
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
def test_figures_show_each_model_in_its_look_and_say_what_is_simulated(datasets, results, source):
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
    shown["string_pools"] = results["string_pools"]  # n has none
    run = Run("demo", describe_models(catalog), note="Absent: HLL.")
    # The first model's accuracies were published, too, under the name that it has here.
    published = pd.DataFrame({"dataset": "pairs", "paradigm": ["pa0", "pa1"], "system": "M",
                              "measure": "pairs", "n": 1000, "accuracy": [0.123, 0.456],
                              "source": "published"})  # fmt: skip
    paradigms = paradigm_accuracies(
        shown["string_scores"], shown["string_correlations"], [published], run.models
    )
    figures = draw(tables_drawn(shown, datasets, paradigms), run, ["pairs"])
    looks = {entry["colour"]: entry["title"] for entry in run.models.values()}
    legend = figures["figure_2b"].legends[0]
    assert {line.get_color(): line.get_label() for line in legend.legend_handles} == looks
    in_print = [line for line in figures["paradigms"].axes[0].lines if 0.123 in line.get_ydata()]
    assert [list(line.get_ydata()) for line in in_print] == [[0.123, 0.456]]
    drawn = {line.get_color() for line in figures["figure_2b"].axes[0].lines}
    assert set(looks) <= drawn
    said = {name: figure._supxlabel.get_text() for name, figure in figures.items()}
    simulated = {name for name, text in said.items() if "SIMULATED RATINGS" in text}
    rated = {"figure_3a", "figure_3b", "deconfounded"}
    assert simulated == (rated if source == "simulated" else set())
    # What is to be known of a model stands where it is shown, what is absent wherever any could be.
    assert {name for name, text in said.items() if "HLL" in text} == set(said) - simulated
    without_n = {"figure_1b", "pools", "distances"}
    noted = {name for name, text in said.items() if re.search(r"N\s+is\s+fine-\n?tuned", text)}
    assert noted == set(said) - simulated - without_n
    plt.close("all")


def test_differences_of_ratings_are_in_z_where_some_rating_is_below_0(results):
    run = Run("demo", describe_models({"m": {"title": "M", "family": "opt", "family_title": "OPT",
                                             "parameters": 1}}))  # fmt: skip
    for shift, label in ((0, "Rating difference (z)"), (100, "Rating difference")):
        scores = results["string_scores"].assign(rating=results["string_scores"]["rating"] + shift)
        figure = pairs_by_prediction(scores, results["string_correlations"], run, 2)
        assert {ax.get_xlabel() for ax in figure.axes} - {""} == {label}
    plt.close("all")


NO_TOY = toy_surprisals(pd.DataFrame(), None, {})


def stimuli_of(datasets: list[Dataset]) -> pd.DataFrame:
    return pd.concat([one.stimuli.assign(dataset=one.name) for one in datasets], ignore_index=True)


def tables_drawn(results: dict, datasets: list[Dataset], paradigms: pd.DataFrame) -> dict:
    """All tables that figures are drawn of."""
    more = {"stimuli": stimuli_of(datasets), "paradigms": paradigms, "toy_surprisals": NO_TOY}
    return {**results, **more}


def toy_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two toy strings under two conventions of one model."""
    stimuli = pd.DataFrame(
        {"item_id": ["a", "b"], "text": ["ok", "ko"], "grammatical": [True, False]}
    )
    scores = pd.DataFrame({"item_id": ["a", "b"] * 2, "bos": ["bos"] * 2 + ["none"] * 2,
                           "unigrams": "u", "logprob": np.log(2) * np.array([-3, -5, -7, -9.0]),
                           "model": "m"})  # fmt: skip
    return stimuli, scores


def test_toy_strings_have_the_surprisal_of_one_bos_policy_in_bits():
    toy = toy_surprisals(*toy_tables(), {"m": "bos"})
    assert toy["surprisal"].tolist() == pytest.approx([3, 5])
    assert toy["model"].tolist() == ["m", "m"]
    assert NO_TOY.empty


def with_lone(dataset: Dataset, number: int) -> Dataset:
    """A data set with so many sentences of either class that have a rating and no pair."""
    names = [f"lone{place}" for place in range(2 * number)]
    stimuli = dataset.stimuli.iloc[: 2 * number].assign(item_id=names, pair_id=None)
    scores = dataset.scores.iloc[: 2 * number].assign(item_id=names)
    return replace(
        dataset,
        stimuli=pd.concat([dataset.stimuli, stimuli], ignore_index=True),
        scores=pd.concat([dataset.scores, scores], ignore_index=True),
    )


@pytest.mark.parametrize("lone", [0, 1, 3])
def test_own_data_without_paradigms_and_with_sentences_that_have_no_pair(lone, tmp_path):
    """Nothing fails, and sentences without a pair make no point of a pair."""
    own = [made("pairs", {1, 3}), with_lone(made("rated", {2, 3}, seed=1), lone)]
    own = [replace(one, stimuli=one.stimuli.assign(paradigm=None, phenomenon=None)) for one in own]
    tables = analyse("m", own, ["pairs", "rated"], VOCABULARY, OPTIONS)
    looks = describe_models({"m": {"title": "M", "family": "opt", "family_title": "OPT",
                                   "parameters": 1}})  # fmt: skip
    table = paradigm_accuracies(tables["string_scores"], tables["string_correlations"], [], looks)
    assert table.empty
    table.to_csv(tmp_path / "paradigms.csv", index=False)
    paradigms = pd.read_csv(tmp_path / "paradigms.csv")
    figures = draw(tables_drawn(tables, own, paradigms), Run("demo", looks), ["pairs"])
    assert failures(figures) == {}
    points = figures["figure_3a"].axes[0].lines[0].get_xdata()
    assert len(points) == found(tables, "rated", subset="overall")["n"].item()
    plt.close("all")


def test_one_figure_s_fault_is_its_own(datasets, results):
    looks = describe_models({"m": {"title": "M", "family": "opt", "family_title": "OPT",
                                   "parameters": 1}})  # fmt: skip
    broken = {**results, "string_pools": results["string_pools"].drop(columns="predicted")}
    figures = draw(
        tables_drawn(broken, datasets, pd.DataFrame(columns=COLUMNS)), Run("demo", looks)
    )
    assert failures(figures) == {"pools": "pools was not drawn. KeyError: 'predicted'"}
    assert "KeyError: 'predicted'" in " ".join(text.get_text() for text in figures["pools"].texts)
    plt.close("all")


def test_one_table_s_fault_is_its_own(datasets, results):
    run = Run("demo", {"m": {"title": "M"}}, {"pairs": "P"}, read_published("string_probability"))
    stimuli = stimuli_of(datasets)
    tables = {**results, "stimuli": stimuli, "whole": stimuli}
    made = tabulate(tables, run, {}, [])
    assert list(failures_of_tables(made)) == ["datasets"]  # `rated` has no title
    assert "KeyError: 'rated'" in made["datasets"].iloc[0, 0]
    assert made["filters"].empty
    assert len(made["paradigms"])


TWO_BINS = replace(OPTIONS, bins=2, filter=EditFilter(population="all"), bootstrap=60)
CLUSTERED = replace(TWO_BINS, cluster_by_paradigm=True)


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
    return string_scores("m", dataset, 100, TWO_BINS)


@pytest.mark.parametrize(("pairs", "bins"), [(4, 4), (3, 0)])
def test_bins_are_made_where_there_is_a_pair_for_each(pairs, bins):
    table = pairs_of(scored(data_set("d", pairs, {1})))
    rows = correlations_of(table, 1, replace(TWO_BINS, bins=4))
    assert [row["subset"] for row in rows].count("bin") == bins
    assert list(variables(table, 1)) == [*table, "x", "y"]


@pytest.mark.parametrize(("pairs", "told"), [(10, True), (9, False)])
def test_confounds_are_told_of_five_pairs_a_bin(pairs, told):
    dataset = data_set("d", pairs, {1})
    assert len(confounds("m", [dataset], scored(dataset), TWO_BINS)) == told * (2 + 1) * 6


@pytest.fixture(scope="module")
def two() -> list[Dataset]:
    """For Predictions 1 and 3, and 2 and 3; a sentence of the second stands for two."""
    second = data_set("two", 25, {2, 3}, seed=2)
    return [data_set("one", 21, {1, 3}, paradigms=4, seed=1), replace(second, weight=2.0)]


@pytest.fixture(scope="module")
def of_two(two) -> dict[str, pd.DataFrame]:
    return analyse("m", two, ["one", "two"], 100, TWO_BINS)


def test_bins_are_the_same_in_both_tables_of_each_prediction(of_two):
    keys = ["dataset", "prediction", "name"]
    r = of_two["string_correlations"].query("subset == 'bin'").set_index(keys)
    same = of_two["string_confounds"].query("subset == 'bin' and quantity == 'r'").set_index(keys)
    assert r["n"].to_dict() == {
        ("one", 1, "1"): 11, ("one", 1, "2"): 10, ("two", 2, "1"): 13, ("two", 2, "2"): 12
    }  # fmt: skip
    assert same["n"].to_dict() == r["n"].to_dict()
    assert same["value"].to_dict() == pytest.approx(r["r"].to_dict())
    changes = of_two["string_confounds"].query("subset == 'change'")
    assert set(zip(changes["dataset"], changes["prediction"], strict=True)) == {
        ("one", 1), ("two", 2)
    }  # fmt: skip
    paradigms = of_two["string_correlations"].query("subset == 'paradigm'")
    assert len(paradigms) == 4
    assert (paradigms["r_low"] < paradigms["r"]).all()
    assert (paradigms["r"] < paradigms["r_high"]).all()


def test_a_metric_that_one_sentence_lacks_is_not_told_of_any():
    dataset = data_set("d", 12, {3}, lone=2)
    dataset.scores.loc[25, "unigram_logprob"] = np.nan
    table = scored(dataset)
    known = ["logprob", "uniform_bayes_factor", "mean_logprob"]
    rows = pd.DataFrame(separation_rows(table, TWO_BINS)).set_index("metric")
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
        pd.DataFrame(separation_rows(table, options)) for options in (TWO_BINS, CLUSTERED)
    )
    assert (by_pair["auc"] == by_paradigm["auc"]).all()
    assert (by_pair["auc_low"] != by_paradigm["auc_low"]).any()


def test_names_that_join_alike_are_of_different_pairs():
    """Pair `1p0` of `a`, and `p0` of `a1`."""
    one, other = (scored(data_set(name, 6, {3})) for name in ("a", "a1"))
    table = pd.concat([one.assign(pair_id="1" + one["pair_id"]), other], ignore_index=True)
    assert units(table, False).tolist() == [k // 2 for k in range(24)]
    assert {row["n_pairs"] for row in separation_rows(table, TWO_BINS)} == {12}


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
        "m", [dataset], [dataset.scores], convention=("bos", "u"), options=TWO_BINS
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
        given, given, dict.fromkeys(given, "T"), {}, TWO_BINS.filter,
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
    table = pools("m", scores, ["one", "two", "tiny"], TWO_BINS)
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


FIVE_BINS = replace(OPTIONS, bins=5, bootstrap=100)
SPREADS = np.array([22.0, 19.0, 17.0, 14.0, 12.0])
MESSAGE_SD = 5.0


def simulated(pairs: int, residual_sd: np.ndarray, per_token: float = 0.0) -> pd.DataFrame:
    """Pairs in five bins whose spread falls as in BLiMP; slope one, residuals as given by bin."""
    rng = np.random.default_rng(0)
    number = np.arange(pairs) % 5
    length = rng.integers(4, 30, pairs)
    good = -60 + SPREADS[number] * rng.standard_normal(pairs) - per_token * length
    bad = good - 8 + residual_sd[number] * rng.standard_normal(pairs)
    return pd.DataFrame(
        {
            "pair_id": [f"p{i}" for i in range(pairs)],
            "paradigm": "one",
            "logprob_good": good,
            "logprob_bad": bad,
            "n_tokens_good": length,
            "n_tokens_bad": length,
            "cosine_distance": number + 0.1 * rng.random(pairs),
        }
    )


def table_of(pairs: pd.DataFrame, options: Options = FIVE_BINS) -> pd.DataFrame:
    rows = pd.DataFrame(confounds_of(variables(pairs, 1), options))
    return rows.set_index(["subset", "name", "quantity"]).sort_index()


def test_a_falling_spread_alone_lowers_r_and_not_r_at_a_common_spread():
    pairs = simulated(40_000, np.full(5, 4.0))
    table = table_of(pairs)
    common = pairs["logprob_good"].std(ddof=0)
    for at, spread in enumerate(SPREADS, start=1):
        found = table.loc["bin", str(at)]["value"]
        assert found["spread"] == pytest.approx(spread, rel=0.03)
        assert found["slope"] == pytest.approx(1, abs=0.02)
        assert found["residual_sd"] == pytest.approx(4, rel=0.03)
        assert found["r"] == pytest.approx(spread / np.hypot(spread, 4), abs=0.003)
        assert found["r_common_spread"] == pytest.approx(common / np.hypot(common, 4), abs=0.003)
    changes = table.loc["change", ""]
    assert changes.loc["r", "value_high"] < -0.02
    assert (
        changes.loc["r_common_spread", "value_low"]
        < 0
        < changes.loc["r_common_spread", "value_high"]
    )
    assert changes.loc["slope", "value_low"] < 0 < changes.loc["slope", "value_high"]
    assert changes.loc["spread", "value"] == pytest.approx(-10, abs=0.7)


def test_a_rising_scatter_lowers_both():
    residual_sd = np.array([4.0, 5.0, 6.0, 7.0, 8.0])
    pairs = simulated(40_000, residual_sd)
    changes = table_of(pairs).loc["change", ""]
    common = pairs["logprob_good"].std(ddof=0)
    truth = common / np.hypot(common, residual_sd)
    fitted = np.polyfit(np.arange(5), truth, 1)[0] * 4
    assert changes.loc["r_common_spread", "value_high"] < 0
    assert changes.loc["r_common_spread", "value"] == pytest.approx(fitted, abs=0.01)
    assert changes.loc["residual_sd", "value"] == pytest.approx(4, abs=0.2)


def test_r_without_length_is_that_of_the_messages():
    pairs = simulated(40_000, np.full(5, 4.0), per_token=6.0)
    table = table_of(pairs)
    for at, spread in enumerate(SPREADS, start=1):
        truth = spread / np.hypot(spread, 4)
        assert table.loc[("bin", str(at), "r_without_length"), "value"] == pytest.approx(
            truth, abs=0.004
        )
        assert table.loc[("bin", str(at), "r"), "value"] > truth + 0.005


def test_each_quantity_by_a_loop_over_bins():
    pairs = simulated(500, np.full(5, 4.0), per_token=3.0)
    pairs["n_tokens_bad"] += np.random.default_rng(1).integers(0, 3, 500)
    table = table_of(pairs)
    common = pairs["logprob_good"].std(ddof=0)
    ordered = pairs.sort_values("cosine_distance")
    for at, start in enumerate(range(0, 500, 100), start=1):
        expected = direct(ordered.iloc[start : start + 100], common)
        found = table.loc["bin", str(at)].loc[list(QUANTITIES)]
        np.testing.assert_allclose(found["value"], expected, rtol=1e-9)
        assert (found["value_low"] < found["value"]).all()
        assert (found["value"] < found["value_high"]).all()


def direct(part: pd.DataFrame, common: float) -> list[float]:
    """QUANTITIES of the pairs of one bin."""
    x, y = part["logprob_good"].to_numpy(), part["logprob_bad"].to_numpy()
    slope, intercept = np.polyfit(x, y, 1)
    scatter = (y - slope * x - intercept).std()
    lengths = np.column_stack([np.ones(len(part)), part[["n_tokens_good", "n_tokens_bad"]]])
    left = [side - lengths @ np.linalg.lstsq(lengths, side)[0] for side in (x, y)]
    return [
        x.std(), slope, scatter, pearsonr(x, y).statistic,
        slope * common / np.hypot(slope * common, scatter), pearsonr(*left).statistic,
    ]  # fmt: skip


def test_intervals_are_of_draws_of_whole_paradigms():
    """A loop over draws of seven paradigms, the data's bins and common spread as they are."""
    pairs = simulated(70, np.full(5, 4.0), per_token=3.0)
    pairs["n_tokens_bad"] += np.random.default_rng(1).integers(0, 3, 70)
    paradigm = np.arange(70) % 7
    pairs["paradigm"] = [f"pa{k}" for k in paradigm]
    options = replace(FIVE_BINS, bins=2, bootstrap=25, cluster_by_paradigm=True)
    table = table_of(pairs, options)
    common = pairs["logprob_good"].std(ddof=0)
    second = pairs["cosine_distance"].rank().to_numpy() > 35
    drawn = []
    for counts in np.concatenate(list(resamples(7, 25, options.seed))):
        rows = np.repeat(np.arange(70), counts[paradigm])
        drawn.append([direct(pairs.iloc[rows[second[rows] == at]], common) for at in (False, True)])
    bins = np.array(drawn)
    drawn_by_name = {"1": bins[:, 0], "2": bins[:, 1], "": bins[:, 1] - bins[:, 0]}
    for name, values in drawn_by_name.items():
        found = table.loc["bin" if name else "change", name].loc[list(QUANTITIES)]
        ends = np.quantile(values, (0.025, 0.975), axis=0)
        np.testing.assert_allclose(found[["value_low", "value_high"]].T, ends, rtol=1e-6)
        assert set(found["n"]) == {35 if name else 70}


def test_a_change_is_that_of_the_fitted_line():
    assert changes(np.array([[1.0, 2, 6], [3, 9, 1]])).tolist() == [5, -2]
    assert changes(np.array([[1.0, 4]])).tolist() == [3]
    assert np.isnan(changes(np.array([[1.0]]))).all()


def test_pairs_on_a_line_have_no_scatter_wherever_they_lie():
    """Nor does what they are far from zero cost a digit that counts."""
    pairs = simulated(50, np.zeros(5))
    number = np.arange(50)
    pairs["logprob_good"] = np.sin(number) / 2
    pairs["logprob_bad"] = 2 * pairs["logprob_good"] - 3
    options = replace(FIVE_BINS, bins=1, bootstrap=5)
    found = table_of(pairs, options).loc["bin", "1"]["value"]
    assert found["spread"] == pytest.approx(np.std(np.sin(number) / 2))
    assert found["residual_sd"] == pytest.approx(0, abs=1e-6)
    assert found[["slope", "r", "r_common_spread"]].to_numpy() == pytest.approx([2, 1, 1])
    scattered = simulated(50, np.full(5, 4.0))
    far = scattered.assign(
        logprob_good=scattered["logprob_good"] - 1e6, logprob_bad=scattered["logprob_bad"] - 1e6
    )
    near, found = (table_of(each, options)["value"] for each in (scattered, far))
    np.testing.assert_allclose(found["bin"], near["bin"], rtol=1e-8)


def messages(paradigms: int, each: int, gap: float = 8.0, noise: float = 3.0) -> pd.DataFrame:
    """Pairs whose messages vary between paradigms (sd 10) and within them (sd 5)."""
    rng = np.random.default_rng(2)
    paradigm = np.repeat(np.arange(paradigms), each)
    message = 10.0 * rng.standard_normal(paradigms)[paradigm]
    message += MESSAGE_SD * rng.standard_normal(len(paradigm))
    sides = message[:, None] + noise * rng.standard_normal((len(paradigm), 2))
    return pd.DataFrame(
        {
            "pair_id": [f"p{i}" for i in range(len(paradigm))],
            "dataset": "made",
            "paradigm": [f"pa{i}" for i in paradigm],
            "phenomenon": "one",
            "logprob_good": sides[:, 0] + gap / 2,
            "logprob_bad": sides[:, 1] - gap / 2,
            "weight": 1.0,
        }
    )


LEVELS = ("pair", "paradigm", "phenomenon", "dataset")


def test_the_area_falls_with_the_spread_as_pools_widen():
    """Φ(gap / spread), where spreads are those that the messages were drawn with."""
    pairs = messages(200, 100)
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, replace(FIVE_BINS, bootstrap=40))).set_index(
        "pool"
    )
    within = 2 * (MESSAGE_SD**2 + 3.0**2)
    truth = {"pair": 2 * 3.0**2, "paradigm": within, "dataset": within + 2 * 10.0**2}
    # The one phenomenon is the data set.
    assert list(rows.index) == [*truth, "gain"]
    for pool, variance in truth.items():
        row = rows.loc[pool]
        assert row["gap"] == pytest.approx(8, abs=0.1)
        assert row["spread"] == pytest.approx(np.sqrt(variance), rel=0.06)
        assert row["auc"] == pytest.approx(norm.cdf(8 / np.sqrt(variance)), abs=0.02)
        assert row["predicted"] == pytest.approx(row["auc"], abs=0.01)
        assert row["auc_low"] < row["auc"] < row["auc_high"]
    assert rows.loc["gain", "auc"] == pytest.approx(
        rows.loc["pair", "auc"] - rows.loc["dataset", "auc"]
    )
    assert rows.loc["gain", "auc_low"] > 0


def test_small_pools_do_not_hide_their_spread():
    """Of three pairs each: the spread about their mean is by a third too small."""
    rows = pd.DataFrame(pool_rows(messages(4_000, 3), LEVELS, replace(FIVE_BINS, bootstrap=2)))
    row = rows.set_index("pool").loc["paradigm"]
    assert row["spread"] == pytest.approx(np.sqrt(2 * (MESSAGE_SD**2 + 3.0**2)), rel=0.03)
    assert row["predicted"] == pytest.approx(row["auc"], abs=0.01)


def test_pairing_gains_nothing_where_messages_do_not_vary():
    pairs = messages(40, 50, noise=3.0)
    rng = np.random.default_rng(3)
    for side, shift in (("good", 2.0), ("bad", -2.0)):
        pairs[f"logprob_{side}"] = shift + 3 * rng.standard_normal(len(pairs))
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, FIVE_BINS)).set_index("pool")
    assert rows.loc["gain", "auc_low"] < 0 < rows.loc["gain", "auc_high"]


def test_each_pool_by_a_loop_over_other_pairs():
    pairs = messages(4, 6)
    pairs.loc[3, "logprob_bad"] = pairs.loc[4, "logprob_good"]  # a tie within the paradigm
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, FIVE_BINS)).set_index("pool")
    good, bad = pairs["logprob_good"], pairs["logprob_bad"]
    for pool, same in (("paradigm", pairs["paradigm"]), ("dataset", pairs["dataset"])):
        wins = [
            0.5 * (np.sign(good[i] - bad[j]) + 1)
            for i in pairs.index for j in pairs.index if i != j and same[i] == same[j]
        ]  # fmt: skip
        assert rows.loc[pool, "auc"] == pytest.approx(np.mean(wins))
    assert rows.loc["pair", "auc"] == pytest.approx((good > bad).mean())


def area_by_loop(logprob: np.ndarray, pool: np.ndarray, times: np.ndarray) -> float:
    """The area within pools of pairs that count so many times, never beside themselves; pools by
    what is in them, and those with a single pair not at all."""
    total = area = 0.0
    for number in range(pool.max() + 1):
        members = np.flatnonzero((pool == number) & (times > 0))
        others = [(i, j) for i in members for j in members if i != j]
        if others:
            mass = [times[i] * times[j] for i, j in others]
            wins = [logprob[i, 0] > logprob[j, 1] for i, j in others]
            area += times[members].sum() * np.average(wins, weights=mass)
            total += times[members].sum()
    return area / total


def test_a_draw_of_pools_by_a_loop_over_its_copies():
    """In the second draw one pool has a single pair left, in the third two."""
    rng = np.random.default_rng(5)
    pool = np.repeat([0, 1], 5)
    logprob, weight = rng.normal(size=(10, 2)), rng.uniform(0.5, 2, 10)
    counts = np.ones((10, 4))
    counts[:, 1] = [2, 0, 1, 3, 1, 0, 0, 4, 0, 0]
    counts[:, 2] = [0, 1, 0, 2, 0, 1, 1, 0, 3, 1]
    counts[:, 3] = rng.integers(0, 4, 10)
    expected = [area_by_loop(logprob, pool, weight * drawn) for drawn in counts.T]
    found = pool_areas(logprob, pool, weight, np.arange(10), counts)
    np.testing.assert_allclose(found, expected)
    right = logprob[:, 0] > logprob[:, 1]
    shares = [np.average(right, weights=weight * drawn) for drawn in counts.T]
    found = pool_areas(logprob, np.arange(10), weight, np.arange(10), counts)
    np.testing.assert_allclose(found, shares)


def test_intervals_of_all_pools_are_of_the_same_draws_of_units():
    pairs = messages(6, 4, gap=4.0)
    pairs["weight"] = weight = np.random.default_rng(4).uniform(0.5, 2, 24)
    options = replace(FIVE_BINS, bootstrap=25, cluster_by_paradigm=True)
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, options)).set_index("pool")
    logprob = pairs[["logprob_good", "logprob_bad"]].to_numpy()
    paradigm, right = np.repeat(np.arange(6), 4), logprob[:, 0] > logprob[:, 1]
    drawn: dict[str, list[float]] = {name: [] for name in ("pair", "paradigm", "dataset")}
    for counts in np.concatenate(list(resamples(6, 25, options.seed))):
        times = weight * counts[paradigm]
        drawn["pair"].append(float(np.average(right, weights=times)))
        drawn["paradigm"].append(area_by_loop(logprob, paradigm, times))
        drawn["dataset"].append(area_by_loop(logprob, 0 * paradigm, times))
    areas = {name: np.array(values) for name, values in drawn.items()}
    areas["gain"] = areas["pair"] - areas["dataset"]
    assert list(rows.index) == list(areas)
    for name, values in areas.items():
        ends = rows.loc[name, ["auc_low", "auc_high"]].tolist()
        assert ends == pytest.approx(np.quantile(values, (0.025, 0.975)).tolist())


def test_pools_of_single_pairs_are_not_told_apart_from_the_pairs():
    """Eleven paradigms of twelve pairs, and as many phenomena as pairs."""
    number = np.arange(12)
    pairs = messages(1, 12).assign(
        paradigm=[f"pa{max(k, 1)}" for k in number], phenomenon=[f"ph{k}" for k in number]
    )
    rows = pool_rows(pairs, LEVELS, replace(FIVE_BINS, bootstrap=2))
    assert [row["pool"] for row in rows] == ["pair", "paradigm", "dataset", "gain"]


def test_pools_by_name():
    pairs = pd.DataFrame({
        "dataset": ["x", "x1", "x", "x1", "x"], "paradigm": ["1y", "y", "1y", None, None]
    })  # fmt: skip
    found = {level: pool_numbers(pairs, level).tolist() for level in ("paradigm", "dataset", "all")}
    assert found == {
        "paradigm": [0, 1, 0, 2, 3], "dataset": [0, 1, 0, 1, 0], "all": [0, 0, 0, 0, 0]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("differences", "spread", "predicted"),
    [([0.5, 1.5], 0.5, norm.cdf(2)), ([0.5, 0.5], 0.0, 1.0), ([0.0, 0.0], 0.0, 0.0)],
)
def test_gap_spread_and_their_area_by_hand(differences, spread, predicted):
    logprob = np.column_stack([differences, [0.0, 0.0]])
    found = binormal(logprob, np.arange(2), np.ones(2))
    expected = {"gap": np.mean(differences), "spread": spread, "predicted": predicted}
    assert found == pytest.approx(expected)


def test_a_variance_within_pools_is_unbiased_and_of_several():
    """Of 1 and 3, variance 2, weight 3; of 5, 9 and 10, variance 7, weight 2; 20 is alone."""
    values, pool = np.array([1.0, 3, 5, 9, 10, 20]), np.array([0, 0, 1, 1, 1, 2])
    weight = np.array([1.0, 2, 0.5, 0.5, 1, 9])
    assert variance_within(values, pool, weight) == pytest.approx((3 * 2 + 2 * 7) / 5)
