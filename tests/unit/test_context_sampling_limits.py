"""Draws at their limits: what is in no pool, pools that just suffice, matrices of two suites."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from lingprob.context.names import FROM_SUITE
from lingprob.context.sampling import PrefixSampler, sample_contexts, sample_targets
from lingprob.errors import LingprobError

CONTROL = [f"Unrelated text {number} here." for number in range(30)]


def words_as_tokens(texts):
    """Offsets of a tokenizer whose tokens are words with the blank before them."""
    return [
        np.array([match.span() for match in re.finditer(r"\s?\S+", text)]).reshape(-1, 2)
        for text in texts
    ]


def stimuli(suites: str = "abc", pairs: int = 10) -> pd.DataFrame:
    """Suites of pairs of four-word sentences."""
    rows = [
        (f"{suite}{pair}{side}", f"{suite}{pair}", f"Sentence {suite} {pair} {side}.",
         side == "good", "p", suite)
        for suite in suites for pair in range(pairs) for side in ("good", "bad")
    ]  # fmt: skip
    columns = ["item_id", "pair_id", "text", "grammatical", "phenomenon", "paradigm"]
    return pd.DataFrame(rows, columns=columns).astype({"grammatical": object})


def sampler(table: pd.DataFrame, **changes) -> PrefixSampler:
    options = {"suites": (), "control": CONTROL, "tokenize": words_as_tokens, "max_tokens": 1000,
               "min_tokens": 4, "seed": 1}  # fmt: skip
    return PrefixSampler("mine", table, **{**options, **changes})


def contexts(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    settings = {"lengths": [4, 20], "pairs_per_prefix": 1, "matrix_sentences": 3,
                "matrix_prefixes": 1, "matrix_targets": None}  # fmt: skip
    pieces = sample_contexts(dataset, table, CONTROL, words_as_tokens, suites=[],
                             pairs_per_suite=2, settings=settings, seed=1)  # fmt: skip
    return pd.concat(pieces, ignore_index=True)


def test_an_unrelated_sentence_has_no_words_of_the_targets_suite():
    table = stimuli()
    table.loc[table["item_id"] == "a5good", "text"] = CONTROL[7]
    drawn = sampler(table)
    assert set(drawn.grow("a", ["a3"], "unrelated").sentences) == {*CONTROL} - {CONTROL[7]}
    assert set(drawn.grow("b", ["b3"], "unrelated").sentences) == {*CONTROL}


def test_only_suites_that_are_named_stand_in_contexts():
    prefix = sampler(stimuli(), suites=["a", "b"]).grow("a", ["a3"], "mismatched_acceptable")
    assert sorted(prefix.source_ids) == [f"b{pair}good" for pair in range(10)]


def test_members_of_unknown_acceptability_stand_nowhere_and_keep_nothing_else_out():
    table = stimuli()
    table.loc[table["pair_id"] == "a3", "grammatical"] = None
    for side in ("acceptable", "unacceptable"):
        prefix = sampler(table).grow("a", ["a3"], f"matched_{side}")
        name = {"acceptable": "good", "unacceptable": "bad"}[side]
        assert sorted(prefix.source_ids) == [f"a{pair}{name}" for pair in range(10) if pair != 3]


@pytest.mark.parametrize(
    ("max_tokens", "ends"), [(7, {}), (8, {"suite 'a', matched_acceptable": 12})]
)
def test_a_pool_is_exhausted_unless_it_is_more_than_enough(max_tokens, ends):
    """Three sentences of four tokens are more than 1.5 times seven and no more than that of 8."""
    drawn = sampler(stimuli(pairs=4), max_tokens=max_tokens)
    assert len(drawn.grow("a", ["a0"], "matched_acceptable").sentences) == 3
    assert drawn.exhausted == ends


def test_so_many_sentences_of_a_suite_are_enough_whatever_their_length():
    drawn = sampler(stimuli(pairs=4), min_tokens=100)
    assert len(drawn.from_suite("a", ["b1"], 0, 4).sentences) == 4
    assert drawn.exhausted == {}
    assert len(drawn.from_suite("a", ["b1"], 0, 5).sentences) == 4
    assert drawn.exhausted == {"suite 'a'": 16}


def test_a_suite_without_a_sentence_of_its_own_precedes_no_other():
    table = stimuli("ab", 3)
    table.loc[table["item_id"].str.fullmatch("b.bad"), "text"] = [
        f"Sentence a {pair} good." for pair in range(3)
    ]
    with pytest.raises(LingprobError, match=r"suite 'a': its 0 sentences have 0 tokens"):
        sampler(table).from_suite("a", ["b0"], 0, 5)


def test_sentences_are_counted_with_the_blank_before_them_once_each():
    seen = []

    def tokenize(texts):
        seen.extend(texts)
        return words_as_tokens(texts)

    drawn = sampler(stimuli(), control=[f"Word {n} it is." for n in range(300)], tokenize=tokenize)
    prefix = drawn.grow("a", ["a3"], "unrelated")
    assert len(prefix.sentences) == 300  # 1,200 tokens of 1,500 that would do
    assert sorted(seen) == sorted(f" {sentence}" for sentence in prefix.sentences)


def test_a_pair_without_a_name_is_refused_and_two_pairs_are_a_suite():
    table = stimuli("ab", 2)
    assert set(sample_targets("mine", table, [], None, 0)["pair_id"]) == {"a0", "a1", "b0", "b1"}
    nameless = table.assign(pair_id=table["pair_id"].where(table["pair_id"] != "b1"))
    with pytest.raises(LingprobError, match=r"'mine', pair '\(none\)': a pair needs two sentences"):
        sample_targets("mine", nameless, [], None, 0)


@pytest.mark.parametrize(
    ("dataset", "sentences"), [("mine", [3, 3]), ("syntaxgym", [8, 8]), ("crows_pairs", [])]
)
def test_a_matrix_of_two_suites_has_so_many_sentences_or_as_many_as_fit(dataset, sentences):
    """Eight sentences of four tokens are more than 1.5 times twenty."""
    kinds = contexts(stimuli("ab"), dataset).set_index("kind")["source_ids"]
    of_matrix = kinds[kinds.index == FROM_SUITE]
    assert of_matrix.map(len).tolist() == sentences
    assert len(kinds) == 2 * 2 * 5 + len(sentences)
    assert FROM_SUITE not in kinds.index[:20]
