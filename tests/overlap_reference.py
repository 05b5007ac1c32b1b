"""The obvious way to find longest overlaps: a table of all substrings of all documents."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np

from lingprob.overlap.token_blocks import TokenBlock, block_of

Sequences = list[list[int]]


def count_substrings(documents: Sequence[Sequence[int]]) -> Counter[tuple[int, ...]]:
    """Count every substring of every document."""
    return Counter(
        tuple(document[start:end])
        for document in documents
        for start in range(len(document))
        for end in range(start + 1, len(document) + 1)
    )


def slow_matches(
    passages: Sequence[Sequence[int]], documents: Sequence[Sequence[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return length and frequency of the longest match that ends at each token."""
    found = count_substrings(documents)
    lengths, frequencies = [], []
    for passage in passages:
        for end in range(1, len(passage) + 1):
            suffixes = (tuple(passage[start:end]) for start in range(end))
            longest = next((suffix for suffix in suffixes if suffix in found), ())
            lengths.append(len(longest))
            frequencies.append(found[longest])
    return np.array(lengths, dtype=np.int64), np.array(frequencies, dtype=np.int64)


def block(documents: Sequence[Sequence[int]], dtype: str = "uint16") -> TokenBlock:
    """Join documents, lists of ids, to one block."""
    return block_of([np.array(document, dtype=np.int64) for document in documents], dtype)


def arrays(passages: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Make lists of ids arrays."""
    return [np.array(passage, dtype=np.int64) for passage in passages]


def random_case(generator: random.Random) -> tuple[Sequences, Sequences]:
    """Draw passages and documents with repeats, shared stretches and empty ones."""
    n_symbols = generator.choice([1, 2, 3, 5])

    def sequence(lengths: list[int]) -> list[int]:
        return [generator.randrange(n_symbols) for _ in range(generator.choice(lengths))]

    passages = [sequence([0, 1, 5, 12, 20]) for _ in range(generator.randint(1, 4))]
    documents = [sequence([0, 1, 5, 25, 40]) for _ in range(generator.randint(0, 4))]
    if documents and generator.random() < 0.4:
        documents.append(documents[0][:3] + passages[0][:9] + documents[-1][-4:])
    if generator.random() < 0.3:
        passages.append(passages[0][2:7])
    if generator.random() < 0.2:
        documents = [[token if token else 9 for token in document] for document in documents]
    return passages, documents
