"""Corpora that texts are looked for in: files that stream by, or that are saved as compacted DAWGs.

A saved corpus is a folder: corpus.json, and the graph of each file in a folder of its own, of about
25 bytes a token. It answers for any text as the corpus would, without a pass over it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.files import write_text
from lingprob.io.progress import Progress
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.automaton import StimulusIndex
from lingprob.overlap.cdawg import Cdawg, build_cdawg, load_cdawg
from lingprob.overlap.passages import longest_matches
from lingprob.overlap.texts import corpus_blocks, scan_file
from lingprob.overlap.token_blocks import TokenBlock

TOKEN_ROWS = "token_rows"
CONTENTS = "corpus.json"


@dataclass(frozen=True, eq=False)
class FileMatches:
    """The longest match with a file that ends at every token of the passages.

    lengths, frequencies: as `longest_matches` gives them. digest: of the file's tokens.
    n_words: white-space words of the file; 0 if it is token ids.
    """

    lengths: np.ndarray
    frequencies: np.ndarray
    digest: str
    n_words: int


class SearchedFile(Protocol):
    """A file of a corpus; `name` is its own in the corpus."""

    @property
    def name(self) -> str: ...

    def longest_matches(
        self, index: StimulusIndex, tokenizer: Tokenizer, min_length: int, progress: Progress
    ) -> FileMatches:
        """Return the longest matches with passages."""

    def blocks(self, tokenizer: Tokenizer) -> Iterator[TokenBlock]:
        """Return the file's documents as token ids, without separators."""


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
    ) -> FileMatches:
        """Scan the file."""
        found = scan_file(index, tokenizer, self.entry, self.paths, self.name, min_length, progress)
        return FileMatches(*longest_matches(index, found), found.files[self.name], found.n_words)

    def blocks(self, tokenizer: Tokenizer) -> Iterator[TokenBlock]:
        """Read the file."""
        blocks, separator = corpus_blocks(tokenizer, self.entry, self.paths)
        return (split_documents(block, separator) for block in blocks)

    @property
    def is_text(self) -> bool:
        """Whether the file has words, and not only token ids."""
        return bool(self.entry["parser"] != TOKEN_ROWS)


@dataclass(frozen=True, eq=False)
class SavedFile:
    """A file of a saved corpus, which answers as the file itself does."""

    name: str
    graph: Cdawg

    def longest_matches(
        self, index: StimulusIndex, tokenizer: Tokenizer, min_length: int, progress: Progress
    ) -> FileMatches:
        """Ask the graph, which knows matches of all lengths."""
        found = self.graph.longest_matches(
            index.tokens, index.offsets, tokenizer_hash=tokenizer.sha256
        )
        progress.advance(len(self.graph.text))
        digest = hashlib.blake2b(self.graph.text.data, digest_size=16).hexdigest()
        return FileMatches(*found, digest, self.graph.n_words)

    def blocks(self, tokenizer: Tokenizer) -> Iterator[TokenBlock]:
        """Return the graph's text."""
        text = self.graph.text
        yield split_documents(TokenBlock(text, np.array([0, len(text)])), self.graph.mark)


@dataclass(frozen=True)
class Corpus:
    """A corpus by name, with its files.

    words: how many white-space words it has, if the catalog says so.
    tokenizer: the name of the one that a saved corpus was made with.
    """

    name: str
    files: Sequence[SearchedFile]
    words: float | None = None
    tokenizer: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether an n-gram model can be estimated over all of the corpus."""
        return all(isinstance(file, CorpusFile) and file.is_text for file in self.files)

    def documents(self) -> Iterator[str]:
        """Stream the texts of all files that are text."""
        for file in self.files:
            if isinstance(file, CorpusFile) and file.is_text:
                yield from iter_documents(file.entry["parser"], file.paths)


@dataclass(frozen=True, eq=False)
class Matches:
    """The longest match with a corpus that ends at every token of the passages, (n_tokens,) each.

    lengths: in tokens, int32, 0 if it is shorter than what counts.
    frequencies: occurrences in all files, int64.
    files: the number of the first file that has it, int64, -1 without a match.
    n_words: white-space words of the corpus; None if they were not counted.
    """

    lengths: np.ndarray
    frequencies: np.ndarray
    files: np.ndarray
    n_words: float | None


def corpus_of(name: str, entry: Mapping[str, Any], paths: Sequence[Path]) -> Corpus:
    """Return a corpus of the catalog; one of the package has no paths."""
    files = [CorpusFile(path.name, entry, [path]) for path in paths]
    return Corpus(name, files or [CorpusFile("package", entry, [])], entry.get("words"))


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
    counts: list[int] = []
    with Progress(None, f"scanning {corpus.name}", "tokens") as progress:
        for number, file in enumerate(corpus.files):
            found = file.longest_matches(index, tokenizer, min_length, progress)
            if found.digest in name_of:
                raise LingprobError(
                    f"{corpus.name}: files {name_of[found.digest]!r} and {file.name!r} hold the "
                    "same tokens, which would be counted twice. Leave one of them out."
                )
            name_of[found.digest] = file.name
            counts.append(found.n_words)
            length = np.where(found.lengths >= min_length, found.lengths, 0)
            longer, as_long = length > lengths, (length == lengths) & (length > 0)
            more = frequencies + as_long * found.frequencies
            frequencies = np.where(longer, found.frequencies, more)
            files = np.where(longer, number, files)
            lengths = np.maximum(lengths, length)
    n_words = corpus.words or (sum(counts) if all(counts) else None)
    return Matches(lengths, frequencies, files, n_words)


def split_documents(block: TokenBlock, separator: int | None) -> TokenBlock:
    """Return a block without its separators, each of which ends a document."""
    if separator is None:
        return block
    marks = np.flatnonzero(block.tokens == separator)
    ends = np.sort(np.concatenate([marks, block.offsets[1:]]))
    offsets = np.concatenate([[0], ends - np.searchsorted(marks, ends)])
    return TokenBlock(np.delete(block.tokens, marks), offsets.astype(np.int64), block.n_words)


def save_corpus(corpus: Corpus, tokenizer: Tokenizer, name: str, folder: Path) -> None:
    """Write each file of a corpus as a graph below a folder, and what `load_corpus` reads.

    `name` is the tokenizer's, so that who asks the saved corpus need not know it. Raises
    LingprobError as `build_cdawg`: a file has at most 2**30 tokens.
    """
    for file in corpus.files:
        graph = build_cdawg(
            file.blocks(tokenizer),
            tokenizer_hash=tokenizer.sha256,
            vocabulary_size=tokenizer.vocabulary_size,
        )
        graph.save(folder / file.name)
    files = [file.name for file in corpus.files]
    contents = {"corpus": corpus.name, "words": corpus.words, "tokenizer": name, "files": files}
    write_text(json.dumps(contents), folder / CONTENTS)


def is_saved(folder: str | Path) -> bool:
    """Tell whether a folder is a saved corpus."""
    return Path(folder, CONTENTS).is_file()


def load_corpus(folder: Path) -> Corpus:
    """Return the corpus that `save_corpus` wrote, each file of it mapped into memory.

    Raises LingprobError for a folder that is not whole.
    """
    try:
        contents = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        keys = ("corpus", "files", "words", "tokenizer")
        name, files, words, tokenizer = (contents[key] for key in keys)
    except (OSError, ValueError, KeyError) as error:
        raise LingprobError(
            f"{folder / CONTENTS}: not the contents of a saved corpus ({error}). Save it again."
        ) from error
    saved = [SavedFile(file, load_cdawg(folder / file)) for file in files]
    return Corpus(name, saved, words, tokenizer)
