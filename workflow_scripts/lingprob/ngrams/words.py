"""n-gram models of white-space words, which give the chance level of an overlap (leakage, §2.1).

KenLM estimates them if its programs are installed. Otherwise they are counted in memory, and have
the same methods as `kenlm.Model`.
"""

import math
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path
from lingprob.ngrams.estimate import NgramTables, count_ngrams
from lingprob.ngrams.lmplz import estimate_with_kenlm, has_kenlm, load_kenlm

MARK, UNKNOWN = 0, 1  # ids of document boundaries and of unknown words
BYTES_PER_WORD = 150  # memory of a count at order 5


class CountedWords:
    """A counted n-gram model of words, whose ids from 2 on belong to `words` in order."""

    def __init__(self, tables: NgramTables, words: Iterable[str]) -> None:
        self.tables = tables
        self.ids = {word: number for number, word in enumerate(words, start=UNKNOWN + 1)}

    def full_scores(
        self, text: str, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """Yield log10 p of each word, the order of its n-gram, and whether the word is unknown.

        `bos` and `eos` tell whether the text begins and ends a document. The end counts as a word.
        """
        ids = [self.ids.get(word, UNKNOWN) for word in text.split()]
        ids = [*[MARK] * bos, *ids, *[MARK] * eos]
        logprobs, orders = ngram_logprobs(self.tables, np.array(ids, dtype=np.int64))
        for place in range(int(bos), len(ids)):
            found = float(logprobs[place]) / math.log(10)
            yield found, int(orders[place]), ids[place] == UNKNOWN

    def score(self, text: str, bos: bool = True, eos: bool = True) -> float:
        """Return log10 p of all words of a text. Arguments as for `full_scores`."""
        return math.fsum(score for score, _, _ in self.full_scores(text, bos, eos))


def ngram_logprobs(tables: NgramTables, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ln p of each token after the tokens before it, and the order of its n-gram.

    `ids` and the orders are int64 (n,), and the log-probabilities are float64 (n,).
    """
    logprobs, orders = tables.logprobs[0][ids].astype(np.float64), np.ones(len(ids), dtype=int)
    place = ids  # index of the n-gram that ends at each token, or -1
    for order in range(2, len(tables.keys) + 1):
        ends = np.flatnonzero(place[:-1] >= 0) + 1
        context = place[ends - 1]
        logprobs[ends] += tables.backoffs[order - 2][context]
        keys, wanted = tables.keys[order - 1], context * tables.vocabulary_size + ids[ends]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        seen = keys[at] == wanted
        logprobs[ends[seen]] = tables.logprobs[order - 1][at[seen]]
        orders[ends[seen]] = order
        place = np.full(len(ids), -1)
        place[ends[seen]] = at[seen]
    return logprobs, orders


def estimate_word_model(documents: Iterable[str], order: int, memory_mb: int, target: Path) -> None:
    """Write a modified Kneser-Ney model of white-space words to the file `target`, atomically.

    A document counts as one sentence, because overlaps cross the ends of sentences (leakage, §2.1).
    Raises LingprobError if KenLM fails, or if the corpus is empty or too large for `memory_mb`.
    """
    with atomic_path(target) as temporary:
        if has_kenlm():
            lines = (f"{' '.join(document.split())}\n" for document in documents)
            estimate_with_kenlm(lines, order, memory_mb, temporary)
            return
        model = count_words(documents, order, memory_mb)
        arrays: dict[str, Any] = {"words": np.frombuffer("\n".join(model.ids).encode(), np.uint8)}
        for name, parts in vars(model.tables).items():
            arrays |= {f"{name}_{number}": part for number, part in enumerate(parts)}
        with open(temporary, "wb") as stream:
            np.savez(stream, **arrays)


def count_words(documents: Iterable[str], order: int, memory_mb: int) -> CountedWords:
    """Return the model that `estimate_word_model` describes, counted in memory."""
    ids: defaultdict[str, int] = defaultdict(lambda: len(ids) + UNKNOWN + 1)
    sentences, n_words, most = [], 0, int(memory_mb * 1e6 / BYTES_PER_WORD)
    for document in documents:
        sentence = np.array([ids[word] for word in document.split()], dtype=np.int32)
        n_words += len(sentence)
        if n_words > most:
            raise LingprobError(
                f"the corpus has more than {most:,} words, which do not fit in {memory_mb} MB. "
                "Install KenLM (its programs and the package kenlm), or name a smaller corpus or "
                "none (overlap.ngrams)."
            )
        if len(sentence):
            sentences.append(sentence)
    return CountedWords(count_ngrams(sentences, order, len(ids) + UNKNOWN + 1, MARK), ids)


def load_word_model(path: str | Path) -> Any:
    """Return the model in a file of `estimate_word_model`, or else as `load_kenlm` does."""
    if not zipfile.is_zipfile(path):
        return load_kenlm(path)
    with np.load(path) as kept:
        words = kept["words"].tobytes().decode().split("\n")
        parts: dict[str, list[np.ndarray]] = {"keys": [], "logprobs": [], "backoffs": []}
        for name, of_name in parts.items():
            while (number := f"{name}_{len(of_name)}") in kept:
                of_name.append(kept[number])
    return CountedWords(NgramTables(**parts), words)
