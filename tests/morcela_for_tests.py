"""Ratings that follow MORCELA, with scores under several conventions, and tables of their fits."""

import numpy as np
import pandas as pd

from lingprob.io.schemas import SCHEMAS
from lingprob.papers.morcela.analysis import DataSet, fit_model

SENTENCES = 120
FITTING = {
    "default_convention": ("bos", "u"), "cluster": "article", "keep_together": "sentence",
    "scale": "demo", "folds": 5, "repeats": 4, "bootstrap": 50, "seed": 1,
}  # fmt: skip


def inputs(rating_source: str = "human") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stimuli and sentence scores under two conventions, with a known linking function."""
    rng = np.random.default_rng(0)
    n_tokens = rng.integers(4, 20, SENTENCES)
    unigram = -8.0 * n_tokens + rng.normal(0, 4, SENTENCES)
    logprob = -3.0 * n_tokens + rng.normal(0, 6, SENTENCES)
    rating = (logprob - 0.7 * unigram + 11) / n_tokens + rng.normal(0, 0.3, SENTENCES)
    ids = [f"s{row}" for row in range(SENTENCES)]
    stimuli = pd.DataFrame(
        {
            "item_id": ids, "pair_id": None, "rating": rating, "rating_source": rating_source,
            "text": "x",
        }
    )  # fmt: skip
    scores = pd.DataFrame({"item_id": ids, "unigram_logprob": unigram, "n_tokens": n_tokens})
    both = [
        scores.assign(bos=bos, unigrams="u", logprob=logprob + shift, n_words=1)
        for bos, shift in (("bos", 0.0), ("none", 1.0))
    ]
    return stimuli, pd.concat(both, ignore_index=True)


def fits(model: str = "pythia-70m", rating_source: str = "human") -> pd.DataFrame:
    stimuli, scores = inputs(rating_source)
    return fit_model(model, {"linguistic_inquiry": DataSet(stimuli, scores)}, **FITTING)[0]


def tables_of(fits: pd.DataFrame, stimuli: pd.DataFrame | None = None) -> dict[str, pd.DataFrame]:
    """Inputs of figures and scorecard, without single judgments, pairs and shared resamples."""
    empty = {
        name: SCHEMAS[name].empty_table().to_pandas()
        for name in ("intergroup_correlation", "linking_draws")
    }
    given = {"linking_functions": fits, **empty}
    return given if stimuli is None else {**given, "stimuli": stimuli}


def data_set(name: str, n: int, seed: int, gamma: float = 11, rated: bool = True) -> DataSet:
    """Pairs whose ratings follow MORCELA with beta 0.7, scored under two conventions."""
    random = np.random.default_rng(seed)
    n_tokens = random.integers(4, 20, n)
    unigram = -8.0 * n_tokens + random.normal(0, 8, n)
    logprob = -4.0 * n_tokens + random.normal(0, 8, n)
    rating = 0.5 * (logprob - 0.7 * unigram + gamma) / n_tokens + random.normal(0, 0.3, n)
    ids = [f"{name}{row}" for row in range(n)]
    stimuli = pd.DataFrame(
        {
            "item_id": ids, "pair_id": [f"{row // 2}" for row in range(n)],
            "text": [f"Sentence {row}." for row in range(n)], "rating": rating if rated else np.nan,
            "rating_source": "human" if rated else None,
        }
    )  # fmt: skip
    scores = pd.DataFrame({"item_id": ids, "unigram_logprob": unigram, "n_tokens": n_tokens})
    both = [
        scores.assign(bos=bos, unigrams="u", logprob=logprob + shift)
        for bos, shift in (("none", 5.0), ("bos", 0.0))
    ]
    return DataSet(stimuli, pd.concat(both, ignore_index=True))
