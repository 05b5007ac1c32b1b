"""The examples that models are trained on: which chunks, which tokenizer, which are held out."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.files import atomic_path, identity_of, sha256_of, write_text
from lingprob.io.progress import Progress
from lingprob.models.folders import read_manifest
from lingprob.overlap.token_blocks import count_rows
from lingprob.overlap.tokenizing import usual_tokenize
from lingprob.training.rows import TokenRows, examples_of_step, write_rows
from lingprob.training.sizes import SEPARATOR

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chunk:
    """A file of a corpus: its catalog entry, and where it lies (no path: in the package)."""

    corpus: str
    file: str
    entry: Mapping[str, Any]
    path: str | None

    @property
    def name(self) -> str:
        """The name that the overlap stage gives it."""
        return f"{self.corpus}/{self.file}"

    def documents(self) -> Iterator[str]:
        """Stream its texts."""
        return iter_documents(self.entry["parser"], [Path(self.path)] if self.path else [])


def choose_chunks(
    chunks: Sequence[Chunk], table: pd.DataFrame | None
) -> tuple[list[Chunk], list[Chunk]]:
    """Return the chunks to train on, and those to validate on.

    Args:
        chunks: all that there are.
        table: an `overlap_chunks` table: the selected ones are trained on, and the other
            leakage-free ones validate. None: all are trained on.

    Raises LingprobError if none is selected.
    """
    if table is None:
        return list(chunks), []
    rows = table.set_index("chunk")
    chosen = [chunk for chunk in chunks if rows.loc[chunk.name, "selected"]]
    free = [chunk for chunk in chunks if rows.loc[chunk.name, "leakage_free"]]
    if not chosen:
        raise LingprobError(
            "no chunk is selected for training. Set overlap.chunks_selected to 1 or more, or train "
            "on all chunks, leaked ones included, with training.chunks: all."
        )
    return chosen, [chunk for chunk in free if chunk not in chosen]


def prepare_corpus(
    chosen: Sequence[Chunk],
    held_out: Sequence[Chunk],
    *,
    tokenizer_file: Path | None,
    vocabulary: int,
    context_window: int,
    folder: Path,
    code: str,
    progress: Progress,
) -> dict[str, Any]:
    """Bring chunks to rows of token ids and describe them; what is there already is kept.

    Args:
        chosen, held_out: as `choose_chunks` gives them.
        tokenizer_file: a tokenizer.json; None: one is trained on the chosen texts.
        vocabulary: number of token ids of the models.
        context_window: tokens of an example that are seen; a row has one more.
        folder: of the tokenizer and the rows made here.
        code: digest of the code that makes them; rows of other code are made again.
        progress: advanced by the number of tokens.

    Returns:
        Plain values: tokenizer (directory), tokenizer_sha256, separator, vocabulary,
        context_window, code, chunks (what identifies each), and the files of training and
        validation.

    Raises LingprobError for a tokenizer without <|endoftext|> or with more ids than `vocabulary`,
    and for rows that are cut short, of another length, or made by another tokenizer.
    """
    directory = folder / "tokenizer"
    if tokenizer_file is None:
        tokenizer = train_tokenizer((t for chunk in chosen for t in chunk.documents()), vocabulary)
    else:
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file))
    sha256 = save_tokenizer(tokenizer, tokenizer_file, directory)
    separator = tokenizer.get_vocab().get(SEPARATOR)
    if separator is None or len(tokenizer) > vocabulary:
        raise LingprobError(
            f"training.tokenizer: {tokenizer_file} has {len(tokenizer)} tokens; {SEPARATOR} is "
            f"{'not ' if separator is None else ''}one of them. It must be, and "
            f"training.vocabulary ({vocabulary}) at least as large."
        )
    described = {
        "tokenizer": str(directory),
        "tokenizer_sha256": sha256,
        "separator": separator,
        "vocabulary": vocabulary,
        "context_window": context_window,
        "code": code,
        "chunks": {chunk.name: file_identity(chunk) for chunk in [*chosen, *held_out]},
    }
    for key, chunks in (("training", chosen), ("validation", held_out)):
        described[key] = [
            str(path)
            for chunk in chunks
            for path in rows_of(chunk, tokenizer, described, folder / "rows", progress)
        ]
    return described


def rows_of(
    chunk: Chunk, tokenizer: Any, described: Mapping[str, Any], folder: Path, progress: Progress
) -> list[Path]:
    """Return the files with a chunk's rows: its own, or those made of its text."""
    row_length = described["context_window"] + 1
    if chunk.entry["parser"] != "token_rows":
        return write_rows(
            chunk.documents(),
            usual_tokenize(tokenizer),
            folder / chunk.corpus / chunk.file,
            separator=described["separator"],
            row_length=row_length,
            vocabulary=described["vocabulary"],
            identity=identity_of(
                described["code"], described["tokenizer_sha256"], row_length, file_identity(chunk)
            ),
            progress=progress,
        )
    made_by = chunk.entry.get("tokenizer_sha256", described["tokenizer_sha256"])
    if made_by != described["tokenizer_sha256"]:
        raise LingprobError(
            f"{chunk.path}: its rows were made by the tokenizer with sha256 {made_by}, and that of "
            f"training.tokenizer is {described['tokenizer_sha256']}. Set training.tokenizer to the "
            "one that they were made by, or train on another corpus."
        )
    path = Path(str(chunk.path))
    count_rows(path, row_length=row_length)
    return [path]


def file_identity(chunk: Chunk) -> str:
    """Return what tells a chunk's content from another: parser and, of a file, size and time.

    The package's own data are told apart by the digest of the code.
    """
    if chunk.path is None:
        return str(chunk.entry["parser"])
    status = Path(chunk.path).stat()
    return f"{chunk.entry['parser']} {chunk.path} {status.st_size} {status.st_mtime_ns}"


def train_tokenizer(documents: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of (at most) `vocabulary` tokens, <|endoftext|> first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[SEPARATOR],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def save_tokenizer(tokenizer: Any, original: Path | None, directory: Path) -> str:
    """Save a tokenizer so that transformers loads it; return the sha256 of its tokenizer.json.

    The original file is copied as it is, so that its checksum stays.
    """
    if SEPARATOR in tokenizer.get_vocab():
        tokenizer.bos_token = tokenizer.eos_token = SEPARATOR
    tokenizer.save_pretrained(directory)
    path = directory / "tokenizer.json"
    if original is not None:
        with atomic_path(path) as temporary:
            temporary.write_bytes(Path(original).read_bytes())
    return sha256_of(path)


class TrainingData:
    """Training and validation examples of a prepared corpus.

    Validation examples are spread evenly over the chunks held out; where there are none, over
    the training examples, which then do without them.

    Raises LingprobError if a file is absent, cut short, or not of the corpus's layout.
    """

    def __init__(self, described: Mapping[str, Any], validation_examples: int) -> None:
        self.separator, self.vocabulary = described["separator"], described["vocabulary"]
        row_length = described["context_window"] + 1
        for path in [*described["training"], *described["validation"]]:
            if not Path(path).is_file():
                raise LingprobError(
                    f"{path}: these examples are gone. Delete results/training/corpus.json and run "
                    "again: they are made anew."
                )
        self.rows = TokenRows(described["training"], row_length)
        held_out = TokenRows(described["validation"], row_length)
        own = len(held_out) == 0
        source = self.rows if own else held_out
        chosen = np.linspace(0, len(source) - 1, min(validation_examples, len(source)))
        numbers = np.unique(chosen.astype(np.int64))
        self._validation = source.take(numbers)
        self._numbers = np.setdiff1d(np.arange(len(self.rows)), numbers) if own else None
        self.n_examples = len(self.rows) if self._numbers is None else len(self._numbers)

    def validation(self) -> np.ndarray:
        """Return the examples held out, int64 (n, row_length)."""
        return self._validation

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return training examples, int64 (len(numbers), row_length).

        Raises LingprobError that names the file and row if an id is not in the vocabulary.
        """
        rows = self.rows.take(self._in_files(numbers))
        outside = (rows >= self.vocabulary).any(axis=1)
        if outside.any():
            number = int(numbers[outside.argmax()])
            raise LingprobError(
                f"{self.place(number)}: token id {rows[outside].max()} is not in a vocabulary of "
                f"{self.vocabulary}. The rows were made by another tokenizer than "
                "training.tokenizer, or training.vocabulary is too small."
            )
        return rows

    def place(self, number: int) -> str:
        """Say in which file and row a training example is."""
        return self.rows.place(int(self._in_files(np.array([number]))[0]))

    def _in_files(self, numbers: np.ndarray) -> np.ndarray:
        return numbers if self._numbers is None else self._numbers[numbers]


def count_seen_tokens(
    data: TrainingData, steps: int, batch_size: int, seed: int, progress: Progress | None = None
) -> np.ndarray:
    """Count the tokens that the first `steps` steps predict, int64 (V,).

    An example that comes twice counts twice, and the separators of documents count, because
    they are predicted, too; an example's first token is not.

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


def tokenizer_file(manifest: str | None) -> Path | None:
    """Return the tokenizer.json of a model's or a data set's manifest; None for none."""
    if manifest is None:
        return None
    if Path(manifest).suffix == ".json":
        return Path(read_manifest(manifest)["directory"]) / "tokenizer.json"
    (name,) = pd.read_csv(manifest, sep="\t")["name"]
    return Path(manifest).parent / name


def write_description(described: Mapping[str, Any], path: Path) -> None:
    """Write what `prepare_corpus` returned."""
    write_text(json.dumps(described, indent=1) + "\n", path)
