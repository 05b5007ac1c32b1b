"""What each linking function says of single sentences: predicted ratings, and residuals.

The functions are fitted to rated data sets and applied to any, rated or not (morcela, §2).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lingprob.papers.morcela.rated import Convention, DataSet, rated_scores, under
from lingprob.papers.morcela.units import units_of
from lingprob.regression.designs import LINKING_FUNCTIONS
from lingprob.regression.linking import needs_unigrams
from lingprob.regression.linking_predictions import (
    Sentences,
    fit_predictor,
    held_out,
    sentences,
)
from lingprob.schemas import SCHEMAS


def predict_ratings(
    model: str,
    dataset: str,
    given: DataSet,
    fitted_to: Mapping[str, DataSet],
    *,
    convention: Convention,
    cluster: str,
    scale: str,
) -> pd.DataFrame:
    """Predict the ratings of a data set's sentences by functions fitted to rated data sets.

    Args:
        model, dataset: names.
        given: the sentences that are wanted, rated or not.
        fitted_to: rated data sets by name; `dataset` may be among them, and its predictions then
            have residuals and the prediction by a fit without its cluster.
        convention: the BOS policy and unigram source of both.
        cluster: what was sampled, as `morcela.cluster` in config.yaml.
        scale: of the run.

    Returns a `predicted_ratings` table. Raises LingprobError for a sentence without a score, a
    rated data set that lacks a rating, and if no scores follow the convention.
    """
    rows = given.stimuli.merge(under(convention, model, dataset, given.scores), on="item_id")
    tables = []
    for name, rated in fitted_to.items():
        scores = under(convention, model, name, rated.scores)
        sample = rated_scores(name, rated.stimuli, scores)
        unit = units_of(sample, cluster)[1]
        for function in allowed_functions(rows):
            found = _predicted(function, sample, unit, rows, within=name == dataset)
            tables.append(found.assign(fitted_to=name, rating_source=rated.rating_source))
    bos, unigrams = convention
    table = pd.concat(tables, ignore_index=True).assign(
        model=model, dataset=dataset, bos=bos, unigrams=unigrams, scale=scale
    )
    return table[SCHEMAS["predicted_ratings"].names]


def _predicted(
    function: str, sample: pd.DataFrame, unit: pd.Series, rows: pd.DataFrame, *, within: bool
) -> pd.DataFrame:
    """Return predictions of `rows` by a function fitted to `sample`, the same rows if `within`."""
    data = sentences_of(function, sample, sample["rating"], unit)
    found = fit_predictor(data).predict(rows["logprob"], rows["unigram_logprob"], rows["n_tokens"])
    return found.assign(
        linking_function=function,
        item_id=rows["item_id"],
        text=rows["text"],
        rating=rows["rating"],
        residual=rows["rating"] - found["predicted"],
        held_out=held_out(data, data.unit) if within else np.nan,
    )


def sentences_of(
    function: str, rows: pd.DataFrame, rating: pd.Series, unit: ArrayLike | None
) -> Sentences:
    """Return what a linking function is fitted to: rows of sentence scores with a rating each."""
    scores = (rows["logprob"], rows["unigram_logprob"], rows["n_tokens"])
    return sentences(function, *scores, rating, unit)


def allowed_functions(rows: pd.DataFrame) -> list[str]:
    """Return the linking functions that sentence scores allow: without unigrams, fewer."""
    without = rows["unigram_logprob"].isna().all()
    return [name for name in LINKING_FUNCTIONS if not (without and needs_unigrams(name))]
