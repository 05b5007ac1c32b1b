"""Fit linking functions to ratings and predict ratings of sentences (Tjuatja et al. 2025)."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import refuse_rows
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table
from lingprob.papers.run import Convention, scores_under
from lingprob.stats.agreement import split_half
from lingprob.stats.linking import MINIMUM_PER_FOLD, resample_linking_functions
from lingprob.stats.linking_fits import (
    LINKING_FUNCTIONS,
    needs_unigrams,
    predict_held_out,
    predict_ratings,
    rated_sentences,
)

logger = logging.getLogger(__name__)

# Columns that linking functions are fitted to.
FITTED_COLUMNS = ("logprob", "unigram_logprob", "n_tokens", "rating")
# Columns of `stimuli` with sampling units of sentences, from the finest to the coarsest.
# Linguistic Inquiry's sentences were sampled by article, which it has in the column phenomenon.
UNITS = {"sentence": "item_id", "pair": "pair_id", "paradigm": "paradigm", "article": "phenomenon"}
# Columns of a prediction in the table of sentences.
PREDICTED = ["fitted_to", "predicted", "predicted_low", "predicted_high", "rating_low",
             "rating_high", "held_out", "residual"]  # fmt: skip
# Fewer clusters than this give a poor estimate of the variance between clusters.
FEWEST = 20


class DataSet(NamedTuple):
    """A data set's `stimuli` and one model's `sentence_scores` of them."""

    stimuli: pd.DataFrame
    scores: pd.DataFrame


def read_datasets(
    names: Iterable[str], stimuli: Iterable[str], scores: Iterable[str]
) -> dict[str, DataSet]:
    """Read data sets from the paths of their two tables. Returns them by name."""
    return {
        name: DataSet(read_table(items, "stimuli"), read_table(scored, "sentence_scores"))
        for name, items, scored in zip(names, stimuli, scores, strict=True)
    }


def refuse_unscored(dataset: str, stimuli: pd.DataFrame, scores: pd.DataFrame) -> None:
    """Raise LingprobError for a sentence without a score under a convention of `scores`."""
    conventions = scores[["bos", "unigrams"]].drop_duplicates()
    wanted = stimuli[["item_id"]].merge(conventions, how="cross")
    found = wanted.merge(
        scores, on=["item_id", "bos", "unigrams"], how="left", validate="one_to_one"
    )
    refuse_rows(
        found["logprob"].isna(),
        "data set {dataset!r}, item {item_id!r}: no score under BOS policy {bos!r} with unigrams "
        "{unigrams!r}. Score the whole data set.",
        found,
        dataset=dataset,
    )


def with_ratings(dataset: str, stimuli: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return ratings and units with sentence scores, in the order of `stimuli`.

    The order is the same for all models, so they share folds and resamples. Raises LingprobError if
    a sentence has no rating or no score.
    """
    refuse_unscored(dataset, stimuli, scores)
    columns = ["item_id", "rating", "pair_id", "paradigm", "phenomenon"]
    rated = stimuli[[name for name in columns if name in stimuli]].merge(scores, on="item_id")
    refuse_rows(
        rated["rating"].isna(),
        "data set {dataset!r}, item {item_id!r}: no rating, and linking functions are fitted "
        "to ratings. Rate or drop it, or take the data set out of morcela.datasets.",
        rated,
        dataset=dataset,
    )
    return rated


def rating_source(stimuli: pd.DataFrame) -> str:
    """Return `simulated` if any rating of a data set is simulated, else `human`."""
    return "simulated" if (stimuli["rating_source"] == "simulated").any() else "human"


def sampling_units(
    stimuli: pd.DataFrame, wanted: str, fewest: int = FEWEST
) -> tuple[str, pd.Series]:
    """Return the name of the sampled unit (of UNITS), and the id of each sentence's unit.

    The wanted unit is taken if every sentence has one and there are at least `fewest` of them.
    Otherwise it is the coarsest finer unit for which this is true, and a warning is logged.
    """
    names = list(UNITS)
    for name in reversed(names[: names.index(wanted) + 1]):
        ids = stimuli.get(UNITS[name])
        # The last unit, the finest, is taken in any case.
        if ids is not None and ids.notna().all() and ids.nunique() >= fewest:
            break
    if name != wanted:
        logger.warning(
            "%s: unknown for a sentence, or fewer than %d of them: taking each %s by itself",
            wanted, fewest, name,
        )  # fmt: skip
    return name, stimuli[UNITS[name]]


def fit_model(
    model: str,
    datasets: Mapping[str, DataSet],
    *,
    default_convention: Convention,
    cluster: str,
    keep_together: str,
    scale: str,
    **fitting: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a model's fits of all linking functions, and their refits to resamples.

    Args:
        datasets: rated data sets with the model's scores, by name.
        default_convention: BOS policy and unigram source of the fits that figures show.
        cluster, keep_together: units (`UNITS`) to resample for intervals, and to keep within folds.
        fitting: folds, repeats, bootstrap and seed of `fit_linking_functions`.

    Returns a `linking_functions` table with each data set, BOS policy and unigram source, and a
    `linking_draws` table under the default convention, without data sets that have no unigrams. All
    models share the resamples. Raises LingprobError if a sentence has no rating or no score.
    (morcela, §3.4)
    """
    tables: list[pd.DataFrame] = []
    resampled: list[pd.DataFrame] = []
    for dataset, data_set in datasets.items():
        rated = with_ratings(dataset, *data_set)
        clusters = sampling_units(rated, cluster)
        kept = sampling_units(rated, keep_together, fitting["folds"] * MINIMUM_PER_FOLD)
        for (bos, unigrams), group in rated.groupby(["bos", "unigrams"], sort=False):
            logger.info("%s, %s: BOS policy %s, unigrams %s", model, dataset, bos, unigrams)
            fits, draws = resample_linking_functions(
                *(group[name] for name in FITTED_COLUMNS),
                together=kept[1][group.index],
                clusters=clusters[1][group.index],
                **fitting,
            )
            source = rating_source(data_set.stimuli)
            about = {"dataset": dataset, "rating_source": source, "cluster": clusters[0]}
            fits = fits.assign(**about, unigrams=unigrams, bos=bos, kept_together=kept[0])
            is_default = (bos, unigrams) == default_convention
            tables.append(fits.assign(default_convention=is_default))
            if is_default and group["unigram_logprob"].notna().any():
                resampled.append(draws.assign(**about, n=len(group)))
    about = {"model": model, "scale": scale}
    return (
        as_table(tables, "linking_functions", **about),
        as_table(resampled, "linking_draws", **about),
    )


def as_table(tables: Sequence[pd.DataFrame], schema: str, **about: str) -> pd.DataFrame:
    """Concatenate tables to a schema's columns, with the constant columns `about`."""
    columns = SCHEMAS[schema].names
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return table.assign(**about)[columns]


def correlate_participant_groups(
    datasets: Sequence[str],
    stimuli: Sequence[pd.DataFrame],
    ratings: Sequence[pd.DataFrame],
    *,
    seed: int,
    scale: str,
) -> pd.DataFrame:
    """Return an `intergroup_correlation` table of the data sets that have single judgments.

    Arguments are names of data sets, with their `stimuli` and `ratings` tables (morcela, §3.4).
    """
    tables = []
    for dataset, items, judgments in zip(datasets, stimuli, ratings, strict=True):
        if len(judgments):
            people = judgments["participant_id"].nunique()
            table = split_half(judgments, seed=seed).assign(judgments=len(judgments))
            about = {"dataset": dataset, "rating_source": rating_source(items)}
            tables.append(table.assign(participants=people, **about))
    return as_table(tables, "intergroup_correlation", scale=scale)


def predict_datasets(
    model: str,
    datasets: Mapping[str, DataSet],
    *,
    fitted_to: Sequence[str],
    convention: Convention,
    cluster: str,
    scale: str,
) -> pd.DataFrame:
    """Predict ratings of data sets (`predicted_ratings`) by functions fitted to rated data sets.

    Args:
        datasets: data sets with the model's scores, rated or not, by name.
        fitted_to: names of rated data sets to which functions are fitted. Their own rows have
            residuals, and predictions by fits without the sentence's cluster (`held_out`).
        cluster: the sampled unit of sentences (setting `morcela.cluster`).

    Raises LingprobError for a sentence without a score, a rated data set that lacks a rating, and
    if no scores have the convention. (morcela, §2)
    """
    samples = {}
    for name in fitted_to:
        scores = scores_under(datasets[name].scores, name, convention)
        samples[name] = with_ratings(name, datasets[name].stimuli, scores)
    tables = []
    for dataset, data_set in datasets.items():
        scores = scores_under(data_set.scores, dataset, convention)
        refuse_unscored(dataset, data_set.stimuli, scores)
        rows = data_set.stimuli.merge(scores, on="item_id")
        for name, sample in samples.items():
            source = rating_source(datasets[name].stimuli)
            about = {"dataset": dataset, "fitted_to": name, "rating_source": source}
            unit = sampling_units(sample, cluster)[1]
            without_unigrams = rows["unigram_logprob"].isna().all()
            for function in LINKING_FUNCTIONS:
                if not (without_unigrams and needs_unigrams(function)):
                    found = _predicted(function, sample, unit, rows, within=name == dataset)
                    tables.append(found.assign(**about))
    bos, unigrams = convention
    about = {"model": model, "scale": scale, "bos": bos, "unigrams": unigrams}
    return as_table(tables, "predicted_ratings", **about)


def _predicted(
    function: str, sample: pd.DataFrame, unit: pd.Series, rows: pd.DataFrame, *, within: bool
) -> pd.DataFrame:
    """Predict `rows` by a function fitted to `sample`. If `within`, both are the same rows."""
    scores = (sample["logprob"], sample["unigram_logprob"], sample["n_tokens"])
    data = rated_sentences(function, *scores, sample["rating"], unit)
    found = predict_ratings(data, rows["logprob"], rows["unigram_logprob"], rows["n_tokens"])
    return found.assign(
        linking_function=function,
        item_id=rows["item_id"],
        text=rows["text"],
        rating=rows["rating"],
        residual=rows["rating"] - found["predicted"],
        held_out=predict_held_out(data) if within else np.nan,
    )


def tabulate_sentences(
    model: str,
    datasets: Mapping[str, DataSet],
    described: Mapping[str, pd.DataFrame],
    predicted: pd.DataFrame,
    convention: Convention,
) -> pd.DataFrame:
    """Return one row per sentence: its own columns, scores under one convention, and a prediction.

    Args:
        datasets: data sets with the model's scores, by name.
        described: table of `item_id` and columns to keep, by data set.
        predicted: the `predicted_ratings` of the data sets. MORCELA's predictions are taken, fitted
            to the data set itself or, if it has no ratings, to the first rated one.

    Values that need unigrams are NaN without them.
    """
    columns = ["item_id", "model", "bos", "unigrams", "n_tokens", "logprob", "unigram_logprob"]
    by_morcela = predicted[predicted["linking_function"] == "morcela"]
    tables = []
    for name, data_set in datasets.items():
        scores = scores_under(data_set.scores, name, convention).assign(model=model)
        scores = scores[columns]
        unigram, length = scores["unigram_logprob"].astype(float), scores["n_tokens"]
        scores["mean_logprob"] = scores["logprob"] / length
        scores["slor"] = (scores["logprob"] - unigram) / length
        found = by_morcela[by_morcela["dataset"] == name]
        fitted_to = found["fitted_to"]
        found = found[fitted_to == (name if name in {*fitted_to} else next(iter(fitted_to), name))]
        scores = scores.merge(found[["item_id", *PREDICTED]], on="item_id", how="left")
        kept = described[name].merge(
            scores, on="item_id", how="right", suffixes=("_given", ""), validate="one_to_one"
        )
        tables.append(kept)
    return pd.concat(tables, ignore_index=True)
