"""One pass of a corpus through the index of the passages, which counts matches per state.

The counts of a state are sums and maxima, so that their memory (24 bytes per state) does not grow
with the corpus.
"""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import njit

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.overlap.automaton import HASH, PassageIndex, check_tokenizer, find_target
from lingprob.overlap.matches import Matches, without_short
from lingprob.overlap.token_blocks import TokenBlock

GRAM = 4  # tokens of the filter's k-grams, of which four 16-bit codes fill a 64-bit word
# Places are unsigned, because Numba checks signed ones for negative values, which doubles the time.
ONE = np.uint64(1)
MAX_BITMAP_BITS = {2: 20, 3: 21, GRAM: 23}  # together within a second-level cache


class Tables(NamedTuple):
    """The arrays of a `PassageIndex`, and the counts of a scan, int64 (n_states, 3).

    A state has three counts: the number of places in the corpus whose longest match ends there, the
    length of the longest such match (tokens), and the number of places with that length.
    """

    nodes: np.ndarray
    slots: np.ndarray
    root_targets: np.ndarray
    symbol_of_code: np.ndarray
    counts: np.ndarray


def scan(
    index: PassageIndex,
    blocks: Iterable[TokenBlock],
    *,
    file: str,
    tokenizer_hash: str,
    min_length: int = 1,
    separator: int | None = None,
    progress: Progress | None = None,
) -> Matches:
    """Return the longest matches of passages with one file of a corpus (leakage, §2.1 and §3.1).

    Args:
        index: the index of the passages.
        blocks: the token ids of the file (`file` is its name), with whole documents in each block.
        tokenizer_hash: digest of the file's tokenizer, which must be that of the index.
        min_length: number of tokens of the shortest match that counts. From 4 tokens on, a longer
            minimum lets the scan skip more of the corpus.
        separator: a token id that ends documents within the blocks' rows, such as <|endoftext|>.
        progress: advanced by the number of tokens.

    Raises LingprobError for another tokenizer, ids outside the vocabulary, a separator that is
    part of a passage, or a `min_length` below 1.
    """
    check_tokenizer(tokenizer_hash, index.tokenizer_hash)
    if min_length < 1:
        raise LingprobError(f"min_length is {min_length}. It counts tokens: set 1 or more.")
    if separator is not None and separator in index.vocabulary:
        raise LingprobError(
            f"token {separator} separates the corpus's documents, but is part of a passage. Name "
            "another separator."
        )
    filtered = min_length >= GRAM
    counts = np.zeros((len(index.nodes), 3), dtype=np.int64)
    tables = Tables(index.nodes, index.slots, index.root_targets, index.symbol_of_code, counts)
    bitmaps = [_gram_bitmap(index, size) for size in ((GRAM,) if filtered else (2, 3))]
    content = hashlib.blake2b(digest_size=16)
    n_tokens, n_words = 0, 0
    for block in blocks:
        codes = index.encode(block.tokens)
        if len(codes):
            # The ids are digested, because codes do not distinguish those ids of a large vocabulary
            # that occur in no passage.
            halves = codes if index.is_narrow else np.ascontiguousarray(block.tokens).view("u2")
            content.update(np.array([len(codes), _checksum(halves)], dtype=np.uint64).tobytes())
        if filtered:
            _scan_filtered(tables, *bitmaps, codes, block.offsets, min_length)
        else:
            _scan_all(tables, *bitmaps, codes, block.offsets)
        n_tokens += len(codes)
        n_words += block.n_words
        if progress is not None:
            progress.advance(len(codes))
    lengths, frequencies = _propagate(index.nodes, counts)
    states = index.prefix_states
    return without_short(
        Matches(
            file, content.hexdigest(), index.digest, min_length, n_tokens, n_words,
            lengths[states], frequencies[states],
        )
    )  # fmt: skip


@njit(cache=True)
def _word(codes, place):
    """Return the four codes from `place` on as one uint64. The compiler turns it into one load."""
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
    """Return whether the k-gram at `place` may occur in a passage. False is certain."""
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


def _gram_bitmap(index: PassageIndex, size: int) -> np.ndarray:
    """Return the set of hashes of all sequences of `size` codes in passages, as bits of uint8."""
    wanted = int(np.ceil(np.log2(32 * len(index.tokens) + 1)))
    bits = min(MAX_BITMAP_BITS[size], max(10, wanted))
    bitmap = np.zeros(2 ** (bits - 3), dtype=np.uint8)
    _set_bits(bitmap, index.encode(index.tokens), index.offsets, size, 64 - bits)
    return bitmap


@njit(cache=True)
def _checksum(codes):
    """Return a 64-bit checksum of codes that depends on their order (after Fletcher)."""
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
def _advance(tables, state, length, symbol):
    """Return state and length of the longest match after one more symbol.

    Tokens are dropped from the front of the match until the symbol can extend it.
    """
    if symbol == 0:
        return np.uint64(0), np.int64(0)
    while state != 0:
        target = find_target(tables.nodes, tables.slots, state, symbol)
        if target >= 0:
            return np.uint64(target), length + 1
        state = np.uint64(tables.nodes[state, 1])
        length = np.int64(tables.nodes[state, 0])
    return np.uint64(tables.root_targets[symbol]), np.int64(1)


@njit(cache=True)
def _count(counts, state, length):
    counts[state, 0] += 1
    if length > counts[state, 1]:
        counts[state, 1] = length
        counts[state, 2] = 1
    elif length == counts[state, 1]:
        counts[state, 2] += 1


@njit(cache=True)
def _scan_all(tables, pairs, triples, codes, offsets):
    """Count the longest match at every place of the documents.

    If the last two or three codes occur in no passage, the match is shorter than they are. Most
    places therefore need no walk along suffix links.
    """
    pair_shift, triple_shift = _shift_of(pairs), _shift_of(triples)
    for document in range(len(offsets) - 1):
        state, length = np.uint64(0), np.int64(0)
        before = np.uint64(0)
        for place in range(np.uint64(offsets[document]), np.uint64(offsets[document + 1])):
            symbol = np.uint64(tables.symbol_of_code[codes[place]])
            if length > 0 and symbol != 0:
                pair = np.uint64(codes[place - ONE]) | (np.uint64(codes[place]) << np.uint64(16))
                if not _is_set(pairs, pair, pair_shift):
                    state, length = np.uint64(0), np.int64(0)
                elif length > 1:
                    oldest = np.uint64(codes[place - np.uint64(2)])
                    if not _is_set(triples, oldest | (pair << np.uint64(16)), triple_shift):
                        state, length = np.uint64(tables.root_targets[before]), np.int64(1)
            state, length = _advance(tables, state, length, symbol)
            if length > 0:
                _count(tables.counts, state, length)
            before = symbol


@njit(cache=True)
def _scan_filtered(tables, bitmap, codes, offsets, min_length):
    """Count matches of at least `min_length` tokens, and skip places that cannot be in a match.

    Every match that starts in the `step` places from `start` on contains the k-gram at
    start + step - 1, and one of the two k-grams `side` places from it. If these occur in no
    passage, `start` moves on by `step`. Otherwise the automaton reads from `start` until its match
    is shorter than a k-gram. Later matches start no earlier than that one.
    """
    step = np.uint64(min_length - GRAM + 1)
    # Less than `step`, so that the k-gram before the first also lies in the document.
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
                symbol = np.uint64(tables.symbol_of_code[codes[place]])
                state, length = _advance(tables, state, length, symbol)
                if length >= min_length:
                    _count(tables.counts, state, length)
                place += ONE
            if place == end:
                break
            gram = place - np.uint64(length) + step - ONE


@njit(cache=True)
def _propagate(nodes, counts):
    """Return the length of each state's longest sequence in the corpus, and its frequency.

    If states that link to a state were visited, the state's longest sequence occurs. Its frequency
    is then the number of their visits and of its own visits in that length. Any other visited state
    has the greatest length of its visits, and an unvisited state has that of its suffix link.
    """
    n_states = len(nodes)
    below = np.zeros(n_states, np.int64)
    for state in range(n_states - 1, 0, -1):
        below[nodes[state, 1]] += below[state] + counts[state, 0]
    lengths = np.zeros(n_states, np.int32)
    frequencies = np.zeros(n_states, np.int64)
    for state in range(1, n_states):
        if below[state] > 0:
            lengths[state] = nodes[state, 0]
            frequencies[state] = below[state]
            if counts[state, 1] == nodes[state, 0]:
                frequencies[state] += counts[state, 2]
        elif counts[state, 0]:
            lengths[state] = counts[state, 1]
            frequencies[state] = counts[state, 2]
        else:
            link = nodes[state, 1]
            lengths[state] = lengths[link]
            frequencies[state] = frequencies[link]
    return lengths, frequencies
