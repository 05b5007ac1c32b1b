"""Put passages into a training in place of some of its rows, at the same steps."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path
from lingprob.overlap.token_blocks import token_ids
from lingprob.reading.texts import passage_texts
from lingprob.training.corpus import TrainingData, examples_of_step

OF_THE_ROW = -1  # marks a token to take from the displaced row
NONE = -1  # in the place of a row's number
ROWS_AT_ONCE = 4096


def passage_rows(
    passages: Sequence[np.ndarray], copies: int, *, separator: int, row_length: int, seed: int
) -> np.ndarray:
    """Return rows that have all copies of the passages: each copy has all of them, shuffled.

    Each passage (token ids) has a separator before and after it. Every token of it is predicted
    once per copy: the last token of a row is the first of the next one, as in the rows of a corpus.
    A last row that is not full ends as the row does that it displaces. The order of a copy is the
    same for any number of copies.

    Returns:
        int64 (n_rows, row_length), with OF_THE_ROW if the displaced row keeps its token.
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
    return np.lib.stride_tricks.sliding_window_view(padded, row_length)[::stride].copy()


def places_of_rows(n_rows: int, n_places: int) -> np.ndarray:
    """Spread rows evenly over a training and return the place of each, int64 (n_rows,).

    Place p of the `n_places` is example p % batch of step p // batch + 1.
    Raises LingprobError if there are fewer places than rows.
    """
    if n_rows > n_places:
        raise LingprobError(
            f"the passages fill {n_rows} rows, and training sees {n_places}. Take fewer copies or "
            "texts (studies/doses/study.smk), or more training.steps."
        )
    return (2 * np.arange(n_rows) + 1) * n_places // (2 * max(n_rows, 1))


def corpus_with_passages(
    described: Mapping[str, Any],
    texts: Sequence[pd.DataFrame],
    copies: int,
    folder: Path,
    training: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a corpus with the passages of `words` tables for one training, and describe it."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{described['tokenizer']}/tokenizer.json")
    ids = token_ids(tokenizer, [text for words in texts for text in passage_texts(words)])
    passages = [np.asarray(passage, dtype=np.int64) for passage in ids]
    options = {name: training["plan"][name] for name in ("steps", "batch_size", "seed")}
    options["validation_examples"] = training["validation_examples"]
    return write_dosed_corpus(described, passages, copies, folder, **options)


def write_dosed_corpus(
    described: Mapping[str, Any],
    passages: Sequence[np.ndarray],
    copies: int,
    folder: Path,
    *,
    validation_examples: int,
    steps: int,
    batch_size: int,
    seed: int,
) -> dict[str, Any]:
    """Write a corpus with passages for one training, and describe it as `prepare_corpus` does.

    The file has as many rows as the training sees. Each is at the place at which the order of the
    examples looks for it, because one epoch of this corpus is one shuffle.

    `passages` are token ids, integers (n_tokens,). Raises LingprobError as `places_of_rows`.
    """
    data = TrainingData(described, validation_examples)
    n_places = steps * batch_size
    rows = passage_rows(
        passages, copies, separator=data.separator, row_length=described["context_window"] + 1,
        seed=seed,
    )  # fmt: skip
    row_at = np.full(n_places, NONE)
    row_at[places_of_rows(len(rows), n_places)] = np.arange(len(rows))
    examples, order = (
        np.concatenate([examples_of_step(step + 1, batch_size, n, seed) for step in range(steps)])
        for n in (data.n_examples, n_places)
    )

    def with_passages(places: np.ndarray) -> np.ndarray:
        block, numbers = data.take(examples[places]), row_at[places]
        put = rows[numbers] if len(rows) else np.full_like(block, OF_THE_ROW)
        return np.where((numbers[:, None] == NONE) | (put == OF_THE_ROW), block, put)

    def write(blocks: Iterable[np.ndarray], n_rows: int, name: str) -> str:
        return _write(blocks, n_rows, described, folder / f"{name}.npy")

    parts = np.array_split(np.argsort(order), -(-n_places // ROWS_AT_ONCE))
    held_out = data.validation
    return {
        **described,
        "copies": copies,
        "passages": hashlib.sha256(rows.tobytes()).hexdigest(),
        "training": [write(map(with_passages, parts), n_places, "training")],
        "validation": [write([held_out], len(held_out), "validation")] if len(held_out) else [],
    }


def _write(
    blocks: Iterable[np.ndarray], n_rows: int, described: Mapping[str, Any], path: Path
) -> str:
    """Write blocks of rows to one file, in the layout of `write_rows`, and return its path."""
    shape = n_rows, described["context_window"] + 1
    dtype = np.uint16 if described["vocabulary"] <= 2**16 else np.uint32
    with atomic_path(path) as temporary:
        written = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
        done = 0
        for block in blocks:
            written[done : done + len(block)] = block
            done += len(block)
        written.flush()
    return str(path)
