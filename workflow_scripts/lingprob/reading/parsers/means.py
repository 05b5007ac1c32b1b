"""Reading times that are only known as means over readers, a word a row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lingprob.reading.alignment import align_words
from lingprob.reading.parsers import Source
from lingprob.reading.parsers.self_paced import shifted
from lingprob.reading.parsers.tables import number, read, whole

READER = "mean"


def natural_stories(source: Source) -> pd.DataFrame:
    """Read processed_wordinfo.tsv: word, zone, item, meanItemRT (Futrell et al. 2021).

    A zone of the release before May 2025 has the time of the word after it: `zone_shift: 1` moves
    it there, so that the first word of a story has none.
    """
    path = source.files[0]
    table = read(path, "\t", ["word", "zone", "item", "meanItemRT"])
    times = pd.DataFrame(
        {
            "subject_id": READER,
            "passage_id": table["item"],
            "word_index": whole(path, table["zone"]) - 1,
            "word": table["word"],
            "rt_ms": number(path, table["meanItemRT"]),
        }
    )
    return shifted(times, source.words, source.entry.get("zone_shift", 0), str(path))


def brown_spr(source: Source) -> pd.DataFrame:
    """Read docid, sentid, sentpos, word, mean_rt (empty for first words; Smith & Levy 2013)."""
    path = source.files[0]
    table = read(path, "\t", ["docid", "word", "mean_rt"])
    return pd.DataFrame(
        {
            "subject_id": READER,
            "passage_id": table["docid"],
            "word_index": table.groupby("docid").cumcount(),
            "word": table["word"],
            "rt_ms": number(path, table["mean_rt"]),
        }
    )


def provo_first_pass(source: Source) -> pd.DataFrame:
    """Read word and first_pass_dur of all passages but their first words, skipping counted as 0 ms.

    The file has neither passages nor places, so its words are found again in the text.
    """
    path = source.files[0]
    table = read(path, ",", ["word", "first_pass_dur"], quoting=0)
    text = source.words.sort_values(
        ["passage_id", "word_index"], key=lambda key: key.astype(int), ignore_index=True
    )
    place = align_words(table["word"].tolist(), text["word"].tolist(), str(path))
    found = place >= 0
    rows = text.iloc[place[found]]
    return pd.DataFrame(
        {
            "subject_id": READER,
            "passage_id": rows["passage_id"].to_numpy(),
            "word_index": rows["word_index"].to_numpy(),
            "word": rows["word"].to_numpy(),
            "rt_ms": number(path, table["first_pass_dur"]).to_numpy()[found],
            "saccade": np.ones(int(found.sum())),
        }
    )
