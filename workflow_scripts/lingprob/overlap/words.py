"""Leakage word by word: the longest match with a corpus that ends at a word, and that covers it.

The scan knows at every token how long the longest match that ends there is, and how often it
occurs. A word is covered by a match that begins at or before its first token and ends at or after
its last.
"""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numba import njit

from lingprob.errors import LingprobError
from lingprob.overlap.automaton import StimulusIndex


def word_leakage(
    words: pd.DataFrame,
    passages: Sequence[int],
    index: StimulusIndex,
    matches: tuple[np.ndarray, np.ndarray],
    tokenizer: Any,
) -> pd.DataFrame:
    """Return a `word_leakage` table: how long and how frequent the matches at every word are.

    Args:
        words: a `words` table.
        passages: numbers in the index of its passages, in the table's order.
        index: the passages.
        matches: lengths (tokens) and frequencies, as `longest_matches` gives them.
        tokenizer: of transformers, the one that the index was made with.

    Returns:
        passage_id, word_index; ending_tokens and ending_frequency of the longest match that ends
        with the word's last token; covering_tokens and covering_frequency of the longest that
        covers the word (of several, that which ends first); both 0 where there is none.

    Raises LingprobError if the tokens are not the index's.
    """
    lengths, frequencies = matches
    parts = []
    for number, (_, part) in zip(passages, words.groupby("passage_id", sort=False), strict=True):
        begin, end = int(index.offsets[number]), int(index.offsets[number + 1])
        ids, first, last = tokens_of_words(part["word"].tolist(), tokenizer)
        if not np.array_equal(ids, index.tokens[begin:end]):
            raise LingprobError(
                f"passage {part['passage_id'].iloc[0]!r}: its tokens are not those of the index. "
                "Delete results/overlap/index.npz and run again."
            )
        length, frequency = lengths[begin:end], frequencies[begin:end]
        covering = covering_matches(length.astype(np.int64), first, last)
        there = covering >= 0
        parts.append(
            part[["passage_id", "word_index"]].assign(
                ending_tokens=length[last],
                ending_frequency=frequency[last],
                covering_tokens=np.where(there, length[covering], 0),
                covering_frequency=np.where(there, frequency[covering], 0),
            )
        )
    return pd.concat(parts, ignore_index=True)


def tokens_of_words(words: Sequence[str], tokenizer: Any) -> tuple[np.ndarray, ...]:
    """Return the token ids of words joined by single blanks, and each word's first and last token.

    int64 arrays; a token belongs to the words that it has letters of.
    """
    encoded = tokenizer(
        " ".join(words), add_special_tokens=False, split_special_tokens=True,
        return_attention_mask=False, return_offsets_mapping=True,
    )  # fmt: skip
    spans = np.array(encoded["offset_mapping"], dtype=np.int64).reshape(-1, 2)
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    # Blanks lead tokens or follow them: the first token that ends after the word's first letter
    # begins, and the last that begins before its last one ends.
    first = np.searchsorted(spans[:, 1], starts, side="right")
    last = np.searchsorted(spans[:, 0], ends, side="left") - 1
    return np.array(encoded["input_ids"], dtype=np.int64), first, np.maximum(first, last)


@njit(cache=True)
def covering_matches(lengths, first, last):
    """Return the place where the longest match that covers each word ends; -1 without any.

    lengths: int64 (n_tokens,), of the longest match that ends at each token of a passage; 0 where
        it is too short to be counted.
    first, last: int64 (n_words,), the first and last token of each word.

    Longest matches begin no earlier the later they end, since what ends at a token ended, but for
    that token, at the one before: the first that begins after the word ends the search.
    """
    found = np.full(len(first), -1)
    for word in range(len(first)):
        longest = 0
        for place in range(last[word], len(lengths)):
            if lengths[place] == 0:
                continue
            if place - lengths[place] + 1 > first[word]:
                break
            if lengths[place] > longest:
                longest = lengths[place]
                found[word] = place
    return found
