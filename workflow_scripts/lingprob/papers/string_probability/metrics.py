"""What string probability is turned into before grammatical strings are told from others.

All are of a sentence with log-probability p and unigram log-probability u (nats, summed over its N
tokens) under a model with |V| tokens (string_probability, §6.1).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

METRICS = ("logprob", "uniform_bayes_factor", "unigram_bayes_factor", "slor", "mean_logprob")


def paper_metrics(scores: pd.DataFrame, vocabulary_size: int | None) -> pd.DataFrame:
    """Return the paper's five metrics with the index of `scores`, a `sentence_scores` table.

    p; p + N ln |V|, the log Bayes factor against random tokens; p - u, that against a unigram
    model; (p - u) / N, which is SLOR; p / N. NaN where |V| or u is unknown.
    """
    p, u = scores["logprob"], scores["unigram_logprob"].astype(float)
    length = scores["n_tokens"]
    return pd.DataFrame(
        {
            "logprob": p,
            "uniform_bayes_factor": p + length * np.log(vocabulary_size or np.nan),
            "unigram_bayes_factor": p - u,
            "slor": (p - u) / length,
            "mean_logprob": p / length,
        }
    )
