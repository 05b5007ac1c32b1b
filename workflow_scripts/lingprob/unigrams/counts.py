"""Counts of the tokens and of the words of a corpus, document by document."""

from __future__ import annotations

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
    """Count a corpus's tokens (morcela, §3.2). Special tokens are neither added nor recognised.

    Each document is tokenised by itself. A shard has the documents whose index leaves its number
    modulo `n_shards`, and the counts of all shards add up to the corpus's. Progress is advanced by
    the number of tokens.

    Returns int64 of shape (V,). Raises LingprobError if the shard does not exist or a token id is V
    or more.
    """
    if not 0 <= shard < n_shards:
        raise LingprobError(f"shard {shard} of {n_shards}: shards are numbered from 0.")
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for texts in batches(islice(documents, shard, None, n_shards)):
        ids = np.fromiter(chain.from_iterable(encode(tokenizer, texts)["input_ids"]), np.int64)
        if len(ids) and not 0 <= ids.min() <= ids.max() < vocabulary_size:
            raise LingprobError(
                f"token ids from {ids.min()} to {ids.max()} in the corpus, but the model's "
                f"vocabulary has {vocabulary_size} entries: the corpus was tokenised for another "
                "model."
            )
        counts += np.bincount(ids, minlength=vocabulary_size)
        if progress is not None:
            progress.advance(len(ids))
    return counts


def count_words(documents: Iterable[str], progress: Progress | None = None) -> pd.DataFrame:
    """Count the word forms of a corpus in a `word_counts` table, the most frequent first.

    Raises LingprobError for a corpus without words.
    """
    counts: Counter[str] = Counter()
    for document in documents:
        found = split_words(document)
        counts.update(found)
        if progress is not None:
            progress.advance(len(found))
    merged: Counter[str] = Counter()
    for word, count in counts.items():
        merged[plain_word(word)] += count
    if not merged:
        raise LingprobError("the corpus of the unigrams has no words. Check its files.")
    ordered = sorted(merged.items(), key=lambda item: (-item[1], item[0]))
    return pd.DataFrame(ordered, columns=["word", "count"])
