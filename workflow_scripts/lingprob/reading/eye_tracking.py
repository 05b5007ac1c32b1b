"""Fixation durations by subject or as means; 0 or NaN where a word was not fixated.

The files of the Dundee corpus (Kennedy et al. 2003): sXNNma1p.dat has reader sX's fixations on text
NN in their order: WORD TEXT LINE OLEN WLEN XPOS WNUM FDUR OBLP WDLP LAUN TXFR, after a line of
names; WNUM counts the words of the text from 1, and *Blink and *Off-screen stand for a word.
txNNwrdp.dat has the words of text NN: word, file, screen, line, place in the line, place on the
screen, ..., place in the text (13th field).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.reading.alignment import align_words, attach_words
from lingprob.reading.printed import printed_geco
from lingprob.reading.tables import READER, Source, number, read, whole

NOT_FIXATED = ("", ".", "NA")
DUNDEE_ENCODING = "cp1252"


def ucl_first_pass(source: Source) -> pd.DataFrame:
    """Read eyetracking.RT.txt: subj_nr, sent_nr, word_pos, word, RTfirstpass (Frank et al.)."""
    path = source.files[0]
    columns = ["subj_nr", "sent_nr", "word_pos", "word", "RTfirstpass"]
    table = read(path, "\t", columns, encoding="cp1252")
    return pd.DataFrame(
        {
            "subject_id": table["subj_nr"],
            "passage_id": table["sent_nr"],
            "word_index": whole(path, table["word_pos"]) - 1,
            "word": table["word"],
            "rt_ms": number(path, table["RTfirstpass"]),
        }
    )


def provo_first_pass(source: Source) -> pd.DataFrame:
    """Read Provo_Corpus-Eyetracking_Data.csv: the duration of the first run of fixations.

    IA_SKIP marks the words that were passed over at first; their first run comes later and is no
    first pass (Luke & Christianson 2018).
    """
    path = source.files[0]
    columns = ["Participant_ID", "Text_ID", "IA_ID", "IA_LABEL", "IA_FIRST_RUN_DWELL_TIME"]
    table = read(path, ",", [*columns, "IA_SKIP"], quoting=0)
    duration = number(path, table["IA_FIRST_RUN_DWELL_TIME"], missing=NOT_FIXATED)
    times = pd.DataFrame(
        {
            "subject_id": table["Participant_ID"],
            "passage_id": whole(path, table["Text_ID"]).astype(str),
            "number": whole(path, table["IA_ID"]),
            "word": table["IA_LABEL"],
            "rt_ms": duration.where(number(path, table["IA_SKIP"]) == 0),
        }
    )
    return attach_words(times, source.words, str(path))


def provo_motr(source: Source) -> pd.DataFrame:
    """Read reader_N_reading_measures.csv: para_nr, word, word_nr, gaze_duration (Wilcox et al.)."""
    parts = []
    for path in source.files:
        table = read(path, ",", ["para_nr", "word", "word_nr", "gaze_duration"], quoting=0)
        part = pd.DataFrame(
            {
                "subject_id": path.stem.split("_")[1],
                "passage_id": whole(path, table["para_nr"]).astype(str),
                "number": whole(path, table["word_nr"]),
                "word": table["word"],
                "rt_ms": number(path, table["gaze_duration"], missing=NOT_FIXATED),
            }
        )
        parts.append(attach_words(part, source.words, str(path)))
    return pd.concat(parts, ignore_index=True)


def geco_first_pass(source: Source) -> pd.DataFrame:
    """Read MonolingualReadingData (.xlsx or saved as .csv): the duration of the first pass.

    WORD_SKIP marks the words that were passed over at first; the time that later fixations on them
    took is no first pass (as with Provo). The other files are the material and the novel, by which
    a WORD_ID has its place (Cop et al. 2017).
    """
    path, material, novel = source.files
    columns = ["PP_NR", "WORD_ID", "WORD_GAZE_DURATION", "WORD_SKIP"]
    table = read(path, ",", columns, quoting=0)
    place = geco_places(material, novel)
    known = table["WORD_ID"].isin(place.index)
    if known.mean() < 0.9:
        raise LingprobError(
            f"{path}: only {known.mean():.0%} of the words are in {material}, for instance not "
            f"{table.loc[~known, 'WORD_ID'].iloc[0]!r}. Is it the English material?"
        )
    table = table[known]
    duration = number(path, table["WORD_GAZE_DURATION"], missing=NOT_FIXATED)
    return pd.DataFrame(
        {
            "subject_id": table["PP_NR"].to_numpy(),
            "passage_id": place.loc[table["WORD_ID"], "passage_id"].to_numpy(),
            "word_index": place.loc[table["WORD_ID"], "word_index"].to_numpy(),
            "rt_ms": duration.where(number(path, table["WORD_SKIP"]) == 0).to_numpy(),
        }
    )


def geco_total(source: Source) -> pd.DataFrame:
    """Read ppN-relfix-feats.csv, a reader a file: word_id_orig, TRT, 0 where never fixated.

    The first files are the material and the novel, by which a word has its place.
    """
    material, novel, *readers = source.files
    place = geco_places(material, novel)
    parts = []
    for path in readers:
        table = read(path, ",", ["word_id_orig", "TRT"], quoting=0)
        table = table[table["word_id_orig"].isin(place.index)]
        here = place.loc[table["word_id_orig"]]
        parts.append(
            pd.DataFrame(
                {
                    "subject_id": path.name.split("-")[0],
                    "passage_id": here["passage_id"].to_numpy(),
                    "word_index": here["word_index"].to_numpy(),
                    "rt_ms": number(path, table["TRT"]).to_numpy(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def geco_places(material: Path, novel: Path) -> pd.DataFrame:
    """Return passage_id and word_index by WORD_ID, as the printed words are numbered."""
    words = printed_geco(material, novel)
    words = words[words["word_id"].notna()]
    return words.set_index("word_id")[["passage_id", "word_index"]]


def dundee_first_pass(source: Source) -> pd.DataFrame:
    """Return the first pass of every word that a reader fixated.

    It is the sum of the fixations on a word from the first on, if no later word was fixated before,
    to the first on another word. `saccade` is the words from the fixation before, and
    `previous_fixated` whether any fixation before was on the word before. The words of all texts,
    in the order of the files, are the corpus's.
    """
    files = sorted(source.files, key=lambda path: path.name)
    texts = [_dundee_text(path) for path in files if path.name.startswith("tx")]
    readers = [path for path in files if path.name.endswith("ma1p.dat")]
    if not texts or not readers:
        raise LingprobError(
            "dundee: list its txNNwrdp.dat and sXNNma1p.dat files under `files` of the data set."
        )
    read_words = pd.concat(texts, ignore_index=True)
    place = align_words(read_words["word"].tolist(), source.words["word"].tolist(), "dundee")
    found = read_words[place >= 0].reset_index(drop=True)
    keys = source.words[["passage_id", "word_index"]].iloc[place[place >= 0]].reset_index(drop=True)
    located = pd.concat([found, keys], axis=1)
    passes = pd.concat([_dundee_passes(path) for path in readers], ignore_index=True)
    return passes.merge(located, on=["text", "number"]).drop(columns=["text", "number"])


def _dundee_text(path: Path) -> pd.DataFrame:
    rows = []
    for line in path.read_text(encoding=DUNDEE_ENCODING).splitlines():
        fields = line.split()
        if not fields:
            continue
        if len(fields) < 13:
            raise LingprobError(f"{path}: a line with {len(fields)} fields, not 13: {line!r}.")
        rows.append((fields[0], fields[2], fields[3], int(fields[12])))
    text = pd.DataFrame(rows, columns=["word", "screen", "line", "number"])
    line = text["screen"] + "/" + text["line"]
    edge = (line != line.shift()) | (line != line.shift(-1))
    return text.assign(text=path.name[2:4], at_edge=edge)[["text", "number", "word", "at_edge"]]


def _dundee_passes(path: Path) -> pd.DataFrame:
    """Return text, number, rt_ms, previous_fixated and saccade of one reader's first passes."""
    rows: list[list[Any]] = []
    furthest = previous = 0
    is_first_pass = False
    fixated = {0}  # what is before the text counts as fixated, as elsewhere
    for row, line in enumerate(path.read_text(encoding=DUNDEE_ENCODING).splitlines()[1:], start=2):
        fields = line.split()
        if not fields or fields[0].startswith("*"):
            continue
        try:
            number, duration = int(fields[6]), float(fields[7])
        except (IndexError, ValueError) as error:
            raise LingprobError(
                f"{path}, row {row}: no word number and duration in {line!r}."
            ) from error
        if number < 1:
            continue
        is_first_pass = number > furthest or (is_first_pass and number == previous)
        if number > furthest:
            rows.append([number, duration, number - previous, number - 1 in fixated])
        elif is_first_pass:
            rows[-1][1] += duration
        furthest, previous = max(furthest, number), number
        fixated.add(number)
    table = pd.DataFrame(rows, columns=["number", "rt_ms", "saccade", "previous_fixated"])
    return table.assign(text=path.name[2:4], subject_id=path.name[:2])


def provo_first_pass_means(source: Source) -> pd.DataFrame:
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
