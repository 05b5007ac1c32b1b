"""Which examples a step sees: a pure function of the seed and the step."""

from __future__ import annotations

from functools import lru_cache

import numpy as np


def examples_of_step(step: int, batch_size: int, n_examples: int, seed: int) -> np.ndarray:
    """Return the numbers of a step's examples, int64 (batch_size,).

    Every epoch has a shuffle of its own, and a batch may span two epochs: within an epoch each
    example comes once.

    Args:
        step: from 1.
        batch_size: examples a step, at most `n_examples`.
        n_examples: examples in the data.
        seed: of the shuffles.
    """
    places = np.arange((step - 1) * batch_size, step * batch_size)
    epochs, within = np.divmod(places, n_examples)
    numbers = np.empty(batch_size, dtype=np.int64)
    for epoch in np.unique(epochs):
        chosen = epochs == epoch
        numbers[chosen] = _shuffle(seed, int(epoch), n_examples)[within[chosen]]
    return numbers


@lru_cache(maxsize=2)
def _shuffle(seed: int, epoch: int, n_examples: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(n_examples)
