"""Leakage of words, compared with all substrings of all documents, and the gain by surprisal."""

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Sequence as InSequence
from tokenizers.pre_tokenizers import Split, WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.overlap.automaton import build_index
from lingprob.overlap.streaming import scan
from lingprob.papers.leakage.regressions import Study
from overlap_reference import arrays, block, count_substrings, random_case
from studies.leaked_words.analysis import (
    covering_lengths,
    deltas_without_leaked_words,
    longest_covering,
    tokens_of_words,
)
from studies.leaked_words.figures import leakage as drawn_leakage

ENTRY = {"texts": "mine", "method": "self_paced", "unit": "subject", "measure": "time"}
OPTIONS: dict[str, Any] = {
    "contexts": {"m": "passage"}, "corrections": {"m": True},
    "bootstrap": 50, "scale": "test", "seed": 1,
}  # fmt: skip


def words_of_tokens(n_tokens: int, generator: random.Random) -> list[tuple[int, int]]:
    """Cut tokens into words of one to three of them; return each one's first and last."""
    words, first = [], 0
    while first < n_tokens:
        last = min(first + generator.choice([0, 0, 1, 2]), n_tokens - 1)
        words.append((first, last))
        first = last + 1
    return words


@pytest.mark.parametrize("cases", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_longest_match_covers_words_like_all_substrings(cases):
    """With every length counted, and with those of two, three or five tokens at least."""
    generator = random.Random(7)
    for _ in range(cases):
        passages, documents = random_case(generator)
        documents = [document for document in documents if document]
        if not documents:
            continue
        found = count_substrings(documents)
        index = build_index(arrays(passages), tokenizer_hash="t", vocabulary_size=10)
        min_length = generator.choice([1, 2, 3, 5])
        lengths = scan(index, [block(documents)], file="s", tokenizer_hash="t").lengths
        lengths = np.where(lengths >= min_length, lengths, 0).astype(np.int64)
        for number, passage in enumerate(passages):
            begin, end = index.offsets[number], index.offsets[number + 1]
            words = words_of_tokens(len(passage), generator)
            first, last = np.array(words, dtype=np.int64).reshape(-1, 2).T
            covering = longest_covering(lengths[begin:end], first, last)
            for (one, other), length in zip(words, covering, strict=True):
                matches = {
                    tuple(passage[start:stop])
                    for start in range(one + 1)
                    for stop in range(other + 1, len(passage) + 1)
                } & found.keys()
                longest = max((len(match) for match in matches), default=0)
                assert length == (longest if longest >= min_length else 0)


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    """One that cuts words before every hyphen: a-b is two tokens."""
    vocabulary = {token: n for n, token in enumerate(["?", "a", "-b", "c", "d", "e"])}
    backend = Tokenizer(WordLevel(vocabulary, unk_token="?"))
    hyphens = Split("-", behavior="merged_with_next")
    backend.pre_tokenizer = InSequence([WhitespaceSplit(), hyphens])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="?")


def test_words_have_the_tokens_of_their_letters(tokenizer):
    ids, first, last = tokens_of_words(["a-b", "c", "d-b-b"], tokenizer)
    assert ids.tolist() == [1, 2, 3, 4, 2, 2]
    assert (first.tolist(), last.tolist()) == ([0, 2, 3], [1, 2, 5])


def test_a_word_is_covered_by_its_longest_match(tokenizer):
    """The corpus has 'b c' twice and 'b c d' once. Only a whole word can be covered."""
    words = pd.DataFrame(
        {"passage_id": ["p"] * 4, "word_index": range(4), "word": ["a-b", "c", "d", "e"]}
    )
    index = build_index(arrays([[1, 2, 3, 4, 5]]), tokenizer_hash="t", vocabulary_size=6)
    documents = block([[2, 3, 4], [5, 2, 3], [1]])
    lengths = scan(index, [documents], file="s", tokenizer_hash="t").lengths
    assert covering_lengths(words, [0], index, lengths, tokenizer).tolist() == [0, 3, 3, 1]
    with pytest.raises(LingprobError, match="its tokens are not those of the index"):
        covering_lengths(words[1:], [0], index, lengths, tokenizer)


@pytest.fixture(scope="module")
def leaked() -> tuple[Study, np.ndarray]:
    """Six readers whose times follow the surprisal of leaked words alone: a third of all words,
    in overlaps of 12 or 30 tokens."""
    generator = np.random.default_rng(8)
    n = 360
    words = pd.DataFrame({"passage_id": "1", "word_index": range(n)})
    words["sentence_index"] = words["word_index"] // 6
    words["word"] = ["x" * length for length in generator.integers(1, 9, n)]
    leakage = generator.choice([2, 2, 2, 2, 12, 30], n)
    bits = generator.exponential(4, n)
    partitions = np.array(["fit", "fit", "exploratory", "held_out"])
    times = pd.concat([
        words[["passage_id", "word_index"]].assign(
            subject_id=f"s{subject}", previous_fixated=None, excluded=None,
            rt_ms=300 + 20 * np.where(leakage > 2, bits, 0) + generator.normal(0, 40, n),
            partition=partitions[(subject + words["sentence_index"]) % 4],
        )
        for subject in range(6)
    ], ignore_index=True)  # fmt: skip
    surprisal = words[["passage_id", "word_index"]].assign(
        surprisal=bits, surprisal_uncorrected=bits, n_tokens=1
    )
    counts = pd.DataFrame({"word": ["x", "xx", "xxx"], "count": [50, 30, 9]})
    return Study("mine", ENTRY, times, words, [counts], {"m": surprisal}), leakage


def test_gains_by_surprisal_on_leaked_words_follow_leakage(leaked):
    """All words would go from 2 tokens on, none from 99: no rows."""
    study, leakage = leaked
    table = deltas_without_leaked_words(study, leakage, (2, 12, 20, 99), **OPTIONS)
    assert table["threshold"].fillna(0).tolist() == [0, 12, 20]
    assert table["left_out"].tolist() == pytest.approx([0, 1 / 3, 1 / 6], abs=0.05)
    every, without_12, without_20 = table["delta"]
    assert every > 20
    assert without_12 < 5 < without_20
    assert table["delta_low"][1] < 0
    by_time = table["delta"] / table["n_evaluated"]
    assert table["delta_by_time"].tolist() == pytest.approx(by_time.tolist())
    alone = deltas_without_leaked_words(study, np.full(len(leakage), 3), **OPTIONS)
    assert alone["threshold"].isna().tolist() == [True]


def test_the_figure_has_lines_for_models_and_families(leaked):
    table = deltas_without_leaked_words(*leaked, (12, 20), **OPTIONS)
    model = {"title": "M", "family": "f", "family_title": "F", "parameters": 10}
    figure = drawn_leakage(table, describe_models({"m": model}), {"mine": "Mine"})
    (axis,) = figure.axes
    assert [len(line.get_xdata()) for line in axis.lines] == [3, 3, 2]
    assert axis.lines[1].get_ydata()[0] == pytest.approx(1000 * table["delta_by_time"][0])
    labels = [label.get_text() for label in axis.get_xticklabels()]
    shares = table["left_out"]
    assert labels == ["all", f"20\n({shares[2]:.1%})", f"12\n({shares[1]:.1%})"]
