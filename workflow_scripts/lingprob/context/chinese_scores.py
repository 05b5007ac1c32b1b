"""A language model that reads Chinese after Chinese: no blank stands between two sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from lingprob.context.chinese_text import QUOTES
from lingprob.models.loading import LanguageModel, Tokens

# After a Chinese mark, and after one that English has, too, where Chinese follows.
BLANK = re.compile(
    rf"(?<=[。！？…”’」』]) |(?<=[.!?{QUOTES}]) (?=[\u3400-\u9fff\uf900-\ufaff“‘「『《])"
)


class UnspacedModel(LanguageModel):
    """A language model whose tokenizer never sees the blanks between Chinese sentences.

    What scores targets after prefixes puts one before each target, in any language. Offsets are
    into the text with its blanks, so that what a prefix has and what its target is known by place.
    """

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise texts without the blanks between Chinese sentences, in one batch."""
        tokenized = super().tokenize([BLANK.sub("", text) for text in texts])
        return [placed(tokens, text) for tokens, text in zip(tokenized, texts, strict=True)]


def unspaced(language_model: LanguageModel) -> UnspacedModel:
    """Return the same model as one that reads no blanks between Chinese sentences."""
    return UnspacedModel(
        **{one.name: getattr(language_model, one.name) for one in fields(language_model)}
    )


def placed(tokens: Tokens, text: str) -> Tokens:
    """Return the tokens of a text without blanks with their offsets into the text with them."""
    left_out = [match.start() for match in BLANK.finditer(text)]
    if not left_out:
        return tokens
    place = np.delete(np.arange(len(text) + 1, dtype=np.int32), left_out)
    # A token of no width, such as a part of a character may be, ends where it starts.
    last = np.maximum(tokens.char_end - 1, tokens.char_start)
    wide = tokens.char_end > tokens.char_start
    return Tokens(tokens.ids, place[tokens.char_start], (place[last] + wide).astype(np.int32))
