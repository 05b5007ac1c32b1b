"""A backoff n-gram model as sorted arrays, whoever estimated it.

An n-gram is known by its key, the place of its first n - 1 tokens among those of its order times
the size of the vocabulary, plus its last token: so what may follow a context lies together. One
token id, the `mark`, stands for both ends of a sentence: as context it is the beginning, as
outcome the end, and neither is ever the other.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError


@dataclass(frozen=True)
class NgramTables:
    """Interpolated log-probabilities (nats, float32) and backoff weights of the n-grams seen.

    `logprobs[0]` and `backoffs[0]` are of shape (V,), a value for each token id; `logprobs[k]`
    and `keys[k]` (int64, ascending) of the n-grams of order k + 1, where `keys[0]` is empty, and
    `backoffs[k]` (nats) of those as contexts, for all orders but the highest.
    """

    keys: list[np.ndarray]
    logprobs: list[np.ndarray]
    backoffs: list[np.ndarray]

    @property
    def order(self) -> int:
        """The tokens of the longest n-grams."""
        return len(self.logprobs)

    @property
    def vocabulary_size(self) -> int:
        """The number V of token ids."""
        return len(self.logprobs[0])


def read_arpa(path: Path, vocabulary_size: int, mark: int) -> NgramTables:
    """Read the ARPA file of a model whose words are token ids, written as numbers.

    `<s>` and `</s>` become `mark`. What the file gives `<unk>` is the probability of each of the
    ids that it does not have.

    Raises LingprobError if it has them all: then the probabilities do not sum to one.
    """
    with open(path, encoding="utf-8") as stream:
        counts = _header(stream)
        parts = [_section(stream, n, order, mark) for order, n in enumerate(counts, start=1)]
    words, logprob, backoff = parts[0]
    unknown, ids = words[:, 0] < 0, words[:, 0]
    # The beginning of a sentence is no outcome: of its two rows the end's has the probability.
    begins = (ids == mark) & (logprob >= 0)
    outcome = ~unknown & ~begins
    if len(np.unique(ids[outcome])) == vocabulary_size:
        raise LingprobError(
            f"{path}: all {vocabulary_size} tokens of the vocabulary occur, and KenLM keeps some "
            "probability for one that does not. Set `estimator: counts` in the model's entry."
        )
    first = np.full(vocabulary_size, logprob[unknown].item(), dtype=np.float32)
    first[ids[outcome]] = logprob[outcome]
    after = np.zeros(vocabulary_size, dtype=np.float32)
    after[ids[outcome]] = backoff[outcome]
    after[mark] = backoff[begins].item()
    keys, logprobs, backoffs = [np.empty(0, dtype=np.int64)], [first], [after]
    for words, logprob, backoff in parts[1:]:
        key = words[:, 0]
        for place in range(1, words.shape[1]):
            key = key * vocabulary_size + words[:, place]
            if place < words.shape[1] - 1:
                key = np.searchsorted(keys[place], key)
        ascending = np.argsort(key)
        keys.append(key[ascending])
        logprobs.append(logprob[ascending])
        backoffs.append(backoff[ascending])
    return NgramTables(keys, logprobs, backoffs[:-1])


def _header(stream: TextIO) -> list[int]:
    """Return the number of n-grams of each order."""
    counts = []
    for line in stream:
        if line.startswith("ngram "):
            counts.append(int(line.partition("=")[2]))
        elif counts:
            return counts
    raise LingprobError(f"{stream.name}: not an ARPA file. Delete it and run again.")


def _section(
    stream: TextIO, n: int, order: int, mark: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return token ids (n, order), -1 for <unk>, log-probabilities and backoffs (nats)."""
    for line in stream:
        if line.startswith(f"\\{order}-grams:"):
            break
    text = "".join(islice(stream, n))
    for name, number in (("</s>", mark), ("<s>", mark), ("<unk>", -1)):
        text = text.replace(name, str(number))
    names = ["logprob", "words", "backoff"]
    rows = pd.read_csv(io.StringIO(text), sep="\t", names=names, dtype={"words": str}, quoting=3)
    words = np.array(" ".join(rows["words"]).split(" "), dtype=np.int64).reshape(n, order)
    values = rows[["logprob", "backoff"]].fillna(0.0).to_numpy(dtype=np.float64) * np.log(10)
    return words, values[:, 0].astype(np.float32), values[:, 1].astype(np.float32)


def as_numerals(sentences: Iterable[np.ndarray]) -> Iterator[str]:
    """Yield sentences of token ids as lines that KenLM reads."""
    return (f"{' '.join(map(str, ids.tolist()))}\n" for ids in sentences)
