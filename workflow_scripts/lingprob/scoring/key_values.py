"""Keep the attention's keys and values of a start token or prefix, and describe its positions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

# Keys of a model's config.json that limit how far back a token sees.
LOCAL_ATTENTION = ("sliding_window", "attention_window", "window_size", "attention_chunk_size")


class _KeptLayer(DynamicLayer):
    """A cache's keys and values (1, heads, n, width), which passes do not change."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.keys, self.values = keys, values

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the layer's keys and values followed by new ones, which are not kept."""
        shape = (len(key_states), -1, -1, -1)
        keys = torch.cat([self.keys.expand(shape), key_states], dim=2)
        return keys, torch.cat([self.values.expand(shape), value_states], dim=2)


class _RoomyLayer(DynamicLayer):
    """Keys and values with room for all later ones, so that none is copied again."""

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
        """Append new keys and values (1, heads, n, width), and return those of all tokens."""
        begin, self.used = self.used, self.used + key_states.shape[2]
        for room, states in zip(self.room, (key_states, value_states), strict=True):
            room[:, :, begin : self.used] = states
        self.keys, self.values = (room[:, :, : self.used] for room in self.room)
        return self.keys, self.values


def make_room(cache: DynamicCache, length: int) -> None:
    """Give the layers of a cache room for `length` tokens, except those of a sliding window."""
    cache.layers = [
        _RoomyLayer(layer.keys, layer.values, length) if type(layer) is DynamicLayer else layer
        for layer in cache.layers
    ]


@dataclass(frozen=True)
class KeyValues:
    """The keys and values of `length` tokens, one pair per layer.

    `logprobs` (vocabulary,), if known, are ln p of each possible token after the last one.
    """

    states: Sequence[tuple[torch.Tensor, torch.Tensor]]
    length: int
    logprobs: np.ndarray | None = None

    def part(self, tokens: slice | list[int]) -> "KeyValues":
        """Return the keys and values of only the tokens at these places, counted from 0."""
        states = [(keys[:, :, tokens], values[:, :, tokens]) for keys, values in self.states]
        return KeyValues(states, states[0][0].shape[2])

    def kept(self) -> Cache:
        """Return a cache for any number of rows and passes, which none of them changes."""
        return Cache(layers=[_KeptLayer(*states) for states in self.states])


def states_of(cache: Cache) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return the keys and values (1, heads, n_tokens, width) of each layer of a cache."""
    return [(layer.keys, layer.values) for layer in cache.layers]


@dataclass(frozen=True)
class Rotation:
    """Rotary frequencies that change if a pass is longer than `boundary` tokens.

    All longer passes have the same frequencies (LongRoPE), or, if `by_length`, each length its own.
    """

    boundary: int
    by_length: bool

    def length_class(self, length: int) -> int:
        """Return a number that is the same for lengths with the same frequencies."""
        return 0 if length <= self.boundary else length if self.by_length else 1


def rotation_of(config: Any) -> Rotation | None:
    """Return how the rotary frequencies of a model depend on the length of a pass, or None."""
    config = config.get_text_config()
    stated = getattr(config, "rope_parameters", None) or {}
    for part in (stated, *stated.values()):  # some models have one per kind of layer
        kind = part.get("rope_type", part.get("type")) if isinstance(part, dict) else None
        if kind in ("longrope", "dynamic"):
            boundary = part.get("original_max_position_embeddings") or getattr(
                config, "original_max_position_embeddings", None
            )
            return Rotation(int(boundary or config.max_position_embeddings), kind == "dynamic")
    return None


@torch.no_grad()
def forget_lengths(model: Any, device: torch.device) -> None:
    """Run one token alone, because dynamic frequencies stay those of the longest pass."""
    rotation = rotation_of(model.config)
    if rotation is not None and rotation.by_length:
        model(input_ids=torch.zeros((1, 1), dtype=torch.int64, device=device), use_cache=False)


def local_attention(config: Any) -> int | None:
    """Return how many tokens back the most limited layer sees, or None without a limit."""
    config = config.get_text_config()
    windows = [getattr(config, name, None) for name in LOCAL_ATTENTION]
    return min((window for window in windows if isinstance(window, int)), default=None)
