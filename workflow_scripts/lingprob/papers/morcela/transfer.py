"""Linking functions fitted to one data set and asked about another (beyond morcela, §3).

Data sets without ratings have grammaticality labels, which are fitted as -1 and 1; beta and gamma
are ratios of slopes and compare on whatever scale was fitted. The share of sentences on the right
side of the middle depends on how many a data set has on each; the area under the ROC curve does
not.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lingprob.papers.morcela.predictions import allowed_functions, sentences_of
from lingprob.papers.morcela.rated import Convention, DataSet, rating_source, under
from lingprob.papers.morcela.units import units_of
from lingprob.regression.linking_predictions import fit_predictor, held_out
from lingprob.regression.rating_scale import middle
from lingprob.regression.resampling import correlation, correlation_interval, mean_interval
from lingprob.regression.roc import area_intervals, area_under_roc
from lingprob.schemas import SCHEMAS


def transfer(
    model: str,
    given: Mapping[str, DataSet],
    *,
    convention: Convention,
    cluster: str,
    draws: int,
    seed: int,
    scale: str,
) -> pd.DataFrame:
    """Fit each linking function to each data set and predict each; return `linking_transfer`.

    Data sets of which neither all ratings nor all labels are known, or all are one, are left out.
    A data set is predicted from itself without a sentence's cluster. r, accuracy and area compare
    predictions with ratings (their side of the `middle`, for the last two) or labels; their
    intervals resample the predicted clusters, the fit as it is. Those of beta and gamma are
    Fieller's.
    """
    known = {
        name: target
        for name, data_set in given.items()
        if (target := _target(under(convention, model, name, data_set.scores), data_set))
        is not None
    }
    rows = []
    fits = [
        (name, sentences_of(function, fitted, fitted["target"], units_of(fitted, cluster)[1]))
        for name, fitted in known.items()
        for function in allowed_functions(fitted)
    ]
    for fitted_to, data in fits:
        predictor = fit_predictor(data)
        for applied_to, target in known.items():
            unit, _ = pd.factorize(units_of(target, cluster)[1])
            if applied_to == fitted_to:
                predicted = held_out(data, data.unit)
            else:
                found = predictor.predict(
                    target["logprob"], target["unigram_logprob"], target["n_tokens"]
                )
                predicted = found["predicted"].to_numpy()
            named = {"linking_function": data.linking_function, "fitted_to": fitted_to,
                     "applied_to": applied_to, "fitted_as": known[fitted_to]["kind"].iloc[0],
                     "target": target["kind"].iloc[0], "n": len(target),
                     "rating_source": _source(known[fitted_to], target)}  # fmt: skip
            above = predicted - middle(known[fitted_to]["target"].to_numpy())
            agreement = _agreement(above, target["target"].to_numpy(), unit, draws, seed)
            rows.append(named | predictor.parameters() | agreement)
    bos, unigrams = convention
    table = pd.DataFrame(rows).assign(model=model, bos=bos, unigrams=unigrams, scale=scale)
    return table[SCHEMAS["linking_transfer"].names]


def _target(scores: pd.DataFrame, data_set: DataSet) -> pd.DataFrame | None:
    """Return scores with `target` and its `kind`, rating or label; None where neither is whole
    and varies."""
    rows = scores.merge(data_set.stimuli, on="item_id", validate="one_to_one")
    signs = rows["grammatical"].map({True: 1.0, False: -1.0}).astype(float)
    for kind, target in (("rating", rows["rating"].astype(float)), ("label", signs)):
        if target.notna().all() and target.nunique() > 1:
            return rows.assign(target=target, kind=kind)
    return None


def _source(*tables: pd.DataFrame) -> str:
    return "simulated" if "simulated" in set(map(rating_source, tables)) else "human"


def _agreement(
    predicted: np.ndarray, target: np.ndarray, unit: np.ndarray, draws: int, seed: int
) -> dict[str, float]:
    """Return r, accuracy and area with intervals; NaN where the target has one side only.

    `predicted` is above 0 of what is predicted to be acceptable, `target` as `middle` takes it.
    """
    positive = target > middle(target)
    right = (predicted > 0) == positive
    (area_ends,) = area_intervals(predicted[:, None], positive, unit, draws=draws, seed=seed)
    r_ends = correlation_interval(predicted, target, unit, draws=draws, seed=seed)
    right_ends = mean_interval(right.astype(float), unit, draws=draws, seed=seed)
    measures = {
        "r": (correlation(predicted, target), r_ends),
        "accuracy": (right.mean(), right_ends),
        "area": (area_under_roc(predicted, positive), area_ends),
    }
    return {
        key: float(value)
        for name, (middle, (low, high)) in measures.items()
        for key, value in ((name, middle), (f"{name}_low", low), (f"{name}_high", high))
    }
