"""Published sentences that were judged one by one.

CoLA: sentences from the literature, acceptable or not (Warstadt et al. 2019). HLL: rated sentences
of The Syntax of Chinese (Huang, Li & Li 2009; Chen et al. 2020). The toy strings: the eight of the
paper's example (string_probability, §2.1.1).
"""

from __future__ import annotations

import logging
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.stats.agreement import standardise_ratings
from lingprob.stimuli.tables import NO_RATINGS, read_csv_utf8, read_lines, two_sentences_a_pair

LABELS = {"1": True, "0": False}
HLL_COLUMNS = ["participant", "group", "sentence", "grammatical", "rating"]
NEVER_EMPTY = ["participant", "group", "sentence"]
TOY_GRAMMATICAL = {("The", "moon", "emerges"), ("A", "moon", "emerges"), ("The", "moons", "emerge")}
logger = logging.getLogger(__name__)


def cola(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the sentences of the files: a line has source, label, the author's mark and text.

    The sentences are in no pairs; the publication that one comes from is its paradigm.
    """
    tables = [read_sentences(directory / file["name"]) for file in entry["files"]]
    stimuli = pd.concat(tables, ignore_index=True).assign(
        pair_id=None,
        condition=None,
        rating=None,
        rating_source=None,
        phenomenon=None,
        language="en",
    )
    return stimuli, NO_RATINGS


def read_sentences(path: Path) -> pd.DataFrame:
    """Read one file; raise LingprobError that names a line of another shape or label."""
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) != 4 or fields[1] not in LABELS:
            raise LingprobError(
                f"{path}, line {number}: expected source, label (0 or 1), mark and sentence with "
                f"tabs between; found {fields}. Fetch the file again."
            )
        source, label, _, text = fields
        rows.append(
            {
                "item_id": f"{path.stem}.{number}",
                "text": text,
                "grammatical": LABELS[label],
                "paradigm": source,
            }
        )
    return pd.DataFrame(rows)


def hll(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pair every grammatical sentence of a group with every other one (string_probability, §5.1).

    The file is CSV (UTF-8) with a row a judgment: participant, group (an example of the book and
    its variants), sentence, grammatical (1, or 0 for a starred or questionable one) and the rating
    from 1 to 7. Ratings are standardised within the participant and averaged by sentence. A
    sentence that is in several pairs has an item in each. Groups of one kind alone make no pair;
    how many there are is logged.
    """
    judgments = read_judgments(directory / entry["files"][0]["name"])
    judgments["z"] = standardise_ratings(
        judgments.rename(columns={"participant": "participant_id"})
    )
    sentences = judgments.groupby(["group", "sentence", "grammatical"], sort=False)["z"]
    pairs = pair_groups(sentences.mean().reset_index())
    if pairs.empty:
        raise LingprobError(
            f"data set {dataset!r}: no group has both a grammatical and another sentence. Is "
            "`grammatical` 1 and 0, and `group` the same for the variants of an example?"
        )
    stimuli = two_sentences_a_pair(pairs).assign(language="zh", rating_source="human")
    keys = stimuli.assign(group=stimuli["paradigm"], sentence=stimuli["text"])
    ratings = keys[["item_id", "group", "sentence", "grammatical"]].merge(
        judgments, on=["group", "sentence", "grammatical"]
    )
    ratings = ratings.rename(columns={"participant": "participant_id"})
    return stimuli, ratings[["participant_id", "item_id", "rating", "z"]]


def read_judgments(path: Path) -> pd.DataFrame:
    """Read the file; raise LingprobError that names a missing column or the row at fault."""
    table = read_csv_utf8(path, dtype=str)
    missing = [column for column in HLL_COLUMNS if column not in table.columns]
    if missing:
        raise LingprobError(f"{path}: no columns {missing}; it must have {HLL_COLUMNS}.")
    rating = pd.to_numeric(table["rating"], errors="coerce")
    at_fault = {
        "grammatical": ~table["grammatical"].isin(LABELS),
        "rating": ~rating.between(1, 7),
        **{name: table[name].fillna("").str.strip() == "" for name in NEVER_EMPTY},
    }
    for column, faults in at_fault.items():
        refuse_rows(
            faults,
            "{path}, row {row}, column {column!r}: {value!r} ({count} such rows); `grammatical` is "
            "0 or 1, `rating` 1 to 7, and no other column is empty.",
            table[[column]].set_axis(["value"], axis=1),
            path=path,
            column=column,
        )
    return table[HLL_COLUMNS].assign(rating=rating, grammatical=table["grammatical"].map(LABELS))


def pair_groups(sentences: pd.DataFrame) -> pd.DataFrame:
    """Return all pairs of a grammatical and another sentence within each group.

    `sentences` has group, sentence, grammatical and z, the mean rating.
    """
    rows = []
    alone = 0
    for group, members in sentences.groupby("group", sort=False):
        good = members[members["grammatical"]].reset_index()
        bad = members[~members["grammatical"]].reset_index()
        alone += good.empty or bad.empty
        for (i, one), (j, other) in product(good.iterrows(), bad.iterrows()):
            pair_id = f"{group}.{i}.{j}"
            rows.append(
                {
                    "pair_id": pair_id,
                    "phenomenon": None,
                    "paradigm": group,
                    "good_id": f"{pair_id}.good",
                    "good_text": one["sentence"],
                    "good_rating": one["z"],
                    "bad_id": f"{pair_id}.bad",
                    "bad_text": other["sentence"],
                    "bad_rating": other["z"],
                }
            )
    if alone:
        logger.warning("%d groups have sentences of one kind alone and make no pair", alone)
    return pd.DataFrame(rows)


def toy_strings(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return {The, A} {moon, moons} {emerge, emerges}., of which three are grammatical."""
    words = list(product(("The", "A"), ("moon", "moons"), ("emerge", "emerges")))
    stimuli = pd.DataFrame(
        {
            "item_id": ["_".join(string).lower() for string in words],
            "pair_id": None,
            "condition": None,
            "text": [" ".join(string) + "." for string in words],
            "grammatical": [string in TOY_GRAMMATICAL for string in words],
            "rating": None,
            "rating_source": None,
            "phenomenon": None,
            "paradigm": None,
            "language": "en",
        }
    )
    return stimuli, NO_RATINGS
