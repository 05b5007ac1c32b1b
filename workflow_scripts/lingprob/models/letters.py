"""Letters of a text that a tokenizer cannot represent, and what becomes of such texts."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lingprob.errors import LingprobError, looked_up

logger = logging.getLogger(__name__)

CHOICES = ("warn", "refuse")
SHOWN = 10  # letters and rows that a message lists


class Spans(Protocol):
    """Tokens of one text: ids and character offsets, each of shape (n_tokens,)."""

    @property
    def ids(self) -> np.ndarray: ...
    @property
    def char_start(self) -> np.ndarray: ...
    @property
    def char_end(self) -> np.ndarray: ...


@dataclass(frozen=True)
class Letters:
    """The check of a tokenizer's coverage.

    Attributes:
        unknown_id: id of the token that stands for any unknown text, or None.
        composes: whether the tokenizer normalises text, so that an accent may be part of the
            letter before it.
        choice: `warn` logs texts with unknown letters, `refuse` raises LingprobError.
    """

    unknown_id: int | None = None
    composes: bool = False
    choice: str = "warn"

    @staticmethod
    def of(tokenizer: Any, choice: str = "warn") -> Letters:
        """Return the check for a fast tokenizer of transformers."""
        looked_up("choice of unknown letters", choice, dict.fromkeys(CHOICES))
        return Letters(
            tokenizer.unk_token_id, tokenizer.backend_tokenizer.normalizer is not None, choice
        )

    def check(self, texts: Sequence[str], tokens: Sequence[Spans]) -> None:
        """Log, or refuse, texts that have letters without a token.

        Raises LingprobError that names the letters and rows if the choice is `refuse`.
        """
        found: dict[str, None] = {}
        rows = []
        for row, (text, spans) in enumerate(zip(texts, tokens, strict=True)):
            if lost := self.lost(text, spans):
                rows.append(row)
                found.update(dict.fromkeys(lost))
        if not rows:
            return
        letters = ", ".join(map(repr, list(found)[:SHOWN])) + (" ..." if len(found) > SHOWN else "")
        places = ", ".join(str(row + 1) for row in rows[:SHOWN])
        more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        said = (
            f"the tokenizer has no token for {letters}. Texts that differ only in such letters "
            f"get the same score. Text {places}{more}, for instance {texts[rows[0]]!r}."
        )
        if self.choice == "refuse":
            raise LingprobError(f"{said} Choose a model whose tokenizer covers the texts.")
        logger.warning("%s", said)

    def lost(self, text: str, tokens: Spans) -> list[str]:
        """Return the letters of a text that its tokens leave out or replace by the unknown token.

        White space, and control and format characters, are not counted.
        """
        unknown = () if self.unknown_id is None else np.flatnonzero(tokens.ids == self.unknown_id)
        covered = np.zeros(len(text) + 1, dtype=np.int64)
        np.add.at(covered, tokens.char_start, 1)
        np.add.at(covered, tokens.char_end, -1)
        gaps = np.flatnonzero(np.cumsum(covered)[:-1] <= 0)
        lost = [text[place] for place in gaps if _counts(text[place], self.composes)]
        for token in unknown:
            lost += text[tokens.char_start[token] : tokens.char_end[token]].strip()
        return lost


def _counts(letter: str, composes: bool) -> bool:
    if letter.isspace() or unicodedata.category(letter) in ("Cc", "Cf"):
        return False
    return not (composes and unicodedata.category(letter).startswith("M"))
