"""What users hand over (lists, data frames) as the tables that rules read."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.own_tables import FORMATS, need_columns, read_frame, text_of
from lingprob.io.tables import as_table
from lingprob.io.text_units import sentence_ends
from lingprob.reading.texts import lines_of, with_places, words_of
from lingprob.stimuli.own_table import as_stimuli
from lingprob.stimuli.tables import check_stimuli

logger = logging.getLogger(__name__)
PAIRS = "the table of pairs"
# What a table of pairs may have as columns, and this reads of it.
COLUMNS = ("good", "bad", "sentence", "item", "pair", "grammatical", "phenomenon", "paradigm")


def as_texts(given: str | Iterable[object], what: str, may_be_empty: bool = False) -> list[str]:
    """Return texts as a list; one alone is a list of one.

    Raises LingprobError for a data frame, for what is no text and for an empty one.
    """
    if isinstance(given, pd.DataFrame):
        raise LingprobError(f"the {what}s are a data frame. Give one of its columns.")
    texts = [given] if isinstance(given, str) else list(given)
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise LingprobError(
                f"{what} {row} is {text!r}, which is no text. Fill it in or drop it."
            )
        if not (may_be_empty or text.strip()):
            raise LingprobError(f"{what} {row} is empty. Fill it in or drop it.")
    if not texts:
        raise LingprobError(f"there are no {what}s. Give at least one.")
    return [str(text) for text in texts]


def stimuli_of(texts: list[str]) -> pd.DataFrame:
    """Return sentences with what scoring reads of a `stimuli` table; they are numbered from 1."""
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    return pd.DataFrame({"item_id": numbers, "text": texts})


def as_contexts(context: str | Iterable[str | None], n: int, separator: str) -> list[str]:
    """Return what precedes each of n sentences, nothing as an empty text.

    Warns of a context that ends in white space if a separator follows, because two blanks change
    the sentence's log-probability. Raises LingprobError for another number of contexts.
    """
    if isinstance(context, str):
        contexts = [context] * n
    else:
        given = ["" if pd.isna(one) else one for one in context]
        if len(given) != n:
            raise LingprobError(
                f"there are {len(given)} contexts for {n} sentences. Give one for all, or each one."
            )
        contexts = as_texts(given, "context", True)
    ending = [row for row, one in enumerate(contexts, start=1) if one != one.rstrip()]
    if separator and ending:
        logger.warning(
            "context %d, %r, ends in white space, and the separator %r follows it, which changes "
            "the log-probability of the sentence (%d such contexts). Strip it.",
            ending[0], contexts[ending[0] - 1], separator, len(ending),
        )  # fmt: skip
    return contexts


def as_pairs(pairs: pd.DataFrame | Iterable[tuple[str, str]], language: str) -> pd.DataFrame:
    """Return minimal pairs as a `stimuli` table.

    Args:
        pairs: (good, bad) texts, or a table with a row a pair (`good`, `bad`; `pair`, `phenomenon`
            and `paradigm` if it has them) or a row a sentence (`sentence`, `pair`, `grammatical`).
        language: ISO 639-1 code.

    Raises LingprobError that names the row and column at fault.
    """
    if isinstance(pairs, pd.DataFrame):
        frame = pairs[[name for name in COLUMNS if name in pairs.columns]]
    else:
        try:
            frame = pd.DataFrame([(good, bad) for good, bad in pairs], columns=["good", "bad"])
        except (TypeError, ValueError) as error:
            raise LingprobError(
                "the pairs are neither a data frame nor (good, bad) sentences. Give one of these."
            ) from error
    if not {"sentence", "good", "bad"} & {*frame.columns}:
        given = list(pairs.columns) if isinstance(pairs, pd.DataFrame) else []
        raise LingprobError(
            f"{PAIRS}: no columns 'good' and 'bad'. It has {given}. A row is a pair (`good`, "
            "`bad`) or a sentence (`sentence`, `pair`, `grammatical`)."
        )
    meant = [side for side in ("good", "bad") if "sentence" not in frame.columns]
    entry = {"language": language, "columns": {side: side for side in meant}}
    stimuli = as_stimuli(frame.reset_index(drop=True), PAIRS, entry, "columns")
    check_stimuli(stimuli, PAIRS)
    return as_table(stimuli.assign(dataset=PAIRS), "stimuli", PAIRS)


def as_passages(texts: str | Iterable[str]) -> pd.Series:
    """Return texts as passages by their ids, numbers from 1 as text; what is blank is left out."""
    passages = [(str(n), text) for n, text in enumerate(as_texts(texts, "text", True), start=1)]
    kept = {name: text for name, text in passages if text.strip()}
    if not kept:
        raise LingprobError("there is no word in the texts. Give at least one.")
    return pd.Series(kept)


def as_words(texts: str | Iterable[str]) -> pd.DataFrame:
    """Return texts as a `words` table, each text a passage."""
    return with_places(words_of(as_passages(texts).items()))


def read_passages(path: Path, column: str = "text") -> list[str]:
    """Return the passages of a file: the lines of a text, or a column of a table.

    Warns of lines that look wrapped, since each would be read without those before it. Raises
    LingprobError if the file is not there, is not UTF-8 or has no such column.
    """
    if path.suffix not in FORMATS:
        lines = lines_of(path)
        written = [line for line in lines if line.strip()]
        unended = sum(not sentence_ends([line.split()[-1]])[0] for line in written)
        if len(written) > 1 and unended > len(written) / 2:
            logger.warning(
                "%s: %d of %d lines do not end a sentence. A line is a passage, read without the "
                "lines before it: put a text that is wrapped on one line.",
                path, unended, len(written),
            )  # fmt: skip
        return lines
    frame = read_frame(path)
    need_columns(path, frame, [column], "A row is a passage, in the column `text`.")
    return text_of(path, column, frame[column]).fillna("").tolist()
