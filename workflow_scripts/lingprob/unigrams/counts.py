"""Counts of the tokens and of the words of a corpus."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches
from lingprob.io.progress import Progress
from lingprob.io.text_units import plain_word, split_words
from lingprob.models.tokenizer import encode


def count_tokens(
    documents: Iterable[str],
    tokenizer: Any,
    vocabulary_size: int,
    *,
    shard: int = 0,
    n_shards: int = 1,
    progress: Progress | None = None,
) -> np.ndarray:
    """Return the number of occurrences of each token id in a corpus, int64 (V,) (morcela, §3.2).

    Special tokens are neither added nor recognised. A shard (from 0) has every `n_shards`-th
    document. Progress counts tokens.
    """
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for texts in batches(islice(documents, shard, None, n_shards)):
        ids = np.fromiter(chain.from_iterable(encode(tokenizer, texts)["input_ids"]), np.int64)
        counts += np.bincount(ids, minlength=vocabulary_size)
        if progress is not None:
            progress.advance(len(ids))
    return counts


def count_words(documents: Iterable[str], progress: Progress | None = None) -> pd.DataFrame:
    """Return the `word_counts` table of a corpus, the most frequent word form first.

    Word forms are in lower case without outer punctuation. Progress counts words. Raises
    LingprobError if the corpus has no words.
    """
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(found := split_words(document))
        if progress is not None:
            progress.advance(len(found))
    merged: Counter[str] = Counter()
    for word, count in counts.items():
        merged[plain_word(word)] += count
    if not merged:
        raise LingprobError("the corpus of the unigrams has no words. Check its files.")
    ordered = sorted(merged.items(), key=lambda item: (-item[1], item[0]))
    return pd.DataFrame(ordered, columns=["word", "count"])
