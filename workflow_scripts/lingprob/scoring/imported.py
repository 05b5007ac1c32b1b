"""Read a user's table of log-probabilities as `scores` and `sentence_scores` tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import refuse_rows
from lingprob.io.table_files import label_of, need_columns, numeric, read_frame, refuse, whole
from lingprob.scoring.sentences import summarise_sentences

REMEDY = "docs/own_data.md lists the columns."
SIGN = (
    "Log-probabilities are 0 or less. If these are surprisals, turn their sign (and bits to nats, "
    "times 0.6931). If they are probabilities, take the logarithm."
)


def import_scores(
    path: Path,
    level: str,
    stimuli: pd.DataFrame,
    bos_policies: Mapping[str, Mapping[str, str]],
    unigram_logprobs: Mapping[str, pd.Series],
    found: pd.DataFrame | None,
) -> tuple[pd.DataFrame | None, pd.DataFrame]:
    """Return a file's `scores` table (None if a row is a sentence) and `sentence_scores` table.

    `level` is `token` or `sentence`. `found` is the file's table of sentences if it has been read.
    """
    if level == "sentence":
        return None, import_sentence_scores(path, stimuli, found)
    tokens = import_token_scores(path, stimuli)
    by_start_token = {policy["start_token"]: tokens for policy in bos_policies.values()}
    return tokens, summarise_sentences(stimuli, by_start_token, bos_policies, unigram_logprobs)


def refuse_shared_ids(path: Path, stimuli: Sequence[pd.DataFrame]) -> None:
    """Raise LingprobError if the file names rows by ids that two data sets have in common."""
    items = pd.concat([table[["item_id", "text"]] for table in stimuli]).drop_duplicates()
    twice = items["item_id"].duplicated()
    if twice.any() and "item_id" in read_frame(path).columns:
        refuse_rows(
            twice,
            "{path}: the id {item_id!r} is of different sentences in two data sets (such ids: "
            "{count}). Name rows by `sentence` instead, or list the data sets with scores in this "
            "file under `datasets` in the model's entry.",
            items,
            path=path,
        )


def import_sentence_scores(
    path: Path, stimuli: pd.DataFrame, found: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return a `sentence_scores` table of a file with one row per sentence (or its table, `found`).

    Columns of the file: `item_id` (or `sentence`, the text itself), `logprob` (nats, a sum),
    `n_tokens` and, if known, `unigram_logprob` (nats). Sentences that the stimuli lack are ignored.

    Raises LingprobError that names the column and row of a bad value, such as a positive logprob,
    or the first stimulus that the file lacks.
    """
    given, frame = _read(path, ["logprob", "n_tokens"], found)
    frame["logprob"] = _logprobs(path, "logprob", given["logprob"])
    frame["n_tokens"] = whole(path, "n_tokens", given["n_tokens"], smallest=1)
    frame["unigram_logprob"] = None
    if "unigram_logprob" in given.columns:
        frame["unigram_logprob"] = _logprobs(path, "unigram_logprob", given["unigram_logprob"])
    frame = _of_items(path, frame, stimuli)
    twice = frame["item_id"].duplicated()
    refuse_rows(twice, "{path}: item {item_id!r} occurs twice. " + REMEDY, frame, path=path)
    frame = frame.set_index("item_id").reindex(stimuli["item_id"])
    n_words = stimuli.set_index("item_id")["text"].str.split().str.len()
    table = frame[["logprob", "n_tokens", "unigram_logprob"]].assign(n_words=n_words)
    return table.assign(bos="imported", unigrams="imported").reset_index()


def import_token_scores(path: Path, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Return a `scores` table of a file with one row per token.

    Columns of the file: `item_id` (or `sentence`), `token_index` (from 0, each of a sentence once),
    `token_id`, `logprob` (nats; empty for first tokens without context) and, if known, `char_start`
    and `char_end`.

    Raises LingprobError as `import_sentence_scores` does, and for token indices that are missing,
    repeated or negative.
    """
    given, frame = _read(path, ["token_index", "token_id", "logprob"])
    for column in ("token_index", "token_id"):
        frame[column] = whole(path, column, given[column])
    for column in ("char_start", "char_end"):
        known = column in given.columns
        frame[column] = whole(path, column, given[column], smallest=-1) if known else -1
    frame["logprob"] = _logprobs(path, "logprob", given["logprob"], True).astype(np.float32)
    frame = _of_items(path, frame, stimuli)
    frame = frame.sort_values(["place", "token_index"], kind="stable", ignore_index=True)
    frame["scored"] = frame["logprob"].notna()
    by_item = frame.groupby("place")
    refuse_rows(
        frame["token_index"] != by_item.cumcount(),
        "{path}: item {item_id!r} has a token_index {token_index}, and those of a sentence must be "
        "0, 1, 2 and so on, each once. " + REMEDY,
        frame,
        path=path,
    )
    refuse_rows(
        by_item["scored"].cummax() & ~frame["scored"],
        "{path}: item {item_id!r}, token {token_index}: no logprob after a token that has one "
        "(such tokens: {count}). Only first tokens may have none.",
        frame,
        path=path,
    )
    return frame.drop(columns=["place", *({"sentence"} & set(frame.columns))])


def _logprobs(path: Path, column: str, values: pd.Series, nullable: bool = False) -> pd.Series:
    """Return a column as float64. Raise LingprobError for a positive or missing value."""
    numbers = numeric(path, column, values, nullable)
    refuse(path, column, numbers > 0, "above 0", numbers, SIGN)
    return numbers


def _read(
    path: Path, needed: list[str], found: pd.DataFrame | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the file's table, and a frame with its keys: `item_id`, `sentence` or both."""
    given = read_frame(path) if found is None else found
    keys = [key for key in ("item_id", "sentence") if key in given.columns] or ["item_id"]
    need_columns(path, given, [*keys, *needed], REMEDY)
    frame = pd.DataFrame({key: label_of(path, key, given[key]) for key in keys})
    refuse(path, keys[0], frame[keys[0]].isna(), "no value")
    return given, frame


def _of_items(path: Path, frame: pd.DataFrame, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `frame` that are stimuli, with `place`, the row number of the stimulus.

    Raises LingprobError for a stimulus without a score, and for a row whose id is of a sentence
    with other letters.
    """
    if {"item_id", "sentence"} <= {*frame.columns}:
        texts = frame["item_id"].map(stimuli.set_index("item_id")["text"])
        ours, theirs = (
            column.str.lower().str.replace(r"[\W_]+", "", regex=True)
            for column in (texts, frame["sentence"])
        )
        refuse_rows(
            ours.notna() & (ours != theirs),
            "{path}, data row {row}: the item {item_id!r} is {text!r}, but the row's sentence is "
            "{sentence!r} (such rows: {count}). Correct or delete one of the two columns.",
            frame.assign(text=texts),
            path=path,
        )
    if "item_id" not in frame.columns:
        items = stimuli[["item_id"]].assign(sentence=stimuli["text"].str.strip())
        frame = frame.drop_duplicates().merge(items, on="sentence")
    refuse_rows(
        ~stimuli["item_id"].isin(frame["item_id"]),
        "{path}: no score for item {item_id!r}, {text!r} ({count} of {total} are absent). Complete "
        "the file, or list its data sets under `datasets` in the model's entry.",
        stimuli,
        path=path,
        total=len(stimuli),
    )
    order = {item_id: place for place, item_id in enumerate(stimuli["item_id"])}
    return frame.assign(place=frame["item_id"].map(order)).dropna(subset=["place"])
