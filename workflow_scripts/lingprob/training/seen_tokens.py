"""How often each token was among those that a training predicted, exactly."""

from __future__ import annotations

import numpy as np

from lingprob.io.progress import Progress
from lingprob.training.corpus import TrainingData
from lingprob.training.order import examples_of_step


def count_seen_tokens(
    data: TrainingData, steps: int, batch_size: int, seed: int, progress: Progress | None = None
) -> np.ndarray:
    """Count the tokens that the first `steps` steps predict, int64 (V,).

    An example that comes twice counts twice, and the separators of documents count, for they are
    predicted, too; an example's first token is not.

    Args:
        data: the examples.
        steps: of training.
        batch_size: examples a step.
        seed: of the order of the examples.
        progress: advanced by a step.
    """
    counts = np.zeros(data.vocabulary, dtype=np.int64)
    for step in range(1, steps + 1):
        rows = data.take(examples_of_step(step, batch_size, data.n_examples, seed))
        counts += np.bincount(rows[:, 1:].ravel(), minlength=data.vocabulary)
        if progress is not None:
            progress.advance()
    return counts
