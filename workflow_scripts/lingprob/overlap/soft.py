"""Soft overlap: the longest match of a passage with a corpus but for case, punctuation and gaps.

A word is a run of letters and digits, and apostrophes between two of these are part of it. Folding
takes the apostrophes out and the case off, and makes compatible characters one (Unicode's NFKC: a
ligature is its letters). "Don't -- STOP!" and "dont stop" are the same two words; accents and
spellings count, and "to-day" is two words.

Both are folded words. A gap is a word that stands in one of the two
alone, or another word in its place. Exact all the same: matches of `min_words` words with up to
`gaps` gaps are gaps + 1 runs of equal words at most, so that one run has `seed` words or more, the
quotient rounded up. The corpus streams by a table of the passages' sequences of so many words, and
every run that it shares with a passage is extended to both sides as far as the gaps allow.
"""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice

import numpy as np
import pandas as pd
from numba import njit

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches
from lingprob.io.progress import Progress
from lingprob.overlap.token_blocks import normalise

MOST_GAPS = 3  # each is a substitution, a deletion or an insertion: 27 ways of three
CHARACTERS_PER_BATCH = 2**20
COLUMNS = ["overlap_words", "gaps", "first", "last"]
PLACES = ["document", "begin", "end"]  # of the match in the corpus, in the columns after these
BASE = np.uint64(0x9E3779B97F4A7C15)  # of the polynomial that hashes sequences; odd
WORD = re.compile(r"[^\W_]+(?:['\u2019\u02bc][^\W_]+)*")


@dataclass(frozen=True, eq=False)
class SoftIndex:
    """The folded words of passages, ready to be looked for; made by `build_soft_index`.

    codes: number of each word, from 1, the passages one after another, int64 (n_words,).
    offsets: passage i is codes[offsets[i]:offsets[i + 1]], int64 (n_passages + 1,).
    passage_of: the passage of each word, int64 (n_words,).
    vocabulary: the number of each folded word; all others are 0, which no passage has.
    min_words, gaps: words that a match has at least, and gaps at most.
    hashes, places: of the passages' sequences of `seed` words, by rising hash, uint64 and int64.
    bitmap: a bit for each value of the lowest bits of a hash, uint8.
    """

    codes: np.ndarray
    offsets: np.ndarray
    passage_of: np.ndarray
    vocabulary: dict[str, int]
    min_words: int
    gaps: int
    hashes: np.ndarray
    places: np.ndarray
    bitmap: np.ndarray

    @property
    def seed(self) -> int:
        """Words of the longest run that every match has at least."""
        return seed_words(self.min_words, self.gaps)

    def encode(self, words: Iterable[str]) -> list[int]:
        """Return the numbers of folded words."""
        return [self.vocabulary.get(word, 0) for word in words]


def folded_words(text: str) -> list[str]:
    """Return the folded words of a text, in order."""
    return [fold(word) for word in WORD.findall(_compatible(text))]


@lru_cache(maxsize=2**18)
def fold(word: str) -> str:
    """Return a word's letters and digits without case."""
    return "".join(filter(str.isalnum, word.casefold()))


def quotation(text: str, first: int, last: int) -> str:
    """Return a text from one folded word, counted from 0, to another, as it is printed.

    Runs of white space are one blank.
    """
    compatible = _compatible(text)
    places = list(islice(WORD.finditer(compatible), first, last + 1))
    return normalise(compatible[places[0].start() : places[-1].end()])


def _compatible(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def seed_words(min_words: int, gaps: int) -> int:
    """Return how many words the longest run of a match has at least: min_words / (gaps + 1)."""
    return -(-min_words // (gaps + 1))


def build_soft_index(passages: Sequence[Sequence[str]], min_words: int, gaps: int) -> SoftIndex:
    """Index passages for matches of `min_words` words at least with up to `gaps` gaps.

    Args:
        passages: folded words of each, possibly none.
        min_words: words that a match has in common, gaps not counted; 1 or more.
        gaps: from 0 to 3.

    Raises LingprobError if there are no passages or a number is out of range.
    """
    if not passages:
        raise LingprobError("there are no passages to look for. Check overlap.texts.")
    if min_words < 1 or not 0 <= gaps <= MOST_GAPS:
        raise LingprobError(
            f"overlap.soft_min_words is {min_words}, with {gaps} gaps; a match has 1 word or more, "
            f"and 0 to {MOST_GAPS} gaps."
        )
    vocabulary: dict[str, int] = {}
    for word in chain.from_iterable(passages):
        vocabulary.setdefault(word, len(vocabulary) + 1)
    lengths = [len(passage) for passage in passages]
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    codes = np.array([vocabulary[word] for passage in passages for word in passage], dtype=np.int64)
    hashes = _hashes(codes, offsets, seed_words(min_words, gaps))
    places = np.flatnonzero(hashes)
    places = places[np.argsort(hashes[places], kind="stable")]
    bits = max(10, int(np.ceil(np.log2(32 * len(places) + 1))))
    return SoftIndex(
        codes,
        offsets,
        np.repeat(np.arange(len(passages)), lengths),
        vocabulary,
        min_words,
        gaps,
        hashes[places],
        places,
        _bitmap(hashes[places], np.uint64(2**bits - 1)),
    )


def find_soft_overlaps(
    index: SoftIndex, documents: Iterable[str], progress: Progress | None = None
) -> pd.DataFrame:
    """Stream documents past the passages; return each passage's longest soft overlap.

    Args:
        index: the passages.
        documents: texts, which no match leaves.
        progress: advanced by the number of words.

    Returns:
        Columns passage (number), overlap_words (that both have), gaps, first and last (place of the
        overlap in the passage, in folded words from 0), overlap_text (the corpus's). Of several
        overlaps with the most words the one with the fewest gaps, and of these the first in the
        corpus. A passage without an overlap of `min_words` words has no row.
    """
    best = np.zeros((len(index.offsets) - 1, len(COLUMNS) + len(PLACES)), dtype=np.int64)
    texts = [""] * len(best)
    for batch in batches(documents, CHARACTERS_PER_BATCH):
        codes = [index.encode(folded_words(text)) for text in batch]
        offsets = np.cumsum([0, *map(len, codes)]).astype(np.int64)
        corpus = np.fromiter(chain.from_iterable(codes), np.int64, offsets[-1])
        before = best[:, :2].copy()
        _find(
            index.codes, index.offsets, index.passage_of, index.hashes, index.places, index.bitmap,
            corpus, offsets, index.seed, index.min_words, index.gaps, best,
        )  # fmt: skip
        for passage in np.flatnonzero((best[:, :2] != before).any(axis=1)):
            document, begin, end = best[passage, len(COLUMNS) :].tolist()
            texts[passage] = quotation(batch[document], begin, end)
        if progress is not None:
            progress.advance(len(corpus))
    found = pd.DataFrame(best[:, : len(COLUMNS)], columns=COLUMNS)
    found.insert(0, "passage", np.arange(len(best)))
    return found.assign(overlap_text=texts)[best[:, 0] > 0].reset_index(drop=True)


@njit(cache=True)
def _power(size):
    power = np.uint64(1)
    for _ in range(size):
        power *= BASE
    return power


@njit(cache=True)
def _hashes(codes, offsets, size):
    """Return a hash of the `size` words that begin at each place; 0 where a text has no so many.

    It is 0, too, where one of them is no passage's word. Others have their lowest bit set.
    """
    hashes = np.zeros(len(codes), np.uint64)
    oldest = _power(size)
    for text in range(len(offsets) - 1):
        rolling, known = np.uint64(0), 0
        for place in range(offsets[text], offsets[text + 1]):
            if codes[place] == 0:
                rolling, known = np.uint64(0), 0
                continue
            rolling = rolling * BASE + np.uint64(codes[place])
            known += 1
            if known > size:
                rolling -= oldest * np.uint64(codes[place - size])
            if known >= size:
                mixed = (rolling ^ (rolling >> np.uint64(29))) * BASE
                hashes[place - size + 1] = (mixed ^ (mixed >> np.uint64(32))) | np.uint64(1)
    return hashes


@njit(cache=True)
def _bit(hash_, mask):
    return (hash_ >> np.uint64(1)) & mask


@njit(cache=True)
def _bitmap(hashes, mask):
    bitmap = np.zeros(np.int64((mask + np.uint64(1)) >> np.uint64(3)), np.uint8)
    for hash_ in hashes:
        bit = _bit(hash_, mask)
        bitmap[bit >> np.uint64(3)] |= np.uint8(1) << np.uint8(bit & np.uint64(7))
    return bitmap


@njit(cache=True)
def _find(
    codes, offsets, passage_of, hashes, places, bitmap, corpus, documents, seed, min_words, gaps,
    best,
):  # fmt: skip
    """Improve `best`, a row a passage, by the overlaps with a batch of documents."""
    mask = np.uint64(8 * len(bitmap) - 1)
    states = np.empty((2, 27, 3), np.int64)
    left, right = np.empty((2, gaps + 1, 3), np.int64)
    of_corpus = _hashes(corpus, documents, seed)
    for document in range(len(documents) - 1):
        begin, end = documents[document], documents[document + 1]
        for place in range(begin, end):
            if of_corpus[place] == 0:
                continue
            bit = _bit(of_corpus[place], mask)
            if not (bitmap[bit >> np.uint64(3)] >> (bit & np.uint64(7))) & np.uint64(1):
                continue
            number = np.searchsorted(hashes, of_corpus[place])
            while number < len(hashes) and hashes[number] == of_corpus[place]:
                start = places[number]
                number += 1
                passage = passage_of[start]
                low, high = offsets[passage], offsets[passage + 1]
                if start > low and place > begin and codes[start - 1] == corpus[place - 1]:
                    continue  # the run was extended where it begins
                _extend(codes, start, high, corpus, place, end, 1, gaps, states, right)
                if right[0, 0] < seed:
                    continue  # other words with the same hash
                _extend(codes, start - 1, low - 1, corpus, place - 1, begin - 1, -1, gaps, states,
                        left)  # fmt: skip
                _keep_best(best[passage], left, right, min_words, low, document, begin)


@njit(cache=True)
def _extend(codes, i, i_stop, corpus, j, j_stop, step, gaps, states, ends):
    """Fill `ends`: by number of gaps the most words that match from i and j on, and where they end.

    Equal words always match: whatever is aligned otherwise has no more words in common. So all that
    can be chosen is which kind of gap follows a run. -1 words where so many gaps have no use.
    """
    states[0, 0] = 0, i, j
    count = 1
    for used in range(gaps + 1):
        ends[used] = -1, i, j
        following = 0
        for number in range(count):
            words, x, y = states[used % 2, number]
            while x != i_stop and y != j_stop and codes[x] == corpus[y]:
                words, x, y = words + 1, x + step, y + step
            if words > ends[used, 0]:
                ends[used] = words, x, y
            if x == i_stop or y == j_stop or used == gaps:
                continue  # no word is left to match, or no gap
            for i_moves, j_moves in ((1, 1), (1, 0), (0, 1)):
                states[(used + 1) % 2, following] = words, x + step * i_moves, y + step * j_moves
                following += 1
        count = following


@njit(cache=True)
def _keep_best(best, left, right, min_words, low, document, begin):
    """Replace the passage's overlap by one with more words, or as many with fewer gaps.

    Gaps that have no use, -1 words, lose to fewer gaps.
    """
    for used in range(len(left)):
        for before in range(used + 1):
            one, other = left[before], right[used - before]
            words = one[0] + other[0]
            if words < min_words or words < best[0] or (words == best[0] and used >= best[1]):
                continue
            best[0], best[1] = words, used
            best[2], best[3] = one[1] + 1 - low, other[1] - 1 - low
            best[4], best[5], best[6] = document, one[2] + 1 - begin, other[2] - 1 - begin
