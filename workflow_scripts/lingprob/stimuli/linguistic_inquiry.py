"""Rated pairs from Linguistic Inquiry, 2001 to 2010, in three published forms.

`linguistic_inquiry`: Likert ratings of MORCELA's sentences (Sprouse et al. 2013; morcela, §3.3).
`li_large`: the ratings of two studies (Sprouse et al. 2013; Mahowald et al. 2016). `li_adger`:
pairs, also from Adger's textbook, with published scores of other models, in one file of
Vázquez Martínez et al. (2023), https://doi.org/10.18653/v1/2023.genbench-1.4.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, looked_up
from lingprob.stimuli.tables import NO_RATINGS, read_csv_utf8, two_sentences_a_pair

LI_PAIRS = "linguistic_inquiry_data.csv"
LI_LARGE_PAIRS = "LI_Large_pairs.csv"
JUDGMENTS = "sprouse2013_LS/LI.ls.results.csv"
LI_LARGE_SIDES = {"good": ("Good ID", "grammatical"), "bad": ("Bad ID", "ungrammatical")}
LI_ADGER_SIDES = {"good": "gramm", "bad": "ungramm"}
# By our name: the column's name, and what turns it to nats (the n-gram model's decimal logarithms).
SCORES = {
    "bert-base-uncased": ("bert-base-uncased_mlm", 1.0),
    "bert-large-uncased": ("bert-large-uncased_mlm", 1.0),
    "bert-large-cased": ("bert-large-cased_mlm", 1.0),
    "trigram": ("logProb", np.log(10)),
}
logger = logging.getLogger(__name__)


def linguistic_inquiry(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 725 pairs as 1,450 rated sentences, and every participant's judgments of them.

    The rating of a sentence is the mean of its z-scored judgments. The two files are joined on
    the item id in lower case, since they differ in the case of some author names.

    The pairs are those of the paper's file. Its filters (§3.3), run again on the raw files, give
    709 of them: tests/science/test_linguistic_inquiry.py says which they are not.
    """
    pairs = read_csv_utf8(directory / LI_PAIRS)
    stimuli = two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pairs["Good ID"] + " / " + pairs["Bad ID"],
                "phenomenon": articles(pairs["Good ID"]),
                "paradigm": pairs["Bad ID"].str.replace(r"\.\d+$", "", regex=True),
                "good_id": pairs["Good ID"],
                "good_text": pairs["Good Sentence"],
                "good_rating": pairs["Good Sentence LS"],
                "bad_id": pairs["Bad ID"],
                "bad_text": pairs["Bad Sentence"],
                "bad_rating": pairs["Bad Sentence LS"],
            }
        )
    ).assign(language="en", rating_source="human")
    ratings = judgments(directory / JUDGMENTS, stimuli["item_id"])
    recomputed = ratings.groupby("item_id")["z"].mean().reindex(stimuli["item_id"])
    difference = (recomputed.to_numpy() - stimuli["rating"]).abs().max()
    if not difference < 1e-9:
        raise LingprobError(
            f"{directory / JUDGMENTS}: its mean z-scores differ from the ratings in {LI_PAIRS} by "
            f"up to {difference}; the two files do not belong together."
        )
    return stimuli, ratings


def articles(item_ids: pd.Series) -> pd.Series:
    """Return the article that a sentence is from, or the chapter of Adger's textbook.

    `32.1.martin.2c.*.01` is from volume 32, issue 1; `ch8.150.*.03` is from chapter 8.
    """
    return item_ids.str.extract(r"^(\d+\.\d+\.[^.]+|[^.]+)")[0]


def judgments(path: Path, item_ids: pd.Series) -> pd.DataFrame:
    """Read single judgments of the given items; missing ones (62 in all) are left out."""
    raw = pd.read_csv(path, skiprows=5, encoding="latin-1").dropna(subset=["judgment"])
    by_lower_case = {item_id.lower(): item_id for item_id in item_ids}
    item_id = raw["item"].str.lower().map(by_lower_case)
    kept = item_id.notna()
    return pd.DataFrame(
        {
            "participant_id": raw["participant"].astype(str),
            "item_id": item_id,
            "rating": raw["judgment"].astype(float),
            "z": raw["zscores"],
        }
    )[kept].reset_index(drop=True)


def li_large(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs with the mean of each sentence's z-scored Likert ratings, and judgments.

    104 pairs lack one or both ratings. A sentence that is in several pairs has an item in each. The
    phenomenon is the study, the paradigm the article that was sampled. Single judgments are
    published for the first study alone; their means must be its ratings. The studies spell some
    authors' names with other capitals, so articles are in lower case.
    """
    pairs = read_csv_utf8(directory / LI_LARGE_PAIRS)
    pair_id = "pair." + pairs["pair_ID"].astype(str)
    columns = {"pair_id": pair_id, "phenomenon": pairs["source"]}
    columns["paradigm"] = articles(pairs["Bad ID"]).str.lower()
    published_ids = []
    for side, (published_id, name) in LI_LARGE_SIDES.items():
        columns[f"{side}_id"] = pair_id + f".{side}"
        columns[f"{side}_text"] = pairs[f"sentence_{name}"]
        columns[f"{side}_rating"] = pairs[f"LS_{name}"]
        ids = pairs[published_id].set_axis(columns[f"{side}_id"])
        published_ids.append(ids[(pairs["source"] == "Sprouse").to_numpy()])
    stimuli = two_sentences_a_pair(pd.DataFrame(columns))
    ratings = item_judgments(directory / JUDGMENTS, pd.concat(published_ids), stimuli)
    return stimuli.assign(language="en", rating_source="human"), ratings


def item_judgments(path: Path, published_ids: pd.Series, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Return the judgments of the items that `published_ids` names, and check their means."""
    by_published_id = judgments(path, published_ids.drop_duplicates())
    items = published_ids.rename("published_id").rename_axis("item").reset_index()
    ratings = by_published_id.merge(items, left_on="item_id", right_on="published_id")
    ratings = ratings.drop(columns=["item_id", "published_id"]).rename(columns={"item": "item_id"})
    means = ratings.groupby("item_id")["z"].mean()
    stated = stimuli.set_index("item_id")["rating"].reindex(means.index)
    if not (means - stated).abs().max() < 1e-9:
        raise LingprobError(
            f"{path}: its mean z-scores are not the ratings in {LI_LARGE_PAIRS}; the two files do "
            "not belong together. Fetch them again."
        )
    return ratings[["participant_id", "item_id", "rating", "z"]]


def li_adger(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs with the file's mean ratings (magnitude estimates, z-scored).

    The phenomenon is the source, the paradigm the article or the chapter of the textbook.
    """
    pairs = read_scored_pairs(directory / entry["files"][0]["name"])
    columns = {"pair_id": pairs.index, "phenomenon": pairs["dataset"]}
    columns["paradigm"] = articles(pairs["ungramm_id"]).str.lower()
    for side, theirs in LI_ADGER_SIDES.items():
        columns[f"{side}_id"] = pairs.index + f".{side}"
        columns[f"{side}_text"] = pairs[f"{theirs}_sentence"]
        columns[f"{side}_rating"] = pairs[f"{theirs}_judgement"]
    stimuli = two_sentences_a_pair(pd.DataFrame(columns).reset_index(drop=True))
    return stimuli.assign(language="en", rating_source="human"), NO_RATINGS


def read_scored_pairs(path: Path) -> pd.DataFrame:
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
    pairs = read_scored_pairs(path)
    tables = []
    for side, theirs in LI_ADGER_SIDES.items():
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
