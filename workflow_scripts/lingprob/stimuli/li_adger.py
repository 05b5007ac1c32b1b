"""Pairs from Linguistic Inquiry and Adger's textbook with published scores of other models.

Both are in one file of Vázquez Martínez et al. (2023), https://doi.org/10.18653/v1/2023.genbench-1.4.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import looked_up
from lingprob.stimuli.checks import NO_RATINGS, two_sentences_a_pair
from lingprob.stimuli.csv_files import read_csv_utf8

SIDES = {"good": "gramm", "bad": "ungramm"}
# By our name: the column's name, and what turns it to nats (the n-gram model's decimal logarithms).
SCORES = {
    "bert-base-uncased": ("bert-base-uncased_mlm", 1.0),
    "bert-large-uncased": ("bert-large-uncased_mlm", 1.0),
    "bert-large-cased": ("bert-large-cased_mlm", 1.0),
    "trigram": ("logProb", np.log(10)),
}
logger = logging.getLogger(__name__)


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs with the file's mean ratings (magnitude estimates, z-scored)."""
    pairs = read_pairs(directory / entry["files"][0]["name"])
    columns = {"pair_id": pairs.index, "phenomenon": pairs["dataset"]}
    columns["paradigm"] = pairs["ungramm_id"].str.replace(r"\.\d+$", "", regex=True)
    for side, theirs in SIDES.items():
        columns[f"{side}_id"] = pairs.index + f".{side}"
        columns[f"{side}_text"] = pairs[f"{theirs}_sentence"]
        columns[f"{side}_rating"] = pairs[f"{theirs}_judgement"]
    stimuli = two_sentences_a_pair(pd.DataFrame(columns).reset_index(drop=True))
    return stimuli.assign(language="en", rating_source="human"), NO_RATINGS


def read_pairs(path: Path) -> pd.DataFrame:
    """Read the file, a pair a row, indexed by pair id; the two pairs without all scores are left
    out, which is logged."""
    pairs = read_csv_utf8(path)
    pairs.index = "pair." + pairs.index.astype(str)
    whole = pairs[["logProb_gramm", "logProb_ungramm"]].notna().all(axis=1)
    logger.warning("%s: %d pairs lack a score and are left out", path, int((~whole).sum()))
    return pairs[whole]


def published_scores(path: Path, model: str) -> pd.DataFrame:
    """Return one model's scores as `scoring.imported` reads them, a sentence a row.

    BERT's are pseudo-log-likelihoods: each token given all others. The length counts words and
    marks; the n-gram model's also the end of the sentence, as its SLOR does, which gives its
    unigram log-probability.
    """
    column, nats = looked_up("published model", model, SCORES)
    pairs = read_pairs(path)
    tables = []
    for side, theirs in SIDES.items():
        length = pairs[f"{theirs}_sentence"].str.count(r"\w+|[^\w\s]")
        if column == "logProb":
            length = length + 1
        logprob = pairs[f"{column}_{theirs}"]
        table = pd.DataFrame({"item_id": pairs.index + f".{side}", "n_tokens": length})
        table["logprob"] = nats * logprob
        if column == "logProb":
            table["unigram_logprob"] = nats * (logprob - length * pairs[f"slor_{theirs}"])
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
