"""Rules for the lines, words and sentences of a text, which the whole project shares.

A line ends at a line feed, a carriage return or both, and at no other character. White space
separates words, except no-break spaces, which join them. Words are compared in Unicode's composed
form (NFC), and combining marks such as vowel signs belong to their letters.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np

from lingprob.errors import LingprobError

LINE_END = re.compile(r"\r\n|\n|\r")
NO_BREAK = "\u00a0\u2007\u202f"  # Python treats them as white space, but they join words
HALF = re.compile("[\ud800-\udfff]")
WORD = re.compile(rf"(?:[^\s]|[{NO_BREAK}])+")
# Marks that end a sentence in Latin, Greek, Chinese, Indic and Arabic scripts, with the ellipsis,
# and marks that may follow them, such as closing quotation marks.
ENDS = ".?!…。！？\u0964\u0965\u061f\u06d4"
CLOSERS = "\"'”’“»«\u203a\u2039)]}」』）"
OPENERS = "([{„\u201a¿¡"
GREEK_QUESTION = ";\u037e"
# English, German, French and Spanish abbreviations whose full stop ends no sentence.
ABBREVIATIONS = frozenset(
    """mr mrs ms messrs dr prof st jr sr rev gen col lt capt sgt hon vs etc cf viz al e.g i.e a.m
    p.m u.s u.k no vol fig approx hr fr bzw usw z.b d.h ca nr mme mlle sra ud""".split()  # noqa: SIM905
)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their ends. A final line end begins no further line."""
    lines = LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def split_words(text: str) -> list[str]:
    """Return the words of a text, which white space other than no-break spaces separates."""
    if any(space in text for space in NO_BREAK):
        return [word for word in WORD.findall(text) if word.strip()]
    return text.split()


def refuse_halves(texts: Sequence[str], what: str) -> None:
    """Raise LingprobError for the first text with half a character (a lone surrogate)."""
    for row, text in enumerate(texts, start=1):
        if not text.isascii() and HALF.search(text):
            raise LingprobError(
                f"{what} {row}, {text!r}: half a character (a lone surrogate), which no tokenizer "
                "can read. Correct the text."
            )


@cache
def plain_word(word: str) -> str:
    """Return a word in composed form (NFC) and lower case, without punctuation at its ends.

    Apostrophes become straight. A word that consists of punctuation is returned otherwise as it is.
    """
    composed = unicodedata.normalize("NFC", word).replace("\u2019", "'")
    first, last = 0, len(composed)
    while first < last and not _is_part(composed[first]):
        first += 1
    while last > first and not _is_part(composed[last - 1]):
        last -= 1
    return composed[first:last].lower() or composed


def _is_part(letter: str) -> bool:
    return letter == "_" or letter.isalnum() or unicodedata.category(letter).startswith("M")


def sentence_ends(words: Sequence[str]) -> np.ndarray:
    """Return whether each word of a text ends a sentence, bool of shape (n_words,).

    A word ends a sentence if it ends in one of ENDS, also before closing marks, unless the next
    word is in lower case. A full stop after an abbreviation or a single capital letter ends no
    sentence. The Greek question mark (;) counts after Greek letters.
    """
    following = [*words[1:], ""]
    return np.array(
        [_ends(word, after) for word, after in zip(words, following, strict=True)], dtype=bool
    )


def _ends(word: str, following: str) -> bool:
    bare = word.rstrip(CLOSERS)
    if not bare:
        return False
    if bare[-1] in GREEK_QUESTION:
        letters = [letter for letter in bare if letter.isalpha()]
        return bool(letters) and unicodedata.name(letters[-1], "").startswith("GREEK")
    if bare[-1] not in ENDS:
        return False
    if following.lstrip(CLOSERS + OPENERS)[:1].islower():
        return False
    if bare[-1] != ".":
        return True
    stem = plain_word(bare)
    single = len(stem) == 1 and bare.lstrip(CLOSERS)[:1].isupper() and stem not in "ia"
    return not (stem.rstrip(".") in ABBREVIATIONS or single) or not following
