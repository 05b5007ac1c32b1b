"""Log-probabilities from elsewhere, as CSV, TSV or Parquet, into the tables of our own scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli.user_table import numeric, read_frame

REMEDY = "README.md, `Your own model, ratings and scores`, lists the columns."


def import_sentence_scores(path: Path, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Read one row a sentence as a `sentence_scores` table.

    Columns of the file: `item_id` (or `sentence`, the text itself), `logprob` (nats, summed over
    the sentence), `n_tokens` and, if known, `unigram_logprob` (nats). Sentences that the
    stimuli lack are ignored.

    Raises LingprobError that names the file, column and row for bad values, or the first
    stimulus that the file lacks.
    """
    frame = _keyed(path, stimuli, ["logprob", "n_tokens"]).set_index("item_id")
    columns = ["logprob", "n_tokens"] + [c for c in ["unigram_logprob"] if c in frame.columns]
    frame = frame[columns].apply(lambda values: numeric(path, str(values.name), values))
    if (frame["n_tokens"] < 1).any():
        raise LingprobError(f"{path}, column 'n_tokens': a value below 1. {REMEDY}")
    frame = frame.reindex(stimuli["item_id"])
    return frame.assign(
        bos="imported",
        unigrams="imported",
        unigram_logprob=frame.get("unigram_logprob"),
        n_words=stimuli.set_index("item_id")["text"].str.split().str.len(),
    ).reset_index()


def import_token_scores(path: Path, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Read one row a token as a `scores` table, which unigram sources can be joined to.

    Columns of the file: `item_id` (or `sentence`), `token_index`, `token_id`, `logprob` (nats;
    empty for a token without context) and, if known, `char_start` and `char_end`.
    """
    frame = _keyed(path, stimuli, ["token_index", "token_id", "logprob"], once=False)
    for column in ("token_index", "token_id"):
        frame[column] = numeric(path, column, frame[column])
    known = frame["logprob"].notna()
    given = numeric(path, "logprob", frame.loc[known, "logprob"])
    frame["logprob"] = given.reindex(frame.index).astype(np.float32)
    for column in ("char_start", "char_end"):
        is_given = column in frame.columns
        frame[column] = numeric(path, column, frame[column]) if is_given else -1
    order = {item_id: place for place, item_id in enumerate(stimuli["item_id"])}
    frame = frame.assign(scored=known.to_numpy(), place=frame["item_id"].map(order))
    frame = frame.dropna(subset=["place"]).sort_values(["place", "token_index"], kind="stable")
    columns = ["item_id", "token_index", "token_id", "char_start", "char_end", "logprob", "scored"]
    return frame[columns].reset_index(drop=True)


def _keyed(path: Path, stimuli: pd.DataFrame, needed: list[str], once: bool = True) -> pd.DataFrame:
    """Read the file, key its rows by item id and check that each stimulus has its rows."""
    frame = read_frame(path)
    if "item_id" not in frame.columns and "sentence" in frame.columns:
        items = stimuli[["item_id", "text"]].rename(columns={"text": "sentence"})
        frame = items.merge(frame.drop_duplicates() if once else frame, on="sentence")
    missing = [column for column in ["item_id", *needed] if column not in frame.columns]
    if missing:
        raise LingprobError(f"{path}: no columns {missing}. {REMEDY}")
    frame["item_id"] = frame["item_id"].astype(str)
    if once and frame["item_id"].duplicated().any():
        first = frame.loc[frame["item_id"].duplicated(), "item_id"].iloc[0]
        raise LingprobError(f"{path}: item {first!r} occurs twice. {REMEDY}")
    absent = ~stimuli["item_id"].isin(frame["item_id"])
    if absent.any():
        raise LingprobError(
            f"{path}: no score for item {stimuli.loc[absent, 'item_id'].iloc[0]!r} "
            f"({int(absent.sum())} of {len(stimuli)} are absent). {REMEDY}"
        )
    return frame
