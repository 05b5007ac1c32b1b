"""The formal part on its own example, by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from layout import layout_faults
from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.papers.string_probability.further_figures import theory
from lingprob.papers.string_probability.theory import (
    MESSAGES,
    Language,
    assumptions,
    masses,
    meaning_matched_pairs,
    neighbourhood_sd,
    string_table,
    toy_language,
)
from lingprob.stimuli.build import build_stimuli

STRINGS = [f"{a} {b} {c}." for a, b, c in product(["The", "A"], ["moon", "moons"],
                                                  ["emerge", "emerges"])]  # fmt: skip


def test_the_paper_s_15_meaning_matched_and_7_minimal_pairs():
    pairs = meaning_matched_pairs(toy_language(STRINGS))
    assert len(pairs) == 15
    assert pairs["minimal"].sum() == 7
    by_good = pairs[pairs["minimal"]].groupby("good")["bad"].agg(sorted).to_dict()
    assert by_good == {
        "The moon emerges.": ["The moon emerge.", "The moons emerges."],
        "A moon emerges.": ["A moon emerge.", "A moons emerges."],
        "The moons emerge.": ["A moons emerge.", "The moon emerge.", "The moons emerges."],
    }
    # The paper's example of a pair that is matched and not minimal (§2.3.1).
    example = pairs[(pairs["good"] == "The moon emerges.") & (pairs["bad"] == "A moons emerge.")]
    assert example["distance"].tolist() == [3]


def test_the_example_is_the_data_set_s():
    stimuli, _ = build_stimuli("toy_strings", Catalog().dataset("toy_strings"), Path("."), 0)
    language = toy_language(stimuli["text"].tolist())
    assert language.grammatical.tolist() == stimuli["grammatical"].tolist()


def test_probabilities_by_hand():
    """Seven strings around a realization: 3, 3 and 1 of them at 1, 2 and 3 steps."""
    language = toy_language(STRINGS, error=0.3, errors=3)
    total = 3 * 0.1 + 3 * 0.1**2 + 0.1**3
    joint = language.joint()
    assert joint.sum() == pytest.approx(1)
    place = STRINGS.index("A moons emerge.")
    by_message = dict(zip(MESSAGES, joint[:, place], strict=True))
    assert by_message == {
        "The moon emerges.": pytest.approx(0.70 * 0.3 * 0.1**3 / total),
        "A moon emerges.": pytest.approx(0.25 * 0.3 * 0.1**2 / total),
        "The moons emerge.": pytest.approx(0.05 * 0.3 * 0.1 / total),
    }
    assert joint[0, STRINGS.index("The moon emerges.")] == pytest.approx(0.70 * 0.7)


def test_the_likeliest_message_of_an_ungrammatical_string_is_its_nearest():
    """§2.2.1: "*A moon emerge" is most likely meant as "A moon emerges"."""
    strings = string_table(toy_language(STRINGS)).set_index("text")
    assert strings.loc["A moon emerge.", "likeliest_message"] == "A moon emerges."
    assert strings.loc["A moon emerge.", "posterior"] > 0.9
    assert strings["probability"].sum() == pytest.approx(1)
    assert strings.loc[list(MESSAGES), "probability"].is_monotonic_decreasing


def test_assumptions_hold_for_rare_errors_and_break_for_frequent_ones():
    rare = assumptions(toy_language(STRINGS, error=0.01)).set_index("quantity")
    assert rare["holds"].all()
    # "*The moon emerge" is one step from m1 (.70) and m3 (.05), two from m2: close to .05 / .75.
    assert rare["value"].filter(like="4:").item() == pytest.approx(0.05 / 0.75, abs=0.002)
    # "*A moons emerge": .05 at one step, .25 at two, .70 at three; 5 / 3 is the steepest of all.
    assert rare["value"].filter(like="5:").item() == pytest.approx(0.25 / 0.05 / 3)
    # Around the seven minimal pairs' ungrammatical strings, over the grammatical ones' messages.
    near = {"The moon emerge.": 0.75, "The moons emerges.": 0.75, "A moon emerge.": 0.25,
            "A moons emerges.": 0.25, "A moons emerge.": 0.05}  # fmt: skip
    pairs = meaning_matched_pairs(toy_language(STRINGS)).query("minimal")
    ratios = [np.log(near[row.bad] / MESSAGES[row.good]) for row in pairs.itertuples()]
    assert rare["value"].filter(like="6:").item() == pytest.approx(np.std(ratios, ddof=1))
    log_prior = np.log(list(MESSAGES.values()))
    bounds = [0.5, np.var(log_prior, ddof=1), 0.5, 100, np.std(log_prior, ddof=1)]
    assert rare["bound"].tolist() == pytest.approx(bounds)
    limit = assumptions(toy_language(STRINGS, error=0.5))
    assert limit.loc[0, ["value", "bound", "holds"]].tolist() == [0.5, 0.5, False]
    frequent = assumptions(toy_language(STRINGS, error=0.6)).set_index("quantity")
    assert not frequent.loc["2: largest P(G = 0 | m)", "holds"]
    assert frequent.loc["2: largest P(G = 0 | m)", "value"] == pytest.approx(0.6)


def test_an_error_that_grows_with_rare_messages_is_seen_in_assumption_3(monkeypatch):
    language = toy_language(STRINGS)
    joint = language.joint()
    errors = np.array([0.001, 0.01, 0.4])[:, None]
    place = (np.arange(3), language.realization)
    given = joint / language.prior[:, None]
    given = given / 0.01 * errors
    given[place] = 1 - errors[:, 0]
    monkeypatch.setattr(Language, "joint", lambda self: language.prior[:, None] * given)
    row = assumptions(language).set_index("quantity").filter(like="3:", axis=0).iloc[0]
    assert not row["holds"]


def test_growth_below_one_and_a_spread_over_few_pairs():
    """5 / 10 of the steepest step; one pair has no spread, and two of one message none either."""
    many = assumptions(toy_language(STRINGS, errors=10)).set_index("quantity")
    assert many["value"].filter(like="5:").item() == pytest.approx(0.5)
    for strings, spread in ((("a b", "a c"), np.nan), (("a b", "a c", "a d"), 0.0)):
        language = Language(strings, np.array([1.0]), np.array([0]))
        assert neighbourhood_sd(language) == pytest.approx(spread, nan_ok=True)


def test_errors_are_one_in_a_hundred_and_of_three_kinds():
    language = toy_language(STRINGS)
    assert (language.error, language.errors) == (0.01, 3)


def test_masses_count_messages_by_distance():
    by_distance = masses(toy_language(STRINGS))
    place = STRINGS.index("The moon emerge.")
    np.testing.assert_allclose(by_distance[:, place], [0, 0.75, 0.25, 0])
    np.testing.assert_allclose(by_distance.sum(axis=0), 1)


def test_a_missing_realization_is_named():
    with pytest.raises(LingprobError, match="The moon emerges"):
        toy_language(["A moon emerges."])


def test_figure_7_names_each_curve_once_beside_it():
    """By hand: an agreement error away from one message, two or three from the others."""
    figure = theory(pd.DataFrame({"text": STRINGS}))
    right = figure.axes[1]
    names = [text.get_text() for text in right.texts]
    assert sorted(names) == [
        "*A moon emerge., *A moons emerges.",
        "*A moons emerge.",
        "*The moon emerge., *The moons emerges.",
        "A moon emerges.",
        "The moon emerges.",
        "The moons emerge.",
    ]
    assert len(right.lines) == len(names)
    assert layout_faults(figure) == []
    # Of rising curves by as much as they rise on the page, of level ones by nothing.
    for line, text in zip(right.lines, right.texts, strict=True):
        start, end = line.get_transform().transform(line.get_xydata()[[0, 6]])
        across, up = end - start
        off = text.get_rotation() - np.degrees(np.arctan2(up, across))
        assert min(off % 360, -off % 360) < 1
