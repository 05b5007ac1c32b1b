"""Passages or sentences of a table of words, as pieces of text that a model reads one by one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, unknown_name

CONTEXTS = ("passage", "sentence")
# Of a word that ends a sentence, where the corpus does not mark any.
SENTENCE_END = r"[.?!][\"'\u201d\u2019)\]]*$"


@dataclass(frozen=True)
class Piece:
    """A stretch of a passage: its name for messages, its words, and their keys in the table."""

    name: str
    words: list[str]
    keys: pd.DataFrame

    @property
    def text(self) -> str:
        """The words joined by single blanks."""
        return " ".join(self.words)


def passages_of(words: pd.DataFrame, context: str) -> list[Piece]:
    """Cut a `words` table into the pieces that a model reads without knowing of the others.

    `context` is `passage` or `sentence`. Raises LingprobError for any other, and where sentences
    are asked for and not marked.
    """
    if context not in CONTEXTS:
        raise unknown_name("context", context, CONTEXTS, "(reading.context)")
    keys = ["passage_id"] if context == "passage" else ["passage_id", "sentence_index"]
    if words[keys].isna().any(axis=None):
        raise LingprobError("reading.context: sentence needs texts whose sentences are marked.")
    pieces = []
    for key, part in words.groupby(keys, sort=False):
        name = f"passage {key[0]!r}" + (f", sentence {key[1]}" if len(keys) > 1 else "")
        index = part[["passage_id", "word_index"]].reset_index(drop=True)
        pieces.append(Piece(name, part["word"].tolist(), index))
    return pieces


def digest_of(settings: Sequence[object], sequences: Sequence[np.ndarray]) -> str:
    """Return a digest of settings and token sequences, for the name of a file."""
    described = json.dumps([settings, [ids.tolist() for ids in sequences]])
    return hashlib.sha256(described.encode()).hexdigest()[:32]
