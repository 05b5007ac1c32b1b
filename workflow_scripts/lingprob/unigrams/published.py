"""Published unigram tables of the Pile: log-probabilities by token string, and counts by id.

A comparison with the counts of 16,000 training batches shows the keys of the log-probabilities of
Tjuatja et al. (2025): the decoded token with the clean-up of English spacing of transformers 4 ('
.' became '.'), so that tokens which decode alike share one value. The 30,770 keys in the
vocabulary's byte-level spelling ('Ġthe') are no frequencies: their probability falls linearly with
the logarithm of the decoded key's (ln p = -14.02 for 'Ġthe', but -3.62 for ' the'). Because of them
the file sums to 1.050 instead of 0.999. No token is mapped to them unless it decodes to such a
string.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.unigrams.estimate import sums_table

CLEANED_SPACING = {
    " .": ".", " ?": "?", " !": "!", " ,": ",", " ' ": "'",
    " n't": "n't", " 'm": "'m", " 's": "'s", " 've": "'ve", " 're": "'re",
}  # fmt: skip


def published_logprobs(
    path: str | Path,
    tokenizer: Any,
    vocabulary_size: int,
    *,
    normalise: bool = False,
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Map published log-probabilities to a tokenizer's ids by token string (morcela, §3.2).

    A token takes the value of its decoded string, or else of that string with English spacing
    cleaned up, or else the floor: the lowest published value, which is that of a very rare token.

    Args:
        path: a JSON object from token strings to natural-log probabilities.
        tokenizer: a tokenizer of transformers. The published values fit GPT-NeoX's best.
        vocabulary_size: the number V of the model's logits. Ids without a token get the floor.
        normalise: make the table sum to one. A string's probability is divided evenly among
            the ids that decode to it, cleaned-up strings get the floor, and a constant is
            subtracted. It is the same for nearly every token, so that no correlation of a linking
            function that divides by length changes.

    Returns the `unigrams` table with V rows (`count` and `std_error` null), and for its metadata
    the coverage and the effect of normalising.

    Raises LingprobError if the file is no such JSON object.
    """
    published = _read_published(Path(path))
    floor = min(published.values())
    n_tokens = min(len(tokenizer), vocabulary_size)
    decoded = pd.Series(
        [tokenizer.decode([one], clean_up_tokenization_spaces=False) for one in range(n_tokens)]
    ).reindex(range(vocabulary_size))
    exact = decoded.map(published)
    keys = decoded.where(exact.notna(), decoded.map(_cleaned_up, na_action="ignore"))
    mapped = keys.map(published)
    shared_out = (exact - np.log(decoded.map(decoded.value_counts()))).fillna(floor)
    log_total = float(np.log(np.exp(shared_out).sum()))
    logprobs = shared_out - log_total if normalise else mapped.fillna(floor)
    metadata = {
        "published_sum": _sum_of_probabilities(published.values()),
        "covered_sum": _sum_of_probabilities(mapped[~keys.duplicated()].dropna()),
        "covered_tokens": float(mapped.notna().mean()),
        "covered_tokens_exactly": float(exact.notna().mean()),
        "floor": floor,
        "sum": _sum_of_probabilities(logprobs),
        "normalising_constant": log_total,
    }
    table = pd.DataFrame(
        {
            "token_id": np.arange(vocabulary_size, dtype=np.int32),
            "count": np.nan,
            "std_error": np.nan,
            "logprob": logprobs,
        }
    )
    return table, metadata


def published_counts(path: str | Path, vocabulary_size: int) -> pd.DataFrame:
    """Read published token counts by id, such as those of 16,000 batches of the Pile.

    The .npy file has non-negative integers of shape (1, n) or (n,) with n at most V. Ids from n on
    count as never seen. Returns the `unigram_sums` table with V rows, whose sum is the number of
    tokens. Raises LingprobError if the file has other content.
    """
    try:
        counts = np.load(path)
    except (OSError, ValueError, EOFError) as error:
        raise LingprobError(f"{path}: not a NumPy file of token counts ({error}).") from error
    if counts.dtype.kind not in "ui" or counts.size != counts.shape[-1] or counts.min() < 0:
        raise LingprobError(
            f"{path}: {counts.dtype} of shape {counts.shape}. Token counts are non-negative "
            "integers of shape (1, n) or (n,)."
        )
    if counts.size > vocabulary_size:
        raise LingprobError(
            f"{path}: counts of {counts.size} tokens, but the model's vocabulary has "
            f"{vocabulary_size}: they belong to another tokenizer. Choose another source of "
            "unigrams for this model."
        )
    padded = np.zeros(vocabulary_size, dtype=np.int64)
    padded[: counts.size] = counts.ravel()
    return sums_table(padded)


def _read_published(path: Path) -> dict[str, float]:
    try:
        published = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LingprobError(f"{path}: cannot be read as JSON ({error}).") from error
    if not isinstance(published, dict) or not published:
        raise LingprobError(f"{path}: not a JSON object from token strings to log-probabilities.")
    for key, value in published.items():
        if not isinstance(value, float | int) or not -np.inf < value <= 0:
            raise LingprobError(
                f"{path}: token {key!r} has {value!r}, which is not a natural-log probability."
            )
    return {key: float(value) for key, value in published.items()}


def _cleaned_up(text: str) -> str:
    for spaced, cleaned in CLEANED_SPACING.items():
        text = text.replace(spaced, cleaned)
    return text


def _sum_of_probabilities(logprobs: Any) -> float:
    return float(np.exp(np.fromiter(logprobs, dtype=np.float64)).sum())
