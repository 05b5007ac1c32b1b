"""The three predictions on made scores: against scipy, scikit-learn, plain loops and by hand."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.io.tables import write_table
from lingprob.papers.run import Run
from lingprob.papers.string_probability.analysis import (
    FOLLOWERS,
    POOLED,
    analyse,
    correlations_of,
    pair_tables,
    roc_points,
    separation_rows,
)
from lingprob.papers.string_probability.claims import PAIRED, compare, counted
from lingprob.papers.string_probability.data import (
    METRICS,
    Dataset,
    assemble,
    countable_sentences,
    pairs_of,
    paper_metrics,
    string_scores,
    units,
    variables,
)
from lingprob.papers.string_probability.tables import count_datasets, count_filters
from lingprob.stats.resampling import correlation_interval, resamples, widened
from lingprob.stimuli.build import build_stimuli
from strings_for_tests import (
    OPTIONS,
    PUBLISHED,
    TWO_BINS,
    VOCABULARY,
    data_set,
    found,
    made,
    run_of,
    scored,
)

pytest_plugins = ["strings_for_tests"]


def wide(dataset: Dataset) -> pd.DataFrame:
    """One row per pair, by a plain loop."""
    rows = []
    joined = dataset.stimuli.merge(dataset.scores, on="item_id")
    for pair, group in joined.groupby("pair_id", sort=False):
        good, bad = (group[group["grammatical"] == side].iloc[0] for side in (True, False))
        if good["text"] != bad["text"]:
            row = {"pair_id": pair, "good": good["logprob"], "bad": bad["logprob"]}
            rows.append(row | {"rating": good["rating"] - bad["rating"]})
    return pd.DataFrame(rows).merge(dataset.distances, on="pair_id")


def test_prediction_1_equals_scipy_s_r(datasets, results):
    pairs = wide(datasets[0])
    assert len(pairs) == 119
    whole = found(results, "pairs", subset="overall").iloc[0]
    assert whole["r"] == pytest.approx(stats.pearsonr(pairs["good"], pairs["bad"]).statistic)
    assert whole["n"] == 119
    assert whole["r_low"] < whole["r"] < whole["r_high"]
    ordered = pairs.sort_values("cosine_distance")
    for number, start in enumerate(range(0, 119, 12), start=1):
        part = ordered.iloc[start : start + 12]
        row = found(results, "pairs", subset="bin", name=str(number)).iloc[0]
        assert row["n"] == len(part)
        assert row["r"] == pytest.approx(stats.pearsonr(part["good"], part["bad"]).statistic)
        cosine = row[["cosine_low", "cosine_mean", "cosine_high"]].tolist()
        assert cosine == pytest.approx(part["cosine_distance"].agg(["min", "mean", "max"]).tolist())


def test_prediction_2_uses_near_pairs_with_both_ratings(datasets, results):
    pairs = wide(datasets[1])
    edits = datasets[1].distances["levenshtein_characters"].drop(8)
    near = pairs[pairs["levenshtein_characters"] <= np.quantile(edits, 0.75)]
    rated = near.dropna(subset="rating")
    row = found(results, "rated", subset="overall").iloc[0]
    assert row["n"] == len(rated)
    difference = rated["good"] - rated["bad"]
    assert row["r"] == pytest.approx(stats.pearsonr(rated["rating"], difference).statistic)
    assert set(found(results, "rated")["prediction"]) == {2}


def test_the_edit_filter_is_of_prediction_2_alone():
    """One set under all predictions and under 1 and 3: only Prediction 2 loses far pairs."""
    every, other = (
        analyse("m", [made("mine", numbers)], ["mine"], VOCABULARY, OPTIONS)
        for numbers in ({1, 2, 3}, {1, 3})
    )
    for name in ("string_correlations", "string_confounds"):
        first = every[name].query("prediction == 1")
        pd.testing.assert_frame_equal(first.reset_index(drop=True), other[name])
    for name in ("string_separation", "string_roc"):
        pd.testing.assert_frame_equal(every[name], other[name])
    assert set(every["string_separation"]["dataset"]) == {"mine"}  # one set is not pooled
    n = every["string_correlations"].query("subset == 'overall'").set_index("prediction")["n"]
    rated = made("mine", {2}).distances["levenshtein_characters"].drop(8)
    near = (rated <= rated.quantile(0.75)).drop(7).sum()  # the sentences of 7 are equal
    assert n.to_dict() == {1: 119, 2: near}


def test_prediction_3_shares_pairs_with_prediction_2_alone():
    """Without Prediction 1, the only pairs are near ones, as Table 1a counts LI."""
    every, rated = (
        string_scores("m", made("mine", numbers, lone=3), VOCABULARY, "demo")
        for numbers in ({1, 2, 3}, {2, 3})
    )
    kept = every["meaning_matched"].eq(True) | every["pair_id"].isna()
    near = every[kept].reset_index(drop=True)
    pd.testing.assert_frame_equal(rated, near)
    assert 0 < len(near) < len(every)


def test_prediction_3_equals_scikit_learn_s_area(results):
    scores, table = results["string_scores"], results["string_separation"]
    overall = table.set_index(["dataset", "phenomenon", "metric"]).sort_index()
    for name, phenomenon in product(["pairs", "rated", "single"], ["", "ph0", "ph1", "ph2"]):
        part = scores[scores["dataset"] == name]
        part = part[part["phenomenon"].str.contains(phenomenon)]
        for metric in METRICS:
            row = overall.loc[name, phenomenon, metric]
            assert row["auc"] == pytest.approx(roc_auc_score(part["grammatical"], part[metric]))
            assert row["auc_low"] <= row["auc"] <= row["auc_high"]
    pooled = overall.loc[POOLED, "", "slor"]
    assert pooled["auc"] == pytest.approx(roc_auc_score(scores["grammatical"], scores["slor"]))
    single = table[table["dataset"] == "single"]
    assert single["accuracy"].isna().all()
    assert (single["n_pairs"] == 0).all()


def test_the_curve_encloses_the_area(results, of_two):
    for given in (results, of_two):
        table = given["string_separation"].query("phenomenon == ''")
        table = table.set_index(["dataset", "metric"])
        for key, part in given["string_roc"].groupby(["dataset", "metric"]):
            area = np.trapezoid(part["true_positive_rate"], part["false_positive_rate"])
            assert area == pytest.approx(table.loc[key, "auc"], abs=0.01)


def test_the_metrics_by_hand():
    scores = pd.DataFrame({"logprob": [-10.0], "unigram_logprob": [-16.0], "n_tokens": [2]})
    row = paper_metrics(scores, 100).iloc[0]
    expected = {"logprob": -10, "uniform_bayes_factor": -10 + 2 * np.log(100),
                "unigram_bayes_factor": 6, "slor": 3, "mean_logprob": -5}  # fmt: skip
    assert row[[*expected]].to_dict() == pytest.approx(expected)
    unknown = paper_metrics(scores.assign(unigram_logprob=None), None).iloc[0]
    assert unknown[["uniform_bayes_factor", "unigram_bayes_factor", "slor"]].isna().all()


def test_one_class_has_no_area_but_counts():
    dataset = made("pairs", {3})
    alone = dataset.stimuli[dataset.stimuli["grammatical"]].assign(pair_id=None)
    one_class = Dataset("one", frozenset({3}), alone, dataset.scores, None)
    tables = analyse("m", [one_class], [], VOCABULARY, OPTIONS)
    separation = tables["string_separation"]
    assert separation["auc"].isna().all()
    assert (separation["n_ungrammatical"] == 0).all()
    assert tables["string_roc"].empty


def test_a_constant_bin_has_no_r(tmp_path):
    dataset = made("pairs", {1})
    scores = dataset.scores.assign(logprob=-50.0, unigram_logprob=np.nan)
    constant = Dataset("pairs", frozenset({1}), dataset.stimuli, scores, dataset.distances)
    tables = analyse("m", [constant], [], None, OPTIONS)
    correlations = tables["string_correlations"]
    assert correlations["r"].isna().all()
    assert (correlations["n"] > 0).all()
    assert tables["string_separation"].empty
    for name, table in tables.items():
        write_table(table, name, tmp_path / f"{name}.parquet")


def test_a_sentence_that_nobody_called_grammatical_is_named(datasets):
    dataset = datasets[0]
    unknown = dataset.stimuli.astype({"grammatical": object})
    unknown.loc[3, "grammatical"] = None
    broken = Dataset("mine", dataset.predictions, unknown, dataset.scores, dataset.distances)
    with pytest.raises(LingprobError, match="'mine', item 's3'"):
        string_scores("m", broken, VOCABULARY, "demo")


def test_a_convention_that_was_not_scored_is_named(datasets):
    with pytest.raises(LingprobError, match=r"'pairs'.*\('bos', .*BOS policy 'none'"):
        assemble({"pairs": [1]}, [datasets[0].stimuli], [datasets[0].scores], {},
                 convention=("none", "u"))  # fmt: skip


def test_counts_filters_and_analysis_agree(datasets):
    rated = datasets[1]
    analysed = string_scores("m", rated, VOCABULARY, "demo")["meaning_matched"].sum() / 2
    tables, distances = {"li_large": rated.stimuli}, {"li_large": rated.distances}
    filters = count_filters(tables, distances, run_of())
    assert (len(filters), filters["used"].sum()) == (8, 1)
    counted = count_datasets(tables, tables, distances, run_of(li_large="LI")).iloc[0]
    (kept,) = filters.loc[filters["used"], "kept"]
    for row in filters.itertuples():
        edits = rated.distances[f"levenshtein_{row.unit}"]
        limit = (edits.drop(8) if row.population == "rated" else edits).quantile(0.75)
        near = (edits < limit if row.comparison == "below" else edits <= limit).drop(7)
        assert (row.edits, row.pairs, row.kept) == (limit, 120, near.sum())
    assert analysed == kept == counted["counted"] < counted["used_pairs"] == 119
    assert counted["counted_published"] == 1883


def test_all_pairs_are_counted_if_data_are_complete():
    counts = pd.DataFrame({"dataset": PAIRED, "counted": 35_000, "identical_pairs": 0})
    filters = pd.DataFrame({"dataset": [], "used": np.array([], bool)})
    assert counted(counts, filters)["all/pairs", "thousands"].value == 280
    assert ("all/pairs", "thousands") not in counted(counts.iloc[1:], filters)


def test_the_scorecard_checks_counts_and_claims(datasets, results):
    counted = {"blimp": datasets[0].stimuli}
    counts = count_datasets(counted, counted, {}, run_of(blimp="BLiMP"))
    rated = datasets[1]
    filters = count_filters({"li_large": rated.stimuli}, {"li_large": rated.distances}, run_of())
    toy, _ = build_stimuli("toy_strings", Catalog().dataset("toy_strings"), Path("."), 0)
    # "The moons emerge" is less likely than "*The moon emerge", as the paper says of GPT-2.
    words = toy["text"].str.rstrip(".").str.split()
    cost = words.map(lambda three: 5 * (three[0] == "A") + 20 * (three[1] == "moons"))
    surprise = (
        cost + np.where(toy["grammatical"], 30.0, 34.0) - 6 * (toy["text"] == "A moon emerge.")
    )
    surprisals = toy[["text", "grammatical"]].assign(model="m", surprisal=surprise / np.log(2))
    tables = {"datasets": counts, "filters": filters, "toy_surprisals": surprisals}
    run = Run("demo", {"gpt2": {"parameters": 1.24e8}}, published=PUBLISHED)
    card = compare({**results, **tables}, run)
    rows = card.set_index(["row", "column"])
    counted = rows.loc[("blimp/counted", "value"), ["ours", "note"]].tolist()
    assert counted == [119, "1 pairs of identical sentences left out"]
    assert rows.loc[("blimp/counted", "value"), "verdict"] == "differs"
    assert rows.loc[("all/pairs", "thousands"), "verdict"] == "not run"
    assert rows.loc[("gpt2/parameters", "millions"), "verdict"] == "reproduced"
    assert rows.loc[("m/pairs", "prediction_1a"), "verdict"] == "supported"
    area = rows.loc[("m/pairs", "poor_separation")]
    assert area["ours"] == pytest.approx(
        results["string_separation"].query("dataset == 'pairs' and phenomenon == ''")["auc"].max()
    )
    kept = rows.loc[("li_large/kept", "value"), ["published", "ours", "note"]].tolist()
    assert kept[:2] == [1883, filters.loc[filters["used"], "kept"].item()]
    assert kept[2].startswith("edits of characters, at most the quantile of rated pairs")
    toy_claims = card[card["item"] == "§2.1.1"].query("kind == 'claim'").set_index("column")
    assert set(toy_claims["verdict"]) == {"supported"}
    assert len(toy_claims) == 3
    # Made scores have a message each and no trend over bins: their interval says so.
    assert rows.loc[("m/pairs", "prediction_1b_common_spread"), "verdict"] == "undecided"
    assert rows.loc[("m/pairs", "pairing_separates"), "verdict"] == "supported"


def test_counted_sentences_are_different_pairs_and_unpaired_ones():
    stimuli = pd.DataFrame({
        "pair_id": ["a", "a", "b", "b", "c", "c", None, None, None],
        "grammatical": [True, False] * 3 + [True, True, False],
        "text": ["one", "two", "same", "same", "three", "four", "x", "y", "z"],
    })  # fmt: skip
    assert countable_sentences(stimuli, "mine") == 2 * 2 + 3
    assert countable_sentences(stimuli[stimuli["pair_id"].notna()], "mine") == 4


@pytest.mark.parametrize(("pairs", "bins"), [(4, 4), (3, 0)])
def test_bins_need_a_pair_each(pairs, bins):
    table = pairs_of(scored(data_set("d", pairs, {1})))
    rows = correlations_of(variables(table, 1), replace(TWO_BINS, bins=4))
    assert [row["subset"] for row in rows].count("bin") == bins
    assert list(variables(table, 1)) == [*table, "x", "y"]


@pytest.mark.parametrize(("pairs", "told"), [(10, True), (9, False)])
def test_confounds_are_told_of_five_pairs_a_bin(pairs, told):
    dataset = data_set("d", pairs, {1})
    tables = pair_tables("m", [dataset], scored(dataset), TWO_BINS)
    assert len(tables["string_confounds"]) == told * (2 + 1) * 6


@pytest.fixture(scope="module")
def two() -> list[Dataset]:
    """For Predictions 1 and 3, and 2 and 3; a sentence of the second stands for two."""
    second = data_set("two", 25, {2, 3}, seed=2)
    return [data_set("one", 21, {1, 3}, paradigms=4, seed=1), replace(second, weight=2.0)]


@pytest.fixture(scope="module")
def of_two(two) -> dict[str, pd.DataFrame]:
    return analyse("m", two, ["one", "two"], 100, TWO_BINS)


def test_both_tables_of_a_prediction_share_bins(results):
    bins = results["string_correlations"].query("subset == 'bin'")
    same = results["string_confounds"].query("subset == 'bin' and quantity == 'r'")
    both = bins.merge(same, on=["dataset", "prediction", "name", "n"])
    assert len(both) == len(bins) == len(same) == 2 * 10
    assert both["r"].tolist() == pytest.approx(both["value"].tolist())


def test_a_metric_with_gaps_has_no_area():
    dataset = data_set("d", 12, {3}, lone=2)
    dataset.scores.loc[25, "unigram_logprob"] = np.nan
    table = scored(dataset)
    known = ["logprob", "uniform_bayes_factor", "mean_logprob"]
    rows = pd.DataFrame(separation_rows(table, TWO_BINS)).set_index("metric")
    for column in ("auc", "auc_low", "accuracy", "accuracy_high"):
        assert list(rows.index[rows[column].notna()]) == known
    assert (rows["n_pairs"] == 12).all()
    assert "lead" not in rows  # a claim needs all of its comparison
    assert [point["metric"] for point in roc_points(table)] == [*np.repeat(known, 201)]


def test_flat_set_intervals_equal_a_loop_over_draws():
    """Areas, accuracies and their differences have the same draws, with weights and seed."""
    given = [
        data_set("one", 14, {3}, paradigms=9, seed=9),
        data_set("two", 9, {3}, lone=4, paradigms=7, seed=59),
    ]
    given[1] = replace(given[1], weight=3.0)
    table = pd.concat([scored(one) for one in given], ignore_index=True)
    table = table.sample(frac=1, random_state=0, ignore_index=True)
    options = replace(TWO_BINS, resample="clusters", seed=5)
    found = pd.DataFrame(separation_rows(table, options)).set_index("metric").loc["slor"]
    unit, good = units(table, "clusters"), table["grammatical"].to_numpy()
    names, paired = ["dataset", "pair_id"], table["pair_id"].notna()
    sides = [table[paired & (good == side)].set_index(names)["slor"] for side in (True, False)]
    of_pair = np.flatnonzero(paired & ~table.duplicated(names))
    keys = pd.MultiIndex.from_frame(table.loc[of_pair, names])
    right = (sides[0].reindex(keys) > sides[1].reindex(keys)).to_numpy()
    drawn: dict[str, list[float]] = {"auc": [], "accuracy": [], "gain": [], "lead": []}
    best = set()
    for counts in np.concatenate(list(resamples(int(unit.max()) + 1, options.bootstrap, 5))):
        times = table["weight"].to_numpy() * counts[unit]
        area = roc_auc_score(good, table["slor"], sample_weight=times)
        share = np.average(right, weights=times[of_pair])
        rivals = {name: roc_auc_score(good, table[name], sample_weight=times) for name in FOLLOWERS}
        best.add(max(rivals, key=rivals.get))
        values = {"auc": area, "accuracy": share, "gain": share - area}
        values["lead"] = area - max(rivals.values())
        for name, value in values.items():
            drawn[name].append(value)
    assert len(best) > 1  # in each draw, the lead is over its best rival
    sizes = np.bincount(unit, table["weight"])
    for name, values in drawn.items():
        limits = (-1.0, 1.0) if name in ("gain", "lead") else (0.0, 1.0)
        ends = widened(found[name], tuple(np.quantile(values, (0.025, 0.975))), sizes, limits)
        assert found[[f"{name}_low", f"{name}_high"]].tolist() == pytest.approx(ends)


def test_correlation_intervals_use_the_options(of_two):
    pairs = variables(pairs_of(of_two["string_scores"].query("dataset == 'one'")), 1)
    x, y = pairs["x"].to_numpy(), pairs["y"].to_numpy()
    for resample, unit in (("pairs", np.arange(21)), ("clusters", np.arange(21) % 4)):
        ends = correlation_interval(x, y, unit, draws=60, seed=TWO_BINS.seed)
        expected = widened(pairs["x"].corr(pairs["y"]), ends, np.bincount(unit), (-1.0, 1.0))
        row = correlations_of(pairs, replace(TWO_BINS, resample=resample))[0]
        assert [row["r_low"], row["r_high"]] == pytest.approx(expected)


def test_units_by_hand():
    """Sentences without a pair are units of their own, as are pairs without a paradigm."""
    table = pd.DataFrame({
        "dataset": list("xxxxxyy"), "item_id": list("abcdefg"),
        "pair_id": ["p", None, "p", None, "q", "p", "p"],
        "paradigm": ["m", "m", "m", None, "n", None, None],
    })  # fmt: skip
    assert units(table, "pairs").tolist() == [0, 1, 0, 2, 3, 4, 4]
    assert units(table, "clusters").tolist() == [0, 0, 0, 1, 2, 3, 3]
    assert units(table[:3], "clusters").tolist() == [0, 1, 0]  # one paradigm: its pairs


def test_names_that_join_alike_are_of_different_pairs():
    """Pair `1p0` of `a`, and `p0` of `a1`."""
    one, other = (scored(data_set(name, 6, {3})) for name in ("a", "a1"))
    table = pd.concat([one.assign(pair_id="1" + one["pair_id"]), other], ignore_index=True)
    assert units(table, "pairs").tolist() == [k // 2 for k in range(24)]
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


def test_counts_of_data_sets_with_and_without_pairs():
    blimp, mine = (data_set(name, 3, {1}, lone=lone).stimuli for name, lone in
                   (("blimp", 0), ("mine", 2)))  # fmt: skip
    blimp.loc[:1, "text"] = "the same"
    given = {"blimp": blimp.assign(rating=np.nan), "mine": mine,
             "cola": data_set("cola", 0, {3}, lone=3).stimuli}  # fmt: skip
    mine.loc[0, "rating"] = np.nan
    run = run_of(**{name: name.upper() for name in given})
    mine.loc[1, "rating_source"] = None
    mine.loc[3, "text"] = mine.loc[2, "text"]
    used = {**given, "mine": mine.iloc[2:]}
    table = count_datasets(given, used, {}, run).set_index("dataset")
    columns = ["title", "sentences", "pairs", "identical_pairs", "duplicated_sentences", "counted",
               "missing_ratings", "used_pairs", "used_sentences", "rating_source"]  # fmt: skip
    assert table[columns].to_numpy().tolist() == [
        ["BLIMP", 6, 3, 1, 1, 2, 0, 2, 4, "human"], ["MINE", 8, 3, 1, 1, 2, 1, 1, 4, "human"],
        ["COLA", 3, 0, 0, 0, 3, 0, 0, 3, "human"],
    ]  # fmt: skip
    assert table["counted_published"].dropna().to_dict() == {"blimp": 66993, "cola": 8551}


def test_models_trained_here_test_no_claim_about_strings(datasets, results):
    more = {name: pd.concat([table, table.assign(model="tiny")]) for name, table in results.items()}
    toy = pd.DataFrame(columns=["model", "text", "grammatical", "surprisal"])
    models = {"m": {"source": "hub"}, "tiny": {"source": "trained"}}
    card = compare({**more, "toy_surprisals": toy}, Run("demo", models, published=PUBLISHED))
    found = {row.partition("/")[0] for row in card.loc[card["kind"] == "claim", "row"]}
    assert found == {"m", "(none)"}
