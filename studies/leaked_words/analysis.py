"""ΔLogLik without the words that a corpus has in the same context.

A word is covered by a match that begins at or before its first token and ends at or after its last.
The scan of a corpus knows at every token how long the longest match that ends there is.
"""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numba import njit

from lingprob.errors import LingprobError
from lingprob.overlap.automaton import PassageIndex
from lingprob.papers.leakage.regressions import Study, compare_regressions

THRESHOLDS = (8, 12, 16, 24)  # tokens of a covering match from which on a word counts as leaked
MOST_LEFT_OUT = 0.5
DELTAS = ("delta", "delta_low", "delta_high")


def deltas_without_leaked_words(
    study: Study,
    leakage: np.ndarray,
    thresholds: Sequence[int] = THRESHOLDS,
    **options: Any,
) -> pd.DataFrame:
    """Return ΔLogLik of each model with all words, and without leaked ones: one row per threshold.

    Args:
        study, options: as in `compare_regressions`.
        leakage: tokens of the longest match that covers each of the study's words.
        thresholds: lengths from which on a word counts as leaked. A threshold that leaves out no
            time, or more than half of them, has no row.

    Returns:
        A `delta_log_likelihood` table with `threshold` (missing for all words), the share of times
        that are left out, and ΔLogLik by evaluated time, because fewer times are evaluated.
    """
    keys, times = ["passage_id", "word_index"], study.times
    of_times = times[keys].merge(study.words[keys].assign(leaked=leakage), on=keys, how="left")
    leaked, used = of_times["leaked"].to_numpy(), times["excluded"].isna().to_numpy()
    rows = []
    for threshold in (None, *thresholds):
        kept = np.ones(len(times), bool) if threshold is None else leaked < threshold
        left_out = float((~kept[used]).mean())
        if threshold is not None and not 0 < left_out <= MOST_LEFT_OUT:
            continue
        tables = compare_regressions(study._replace(times=times[kept]), **options)
        deltas = tables["delta_log_likelihood"]
        by_time = {f"{name}_by_time": deltas[name] / deltas["n_evaluated"] for name in DELTAS}
        rows.append(deltas.assign(threshold=threshold, left_out=left_out, **by_time))
    return pd.concat(rows, ignore_index=True).astype({"threshold": "Int64"})


def covering_lengths(
    words: pd.DataFrame,
    passages: Sequence[int],
    index: PassageIndex,
    lengths: np.ndarray,
    tokenizer: Any,
) -> np.ndarray:
    """Return the length (tokens) of the longest match that covers each word; 0 without any.

    Args:
        words: a `words` table.
        passages: numbers in the index of its passages, in the table's order.
        index: the passages.
        lengths: of the longest matches that end at each token, from `scan`.
        tokenizer: the one of transformers that the index was made with.

    Raises LingprobError if the tokens are not the index's.
    """
    parts = []
    for number, (name, part) in zip(passages, words.groupby("passage_id", sort=False), strict=True):
        begin, end = int(index.offsets[number]), int(index.offsets[number + 1])
        ids, first, last = tokens_of_words(part["word"].tolist(), tokenizer)
        if not np.array_equal(ids, index.tokens[begin:end]):
            raise LingprobError(
                f"passage {name!r}: its tokens are not those of the index. "
                "Delete results/overlap/index.npz and run again."
            )
        parts.append(longest_covering(lengths[begin:end].astype(np.int64), first, last))
    return np.concatenate(parts)


def tokens_of_words(words: Sequence[str], tokenizer: Any) -> tuple[np.ndarray, ...]:
    """Return the token ids of words joined by single spaces, and each word's first and last token.

    All are int64 arrays. A token belongs to each word whose letters it contains.
    """
    encoded = tokenizer(
        " ".join(words), add_special_tokens=False, split_special_tokens=True,
        return_attention_mask=False, return_offsets_mapping=True,
    )  # fmt: skip
    spans = np.array(encoded["offset_mapping"], dtype=np.int64).reshape(-1, 2)
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    # Spaces lead tokens or follow them: the first token that ends after the word's first letter
    # begins, and the last that begins before its last one ends.
    first = np.searchsorted(spans[:, 1], starts, side="right")
    last = np.searchsorted(spans[:, 0], ends, side="left") - 1
    return np.array(encoded["input_ids"], dtype=np.int64), first, np.maximum(first, last)


@njit(cache=True)
def longest_covering(lengths, first, last):
    """Return the length of the longest match that covers each word, int64 (n_words,).

    lengths: int64 (n_tokens,), of the longest match that ends at each token of a passage, or 0
        if it is too short to count.
    first, last: int64 (n_words,), the first and last token of each word.

    The later a longest match ends, the later it begins: the first that begins after the word ends
    the search.
    """
    found = np.zeros(len(first), np.int64)
    for word in range(len(first)):
        for place in range(last[word], len(lengths)):
            if lengths[place] == 0:
                continue
            if place - lengths[place] + 1 > first[word]:
                break
            found[word] = max(found[word], lengths[place])
    return found
