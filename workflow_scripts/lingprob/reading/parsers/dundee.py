"""First-pass durations from the fixations of the Dundee corpus (Kennedy et al. 2003).

sXNNma1p.dat has reader sX's fixations on text NN in their order: WORD TEXT LINE OLEN WLEN XPOS WNUM
FDUR OBLP WDLP LAUN TXFR, after a line of names; WNUM counts the words of the text from 1, and
*Blink and *Off-screen stand for a word. txNNwrdp.dat has the words of text NN: word, file, screen,
line, place in the line, place on the screen, ..., place in the text (13th field).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.reading.alignment import align_words
from lingprob.reading.parsers import Source

ENCODING = "cp1252"


def first_pass(source: Source) -> pd.DataFrame:
    """Return the first pass of every word that a reader fixated.

    It is the sum of the fixations on a word from the first on, if no later word was fixated before,
    to the first on another word. `saccade` is the words from the fixation before, and
    `previous_fixated` whether any fixation before was on the word before. The words of all texts,
    in the order of the files, are the corpus's.
    """
    files = sorted(source.files, key=lambda path: path.name)
    texts = [_text(path) for path in files if path.name.startswith("tx")]
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
    passes = pd.concat([_passes(path) for path in readers], ignore_index=True)
    return passes.merge(located, on=["text", "number"]).drop(columns=["text", "number"])


def _text(path: Path) -> pd.DataFrame:
    rows = []
    for line in path.read_text(encoding=ENCODING).splitlines():
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


def _passes(path: Path) -> pd.DataFrame:
    """Return text, number, rt_ms, previous_fixated and saccade of one reader's first passes."""
    rows: list[list[Any]] = []
    furthest = previous = 0
    is_first_pass = False
    fixated = {0}  # what is before the text counts as fixated, as elsewhere
    for row, line in enumerate(path.read_text(encoding=ENCODING).splitlines()[1:], start=2):
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
