"""Keys and values that a model's passes go on from: of a start token, or of a long prefix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer


class _KeptLayer(DynamicLayer):
    """Keys and values (1, heads, n, width) that many passes go on from, and none changes."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the layer's states with new ones after them, and keep nothing of those."""
        pairs = ((self.keys, key_states), (self.values, value_states))
        keys, values = (
            torch.cat([old.expand(len(new), -1, -1, -1), new], dim=-2) for old, new in pairs
        )
        return keys, values


@dataclass(frozen=True)
class KeyValues:
    """The keys and values of `length` tokens, a pair a layer, for all that comes after them.

    `logprobs` (vocabulary,) are ln p after the last of them, where that was asked for.
    """

    states: Sequence[tuple[torch.Tensor, torch.Tensor]]
    length: int
    logprobs: np.ndarray | None = None

    def crop(self, length: int) -> KeyValues:
        """Return the first `length` tokens alone."""
        cropped = [(keys[:, :, :length], values[:, :, :length]) for keys, values in self.states]
        return KeyValues(cropped, length)

    def select(self, tokens: Sequence[int]) -> KeyValues:
        """Return some of the tokens alone."""
        places = torch.tensor(tokens)
        chosen = [
            (keys.index_select(2, places.to(keys.device)),
             values.index_select(2, places.to(values.device)))
            for keys, values in self.states
        ]  # fmt: skip
        return KeyValues(chosen, len(tokens))

    def kept(self) -> Cache:
        """Return a cache for any number of rows and passes."""
        layers = []
        for keys, values in self.states:
            layers.append(_KeptLayer())
            layers[-1].lazy_initialization(keys, values)
            layers[-1].keys, layers[-1].values = keys, values
        return Cache(layers=layers)

    def growing(self) -> DynamicCache:
        """Return a cache that takes up what is run after it."""
        return DynamicCache(self.states)


def states_of(cache: Cache) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return the keys and values of each layer of a cache."""
    return [(layer.keys, layer.values) for layer in cache.layers]
