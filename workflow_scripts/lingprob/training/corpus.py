"""The examples that models are trained on: rows of token ids, their order, and held-out rows.

The layout is that of Pythia's training data: .npy files of uint16 or uint32 (or uint16 without a
header). A row is an example of `context_window` + 1 tokens, and its last token is only predicted.
In files that are made here, this token also begins the next row, so that every token but the very
first is predicted once.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches, iter_documents
from lingprob.io.files import atomic_path, identity_of, sha256_of
from lingprob.io.parsers import TOKEN_ROWS
from lingprob.io.progress import Progress
from lingprob.models.folders import read_manifest
from lingprob.overlap.token_blocks import map_rows, token_ids
from lingprob.training.preshuffled import npy_header
from lingprob.training.sizes import SEPARATOR

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chunk:
    """A file of a corpus with the corpus's catalog entry and its path (None for package data)."""

    corpus: str
    file: str
    entry: Mapping[str, Any]
    path: str | None

    @property
    def name(self) -> str:
        """Return the chunk's name in an `overlap_chunks` table."""
        return f"{self.corpus}/{self.file}"

    @property
    def identity(self) -> str:
        """Return a text that changes with the content: the parser, and the file's size and time."""
        if self.path is None:
            return str(self.entry["parser"])
        status = Path(self.path).stat()
        return f"{self.entry['parser']} {self.path} {status.st_size} {status.st_mtime_ns}"

    def documents(self) -> Iterator[str]:
        """Return an iterator over the chunk's texts."""
        return iter_documents(self.entry["parser"], [Path(self.path)] if self.path else [])


def split_chunks(chunks: Sequence[Chunk], table: pd.DataFrame | None) -> dict[str, list[Chunk]]:
    """Return the chunks for `training` and those for `validation`.

    Training takes the selected chunks of an `overlap_chunks` table, and validation the other
    leakage-free chunks. Without a table, all chunks are for training.
    """
    if table is None:
        return {"training": list(chunks), "validation": []}
    rows = table.set_index("chunk")
    selected = [chunk for chunk in chunks if rows.loc[chunk.name, "selected"]]
    free = [chunk for chunk in chunks if rows.loc[chunk.name, "leakage_free"]]
    if not selected:
        raise LingprobError(
            "no chunk is selected for training. Set overlap.chunks_selected to 1 or more, or "
            "training.chunks to all (leaked ones included)."
        )
    others = [chunk for chunk in free if chunk not in selected]
    return {"training": selected, "validation": others}


def prepare_corpus(
    chunks: Mapping[str, Sequence[Chunk]],
    *,
    tokenizer_file: Path | None,
    vocabulary: int,
    context_window: int,
    folder: Path,
    code: str,
    progress: Progress,
) -> dict[str, Any]:
    """Write the rows of chunks to files, unless these exist, and return the facts about them.

    Without a tokenizer.json (`tokenizer_file`), a tokenizer is trained on the texts for training.
    Rows that code with another digest (`code`) made are made again. Progress is advanced by the
    number of tokens. `chunks` are from `split_chunks`.

    Returns a dict with tokenizer (directory), tokenizer_sha256, separator (token id), vocabulary,
    context_window, code, chunks (their identities), and the paths for training and validation.

    Raises LingprobError if the tokenizer lacks <|endoftext|> or has more ids than `vocabulary`, or
    if rows are cut short, of another length, or made by another tokenizer.
    """
    directory = folder / "tokenizer"
    if tokenizer_file is None:
        texts = (text for chunk in chunks["training"] for text in chunk.documents())
        trained = train_byte_pairs(texts, vocabulary, [SEPARATOR])
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained)
    else:
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file))
    sha256 = _save_tokenizer(tokenizer, tokenizer_file, directory)
    separator = tokenizer.get_vocab().get(SEPARATOR)
    if separator is None or len(tokenizer) > vocabulary:
        raise LingprobError(
            f"training.tokenizer: {tokenizer_file} has {len(tokenizer)} tokens. One of them must "
            f"be {SEPARATOR}, and training.vocabulary ({vocabulary}) at least as large."
        )
    described = {
        "tokenizer": str(directory),
        "tokenizer_sha256": sha256,
        "separator": separator,
        "vocabulary": vocabulary,
        "context_window": context_window,
        "code": code,
        "chunks": {chunk.name: chunk.identity for some in chunks.values() for chunk in some},
    }
    for key, some in chunks.items():
        described[key] = [
            str(_rows_of(chunk, tokenizer, described, folder / "rows", progress)) for chunk in some
        ]
    return described


def _rows_of(
    chunk: Chunk, tokenizer: Any, described: Mapping[str, Any], folder: Path, progress: Progress
) -> Path:
    """Return the path of a chunk's rows: the chunk's own file, or a file made from its text."""
    row_length, sha256 = described["context_window"] + 1, described["tokenizer_sha256"]
    if chunk.entry["parser"] == TOKEN_ROWS:
        made_by = chunk.entry.get("tokenizer_sha256", sha256)
        if made_by != sha256:
            raise LingprobError(
                f"{chunk.path}: its rows were made by the tokenizer with sha256 {made_by}, and "
                f"that of training.tokenizer is {sha256}. Set training.tokenizer to the first one."
            )
        map_rows(str(chunk.path), row_length)
        return Path(str(chunk.path))
    identity = identity_of(described["code"], sha256, row_length, chunk.identity)
    path = folder / chunk.corpus / chunk.file / f"{identity}.npy"
    if path.is_file():
        logger.info("%s: these rows are kept", path)
        return path
    for old in path.parent.glob("*.npy"):
        old.unlink()
    write_rows(
        chunk.documents(), partial(token_ids, tokenizer), path, separator=described["separator"],
        row_length=row_length, vocabulary=described["vocabulary"], progress=progress,
    )  # fmt: skip
    return path


def write_rows(
    documents: Iterable[str],
    tokenize: Callable[[list[str]], Sequence[Sequence[int]]],
    path: Path,
    *,
    separator: int,
    row_length: int,
    vocabulary: int,
    progress: Progress,
) -> None:
    """Write documents to a .npy file of token ids, (n_rows, row_length), uint16 or uint32.

    The separator ends every document. The last tokens, which do not fill a row, are left out.
    Progress is advanced by the number of tokens.
    """
    dtype, stride = np.dtype("<u2" if vocabulary <= 2**16 else "<u4"), row_length - 1
    tokens, n_rows = np.empty(0, dtype=np.int64), 0
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        stream.write(npy_header(0, row_length, dtype))
        for batch in batches(documents):
            parts = [tokens]
            for ids in tokenize(batch):
                parts += [np.asarray(ids, dtype=np.int64), np.array([separator])]
                progress.advance(len(ids) + 1)
            tokens = np.concatenate(parts)
            if found := max(0, len(tokens) - 1) // stride:
                rows = np.lib.stride_tricks.sliding_window_view(tokens, row_length)[::stride]
                stream.write(rows[:found].astype(dtype).tobytes())
            tokens, n_rows = tokens[found * stride :], n_rows + found
        stream.seek(0)
        stream.write(npy_header(n_rows, row_length, dtype))


def train_byte_pairs(documents: Iterable[str], vocabulary: int, special: list[str]) -> Tokenizer:
    """Return a byte-level BPE tokenizer of at most `vocabulary` tokens, special tokens first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def _save_tokenizer(tokenizer: Any, original: Path | None, directory: Path) -> str:
    """Save a tokenizer for transformers, and return the sha256 of its tokenizer.json.

    If there is an `original` file, it is copied, so that its checksum stays the same.
    """
    if SEPARATOR in tokenizer.get_vocab():
        tokenizer.bos_token = tokenizer.eos_token = SEPARATOR
    tokenizer.save_pretrained(directory)
    path = directory / "tokenizer.json"
    if original is not None:
        with atomic_path(path) as temporary:
            temporary.write_bytes(Path(original).read_bytes())
    return sha256_of(path)


def tokenizer_file(manifest: str | None) -> Path | None:
    """Return the path of the tokenizer.json of a model's or data set's manifest, if any."""
    if manifest is None:
        return None
    if Path(manifest).suffix == ".json":
        return Path(read_manifest(manifest)["directory"]) / "tokenizer.json"
    (name,) = pd.read_csv(manifest, sep="\t")["name"]
    return Path(manifest).parent / name


class TokenRows:
    """The rows of several files as one sequence, which stays on the disk (memory maps)."""

    def __init__(self, paths: Sequence[str | Path], row_length: int) -> None:
        self.paths, self.row_length = paths, row_length
        self.maps = [map_rows(path, row_length) for path in paths]
        self.starts = np.cumsum([0, *map(len, self.maps)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rows of these numbers, int64 (len(numbers), row_length)."""
        rows = np.empty((len(numbers), self.row_length), dtype=np.int64)
        files = np.searchsorted(self.starts, numbers, side="right") - 1
        for file in np.unique(files):
            here = files == file
            rows[here] = self.maps[file][numbers[here] - self.starts[file]]
        return rows

    def place(self, number: int) -> str:
        """Return a text with the file and the row (from 0) of an example, for messages."""
        file = int(np.searchsorted(self.starts, number, side="right")) - 1
        return f"{self.paths[file]}, row {number - int(self.starts[file])}"


class TrainingData:
    """The training and validation examples of a prepared corpus (`prepare_corpus`).

    Validation examples, int64 (n, row_length), are spread evenly over the chunks for validation.
    Without such chunks, they are spread over the training examples, and training leaves them out.
    """

    def __init__(self, described: Mapping[str, Any], validation_examples: int) -> None:
        self.separator, self.vocabulary = described["separator"], described["vocabulary"]
        row_length = described["context_window"] + 1
        for path in [*described["training"], *described["validation"]]:
            if not Path(path).is_file():
                raise LingprobError(
                    f"{path}: these examples are gone. Delete results/training/corpus.json and run "
                    "again to make them."
                )
        self.rows = TokenRows(described["training"], row_length)
        held_out = TokenRows(described["validation"], row_length)
        own = len(held_out) == 0
        source = self.rows if own else held_out
        spread = np.linspace(0, len(source) - 1, validation_examples)
        numbers = np.unique(spread.astype(np.int64))
        self.validation = source.take(numbers)
        self._numbers = np.setdiff1d(np.arange(len(self.rows)), numbers) if own else None
        self.n_examples = len(self.rows) if self._numbers is None else len(self._numbers)

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the training examples with these numbers, int64 (len(numbers), row_length)."""
        in_files = numbers if self._numbers is None else self._numbers[numbers]
        rows = self.rows.take(in_files)
        outside = (rows >= self.vocabulary).any(axis=1)
        if outside.any():
            raise LingprobError(
                f"{self.rows.place(int(in_files[outside.argmax()]))}: token id "
                f"{rows[outside].max()} is not in a vocabulary of {self.vocabulary}. Correct "
                "training.tokenizer or training.vocabulary."
            )
        return rows


def examples_of_step(step: int, batch_size: int, n_examples: int, seed: int) -> np.ndarray:
    """Return the numbers of the examples of a step (from 1), int64 (batch_size,).

    Each epoch has its own shuffle, in which each example comes once. A batch may span two epochs.
    """
    places = np.arange((step - 1) * batch_size, step * batch_size)
    epochs, within = np.divmod(places, n_examples)
    numbers = np.empty(batch_size, dtype=np.int64)
    for epoch in np.unique(epochs):
        here = epochs == epoch
        numbers[here] = _shuffle(seed, int(epoch), n_examples)[within[here]]
    return numbers


@lru_cache(maxsize=2)
def _shuffle(seed: int, epoch: int, n_examples: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(n_examples)


def count_seen_tokens(
    data: TrainingData, steps: int, batch_size: int, seed: int, progress: Progress
) -> np.ndarray:
    """Return how often the first `steps` steps predict each token id, int64 (V,).

    Separators count, and the first token of an example does not.
    """
    counts = np.zeros(data.vocabulary, dtype=np.int64)
    for step in range(1, steps + 1):
        rows = data.take(examples_of_step(step, batch_size, data.n_examples, seed))
        counts += np.bincount(rows[:, 1:].ravel(), minlength=data.vocabulary)
        progress.advance()
    return counts
