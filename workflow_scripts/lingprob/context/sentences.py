"""Sentences of a context: how they are joined, and unrelated ones from running text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

ENDS = (".", "?", "!", '."', '?"', '!"')
# A sentence of the unrelated control has as many words as this, tokenised as WikiText is.
WORDS = range(4, 61)


def joined(sentences: Sequence[str]) -> tuple[str, list[int]]:
    """Join sentences with periods and blanks (context, §3).

    Returns the text and where each sentence ends in it. A sentence that ends with a period, a
    question mark or an exclamation mark gets no other period.
    """
    closed = [sentence if sentence.endswith(ENDS) else f"{sentence}." for sentence in sentences]
    ends = np.cumsum([len(sentence) + 1 for sentence in closed]) - 1
    return " ".join(closed), [int(end) for end in ends]


def unrelated_sentences(documents: Iterable[str]) -> list[str]:
    """Return the sentences of running text or of WikiText, as natural text, each once.

    A sentence ends at a `.`, `!` or `?` that is a word of its own (WikiText) or that a capital
    follows. Those with unknown words, cut quotations or brackets, or not of 4 to 60 words, are left
    out.
    """
    found: dict[str, None] = {}
    for document in documents:
        for line in document.splitlines():
            for part in re.split(r"(?<= [.!?])\s|(?<=\w[.!?])\s(?=[A-Z])", f"{line.strip()} "):
                if len(part.split()) in WORDS and _whole(part):
                    found[natural(part)] = None
    return list(found)


def _whole(part: str) -> bool:
    return (
        part.count('"') % 2 == 0
        and part.count("(") == part.count(")")
        and not any(mark in part for mark in "<=")
        and part.rstrip().endswith((".", "!", "?"))
    )


def natural(text: str) -> str:
    """Undo WikiText's tokenisation: blanks around punctuation, `@-@` and quotation marks."""
    text = re.sub(r" @([-.,])@ ", r"\1", text.strip())
    text = re.sub(r"\s+([,.;:!?%)\]]|'s\b|'t\b|'re\b|'ve\b|'d\b|'ll\b|')(?=\W|$)", r"\1", text)
    text = re.sub(r"([(\[$£])\s+", r"\1", text)
    # Quotation marks open and close in turn.
    pieces = [piece.strip() for piece in re.split(r'\s*"\s*', text)]
    for index in range(1, len(pieces)):
        opening = index % 2 == 1
        before = " " if opening else ""
        after = "" if opening or re.match(r"[,.;:!?)]|$", pieces[index]) else " "
        pieces[index] = f'{before}"{after}{pieces[index]}'
    return "".join(pieces).strip()


class Writing(NamedTuple):
    """What differs between languages.

    `joined` returns the text of some sentences and where each ends in it; `separator` stands
    between two of them.
    """

    joined: Callable[[Sequence[str]], tuple[str, list[int]]]
    separator: str


ENGLISH = Writing(joined, " ")
