"""Published unigram tables of the Pile: log-probabilities by token string, and counts by token id.

The log-probabilities of Tjuatja et al. (2025) were compared with counts of 16,000 training batches.
Their keys are decoded tokens after the clean-up of English spacing in transformers 4 (' .' became
'.'). Tokens that decode to the same string share one value. A further 30,770 keys are in the
vocabulary's byte-level spelling ('Ġthe'). Their values are no frequencies: they fall linearly with
the value of the decoded key (ln p = -14.02 for 'Ġthe', but -3.62 for ' the'). Because of them the
file sums to 1.050 instead of 0.999. A token is mapped to such a key only if it decodes to it.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.unigrams.estimate import sums_table

# Texts that lost their outer spaces in the clean-up.
SPACED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")


def published_logprobs(
    path: str | Path, tokenizer: Any, vocabulary_size: int, *, normalise: bool = False
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the `unigrams` table of published log-probabilities, and facts for its metadata.

    A token gets the value of its decoded string, or else of that string with cleaned-up spacing
    (morcela, §3.2). Other tokens, and ids without a token, get the floor, which is the lowest
    published value. The table has V rows (`vocabulary_size`), in which `count` and `std_error` are
    null. The facts are the coverage of the vocabulary and the effect of normalising.

    With `normalise`, the table sums to one: the probability of a string is divided evenly among the
    ids that decode to it, cleaned-up strings get the floor, and a constant is subtracted from all
    values. Raises LingprobError if the file is not a JSON object from token strings to natural-log
    probabilities.
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
        "covered_tokens": mapped.notna().mean(),
        "covered_tokens_exactly": exact.notna().mean(),
        "floor": floor,
        "sum": _sum_of_probabilities(logprobs),
        "normalising_constant": log_total,
    }
    columns = {"token_id": np.arange(vocabulary_size), "count": np.nan, "std_error": np.nan}
    return pd.DataFrame({**columns, "logprob": logprobs}), metadata


def published_counts(path: str | Path, vocabulary_size: int) -> pd.DataFrame:
    """Return the `unigram_sums` table, of V rows, of published token counts by id.

    The .npy file has non-negative integers of shape (1, n) or (n,) with n at most V. Ids from n on
    have a count of 0. Raises LingprobError if the file has other content.
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
            f"{path}: counts of {counts.size} tokens of another tokenizer, whose vocabulary is not "
            f"that of {vocabulary_size}. Choose another source of unigrams for this model."
        )
    padded = np.zeros(vocabulary_size, dtype=np.int64)
    padded[: counts.size] = counts.ravel()
    return sums_table(padded)


def _read_published(path: Path) -> dict[str, float]:
    try:
        published = {k: float(v) for k, v in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LingprobError(
            f"{path}: not a JSON object from token strings to log-probabilities ({error})."
        ) from error
    odd = [key for key, value in published.items() if not -np.inf < value <= 0]
    if odd or not published:
        raise LingprobError(f"{path}: no natural-log probability of token {odd[:1]}.")
    return published


def _cleaned_up(text: str) -> str:
    for spaced in SPACED:
        text = text.replace(spaced, spaced.strip())
    return text


def _sum_of_probabilities(logprobs: Any) -> float:
    return float(np.exp(np.fromiter(logprobs, dtype=np.float64)).sum())
