"""Decompose the correlation of linking functions with ratings between and within pairs."""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from lingprob.papers.morcela.analysis import (
    FITTED_COLUMNS,
    UNITS,
    DataSet,
    rating_source,
    sampling_units,
    with_ratings,
)
from lingprob.papers.run import Convention, Run, scores_under
from lingprob.scorecard.comparison import judge_claims, make_scorecard
from lingprob.scorecard.verdicts import Estimate
from studies.pair_decomposition.decomposition import decompose

logger = logging.getLogger(__name__)

ABOUT = ["model", "dataset", "rating_source", "bos", "unigrams", "cluster"]


def decompose_model(
    model: str,
    datasets: Mapping[str, DataSet],
    *,
    convention: Convention,
    bootstrap: int,
    seed: int,
) -> pd.DataFrame:
    """Decompose r under a model's default convention between and within groups of sentences.

    Args:
        model: its name.
        datasets: rated data sets with the model's scores, by name.
        convention: the BOS policy and the unigram source.
        bootstrap, seed: of the intervals, which resample the coarsest grouping.

    Returns the columns of `decompose` after model, dataset, rating_source, bos, unigrams and
    cluster. A data set without pairs, paradigms or articles has no rows.
    """
    tables = [pd.DataFrame(columns=[*ABOUT, "grouping", "linking_function"])]
    for dataset, data_set in datasets.items():
        scores = scores_under(data_set.scores, dataset, convention)
        rated = with_ratings(dataset, data_set.stimuli, scores)
        groupings = find_groupings(rated)
        if not groupings:
            logger.info("%s: no pairs, paradigms or articles to decompose r by", dataset)
            continue
        cluster = list(groupings)[-1]
        parts = decompose(
            *(rated[name] for name in FITTED_COLUMNS),
            groupings=groupings,
            clusters=groupings[cluster],
            bootstrap=bootstrap,
            seed=seed,
        )
        source = rating_source(data_set.stimuli)
        about = dict(zip(ABOUT, (model, dataset, source, *convention, cluster), strict=True))
        tables.append(parts.assign(**about)[[*ABOUT, *parts]])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def find_groupings(stimuli: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the pairs, paradigms and articles of a data set, from the finest to the coarsest.

    The coarsest, which intervals resample, has 20 groups or more. The others lie within its groups.
    """
    coarsest, clusters = sampling_units(stimuli, "article")
    names, found = list(UNITS), dict[str, pd.Series]()
    for name in names[1 : names.index(coarsest) + 1]:
        ids = stimuli.get(UNITS[name])
        known = ids is not None and ids.notna().all() and ids.nunique() < len(stimuli)
        if known and (clusters.groupby(ids).nunique() == 1).all():
            found[name] = ids
    return found


def judge_gains(table: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Judge the study's claim for every model and data set; return rows of a `scorecard` table."""
    claims = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))
    statistics = {"gain_lies_between_pairs": gain_between_pairs}
    return make_scorecard(judge_claims(claims, statistics, {"decomposition": table}, run))


def gain_between_pairs(
    tables: Mapping[str, pd.DataFrame], run: Any
) -> Iterator[tuple[str, Estimate]]:
    """Yield MORCELA's gain over SLOR in r of pairs' means, minus its gain in r within pairs."""
    table = tables["decomposition"]
    chosen = table[(table["grouping"] == "pair") & (table["linking_function"] == "morcela")]
    for row in chosen.to_dict("records"):
        value, low, high = (float(row[f"gain_difference{end}"]) for end in ("", "_low", "_high"))
        note = "simulated ratings" if row["rating_source"] == "simulated" else ""
        yield f"{row['model']}/{row['dataset']}", Estimate(value, low, high, int(row["n"]), note)
