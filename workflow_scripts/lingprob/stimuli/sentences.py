"""Parse published sentences that were judged one by one.

CoLA: sentences from the literature, acceptable or not (Warstadt et al. 2019). HLL: rated sentences
of The Syntax of Chinese (Huang, Li & Li 2009; Chen et al. 2020). The toy strings: the eight of the
paper's example (string_probability, §2.1.1).
"""

import logging
from itertools import product
from pathlib import Path

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.io.table_files import need_columns, numeric, refuse
from lingprob.stats.agreement import standardise_ratings
from lingprob.stimuli.tables import (
    NO_RATINGS,
    Entry,
    Parsed,
    is_empty,
    pairs_as_sentences,
    read_csv_utf8,
    read_lines,
)

LABELS = {"1": True, "0": False}
HLL_COLUMNS = ["participant", "group", "sentence", "grammatical", "rating"]
TOY_WORDS = (("The", "A"), ("moon", "moons"), ("emerge", "emerges"))
TOY_GRAMMATICAL = {("The", "moon", "emerges"), ("A", "moon", "emerges"), ("The", "moons", "emerge")}
logger = logging.getLogger(__name__)


def cola(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the sentences of the files. A line has source, label, the author's mark and text.

    The sentences form no pairs. The publication of a sentence is its paradigm.
    """
    rows = []
    for path in (directory / file["name"] for file in entry["files"]):
        for number, line in enumerate(read_lines(path), start=1):
            source, label, _, text = line.split("\t")
            rows.append((f"{path.stem}.{number}", text, LABELS[label], source))
    table = pd.DataFrame(rows, columns=["item_id", "text", "grammatical", "paradigm"])
    return lone_sentences(table), NO_RATINGS


def lone_sentences(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of English sentences with all columns of `stimuli`."""
    return table.assign(language="en").reindex(columns=SCHEMAS["stimuli"].names)


def hll(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return pairs of a grammatical and another sentence of a group, and their judgments.

    The file is CSV (UTF-8) with one row per judgment: participant, group (an example of the book
    and its variants), sentence, grammatical (1, or 0 for a starred or questionable one) and the
    rating from 1 to 7. Ratings are standardised within the participant and averaged by sentence. A
    sentence that is in several pairs has an item in each. Groups without sentences of both kinds
    make no pair, and the log counts them. (string_probability, §5.1)
    """
    judgments = read_judgments(directory / entry["files"][0]["name"])
    judgments["z"] = standardise_ratings(judgments)
    sentences = judgments.groupby(["group", "sentence", "grammatical"], sort=False)["z"]
    pairs = pair_groups(sentences.mean().reset_index())
    if pairs.empty:
        raise LingprobError(
            f"data set {dataset!r}: no group has both a grammatical and another sentence. Is "
            "`grammatical` 1 and 0, and `group` the same for the variants of an example?"
        )
    stimuli = pairs_as_sentences(pairs, "zh", "human")
    keys = ["group", "sentence", "grammatical"]
    items = stimuli.rename(columns={"paradigm": "group", "text": "sentence"})[["item_id", *keys]]
    ratings = items.merge(judgments, on=keys)
    return stimuli, ratings[["participant_id", "item_id", "rating", "z"]]


def read_judgments(path: Path) -> pd.DataFrame:
    """Return the file's judgments: participant_id, group, sentence, grammatical (bool) and rating.

    Raises LingprobError that names a missing column or the row at fault.
    """
    table = read_csv_utf8(path, dtype=str)
    need_columns(path, table, HLL_COLUMNS, f"It must have {HLL_COLUMNS}.")
    for column in ("participant", "group", "sentence"):
        refuse(path, column, is_empty(table[column]), "empty")
    given = table["grammatical"]
    refuse(path, "grammatical", ~given.isin(LABELS), "neither 0 nor 1", given)
    rating = numeric(path, "rating", table["rating"])
    refuse(path, "rating", ~rating.between(1, 7), "not from 1 to 7", table["rating"])
    table = table[HLL_COLUMNS].rename(columns={"participant": "participant_id"})
    return table.assign(rating=rating, grammatical=given.map(LABELS))


def pair_groups(sentences: pd.DataFrame) -> pd.DataFrame:
    """Return all pairs of a grammatical and another sentence within each group.

    `sentences` has group, sentence, grammatical and z (the mean rating).
    """
    rows, alone = [], 0
    for group, members in sentences.groupby("group", sort=False):
        good = members[members["grammatical"]].reset_index(drop=True)
        bad = members[~members["grammatical"]].reset_index(drop=True)
        alone += good.empty or bad.empty
        for one, other in product(good.itertuples(), bad.itertuples()):
            pair_id = f"{group}.{one.Index}.{other.Index}"
            rows.append((pair_id, None, group, one.sentence, one.z, other.sentence, other.z))
    if alone:
        logger.warning("%d groups have sentences of one kind alone and make no pair", alone)
    names = ["pair_id", "phenomenon", "paradigm", "good", "good_rating", "bad", "bad_rating"]
    return pd.DataFrame(rows, columns=names)


def toy_strings(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return {The, A} {moon, moons} {emerge, emerges}., of which three are grammatical."""
    rows = [
        ("_".join(words).lower(), " ".join(words) + ".", words in TOY_GRAMMATICAL)
        for words in product(*TOY_WORDS)
    ]
    table = pd.DataFrame(rows, columns=["item_id", "text", "grammatical"])
    return lone_sentences(table), NO_RATINGS
