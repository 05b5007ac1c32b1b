"""Accuracies, matrices, overlaps and correlations against values by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lingprob.context.names import KINDS, MATCHED
from lingprob.context.responses import at_longest, in_categories, responsive_suites
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.context.analysis import (
    accuracy_table,
    extreme_suites,
    matrix_table,
    unprefixed_accuracy,
)
from lingprob.papers.context.claims import context_quantities
from lingprob.papers.context.statistics import (
    baseline_correlations,
    design,
    overlap_correlations,
    perturbation_correlations,
    perturbation_points,
    regression,
    regressions,
    sharing,
    suite_points,
)
from lingprob.papers.context.summary import Settings, summarise, with_unchanged


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
    assert (overall["delta_low"], overall["delta_high"]) == (-1, 0)
    inside = table.loc[("suite", "a")]
    assert (inside["accuracy_low"], inside["accuracy_high"]) == (1, 1)


def test_the_longest_prefix_of_each_pair_counts():
    rows = [
        *ALONE,
        ("a1", "p", "matched_acceptable", 10, 1),
        ("a1", "p", "matched_acceptable", 30, 0),
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
    points = suite_points(rows, "matched_acceptable", 2)
    assert (points["suite"].tolist(), points["n_pairs"].tolist()) == (["a1"], [2])
    assert list(points) == ["model", "dataset", "suite", "baseline", "accuracy", "n_pairs"]
    table = extreme_suites(accuracy, "d", "matched_acceptable")
    assert table["n"].tolist() == [2]


def test_unprefixed_accuracy_is_of_all_pairs_and_each_suite_under_each_policy():
    alone = judgments(ALONE)
    policies = [alone.assign(bos_policy="bos"), alone.assign(bos_policy="none", correct=False)]
    table = unprefixed_accuracy(pd.concat(policies), 500, 0, "demo")
    found = table.set_index(["bos_policy", "level", "group"])["accuracy"].to_dict()
    assert found[("bos", "all", "all")] == pytest.approx(2 / 3)
    assert found[("bos", "suite", "a1")] == 0.5
    assert found[("bos", "suite", "b2")] == 1
    assert {found[key] for key in found if key[0] == "none"} == {0}
    of_all = table[(table["level"] == "all") & (table["bos_policy"] == "bos")].iloc[0]
    # Suites are resampled: a1 twice (.5), b2 twice (1), or both.
    assert (of_all["accuracy_low"], of_all["accuracy_high"]) == (0.5, 1.0)
    assert of_all["n_pairs"] == 3


def test_pairs_without_a_phenomenon_are_a_group_of_their_own():
    rows = judgments([*ALONE, ("a1", "p", "unrelated", 10, 0), ("b2", "r", "unrelated", 10, 1)])
    nameless = rows.assign(phenomenon=None)
    alone = nameless[nameless["kind"] == "none"].assign(bos_policy="bos")
    assert unprefixed_accuracy(alone, 10, 0, "demo")["n_pairs"].tolist() == [3, 2, 1]
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
    table = baseline_correlations(judgments(rows), 1, "demo").set_index("y")
    assert table.loc["matched_acceptable", "value"] == pytest.approx(-1)
    assert table.loc["matched_acceptable", "n"] == 4
    right = judgments(rows).assign(correct=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert baseline_correlations(right, 1, "demo")["value"].isna().all()


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
    table = overlap_correlations(judged, overlaps, matrix, overlap, "demo")
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


def test_perturbations_average_over_lengths():
    accuracy = pd.DataFrame(
        {
            "model": "m",
            "dataset": "d",
            "level": "all",
            "kind": "matched_acceptable",
            "perturbation": ["original", "original", "all", "all", "quote", "quote"],
            "delta": [0.2, 0.4, 0.0, 0.1, 0.1, 0.3],
            "n_pairs": 12,
        }
    )
    # Phenomena and prefixes of other kinds are no points.
    others = [accuracy.assign(level="phenomenon"), accuracy.assign(kind="unrelated")]
    accuracy = pd.concat([accuracy, *(other.assign(delta=9.0) for other in others)])
    points = perturbation_points(accuracy, pd.Series({"all": 0.5, "quote": 0.7}))
    assert points["delta"].tolist() == pytest.approx([0.3, 0.05, 0.2])
    assert points["similarity"].tolist() == [1.0, 0.5, 0.7]
    assert perturbation_correlations(points, "demo")["value"].tolist() == pytest.approx([1])


def test_correlations_need_three_points_that_vary():
    """Two values are enough: ranks 1.5, 1.5 and 3 with 1, 2 and 3 have rho sqrt(3) / 2."""
    points = pd.DataFrame({"model": "m", "dataset": "d", "kind": "k", "delta": [0.1, 0.1, 0.4]})
    points["similarity"] = [0.2, 0.3, 0.4]

    def value(changed: pd.DataFrame) -> float:
        return perturbation_correlations(changed, "demo")["value"].item()

    assert value(points) == pytest.approx(np.sqrt(3) / 2)
    turned = points.rename(columns={"delta": "similarity", "similarity": "delta"})
    assert value(turned) == pytest.approx(np.sqrt(3) / 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scipy warns of what is constant
        assert np.isnan(value(points.assign(delta=0.1)))
        assert np.isnan(value(points.assign(similarity=0.1)))
        assert np.isnan(value(points[1:]))


def test_changed_prefixes_stand_beside_the_same_pairs_own():
    rows = [*ALONE]
    rows += [("a1", "p", "matched_acceptable", length, 1) for length in (10, 20)]
    rows += [("b2", "r", "matched_acceptable", 10, 1), ("a1", "p", "unrelated", 10, 1)]
    changed = judgments([("a1", "p", "matched_acceptable", 10, 0)]).assign(
        perturbation="quote", prefix_id="quote/p"
    )
    both = with_unchanged(changed, judgments(rows), "original")
    table = accuracy_table(both, 10, 0, 1, "demo")
    overall = table[table["level"] == "all"].set_index(["kind", "perturbation"])
    assert overall.loc[("matched_acceptable", "original"), "delta"] == 0
    assert overall.loc[("matched_acceptable", "quote"), "delta"] == -1
    assert set(overall["length"]) == {10}
    assert set(overall["n_pairs"]) == {1}
    assert set(table["kind"]) == {"matched_acceptable", "acceptable"}


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
    for column in ("estimate", "std_error", "pair_std_error"):
        expected = regressions(table, "demo")[column]
        assert regressions(exhausted, "demo")[column].tolist() == expected.tolist()


def test_where_no_judgment_changes_there_is_no_standard_error_by_pairs():
    """Its sandwich is rounding noise, which made an estimate of 5e-15 significant."""
    rows = [
        (suite, f"{suite}{pair}", "unrelated", length, pair % 2)
        for suite in "abcd"
        for pair in range(6)
        for length in (10, 100, 1000)
    ]
    fit = regressions(judgments(rows), "demo").set_index("term").loc["log_length"]
    assert abs(fit["estimate"]) < 1e-9
    assert fit["p"] > 0.9
    assert fit[["pair_std_error", "pair_df", "pair_p"]].isna().all()


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
    assert found["pair_p"] < 1e-6
    # Two-sided: the chi-square of one degree of freedom of z squared, and F of t squared.
    expected = stats.chi2.sf((table["estimate"] / table["std_error"]) ** 2, 1)
    np.testing.assert_allclose(table["p"], expected, rtol=1e-9)
    assert set(table["pair_df"]) == {240 - 12}, "pairs less suites"
    expected = stats.f.sf((table["estimate"] / table["pair_std_error"]) ** 2, 1, 228)
    np.testing.assert_allclose(table["pair_p"], expected, rtol=1e-9)
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


def test_judgments_in_categories_give_the_same_tables():
    generator = np.random.default_rng(3)
    rows = [
        (suite, f"{suite}{pair}", kind, 0 if kind == "none" else length, generator.random() < 0.6)
        for suite in ("a1", "b1", "c2")
        for pair in range(12)
        for kind in ("none", *KINDS)
        for length in ((9,) if kind == "none" else (9, 18, 36))
    ]
    across = judgments([("a1", f"a1{pair}", "from_suite", 9, pair % 2) for pair in range(12)])
    plain = pd.concat([judgments(rows), across.assign(source_suite="b1")], ignore_index=True)
    changed = plain[plain["kind"] == "matched_acceptable"].assign(perturbation="quote")
    alone = plain[plain["kind"] == "none"].assign(bos_policy="bos")
    settings = {"fewest_pairs": 2, "bootstrap": 20, "seed": 1, "scale": "demo"}

    def tables(given):
        beside = with_unchanged(given(changed), given(plain), "original")
        found = summarise(given(plain), alone, Settings(**settings))
        return [*found.values(), accuracy_table(beside, **settings)]

    assert in_categories(plain)["pair_id"].dtype == "category"
    for expected, found in zip(tables(lambda frame: frame), tables(in_categories), strict=True):
        assert len(expected)
        assert found.astype(object).equals(expected.astype(object))
    found = summarise(plain, alone, Settings(**settings))
    pd.testing.assert_frame_equal(found["context_accuracy"], accuracy_table(plain, **settings))
    without = {name: settings[name] for name in ("bootstrap", "seed", "scale")}
    pd.testing.assert_frame_equal(
        found["context_unprefixed"], unprefixed_accuracy(alone, **without)
    )


def test_pairs_that_share_a_prefix_of_any_kind_are_one_unit():
    rows = pd.DataFrame(
        [("a", "p", "1"), ("a", "q", "1"), ("a", "q", "2"), ("a", "r", "2"), ("a", "s", "3"),
         ("b", "p", "4"), ("b", "t", "4"), ("b", "u", "5")],
        columns=["suite", "pair_id", "prefix_id"], index=range(10, 18),
    )  # fmt: skip
    units = sharing(rows)
    assert units.index.tolist() == rows.index.tolist()
    named = rows.groupby(units.to_numpy())["pair_id"].unique().map(list).tolist()
    assert sorted(named) == [["p", "q", "r"], ["p", "t"], ["s"], ["u"]]
    own = rows.assign(prefix_id=range(8)).drop_duplicates(["suite", "pair_id"])
    assert sharing(own).nunique() == 7


def test_where_prefixes_are_shared_an_effect_that_is_none_is_seldom_found():
    """Prefixes' slopes differ by chance: with pairs for units, a fifth of runs found an effect."""
    random = np.random.default_rng(3)
    suite, pair, later = (one.ravel() for one in np.indices((12, 20, 3)))
    tables = []
    for _ in range(60):
        slope = random.normal(0, 1, (12, 2))[suite, pair % 2]
        level = random.normal(0, 1, 12)[suite] + random.normal(0, 1, (12, 20))[suite, pair]
        rows = pd.DataFrame({
            "suite": suite.astype(str), "pair_id": pair.astype(str), "kind": "unrelated",
            "prefix_id": pd.Series(suite).astype(str) + "/" + pd.Series(pair % 2).astype(str),
            "prefix_tokens": np.array([125, 350, 1000])[later],
            "correct": random.random(len(suite)) < 1 / (1 + np.exp(-level - slope * (later - 1))),
        })  # fmt: skip
        tables.append(
            [regression(one, related=False).set_index("term").loc["log_length", "pair_p"]
             for one in (rows, rows.assign(prefix_id=rows["suite"] + "/" + rows["pair_id"]))]
        )  # fmt: skip
    together, apart = (np.array(tables) < 0.05).mean(axis=0)
    assert together <= 0.1
    assert apart >= 0.2
    assert set(regression(rows, related=False)["pair_df"]) == {2 * 12 - 12}, "prefixes less suites"
    one = rows["suite"] == "3"
    for whole in (rows["suite"], rows["prefix_id"].mask(one, rows["suite"])):
        assert "pair_p" not in regression(rows.assign(prefix_id=whole), related=False)
