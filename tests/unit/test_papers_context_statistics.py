"""Regressions, correlations and overlaps of contexts, against values by hand."""

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgments_for_tests import ALONE, judgments
from lingprob.context.names import MATCHED, MISMATCHED
from lingprob.context.perturbations import f1, words
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.context.analysis import Settings, accuracy_table
from lingprob.papers.context.overlaps import overlaps, prefix_overlaps, suite_overlaps
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
)
from lingprob.stats.resampling import correlation_interval, widened


def test_correlations_are_those_of_the_points():
    rows = [
        (suite, f"{suite}{n}", "none", 0, n < k) for k, suite in enumerate("abcd") for n in range(3)
    ]
    rows += [(suite, f"{suite}{n}", "matched_acceptable", 9, n >= k)
             for k, suite in enumerate("abcd") for n in range(3)]  # fmt: skip
    accuracy = accuracy_table(judgments(rows), Settings(1, 10, 0, "demo"))
    table = baseline_correlations(accuracy, "demo").set_index("y")
    assert table.loc["matched_acceptable", ["value", "n"]].tolist() == pytest.approx([-1, 4])
    right = accuracy.assign(accuracy=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert baseline_correlations(right, "demo")["value"].isna().all()


def test_overlap_correlates_by_pairs_and_by_suites():
    """Over matched prefixes the more similar are judged right, over mismatched the less."""
    kinds = ("none", "matched_acceptable", "mismatched_acceptable")
    rows = [("s", f"p{n}", kind, 9 * (kind != "none"), n % 2) for n in range(6) for kind in kinds]
    judged = judgments(rows)
    overlaps = pd.DataFrame(
        {
            "prefix_id": [f"{kind}/p{n}" for kind in kinds[1:] for n in range(6)],
            "pair_id": [f"p{n}" for n in range(6)] * 2,
            "measure": "token",
            # Of prefixes of one sentence, which are judged. The others are longer.
            "f1": [[sign * (n % 2) + 0.5, 0.0] for sign in (1, -1) for n in range(6)],
        }
    )
    opposite = overlaps["f1"].map(lambda grown: [1 - grown[0], 0.0])
    overlaps = pd.concat([overlaps, overlaps.assign(measure="dependency", f1=opposite)])
    pairs = [(target, prefix) for target in "xyz" for prefix in "xyz"]
    matrix = pd.DataFrame(pairs, columns=["target_suite", "prefix_suite"]).assign(
        model="m", dataset="d", accuracy=np.linspace(0, 1, 9), delta=np.linspace(1, 0, 9)
    )
    overlap = matrix[["dataset", "target_suite", "prefix_suite"]].assign(
        measure="token", f1=np.linspace(0, 1, 9) ** 2, scale="demo"
    )
    overlap = pd.concat([overlap, overlap.assign(measure="dependency", f1=-overlap["f1"])])
    table = overlap_correlations(judged, overlaps, matrix, overlap, "demo", 10, 0)
    table = table[table["x"].str.startswith("token")]
    of_pairs = table[table["analysis"] == "pairs"].set_index("x")["value"]
    wanted = dict(zip(kinds[1:], (1, -1), strict=True))
    named = {f"token overlap with {kind} prefixes": r for kind, r in wanted.items()}
    assert of_pairs.to_dict() == pytest.approx(named)
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
        warnings.simplefilter("error")  # scipy warns of constant input
        assert np.isnan(value([0.1] * 3, high))
        assert np.isnan(value(high, [0.1] * 3))
        assert np.isnan(value(low[1:], high[1:]))


def test_without_changed_judgments_there_is_no_error():
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


def test_factors_are_signs_and_lengths_are_centred():
    """The logarithms of the prefixes' actual tokens are 1, 2, 3 and 4 times that of 10."""
    kinds = enumerate([*MATCHED, *MISMATCHED], start=1)
    rows = [("s", "p", kind, 10**n, 1) for n, kind in kinds]
    terms = design(judgments(rows).assign(length=1000), related=True)
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
    for suite in range(12):
        for pair in range(20):
            for kind in [*MATCHED, *MISMATCHED, "unrelated"]:
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


def test_a_matrix_is_permuted_by_its_suites():
    """Six suites have 720 orders, which are all tried for the null hypothesis."""
    cells = suite_cells(np.random.default_rng(4), 6)
    cells["accuracy"] += cells["f1"]
    value, low, high, p = matrix_correlation(cells, "f1", "accuracy", 4000, 1)
    wide = [cells.pivot(index="target_suite", columns="prefix_suite", values=name).to_numpy()
            for name in ("f1", "accuracy")]  # fmt: skip
    off = ~np.eye(6, dtype=bool)
    every = [stats.spearmanr(wide[0][np.ix_(order, order)][off], wide[1][off])[0]
             for order in map(list, permutations(range(6)))]  # fmt: skip
    assert value == pytest.approx(every[0])
    assert p == pytest.approx(np.mean(np.abs(every) >= abs(value) - 1e-9), abs=0.02)
    z = np.arctanh(value) - np.arctanh(np.quantile(every, [0.975, 0.025]))
    assert (low, high) == pytest.approx(np.tanh(z), abs=0.02)
    few = cells[cells["target_suite"].isin(["s0", "s1", "s2"])
                & cells["prefix_suite"].isin(["s0", "s1", "s2"])]  # fmt: skip
    assert np.isnan(matrix_correlation(few, "f1", "accuracy", 10, 0)[1:]).all()


def test_pairs_correlate_by_suites_resampled():
    """Suites of different size are drawn with all their pairs."""
    random, suite = np.random.default_rng(0), np.repeat(np.arange(6), [5, 10, 20, 40, 40, 5])
    f1, correct = suite + random.random(120), random.random(120) < suite / 6
    rows = pd.DataFrame({"suite": suite.astype(str), "f1": f1, "correct": correct})
    value, low, high, p = pair_correlation(rows, 500, 1)
    assert value == pytest.approx(np.corrcoef(f1, correct)[0, 1])
    ends = correlation_interval(f1, correct.astype(float), suite, draws=500, seed=1)
    assert (low, high) == widened(value, ends, np.bincount(suite), (-1, 1))
    assert np.isnan(p)
    assert np.isnan(pair_correlation(rows.assign(suite="s"), 20, 1)[1])


def test_f1_counts_repeated_entries():
    # Two shared of three and four: 2 * 2 / 7.
    assert f1("aab", "aacc") == pytest.approx(4 / 7)
    assert f1("", "a") == 0
    assert words("Don't stop, now!") == ["don't", "stop", "now"]


def bags(texts):
    return [text.rstrip(".").lower().split() for text in texts]


STIMULI = pd.DataFrame(
    {
        "item_id": ["1", "2", "3", "4", "5"], "pair_id": ["p", "p", "q", "r", "s"],
        "text": ["A b.", "B a.", "A c.", "D e.", "D f."],
        "grammatical": [True, False, True, True, True], "paradigm": ["x", "x", "x", "y", "y"],
    }
)  # fmt: skip


def test_a_suite_s_overlap_excludes_a_sentence_itself():
    table = suite_overlaps(STIMULI, bags, 2, np.random.default_rng(0))
    cells = table.set_index(["target_suite", "prefix_suite"])["f1"]
    # A b with A c, D e with D f: one of two words. Suites share no word.
    assert cells.loc[("x", "x")] == pytest.approx(0.5)
    assert cells.loc[("y", "y")] == pytest.approx(0.5)
    assert cells.loc[("x", "y")] == 0


def test_sentences_of_two_suites_keep_their_pairing():
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


def test_a_suite_of_one_sentence_has_no_overlap():
    alone = STIMULI[STIMULI["pair_id"].isin(["p", "s"])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells = suite_overlaps(alone, bags, 2, np.random.default_rng(0))["f1"]
    assert cells.isna().tolist() == [True, False, False, True]


def test_overlaps_of_prefixes_are_those_of_each_alone(monkeypatch):
    """In pieces as at once, before several pairs, and however many sentences each has."""
    source_ids = [["3", "4", "3"], ["5"], ["4", "1"]]
    prefixes = pd.DataFrame({"prefix_id": ["x", "y", "z"], "pair_ids": [["p", "q"], ["r"], ["s"]],
                             "source_ids": source_ids})  # fmt: skip
    whole = prefix_overlaps(prefixes, STIMULI, bags)
    assert whole["pair_id"].tolist() == ["p", "q", "r", "s"]
    text = STIMULI.set_index("item_id")["text"]
    targets = {"p": "1", "q": "3", "r": "4", "s": "5"}
    given = zip(whole["pair_id"], whole["f1"], [source_ids[0], *source_ids], strict=True)
    for pair, grown, sources in given:
        each = [f1(*bags([text[targets[pair]], text[source]])) for source in sources]
        assert grown == pytest.approx([np.mean(each[:n]) for n in range(1, len(each) + 1)])
    for at_once in (1, 3):
        monkeypatch.setattr("lingprob.papers.context.overlaps.PREFIXES_AT_ONCE", at_once)
        assert prefix_overlaps(prefixes, STIMULI, bags).equals(whole)


def test_overlap_tables_have_acceptable_prefixes_and_both_measures():
    """Tokens between spaces: A c shares one of two with A b, and only equal forms count."""
    kinds = ["matched_acceptable", "matched_unacceptable", "mismatched_acceptable"]
    prefixes = pd.DataFrame(
        {
            "prefix_id": ["m", "u", "x"], "kind": kinds, "suite": "x", "pair_ids": [["p"]] * 3,
            "source_ids": [["3", "4"], ["2"], ["4"]],
        }
    )  # fmt: skip

    def tokenize(texts):
        return [[(0, 1), (2, 3)] for _ in texts]

    between, of_prefixes = overlaps(
        STIMULI.assign(phenomenon="z"), prefixes, tokenize, dataset="mine", sentences=2, seed=0,
        scale="demo",
    )  # fmt: skip
    assert between["measure"].tolist() == ["token", "dependency"]  # of suite x alone
    assert set(between["target_suite"]) == {"x"}
    assert between["f1"].iloc[0] == pytest.approx(0.5)
    assert 0 < between["f1"].iloc[1] <= 1
    by = of_prefixes.set_index(["measure", "prefix_id"])["f1"]
    assert set(of_prefixes["prefix_id"]) == {"m", "x"}
    assert by[("token", "m")] == pytest.approx([0.5, 0.25])
    assert by[("token", "x")] == [0]
    assert len(by[("dependency", "m")]) == 2


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
