"""How the sentences of a language stand together in a context: English ones, and Chinese ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from lingprob.context import chinese_text, sentences


class Writing(NamedTuple):
    """What differs between languages.

    `joined` returns the text of some sentences and where each ends in it, `separator` stands
    between two of them, `unrelated_sentences` finds those of running text.
    """

    joined: Callable[[Sequence[str]], tuple[str, list[int]]]
    separator: str
    unrelated_sentences: Callable[[Iterable[str]], list[str]]


ENGLISH = Writing(sentences.joined, " ", sentences.unrelated_sentences)
CHINESE = Writing(chinese_text.joined, "", chinese_text.unrelated_sentences)
WRITINGS = {"en": ENGLISH, "zh": CHINESE}
