"""Examples as rows of token ids in memory-mapped files, and which of them a step sees.

The layout is that of Pythia's training data: .npy files of uint16 or uint32 (or headerless ones of
uint16), a row an example of `context_window` + 1 tokens, the last of which is only predicted. In
the files that we write it is the first of the next row, so that every token but the very first is
predicted once.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from lingprob.io.corpora import batches
from lingprob.io.files import atomic_path, write_text
from lingprob.io.progress import Progress
from lingprob.overlap.token_blocks import count_rows

CHARACTERS_PER_BATCH = 2**20
ROWS_PER_SHARD = 2**16

logger = logging.getLogger(__name__)
Tokenize = Callable[[list[str]], Sequence[Sequence[int]]]


class TokenRows:
    """The rows of several files as one sequence, read through memory maps.

    Raises LingprobError that names the file if one is absent, cut short or laid out otherwise.
    """

    def __init__(self, paths: Sequence[str | Path], row_length: int) -> None:
        self.paths = [Path(path) for path in paths]
        self.row_length = row_length
        counts = [count_rows(path, row_length=row_length) for path in self.paths]
        self.starts = np.cumsum([0, *counts])
        self.maps = [_mapped(path) for path in self.paths]

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rows of these numbers, int64 (len(numbers), row_length)."""
        rows = np.empty((len(numbers), self.row_length), dtype=np.int64)
        files = np.searchsorted(self.starts, numbers, side="right") - 1
        for file in np.unique(files):
            chosen = files == file
            mapped = self.maps[file].reshape(-1, self.row_length)
            rows[chosen] = mapped[numbers[chosen] - self.starts[file]]
        return rows

    def place(self, number: int) -> str:
        """Say in which file and row an example is, rows counted from 0."""
        file = int(np.searchsorted(self.starts, number, side="right")) - 1
        return f"{self.paths[file]}, row {number - int(self.starts[file])}"


def _mapped(path: Path) -> np.ndarray:
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r")
    return np.memmap(path, dtype=np.uint16, mode="r")


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


def write_rows(
    documents: Iterable[str],
    tokenize: Tokenize,
    folder: Path,
    *,
    separator: int,
    row_length: int,
    vocabulary: int,
    identity: str,
    progress: Progress,
    rows_per_shard: int = ROWS_PER_SHARD,
) -> list[Path]:
    """Tokenise documents into files of rows; a killed run goes on after its last whole file.

    Args:
        documents: the texts, the same ones in the same order in every run.
        tokenize: texts in, token ids out.
        folder: where the files go, and `state.json`, which says how far they reach.
        separator: token id that ends every document.
        row_length: tokens a row.
        vocabulary: number of token ids; files are uint16 where that holds them.
        identity: of tokenizer and text: files of another one are deleted.
        progress: advanced by the number of tokens.
        rows_per_shard: a file is written once there are so many rows.

    Returns:
        The files. What is left at the end and fills no row is dropped.
    """
    dtype = np.uint16 if vocabulary <= 2**16 else np.uint32
    state = _read_state(folder, identity)
    carry = np.array(state["carry"], dtype=np.int64)
    parts, n_tokens = [carry], len(carry)
    rest = _skip(documents, state["documents"])
    if state["finished"]:
        return _shards(folder, state)
    for batch in batches(rest, CHARACTERS_PER_BATCH):
        for ids in tokenize(batch):
            parts += [np.asarray(ids, dtype=np.int64), np.array([separator])]
            n_tokens += len(ids) + 1
            progress.advance(len(ids) + 1)
        state["documents"] += len(batch)
        if n_tokens > rows_per_shard * (row_length - 1):
            carry = _write_shard(np.concatenate(parts), folder, state, row_length, dtype)
            parts, n_tokens = [carry], len(carry)
    state["finished"] = True
    _write_shard(np.concatenate(parts), folder, state, row_length, dtype)
    return _shards(folder, state)


def _write_shard(
    tokens: np.ndarray, folder: Path, state: dict, row_length: int, dtype: type
) -> np.ndarray:
    """Write the whole rows of `tokens`, then the state; return the tokens that are left."""
    stride = row_length - 1
    n_rows = max(0, len(tokens) - 1) // stride
    if n_rows:
        rows = np.lib.stride_tricks.sliding_window_view(tokens, row_length)[::stride][:n_rows]
        with atomic_path(_shard(folder, state["shards"])) as temporary:
            np.save(temporary, rows.astype(dtype))
        state["shards"] += 1
    carry = tokens[n_rows * stride :]
    state["carry"] = carry.tolist()
    write_text(json.dumps(state), folder / "state.json")
    return carry


def _read_state(folder: Path, identity: str) -> dict:
    path = folder / "state.json"
    if path.is_file():
        state = json.loads(path.read_text(encoding="utf-8"))
        if state["identity"] == identity and all(s.is_file() for s in _shards(folder, state)):
            logger.info("%s: %d files of rows were there already", folder, state["shards"])
            return state
        shutil.rmtree(folder)
    return {"identity": identity, "documents": 0, "shards": 0, "carry": [], "finished": False}


def _shard(folder: Path, number: int) -> Path:
    return folder / f"{number:05d}.npy"


def _shards(folder: Path, state: dict) -> list[Path]:
    return [_shard(folder, number) for number in range(state["shards"])]


def _skip(documents: Iterable[str], count: int) -> Iterable[str]:
    return (document for number, document in enumerate(documents) if number >= count)
