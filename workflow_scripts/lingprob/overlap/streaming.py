"""One pass of a corpus through the stimulus index: counts per state, to be merged.

A state's counts take 24 bytes: its visits, the longest match seen there, and the visits at that
length. They are sums and maxima, so files are independent, and nothing grows with the corpus.
"""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path
from lingprob.io.progress import Progress
from lingprob.overlap.automaton import HASH, StimulusIndex, find_target
from lingprob.overlap.token_blocks import TokenBlock

GRAM = 4  # tokens of the filter's k-grams: four 16-bit codes fill a word
# Places are unsigned: Numba checks signed ones for negative values, which doubles the time.
ONE = np.uint64(1)
MAX_BITMAP_BITS = {2: 20, 3: 21, GRAM: 23}  # together within a second-level cache


@dataclass(frozen=True, eq=False)
class ScanResult:
    """What the scan of one file, or of several merged, did to the index's states.

    index_digest: of the index that was used.
    min_length: shortest matches that count, in tokens; 1 for all.
    files: digest of the tokens of each file, by its name.
    n_tokens: corpus tokens, separators included.
    states: the visited states in rising order, int32 (n,).
    visits: positions of the corpus whose longest match ends in the state, int64 (n,).
    longest: longest match seen in the state, in tokens, int32 (n,).
    at_longest: the visits with that length, int64 (n,).
    n_words: white-space words of the corpus (leakage, footnote 3); 0 if it is token ids.
    """

    index_digest: str
    min_length: int
    files: dict[str, str]
    n_tokens: int
    states: np.ndarray
    visits: np.ndarray
    longest: np.ndarray
    at_longest: np.ndarray
    n_words: int = 0

    def save(self, path: str | Path) -> None:
        """Write the result to one .npz file, atomically."""
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            np.savez_compressed(
                stream,
                allow_pickle=False,
                index_digest=self.index_digest,
                min_length=self.min_length,
                n_tokens=self.n_tokens,
                files=np.array(list(self.files), dtype=np.str_),
                digests=np.array(list(self.files.values()), dtype=np.str_),
                states=self.states,
                visits=self.visits,
                longest=self.longest,
                at_longest=self.at_longest,
                n_words=self.n_words,
            )


def load_result(path: str | Path) -> ScanResult:
    """Read a result that `ScanResult.save` wrote.

    Raises LingprobError if the file is absent, cut short or something else.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return ScanResult(
                str(archive["index_digest"]),
                int(archive["min_length"]),
                dict(zip(archive["files"].tolist(), archive["digests"].tolist(),
                         strict=True)),
                int(archive["n_tokens"]),
                archive["states"], archive["visits"], archive["longest"], archive["at_longest"],
                int(archive["n_words"]),
            )  # fmt: skip
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise LingprobError(
            f"{path}: not a whole scan of a file ({error}). Delete it and run again."
        ) from error


def scan(
    index: StimulusIndex,
    blocks: Iterable[TokenBlock],
    *,
    file: str,
    tokenizer_hash: str,
    min_length: int = 1,
    separator: int | None = None,
    progress: Progress | None = None,
) -> ScanResult:
    """Stream one file of a corpus through the index (leakage, §2.1 and §3.1).

    Args:
        index: the passages.
        blocks: the file's token ids, whole documents in each block.
        file: its name; a merge refuses to count it twice.
        tokenizer_hash: of the corpus; must be the index's.
        min_length: shortest matches that count, in tokens. From 4 tokens on most of the corpus
            is skipped, the faster the longer.
        separator: a token id that ends documents inside the blocks' rows, as <|endoftext|>.
        progress: advanced by the number of tokens.

    Returns:
        The counts of the visited states.

    Raises LingprobError for another tokenizer, ids outside the vocabulary, a separator that is
    part of a passage, or a `min_length` below 1.
    """
    _check_scan(index, tokenizer_hash, min_length, separator)
    filtered = min_length >= GRAM
    counts = np.zeros((len(index.nodes), 3), dtype=np.int64)
    bitmaps = [_gram_bitmap(index, size) for size in ((GRAM,) if filtered else (2, 3))]
    tables = (index.nodes, index.slots, index.root_targets, index.symbol_of_code, counts)
    content = hashlib.blake2b(digest_size=16)
    n_tokens, n_words = 0, 0
    for block in blocks:
        codes = index.encode(block.tokens)
        if len(codes):
            # Of the ids, since codes do not tell foreign ids of a large vocabulary apart.
            halves = codes if index.is_narrow else np.ascontiguousarray(block.tokens).view("u2")
            content.update(np.array([len(codes), _checksum(halves)], dtype=np.uint64).tobytes())
        if filtered:
            _scan_filtered(*tables, *bitmaps, codes, block.offsets, min_length)
        else:
            _scan_all(*tables, *bitmaps, codes, block.offsets)
        n_tokens += len(codes)
        n_words += block.n_words
        if progress is not None:
            progress.advance(len(codes))
    states = np.flatnonzero(counts[:, 0])
    return ScanResult(
        index.digest, min_length, {file: content.hexdigest()}, n_tokens,
        states.astype(np.int32), counts[states, 0], counts[states, 1].astype(np.int32),
        counts[states, 2], n_words,
    )  # fmt: skip


def merge(results: Sequence[ScanResult]) -> ScanResult:
    """Add results of different files (or of merged ones) of the same index and `min_length`.

    Raises LingprobError if there are none, they differ in index or `min_length`, or a file is
    counted twice, be it under its own name or, with the same tokens, under another.
    """
    if not results:
        raise LingprobError("there are no scans to merge. Check the corpus's files.")
    first = results[0]
    for result in results[1:]:
        if (result.index_digest, result.min_length) != (first.index_digest, first.min_length):
            raise LingprobError(
                f"files {_names(first)} and {_names(result)} were scanned for different "
                f"passages or minimal lengths ({first.min_length} and {result.min_length}). "
                "Delete the older ones and run again."
            )
    files = _union([result.files for result in results])
    visited = np.unique(np.concatenate([result.states for result in results]))
    visits, longest, at_longest = np.zeros((3, len(visited)), dtype=np.int64)
    for result in results:
        states = np.searchsorted(visited, result.states)
        visits[states] += result.visits
        kept = np.where(result.longest < longest[states], 0, result.at_longest)
        at_longest[states] *= longest[states] >= result.longest
        at_longest[states] += kept
        longest[states] = np.maximum(longest[states], result.longest)
    return ScanResult(
        first.index_digest, first.min_length, files, sum(result.n_tokens for result in results),
        visited, visits, longest.astype(np.int32), at_longest,
        sum(result.n_words for result in results),
    )  # fmt: skip


def _names(result: ScanResult) -> str:
    return ", ".join(list(result.files)[:3]) + ("..." if len(result.files) > 3 else "")


def _union(groups: Iterable[dict[str, str]]) -> dict[str, str]:
    nothing = hashlib.blake2b(digest_size=16).hexdigest()
    files: dict[str, str] = {}
    name_of: dict[str, str] = {}
    for group in groups:
        for name, digest in group.items():
            if name in files:
                raise LingprobError(f"file {name!r} would be counted twice. List it once.")
            if digest in name_of and digest != nothing:
                raise LingprobError(
                    f"files {name_of[digest]!r} and {name!r} hold the same tokens, which would be "
                    "counted twice. Leave one of them out."
                )
            files[name] = digest
            name_of[digest] = name
    return files


def _check_scan(
    index: StimulusIndex, tokenizer_hash: str, min_length: int, separator: int | None
) -> None:
    if tokenizer_hash != index.tokenizer_hash:
        raise LingprobError(
            f"the corpus is tokenised with {tokenizer_hash!r}, the passages with "
            f"{index.tokenizer_hash!r}. Tokenise both with the same tokenizer."
        )
    if min_length < 1:
        raise LingprobError(f"min_length is {min_length}; it counts tokens, 1 or more.")
    if separator is not None and separator in index.vocabulary:
        raise LingprobError(
            f"token {separator} separates the corpus's documents, but is part of a passage. "
            "Remove it from the passages, or name another separator."
        )


@njit(cache=True)
def _word(codes, place):
    """Return four codes as one integer; the compiler makes this one load."""
    return (
        np.uint64(codes[place])
        | (np.uint64(codes[place + ONE]) << np.uint64(16))
        | (np.uint64(codes[place + np.uint64(2)]) << np.uint64(32))
        | (np.uint64(codes[place + np.uint64(3)]) << np.uint64(48))
    )


@njit(cache=True)
def _is_set(bitmap, gram, shift):
    bit = (gram * HASH) >> shift
    return ((bitmap[bit >> np.uint64(3)] >> (bit & np.uint64(7))) & ONE) != 0


@njit(cache=True)
def _may_hold(bitmap, shift, codes, place):
    """Return whether the k-gram at `place` may be one of the passages'; never wrongly False."""
    return _is_set(bitmap, _word(codes, place), shift)


@njit(cache=True)
def _set_bits(bitmap, codes, offsets, size, shift):
    for passage in range(len(offsets) - 1):
        for place in range(offsets[passage], offsets[passage + 1] - size + 1):
            gram = np.uint64(0)
            for i in range(size):
                gram |= np.uint64(codes[place + i]) << np.uint64(16 * i)
            bit = (gram * HASH) >> np.uint64(shift)
            bitmap[bit >> np.uint64(3)] |= np.uint8(1) << np.uint8(bit & np.uint64(7))


@njit(cache=True)
def _shift_of(bitmap):
    return np.uint64(64 - int(np.log2(len(bitmap) * 8) + 0.5))


def _gram_bitmap(index: StimulusIndex, size: int) -> np.ndarray:
    """Return a bit for each hash of a passage's sequence of `size` codes, uint8 (2**bits / 8,)."""
    wanted = int(np.ceil(np.log2(32 * len(index.tokens) + 1)))
    bits = min(MAX_BITMAP_BITS[size], max(10, wanted))
    bitmap = np.zeros(2 ** (bits - 3), dtype=np.uint8)
    _set_bits(bitmap, index.encode(index.tokens), index.offsets, size, 64 - bits)
    return bitmap


@njit(cache=True)
def _checksum(codes):
    """Return a 64-bit checksum that depends on the order (after Fletcher)."""
    total, weighted = ONE, np.uint64(0)
    whole = np.uint64(len(codes) // 4 * 4)
    for place in range(np.uint64(0), whole, np.uint64(4)):
        total += _word(codes, place)
        weighted += total
    for place in range(whole, np.uint64(len(codes))):
        total += np.uint64(codes[place])
        weighted += total
    return total ^ (weighted * HASH)


@njit(cache=True)
def _advance(nodes, slots, root_targets, state, length, symbol):
    """Read a symbol: drop tokens from the front of the match until it can be extended."""
    if symbol == 0:
        return np.uint64(0), np.int64(0)
    while state != 0:
        target = find_target(nodes, slots, state, symbol)
        if target >= 0:
            return np.uint64(target), length + 1
        state = np.uint64(nodes[state, 1])
        length = np.int64(nodes[state, 0])
    return np.uint64(root_targets[symbol]), np.int64(1)


@njit(cache=True)
def _count(counts, state, length):
    counts[state, 0] += 1
    if length > counts[state, 1]:
        counts[state, 1] = length
        counts[state, 2] = 1
    elif length == counts[state, 1]:
        counts[state, 2] += 1


@njit(cache=True)
def _scan_all(nodes, slots, root_targets, symbol_of_code, counts, pairs, triples, codes, offsets):
    """Count the longest match at every position.

    Where the last two or three codes are no sequence of the passages, the match is shorter than
    that, whatever came before: most positions need no walk down suffix links, nor wait for it.
    """
    pair_shift, triple_shift = _shift_of(pairs), _shift_of(triples)
    for document in range(len(offsets) - 1):
        state, length = np.uint64(0), np.int64(0)
        before = np.uint64(0)
        for place in range(np.uint64(offsets[document]), np.uint64(offsets[document + 1])):
            symbol = np.uint64(symbol_of_code[codes[place]])
            if length > 0 and symbol != 0:
                pair = np.uint64(codes[place - ONE]) | (np.uint64(codes[place]) << np.uint64(16))
                if not _is_set(pairs, pair, pair_shift):
                    state, length = np.uint64(0), np.int64(0)
                elif length > 1:
                    oldest = np.uint64(codes[place - np.uint64(2)])
                    if not _is_set(triples, oldest | (pair << np.uint64(16)), triple_shift):
                        state, length = np.uint64(root_targets[before]), np.int64(1)
            state, length = _advance(nodes, slots, root_targets, state, length, symbol)
            if length > 0:
                _count(counts, state, length)
            before = symbol


@njit(cache=True)
def _scan_filtered(
    nodes, slots, root_targets, symbol_of_code, counts, bitmap, codes, offsets, min_length
):
    """Count matches of `min_length` tokens or more, which hold one of every `step` k-grams.

    A match that starts at `start` or at one of the next step - 1 places, and no earlier, holds
    the k-gram at start + step - 1, and also one of the two k-grams `side` places from it. Where
    that cannot be, `start` moves on by `step`. Else the automaton reads from `start`, until its
    match is shorter than a k-gram: later matches start where that one starts, or after.
    """
    step = np.uint64(min_length - GRAM + 1)
    # Less than `step`, so that the k-gram before the first lies in the document, too.
    side = np.uint64(min(GRAM, (min_length - GRAM + 1) // 2))
    size = np.uint64(GRAM)
    shift = _shift_of(bitmap)
    for document in range(len(offsets) - 1):
        begin, end = np.uint64(offsets[document]), np.uint64(offsets[document + 1])
        gram = begin + step - ONE
        while gram + size <= end:
            if not (
                _may_hold(bitmap, shift, codes, gram)
                and (
                    side == 0
                    or _may_hold(bitmap, shift, codes, gram - side)
                    or (gram + side + size <= end and _may_hold(bitmap, shift, codes, gram + side))
                )
            ):
                gram += step
                continue
            place = gram - step + ONE
            state, length = np.uint64(0), np.int64(0)
            while place < end and (length >= GRAM or place < gram + size):
                symbol = np.uint64(symbol_of_code[codes[place]])
                state, length = _advance(nodes, slots, root_targets, state, length, symbol)
                if length >= min_length:
                    _count(counts, state, length)
                place += ONE
            if place == end:
                break
            gram = place - np.uint64(length) + step - ONE
