"""Targets after the cuts of a prefix, as tokens of the whole text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lingprob.models.loading import LanguageModel, Tokens
from lingprob.scoring.trees import shared_length


@dataclass(frozen=True)
class ContextItem:
    """A prefix, and targets that follow its first `cut` characters for each of the `cuts`.

    A cut of 0 means the targets alone. Pairs that share the prefix are more targets of one item.
    Where `ends` are given, one a target in characters, tokens that begin there or later are left
    out: of what comes after all that is asked for.
    """

    prefix: str
    cuts: Sequence[int]
    targets: Sequence[str]
    ends: Sequence[int] | None = None

    def target_ends(self) -> Sequence[int]:
        """Return where each target ends, in characters."""
        return [len(target) for target in self.targets] if self.ends is None else self.ends


@dataclass(frozen=True)
class Continuation:
    """A target after a cut: all of its tokens, of which `first` precede the target's.

    `begin` is where the target begins in the text that was tokenised, in characters;
    `is_retokenized` says whether the cut changed the prefix's own tokens.
    """

    cut_index: int
    target_index: int
    tokens: Tokens
    first: int
    begin: int
    is_retokenized: bool


def tokenize_item(
    language_model: LanguageModel, item: ContextItem, separator: str
) -> tuple[np.ndarray, list[Continuation]]:
    """Return the tokens of the prefix up to its last cut, and all continuations."""
    places = [
        (cut_index, cut, target_index)
        for cut_index, cut in enumerate(item.cuts)
        for target_index in range(len(item.targets))
    ]
    befores = [item.prefix[:cut] + separator if cut else "" for _, cut, _ in places]
    texts = [before + item.targets[k] for before, (_, _, k) in zip(befores, places, strict=True)]
    chain, *tokenized = language_model.tokenize([item.prefix[: max(item.cuts, default=0)], *texts])
    continuations = []
    ends = item.target_ends()
    for before, whole, (cut_index, cut, k) in zip(befores, tokenized, places, strict=True):
        tokens = whole.beginning_before(len(before) + ends[k])
        first = int(np.argmax(tokens.char_end > cut)) if cut else 0
        is_retokenized = shared_length(chain.ids, tokens.ids) < first
        continuations.append(Continuation(cut_index, k, tokens, first, len(before), is_retokenized))
    return chain.ids, continuations
