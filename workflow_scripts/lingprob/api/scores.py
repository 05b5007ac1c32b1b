"""What `score` returns, of whichever kind of model."""

from __future__ import annotations

import pandas as pd


def stimuli_of(texts: list[str]) -> pd.DataFrame:
    """Return sentences with what scoring reads of a `stimuli` table; they are numbered from 1."""
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    return pd.DataFrame({"item_id": numbers, "text": texts})


def score_table(
    texts: list[str], table: pd.DataFrame, has_unigrams: bool, index: pd.Index | None
) -> pd.DataFrame:
    """Return sentences with logprob (nats), n_tokens, mean_logprob and, with unigrams, SLOR.

    `table` has logprob, n_tokens and, with unigrams, unigram_logprob (nats), a row a text in their
    order; `index` is that of the result, from 0 if None.
    """
    logprob, n_tokens = table["logprob"].to_numpy(), table["n_tokens"].to_numpy()
    found = {"sentence": texts, "logprob": logprob, "n_tokens": n_tokens}
    found["mean_logprob"] = logprob / n_tokens
    if has_unigrams:
        found["unigram_logprob"] = table["unigram_logprob"].to_numpy()
        found["slor"] = (logprob - found["unigram_logprob"]) / n_tokens
    return pd.DataFrame(found, index=index)
