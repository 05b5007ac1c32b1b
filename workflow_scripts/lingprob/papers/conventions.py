"""Scores of sentences under the convention that a paper's analyses choose."""

import pandas as pd

from lingprob.errors import LingprobError

Convention = tuple[str, str]  # BOS policy and unigram source


def scores_under(scores: pd.DataFrame, dataset: str, convention: Convention) -> pd.DataFrame:
    """Return the rows of `sentence_scores` under a convention. LingprobError if there are none."""
    bos, unigrams = convention
    found = scores[(scores["bos"] == bos) & (scores["unigrams"] == unigrams)]
    if found.empty:
        there = sorted(set(zip(scores["bos"], scores["unigrams"], strict=True)))
        raise LingprobError(
            f"data set {dataset!r}: scored under {there}, and not under BOS policy {bos!r} with "
            f"unigrams {unigrams!r}. List it among a paper's data sets, such as morcela.predicted."
        )
    return found.reset_index(drop=True)
