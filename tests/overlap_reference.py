"""The obvious way to find longest overlaps: a table of all substrings of all documents."""

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np

from lingprob.overlap.automaton import PassageIndex, build_index
from lingprob.overlap.cdawg import Cdawg, build_cdawg
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


def index_of(passages: Sequences, vocabulary_size: int = 300) -> PassageIndex:
    """Index passages, lists of ids."""
    return build_index(arrays(passages), tokenizer_hash="t", vocabulary_size=vocabulary_size)


def graph_of(documents: Sequences, vocabulary_size: int = 300) -> Cdawg:
    """Build the graph of documents, lists of ids."""
    blocks = [block(documents, "uint32")]
    return build_cdawg(blocks, tokenizer_hash="t", vocabulary_size=vocabulary_size)


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


Aligned = tuple[int, int]  # words in common, and minus the number of gaps


def slow_soft_overlap(
    passage: Sequence[str], documents: Sequence[Sequence[str]], min_words: int, gaps: int
) -> Aligned:
    """Return words and gaps of a passage's longest soft overlap, or (0, 0) if all are shorter.

    A table has the most words in common of alignments that end before each pair of places, by
    number of gaps. Every word of both is matched, replaced, left out or put in.
    """
    found = (0, 0)
    for document in documents:
        best = np.zeros((gaps + 1, len(passage) + 1, len(document) + 1), dtype=int)
        for used in range(gaps + 1):
            for i in range(len(passage) + 1):
                for j in range(len(document) + 1):
                    ways = [0]
                    if i and j and passage[i - 1] == document[j - 1]:
                        ways.append(best[used, i - 1, j - 1] + 1)
                    if used and i and j:
                        ways.append(best[used - 1, i - 1, j - 1])
                    if used and i:
                        ways.append(best[used - 1, i - 1, j])
                    if used and j:
                        ways.append(best[used - 1, i, j - 1])
                    best[used, i, j] = max(ways)
            found = max(found, (int(best[used].max()), -used))
    return (found[0], -found[1]) if found[0] >= min_words else (0, 0)


def words_in_common(one: Sequence[str], other: Sequence[str], gaps: int) -> int:
    """Return the most words that two stretches have in common with `gaps` gaps, or -1."""
    if gaps < 0:
        return -1
    if not one or not other:
        return 0 if len(one) + len(other) <= gaps else -1
    ways = [
        words_in_common(one[1:], other[1:], gaps - 1),
        words_in_common(one[1:], other, gaps - 1),
        words_in_common(one, other[1:], gaps - 1),
    ]
    if one[0] == other[0]:
        rest = words_in_common(one[1:], other[1:], gaps)
        ways.append(rest + 1 if rest >= 0 else -1)
    return max(ways)
