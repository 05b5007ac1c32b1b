"""Corpora saved as compacted DAWGs: texts are looked for in them again, by others too, without the
corpus. Each file has a folder of its own, of about 25 bytes a token."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lingprob.certificate.corpora import Corpus
from lingprob.errors import LingprobError
from lingprob.io.files import write_text
from lingprob.io.progress import Progress
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.automaton import StimulusIndex
from lingprob.overlap.cdawg import Cdawg, build_cdawg, load_cdawg
from lingprob.overlap.places import split_documents
from lingprob.overlap.token_blocks import TokenBlock

CONTENTS = "corpus.json"


@dataclass(frozen=True, eq=False)
class SavedFile:
    """A file of a saved corpus, which answers as the file itself does."""

    name: str
    graph: Cdawg

    def longest_matches(
        self, index: StimulusIndex, tokenizer: Tokenizer, min_length: int, progress: Progress
    ) -> tuple[np.ndarray, np.ndarray, str]:
        """Ask the graph, which knows matches of all lengths; see `SearchedFile`."""
        found = self.graph.longest_matches(
            index.tokens, index.offsets, tokenizer_hash=tokenizer.sha256
        )
        progress.advance(len(self.graph.text))
        return *found, hashlib.blake2b(self.graph.text.data, digest_size=16).hexdigest()

    def blocks(self, tokenizer: Tokenizer) -> Iterator[TokenBlock]:
        """Return the graph's text; see `SearchedFile`."""
        text = self.graph.text
        mark = 256**text.itemsize - 1
        yield split_documents(TokenBlock(text, np.array([0, len(text)])), mark)

    def total_words(self) -> None:
        """Return None: words are counted while there is text."""


def save_corpus(corpus: Corpus, tokenizer: Tokenizer, folder: Path) -> None:
    """Write each file of a corpus as a graph below a folder, and what `load_corpus` reads.

    Raises LingprobError as `build_cdawg`: a file has at most 2**30 tokens.
    """
    for file in corpus.files:
        graph = build_cdawg(
            file.blocks(tokenizer),
            tokenizer_hash=tokenizer.sha256,
            vocabulary_size=tokenizer.vocabulary_size,
        )
        graph.save(folder / file.name)
    files = [file.name for file in corpus.files]
    contents = {"corpus": corpus.name, "n_words": corpus.n_words, "files": files}
    write_text(json.dumps(contents), folder / CONTENTS)


def load_corpus(folder: Path) -> Corpus:
    """Return the corpus that `save_corpus` wrote, each file of it mapped into memory.

    Raises LingprobError for a folder that is not whole.
    """
    try:
        contents = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        name, n_words, files = (contents[key] for key in ("corpus", "n_words", "files"))
    except (OSError, ValueError, KeyError) as error:
        raise LingprobError(
            f"{folder / CONTENTS}: not the contents of a saved corpus ({error}). Save it again."
        ) from error
    return Corpus(name, [SavedFile(file, load_cdawg(folder / file)) for file in files], n_words)
