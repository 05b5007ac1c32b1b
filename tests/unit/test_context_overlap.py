"""How alike sentences, suites and prefixes are: values by hand, and pieces against the whole."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from lingprob.context.perturbations import f1, words
from lingprob.papers.context.overlaps import Overlaps, overlaps, prefix_overlaps, suite_overlaps


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
