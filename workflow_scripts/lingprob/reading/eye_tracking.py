"""Parsers of eye-tracking corpora (see `reading.tables` for their arguments and results).

`rt_ms` is the fixation duration of a word, 0 or NaN if the word was not fixated.

The Dundee corpus (Kennedy et al. 2003) has two kinds of files. sXNNma1p.dat lists the fixations of
reader sX on text NN in temporal order, after a line of column names: WORD TEXT LINE OLEN WLEN XPOS
WNUM FDUR OBLP WDLP LAUN TXFR. WNUM counts the words of the text from 1. *Blink and *Off-screen
replace WORD. txNNwrdp.dat lists the words of text NN: word, file, screen, line, place in the line,
place on the screen, ..., place in the text (13th field).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.reading.printed import printed_geco
from lingprob.reading.tables import KEYS, READER, Source, align_words, attach_words, read_times

DUNDEE_ENCODING = "cp1252"
SMALLEST_SHARE = 0.9  # smallest share of GECO's words that must be in its material


def ucl_first_pass(source: Source) -> pd.DataFrame:
    """Return the first-pass times in eyetracking.RT.txt of the UCL corpus (Frank et al. 2013)."""
    columns = {"subject_id": "subj_nr", "passage_id": "sent_nr", "number": "word_pos",
               "word": "word", "rt_ms": "RTfirstpass"}  # fmt: skip
    times = read_times(source.files[0], "\t", columns, encoding="cp1252")
    return times.assign(word_index=times.pop("number") - 1)


def provo_first_pass(source: Source) -> pd.DataFrame:
    """Return first-pass times from Provo_Corpus-Eyetracking_Data.csv (Luke & Christianson 2018).

    A word that was skipped at first (IA_SKIP) has NaN, because its fixations belong to a later
    pass.
    """
    path = source.files[0]
    columns = {"subject_id": "Participant_ID", "passage_id": "Text_ID", "number": "IA_ID",
               "word": "IA_LABEL", "rt_ms": "IA_FIRST_RUN_DWELL_TIME",
               "skipped": "IA_SKIP"}  # fmt: skip
    times = _without_skipped(read_times(path, ",", columns, quoting=0))
    return attach_words(times, source.words, str(path))


def provo_motr(source: Source) -> pd.DataFrame:
    """Return gaze durations from reader_N_reading_measures.csv, one file per reader.

    The Provo passages were read by mouse tracking, MoTR (Wilcox et al. 2024).
    """
    columns = {"passage_id": "para_nr", "word": "word", "number": "word_nr",
               "rt_ms": "gaze_duration"}  # fmt: skip
    parts = [
        read_times(path, ",", columns, quoting=0).assign(subject_id=path.stem.split("_")[1])
        for path in source.files
    ]
    times = pd.concat(parts, ignore_index=True)
    return attach_words(times, source.words, str(source.files[0].parent))


def geco_first_pass(source: Source) -> pd.DataFrame:
    """Return first-pass times from GECO's MonolingualReadingData, .xlsx or .csv (Cop et al. 2017).

    A word that was skipped at first (WORD_SKIP) has NaN. The second and third file are the material
    and the novel, which `printed_geco` takes.
    """
    path, *printed = source.files
    columns = {"subject_id": "PP_NR", "word_id": "WORD_ID", "rt_ms": "WORD_GAZE_DURATION",
               "skipped": "WORD_SKIP"}  # fmt: skip
    return _without_skipped(_placed([path], columns, printed))


def geco_total(source: Source) -> pd.DataFrame:
    """Return total times, 0 if never fixated, from GECO's ppN-relfix-feats.csv (one per reader).

    The first two files are the material and the novel, which `printed_geco` takes.
    """
    columns = {"word_id": "word_id_orig", "rt_ms": "TRT"}
    return _placed(source.files[2:], columns, source.files[:2])


def _without_skipped(times: pd.DataFrame) -> pd.DataFrame:
    """Return times with NaN as `rt_ms` if `skipped` is 1."""
    return times.assign(rt_ms=times["rt_ms"].where(times.pop("skipped") == 0))


def _placed(
    files: Sequence[Path], columns: dict[str, str], printed: Sequence[Path]
) -> pd.DataFrame:
    """Read GECO's files and replace `word_id` by the word's passage_id and word_index in print.

    Rows with a WORD_ID that the material `printed` lacks are left out.
    """
    words = printed_geco(*printed).dropna(subset="word_id")
    places = words.set_index("word_id")[KEYS]
    parts = []
    for path in files:
        times = read_times(path, ",", columns, quoting=0)
        known = times["word_id"].isin(places.index)
        if known.mean() < SMALLEST_SHARE:
            raise LingprobError(
                f"{path}: only {known.mean():.0%} of the words are in {printed[0]}, for instance "
                f"not {times.loc[~known, 'word_id'].iloc[0]!r}. Is it the English material?"
            )
        if "subject_id" not in times:
            times["subject_id"] = path.name.split("-")[0]
        parts.append(times[known].join(places, on="word_id").drop(columns="word_id"))
    return pd.concat(parts, ignore_index=True)


def dundee_first_pass(source: Source) -> pd.DataFrame:
    """Return the first-pass time of every word that a reader of the Dundee corpus fixated.

    It is the sum of the fixations on the word until the eyes first leave it. A word has no row if a
    later word was fixated before it. The txNNwrdp.dat files, in the order of their names, have the
    words of `source.words`.
    """
    files = sorted(source.files, key=lambda path: path.name)
    texts = [_dundee_text(path) for path in files if path.name.startswith("tx")]
    readers = [path for path in files if path.name.endswith("ma1p.dat")]
    if not texts or not readers:
        raise LingprobError("dundee: list its txNNwrdp.dat and sXNNma1p.dat files under `files`.")
    read_words = pd.concat(texts, ignore_index=True)
    place = align_words(read_words["word"].tolist(), source.words["word"].tolist(), "dundee")
    found = read_words[place >= 0].reset_index(drop=True)
    keys = source.words[KEYS].iloc[place[place >= 0]].reset_index(drop=True)
    passes = pd.concat([_dundee_passes(path) for path in readers], ignore_index=True)
    located = passes.merge(pd.concat([found, keys], axis=1), on=["text", "number"])
    return located.drop(columns=["text", "number"])


def _dundee_text(path: Path) -> pd.DataFrame:
    """Return word, number (WNUM), text (NN) and at_edge (first or last of a line) of words."""
    rows = []
    for line in path.read_text(encoding=DUNDEE_ENCODING).splitlines():
        fields = line.split()
        if fields and len(fields) < 13:
            raise LingprobError(f"{path}: a line with {len(fields)} fields, not 13: {line!r}.")
        if fields:
            rows.append((fields[0], f"{fields[2]}/{fields[3]}", int(fields[12])))
    text = pd.DataFrame(rows, columns=["word", "line", "number"])
    line = text.pop("line")
    edge = (line != line.shift()) | (line != line.shift(-1))
    return text.assign(text=path.name[2:4], at_edge=edge)


def _dundee_passes(path: Path) -> pd.DataFrame:
    """Return one row per first pass: number, rt_ms, saccade, previous_fixated, text, subject_id."""
    rows: list[list[Any]] = []
    furthest = previous = 0
    is_first_pass = False
    fixated = {0}  # the place before the text counts as fixated
    for row, line in enumerate(path.read_text(encoding=DUNDEE_ENCODING).splitlines()[1:], start=2):
        fields = line.split()
        if not fields or fields[0].startswith("*"):
            is_first_pass &= fields[:1] in ([], ["*Blink"])  # off the screen the pass is over
            continue
        try:
            number, duration = int(fields[6]), float(fields[7])
        except (IndexError, ValueError) as error:
            said = f"{path}, row {row}: no word number and duration in {line!r}."
            raise LingprobError(said) from error
        if number < 1:
            is_first_pass = False
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
    """Return Provo's first-pass times as means over readers. A skipped word counts as 0 ms.

    The file lacks the first word of each passage. It also lacks passage ids and word numbers, so
    `align_words` finds its words in the text. The saccade to each word counts as 1.
    """
    path = source.files[0]
    times = read_times(path, ",", {"word": "word", "rt_ms": "first_pass_dur"}, quoting=0)
    text = source.words.sort_values(KEYS, key=lambda key: key.astype(int), ignore_index=True)
    place = align_words(times["word"].tolist(), text["word"].tolist(), str(path))
    found = text.iloc[place[place >= 0]][[*KEYS, "word"]]
    rt_ms = times["rt_ms"][place >= 0].to_numpy()
    return found.assign(rt_ms=rt_ms, subject_id=READER, saccade=1.0).reset_index(drop=True)
