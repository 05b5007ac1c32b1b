"""Where a corpus first has token sequences that a scan found in it, and what stands around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lingprob.errors import LingprobError
from lingprob.overlap.automaton import StimulusIndex, build_index
from lingprob.overlap.passages import longest_matches
from lingprob.overlap.streaming import scan
from lingprob.overlap.token_blocks import TokenBlock

CONTEXT_TOKENS = 24


@dataclass(frozen=True, eq=False)
class Place:
    """Where a sequence begins: in which `document` of a file (from 1) and at which token of it
    (`first_token`, from 0), with up to 24 tokens of the document `before` and `after` it."""

    document: int
    first_token: int
    before: np.ndarray
    after: np.ndarray


def first_places(
    sequences: Sequence[np.ndarray],
    blocks: Iterable[TokenBlock],
    *,
    file: str,
    vocabulary_size: int,
) -> list[Place]:
    """Return the first place of each sequence in a file that is known to have them all.

    Blocks are scanned for the sequences as a corpus is for passages, and compared token by token
    where one is whole; no more blocks are read than needed.

    Args:
        sequences: token ids, int64 (n,) each, one or more.
        blocks: the file's token ids, whole documents in each block, without separators.
        file: its name.
        vocabulary_size: number of ids of the tokenizer.

    Raises LingprobError if the file lacks one: it is not what was scanned.
    """
    wanted = {sequence.tobytes(): sequence for sequence in sequences}
    missing, found, n_documents = dict(wanted), dict[bytes, Place](), 0
    index = build_index(list(wanted.values()), tokenizer_hash=file, vocabulary_size=vocabulary_size)
    for block in blocks:
        content = block.tokens.tobytes()
        for key in [key for key in _whole_in(block, index) if key in missing]:
            found[key] = _place_in(block, content, missing.pop(key), n_documents)
        if not missing:
            return [found[sequence.tobytes()] for sequence in sequences]
        n_documents += len(block.offsets) - 1
    raise LingprobError(
        f"{file}: lacks what was found in it, so it has changed meanwhile. Run again when nobody "
        "writes to it."
    )


def split_documents(block: TokenBlock, separator: int | None) -> TokenBlock:
    """Return a block without its separators, each of which ends a document."""
    if separator is None:
        return block
    marks = np.flatnonzero(block.tokens == separator)
    ends = np.sort(np.concatenate([marks, block.offsets[1:]]))
    offsets = np.concatenate([[0], ends - np.searchsorted(marks, ends)])
    return TokenBlock(np.delete(block.tokens, marks), offsets.astype(np.int64))


def _whole_in(block: TokenBlock, index: StimulusIndex) -> list[bytes]:
    """Return the indexed sequences, as bytes, that a block's documents have."""
    lengths = np.diff(index.offsets)
    result = scan(
        index,
        [block],
        file="",
        tokenizer_hash=index.tokenizer_hash,
        min_length=int(lengths.min()),
    )
    matched, _ = longest_matches(index, result)
    whole = np.flatnonzero(matched[index.offsets[1:] - 1] == lengths)
    return [index.passage(number).tobytes() for number in whole.tolist()]


def _place_in(block: TokenBlock, content: bytes, sequence: np.ndarray, n_documents: int) -> Place:
    """Return the first place of a sequence that a block has; so many documents precede the block.

    `content` is the block's tokens as bytes.
    """
    tokens, offsets = block.tokens, block.offsets
    for first in _equal(content, sequence.astype(tokens.dtype).tobytes(), tokens.itemsize):
        last = first + len(sequence)
        document = int(np.searchsorted(offsets, first, side="right"))
        start, end = offsets[document - 1], offsets[document]
        if last <= end:
            break
    return Place(
        n_documents + document,
        int(first - start),
        tokens[max(start, first - CONTEXT_TOKENS) : first].astype(np.int64),
        tokens[last : min(end, last + CONTEXT_TOKENS)].astype(np.int64),
    )


def _equal(content: bytes, wanted: bytes, itemsize: int) -> Iterator[int]:
    """Yield the tokens at which a sequence begins, be it across documents."""
    byte = content.find(wanted)
    while byte >= 0:
        if byte % itemsize == 0:
            yield byte // itemsize
        byte = content.find(wanted, byte + 1)
