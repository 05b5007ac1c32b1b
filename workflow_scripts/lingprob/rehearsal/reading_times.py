"""Made-up reading times of real (or made-up) words, in the formats that their parsers read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.io.files import atomic_path, write_text
from lingprob.io.tables import write_csv
from lingprob.reading.eye_tracking import geco_places
from lingprob.rehearsal.prose import generator

READERS = 12
GECO_READERS = 4  # its novel has 56,000 words
DUNDEE_TEXTS = 20
SKIPPED = 0.3  # share of words that are not fixated
WORDS_PER_LINE, LINES_PER_SCREEN = 12, 5  # of Dundee


def times(words: pd.DataFrame, readers: int, name: str) -> pd.DataFrame:
    """Return a row a reader and word: subject (from 1), columns of `words`, rt_ms, skipped.

    Longer words take longer, and readers differ.
    """
    rng = generator(name)
    table = words[["passage_id", "word_index", "word"]].merge(
        pd.DataFrame({"subject": range(1, readers + 1)}), how="cross"
    )
    table = table.sort_values("subject", kind="stable", ignore_index=True)
    mean = 180 + 12 * table["word"].str.len() + 20 * np.sin(table["subject"])
    noise = rng.gamma(9, 1 / 9, len(table))
    return table.assign(rt_ms=(mean * noise).round(), skipped=rng.random(len(table)) < SKIPPED)


def natural_stories(folder: Path, names: Sequence[str], words: pd.DataFrame) -> None:
    """Write processed_RTs.tsv: WorkerId, correct, item, zone, RT, word."""
    table = times(words, READERS, names[0])
    written = {
        "WorkerId": table["subject"].map("worker{}".format),
        "correct": 6,
        "item": table["passage_id"],
        "zone": table["word_index"] + 1,
        "RT": table["rt_ms"],
        "word": table["word"],
    }
    with atomic_path(folder / names[0]) as temporary:
        # Quotation marks stand as they are.
        pd.DataFrame(written).to_csv(temporary, index=False, sep="\t", quoting=3)


def brown(folder: Path, names: Sequence[str], words: pd.DataFrame) -> None:
    """Write brown_spr.csv: subject, text_id, text_pos (both from 0), word, time."""
    table = times(words, READERS, names[0])
    written = {
        "subject": table["subject"].map("s{}".format),
        "text_id": pd.factorize(table["passage_id"])[0],
        "text_pos": table["word_index"],
        "word": table["word"],
        "time": table["rt_ms"],
    }
    write_csv(pd.DataFrame(written), folder / names[0])


def provo(folder: Path, names: Sequence[str], words: pd.DataFrame) -> None:
    """Write Provo_Corpus-Eyetracking_Data.csv: the first run of fixations on each word."""
    table = times(words, READERS, names[0])
    written = {
        "Participant_ID": table["subject"].map("Sub{:02d}".format),
        "Text_ID": table["passage_id"],
        "IA_ID": table["word_index"] + 1,
        "IA_LABEL": table["word"],
        "IA_FIRST_RUN_DWELL_TIME": table["rt_ms"].where(~table["skipped"]),
        "IA_SKIP": table["skipped"].astype(int),
    }
    write_csv(pd.DataFrame(written), folder / names[0])


def geco(folder: Path, names: Sequence[str], words: pd.DataFrame) -> None:
    """Write MonolingualReadingData.xlsx, by the WORD_IDs of the material beside it."""
    places = geco_places(folder / "EnglishMaterial_corrected.csv", folder / "863-0.txt")
    numbered = places.rename_axis("word_id").reset_index()
    known = words.merge(numbered, on=["passage_id", "word_index"])
    ids = known.set_index(["passage_id", "word_index"])["word_id"]
    table = times(known, GECO_READERS, names[0])
    keys = pd.MultiIndex.from_frame(table[["passage_id", "word_index"]])
    written = {
        "PP_NR": table["subject"].map("pp{:02d}".format),
        "WORD_ID": ids.loc[keys].to_numpy(),
        "WORD_GAZE_DURATION": table["rt_ms"].astype(object).where(~table["skipped"], "."),
        "WORD_SKIP": table["skipped"].astype(int),
    }
    with atomic_path(folder / names[0]) as temporary:
        pd.DataFrame(written).to_excel(temporary, index=False)


def dundee(folder: Path, names: Sequence[str], words: pd.DataFrame) -> None:
    """Write txNNwrdp.dat, the words of texts NN, and sXNNma1p.dat, reader X's fixations on them."""
    editorials = pd.factorize(words["passage_id"])[0]
    text = editorials * DUNDEE_TEXTS // (editorials.max() + 1) + 1
    parts = {f"{number:02d}": part for number, part in words.groupby(text)}
    for name in names:
        part = parts[name[2:4]].reset_index(drop=True)
        content = _fixations(name, part) if name.startswith("s") else _screens(name, part)
        write_text(content, folder / name)


def _screens(name: str, words: pd.DataFrame) -> str:
    """Thirteen fields a word, the last its place in the text."""
    rows = []
    for place, word in enumerate(words["word"]):
        line, column = divmod(place, WORDS_PER_LINE)
        screen, line = divmod(line, LINES_PER_SCREEN)
        fields = [word, int(name[2:4]), screen + 1, line + 1, column + 1, place + 1]
        rows.append("\t".join(map(str, [*fields, *[0] * 6, place + 1])))
    return "\n".join(rows) + "\n"


def _fixations(name: str, words: pd.DataFrame) -> str:
    """Twelve fields a fixation, the seventh the word's place and the eighth the duration."""
    rng = generator(name)
    rows = ["WORD TEXT LINE OLEN WLEN XPOS WNUM FDUR OBLP WDLP LAUN TXFR"]
    for place, word in enumerate(words["word"], start=1):
        if rng.random() > SKIPPED:
            duration = int(rng.gamma(9, (160 + 8 * len(word)) / 9))
            fields = [word, int(name[2:4]), 1, len(word), len(word), 1, place, duration]
            rows.append(" ".join(map(str, [*fields, 0, 0, 0, 0])))
    return "\n".join(rows) + "\n"


Writer = Callable[[Path, Sequence[str], pd.DataFrame], None]
WRITERS: dict[str, Writer] = {
    "natural_stories": natural_stories,
    "brown": brown,
    "provo": provo,
    "geco": geco,
    "dundee": dundee,
}
