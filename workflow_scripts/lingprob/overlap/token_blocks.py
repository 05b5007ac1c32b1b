"""Corpora as blocks of token ids with the ends of documents, from rows of ids or from texts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches
from lingprob.models.tokenizer import encode

ROW_LENGTH = 2049  # of the Pythia layout
TOKENS_PER_BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class TokenBlock:
    """Token ids of some whole documents: document i is tokens[offsets[i]:offsets[i + 1]].

    tokens: unsigned integers (n_tokens,).
    offsets: int64 (n_documents + 1,), from 0 to n_tokens.
    n_words: number of words between white space, or 0 if only the tokens are known.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    n_words: int = 0


def block_of(
    documents: Sequence[np.ndarray], dtype: str = "uint32", n_words: int = 0
) -> TokenBlock:
    """Return documents, integer arrays (n_tokens,) that may be empty, as one block."""
    tokens = np.concatenate([np.empty(0, dtype), *documents]).astype(dtype)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return TokenBlock(tokens, offsets, n_words)


def normalise(text: str) -> str:
    """Return a text with each run of white space as one space and none at its ends (§2.1).

    Letters are composed (NFC), because copies of a text differ in this invisibly.
    """
    return " ".join(normalize("NFC", text).split())


def token_ids(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each text, without special tokens."""
    ids: list[list[int]] = encode(tokenizer, texts)["input_ids"]
    return ids


def read_texts(documents: Iterable[str], tokenizer: Any) -> Iterator[TokenBlock]:
    """Yield documents, normalised and tokenised, in blocks of about a megabyte (leakage, §2.1)."""
    for batch in batches(documents):
        texts = list(map(normalise, batch))
        arrays = [np.asarray(of_text, dtype=np.int64) for of_text in token_ids(tokenizer, texts)]
        n_words = sum(text.count(" ") + 1 for text in texts if text)
        yield block_of(arrays, n_words=n_words)


def read_rows(path: str | Path, *, row_length: int = ROW_LENGTH) -> Iterator[TokenBlock]:
    """Yield the rows of a pre-tokenised corpus as documents, in blocks of about two megabytes.

    `scan` splits rows into documents at a separator. Arguments and errors are those of `map_rows`.
    """
    rows = map_rows(path, row_length)
    n_rows = max(1, TOKENS_PER_BLOCK // row_length)
    with open(path, "rb") as stream:  # mapped pages would count as this process's memory
        stream.seek(rows.offset or 0)  # None without rows
        for start in range(0, len(rows), n_rows):
            size = len(rows[start : start + n_rows]) * row_length
            tokens = np.fromfile(stream, rows.dtype, size)
            if len(tokens) < size:
                raise LingprobError(f"{path}: became shorter while it was read. Fetch it again.")
            yield TokenBlock(tokens, np.arange(0, size + 1, row_length))


def map_rows(path: str | Path, row_length: int = ROW_LENGTH) -> np.memmap:
    """Return the rows of a pre-tokenised corpus, unsigned integers (n_rows, row_length).

    The rows stay on the disk and are mapped into memory. The file is a .npy file of 16- or 32-bit
    unsigned integers, (n_rows, row_length) or (n_tokens,), or one of uint16 without a header.

    Raises LingprobError if the file is absent, cut short or has another layout.
    """
    path = Path(path)
    try:
        tokens: Any = (
            np.load(path, mmap_mode="r")
            if path.suffix == ".npy"
            else np.memmap(path, dtype="<u2", mode="r")
        )
    except (OSError, ValueError) as error:
        said = f"{path}: cannot be read, or is cut short ({error}). Fetch it again."
        raise LingprobError(said) from error
    if tokens.dtype not in (np.dtype("<u2"), np.dtype("<u4")):
        raise LingprobError(f"{path}: contains {tokens.dtype}, not uint16 or uint32.")
    head = tokens[: 2 * row_length]
    if path.suffix != ".npy" and head[::2].any() and not head[1::2].any():
        raise LingprobError(
            f"{path}: every second number is 0, so its ids are of 32 bits. Write it as a .npy file."
        )
    if not tokens.flags.c_contiguous:
        raise LingprobError(f"{path}: is stored by columns. Write it again by rows.")
    if tokens.ndim == 2 and tokens.shape[1] != row_length:
        raise LingprobError(f"{path}: has rows of {tokens.shape[1]} tokens, not of {row_length}.")
    if tokens.size % row_length:
        raise LingprobError(
            f"{path}: its {tokens.size} tokens are not a whole number of rows of {row_length}. Is "
            "it cut short? Fetch it again."
        )
    rows: np.memmap = tokens.reshape(-1, row_length)
    return rows
