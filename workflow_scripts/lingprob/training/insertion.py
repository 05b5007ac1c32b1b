"""Passages put into training in the place of some of its rows: a dose of leakage, by number.

The corpus that is written here is one on which training sees, step by step and row by row, what it
sees on the corpus without passages, but for the rows that have them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lingprob.errors import LingprobError
from lingprob.files import atomic_path
from lingprob.progress import Progress
from lingprob.training.corpus import TrainingData
from lingprob.training.order import examples_of_step

OF_THE_ROW = -1  # in the place of a token: that of the row which is displaced
NONE = -1  # in the place of a row's number
ROWS_AT_ONCE = 4096


def passage_rows(
    passages: Sequence[np.ndarray],
    copies: int,
    *,
    separator: int,
    row_length: int,
    seed: int,
    most: int | None = None,
) -> np.ndarray:
    """Return rows that have every passage so many times: all of them, shuffled, copy by copy.

    Each passage has a separator before and after it, and every token of it is predicted once a
    copy: as in the rows of a corpus, the last token of a row is the first of the next one. A last
    row that is not full ends as the row does that it displaces.

    Args:
        passages: token ids of each passage, integers (n_tokens,).
        copies: how many times each is there. The order of a copy is the same for any number.
        separator: id of the token between two passages.
        row_length: tokens a row.
        seed: of the shuffles; each copy has its own.
        most: rows that are taken, the first ones; None takes all.

    Returns:
        int64 (n_rows, row_length), with OF_THE_ROW where the displaced row keeps its token.
    """
    between = np.array([separator])
    parts = [between]
    for copy in range(1, copies + 1):
        for number in np.random.default_rng([seed, copy]).permutation(len(passages)):
            parts += [np.asarray(passages[number], dtype=np.int64), between]
    tokens, stride = np.concatenate(parts), row_length - 1
    n_rows = -(-(len(tokens) - 1) // stride)
    if n_rows == 0:
        return np.empty((0, row_length), dtype=np.int64)
    padding = np.full(n_rows * stride + 1 - len(tokens), OF_THE_ROW)
    padded = np.concatenate([tokens, padding])
    return np.lib.stride_tricks.sliding_window_view(padded, row_length)[::stride][:most].copy()


def places_of_rows(n_rows: int, n_places: int, period: Sequence[float]) -> np.ndarray:
    """Spread rows evenly over a part of a training; return the place of each, int64 (n_rows,).

    Args:
        n_rows: that are put in.
        n_places: examples that all steps see; place p is example p % batch of step p // batch + 1.
        period: where the part begins and ends, as shares of the training.

    Raises LingprobError if the part has fewer places than there are rows.
    """
    first, last = (round(share * n_places) for share in period)
    if n_rows > last - first:
        raise LingprobError(
            f"doses.copies: the passages fill {n_rows} rows, and the part of the training that "
            f"doses.period names has {last - first}. Take fewer copies or texts, a longer period, "
            "or more training.steps."
        )
    return first + (2 * np.arange(n_rows) + 1) * (last - first) // (2 * max(n_rows, 1))


def examples_by_place(steps: int, batch_size: int, n_examples: int, seed: int) -> np.ndarray:
    """Return the number of the example at every place of a training, int64 (steps * batch_size,).

    Arguments as for `examples_of_step`.
    """
    batches = [examples_of_step(step, batch_size, n_examples, seed) for step in range(1, steps + 1)]
    return np.concatenate(batches)


def write_dosed_corpus(
    described: Mapping[str, Any],
    passages: Sequence[np.ndarray],
    copies: int,
    *,
    validation_examples: int,
    steps: int,
    batch_size: int,
    seed: int,
    period: Sequence[float],
    most: int | None,
    folder: Path,
    progress: Progress,
) -> dict[str, Any]:
    """Write a corpus for one training, with passages in it, and describe it as `prepare_corpus`.

    A training of these steps, batch size and seed on it differs from one on the corpus without
    passages in nothing but the rows at the places of `places_of_rows`; it validates on the same
    examples. The file has as many rows as the training sees, each where the order of the examples
    looks for it: a corpus of one epoch is gone through in one shuffle.

    Args:
        described: the corpus without passages.
        passages: token ids of each passage, integers (n_tokens,).
        copies: how many times each is put in.
        validation_examples: as for `TrainingData`.
        steps, batch_size, seed: of the training.
        period: the part of it that has the passages, as shares of its steps.
        most: rows of passages that are put in; None puts in all.
        folder: of the files.
        progress: advanced by the number of rows.

    Raises LingprobError as `TrainingData` and `places_of_rows` do.
    """
    data = TrainingData(described, validation_examples)
    n_places = steps * batch_size
    rows = passage_rows(
        passages, copies, separator=data.separator, row_length=described["context_window"] + 1,
        seed=seed, most=most,
    )  # fmt: skip
    row_at = np.full(n_places, NONE)
    row_at[places_of_rows(len(rows), n_places, period)] = np.arange(len(rows))
    examples = examples_by_place(steps, batch_size, data.n_examples, seed)
    place_of = np.argsort(examples_by_place(steps, batch_size, n_places, seed))
    blocks = (
        with_passages(data.take(examples[places]), row_at[places], rows)
        for places in np.array_split(place_of, -(-n_places // ROWS_AT_ONCE))
    )
    held_out = data.validation()

    def write(blocks: Iterable[np.ndarray], n_rows: int, name: str) -> str:
        return _write(blocks, n_rows, described, folder / f"{name}.npy", progress)

    return {
        **described,
        "copies": copies,
        "period": list(period),
        "passages": hashlib.sha256(rows.tobytes()).hexdigest(),
        "without_passages": described["training"],
        "training": [write(blocks, n_places, "training")],
        "validation": [write([held_out], len(held_out), "validation")] if len(held_out) else [],
    }


def with_passages(block: np.ndarray, numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows of a corpus, some displaced by rows of passages, int64 (n, row_length).

    Args:
        block: rows of the corpus, int64 (n, row_length).
        numbers: of the row of passages in the place of each; NONE leaves it as it is, int64 (n,).
        rows: as `passage_rows` gives them.
    """
    put = rows[numbers] if len(rows) else np.full_like(block, OF_THE_ROW)
    return np.where((numbers[:, None] == NONE) | (put == OF_THE_ROW), block, put)


def _write(
    blocks: Iterable[np.ndarray],
    n_rows: int,
    described: Mapping[str, Any],
    path: Path,
    progress: Progress,
) -> str:
    """Write blocks of rows to one file, in the layout of `write_rows`; return its path."""
    shape = n_rows, described["context_window"] + 1
    dtype = np.uint16 if described["vocabulary"] <= 2**16 else np.uint32
    with atomic_path(path) as temporary:
        written = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
        done = 0
        for block in blocks:
            written[done : done + len(block)] = block
            done += len(block)
            progress.advance(len(block))
        written.flush()
    return str(path)
