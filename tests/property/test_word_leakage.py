"""Leakage word by word: against all substrings of all documents, on random small cases."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Sequence as InSequence
from tokenizers.pre_tokenizers import Split, WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.overlap.automaton import build_index
from lingprob.overlap.passages import longest_matches
from lingprob.overlap.streaming import scan
from lingprob.overlap.words import covering_matches, tokens_of_words, word_leakage
from overlap_reference import arrays, block, count_substrings, random_case


def words_of_tokens(n_tokens: int, generator: random.Random) -> list[tuple[int, int]]:
    """Cut tokens into words of one to three of them; return each one's first and last."""
    words, first = [], 0
    while first < n_tokens:
        last = min(first + generator.choice([0, 0, 1, 2]), n_tokens - 1)
        words.append((first, last))
        first = last + 1
    return words


@pytest.mark.parametrize("cases", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_longest_match_that_covers_a_word_is_that_of_all_substrings(cases):
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
        result = scan(index, [block(documents)], file="s", tokenizer_hash="t")
        lengths, frequencies = longest_matches(index, result)
        lengths = np.where(lengths >= min_length, lengths, 0).astype(np.int64)
        for number, passage in enumerate(passages):
            begin, end = index.offsets[number], index.offsets[number + 1]
            words = words_of_tokens(len(passage), generator)
            first, last = np.array(words, dtype=np.int64).reshape(-1, 2).T
            places = covering_matches(lengths[begin:end], first, last)
            for (one, other), place in zip(words, places, strict=True):
                covering = {
                    tuple(passage[start:stop])
                    for start in range(one + 1)
                    for stop in range(other + 1, len(passage) + 1)
                } & found.keys()
                longest = max((len(match) for match in covering), default=0)
                if longest < min_length:
                    assert place == -1
                    continue
                assert lengths[begin + place] == longest
                match = tuple(passage[place - longest + 1 : place + 1])
                assert frequencies[begin + place] == found[match]


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


def test_a_word_is_covered_as_far_as_its_longest_match_reaches(tokenizer):
    """The corpus has 'b c' twice and 'b c d' once; a word is covered only if it is as a whole."""
    words = pd.DataFrame(
        {"passage_id": ["p"] * 4, "word_index": range(4), "word": ["a-b", "c", "d", "e"]}
    )
    index = build_index(arrays([[1, 2, 3, 4, 5]]), tokenizer_hash="t", vocabulary_size=6)
    result = scan(
        index, [block([[2, 3, 4], [5, 2, 3], [1]])], file="s", tokenizer_hash="t"
    )  # fmt: skip
    table = word_leakage(words, [0], index, longest_matches(index, result), tokenizer)
    columns = ["ending_tokens", "ending_frequency", "covering_tokens", "covering_frequency"]
    assert table[columns].to_numpy().tolist() == [
        [1, 2, 0, 0], [2, 2, 3, 1], [3, 1, 3, 1], [1, 1, 1, 1]
    ]  # fmt: skip
    with pytest.raises(LingprobError, match="its tokens are not those of the index"):
        word_leakage(words[1:], [0], index, longest_matches(index, result), tokenizer)
