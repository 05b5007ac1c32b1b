"""Parse rated pairs from Linguistic Inquiry, 2001 to 2010, in three published forms.

`linguistic_inquiry`: Likert ratings of MORCELA's sentences (Sprouse et al. 2013; morcela, §3.3).
`li_large`: the ratings of two studies (Sprouse et al. 2013; Mahowald et al. 2016). `li_adger`:
pairs, also from Adger's textbook, with published scores of other models, in one file of
Vázquez Martínez et al. (2023), https://doi.org/10.18653/v1/2023.genbench-1.4.
"""

import logging
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import looked_up
from lingprob.stimuli.tables import (
    NO_RATINGS,
    SIDES,
    Entry,
    Parsed,
    pairs_as_sentences,
    read_csv_utf8,
)

# Columns of each published table of pairs, with their names in `pairs_as_sentences`.
LI_COLUMNS = {
    "Good ID": "good_id", "Good Sentence": "good", "Good Sentence LS": "good_rating",
    "Bad ID": "bad_id", "Bad Sentence": "bad", "Bad Sentence LS": "bad_rating",
}  # fmt: skip
LI_LARGE_COLUMNS = {
    "sentence_grammatical": "good", "LS_grammatical": "good_rating",
    "sentence_ungrammatical": "bad", "LS_ungrammatical": "bad_rating", "source": "phenomenon",
}  # fmt: skip
LI_ADGER_COLUMNS = {
    "gramm_sentence": "good", "gramm_judgement": "good_rating", "ungramm_sentence": "bad",
    "ungramm_judgement": "bad_rating", "dataset": "phenomenon",
}  # fmt: skip
JUDGMENTS = "sprouse2013_LS/LI.ls.results.csv"
# Column of each published model's scores, and its factor to nats (the trigrams' are decimal logs).
SCORES = {
    "bert-base-uncased": ("bert-base-uncased_mlm", 1.0),
    "bert-large-uncased": ("bert-large-uncased_mlm", 1.0),
    "bert-large-cased": ("bert-large-cased_mlm", 1.0),
    "trigram": ("logProb", np.log(10)),
}
logger = logging.getLogger(__name__)


def linguistic_inquiry(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return 725 pairs as 1,450 rated sentences, and every participant's judgments of them.

    The rating of a sentence is the mean of its z-scored judgments. The two files are joined on
    the item id in lower case, because they differ in the case of some author names.

    The pairs are those of the MORCELA paper's file. Its filters (§3.3), run again on the raw files,
    give 709 of them, and tests/science/test_published_stimuli.py lists the others.
    """
    pairs = read_csv_utf8(directory / "linguistic_inquiry_data.csv")
    pairs = pairs.rename(columns=LI_COLUMNS).assign(
        pair_id=pairs["Good ID"] + " / " + pairs["Bad ID"],
        phenomenon=articles(pairs["Good ID"]),
        paradigm=pairs["Bad ID"].str.replace(r"\.\d+$", "", regex=True),  # one example
    )
    stimuli = pairs_as_sentences(pairs, "en", "human")
    return stimuli, read_judgments(directory / JUDGMENTS, stimuli["item_id"])


def articles(item_ids: pd.Series) -> pd.Series:
    """Return the article that each sentence is from, or the chapter of Adger's textbook, by id.

    `32.1.martin.2c.*.01` is from volume 32, issue 1, and `ch8.150.*.03` is from chapter 8.
    """
    return item_ids.str.extract(r"^(\d+\.\d+\.[^.]+|[^.]+)")[0]


def read_judgments(path: Path, item_ids: pd.Series) -> pd.DataFrame:
    """Return a `ratings` table of the given items. Missing judgments (62 in all) are left out."""
    raw = pd.read_csv(path, skiprows=5, encoding="latin-1").dropna(subset=["judgment"])
    by_lower_case = {item_id.lower(): item_id for item_id in item_ids}
    table = pd.DataFrame(
        {
            "participant_id": raw["participant"].astype(str),
            "item_id": raw["item"].str.lower().map(by_lower_case),
            "rating": raw["judgment"].astype(float),
            "z": raw["zscores"],
        }
    )
    return table.dropna(subset=["item_id"]).reset_index(drop=True)


def li_large(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the pairs of both studies with mean z-scored Likert ratings, and single judgments.

    104 pairs lack one or both ratings. A sentence in several pairs has an item in each. The
    phenomenon is the study, the paradigm the article that was sampled. Single judgments are
    published only for the first study. The studies spell some authors' names with other capitals,
    so articles are in lower case.
    """
    pairs = read_csv_utf8(directory / "LI_Large_pairs.csv")
    # The file's own columns phenomenon and paradigm are others.
    table = pairs[list(LI_LARGE_COLUMNS)].rename(columns=LI_LARGE_COLUMNS)
    pair_id = "pair." + pairs["pair_ID"].astype(str)
    table = table.assign(pair_id=pair_id, paradigm=articles(pairs["Bad ID"]).str.lower())
    stimuli = pairs_as_sentences(table, "en", "human")
    published = stimuli.assign(published_id=pairs[["Good ID", "Bad ID"]].to_numpy().ravel())
    published = published.loc[published["phenomenon"] == "Sprouse", ["item_id", "published_id"]]
    judged = read_judgments(directory / JUDGMENTS, published["published_id"].drop_duplicates())
    judged = judged.rename(columns={"item_id": "published_id"}).merge(published, on="published_id")
    return stimuli, judged[["participant_id", "item_id", "rating", "z"]]


def li_adger(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the file's pairs with their mean ratings (magnitude estimates, z-scored).

    The phenomenon is the source, the paradigm the article or the chapter of the textbook.
    """
    pairs = read_scored_pairs(directory / entry["files"][0]["name"])
    table = pairs[list(LI_ADGER_COLUMNS)].rename(columns=LI_ADGER_COLUMNS)
    table = table.assign(paradigm=articles(pairs["ungramm_id"]).str.lower())
    return pairs_as_sentences(table.rename_axis("pair_id").reset_index(), "en", "human"), NO_RATINGS


def read_scored_pairs(path: Path) -> pd.DataFrame:
    """Return the file's table, one row per pair, indexed by pair id.

    The two pairs that lack a score are left out, and a warning counts them.
    """
    pairs = read_csv_utf8(path)
    pairs.index = "pair." + pairs.index.astype(str)
    whole = pairs[["logProb_gramm", "logProb_ungramm"]].notna().all(axis=1)
    logger.warning("%s: %d pairs lack a score and are left out", path, int((~whole).sum()))
    return pairs[whole]


def published_scores(path: Path, model: str) -> pd.DataFrame:
    """Return a published model's item_id, logprob (nats), n_tokens and perhaps unigram_logprob.

    BERT's log-probabilities are pseudo-log-likelihoods: each token given all others. n_tokens
    counts words and punctuation marks. The n-gram model's also counts the end of the sentence, as
    its SLOR does, from which the unigram log-probability follows.
    """
    column, nats = looked_up("published model", model, SCORES)
    pairs = read_scored_pairs(path)
    tables = []
    for side, name in zip(SIDES, ("gramm", "ungramm"), strict=True):
        logprob = pairs[f"{column}_{name}"]
        length = pairs[f"{name}_sentence"].str.count(r"\w+|[^\w\s]")
        table = {"item_id": pairs.index + f".{side}", "logprob": nats * logprob}
        if model == "trigram":
            length = length + 1
            table["unigram_logprob"] = nats * (logprob - length * pairs[f"slor_{name}"])
        tables.append(pd.DataFrame({**table, "n_tokens": length}))
    return pd.concat(tables, ignore_index=True)
