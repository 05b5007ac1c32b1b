"""Accuracies, matrices, overlaps, regressions and correlations against values by hand."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lingprob.context.judgments import at_longest, in_categories, responsive_suites
from lingprob.context.names import KINDS, MATCHED
from lingprob.context.perturbations import f1, words
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import write_table
from lingprob.papers.context.analysis import (
    Settings,
    accuracy_table,
    extreme_suites,
    matrix_table,
    summarise,
    summarise_model,
    summarise_perturbed,
    summary,
)
from lingprob.papers.context.claims import context_quantities
from lingprob.papers.context.overlaps import Overlaps, overlaps, prefix_overlaps, suite_overlaps
from lingprob.papers.context.statistics import (
    baseline_correlations,
    design,
    matrix_correlation,
    overlap_correlations,
    pair_correlation,
    perturbation_correlations,
    perturbation_points,
    regression,
    regressions,
    suite_points,
)

SETTINGS = {"fewest_pairs": 2, "bootstrap": 30, "seed": 4, "scale": "demo"}


def judgments(rows) -> pd.DataFrame:
    """A judgments table of (suite, pair, kind, length, correct)."""
    table = pd.DataFrame(rows, columns=["suite", "pair_id", "kind", "length", "correct"])
    return table.assign(
        model="m",
        dataset="d",
        phenomenon=table["suite"].str[0],
        prefix_id=table["kind"] + "/" + table["pair_id"],
        source_suite=None,
        perturbation=None,
        prefix_tokens=table["length"],
        n_sentences=1,
        margin=2.0,
        correct=table["correct"].astype(bool),
    )


ALONE = [("a1", "p", "none", 0, 1), ("a1", "q", "none", 0, 0), ("b2", "r", "none", 0, 1)]


def test_changes_are_to_the_same_pairs_without_a_prefix():
    table = accuracy_table(
        judgments(
            [
                *ALONE,
                ("a1", "p", "matched_acceptable", 10, 1),
                ("a1", "q", "matched_acceptable", 10, 1),
                ("b2", "r", "matched_acceptable", 10, 0),
                ("a1", "p", "mismatched_acceptable", 10, 0),
            ]
        ),
        50,
        0,
        1,
        "demo",
    ).set_index(["level", "group", "kind"])
    overall = table.loc[("all", "all", "matched_acceptable")]
    assert overall["accuracy"] == pytest.approx(2 / 3)
    assert overall["baseline"] == pytest.approx(2 / 3)
    assert overall["delta"] == pytest.approx(0)
    assert overall["n_pairs"] == 3
    assert overall["n_suites"] == 2
    assert table.loc[("suite", "a1", "matched_acceptable"), "delta"] == pytest.approx(0.5)
    assert table.loc[("phenomenon", "b", "matched_acceptable"), "delta"] == pytest.approx(-1)
    # p before and after four prefixes: 1 and 1, 1, 0, 0 and 1.
    assert table.loc[("all", "all", "acceptable"), "accuracy"] == pytest.approx(2 / 4)
    assert ("all", "all", "none") not in table.index


def test_a_prefix_that_ended_is_carried_on_and_a_late_one_is_not_carried_back():
    rows = [
        *ALONE,
        ("a1", "p", "unrelated", 10, 0),
        ("a1", "p", "unrelated", 20, 1),
        ("a1", "q", "unrelated", 10, 1),
        ("b2", "r", "unrelated", 20, 0),
    ]
    table = accuracy_table(judgments(rows), 50, 0, 1, "demo")
    overall = table[table["level"] == "all"].set_index("length")
    assert overall.loc[10, "n_pairs"] == 2
    assert overall.loc[10, "accuracy"] == pytest.approx(0.5)
    assert overall.loc[20, "n_pairs"] == 3
    assert overall.loc[20, "accuracy"] == pytest.approx(2 / 3)
    assert overall.loc[20, "prefix_tokens"] == pytest.approx((20 + 10 + 20) / 3)


def test_intervals_are_of_suites_where_a_group_has_several():
    """Two suites, all right and all wrong: a draw is 0, 1/2 or 1 with chances 1/4, 1/2, 1/4."""
    rows = [(suite, f"{suite}{n}", "none", 0, 1) for suite in "ab" for n in range(4)]
    rows += [
        (suite, f"{suite}{n}", "unrelated", 5, suite == "a") for suite in "ab" for n in range(4)
    ]
    table = accuracy_table(judgments(rows), 2000, 0, 1, "demo").set_index(["level", "group"])
    overall = table.loc[("all", "all")]
    assert (overall["accuracy_low"], overall["accuracy_high"]) == (0, 1)
    # Widened for two suites, and cut at what a difference can be.
    assert overall["delta_low"] == -1
    assert overall["delta_high"] == 1
    inside = table.loc[("suite", "a")]
    assert (inside["accuracy_low"], inside["accuracy_high"]) == (1, 1)


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


def test_responsive_suites_change_most_after_acceptable_prefixes_in_either_direction():
    rows = [(suite, suite, "none", 0, 1) for suite in "abc"]
    # Only b changes after acceptable prefixes; a and c change after unacceptable ones alone.
    for kind, right in (("matched_acceptable", "ac"), ("matched_unacceptable", "b")):
        rows += [(suite, suite, kind, 9, suite in right) for suite in "abc"]
    assert responsive_suites(judgments(rows), 2) == ["b", "a"]


def test_extreme_suites_average_over_lengths_with_their_deviation():
    rows = [("a1", "p", "none", 0, 0), ("b2", "r", "none", 0, 1)]
    rows += [("a1", "p", "matched_acceptable", length, length > 5) for length in (5, 10)]
    rows += [("b2", "r", "matched_acceptable", length, 1) for length in (5, 10)]
    accuracy = accuracy_table(judgments(rows), 10, 0, 1, "demo")
    table = extreme_suites(accuracy, "d", "matched_acceptable")
    assert table["suite"].tolist() == ["a1", "b2"]
    assert table["m/delta"].tolist() == [0.5, 0]
    assert table["m/sd"].tolist() == [0.5, 0]
    assert table["mean_sd"].tolist() == [0, 0]
    assert list(table) == ["suite", "n", "m/delta", "m/sd", "mean_delta", "mean_sd"]


def test_a_matrix_has_other_suites_and_its_own_on_the_diagonal():
    rows = judgments(
        [
            *ALONE,
            ("a1", "p", "from_suite", 10, 0),
            ("a1", "q", "from_suite", 10, 0),
            ("b2", "r", "matched_acceptable", 10, 1),
        ]
    )
    rows["source_suite"] = np.where(rows["kind"] == "from_suite", "b2", None)
    table = matrix_table(rows, 1, "demo").set_index(["target_suite", "prefix_suite"])
    cell = table.loc[("a1", "b2")]
    assert (cell["accuracy"], cell["baseline"], cell["delta"]) == (0, 0.5, -0.5)
    assert cell["relative_improvement"] == -100
    assert table.loc[("b2", "b2"), "relative_improvement"] == 0
    assert len(table) == 2


def test_a_cell_s_interval_is_of_the_prefixes_drawn():
    """Eight items right after one prefix and eight wrong after another tell of two draws only."""
    alone = [("a1", f"p{n}", "none", 0, 1) for n in range(16)] + [("b2", "r", "none", 0, 1)]
    after = [("a1", f"p{n}", "from_suite", 10, n < 8) for n in range(16)]
    rows = judgments([*alone, *after])
    rows["source_suite"] = np.where(rows["kind"] == "from_suite", "b2", None)
    cells = {}
    for name, prefix in (("two", np.arange(17 + 16) < 25), ("all", np.arange(17 + 16))):
        (cells[name],) = matrix_table(
            rows.assign(prefix_id=np.asarray(prefix).astype(str)), 1, "demo"
        ).itertuples()
    two, each = cells["two"], cells["all"]
    assert (two.n_pairs, two.n_prefixes, each.n_prefixes) == (16, 2, 16)
    assert two.accuracy == each.accuracy == 0.5
    wilson = stats.binomtest(8, 16).proportion_ci(method="wilson")
    assert (each.accuracy_low, each.accuracy_high) == pytest.approx(wilson, abs=0.02)
    assert two.accuracy_low < 0.05
    assert two.accuracy_high > 0.95
    assert each.relative_improvement_low == pytest.approx(100 * (each.accuracy_low - 1))
    assert each.delta_high == pytest.approx(each.accuracy_high - 1)


def test_suites_of_few_pairs_have_no_place_of_their_own():
    rows = judgments(
        [
            *ALONE,
            ("a1", "p", "matched_acceptable", 10, 1),
            ("a1", "q", "matched_acceptable", 10, 1),
            ("b2", "r", "matched_acceptable", 10, 1),
            ("a1", "p", "from_suite", 10, 0),
            ("a1", "q", "from_suite", 10, 0),
            ("b2", "r", "from_suite", 10, 0),
        ]
    )
    rows["source_suite"] = np.where(rows["suite"] == "a1", "b2", "a1")
    accuracy = accuracy_table(rows, 10, 0, 2, "demo")
    assert set(accuracy.loc[accuracy["level"] == "suite", "group"]) == {"a1"}
    assert set(accuracy.loc[accuracy["level"] == "phenomenon", "group"]) == {"a", "b"}
    assert accuracy.loc[accuracy["level"] == "all", "n_pairs"].tolist() == [3, 3]
    assert set(matrix_table(rows, 2, "demo")["target_suite"]) == {"a1"}
    points = suite_points(accuracy, "matched_acceptable")
    assert (points["group"].tolist(), points["n_pairs"].tolist()) == (["a1"], [2])
    table = extreme_suites(accuracy, "d", "matched_acceptable")
    assert table["n"].tolist() == [2]


def test_pairs_without_a_phenomenon_are_a_group_of_their_own():
    rows = judgments([*ALONE, ("a1", "p", "unrelated", 10, 0), ("b2", "r", "unrelated", 10, 1)])
    nameless = rows.assign(phenomenon=None)
    table = accuracy_table(nameless, 10, 0, 1, "demo")
    by_phenomenon = table[table["level"] == "phenomenon"]
    assert by_phenomenon[["group", "accuracy"]].to_numpy().tolist() == [["(none)", 0.5]]


def test_the_paper_s_means_over_models_are_ours_where_all_of_them_ran():
    """In a1 the first model rises by 1 at one of two lengths, the second at both."""
    rows = [("a1", "p", "none", 0, 0)]
    both = [
        judgments(
            [*rows, *(("a1", "p", kind, n, n > least) for kind in MATCHED for n in (5, 10))]
        ).assign(model=model, dataset="blimp")
        for model, least in (("one", 5), ("two", 0), ("ours", 10))
    ]
    published = {
        "items": [{"item": "Table 1", "rows": {"one/a1": [], "two/a1": [], "mean/a1": []}}]
    }
    others = {
        name: SCHEMAS[name].empty_table().to_pandas()
        for name in ("context_matrix", "context_correlations")
    }

    def found(*chosen):
        accuracy = accuracy_table(pd.concat(chosen), 10, 0, 1, "demo")
        return context_quantities({"context_accuracy": accuracy, **others}, published)

    every = found(*both)
    assert every[("one/a1", "delta_acceptable")].value == 0.5
    assert every[("mean/a1", "delta_acceptable")].value == 0.75
    assert every[("mean/a1", "sd_unacceptable")].value == 0.25
    assert ("mean/a1", "delta_acceptable") not in found(both[0], both[2])


def test_pairs_are_resampled_where_there_is_one_suite_alone():
    rows = [("a", f"{n}", "none", 0, n % 2) for n in range(8)]
    rows += [("a", f"{n}", "matched_acceptable", 9, n % 4 > 0) for n in range(8)]
    table = accuracy_table(judgments(rows), 200, 1, 1, "demo")
    row = table[(table["level"] == "all") & (table["kind"] == "matched_acceptable")].iloc[0]
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]


def test_correlations_are_those_of_the_points():
    rows = [
        (suite, f"{suite}{n}", "none", 0, n < k) for k, suite in enumerate("abcd") for n in range(3)
    ]
    rows += [
        (suite, f"{suite}{n}", "matched_acceptable", 9, n >= k)
        for k, suite in enumerate("abcd")
        for n in range(3)
    ]
    accuracy = accuracy_table(judgments(rows), 10, 0, 1, "demo")
    table = baseline_correlations(accuracy, "demo").set_index("y")
    assert table.loc["matched_acceptable", "value"] == pytest.approx(-1)
    assert table.loc["matched_acceptable", "n"] == 4
    right = accuracy.assign(accuracy=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert baseline_correlations(right, "demo")["value"].isna().all()


def test_overlap_correlates_with_accuracy_by_pairs_and_by_suites():
    """Over matched prefixes the more similar are judged right, over mismatched the less."""
    kinds = ("none", "matched_acceptable", "mismatched_acceptable")
    rows = [("s", f"p{n}", kind, 9 * (kind != "none"), n % 2) for n in range(6) for kind in kinds]
    judged = judgments(rows)
    overlaps = pd.DataFrame(
        {
            "prefix_id": [f"{kind}/p{n}" for kind in kinds[1:] for n in range(6)],
            "pair_id": [f"p{n}" for n in range(6)] * 2,
            "measure": "token",
            # Of prefixes of one sentence, of which judgments know; the others are longer.
            "f1": [[sign * (n % 2) + 0.5, 0.0] for sign in (1, -1) for n in range(6)],
        }
    )
    pairs = [(target, prefix) for target in "xyz" for prefix in "xyz"]
    matrix = pd.DataFrame(pairs, columns=["target_suite", "prefix_suite"]).assign(
        model="m", dataset="d", accuracy=np.linspace(0, 1, 9), delta=np.linspace(1, 0, 9)
    )
    overlap = matrix[["dataset", "target_suite", "prefix_suite"]].assign(
        measure="token", f1=np.linspace(0, 1, 9) ** 2, scale="demo"
    )
    table = overlap_correlations(judged, overlaps, matrix, overlap, "demo", 10, 0)
    of_pairs = table[table["analysis"] == "pairs"].set_index("x")["value"]
    assert of_pairs.to_dict() == pytest.approx(
        {
            f"token overlap with {kind} prefixes": r
            for kind, r in zip(kinds[1:], (1, -1), strict=True)
        }
    )
    by = table.set_index(["analysis", "y"])
    assert by.loc[("suites", "accuracy"), "value"] == pytest.approx(1)
    assert by.loc[("suites", "delta"), "value"] == pytest.approx(-1)
    assert by.loc[("suites", "delta"), "n"] == 6  # the diagonal is left out


def perturbed(**columns) -> pd.DataFrame:
    """Rows of `context_accuracy` after perturbed prefixes of one kind."""
    about = {"model": "m", "dataset": "d", "level": "all", "kind": "matched_acceptable"}
    return pd.DataFrame({**about, **columns})


def test_perturbations_average_over_lengths():
    accuracy = perturbed(
        perturbation=["original", "original", "all", "all", "quote", "quote"],
        similarity=[1.0, 1.0, 0.5, 0.5, 0.7, 0.7],
        delta=[0.2, 0.4, 0.0, 0.1, 0.1, 0.3],
    )
    # Phenomena, other kinds and unchanged prefixes are no points.
    others = [{"level": "phenomenon"}, {"kind": "unrelated"}, {"perturbation": None}]
    accuracy = pd.concat([accuracy, *(accuracy.assign(delta=9.0, **other) for other in others)])
    points = perturbation_points(accuracy)
    assert points["delta"].tolist() == pytest.approx([0.3, 0.05, 0.2])
    assert points["similarity"].tolist() == [1.0, 0.5, 0.7]
    assert perturbation_correlations(accuracy, "demo")["value"].tolist() == pytest.approx([1])


def test_correlations_need_three_points_that_vary():
    """Two values are enough: ranks 1.5, 1.5 and 3 with 1, 2 and 3 have rho sqrt(3) / 2."""
    low, high = [0.1, 0.1, 0.4], [0.2, 0.3, 0.4]

    def value(delta, similarity) -> float:
        rows = perturbed(perturbation=[*"abc"][: len(delta)], delta=delta, similarity=similarity)
        return perturbation_correlations(rows, "demo")["value"].item()

    assert value(low, high) == pytest.approx(np.sqrt(3) / 2)
    assert value(high, low) == pytest.approx(np.sqrt(3) / 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scipy warns of what is constant
        assert np.isnan(value([0.1] * 3, high))
        assert np.isnan(value(high, [0.1] * 3))
        assert np.isnan(value(low[1:], high[1:]))


def test_perturbed_prefixes_stand_beside_the_same_pairs_own():
    """Of the same data set, pairs, kinds and lengths; pair ids may be another data set's too."""
    rows = [*ALONE, ("a1", "p", "unrelated", 10, 1), ("b2", "r", "matched_acceptable", 10, 1)]
    rows += [("a1", "p", "matched_acceptable", length, 1) for length in (10, 20)]
    own = pd.concat([judgments(rows), judgments(rows).assign(dataset="e", correct=False)])
    changed = judgments([("a1", "p", "matched_acceptable", 10, 0)]).assign(
        perturbation="quote", prefix_id="quote/p"
    )
    found = summarise_perturbed(own, changed, pd.Series({"quote": 0.5}), Settings(1, 10, 0, "demo"))
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


def test_a_regression_takes_the_tokens_of_the_prefix_not_those_asked_for():
    """Prefixes that end early: doubling the lengths asked for changes nothing."""
    generator = np.random.default_rng(1)
    rows = [
        (suite, f"{suite}{pair}", "unrelated", length, generator.random() < 0.4 + 0.05 * length)
        for suite in "abcd"
        for pair in range(8)
        for length in (1, 2, 4, 8)
    ]
    table = judgments(rows)
    exhausted = table.assign(length=np.where(table["length"] == 8, 1000, table["length"]))
    for column in ("estimate", "std_error", "suite_std_error"):
        expected = regressions(table, "demo")[column]
        assert regressions(exhausted, "demo")[column].tolist() == expected.tolist()


def test_where_no_judgment_changes_there_is_no_error_by_suites():
    """It would be rounding noise, which made an estimate of 5e-15 significant."""
    rows = [
        (suite, f"{suite}{pair}", "unrelated", length, pair % 2)
        for suite in "abcd"
        for pair in range(6)
        for length in (10, 100, 1000)
    ]
    fit = regressions(judgments(rows), "demo").set_index("term").loc["log_length"]
    assert abs(fit["estimate"]) < 1e-9
    assert fit["p"] > 0.9
    assert fit[["suite_std_error", "suite_df", "suite_p"]].isna().all()


def test_factors_are_coded_1_and_minus_1_and_lengths_centred():
    """The lengths' logarithms are 1, 2, 3 and 4 times that of 10."""
    kinds = [*MATCHED, "mismatched_acceptable", "mismatched_unacceptable"]
    rows = [("s", "p", kind, 10 ** (n + 1), 1) for n, kind in enumerate(kinds)]
    terms = design(judgments(rows), related=True)
    assert terms["matched"].tolist() == [1, 1, -1, -1]
    assert terms["acceptable"].tolist() == [1, -1, 1, -1]
    log_length = np.log(10) * np.array([-1.5, -0.5, 0.5, 1.5])
    assert terms["log_length"].tolist() == pytest.approx(log_length)
    assert terms["log_length:matched:acceptable"].tolist() == pytest.approx(
        log_length * [1, -1, -1, 1]
    )
    assert list(design(judgments(rows), related=False)) == ["log_length"]


def test_no_judgments_give_an_empty_table_of_regressions():
    table = regressions(judgments(ALONE), "demo")
    assert table.empty
    assert list(table) == SCHEMAS["context_regression"].names


def test_regressions_find_what_was_put_in():
    """Pairs whose log odds are 1 + length effect x acceptability, in 12 suites of 20 pairs."""
    rng = np.random.default_rng(5)
    rows = []
    kinds = [
        f"{match}_{side}"
        for match in ("matched", "mismatched")
        for side in ("acceptable", "unacceptable")
    ]
    for suite in range(12):
        for pair in range(20):
            for kind in [*kinds, "unrelated"]:
                for length in (32, 64, 128, 256):
                    sign = {"unrelated": 0}.get(kind, -1 if "un" in kind else 1)
                    logit = 0.5 + sign * 0.8 * np.log(length / np.sqrt(64 * 128))
                    right = rng.random() < 1 / (1 + np.exp(-logit))
                    rows.append((f"{suite}", f"{suite}-{pair}", kind, length, right))
    judged = judgments(rows)
    table = regressions(judged, "demo")
    # Nor perturbed prefixes nor sentences without one are in them.
    others = [judged.assign(perturbation="quote"), judged.assign(kind="none", length=1)]
    wrong = pd.concat(others).assign(correct=lambda frame: ~frame["correct"])
    pd.testing.assert_frame_equal(regressions(pd.concat([judged, wrong]), "demo"), table)
    table = table.set_index(["prefixes", "term"])
    found = table.loc[("related", "log_length:acceptable")]
    assert found["estimate"] == pytest.approx(0.8, abs=4 * found["std_error"])
    assert found["p"] < 1e-6
    assert found["suite_p"] < 1e-6
    # Two-sided: the chi-square of one degree of freedom of z squared, and F of t squared.
    expected = stats.chi2.sf((table["estimate"] / table["std_error"]) ** 2, 1)
    np.testing.assert_allclose(table["p"], expected, rtol=1e-9)
    assert set(table["suite_df"]) == {11}, "suites but one"
    expected = stats.f.sf((table["estimate"] / table["suite_std_error"]) ** 2, 1, 11)
    np.testing.assert_allclose(table["suite_p"], expected, rtol=1e-9)
    assert abs(table.loc[("related", "log_length"), "z"]) < 4
    assert abs(table.loc[("unrelated", "log_length"), "z"]) < 4
    assert len(table.loc["related"]) == 8


def test_no_fit_is_a_row_without_numbers():
    rows = [
        (s, f"{s}{n}", "unrelated", length, 1) for s in "ab" for n in range(2) for length in (5, 9)
    ]
    table = regressions(judgments(rows), "demo")
    unrelated = table[table["prefixes"] == "unrelated"]
    assert unrelated["term"].tolist() == ["none"]
    assert unrelated["estimate"].isna().all()


def at_random(seed: int, dataset: str = "d", kinds=KINDS) -> pd.DataFrame:
    """Judgments at random of three suites of six pairs, in no order, with gaps in the pair ids."""
    random = np.random.default_rng(seed)
    rows = [
        (suite, f"{suite}{3 * pair}", kind, length, random.random() < 0.6)
        for suite in ("a1", "b1", "c2") for pair in range(6)
        for kind, length in [("none", 0), *((kind, n) for kind in kinds for n in (9, 18))]
    ]  # fmt: skip
    table = judgments(rows).assign(dataset=dataset)
    return table.sample(frac=1, random_state=seed, ignore_index=True)


def test_judgments_in_categories_give_the_same_tables():
    plain = at_random(3)
    across = plain[(plain["kind"] == "unrelated") & (plain["suite"] != "b1")]
    across = across.assign(kind="from_suite", source_suite="b1", prefix_id="from_suite/b1")
    plain = pd.concat([plain, across], ignore_index=True)
    changed = plain[plain["kind"] == "matched_acceptable"].assign(perturbation="quote")

    def tables(given):
        beside = summarise_perturbed(given(plain), given(changed), pd.Series(), settings)
        return [*summarise(given(plain), settings).values(), *beside.values()]

    settings = Settings(**SETTINGS)
    assert in_categories(plain)["pair_id"].dtype == "category"
    for expected, found in zip(tables(lambda frame: frame), tables(in_categories), strict=True):
        assert len(expected)
        assert found.astype(object).equals(expected.astype(object))
    found = summarise(plain, settings)["context_accuracy"]
    pd.testing.assert_frame_equal(found, accuracy_table(plain, **SETTINGS))


def test_tables_of_a_model_are_those_of_its_data_sets(tmp_path):
    """One has overlaps and perturbed prefixes; the other, a user's own, has no phenomena."""
    parts = {"d": at_random(1), "e": at_random(2, "e").assign(phenomenon=None)}
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
    similarity, settings = pd.Series({"quote": 0.5}), Settings(**SETTINGS)
    found = summarise_model(path, changed, similarity, overlap, prefixes, ["d", "e"], settings)
    one, two = (summarise(rows, settings) for rows in parts.values())
    beside = summarise_perturbed(parts["d"], changed, similarity, settings)
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


def test_nothing_improves_on_an_accuracy_of_zero():
    table = at_random(1, kinds=["matched_acceptable"])
    across = table[table["kind"] != "none"].assign(kind="from_suite", source_suite="c2")
    both = pd.concat([table, across[across["suite"] != "c2"]], ignore_index=True)
    wrong = (both["kind"] == "none") & (both["suite"] == "a1")
    both["correct"] = both["correct"] & ~wrong
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = matrix_table(both, 2, "demo")
    assert list(table) == SCHEMAS["context_matrix"].names
    cells = table.set_index(["target_suite", "prefix_suite"])
    improvements = cells.filter(like="relative_improvement")
    assert improvements.loc["a1"].isna().all(axis=None)
    assert improvements.loc[["b1", "c2"]].notna().all(axis=None)
    assert (cells.loc[("a1", "c2"), "baseline"], cells.loc[("a1", "c2"), "n_pairs"]) == (0, 6)


def test_suites_of_different_slopes_have_no_common_effect():
    """Errors of the model take the slopes of the suites for one, and find it too often."""
    random = np.random.default_rng(3)
    suite, _, later = (one.ravel() for one in np.indices((10, 6, 3)))
    found = []
    for _ in range(100):
        level, slope = random.normal(0, 1, 10)[suite], random.normal(0, 1, 10)[suite]
        right = random.random(len(suite)) < 1 / (1 + np.exp(-level - slope * (later - 1)))
        rows = pd.DataFrame({"suite": suite.astype(str), "kind": "unrelated", "correct": right,
                             "prefix_tokens": np.array([125, 350, 1000])[later]})  # fmt: skip
        fit = regression(rows, related=False).set_index("term").loc["log_length"]
        found.append([fit["suite_p"] < 0.05, fit["p"] < 0.05])
    by_suites, by_model = np.mean(found, axis=0)
    assert 0.01 <= by_suites <= 0.1
    assert by_model > 0.15


def test_intervals_of_nine_bias_types_cover_the_mean():
    """Percentiles of resamples alone cover 88%."""
    random = np.random.default_rng(5)
    covered = []
    for seed in range(200):
        right = random.random((9, 12)) < random.beta(4, 4, 9)[:, None]
        rows = pd.DataFrame({"correct": right.ravel(), "suite": np.repeat([*"abcdefghi"], 12)})
        rows = rows.assign(baseline_correct=0.5, margin=0.0, baseline_margin=0.0, pair_id="p",
                           prefix_tokens=9, n_sentences=1)  # fmt: skip
        found = summary(rows, 200, seed)
        covered.append(found["accuracy_low"] <= 0.5 <= found["accuracy_high"])
    assert 0.91 <= np.mean(covered) <= 0.98


def suite_cells(random: np.random.Generator, suites: int) -> pd.DataFrame:
    """Two unrelated matrices whose rows and columns have levels of their own, in no order."""
    cells = pd.DataFrame([(f"s{one}", f"s{other}") for one in range(suites)
                          for other in range(suites) if one != other],
                         columns=["target_suite", "prefix_suite"])  # fmt: skip
    for name in ("f1", "accuracy"):
        levels = random.normal(0, 1, (2, suites))
        codes = [cells[side].str[1:].astype(int) for side in ("target_suite", "prefix_suite")]
        cells[name] = levels[0][codes[0]] + levels[1][codes[1]] + random.normal(size=len(cells))
    return cells.sample(frac=1, random_state=0)


def test_unrelated_matrices_of_suites_seldom_correlate():
    """Cells taken for independent correlate in a quarter of runs."""
    random = np.random.default_rng(9)
    found = []
    for seed in range(120):
        cells = suite_cells(random, 10)
        value, low, high, p = matrix_correlation(cells, "f1", "accuracy", 120, seed)
        assert low < value < high
        found.append([p < 0.05, not low <= 0 <= high,
                      stats.spearmanr(cells["f1"], cells["accuracy"])[1] < 0.05])  # fmt: skip
    by_suites, by_interval, by_cells = np.mean(found, axis=0)
    assert 0.01 <= by_suites <= 0.1
    assert 0.01 <= by_interval <= 0.1
    assert by_cells > 0.15


def test_a_matrix_is_permuted_by_its_suites():
    """Six suites have 720 orders; the null hypothesis is gone through by hand."""
    cells = suite_cells(np.random.default_rng(4), 6)
    cells["accuracy"] += cells["f1"]
    value, _, _, p = matrix_correlation(cells, "f1", "accuracy", 4000, 1)
    wide = [cells.pivot(index="target_suite", columns="prefix_suite", values=name).to_numpy()
            for name in ("f1", "accuracy")]  # fmt: skip
    off = ~np.eye(6, dtype=bool)
    every = [stats.spearmanr(wide[0][np.ix_(order, order)][off], wide[1][off])[0]
             for order in map(list, permutations(range(6)))]  # fmt: skip
    assert value == pytest.approx(every[0])
    assert p == pytest.approx(np.mean(np.abs(every) >= abs(value) - 1e-9), abs=0.02)
    few = cells[cells["target_suite"].isin(["s0", "s1", "s2"])
                & cells["prefix_suite"].isin(["s0", "s1", "s2"])]  # fmt: skip
    assert np.isnan(matrix_correlation(few, "f1", "accuracy", 10, 0)[1:]).all()


def test_pairs_correlate_by_suites_resampled():
    """Suites differ in both; within them pairs tell nothing, so that chance is that of suites."""
    random = np.random.default_rng(0)
    suite = np.repeat(np.arange(12), 30)
    level = random.normal(0, 1, 12)[suite]
    rows = pd.DataFrame({"suite": suite.astype(str), "f1": level + random.normal(0, 0.1, 360),
                         "correct": random.random(360) < 1 / (1 + np.exp(-level))})  # fmt: skip
    value, low, high, p = pair_correlation(rows, 500, 1)
    assert value == pytest.approx(np.corrcoef(rows["f1"], rows["correct"])[0, 1])
    drawn = [np.concatenate([30 * one + np.arange(30) for one in random.choice(12, 12)])
             for _ in range(1000)]  # fmt: skip
    bootstrap = [np.corrcoef(rows["f1"][one], rows["correct"][one])[0, 1] for one in drawn]
    ends = np.quantile(bootstrap, [0.025, 0.975])
    factor = stats.t.ppf(0.975, 11) / stats.norm.ppf(0.975) * np.sqrt(12 / 11)
    assert (low, high) == pytest.approx(value + factor * (ends - value), abs=0.03)
    assert np.isnan(p)
    assert np.isnan(pair_correlation(rows.assign(suite="s"), 20, 1)[1])


def test_f1_counts_repeated_entries():
    # Two shared of three and four: 2 * 2 / 7.
    assert f1("aab", "aacc") == pytest.approx(4 / 7)
    assert f1("", "a") == 0
    assert words("Don't stop, now!") == ["don't", "stop", "now"]


def bags(texts):
    return [text.rstrip(".").lower().split() for text in texts]


def test_overlaps_in_one_matrix_are_those_of_two_bags():
    texts = ["A a b.", "A a c c.", "D.", "B a a."]
    overlaps = Overlaps(texts, bags)
    ones = [one for one in texts for _ in texts]
    others = texts * len(texts)
    expected = [f1(*bags(pair)) for pair in zip(ones, others, strict=True)]
    assert overlaps.f1(ones, others) == pytest.approx(expected)


STIMULI = pd.DataFrame(
    {
        "item_id": ["1", "2", "3", "4", "5"],
        "pair_id": ["p", "p", "q", "r", "s"],
        "text": ["A b.", "B a.", "A c.", "D e.", "D f."],
        "grammatical": [True, False, True, True, True],
        "paradigm": ["x", "x", "x", "y", "y"],
    }
)


def test_overlaps_of_suites_leave_a_sentence_out_with_itself():
    table = suite_overlaps(STIMULI, bags, 2, np.random.default_rng(0))
    cells = table.set_index(["target_suite", "prefix_suite"])["f1"]
    # A b with A c, D e with D f: one of two words; nothing is shared across suites.
    assert cells.loc[("x", "x")] == pytest.approx(0.5)
    assert cells.loc[("y", "y")] == pytest.approx(0.5)
    assert cells.loc[("x", "y")] == 0


def test_sentences_of_two_suites_are_paired_as_they_were_drawn():
    pools = {"x": ["A b.", "C d.", "E f."], "y": ["A b c.", "C g.", "E h i j."]}
    rows = [(suite, text, True) for suite, pool in pools.items() for text in pool]
    stimuli = pd.DataFrame(rows, columns=["paradigm", "text", "grammatical"])
    table = suite_overlaps(stimuli, bags, 3, np.random.default_rng(1))
    random = np.random.default_rng(1)
    drawn = [random.choice(pool, 3, replace=False) for pool in pools.values()]
    expected = np.mean([f1(*bags(pair)) for pair in zip(*drawn, strict=True)])
    assert expected > 0
    between = table[table["target_suite"] != table["prefix_suite"]]["f1"]
    assert between.tolist() == pytest.approx([expected, expected])


def test_a_suite_of_one_sentence_has_no_overlap_with_itself():
    alone = STIMULI[STIMULI["pair_id"].isin(["p", "s"])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells = suite_overlaps(alone, bags, 2, np.random.default_rng(0))["f1"]
    assert cells.isna().tolist() == [True, False, False, True]


def test_overlap_of_a_prefix_is_the_mean_over_its_sentences():
    prefixes = pd.DataFrame(
        {"prefix_id": ["x"], "pair_ids": [["p"]], "source_ids": [["3", "4", "3"]]}
    )
    table = prefix_overlaps(prefixes, STIMULI, bags)
    assert table["f1"].tolist() == [pytest.approx([0.5, 0.25, 1 / 3])]


def test_overlaps_of_prefixes_are_those_of_each_alone(monkeypatch):
    """In pieces as at once, before several pairs, and however many sentences each has."""
    prefixes = pd.DataFrame(
        {
            "prefix_id": ["x", "y", "z"],
            "pair_ids": [["p", "q"], ["r"], ["s"]],
            "source_ids": [["3", "4", "3"], ["5"], ["4", "1"]],
        }
    )
    whole = prefix_overlaps(prefixes, STIMULI, bags)
    assert whole["pair_id"].tolist() == ["p", "q", "r", "s"]
    text = STIMULI.set_index("item_id")["text"]
    targets = {"p": "1", "q": "3", "r": "4", "s": "5"}
    for (pair, grown), source_ids in zip(
        whole[["pair_id", "f1"]].itertuples(index=False),
        prefixes["source_ids"].repeat([2, 1, 1]),
        strict=True,
    ):
        each = [f1(*bags([text[targets[pair]], text[source]])) for source in source_ids]
        assert grown == pytest.approx([np.mean(each[:n]) for n in range(1, len(each) + 1)])
    for at_once in (1, 3):
        monkeypatch.setattr("lingprob.papers.context.overlaps.PREFIXES_AT_ONCE", at_once)
        assert prefix_overlaps(prefixes, STIMULI, bags).equals(whole)


def test_tables_of_overlaps_have_both_measures_and_acceptable_prefixes_alone():
    """Tokens between blanks: A c shares one of two with A b; words of one form, nothing else."""
    kinds = ["matched_acceptable", "matched_unacceptable", "mismatched_acceptable"]
    prefixes = pd.DataFrame(
        {
            "prefix_id": ["m", "u", "x"],
            "kind": kinds,
            "suite": "x",
            "pair_ids": [["p"]] * 3,
            "source_ids": [["3", "4"], ["2"], ["4"]],
        }
    )

    def tokenize(texts):
        return [[(0, 1), (2, 3)] for _ in texts]

    between, of_prefixes = overlaps(
        STIMULI.assign(phenomenon="z"),
        prefixes,
        tokenize,
        dataset="mine",
        sentences=2,
        seed=0,
        scale="demo",
    )
    assert between["measure"].tolist() == ["token", "dependency"]  # of suite x alone
    assert set(between["target_suite"]) == {"x"}
    assert between["f1"].iloc[0] == pytest.approx(0.5)
    assert 0 < between["f1"].iloc[1] <= 1
    by = of_prefixes.set_index(["measure", "prefix_id"])["f1"]
    assert set(of_prefixes["prefix_id"]) == {"m", "x"}
    assert by[("token", "m")] == pytest.approx([0.5, 0.25])
    assert by[("token", "x")] == [0]
    assert len(by[("dependency", "m")]) == 2
