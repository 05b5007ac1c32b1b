"""Linking functions of one model beyond the paper: held-out phenomena, curves, ordinal fits.

All under the model's default convention.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.papers.morcela.analysis import by_default
from lingprob.papers.morcela.predictions import allowed_functions, sentences_of
from lingprob.papers.morcela.rated import Convention, DataSet, rating_source
from lingprob.papers.morcela.units import units_of
from lingprob.regression.held_out import schemes, validate
from lingprob.regression.linking import information_criteria
from lingprob.regression.linking_predictions import (
    Predictor,
    Sentences,
    beta_and_gamma,
    fit_predictor,
)
from lingprob.regression.linking_shapes import length_exponent, splines
from lingprob.regression.ordinal_mixed.fit import fit_ordinal_mixed
from lingprob.schemas import SCHEMAS

logger = logging.getLogger(__name__)

# What is compared with ordinal judgments; the others are between these two.
ORDINAL = ("slor", "morcela")


def rated_rows(
    model: str, given: Mapping[str, DataSet], convention: Convention
) -> dict[str, pd.DataFrame]:
    """Return each rated data set's sentences with their scores under one convention."""
    return {
        name: rated.assign(rating_source=source)
        for name, rated, source in by_default(model, given, convention)
    }


def validate_model(
    rows: Mapping[str, pd.DataFrame],
    *,
    cluster: str,
    folds: int,
    repeats: int,
    bootstrap: int,
    seed: int,
    **provenance: str,
) -> pd.DataFrame:
    """Return a `linking_validation` table: each function by shuffled folds and by phenomenon."""
    found = []
    for dataset, sample in rows.items():
        unit = units_of(sample, cluster)[1]
        plans = schemes(len(sample), sample["phenomenon"], folds=folds, repeats=repeats, seed=seed)
        for function in allowed_functions(sample):
            data = sentences_of(function, sample, sample["rating"], unit)
            found += [
                {"dataset": dataset, "rating_source": rating_source(sample), "n": len(sample),
                 "linking_function": function, "scheme": scheme.name}
                | validate(data, scheme, draws=bootstrap, seed=seed)
                for scheme in plans
            ]  # fmt: skip
    return _table(found, "linking_validation", provenance)


def shapes_of_model(
    rows: Mapping[str, pd.DataFrame],
    *,
    cluster: str,
    folds: int,
    repeats: int,
    bootstrap: int,
    seed: int,
    **provenance: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return `linking_shapes` (MORCELA, with an exponent, with splines) and `linking_curves`.

    Data sets whose sentences determine no curves, or have no unigrams, have no rows.
    """
    found, curves = [], []
    for dataset, sample in rows.items():
        named = {"dataset": dataset, "rating_source": rating_source(sample)}
        try:
            fits, curve = _shapes(sample, cluster, folds, repeats, bootstrap, seed)
        except LingprobError as error:
            logger.warning("%s: no curves are fitted (%s)", dataset, error)
            continue
        found += [named | fit for fit in fits]
        curves.append(curve.assign(**named))
    joined = pd.concat(curves).to_dict("records") if curves else []
    return (
        _table(found, "linking_shapes", provenance),
        _table(joined, "linking_curves", provenance),
    )


def _shapes(
    sample: pd.DataFrame,
    cluster: str,
    folds: int,
    repeats: int,
    bootstrap: int,
    seed: int,
) -> tuple[list[dict[str, Any]], pd.DataFrame]:
    """Return a row a shape, and the curves with MORCELA's lines beside them."""
    scores = (sample["logprob"], sample["unigram_logprob"], sample["n_tokens"])
    unit = units_of(sample, cluster)[1]
    curved = splines(*scores, sample["rating"], unit)
    straight = sentences_of("morcela", sample, sample["rating"], unit)
    power = length_exponent(*scores, sample["rating"])._asdict()
    plan = schemes(len(sample), None, folds=folds, repeats=repeats, seed=seed)[0]
    r = [validate(data, plan, draws=bootstrap, seed=seed)["r"] for data in (straight, curved.data)]
    predictor = fit_predictor(straight)
    fits = [
        {"shape": "MORCELA", "sse": _sse(straight), "predictors": 4, "r_cv": r[0]}
        | predictor.parameters(),
        {"shape": "length exponent", "predictors": 5} | power,
        {"shape": "splines", "sse": curved.sse, "predictors": curved.data.design.shape[1],
         "r_cv": r[1]},
    ]  # fmt: skip
    curve = curved.curves.assign(linear=_lines(curved.curves, predictor))
    return [fit | _criteria(fit, len(sample)) for fit in fits], curve


def _lines(curves: pd.DataFrame, morcela: Predictor) -> pd.Series:
    """Return what MORCELA has in the place of each curve: lines of u/l and of 1/l, less means."""
    _, _, of_unigrams, of_inverse = morcela.coefficients
    is_length = curves["term"] == "l"
    line = (of_inverse / curves["value"]).where(is_length, of_unigrams * curves["value"])
    return line - line.groupby(is_length).transform("mean")


def _criteria(fit: Mapping[str, Any], n: int) -> dict[str, float]:
    aic, bic = information_criteria(fit["sse"], n, fit["predictors"])
    return {"n": n, "aic": aic, "bic": bic}


def ordinal_of_model(
    rows: Mapping[str, pd.DataFrame],
    ratings: Mapping[str, pd.DataFrame],
    **provenance: str,
) -> pd.DataFrame:
    """Return an `ordinal_fits` table: linking functions fitted to single judgments and to means.

    r of z-scored means is the correlation with them; of the ordinal model, that with an item's
    latent acceptability, in which there is no noise of judgments: the root of the terms' share of
    the variance of items. Data sets without single judgments, or with
    judgments that determine no fit, have no rows.
    """
    found = []
    for dataset, sample in rows.items():
        judged = ratings[dataset]
        for function in ORDINAL if len(judged) else ():
            if function not in allowed_functions(sample):
                continue
            data = sentences_of(function, sample, sample["rating"], None)
            predictor = fit_predictor(data)
            fitted = data.design @ predictor.coefficients
            common = {"dataset": dataset, "rating_source": rating_source(sample),
                      "linking_function": function, "n_judgments": len(judged),
                      "n_items": len(sample),
                      "n_participants": judged["participant_id"].nunique()}  # fmt: skip
            r = float(np.corrcoef(fitted, data.rating)[0, 1])
            try:
                single = _ordinal(data, sample["item_id"], judged)
            except LingprobError as error:
                logger.warning("%s, %s: no ordinal model (%s)", dataset, function, error)
                continue
            found.append(common | {"method": "z-scored means", "r": r} | predictor.parameters())
            found.append(common | single)
    return _table(found, "ordinal_fits", provenance)


def _ordinal(data: Sentences, item: pd.Series, judged: pd.DataFrame) -> dict[str, Any]:
    """Return the ordinal model's part of a row."""
    terms = pd.DataFrame(data.design[:, 1:], index=pd.Index(item))
    fit = fit_ordinal_mixed(judged["rating"], judged["item_id"], judged["participant_id"], terms)
    explained = float(np.var(terms.to_numpy() @ fit.slopes.to_numpy()))
    means = judged.groupby("item_id")["z"].mean()
    return {
        "method": "ordinal mixed model",
        "r": float(np.sqrt(explained / (explained + fit.sd_items**2))),
        "sd_items": fit.sd_items,
        "sd_shifts": fit.sd_shifts,
        "sd_stretches": fit.sd_stretches,
        "log_likelihood": fit.log_likelihood,
        "r_with_means": float(np.corrcoef(means, fit.acceptability[means.index])[0, 1]),
    } | beta_and_gamma(
        data.linking_function, fit.slopes.to_numpy(), fit.covariance.to_numpy(), fit.freedom
    )


def _sse(data: Sentences) -> float:
    coefficients, *_ = np.linalg.lstsq(data.design, data.rating)
    return float(((data.rating - data.design @ coefficients) ** 2).sum())


def _table(rows: list[dict[str, Any]], name: str, provenance: Mapping[str, str]) -> pd.DataFrame:
    columns = SCHEMAS[name].names
    # An interval's open end is an infinite one.
    table = pd.DataFrame(rows, columns=columns).replace([np.inf, -np.inf], np.nan)
    return table.assign(**provenance)[columns]
