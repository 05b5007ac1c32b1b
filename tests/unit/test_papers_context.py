"""Accuracies, matrices and tables of a model, against values by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgments_for_tests import ALONE, judgments
from lingprob.context.judgments import at_longest, in_categories, responsive_suites
from lingprob.context.names import KINDS
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import write_table
from lingprob.papers.context.analysis import (
    Settings,
    accuracy_table,
    clusters,
    extreme_suites,
    matrix_table,
    summarise,
    summarise_model,
    summarise_perturbed,
)
from lingprob.papers.context.statistics import overlap_correlations, suite_points

DEMO = Settings(1, 50, 0, "demo")
TWO = Settings(2, 30, 4, "demo")
DOWN = "matched_unacceptable"


def test_changes_compare_the_same_pairs_without_a_prefix():
    rows = [
        *ALONE,
        ("a1", "p", "matched_acceptable", 10, 1),
        ("a1", "q", "matched_acceptable", 10, 1),
        ("b2", "r", "matched_acceptable", 10, 0),
        ("a1", "p", "mismatched_acceptable", 10, 0),
    ]
    table = accuracy_table(judgments(rows), DEMO).set_index(["level", "group", "kind"])
    overall = table.loc[("all", "all", "matched_acceptable")]
    expected = {"accuracy": 2 / 3, "baseline": 2 / 3, "delta": 0, "n_pairs": 3, "n_suites": 2,
                "margin": 2, "baseline_margin": 3}  # fmt: skip
    assert overall[[*expected]].to_dict() == pytest.approx(expected)
    assert table.loc[("suite", "a1", "matched_acceptable"), "delta"] == pytest.approx(0.5)
    assert table.loc[("phenomenon", "b", "matched_acceptable"), "delta"] == pytest.approx(-1)
    # p before and after four prefixes: 1 and 1, 1, 0, 0 and 1.
    assert table.loc[("all", "all", "acceptable"), "accuracy"] == pytest.approx(2 / 4)
    assert ("all", "all", "none") not in table.index


def test_ended_prefixes_are_carried_forward_only():
    rows = [
        *ALONE,
        ("a1", "p", "unrelated", 10, 0),
        ("a1", "p", "unrelated", 20, 1),
        ("a1", "q", "unrelated", 10, 1),
        ("b2", "r", "unrelated", 20, 0),
    ]
    table = accuracy_table(judgments(rows).assign(prefix_id="shared"), DEMO)
    overall = table[table["level"] == "all"].set_index("length")
    assert overall["n_pairs"].to_dict() == {10: 2, 20: 3}
    assert overall["accuracy"].to_dict() == pytest.approx({10: 0.5, 20: 2 / 3})
    assert overall.loc[20, "prefix_tokens"] == pytest.approx((20 + 10 + 20) / 3)


def test_intervals_are_over_suites_if_there_are_several():
    """Two suites, all right and all wrong: a draw is 0, 2/3 or 1 with chances 1/4, 1/2, 1/4."""
    pairs = [("a", f"a{n}") for n in range(4)] + [("b", f"b{n}") for n in range(2)]
    judged = judgments([(*pair, "none", 0, 1) for pair in pairs]
                       + [(*pair, "unrelated", 5, "a" in pair) for pair in pairs])  # fmt: skip
    judged["margin"] = judged["correct"].astype(float)
    table = accuracy_table(judged, Settings(1, 2000, 0, "demo")).set_index(["level", "group"])
    overall = table.loc[("all", "all")]
    # A margin has no limits. Kish's number of suites is 36 / 20, and one degree of freedom is left.
    factor = stats.t.ppf(0.975, 1) / stats.norm.ppf(0.975) * np.sqrt(1.8 / 0.8)
    ends = overall[["margin_low", "margin_high"]].tolist()
    assert ends == pytest.approx([2 / 3 - 2 / 3 * factor, 2 / 3 + 1 / 3 * factor])
    assert (overall["accuracy_low"], overall["accuracy_high"]) == (0, 1)
    # Widened for two suites, and cut at the possible range of a difference.
    assert overall["delta_low"] == -1
    assert overall["delta_high"] == 1
    inside = table.loc[("suite", "a")]
    assert (inside["accuracy_low"], inside["accuracy_high"]) == (1, 1)


def test_a_single_pair_has_no_interval(tmp_path):
    rows = [*ALONE, ("b2", "r", "unrelated", 10, 0)]
    table = accuracy_table(judgments(rows), DEMO)
    assert table[["accuracy_low", "accuracy_high", "delta_low", "delta_high"]].isna().all(axis=None)
    assert set(table["delta"]) == {-1}
    write_table(table, "context_accuracy", tmp_path / "table.parquet")


def test_the_longest_prefix_of_each_pair_counts():
    rows = [
        *ALONE,
        ("a1", "p", "matched_acceptable", 30, 0),
        ("a1", "p", "matched_acceptable", 10, 1),
        ("a1", "q", "matched_acceptable", 10, 1),
    ]
    perturbed = judgments([("a1", "p", "matched_acceptable", 40, 1)]).assign(perturbation="quote")
    table = pd.concat([judgments(rows), perturbed])
    longest = at_longest(table, "matched_acceptable").set_index("pair_id")
    assert longest["length"].to_dict() == {"p": 30, "q": 10}
    assert longest["correct"].to_dict() == {"p": False, "q": True}
    assert longest["baseline_correct"].to_dict() == {"p": True, "q": False}


def test_responsive_suites_change_most_in_either_direction():
    every = "abcdefghijklmnopqrstuvwxyz"
    rows = [(suite, suite, "none", 0, 1) for suite in every]
    # Only b, m and t change after acceptable prefixes, and the others after unacceptable ones.
    for kind, is_up in (("matched_acceptable", True), ("matched_unacceptable", False)):
        rows += [(suite, suite, kind, 9, (suite in "bmt") != is_up) for suite in every]
    assert responsive_suites(judgments(rows), 9) == [*"bmtacdefg"]
    # In model m, b and c fall. In model n, c rises.
    of_models = [
        judgments([
            *((suite, suite, "none", 0, suite not in low) for suite in "abc"),
            *((suite, suite, "matched_acceptable", 9, suite not in fall) for suite in "abc"),
        ]).assign(model=model)
        for model, low, fall in (("m", "", "bc"), ("n", "c", ""))
    ]  # fmt: skip
    assert responsive_suites(pd.concat(of_models), 2) == ["c", "b"]


def test_extreme_suites_average_over_lengths_with_their_deviation():
    rows = [("a1", "p", "none", 0, 0), ("b2", "r", "none", 0, 1)]
    rows += [("a1", "p", "matched_acceptable", length, length > 5) for length in (5, 10)]
    rows += [("b2", "r", "matched_acceptable", length, 1) for length in (5, 10)]
    accuracy = accuracy_table(judgments(rows), DEMO)
    others = [accuracy.assign(model="c", delta=-0.5), accuracy.assign(dataset="e", delta=9)]
    accuracy = pd.concat([accuracy, *others])
    table = extreme_suites(accuracy, "d", "matched_acceptable")
    columns = ["suite", "n", "m/delta", "m/sd", "c/delta", "c/sd", "mean_delta", "mean_sd"]
    assert list(table) == columns
    expected = [["a1", 1, 0.5, 0.5, -0.5, 0, 0, 0.5], ["b2", 1, 0, 0, -0.5, 0, -0.25, 0.25]]
    assert table.to_numpy().tolist() == expected
    falls = extreme_suites(accuracy.replace("matched_acceptable", DOWN), "d", DOWN)
    assert falls.to_numpy().tolist() == expected[::-1]


def test_a_matrix_has_own_suites_on_its_diagonal():
    rows = judgments([*ALONE, ("a1", "p", "from_suite", 10, 0), ("a1", "q", "from_suite", 10, 0),
                      ("b2", "r", "matched_acceptable", 10, 1), ("c3", "s", "none", 0, 0),
                      ("c3", "s", "from_suite", 10, 1)])  # fmt: skip
    rows["source_suite"] = np.where(rows["kind"] == "from_suite", "b2", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = matrix_table(rows, DEMO)
    assert list(table) == SCHEMAS["context_matrix"].names
    table = table.set_index(["target_suite", "prefix_suite"])
    cell = table.loc[("a1", "b2")]
    assert (cell["accuracy"], cell["baseline"], cell["delta"]) == (0, 0.5, -0.5)
    assert cell["relative_improvement"] == -100
    assert table.loc[("b2", "b2"), "relative_improvement"] == 0
    # Nothing improves on an accuracy of zero.
    unknown = table.filter(like="relative_improvement").isna()
    assert unknown.to_numpy().tolist() == [[False] * 3, [False] * 3, [True] * 3]
    assert (table["delta"].iloc[2], len(table)) == (1, 3)


def test_a_cell_s_interval_is_over_drawn_prefixes():
    """Eight items right after one prefix and eight wrong after another tell of two draws only."""
    alone = [("a1", f"p{n}", "none", 0, 1) for n in range(16)] + [("b2", "r", "none", 0, 1)]
    after = [("a1", f"p{n}", "from_suite", 10, n < 8) for n in range(16)]
    rows = judgments([*alone, *after])
    rows["source_suite"] = np.where(rows["kind"] == "from_suite", "b2", None)
    cells = {}
    for name, prefix in (("two", np.arange(17 + 16) < 25), ("all", np.arange(17 + 16))):
        given = rows.assign(prefix_id=prefix.astype(str))
        (cells[name],) = matrix_table(given, DEMO).itertuples()
    two, each = cells["two"], cells["all"]
    assert (two.n_pairs, two.n_prefixes, each.n_prefixes) == (16, 2, 16)
    assert two.accuracy == each.accuracy == 0.5
    wilson = stats.binomtest(8, 16).proportion_ci(method="wilson")
    assert (each.accuracy_low, each.accuracy_high) == pytest.approx(wilson, abs=0.02)
    assert two.accuracy_low < 0.05
    assert two.accuracy_high > 0.95
    assert each.relative_improvement_low == pytest.approx(100 * (each.accuracy_low - 1))
    assert each.delta_high == pytest.approx(each.accuracy_high - 1)


def test_suites_of_few_pairs_are_not_shown():
    after = [(suite, pair, kind, 10, right)
             for kind, right in (("matched_acceptable", 1), ("from_suite", 0))
             for suite, pair in (("a1", "p"), ("a1", "q"), ("b2", "r"))]  # fmt: skip
    rows = judgments([*ALONE, *after])
    rows["source_suite"] = np.where(rows["suite"] == "a1", "b2", "a1")
    accuracy = accuracy_table(rows, TWO)
    assert set(accuracy.loc[accuracy["level"] == "suite", "group"]) == {"a1"}
    assert set(accuracy.loc[accuracy["level"] == "phenomenon", "group"]) == {"a", "b"}
    assert accuracy.loc[accuracy["level"] == "all", "n_pairs"].tolist() == [3, 3]
    assert set(matrix_table(rows, TWO)["target_suite"]) == {"a1"}
    points = suite_points(accuracy, "matched_acceptable")
    assert (points["group"].tolist(), points["n_pairs"].tolist()) == (["a1"], [2])
    table = extreme_suites(accuracy, "d", "matched_acceptable")
    assert table["n"].tolist() == [2]


def test_perturbed_prefixes_stand_beside_the_same_pairs_own():
    """Of the same data set, pairs, kinds and lengths. Another data set may have the same ids."""
    rows = [*ALONE, ("a1", "p", "unrelated", 10, 1), ("b2", "r", "matched_acceptable", 10, 1)]
    rows += [("a1", "p", "matched_acceptable", length, 1) for length in (10, 20)]
    own = pd.concat([judgments(rows), judgments(rows).assign(dataset="e", correct=False)])
    changed = judgments([("a1", "p", "matched_acceptable", 10, 0)]).assign(
        perturbation="quote", prefix_id="quote/p"
    )
    found = summarise_perturbed(own, changed, pd.Series({"quote": 0.5}), DEMO)
    table = found["context_accuracy"]
    overall = table[table["level"] == "all"].set_index(["kind", "perturbation"])
    assert overall.loc[("matched_acceptable", "original"), "delta"] == 0
    assert overall.loc[("matched_acceptable", "quote"), "delta"] == -1
    assert (set(table["dataset"]), set(overall["length"]), set(overall["n_pairs"])) == (
        {"d"}, {10}, {1}
    )  # fmt: skip
    assert set(table["kind"]) == {"matched_acceptable", "acceptable"}
    assert table.groupby("perturbation")["similarity"].first().to_dict() == {
        "original": 1, "quote": 0.5
    }  # fmt: skip
    assert set(found["context_correlations"]["analysis"]) == {"perturbations"}


def at_random(seed: int, dataset: str) -> pd.DataFrame:
    """Judgments at random of three suites of six pairs, in no order, with gaps in the pair ids."""
    random = np.random.default_rng(seed)
    rows = [
        (suite, f"{suite}{3 * pair}", kind, length, random.random() < 0.6)
        for suite in ("a1", "b1", "c2") for pair in range(6)
        for kind, length in [("none", 0), *((kind, n) for kind in KINDS for n in (9, 18))]
    ]  # fmt: skip
    table = judgments(rows).assign(dataset=dataset)
    return table.sample(frac=1, random_state=seed, ignore_index=True)


def test_a_model_s_tables_join_its_data_sets(tmp_path):
    """One has overlaps and perturbed prefixes. The other, a user's own, has no phenomena.

    Its texts are categories, which change no table.
    """
    parts = {"d": at_random(1, "d"), "e": at_random(2, "e").assign(phenomenon=None)}
    across = parts["d"].query("kind == 'unrelated' and suite != 'b1'")
    across = across.assign(kind="from_suite", source_suite="b1", prefix_id="from_suite/b1")
    parts["d"] = pd.concat([parts["d"], across], ignore_index=True)
    assert in_categories(parts["d"])["pair_id"].dtype == "category"
    path = tmp_path / "judgments.parquet"
    write_table(pd.concat([*parts.values()]), "context_judgments", path)
    prefixes = pd.DataFrame({
        "prefix_id": parts["d"]["prefix_id"], "pair_id": parts["d"]["pair_id"],
        "measure": "token", "f1": [[n % 5 / 5] for n in range(len(parts["d"]))],
    }).drop_duplicates("prefix_id")  # fmt: skip
    suites = ["a1", "b1", "c2"]
    overlap = pd.DataFrame(
        [(one, other, n) for n, one in enumerate(suites) for other in suites],
        columns=["target_suite", "prefix_suite", "f1"],
    ).assign(dataset="d", measure="token", scale="demo")
    changed = parts["d"].query("kind == 'matched_acceptable'").assign(perturbation="quote")
    similarity = pd.Series({"quote": 0.5})
    found = summarise_model(path, changed, similarity, overlap, prefixes, ["d", "e"], TWO)
    one, two = (summarise(rows, TWO) for rows in parts.values())
    beside = summarise_perturbed(parts["d"], changed, similarity, TWO)
    matrix = one["context_matrix"]
    related = overlap_correlations(parts["d"], prefixes, matrix, overlap, "demo", 30, 4)
    expected = {
        "context_accuracy": [one, beside, two],
        "context_regression": [one, two],
        "context_matrix": [one, two],
        "context_correlations": [one, {"context_correlations": related}, beside, two],
    }
    assert set(found) == set(expected)
    for name, tables in expected.items():
        whole = pd.concat([table[name] for table in tables], ignore_index=True)
        assert found[name].astype(object).equals(whole.astype(object)), name
        write_table(found[name], name, tmp_path / "table.parquet")
    assert "(none)" in set(found["context_accuracy"]["group"])
    assert two["context_matrix"].empty  # no suite's sentences are before another's


def test_one_suite_is_resampled_by_prefix():
    group = pd.DataFrame({"suite": "s", "prefix_id": list("aba"), "pair_id": list("123")})
    assert clusters(group).tolist() == [0, 1, 0]
    assert clusters(group.assign(suite=list("stt"))).tolist() == [0, 1, 1]
