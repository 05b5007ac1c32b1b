"""MORCELA: from sentence scores and ratings to the paper's numbers (Tjuatja et al. 2025)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pandas as pd

from lingprob.errors import refuse_rows
from lingprob.regression.agreement import split_half
from lingprob.regression.linking import fit_linking_functions
from lingprob.schemas import SCHEMAS

logger = logging.getLogger(__name__)
Published = dict[str, Any]
PAPER_DATASET = "linguistic_inquiry"


def fit_model(
    model: str,
    datasets: Sequence[str],
    stimuli: Sequence[pd.DataFrame],
    sentence_scores: Sequence[pd.DataFrame],
    *,
    default_convention: tuple[str, str],
    keep_pairs_together: bool,
    scale: str,
    **fitting: Any,
) -> pd.DataFrame:
    """Fit all linking functions of a model for each data set, BOS policy and unigram source.

    `default_convention` is the (BOS policy, unigram source) that figures show. `fitting` goes to
    `fit_linking_functions`: folds, repeats, bootstrap, seed. Returns a `linking_functions` table.
    Raises LingprobError if a sentence has no rating. (morcela, §3.4, Appendix C)
    """
    tables = []
    for dataset, items, scores in zip(datasets, stimuli, sentence_scores, strict=True):
        rated = scores.merge(items[["item_id", "pair_id", "rating"]], on="item_id", how="left")
        refuse_rows(
            rated["rating"].isna(),
            "data set {dataset!r}, item {item_id!r}: no rating, and linking functions are fitted "
            "to ratings. Rate or drop it, or take the data set out of morcela.datasets.",
            rated,
            dataset=dataset,
        )
        for (bos, unigrams), group in rated.groupby(["bos", "unigrams"], sort=False):
            logger.info("%s, %s: BOS policy %s, unigrams %s", model, dataset, bos, unigrams)
            fits = fit_linking_functions(
                group["logprob"],
                group["unigram_logprob"],
                group["n_tokens"],
                group["rating"],
                pairs=group["pair_id"] if keep_pairs_together else None,
                **fitting,
            )
            tables.append(
                fits.assign(
                    model=model,
                    dataset=dataset,
                    rating_source=rating_source(items),
                    unigrams=unigrams,
                    bos=bos,
                    default_convention=(bos, unigrams) == default_convention,
                    scale=scale,
                )
            )
    return pd.concat(tables, ignore_index=True)[SCHEMAS["linking_functions"].names]


def correlate_participant_groups(
    datasets: Sequence[str],
    stimuli: Sequence[pd.DataFrame],
    ratings: Sequence[pd.DataFrame],
    *,
    seed: int,
    scale: str,
) -> pd.DataFrame:
    """Correlate two groups of participants, for each data set with single judgments.

    Returns an `intergroup_correlation` table. (morcela, §3.4)
    """
    columns = SCHEMAS["intergroup_correlation"].names
    tables = [pd.DataFrame(columns=columns)]
    for dataset, items, judgments in zip(datasets, stimuli, ratings, strict=True):
        if len(judgments):
            table = split_half(judgments, seed=seed)
            tables.append(
                table.assign(dataset=dataset, rating_source=rating_source(items), scale=scale)
            )
    return pd.concat(tables[1:] or tables, ignore_index=True)[columns]


def rating_source(stimuli: pd.DataFrame) -> str:
    """Return `simulated` if any rating of a data set is, else `human`."""
    return "simulated" if (stimuli["rating_source"] == "simulated").any() else "human"


def published_fits(published: Published, fits: pd.DataFrame) -> pd.DataFrame:
    """Return Tables 2, 3 and 4 as one row a model and linking function, of the paper's data set.

    No rows if none of our fits is of the ratings that the paper used: nothing could be compared.
    """
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for item in published["items"]:
        if item["item"].startswith("Table"):
            for key, values in item["rows"].items():
                model, linking_function = key.split("/")
                row = rows.setdefault((model, linking_function), {})
                row.update(dict(zip(item["columns"], values, strict=True)))
    index = pd.MultiIndex.from_tuples(list(rows), names=["model", "linking_function"])
    table = pd.DataFrame(list(rows.values()), index=index).reset_index()
    table = table.assign(dataset=PAPER_DATASET)
    return table if (fits["dataset"] == PAPER_DATASET).any() else table.iloc[:0]


def main_dataset(fits: pd.DataFrame) -> str:
    """Return the paper's data set or, where the run has others alone, the first of them."""
    shown = list(dict.fromkeys(fits["dataset"]))
    return PAPER_DATASET if PAPER_DATASET in shown else str(shown[0])


def default_fits(linking_functions: pd.DataFrame) -> pd.DataFrame:
    """Return the rows under each model's default BOS policy and unigram source."""
    return linking_functions[linking_functions["default_convention"]].reset_index(drop=True)
