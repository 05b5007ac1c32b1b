"""Read published tables of reading times, and match their words with the text that was read.

A parser of reading times takes a Source. It returns a frame with subject_id, passage_id, word_index
and rt_ms (ms, NaN or 0 if a word was not fixated), one row per reader and word. If the data have
them, it also returns word, previous_fixated, saccade (distance in words from the previous
fixation), at_edge (of a line or screen) and correct (number of comprehension questions that the
reader answered correctly). `io.parsers` lists the parsers by their names in the catalog.
"""

import logging
import re
import unicodedata
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, no_such_file, only_one, refuse_rows
from lingprob.io.table_files import need_columns, numeric, whole
from lingprob.io.workbooks import as_text, rows_of_first_sheet

logger = logging.getLogger(__name__)

OTHER = "Is the file another version?"
PUNCTUATION = re.compile(r"[^\w%$&]+")
LONGEST_REPLACEMENT = 3  # in words, such as a typing error or a word that is cut in two
SMALLEST_SHARE = 0.95  # of the words that are found again
KEYS = ["passage_id", "word_index"]
READER = "mean"  # subject_id if only means over readers are known
NUMBERS = {"rt_ms", "correct", "skipped"}
WHOLE = {"number", "sentence", "position", "letters"}


class Source(NamedTuple):
    """The argument of a parser: a data set's files, its text's `words` table, its entry.

    `seed` is the seed of simulated times.
    """

    files: Sequence[Path]
    words: pd.DataFrame
    entry: dict[str, Any]
    seed: int


def check_files(files: Sequence[Path], corpus: str, *, is_own: bool) -> None:
    """Raise LingprobError if a data set's file is absent, or a user's one (`is_own`) is several."""
    for path in files:
        if not path.is_file():
            raise no_such_file(path)
    if is_own:
        only_one(files, corpus)


def read(
    path: Path,
    separator: str,
    columns: Sequence[str],
    *,
    encoding: str = "utf-8-sig",
    quoting: int = 3,
) -> pd.DataFrame:
    """Return `columns` of a CSV file or workbook as text, '' if empty.

    `quoting` is an option of pandas. With 3, quotation marks are text.
    """
    try:
        if path.suffix in (".xlsx", ".xls"):
            table = _first_sheet(path, columns)
        else:
            table = pd.read_csv(
                path, sep=separator, dtype=str, keep_default_na=False, quoting=quoting,
                encoding=encoding,
            )  # fmt: skip
    except (ValueError, KeyError, OSError) as error:
        raise LingprobError(f"{path}: cannot be read ({error}). Download it again.") from error
    need_columns(path, table, columns, OTHER)
    return table[list(columns)]


def _first_sheet(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return those of `columns` that a workbook's first sheet has, as text.

    Rows are read one by one, because GECO's workbook has 51 million cells.
    """
    rows = rows_of_first_sheet(path)
    names = [as_text(cell) for cell in next(rows, [])]
    places = [names.index(name) for name in columns if name in names]
    if len(places) < len(columns):
        return pd.DataFrame(columns=names)
    kept = [[as_text(row[place]) for place in places] for row in rows]
    return pd.DataFrame(kept, columns=list(columns), dtype=str)


def read_times(path: Path, separator: str, columns: Mapping[str, str], **how: Any) -> pd.DataFrame:
    """Return a table of times, given the file's name of each column in `columns`.

    NUMBERS are floats, NaN if the field is empty, a dot or NA. WHOLE are ints, and other columns
    are text. `how` has options of `read`.
    """
    table = read(path, separator, list(columns.values()), **how)
    frame = pd.DataFrame({name: table[column] for name, column in columns.items()})
    for name in NUMBERS & set(columns):
        frame[name] = numeric(path, columns[name], frame[name], nullable=True)
    for name in WHOLE & set(columns):
        frame[name] = whole(path, columns[name], frame[name])
    return frame


def align_words(found: Sequence[str], expected: Sequence[str], about: str) -> np.ndarray:
    """Return the index in `expected` of each word of `found`, or -1, as an int array (len(found),).

    Both lists are in reading order. Words are compared without case and punctuation. Up to three
    consecutive words that differ from as many words of `expected` count as typing errors, and get
    the indices of those words. Raises LingprobError, which begins with `about`, if fewer than 95%
    of the words of `found` match.
    """
    ours, theirs = [_plain(word) for word in found], [_plain(word) for word in expected]
    place = np.full(len(ours), -1)
    same = 0
    differences: list[tuple[int, int]] = []
    matcher = SequenceMatcher(a=ours, b=theirs, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            same += last - first
        elif tag != "insert":
            differences.append((first, start))
        if tag == "equal" or last - first == end - start <= LONGEST_REPLACEMENT:
            place[first:last] = np.arange(start, end)
    if same < SMALLEST_SHARE * len(ours):
        first, start = differences[0]
        there = repr(expected[start]) if start < len(expected) else "nothing"
        raise LingprobError(
            f"{about}: the reading times differ from the text at word {start}: the text has "
            f"{there} and the reading times have {found[first]!r}; only {same / len(ours):.0%} of "
            f"the words are found again. {OTHER}"
        )
    return place


def attach_words(times: pd.DataFrame, words: pd.DataFrame, about: str) -> pd.DataFrame:
    """Return reading times with the text's `word_index` in place of the column `number`.

    `times` has passage_id, word, number (an int that grows along each passage) and other columns.
    `align_words` finds them in a `words` table. Rows of other words are left out with a warning.
    """
    labels = times[["passage_id", "number", "word"]].drop_duplicates(["passage_id", "number"])
    texts = dict(list(words.groupby("passage_id", sort=False)["word"]))
    parts = []
    for passage, part in labels.sort_values("number").groupby("passage_id", sort=False):
        if passage not in texts:
            raise LingprobError(f"{about}: passage {passage!r} has reading times and no text.")
        text = texts[passage].tolist()
        place = align_words(part["word"].tolist(), text, f"{about}, {passage!r}")
        parts.append(part.assign(word_index=place)[["passage_id", "number", "word_index"]])
    merged = times.merge(pd.concat(parts), on=["passage_id", "number"])
    absent = merged["word_index"] < 0
    if absent.any():
        row = merged[absent].iloc[0]
        logger.warning(
            "%s: %d of %d rows are left out, because the text does not have their words "
            "(passage %r: %r)", about, absent.sum(), len(merged), row["passage_id"], row["word"],
        )  # fmt: skip
    return merged[~absent].drop(columns="number")


def check_words(
    times: pd.DataFrame, words: pd.DataFrame, about: str, kind: str = "reading times"
) -> None:
    """Check that `times` names the same word as the text at each passage_id and word_index.

    Case and punctuation are ignored. Raises LingprobError at an index that the text does not have,
    if more than 5% of all words differ, or if most words of a passage do (four or more). Other
    differences, as in typing errors, only get a warning. `kind` names the data in messages.
    """
    seen = times[[*KEYS, "word"]].drop_duplicates()
    both = seen.merge(words[[*KEYS, "word"]], on=KEYS, how="left", suffixes=("", "_of_text"))
    names = {"about": about, "kind": kind}
    refuse_rows(
        both["word_of_text"].isna(),
        "{about}: one of the {kind} is for word {word_index} of passage {passage_id!r} ({word!r}), "
        "which the text does not have. If words are numbered from 1, set `first_index: 1`.",
        both,
        **names,
    )
    same = both["word"].map(_plain) == both["word_of_text"].map(_plain)
    by_passage = same.groupby(both["passage_id"])
    most = by_passage.transform(lambda of: of.mean() < 0.5 and (~of).sum() > LONGEST_REPLACEMENT)
    if len(same) and (most.any() or same.mean() < SMALLEST_SHARE):
        refuse_rows(
            most & ~same if most.any() else ~same,
            "{about}: word {word_index} of passage {passage_id!r} is {word!r} in the {kind} and "
            "{word_of_text!r} in the text, as are {count} words. " + OTHER,
            both,
            **names,
        )
    if not same.all():
        logger.warning(
            "%s: %d of %d words are different in the %s and in the text. The first is word %d of "
            "passage %r: %r and %r",
            about, (~same).sum(), len(same), kind,
            *both.loc[~same, [*KEYS[::-1], "word", "word_of_text"]].iloc[0],
        )  # fmt: skip


def check_numbers(times: pd.DataFrame, words: pd.DataFrame, about: str) -> None:
    """Warn that reading times are matched with words by `word_index` alone.

    Raises LingprobError if the indices look shifted: if no reader has a time for word 0 of any
    passage, or if the last index of every passage differs from the text's by the same number.
    """
    remedy = "Number words from 0, without gaps, and add a column `word` to have the match checked."
    if not (times["word_index"] == 0).any():
        raise LingprobError(f"{about}: no reader has a time for word 0 of any passage. {remedy}")
    lengths = words.groupby("passage_id")["word_index"].max()
    lacking = (lengths - times.groupby("passage_id")["word_index"].max()).dropna()
    if len(lacking) > 1 and lacking.nunique() == 1 and lacking.iloc[0] != 0:
        raise LingprobError(
            f"{about}: every passage of the text has {abs(int(lacking.iloc[0]))} words "
            f"{'more' if lacking.iloc[0] > 0 else 'fewer'} than its reading times. {remedy}"
        )
    logger.warning(
        "%s: times and words are matched by number alone. Add a column `word` to have the match "
        "checked.", about,
    )  # fmt: skip


def _plain(word: str) -> str:
    """Return a word in NFC and lower case without punctuation (unchanged if it has no letter)."""
    composed = unicodedata.normalize("NFC", word)
    bare = PUNCTUATION.sub("", composed.replace("\u2019", "").lower())
    return bare or composed
