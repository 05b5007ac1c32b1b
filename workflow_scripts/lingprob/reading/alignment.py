"""Match the words of a table of reading times with the words of the text that was read."""

import logging
import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows

logger = logging.getLogger(__name__)

PUNCTUATION = re.compile(r"[^\w%$&]+")
LONGEST_REPLACEMENT = 3  # in words, such as a typing error or a word that is cut in two
SMALLEST_SHARE = 0.95
SAME = "Are both the same version?"
KEYS = ["passage_id", "word_index"]


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
            f"the words are found again. {SAME}"
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
            "{word_of_text!r} in the text, as are {count} words. " + SAME,
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
