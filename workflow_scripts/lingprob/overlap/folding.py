"""Texts as folded words: what is left of them without case, punctuation and white space.

A word is a run of letters and digits, and apostrophes between two of these are part of it. Folding
takes the apostrophes out and the case off, and makes compatible characters one (Unicode's NFKC: a
ligature is its letters); whatever stands between words is gone. "Don't -- STOP!" and "dont stop"
are the same two words; accents and spellings count, and "to-day" is two words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import islice

from lingprob.overlap.token_blocks import normalise

WORD = re.compile(r"[^\W_]+(?:['\u2019\u02bc][^\W_]+)*")
FORMS_KEPT = 2**18


def folded_words(text: str) -> list[str]:
    """Return the folded words of a text, in order."""
    return [fold(word) for word in WORD.findall(_compatible(text))]


@lru_cache(maxsize=FORMS_KEPT)
def fold(word: str) -> str:
    """Return a word's letters and digits without case."""
    return "".join(filter(str.isalnum, word.casefold()))


def quotation(text: str, first: int, last: int) -> str:
    """Return a text from one folded word, counted from 0, to another, as it is printed.

    Runs of white space are one blank.
    """
    compatible = _compatible(text)
    places = list(islice(WORD.finditer(compatible), first, last + 1))
    return normalise(compatible[places[0].start() : places[-1].end()])


def _compatible(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
