"""Corpora that texts are looked for in, file by file, whatever the files are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.progress import Progress
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.automaton import StimulusIndex
from lingprob.overlap.chance import total_words
from lingprob.overlap.passages import longest_matches
from lingprob.overlap.places import split_documents
from lingprob.overlap.texts import corpus_blocks, scan_file
from lingprob.overlap.token_blocks import TokenBlock

TOKEN_ROWS = "token_rows"


class SearchedFile(Protocol):
    """What a file of a corpus is asked; `name` is its own in the corpus."""

    @property
    def name(self) -> str: ...

    def longest_matches(
        self, index: StimulusIndex, tokenizer: Tokenizer, min_length: int, progress: Progress
    ) -> tuple[np.ndarray, np.ndarray, str]:
        """Return lengths and frequencies as `longest_matches`, and a digest of the tokens."""

    def blocks(self, tokenizer: Tokenizer) -> Iterator[TokenBlock]:
        """Return the file's documents as token ids, without separators."""

    def total_words(self) -> int | None:
        """Return the number of the file's white-space words, None if it has token ids alone."""


@dataclass(frozen=True)
class CorpusFile:
    """A file that streams by: its catalog `entry` says how it is read.

    `paths` has the file, or nothing for a corpus of the package.
    """

    name: str
    entry: Mapping[str, Any]
    paths: Sequence[Path]

    def longest_matches(
        self, index: StimulusIndex, tokenizer: Tokenizer, min_length: int, progress: Progress
    ) -> tuple[np.ndarray, np.ndarray, str]:
        """Scan the file; see `SearchedFile`."""
        result = scan_file(
            index, tokenizer, self.entry, self.paths, self.name, min_length, progress
        )
        return *longest_matches(index, result), result.files[self.name]

    def blocks(self, tokenizer: Tokenizer) -> Iterator[TokenBlock]:
        """Read the file; see `SearchedFile`."""
        blocks, separator = corpus_blocks(tokenizer, self.entry, self.paths)
        return (split_documents(block, separator) for block in blocks)

    def total_words(self) -> int | None:
        """Count the file's words; see `SearchedFile`."""
        return total_words(self.documents()) if self.is_text else None

    @property
    def is_text(self) -> bool:
        """Whether the file has words, and not only token ids."""
        return bool(self.entry["parser"] != TOKEN_ROWS)

    def documents(self) -> Iterator[str]:
        """Stream the file's texts."""
        return iter_documents(self.entry["parser"], self.paths)


@dataclass(frozen=True)
class Corpus:
    """A corpus by name, with its files and, where the catalog knows them, its words."""

    name: str
    files: Sequence[SearchedFile]
    known_words: float | None = None

    @cached_property
    def n_words(self) -> float | None:
        """White-space words of all files; None where they cannot be counted."""
        if self.known_words is not None:
            return self.known_words
        counts = [file.total_words() for file in self.files]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def documents(self) -> Iterator[str]:
        """Stream the texts of all files that are text."""
        for file in self.files:
            if isinstance(file, CorpusFile) and file.is_text:
                yield from file.documents()

    @property
    def is_text(self) -> bool:
        """Whether an n-gram model can be estimated over all of the corpus."""
        return all(isinstance(file, CorpusFile) and file.is_text for file in self.files)


@dataclass(frozen=True, eq=False)
class Matches:
    """The longest match with a corpus that ends at every token of the passages, (n_tokens,) each.

    lengths: in tokens, int32, 0 where it is shorter than what counts.
    frequencies: occurrences in all files, int64.
    files: the number of the first file that has it, int64, -1 without a match.
    """

    lengths: np.ndarray
    frequencies: np.ndarray
    files: np.ndarray


def search(corpus: Corpus, index: StimulusIndex, tokenizer: Tokenizer, min_length: int) -> Matches:
    """Look for the indexed passages in all files of a corpus (leakage, §2.1).

    Args:
        corpus: its files, none twice.
        index: the passages.
        tokenizer: of passages and corpus.
        min_length: shortest matches that count, tokens.

    Raises LingprobError for two files of the same tokens, and for a file without any.
    """
    n_tokens = len(index.tokens)
    lengths, frequencies = np.zeros(n_tokens, np.int32), np.zeros(n_tokens, np.int64)
    files = np.full(n_tokens, -1)
    name_of: dict[str, str] = {}
    with Progress(None, f"scanning {corpus.name}", "tokens") as progress:
        for number, file in enumerate(corpus.files):
            length, frequency, digest = file.longest_matches(index, tokenizer, min_length, progress)
            if digest in name_of:
                raise LingprobError(
                    f"{corpus.name}: files {name_of[digest]!r} and {file.name!r} hold the same "
                    "tokens, which would be counted twice. Leave one of them out."
                )
            name_of[digest] = file.name
            length = np.where(length >= min_length, length, 0)
            longer, as_long = length > lengths, (length == lengths) & (length > 0)
            frequencies = np.where(longer, frequency, frequencies + as_long * frequency)
            files = np.where(longer, number, files)
            lengths = np.maximum(lengths, length)
    return Matches(lengths, frequencies, files)
