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
            torch.cat([old.expand(len(new), -1, -1, -1), new], dim=2) for old, new in pairs
        )
        return keys, values


class _RoomyLayer(DynamicLayer):
    """Keys and values with room for all that will come, so that none is copied again."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: int) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.room = [
            states.new_empty(*states.shape[:2], length, states.shape[3])
            for states in (keys, values)
        ]
        self.used = 0
        self.update(keys, values)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take up new states and return all."""
        begin, self.used = self.used, self.used + key_states.shape[2]
        for room, states in zip(self.room, (key_states, value_states), strict=True):
            room[:, :, begin : self.used] = states
        self.keys, self.values = (room[:, :, : self.used] for room in self.room)
        return self.keys, self.values


def make_room(cache: DynamicCache, length: int) -> None:
    """Give the layers of a cache room for `length` tokens; those of a sliding window need none."""
    cache.layers = [
        _RoomyLayer(layer.keys, layer.values, length) if type(layer) is DynamicLayer else layer
        for layer in cache.layers
    ]


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
