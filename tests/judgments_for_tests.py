"""Ratings whose truth is known, by MORCELA."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lingprob.papers.morcela.predictions import DataSet

OPTIONS = {"convention": ("bos", "u"), "cluster": "sentence", "scale": "demo"}


def data_set(name: str, n: int, seed: int, gamma: float = 11, rated: bool = True) -> DataSet:
    """Pairs whose ratings follow MORCELA with beta .7, scored under two conventions."""
    random = np.random.default_rng(seed)
    n_tokens = random.integers(4, 20, n)
    unigram = -8.0 * n_tokens + random.normal(0, 8, n)
    logprob = -4.0 * n_tokens + random.normal(0, 8, n)
    rating = 0.5 * (logprob - 0.7 * unigram + gamma) / n_tokens + random.normal(0, 0.3, n)
    ids = [f"{name}{row}" for row in range(n)]
    stimuli = pd.DataFrame(
        {
            "item_id": ids,
            "pair_id": [f"{row // 2}" for row in range(n)],
            "text": [f"Sentence {row}." for row in range(n)],
            "rating": rating if rated else np.nan,
            "rating_source": "human" if rated else None,
        }
    )
    scores = pd.DataFrame({"item_id": ids, "unigram_logprob": unigram, "n_tokens": n_tokens})
    both = [
        scores.assign(bos=bos, unigrams="u", logprob=logprob + shift)
        for bos, shift in (("none", 5.0), ("bos", 0.0))
    ]
    return DataSet(stimuli, pd.concat(both, ignore_index=True))
