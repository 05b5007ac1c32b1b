"""Corpora as blocks of token ids with document boundaries, whatever they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from lingprob.errors import LingprobError

ROW_LENGTH = 2049  # of the Pythia layout
TOKENS_PER_BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class TokenBlock:
    """Whole documents: document i is tokens[offsets[i]:offsets[i + 1]].

    tokens: unsigned integers (n_tokens,). offsets: int64 (n_documents + 1,), from 0 to n_tokens.
    n_words: white-space words of the documents; 0 if they are known as tokens only.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    n_words: int = 0


def block_of(
    documents: Sequence[np.ndarray], dtype: str = "uint32", n_words: int = 0
) -> TokenBlock:
    """Join documents, integer arrays that may be empty, to one block."""
    tokens = np.concatenate([np.empty(0, dtype), *documents]).astype(dtype)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return TokenBlock(tokens, offsets, n_words)


def count_rows(path: str | Path, *, row_length: int = ROW_LENGTH) -> int:
    """Return the number of rows of a pre-tokenised corpus (leakage, §2.1: the Pythia layout).

    Args:
        path: a .npy file of 16- or 32-bit unsigned integers, (rows, row_length) or
            (n_tokens,), or a headerless file of uint16.
        row_length: tokens a row.

    Raises LingprobError if the file is absent, cut short, or laid out otherwise.
    """
    return _Layout.of(Path(path), row_length).n_rows


def read_rows(
    path: str | Path, *, row_length: int = ROW_LENGTH, n_rows: int | None = None
) -> Iterator[TokenBlock]:
    """Stream rows of a pre-tokenised corpus; each row is a document of its own.

    The file is read in blocks of about two megabytes rather than mapped, so that resident
    memory stays small, and a file cut short is noticed. The blocks share one buffer: use each
    before asking for the next. Give `scan` the separator that splits rows into documents.

    Args:
        path, row_length: as in `count_rows`.
        n_rows: how many rows, of those that are there; all by default.

    Raises LingprobError as `count_rows`.
    """
    layout = _Layout.of(Path(path), row_length)
    return _row_blocks(layout, layout.n_rows if n_rows is None else min(n_rows, layout.n_rows))


def normalise(text: str) -> str:
    """Make every run of line breaks and white space one blank (leakage, §2.1)."""
    return " ".join(text.split())


@dataclass(frozen=True)
class _Layout:
    path: Path
    dtype: np.dtype
    row_length: int
    n_rows: int
    header_bytes: int

    @classmethod
    def of(cls, path: Path, row_length: int) -> _Layout:
        if row_length < 1:
            raise LingprobError(f"{path}: row_length is {row_length}; it must be 1 or more.")
        try:
            with open(path, "rb") as stream:
                kind, shape, header_bytes = _header(path, stream)
        except (OSError, ValueError) as error:
            raise LingprobError(f"{path}: cannot be read ({error}). Check the path.") from error
        if kind not in (np.dtype("<u2"), np.dtype("<u4")):
            raise LingprobError(f"{path}: holds {kind}; uint16 or uint32 is needed.")
        size = path.stat().st_size - header_bytes
        n_tokens = size // kind.itemsize if shape is None else int(np.prod(shape))
        if shape is not None and len(shape) == 2 and shape[1] != row_length:
            raise LingprobError(f"{path}: has rows of {shape[1]} tokens, not of {row_length}.")
        if size != n_tokens * kind.itemsize or n_tokens % row_length:
            raise LingprobError(
                f"{path}: its {size} bytes are no whole number of rows of {row_length} "
                f"{kind} tokens: it is cut short, or of another layout. Fetch it again."
            )
        return cls(path, kind, row_length, n_tokens // row_length, header_bytes)


def _header(path: Path, stream: BinaryIO) -> tuple[np.dtype, tuple[int, ...] | None, int]:
    if path.suffix != ".npy":
        return np.dtype("<u2"), None, 0
    version = np.lib.format.read_magic(stream)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, is_fortran, kind = read(stream)
    if is_fortran and len(shape) > 1:
        raise LingprobError(f"{path}: is stored by columns. Write it again by rows.")
    return kind, shape, stream.tell()


def _row_blocks(layout: _Layout, count: int) -> Iterator[TokenBlock]:
    rows_per_block = max(1, TOKENS_PER_BLOCK // layout.row_length)
    buffer = np.empty(rows_per_block * layout.row_length, dtype=layout.dtype)
    offsets = np.arange(rows_per_block + 1, dtype=np.int64) * layout.row_length
    with open(layout.path, "rb", buffering=0) as stream:
        stream.seek(layout.header_bytes)
        for start in range(0, count, rows_per_block):
            n_rows = min(rows_per_block, count - start)
            tokens = buffer[: n_rows * layout.row_length]
            _fill(layout.path, stream, tokens.view(np.uint8).data)
            yield TokenBlock(tokens, offsets[: n_rows + 1])


def _fill(path: Path, stream: BinaryIO, view: memoryview) -> None:
    done = 0
    while done < len(view):
        count = stream.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise LingprobError(f"{path}: became shorter while it was read. Fetch it again.")
        done += count
