"""One model's scores of data sets, as the predictions of Hu et al. (2026) want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError, refuse_rows
from lingprob.minimalness.distances import pair_texts, within_quantile
from lingprob.papers.string_probability.metrics import METRICS, learned_weights, paper_metrics
from lingprob.schemas import SCHEMAS


@dataclass(frozen=True)
class Options:
    """What the analyses may vary; each is a key of config.yaml's `string_probability`."""

    bins: int
    levenshtein_unit: str
    levenshtein_quantile: float
    levenshtein_comparison: str
    bootstrap: int
    cluster_by_paradigm: bool
    folds: int
    seed: int
    scale: str


@dataclass(frozen=True)
class Dataset:
    """A data set as one model sees it.

    `stimuli`, `scores` (`sentence_scores` of one convention) and `distances` (`minimalness`; None
    for Prediction 3 alone) are tables; `predictions` says which of 1, 2 and 3 it is for.
    """

    name: str
    predictions: frozenset[int]
    stimuli: pd.DataFrame
    scores: pd.DataFrame
    distances: pd.DataFrame | None


def assemble(
    predictions: dict[str, list[int]],
    stimuli: Sequence[pd.DataFrame],
    sentence_scores: Sequence[pd.DataFrame],
    distances: dict[str, pd.DataFrame],
    *,
    convention: tuple[str, str],
) -> list[Dataset]:
    """Put tables together by data set; `convention` is the (BOS policy, unigram source) used.

    `predictions` names the data sets in the order of the tables.
    """
    bos, unigrams = convention
    datasets = []
    for name, items, scores in zip(predictions, stimuli, sentence_scores, strict=True):
        chosen = scores[(scores["bos"] == bos) & (scores["unigrams"] == unigrams)]
        numbers = frozenset(predictions[name])
        datasets.append(Dataset(name, numbers, items, chosen, distances.get(name)))
    return datasets


def string_scores(
    model: str, dataset: Dataset, vocabulary_size: int | None, options: Options
) -> pd.DataFrame:
    """Return the `string_scores` table of a data set: each sentence's metrics.

    Pairs of identical sentences are left out and, of a data set for Prediction 2, pairs that
    differ by too many edits (string_probability, §5.1).
    """
    stimuli = dataset.stimuli
    refuse_rows(
        stimuli["grammatical"].isna(),
        "data set {name!r}, item {item_id!r}: not said to be grammatical or not. Give the column "
        "`grammatical`, or take the data set out of string_probability.",
        stimuli,
        name=dataset.name,
    )
    columns = ["item_id", "pair_id", "grammatical", "phenomenon", "paradigm", "rating"]
    table = stimuli[[*columns, "rating_source"]]
    table = table[table["pair_id"].isna() | table["pair_id"].isin(chosen_pairs(dataset, options))]
    if dataset.distances is not None:
        distances = dataset.distances[["pair_id", "cosine_distance"]]
        table = table.merge(distances, on="pair_id", how="left")
    table = table.merge(dataset.scores, on="item_id", how="left", validate="one_to_one")
    metrics = paper_metrics(table, vocabulary_size)
    metrics["learned_weights"] = learned_weights(
        table,
        table["grammatical"].to_numpy(dtype=bool),
        units(table, False),
        folds=options.folds,
        seed=options.seed,
    )
    table = table.drop(columns=["logprob"]).join(metrics)
    table = table.assign(model=model, dataset=dataset.name, scale=options.scale)
    names = SCHEMAS["string_scores"].names
    return table.assign(**{name: None for name in names if name not in table})[names]


def chosen_pairs(dataset: Dataset, options: Options) -> pd.Index:
    """Return the ids of the pairs that the analyses use."""
    texts = pair_texts(dataset.stimuli, dataset.name)
    pairs = texts.index[texts["good"] != texts["bad"]]
    if dataset.distances is None or 2 not in dataset.predictions:
        return pairs
    distances = dataset.distances.set_index("pair_id")[f"levenshtein_{options.levenshtein_unit}"]
    near = within_quantile(distances, options.levenshtein_quantile, options.levenshtein_comparison)
    kept = pairs.intersection(near.index[near])
    if kept.empty:
        raise LingprobError(
            f"data set {dataset.name!r}: the filter by edit distance keeps none of its pairs, for "
            f"they differ by {distances.quantile(options.levenshtein_quantile):g} "
            f"{options.levenshtein_unit} at the quantile, and none by fewer. Set "
            "string_probability.levenshtein_comparison to at_most, or another unit or quantile."
        )
    return kept


def units(table: pd.DataFrame, cluster_by_paradigm: bool) -> NDArray[np.int64]:
    """Return the number, (n,) int from 0, of what each row is resampled with.

    Its pair, or its paradigm; a sentence without either is on its own.
    """
    own = table["dataset"].astype(str) + "/" if "dataset" in table else ""
    unit = table["pair_id"]
    if unit.isna().any():
        unit = unit.fillna(table["item_id"])
    if cluster_by_paradigm:
        unit = table["paradigm"].fillna(unit)
    return pd.factorize(own + unit)[0]


def pairs_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of a `string_scores` table of one data set, a pair a row.

    Columns: pair_id, dataset, paradigm, phenomenon, cosine_distance, rating_source and, for good
    and bad, every metric and the rating as NAME_good and NAME_bad.
    """
    paired = scores[scores["pair_id"].notna()]
    about = paired.drop_duplicates("pair_id").set_index("pair_id")
    pairs = about[["dataset", "paradigm", "phenomenon", "cosine_distance", "rating_source"]]
    for side, suffix in ((True, "_good"), (False, "_bad")):
        chosen = paired[paired["grammatical"] == side].set_index("pair_id")
        pairs = pairs.join(chosen[[*METRICS, "rating"]].add_suffix(suffix))
    return pairs.reset_index()
