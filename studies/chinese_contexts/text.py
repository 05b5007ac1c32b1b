"""Chinese sentences of a context: how they are joined, and unrelated ones from running text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

# As data sets have them: some of SLING's questions end with the mark that English has.
ENDS = ("。", "！", "？", "…", ".", "!", "?")
QUOTES = "”’」』\"'"
# A sentence of the unrelated control has as many characters as this: 4 to 60 words' worth.
CHARACTERS = range(6, 91)
# Between sentences of running text: after a mark, and the quotation marks that close with it.
BETWEEN = re.compile(rf"(?<=[。！？])(?![。！？…{QUOTES}])|(?<=[。！？…][{QUOTES}])")


def joined(sentences: Sequence[str]) -> tuple[str, list[int]]:
    """Join Chinese sentences as Chinese is written: without blanks, their end marks as they are.

    Returns the text and where each sentence ends in it. A sentence without an end mark gets `。`.
    """
    closed = [one if one.rstrip(QUOTES).endswith(ENDS) else f"{one}。" for one in sentences]
    return "".join(closed), np.cumsum([len(one) for one in closed], dtype=int).tolist()


def unrelated_sentences(documents: Iterable[str]) -> list[str]:
    """Return the sentences of Chinese running text, each once.

    A sentence ends with `。`, `！` or `？`, and the quotation marks that close after it. Those with
    cut quotations or brackets, or not of 6 to 90 characters, are left out.
    """
    found: dict[str, None] = {}
    for document in documents:
        for line in document.splitlines():
            for part in BETWEEN.split(line):
                sentence = part.strip()
                if len(sentence) in CHARACTERS and _whole(sentence):
                    found[sentence] = None
    return list(found)


def _whole(sentence: str) -> bool:
    opening, closing = "“‘「『（《(", "”’」』）》)"
    pairs = zip(opening, closing, strict=True)
    balanced = all(sentence.count(one) == sentence.count(other) for one, other in pairs)
    return balanced and sentence.rstrip(QUOTES).endswith(("。", "！", "？"))
