"""Corpora that are searched for passages: files that are streamed, or saved graphs (CDAWGs).

A saved corpus is a folder with corpus.json and a folder with the graph of each file, which takes
about 25 bytes per token. A search in a saved corpus gives the same result as in its files, but
reads no text.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.files import write_text
from lingprob.io.parsers import TOKEN_ROWS
from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.models.tokenizer import Letters, Tokenizer, encode, tokens_of
from lingprob.overlap.automaton import PassageIndex, build_index, check_tokenizer
from lingprob.overlap.cdawg import Cdawg, build_cdawg, load_cdawg
from lingprob.overlap.matches import Matches, without_short
from lingprob.overlap.streaming import scan
from lingprob.overlap.token_blocks import TokenBlock, normalise, read_rows, read_texts

CONTENTS = "corpus.json"


@dataclass(frozen=True)
class CorpusFile:
    """A file of a corpus that is streamed at each search.

    entry: the corpus's catalog entry. Its parser is a text parser, or `token_rows` for rows of
        token ids, in which the token `separator` ends a document.
    paths: the path of the file, or [] for a corpus that is part of the package.
    """

    name: str
    entry: Mapping[str, Any]
    paths: Sequence[Path]

    @property
    def is_text(self) -> bool:
        """Return whether the file has text and not token ids."""
        return bool(self.entry["parser"] != TOKEN_ROWS)

    def find_matches(
        self, index: PassageIndex, tokenizer: Tokenizer, min_length: int, progress: Progress
    ) -> Matches:
        """Return the longest matches with the file. Raise LingprobError if it has no token."""
        blocks, separator = self._blocks(tokenizer)
        found = scan(
            index,
            blocks,
            file=self.name,
            tokenizer_hash=tokenizer.sha256,
            min_length=min_length,
            separator=separator,
            progress=progress,
        )
        if not found.n_tokens:
            raise LingprobError(
                f"{', '.join(map(str, self.paths)) or self.name}: no token in it. Fill it, or "
                "leave it out of the corpus."
            )
        return found

    def as_graph(self, tokenizer: Tokenizer) -> Cdawg:
        """Return the graph of the file's documents. Errors are those of `build_cdawg`."""
        blocks, separator = self._blocks(tokenizer)
        return build_cdawg(
            (split_documents(block, separator) for block in blocks),
            tokenizer_hash=tokenizer.sha256,
            vocabulary_size=tokenizer.vocabulary_size,
        )

    def _blocks(self, tokenizer: Tokenizer) -> tuple[Iterator[TokenBlock], int | None]:
        if self.is_text:
            texts = iter_documents(self.entry["parser"], self.paths)
            return read_texts(texts, tokenizer.tokenizer), None
        separator = self.entry.get("separator")
        rows = chain.from_iterable(map(read_rows, self.paths))
        return rows, None if separator is None else tokenizer.id_of(separator)


@dataclass(frozen=True, eq=False)
class SavedFile:
    """The saved graph of a corpus's file. A search in it gives the same result as in the file."""

    name: str
    graph: Cdawg
    is_text = False

    def find_matches(
        self, index: PassageIndex, tokenizer: Tokenizer, min_length: int, progress: Progress
    ) -> Matches:
        """Return the longest matches of indexed passages with the file (leakage, §2.1)."""
        lengths, frequencies = self.graph.longest_matches(
            index.tokens, index.offsets, tokenizer_hash=tokenizer.sha256
        )
        n_tokens = len(self.graph.text)
        progress.advance(n_tokens)
        digest = hashlib.blake2b(self.graph.text.data, digest_size=16).hexdigest()
        return without_short(
            Matches(
                self.name, digest, index.digest, min_length, n_tokens, self.graph.n_words,
                lengths, frequencies,
            )
        )  # fmt: skip

    def as_graph(self, tokenizer: Tokenizer) -> Cdawg:
        """Return the graph. Raise LingprobError if it is of another tokenizer."""
        check_tokenizer(self.graph.tokenizer_hash, tokenizer.sha256)
        return self.graph


@dataclass(frozen=True)
class Corpus:
    """A corpus with its name and files.

    words: number of words between white space, if the catalog states it.
    tokenizer: name of the tokenizer that a saved corpus was made with.
    """

    name: str
    files: Sequence[CorpusFile | SavedFile]
    words: float | None = None
    tokenizer: str | None = None

    @property
    def is_text(self) -> bool:
        """Return whether all files have text, which the estimation of an n-gram model needs."""
        return all(file.is_text for file in self.files)

    def documents(self) -> Iterator[str]:
        """Yield the documents of all files. Raises LingprobError for a file of token ids."""
        for file in self.files:
            if isinstance(file, CorpusFile):
                yield from iter_documents(file.entry["parser"], file.paths)


def index_texts(
    texts: Mapping[str, pd.Series], tokenizer: Tokenizer
) -> tuple[PassageIndex, pd.DataFrame]:
    """Return an index of the passages of several texts, and its `overlap_passages` table.

    `texts` has the passages of each text by passage_id. They are normalised as corpora are
    (leakage, §2.1). Letters without a token are logged.
    """
    passages = pd.DataFrame(
        [
            (corpus, number, passage_id)
            for corpus, of_corpus in texts.items()
            for number, passage_id in enumerate(of_corpus.index)
        ],
        columns=SCHEMAS["overlap_passages"].names,
    )
    every = [text for of_corpus in texts.values() for text in of_corpus]
    # One space before the first word stays, because it changes the first token.
    spaced = [" " * text[:1].isspace() + normalise(text) for text in every]
    tokens = tokens_of(encode(tokenizer.tokenizer, spaced, offsets=True))
    Letters.of(tokenizer.tokenizer).check(spaced, tokens)
    index = build_index(
        [passage.ids for passage in tokens],
        tokenizer_hash=tokenizer.sha256,
        vocabulary_size=tokenizer.vocabulary_size,
    )
    return index, passages


def corpus_of(name: str, entry: Mapping[str, Any], paths: Sequence[Path]) -> Corpus:
    """Return a corpus of the catalog, with one file per path. A corpus in the package has none."""
    files = [CorpusFile(path.name, entry, [path]) for path in paths]
    return Corpus(name, files or [CorpusFile("package", entry, [])], entry.get("words"))


def search(
    corpus: Corpus, index: PassageIndex, tokenizer: Tokenizer, min_length: int
) -> list[Matches]:
    """Return the longest matches of indexed passages with each file of a corpus (leakage, §2.1).

    Matches have at least `min_length` tokens. Raises LingprobError for a file without a token.
    """
    with Progress(None, f"scanning {corpus.name}", "tokens") as progress:
        return [file.find_matches(index, tokenizer, min_length, progress) for file in corpus.files]


def split_documents(block: TokenBlock, separator: int | None) -> TokenBlock:
    """Return a block in which documents end at each separator, without the separators."""
    if separator is None:
        return block
    marks = np.flatnonzero(block.tokens == separator)
    ends = np.sort(np.concatenate([marks, block.offsets[1:]]))
    offsets = np.concatenate([[0], ends - np.searchsorted(marks, ends)])
    return TokenBlock(np.delete(block.tokens, marks), offsets.astype(np.int64), block.n_words)


def save_corpus(corpus: Corpus, tokenizer: Tokenizer, name: str, folder: Path) -> None:
    """Write the graph of each file of a corpus, and the tokenizer's name, to a folder.

    Raises LingprobError as `build_cdawg`.
    """
    for file in corpus.files:
        file.as_graph(tokenizer).save(folder / file.name)
    files = [file.name for file in corpus.files]
    contents = {"corpus": corpus.name, "words": corpus.words, "tokenizer": name, "files": files}
    write_text(json.dumps(contents), folder / CONTENTS)


def is_saved(folder: str | Path) -> bool:
    """Return whether a folder is a saved corpus."""
    return Path(folder, CONTENTS).is_file()


def load_corpus(folder: Path) -> Corpus:
    """Return the corpus that `save_corpus` wrote. Raise LingprobError if it is incomplete."""
    try:
        contents = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        files = [SavedFile(file, load_cdawg(folder / file)) for file in contents["files"]]
        return Corpus(contents["corpus"], files, contents["words"], contents["tokenizer"])
    except (OSError, ValueError, KeyError) as error:
        raise LingprobError(
            f"{folder / CONTENTS}: not the contents of a saved corpus ({error}). Save it again."
        ) from error
