"""Prefixes as tables: their text, where each sentence ends, and how many tokens that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.context.sentences import ENGLISH, Writing

# Token offsets (start, end) of each text, under one tokenizer.
Tokenize = Callable[[Sequence[str]], list[np.ndarray]]
# That a tokenizer is given: it keeps some hundred bytes a token of each.
TEXTS_AT_ONCE = 500


@dataclass(frozen=True)
class Prefix:
    """Sentences before the members of some pairs of one suite (all suites for a matrix).

    `source_ids` name the sentences in the stimulus table, or in the control by their number.
    """

    prefix_id: str
    kind: str
    suite: str | None
    source_suite: str | None
    pair_ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    sentences: tuple[str, ...]


def prefix_table(
    dataset: str,
    prefixes: Sequence[Prefix],
    perturbation: str | None = None,
    writing: Writing = ENGLISH,
) -> pd.DataFrame:
    """Return a `context_prefixes` table, a row a prefix; `perturbation` is how they differ."""
    rows = []
    for prefix in prefixes:
        text, ends = writing.joined(prefix.sentences)
        rows.append(
            {
                "dataset": dataset,
                "prefix_id": f"{perturbation}/{prefix.prefix_id}"
                if perturbation
                else prefix.prefix_id,
                "kind": prefix.kind,
                "suite": prefix.suite,
                "source_suite": prefix.source_suite,
                "perturbation": perturbation,
                "similarity": None,
                "pair_ids": list(prefix.pair_ids),
                "text": text,
                "source_ids": list(prefix.source_ids),
                "char_ends": ends,
            }
        )
    return pd.DataFrame(rows)


def count_tokens(prefixes: pd.DataFrame, tokenize: Tokenize) -> list[list[int]]:
    """Return the number of tokens of each prefix up to the end of each of its sentences."""
    counts = []
    for first in range(0, len(prefixes), TEXTS_AT_ONCE):
        some = prefixes.iloc[first : first + TEXTS_AT_ONCE]
        offsets = tokenize(some["text"].tolist())
        counts += [
            np.searchsorted(spans[:, 0], ends).tolist()
            for spans, ends in zip(offsets, some["char_ends"], strict=True)
        ]
    return counts


def cuts(n_tokens: Sequence[int], lengths: Sequence[int], room: int) -> dict[int, int]:
    """Return which sentence a prefix ends with at each length, by length in tokens.

    The longest prefix of whole sentences within the length and the room; lengths below the first
    sentence, or that end where a shorter one does already, are left out.
    """
    found: dict[int, int] = {}
    for length in sorted(lengths):
        last = int(np.searchsorted(n_tokens, min(length, room), side="right")) - 1
        if last >= 0 and last not in found.values():
            found[length] = last
    return found


def sentences_within(
    prefixes: pd.DataFrame, tokenizers: Iterable[Tokenize], length: int
) -> dict[str, int]:
    """Return how many sentences of each prefix reach a length under every tokenizer, by its id."""
    reached = [
        [int(np.searchsorted(counts, length)) + 1 for counts in count_tokens(prefixes, tokenize)]
        for tokenize in tokenizers
    ]
    most = [max(of_prefix) for of_prefix in zip(*reached, strict=True)]
    return dict(zip(prefixes["prefix_id"], most, strict=True))


def tokenizer_of(manifest: str | Path) -> Tokenize:
    """Return a prepared model's tokenizer as a function from texts to token offsets."""
    from lingprob.models.tokenizer import encode, load_tokenizer

    tokenizer, _ = load_tokenizer(manifest)

    def tokenize(texts: Sequence[str]) -> list[np.ndarray]:
        offsets = encode(tokenizer, texts, offsets=True)["offset_mapping"]
        return [np.asarray(spans).reshape(-1, 2) for spans in offsets]

    return tokenize
