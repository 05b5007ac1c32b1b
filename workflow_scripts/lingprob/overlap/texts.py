"""Texts and corpora by name, file and tokenizer, for the index and for the scan,
which itself is `overlap.streaming`.

It imports no more of the package than a scan needs: an edit elsewhere rescans no corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches, iter_documents
from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.automaton import StimulusIndex, build_index
from lingprob.overlap.streaming import ScanResult, scan
from lingprob.overlap.token_blocks import TokenBlock, block_of, normalise, read_rows
from lingprob.overlap.tokenizing import Tokenize, fast_tokenize, usual_tokenize

CHARACTERS_COMPARED = 200_000
CHARACTERS_PER_BATCH = 2**20


def index_texts(
    texts: Mapping[str, pd.Series], tokenizer: Tokenizer
) -> tuple[StimulusIndex, pd.DataFrame]:
    """Index the passages of several corpora (leakage, §2.1).

    Args:
        texts: a corpus's passages by passage_id, as `passage_texts` gives them.
        tokenizer: tokenises them, without special tokens.

    Returns:
        The index, and the `overlap_passages` table that names its passages.
    """
    passages = pd.DataFrame(
        [
            (corpus, number, passage_id)
            for corpus, of_corpus in texts.items()
            for number, passage_id in enumerate(of_corpus.index)
        ],
        columns=SCHEMAS["overlap_passages"].names,
    )
    ids = usual_tokenize(tokenizer.tokenizer)([text for part in texts.values() for text in part])
    index = build_index(
        [np.asarray(passage, dtype=np.int64) for passage in ids],
        tokenizer_hash=tokenizer.sha256,
        vocabulary_size=tokenizer.vocabulary_size,
    )
    return index, passages


def scan_file(
    index: StimulusIndex,
    tokenizer: Tokenizer,
    entry: Mapping[str, Any],
    files: Sequence[Path],
    file: str,
    min_length: int,
    progress: Progress,
) -> ScanResult:
    """Stream one file of a corpus through the index (leakage, §2.1).

    Args:
        index, tokenizer: as `index_texts` has them.
        entry, files: as `corpus_blocks` has them.
        file: names the file among all that are merged.
        min_length: shortest matches that count, tokens.
        progress: advanced by the number of tokens.

    Raises LingprobError for a file without a token.
    """
    blocks, separator = corpus_blocks(tokenizer, entry, files)
    result = scan(
        index,
        blocks,
        file=file,
        tokenizer_hash=tokenizer.sha256,
        min_length=min_length,
        separator=separator,
        progress=progress,
    )
    if not result.n_tokens:
        raise LingprobError(
            f"{', '.join(map(str, files)) or file}: no token in it, so every text would seem "
            "to be free of it. Fill the file, or leave it out of the corpus."
        )
    return result


def corpus_blocks(
    tokenizer: Tokenizer, entry: Mapping[str, Any], files: Sequence[Path]
) -> tuple[Iterator[TokenBlock], int | None]:
    """Return a corpus as blocks of tokens, and the token in them that ends a document, if any.

    Args:
        tokenizer: of the texts, or the one that the rows were tokenised with.
        entry: the corpus's catalog entry; its parser is `token_rows` for pre-tokenised rows, whose
            `separator` token ends a document, or a text parser.
        files: the corpus's files, or none for a corpus of the package.
    """
    if entry["parser"] != "token_rows":
        return tokenised(iter_documents(entry["parser"], files), tokenizer), None
    separator = tokenizer.id_of(entry["separator"]) if "separator" in entry else None
    return chain.from_iterable(map(read_rows, files)), separator


def tokenised(documents: Iterable[str], tokenizer: Tokenizer) -> Iterator[TokenBlock]:
    """Tokenise documents by the fastest tokenizer that agrees on the start of the first one."""
    documents = iter(documents)
    for first in documents:
        sample = normalise(first[:CHARACTERS_COMPARED])
        tokenize = fast_tokenize(tokenizer.tokenizer, [sample])
        return read_texts(chain([first], documents), tokenize)
    return iter(())


def read_texts(documents: Iterable[str], tokenize: Tokenize) -> Iterator[TokenBlock]:
    """Tokenise texts, about a megabyte at a time, as `normalise` gives them (leakage, §2.1).

    Args:
        documents: texts, as `lingprob.io.corpora.iter_documents` streams them.
        tokenize: texts in, token ids out; see `lingprob.overlap.tokenizing`.

    Returns:
        An iterator over blocks.
    """
    for batch in batches(documents, CHARACTERS_PER_BATCH):
        words = [text.split() for text in batch]
        ids = tokenize(list(map(" ".join, words)))
        arrays = [np.asarray(of_text, dtype=np.int64) for of_text in ids]
        yield block_of(arrays, n_words=sum(map(len, words)))
