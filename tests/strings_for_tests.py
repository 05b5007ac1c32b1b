"""Made scores of string probability, in data sets of pairs and of sentences."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.papers.run import Run
from lingprob.papers.string_probability.analysis import analyse
from lingprob.papers.string_probability.data import Dataset, Options, string_scores

VOCABULARY = 1000
OPTIONS = Options(bootstrap=30, resample="pairs", seed=1, scale="demo")
PUBLISHED = read_published("string_probability")
TWO_BINS = replace(OPTIONS, bins=2, bootstrap=60)


def made(
    name: str, predictions: set[int], pairs: int = 120, seed: int = 0, lone: int = 0
) -> Dataset:
    """A data set of six paradigms. Pair 7 has identical sentences, and pair 8 lacks a rating."""
    dataset = data_set(name, pairs, predictions, lone=lone, paradigms=6, seed=seed)
    stimuli, rng = dataset.stimuli, np.random.default_rng(seed)
    stimuli["rating"] += 0.1 * dataset.scores["logprob"]
    stimuli.loc[stimuli["pair_id"] == "p7", "text"] = "the same"
    stimuli.loc[16, "rating"] = np.nan
    edits = {"levenshtein_characters": rng.integers(1, 40, pairs)}
    edits["levenshtein_words"] = rng.integers(1, 9, pairs)
    distances = dataset.distances.assign(**edits)
    return replace(dataset, distances=distances)


def found(results: dict[str, pd.DataFrame], dataset: str, **chosen) -> pd.DataFrame:
    table = results["string_correlations"]
    table = table[table["dataset"] == dataset]
    for key, value in chosen.items():
        table = table[table[key] == value]
    return table


def run_of(**titles: str) -> Run:
    return Run("demo", titles=titles, published=PUBLISHED)


def data_set(
    name: str,
    pairs: int,
    predictions: set[int],
    *,
    lone: int = 0,
    paradigms: int = 1,
    seed: int = 0,
) -> Dataset:
    """Rated pairs in paradigms and three phenomena, and some sentences without a pair."""
    rng = np.random.default_rng(seed)
    row = np.arange(2 * pairs + lone)
    number, good = row // 2, row % 2 == 0
    length = 4 + number % 5
    message = rng.normal(0, 6, len(row))[number]
    stimuli = pd.DataFrame({
        "item_id": [f"s{k}" for k in row], "text": [f"{name} {k}" for k in row],
        "pair_id": [f"p{k}" if k < pairs else None for k in number], "grammatical": good,
        "rating": good + rng.normal(size=len(row)), "rating_source": "human",
        "phenomenon": [f"ph{k % 3}" for k in number],
        "paradigm": [f"pa{k % paradigms}" for k in number],
    })  # fmt: skip
    scores = pd.DataFrame({
        "item_id": stimuli["item_id"], "bos": "bos", "unigrams": "u", "n_tokens": length,
        "logprob": -6.0 * length + message + 4 * good + rng.normal(0, 3, len(row)),
        "unigram_logprob": -9.0 * length + rng.normal(0, 3, len(row)), "n_words": length,
    })  # fmt: skip
    distances = pd.DataFrame({
        "pair_id": [f"p{k}" for k in range(pairs)], "levenshtein_characters": 1,
        "levenshtein_words": 1, "cosine_distance": rng.random(pairs),
    })  # fmt: skip
    return Dataset(name, frozenset(predictions), stimuli, scores, distances)


def scored(dataset: Dataset) -> pd.DataFrame:
    return string_scores("m", dataset, 100, "demo")


@pytest.fixture(scope="session")
def datasets() -> list[Dataset]:
    """Return rated and unrated pairs, and sentences without pairs."""
    single = made("single", {3}, seed=2)
    lonely = single.stimuli.assign(pair_id=None, rating=None)
    return [
        made("pairs", {1, 3}),
        made("rated", {2, 3}, seed=1),
        Dataset("single", single.predictions, lonely, single.scores, None),
    ]


@pytest.fixture(scope="session")
def results(datasets) -> dict[str, pd.DataFrame]:
    return analyse("m", datasets, ["pairs", "rated", "single"], VOCABULARY, OPTIONS)
