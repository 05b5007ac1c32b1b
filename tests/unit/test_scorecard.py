"""Verdicts, estimates and rows of scorecards, by hand and against statsmodels."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from scipy.optimize import brentq

from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.run import Run
from lingprob.scorecard.comparison import compare_numbers, judge_claims, make_scorecard, role_of
from lingprob.scorecard.estimates import (
    combined,
    known_correlation,
    mean_difference,
    slope_difference,
    slope_within,
)
from lingprob.scorecard.sentences import count_sentences, judge_sentences
from lingprob.scorecard.verdicts import Estimate, expected_range, judge_claim, judge_number


@pytest.mark.parametrize(
    ("low", "high", "value", "verdict"),
    [
        (0.8596, 0.8596, 0.8596, "reproduced"),  # within rounding
        (0.8594, 0.8594, 0.8594, "differs"),  # a count or exact value outside of it
        (0.70, 0.99, 0.8603, "reproduced"),  # within rounding, however wide
        (0.84, 0.87, 0.855, "reproduced"),  # intervals meet, and the computed one is narrow
        (0.70, 0.90, 0.80, "undecided"),  # meets it, too wide to tell
        (0.70, 0.85, 0.80, "differs"),
        (0.861, 0.99, 0.93, "differs"),
        (0.8603, 0.99, 0.93, "undecided"),  # within rounding of an end
        (0.70, 0.8597, 0.80, "undecided"),
        (math.nan, math.nan, math.nan, "not run"),
    ],
)
def test_a_number_is_judged_by_rounding_and_interval(low, high, value, verdict):
    assert judge_number(Estimate(value, low, high, 100), 0.860, 0.0005, 0.02)[0] == verdict


@pytest.mark.parametrize(
    ("low", "high", "expected", "verdict"),
    [
        (0.1, 0.5, "> 0", "supported"),
        (-0.1, 0.5, "> 0", "undecided"),
        (-0.5, -0.1, "> 0", "contradicted"),
        (0.0, 0.5, "> 0", "undecided"),
        (-1.0, 0.0, "> 0", "undecided"),
        (0.0, 1.0, "< 0", "undecided"),
        (-0.5, -0.1, "< 0", "supported"),
        (-0.5, 0.0, "< 0", "undecided"),
        (0.77, 1.05, "< 1", "undecided"),
        (0.77, 0.95, "< 1", "supported"),
        (-0.02, 0.03, "within -0.05 to 0.05", "supported"),
        (0.0, 0.05, "within 0 to 0.05", "supported"),
        (-0.02, 0.3, "within -0.05 to 0.05", "undecided"),
        (0.1, 0.3, "within -0.05 to 0.05", "contradicted"),
        (math.nan, math.nan, "> 0", "not run"),
    ],
)
def test_a_claim_is_judged_by_its_interval(low, high, expected, verdict):
    assert judge_claim(Estimate((low + high) / 2, low, high), expected)[0] == verdict


FOUR_TIMES = "n = 10; about n = 40 would tell"


@pytest.mark.parametrize(
    ("value", "low", "high", "expected", "note"),
    [
        (3.0, 1, math.inf, "> 0", "no interval"),
        (3.0, -math.inf, 5, "> 0", "no interval"),
        (3.0, math.nan, math.nan, "> 0", "no interval"),
        # The interval is half a unit either way, the limit a quarter off.
        (0.25, -0.25, 0.75, "> 0", FOUR_TIMES),
        (0.75, 0.25, 1.25, "< 1", FOUR_TIMES),
        (0.25, -0.25, 0.75, "within 0 to 0.5", FOUR_TIMES),
        (-0.25, -0.75, 0.25, "within 0 to 0.5", FOUR_TIMES),
        # As narrow as it has to be.
        (0.5, 0.0, 1.0, "> 0.5", ""),
        (0.5, 0.0, 1.0, "> 0", ""),
        (2.0, 1.25, 2.5, "within 1.5 to 3", "n = 10; about n = 16 would tell"),
    ],
)
def test_an_undecided_claim_says_what_would_tell(value, low, high, expected, note):
    assert judge_claim(Estimate(value, low, high, 10), expected) == ("undecided", note)
    counted = Estimate(value, low, high, 10, "n = 10")  # its own note is shown before
    assert judge_claim(counted, expected)[1] == note.removeprefix("n = 10; ")


def test_mistyped_expectations_and_reversed_intervals_are_refused():
    for text in ("above 0", "> zero", "within 1", "=> 0"):
        with pytest.raises(LingprobError, match="a claim expects"):
            expected_range(text)
    with pytest.raises(LingprobError, match="upside down"):
        Estimate(0, 1, -1)


def test_paired_differences_and_correlations_are_those_of_scipy():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=30), rng.normal(0.5, 1, size=30)
    theirs = stats.ttest_rel(y, x).confidence_interval(0.95)
    ours = mean_difference(x, y)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    two = stats.ttest_rel([1.0, 4.0], [0.0, 1.0]).confidence_interval(0.95)
    assert mean_difference([0, 1], [1, 4]).low == pytest.approx(two.low)
    r = stats.pearsonr(x, y)
    theirs = r.confidence_interval(0.95)
    ours = known_correlation(float(r.statistic), 30)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


PUBLISHED = {
    "paper": "mine",
    "claims": [
        {"id": "up", "section": "§1", "sentence": "It rises.", "expected": "> 0",
         "exceptions": {"small": "< 0"}, "figure": "mine/figure_1"},
        {"id": "never", "section": "§2", "sentence": "Nobody knows.", "expected": "< 0"},
    ],
    "items": [
        {"item": "Table 1", "columns": ["r", "n"], "places": [3, 0], "decides": [0.02, 0],
         "note": "as printed", "rows": {"small": [0.860, 10], "large": [0.9, 11]}},
    ],
}  # fmt: skip


def statistic(tables, run):
    for row in tables["values"].itertuples():
        yield row.model, Estimate(row.value, row.low, row.high, 10, "simulated ratings")


def never(tables, run):
    return []


def judged(published: dict, *rows: tuple[str, float, float, float]) -> pd.DataFrame:
    """Return the scorecard of claims on models, by value, low and high."""
    tables = {"values": pd.DataFrame(rows, columns=["model", "value", "low", "high"])}
    statistics = {"up": statistic, "never": never}
    return make_scorecard(judge_claims(published, statistics, tables, Run("demo")))


def test_populations_are_judged_and_exceptions_reversed():
    rows = [("small/d", -1, -2, -0.5), ("large/d", 1, -1, 2), ("huge/d", -1, -2, -0.5)]
    card = judged(PUBLISHED, *rows).set_index(["column", "row"])
    assert card["verdict"].to_dict() == {
        ("up", "small/d"): "supported", ("up", "large/d"): "undecided",
        ("up", "huge/d"): "contradicted", ("never", "(none)"): "not run",
    }  # fmt: skip
    assert card.loc[("up", "small/d"), "expected"] == "< 0"
    assert "exception" in card.loc[("up", "small/d"), "note"]
    said = "simulated ratings; n = 10; about n = 23 would tell"
    assert card.loc[("up", "large/d"), "note"] == said
    about = set(card["role"] + ", " + card["item"] + ": " + card["sentence"])
    assert about == {"simulated, §1: It rises.", "paper, §2: Nobody knows."}
    assert card.loc[("up", "huge/d"), "figure"] == "mine/figure_1"


@pytest.mark.parametrize(("names", "odd"), [("up", "never"), ("up never x", "x")])
def test_claims_and_statistics_belong_together(names, odd):
    statistics = dict.fromkeys(names.split(), never)
    with pytest.raises(LingprobError, match=rf"\['{odd}'\] are not both in the catalog"):
        judge_claims(PUBLISHED, statistics, {}, Run("demo"))


ABOUT = {"models": ["gpt2", "opt-*"], "datasets": ["blimp", "sling*"], "scales": ["laptop"]}
ENTRY = {"title": "Mine", "family": "opt", "family_title": "OPT", "source": "hub"}
ELSEWHERE = ("smollm/blimp", "gpt2/mine", "opt-tiny/blimp", "opt-mask/blimp", "opt-gram/blimp")
MODELS = describe_models({"gpt2": ENTRY, "opt-tiny": ENTRY | {"source": "trained", "size": "1m"},
                          "opt-mask": ENTRY | {"kind": "masked"}, "opt-gram": ENTRY | {
                              "source": "ngram", "tokenizer": "t", "corpus": "c"}})  # fmt: skip


@pytest.mark.parametrize(
    ("about", "claim", "note", "role"),
    [
        ("gpt2/blimp", {}, "", "paper"),
        ("opt-1b/sling_sample9, long", {}, "", "paper"),
        *((about, {}, "", "also") for about in ELSEWHERE),
        ("opt-1b/long, blimp", {}, "", "paper"),
        ("opt-tiny/blimp", {"models": ["opt-*"]}, "", "paper"),
        ("smollm/blimp", {"models": ["*"]}, "", "paper"),
        ("gpt2/mine", {"datasets": ["*"]}, "", "paper"),
        ("gpt2/blimp", {"scales": ["paper"]}, "", "also"),
        ("gpt2/published", {"datasets": ["*"]}, "", "check"),
        ("gpt2/blimp", {}, "5 pairs; simulated ratings", "simulated"),
        ("smollm/mine", {"own": True}, "", "own"),
        ("smollm/mine", {"own": True}, "simulated ratings", "own, simulated"),
    ],
)
def test_a_population_counts_if_the_sentence_names_it(about, claim, note, role):
    assert role_of(ABOUT, claim, about, note, Run("laptop", models=MODELS)) == role
    elsewhere = role_of(ABOUT, claim, about, note, Run("demo", models=MODELS))
    assert elsewhere == ("also" if role == "paper" else role)


def card_of(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Return a scorecard of rows (claim, role, verdict) whose intervals fit the verdicts."""
    intervals = {"supported": (1, 0.5, 1.5), "contradicted": (-1, -1.5, -0.5),
                 "undecided": (0.1, -0.4, 0.6), "not run": (None, None, None)}  # fmt: skip
    found = []
    for claim, role, verdict in rows:
        ours, low, high = intervals[verdict]
        found.append({"paper": "p", "kind": "claim", "role": role, "item": "§1", "row": "m",
                      "column": claim, "sentence": claim, "expected": "> 0", "ours": ours,
                      "low": low, "high": high, "verdict": verdict, "scale": "demo",
                      "note": "", "figure": "figure_1"})  # fmt: skip
    return make_scorecard(found)


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ([], "not tested"),
        (["supported", "supported"], "supported"),
        (["supported", "undecided"], "undecided"),
        (["supported", "contradicted"], "undecided"),
        (["contradicted", "undecided"], "contradicted"),
        (["undecided"], "undecided"),
    ],
)
def test_a_sentence_has_one_verdict_however_many_rows(verdicts, verdict):
    others = [("x", role, "not run") for role in ("paper", "also", "check", "simulated")]
    others += [("x", "also", "undecided"), ("x", "also", "contradicted"),
               ("x", "check", "supported"), ("x", "simulated", "supported")]  # fmt: skip
    card = card_of(*others, *[("x", "paper", word) for word in verdicts])
    (sentence,) = judge_sentences(card).to_dict("records")
    assert sentence["verdict"] == verdict
    assert sentence["also"] == "1 contradicted, 1 undecided"
    assert sentence["check"] == "1 supported"
    assert sentence["simulated"] == "yes"
    assert count_sentences(judge_sentences(card)) == [(verdict, 1)]


def test_own_sentences_are_judged_but_not_counted():
    rows = [("z", "own, simulated", "supported"), ("x", "own", "supported"),
            ("y", "paper", "undecided"), ("w", "paper", "not run"),
            *(("v", "simulated", verdict) for verdict in ("supported", "undecided"))]  # fmt: skip
    sentences = judge_sentences(card_of(*rows))
    assert dict(zip(sentences["claim"], sentences["verdict"], strict=True)) == {
        "x": "supported", "y": "undecided", "z": "not tested", "w": "not tested",
        "v": "not tested",
    }  # fmt: skip
    assert sentences["simulated"].tolist() == ["yes", "", "", "", "in 1 of 2"]
    assert sentences["figure"].isna().tolist() == [False, False, False, True, False]
    assert count_sentences(sentences) == [("undecided", 1), ("not tested", 2)]


def test_holms_correction_is_over_the_papers_tested_sentences():
    """Reach 0.5 is 1.96 standard errors: z of 3.92 (p = 8.9e-5), 0.392 and none."""
    rows = [("a", "paper", "supported"), ("a", "paper", "undecided"), ("b", "paper", "supported"),
            ("c", "also", "supported"), ("d", "own", "supported")]  # fmt: skip
    sentences = judge_sentences(card_of(*rows)).set_index("claim")
    strong, weak = (2 * stats.norm.sf(z * stats.norm.ppf(0.975)) for z in (2, 0.2))
    expected = {"a": weak, "b": strong, "c": math.nan, "d": strong}
    assert sentences["p"].to_dict() == pytest.approx(expected, nan_ok=True)
    assert sentences["populations"].tolist()[::2] == ["1 supported, 1 undecided", ""]
    assert sentences.loc["b", "p_holm"] == pytest.approx(2 * strong)
    assert sentences.loc["a", "p_holm"] == pytest.approx(weak)
    assert sentences.loc[["c", "d"], "p_holm"].isna().all()


@pytest.mark.parametrize(
    ("ours", "low", "high", "expected", "p"),
    [
        (2.0, 2.0, 2.0, "> 1", 0.0),
        (1.0, 1.0, 1.0, "> 1", 1.0),
        (0.0, 0.0, 0.0, "within 0 to 0", 0.0),
        (0.2, 0.0, 0.4, "within 0 to 1", 0.05),
        (0.2, 0.1, 0.6, "within 0 to 0.6", 0.05),
        (0.5, -0.5, 1.5, "< 0", 1.0),
        (3.0, math.nan, math.nan, "> 0", 1.0),
    ],
)
def test_the_p_of_a_sentence_fits_its_interval(ours, low, high, expected, p):
    card = card_of(("x", "paper", "supported"))
    card = card.assign(ours=ours, low=low, high=high, expected=expected)
    assert judge_sentences(card)["p"].iloc[0] == pytest.approx(p)


def test_numbers_are_judged_by_their_printed_places():
    ours = {
        ("small", "r"): Estimate(0.8604, 0.85, 0.87, 100),
        ("small", "n"): Estimate.exact(10.4),
        ("large", "r"): Estimate(0.84, 0.80, 0.88, 100, "mine"),
        ("large", "n"): Estimate.exact(10.4),
    }
    rows = compare_numbers(PUBLISHED, ours, "demo")
    card = make_scorecard(rows)
    assert card["verdict"].tolist() == ["reproduced", "reproduced", "differs", "differs"]
    assert card.loc[0, ["ours", "low", "high"]].tolist() == [0.8604, 0.85, 0.87]
    assert card["difference"].tolist() == pytest.approx([0.0004, 0.4, -0.06, -0.6])
    assert card["note"].iloc[2] == "mine; as printed"
    assert list(card.columns) == SCHEMAS["scorecard"].names
    assert set(card["role"]) == {"paper"}
    item = {**PUBLISHED["items"][0], "check": True, "figure": "f", "decides": [0.02, 5]}
    ours[("small", "n")] = Estimate(12.0, 9.0, 15.0)  # too wide for the first column
    card = make_scorecard(compare_numbers({**PUBLISHED, "items": [item]}, ours, "laptop"))
    assert card["verdict"].tolist()[1] == "reproduced"
    about = card[["role", "figure", "scale"]].drop_duplicates()
    assert about.to_numpy().tolist() == [["check", "f", "laptop"]]


def test_a_tolerance_says_why():
    rows = {"near": [0.5, 1], "far": [0.5, 1], "elsewhere": [0.5, 1]}
    item = {**PUBLISHED["items"][0], "rows": rows, "tolerance": [0.25, 0],
            "reason": "folds are not stated"}  # fmt: skip
    ours = {("near", "r"): Estimate(0.25, 0.2, 0.3), ("far", "r"): Estimate(0.2, 0.1, 0.6),
            ("near", "n"): Estimate.exact(1.3)}  # fmt: skip
    card = make_scorecard(compare_numbers({**PUBLISHED, "items": [item]}, ours, "demo"))
    by_row = card[card["column"] == "r"].set_index("row")
    assert card["verdict"].tolist()[1] == "reproduced"
    assert by_row["verdict"].tolist() == ["reproduced", "differs", "not run"]
    assert math.isnan(by_row.loc["elsewhere", "ours"])
    assert "within 0.25: folds are not stated" in by_row.loc["near", "note"]
    assert "folds" not in by_row.loc["elsewhere", "note"]


def test_low_power_is_stated_without_a_value():
    up, never_run = PUBLISHED["claims"]
    published = {**PUBLISHED, "claims": [{**up, "power": 0.4, "note": "few"}, never_run]}
    card = judged(published, ("m/d", 1, 0.5, 2))
    assert card["note"].tolist() == [
        "simulated ratings; power at the paper's size: 0.4; few", "nothing in this run tests it"
    ]  # fmt: skip
    assert card["ours"].isna().tolist() == [False, True]
    assert card.loc[0, ["ours", "low", "high"]].tolist() == [1, 0.5, 2]
    assert card["scale"].tolist() == ["demo", "demo"]


def points(seed: int, n: int = 13) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = np.array(list("abc"))[np.arange(n) % 3]
    return pd.DataFrame({"x": 5 + rng.normal(size=n), "y": rng.normal(size=n), "group": group})


def ends(found: Estimate) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def theirs(formula: str, table: pd.DataFrame, term: str) -> tuple[float, float, float]:
    fit = smf.ols(formula, table).fit()
    return (fit.params[term], *fit.conf_int().loc[term])


@pytest.mark.parametrize("seed", range(3))
def test_slopes_and_their_intervals_are_those_of_statsmodels(seed):
    table = points(seed)
    pooled = slope_within(table["x"], table["y"])
    assert ends(pooled) == pytest.approx(theirs("y ~ x", table, "x"))
    within = slope_within(table["x"], table["y"], table["group"].tolist())
    assert ends(within) == pytest.approx(theirs("y ~ x + group", table, "x"))
    assert (within.n, within.note) == (13, "13 points")
    gappy = table.assign(y=table["y"].where(table.index != 4, np.nan))
    found = slope_within(gappy["x"], gappy["y"], gappy["group"].tolist())
    assert ends(found) == pytest.approx(theirs("y ~ x + group", gappy.dropna(), "x"))
    states = gappy[gappy["group"] != "c"].dropna()
    states = states.assign(later=states["group"].eq("b").astype(float))
    found = slope_difference(gappy["x"], gappy["y"], gappy["group"].tolist(), "a", "b")
    assert ends(found) == pytest.approx(theirs("y ~ x * later", states, "x:later"))
    assert (found.n, found.note) == (len(states), f"{len(states)} points")


def test_a_slope_needs_two_degrees_of_freedom():
    four = pd.DataFrame({"x": [1, 2, 4, 5], "y": [1, 3, 2, 4]})
    found = slope_within(four["x"], four["y"])
    assert ends(found) == pytest.approx(theirs("y ~ x", four, "x"))
    assert math.isnan(slope_within([1, 2, 4], [1, 3, 2]).value)
    assert math.isnan(slope_within(four["x"], four["y"], list("aabb")).value)
    x, y, later = [1, 2, 4, 1, 3, 4], [1, 3, 2, 0, 5, 6], [0, 0, 0, 1, 1, 1]
    six = pd.DataFrame({"x": x, "y": y, "later": later})
    found = slope_difference(x, y, later, 0, 1)
    assert ends(found) == pytest.approx(theirs("y ~ x * later", six, "x:later"))
    for few in ((x[:5], y[:5], later[:5]), ([1, 2, 4, 3, 3, 3], y, later)):
        assert math.isnan(slope_difference(*few, 0, 1).value)


def test_a_constant_x_has_no_slope():
    assert math.isnan(slope_within([1e6] * 4, [1, 2, 3, 5]).value)
    rounded = 1e6 * np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    assert len(set(rounded)) == 2
    assert math.isnan(slope_within(rounded, [1, 2, 3, 5]).value)
    # The squares about the mean are compared with those about 0, and with 1.
    assert math.isnan(slope_within(1e6 + 0.01 * np.arange(4), [1, 2, 3, 5]).value)
    assert slope_within(1e6 + np.arange(4), [1, 2, 3, 5]).value == pytest.approx(1.3)
    assert slope_within(0.9e-6 * np.arange(4), [1, 2, 3, 4]).value == pytest.approx(1e6 / 0.9)


def test_missing_pairs_do_not_count_in_means():
    assert math.isnan(mean_difference([1, np.nan], [2, 3]).value)
    found = mean_difference([0.0, 1.0, np.nan, 3.0], [1.0, 4.0, 2.0, np.nan])
    assert (found.value, found.n, found.note) == (2.0, 2, "2 pairs")
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 1))


@pytest.mark.parametrize(("rho", "n"), [(0.6, 20), (-0.3, 8), (0.0, 5), (0.95, 12)])
def test_spearmans_interval_ends_where_its_test_rejects(rho, n):
    def distance(tested: float) -> float:
        error = np.sqrt((1 + tested**2 / 2) / (n - 3))
        return (np.arctanh(rho) - np.arctanh(tested)) / error

    z = stats.norm.ppf(0.975)
    low = brentq(lambda tested: distance(tested) - z, -1 + 1e-9, rho)
    high = brentq(lambda tested: distance(tested) + z, rho, 1 - 1e-9)
    found = known_correlation(rho, n, ranks=True)
    assert ends(found) == pytest.approx((rho, low, high), abs=1e-6)
    assert found.note == f"n = {n}"


def test_known_correlations_at_the_edge():
    for r in (1.0, -1.0):  # limits, without a warning of infinite values
        for ranks in (False, True):
            inner, outer = sorted(r * np.array(ends(known_correlation(r, 10, ranks=ranks))[1:]))
            assert 0 < 1 - outer < 1 - inner < 1e-9
    few = known_correlation(0.5, 3)
    assert (few.value, few.n, few.note) == (0.5, 3, "n = 3")
    assert math.isnan(few.low)
    low = np.tanh(np.arctanh(0.5) - stats.norm.ppf(0.975))
    assert known_correlation(0.5, 4).low == pytest.approx(low)
    unknown = known_correlation(math.nan, 10)
    assert (math.isnan(unknown.value), unknown.note) == (True, "")


def test_sums_of_estimates_by_hand():
    """Twice 2 (1 to 5) less half of 6 (3 to 10): 4 (2 to 10) and -3 (-5 to -1.5)."""
    found = combined([Estimate(2, 1, 5, 30), Estimate(6, 3, 10, 20)], [2, -0.5])
    assert ends(found) == pytest.approx((1, 1 - np.hypot(2, 2), 1 + np.hypot(6, 1.5)))
    assert found.n == 20


def test_an_interval_as_narrow_as_what_decides_decides():
    exactly = Estimate(0.125, 0.0, 0.25, 10)
    assert judge_number(exactly, 0.25, 0.0625, 0.125) == ("reproduced", "")
    assert judge_number(exactly, 0.25, 0.0625, 0.0625) == ("undecided", FOUR_TIMES)
    # The last bits of large numbers do not count.
    assert judge_number(Estimate.exact(1e9 + 0.5 + 1e-7), 1e9, 0.5, 0.02)[0] == "reproduced"
    assert judge_number(Estimate.exact(1.5 + 1.5e-9), 1, 0.5, 0.02)[0] == "differs"
    # Half the published interval counts as rounding.
    assert judge_number(Estimate(0.5, 0.0, 1.0, 10), 0.0, 0.5, 0.1)[0] == "reproduced"
    assert judge_number(Estimate(1.0, 0.25, 1.75, 10), 0.0, 0.75, 0.1)[0] == "reproduced"
    # Without a number of observations, or if it is narrow already, there is no note.
    assert judge_number(Estimate(0.125, 0.0, 0.25), 0.25, 0.0625, 0.0625) == ("undecided", "")
