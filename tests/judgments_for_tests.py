"""Ratings and single judgments whose truth is known, by MORCELA."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lingprob.papers.morcela.predictions import DataSet

# On the latent scale, where one judgment's noise has standard deviation 1.
SLOPES = {"p/l": 1.0, "u/l": -0.75, "1/l": 11.0}
THRESHOLDS = np.array([-2.0, -1.2, -0.4, 0.3, 1.0, 1.9])


def judgments(
    seed: int,
    *,
    items: int = 150,
    participants: int = 40,
    each: int = 50,
    sds: tuple[float, float, float] = (0.8, 0.5, 0.25),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return ratings from 1 to 7 (rating, item, participant) and the items' terms.

    Every participant judges `each` items; `sds` are those of items, of participants' shifts and of
    the logarithms of their stretches. Half of the log-probability of a token is its frequency.
    """
    random = np.random.default_rng(seed)
    length = random.integers(4, 20, items)
    unigram = random.normal(-8, 0.8, items)
    terms = pd.DataFrame(
        {"p/l": 0.5 * unigram + random.normal(0, 0.8, items), "u/l": unigram, "1/l": 1 / length}
    )
    eta = terms.to_numpy() @ list(SLOPES.values())
    eta = eta - eta.mean() + sds[0] * random.normal(size=items)
    shift = sds[1] * random.normal(size=participants)
    stretch = np.exp(sds[2] * random.normal(size=participants))
    item = np.concatenate([random.permutation(items)[:each] for _ in range(participants)])
    who = np.repeat(np.arange(participants), each)
    latent = eta[item] + random.normal(size=len(item))
    above = latent[:, None] > shift[who, None] + stretch[who, None] * THRESHOLDS
    rating = 1.0 + above.sum(axis=1)
    return pd.DataFrame({"rating": rating, "item": item, "participant": who}), terms


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
