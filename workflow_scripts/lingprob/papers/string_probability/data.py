"""Prepare one model's scores of data sets for the predictions of Hu et al. (2026)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import refuse_rows
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.run import scores_under
from lingprob.stimuli.distances import different_pairs, near_pairs

METRICS = ("logprob", "uniform_bayes_factor", "unigram_bayes_factor", "slor", "mean_logprob")
TOY_COLUMNS = ["model", "text", "grammatical", "surprisal"]


def paper_metrics(scores: pd.DataFrame, vocabulary_size: int | None) -> pd.DataFrame:
    """Return the paper's five metrics for each row of `scores`, a `sentence_scores` table.

    p; p + N ln |V|, the log Bayes factor against random tokens; p - u, that against a unigram
    model; (p - u) / N, which is SLOR; p / N. NaN if |V| or u is unknown.
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


@dataclass(frozen=True)
class Options:
    """Settings of the analyses: `bootstrap` resamples, and `bins` by cosine distance (§4.2).

    Resampled are `clusters` (articles, suites or paradigms) or `pairs`.
    """

    bootstrap: int
    resample: str
    seed: int
    scale: str
    bins: int = 10


@dataclass(frozen=True)
class Dataset:
    """A data set with one model's scores.

    Args:
        predictions: numbers of the predictions that it tests.
        scores: its `sentence_scores` under one convention.
        distances: its `minimalness` table, None if it tests Prediction 3 alone.
        weight: number of sentences in the whole data set per sentence of `stimuli` (1 if whole).
    """

    name: str
    predictions: frozenset[int]
    stimuli: pd.DataFrame
    scores: pd.DataFrame
    distances: pd.DataFrame | None
    weight: float = 1.0


def assemble(
    predictions: dict[str, list[int]],
    stimuli: Sequence[pd.DataFrame],
    sentence_scores: Sequence[pd.DataFrame],
    distances: dict[str, pd.DataFrame],
    *,
    convention: tuple[str, str],
    whole: Sequence[pd.DataFrame] | None = None,
) -> list[Dataset]:
    """Return the Dataset of each data set from its tables, with scores under a convention.

    `predictions` has the numbers of each data set's predictions, in the order of the tables.
    `stimuli` are samples of `whole`, if it is given.
    """
    datasets = []
    tables = zip(predictions, stimuli, whole or stimuli, sentence_scores, strict=True)
    for name, items, source, scores in tables:
        numbers = frozenset(predictions[name])
        weight = countable_sentences(source, name) / max(countable_sentences(items, name), 1)
        chosen = scores_under(scores, name, convention)
        datasets.append(Dataset(name, numbers, items, chosen, distances.get(name), weight))
    return datasets


def countable_sentences(stimuli: pd.DataFrame, dataset: str) -> int:
    """Return the number of sentences that have no pair, or whose pair has different sentences."""
    return 2 * len(different_pairs(stimuli, dataset)) + int(stimuli["pair_id"].isna().sum())


def string_scores(
    model: str, dataset: Dataset, vocabulary_size: int | None, scale: str
) -> pd.DataFrame:
    """Return the `string_scores` table of a data set: each sentence's metrics.

    Pairs of identical sentences are left out. Prediction 2 uses the `meaning_matched` pairs, which
    differ by few edits (string_probability, §5.1). Prediction 3 uses these alone if Prediction 1
    does not use the data set: Table 1a counts 1,883 pairs of LI for both.
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
    different = different_pairs(stimuli, dataset.name)
    table = table[table["pair_id"].isna() | table["pair_id"].isin(different)]
    if dataset.distances is not None:
        distances = dataset.distances[["pair_id", "cosine_distance"]]
        table = table.merge(distances, on="pair_id", how="left")
        if 2 in dataset.predictions:
            near = table["pair_id"].isin(near_pairs(stimuli, dataset.name, dataset.distances))
            table = table.assign(meaning_matched=near)
            if 1 not in dataset.predictions:
                table = table[table["pair_id"].isna() | near]
    table = table.merge(dataset.scores, on="item_id", how="left", validate="one_to_one")
    metrics = paper_metrics(table, vocabulary_size)
    table = table.drop(columns=["logprob"]).join(metrics)
    table = table.assign(model=model, dataset=dataset.name, weight=dataset.weight, scale=scale)
    return table.reindex(columns=SCHEMAS["string_scores"].names)


def units(table: pd.DataFrame, resample: str) -> NDArray[np.int64]:
    """Return the number of the unit that each row is resampled with, (n,) int from 0.

    The unit is the pair or, if `resample` is `clusters`, the `paradigm`: the article, suite or
    paradigm that pairs were sampled from. A sentence without either is its own unit. If all rows
    have one paradigm, their pairs are resampled.
    """
    unit = table["pair_id"]
    if unit.isna().any():
        unit = unit.fillna(table["item_id"])
    if resample == "clusters":
        cluster = table["paradigm"].fillna(unit)
        several = (table["dataset"] + "/" + cluster).nunique() > 1
        unit = cluster if several else unit
    return pd.factorize(table["dataset"] + "/" + unit)[0]


def table_of(rows: Sequence[dict[str, Any]], name: str, **constants: object) -> pd.DataFrame:
    """Return a table with the schema `name` from rows, possibly none, and constant columns."""
    return pd.DataFrame(rows).assign(**constants).reindex(columns=SCHEMAS[name].names)


def variables(pairs: pd.DataFrame, prediction: int) -> pd.DataFrame:
    """Return pairs with the correlated variables x and y, without pairs with NaN in x.

    Prediction 1 (§4.4): log-probabilities of the grammatical and of the ungrammatical sentence.
    Prediction 2 (§5.2): differences in rating and log-probability in meaning-matched pairs.
    """
    good, bad = pairs["logprob_good"], pairs["logprob_bad"]
    if prediction == 1:
        pairs = pairs.assign(x=good, y=bad)
    else:
        pairs = pairs.assign(x=pairs["rating_good"] - pairs["rating_bad"], y=good - bad)
        pairs = pairs[pairs["meaning_matched"].eq(True)]
    return pairs[pairs["x"].notna()].reset_index(drop=True)


def pairs_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return one row per pair from the `string_scores` table of one data set.

    METRICS, rating and n_tokens are there for both sentences, as NAME_good and NAME_bad.
    """
    paired = scores[scores["pair_id"].notna()]
    about = ["dataset", "paradigm", "cosine_distance", "rating_source", "meaning_matched"]
    pairs = paired.drop_duplicates("pair_id").set_index("pair_id")[about]
    for side, suffix in ((True, "_good"), (False, "_bad")):
        chosen = paired[paired["grammatical"] == side].set_index("pair_id")
        pairs = pairs.join(chosen[[*METRICS, "rating", "n_tokens"]].add_suffix(suffix))
    return pairs.reset_index()


def toy_surprisals(
    stimuli: pd.DataFrame, scores: pd.DataFrame | None, bos: Mapping[str, str]
) -> pd.DataFrame:
    """Return each toy string's surprisal (bits) by model, in TOY_COLUMNS.

    `scores` is None if no model can score the strings. `bos` has each model's BOS policy.
    """
    if scores is None:
        return pd.DataFrame(columns=TOY_COLUMNS)
    scores = scores[scores["bos"] == scores["model"].map(bos)]
    chosen = scores[scores["unigrams"] == scores.groupby("model")["unigrams"].transform("first")]
    joined = chosen.merge(stimuli, on="item_id")
    return joined.assign(surprisal=-joined["logprob"] / np.log(2))[TOY_COLUMNS]
