"""Soft overlap: the longest match of a passage with a corpus, despite case, punctuation and gaps.

A word is a run of letters and digits, which may have apostrophes inside. A folded word has neither
apostrophes nor case, and is in Unicode's form NFKC (a ligature becomes its letters). "Don't --
STOP!" and "dont stop" have the same two folded words. Accents count, and "to-day" is two words.

A gap is a word that only one of the two texts has, or another word in its place. The search is
exact. A match of `min_words` words with up to `gaps` gaps consists of at most gaps + 1 runs of
equal words. One run therefore has at least `seed` words: min_words / (gaps + 1), rounded up. The
corpus is compared with a table of all sequences of `seed` words in passages. Each common run is
extended on both sides as far as the gaps allow.
"""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from lingprob.io.corpora import batches
from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.overlap.token_blocks import normalise

COLUMNS = ["overlap_words", "gaps", "first", "last"]
PLACES = ["document", "begin", "end"]  # the match's place in the corpus, in columns after COLUMNS
PASSAGE = ["searched", "corpus", "passage_id"]
BASE = np.uint64(0x9E3779B97F4A7C15)  # odd base of the polynomial that hashes sequences of words
WORD = re.compile(r"[^\W_]+(?:['\u2019\u02bc][^\W_]+)*")


class SoftIndex(NamedTuple):
    """The folded words of passages and their sequences of `seed` words.

    codes: number of each word (from 1), the passages one after another, int64 (n_words,).
    offsets: passage i is codes[offsets[i]:offsets[i + 1]], int64 (n_passages + 1,).
    hashes, places: hash and first word of each sequence, by rising hash, uint64 and int64.
    seed: smallest number of words of the longest run of a match.
    min_words, gaps: smallest number of words and largest number of gaps of a match.
    """

    codes: np.ndarray
    offsets: np.ndarray
    hashes: np.ndarray
    places: np.ndarray
    seed: int
    min_words: int
    gaps: int


def folded_words(text: str) -> list[str]:
    """Return the folded words of a text in order."""
    return [_fold(word) for word in WORD.findall(_compatible(text))]


@lru_cache(maxsize=2**18)
def _fold(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))


def quotation(text: str, first: int, last: int) -> str:
    """Return the part of a text between two folded words (numbers from 0), with single spaces."""
    compatible = _compatible(text)
    places = list(islice(WORD.finditer(compatible), first, last + 1))
    return normalise(compatible[places[0].start() : places[-1].end()])


def _compatible(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _build_index(
    passages: Sequence[Sequence[str]], min_words: int, gaps: int
) -> tuple[SoftIndex, dict[str, int]]:
    """Return an index of passages (lists of folded words), and the number of each word, from 1.

    It is for matches of `min_words` words with up to `gaps` gaps.
    """
    vocabulary: dict[str, int] = {}
    for word in chain.from_iterable(passages):
        vocabulary.setdefault(word, len(vocabulary) + 1)
    codes, offsets = _encoded(passages, vocabulary)
    seed = -(-min_words // (gaps + 1))
    hashes = _hashes(codes, offsets, seed)
    places = np.flatnonzero(hashes)
    places = places[np.argsort(hashes[places], kind="stable")]
    return SoftIndex(codes, offsets, hashes[places], places, seed, min_words, gaps), vocabulary


def _encoded(
    texts: Sequence[Sequence[str]], vocabulary: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the folded words of all texts, and the offsets of the texts in them."""
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    numbers = (vocabulary.get(word, 0) for word in chain.from_iterable(texts))
    return np.fromiter(numbers, np.int64, offsets[-1]), offsets


def find_soft_overlaps(
    passages: Sequence[Sequence[str]],
    documents: Iterable[str],
    *,
    min_words: int,
    gaps: int,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return each passage's longest match with documents, apart from case, punctuation and gaps.

    `passages` are lists of folded words. No match extends over two documents. It has at least
    `min_words` words, without its gaps, and at most `gaps` gaps.

    Returns:
        Columns passage (number), overlap_words (in common), gaps, first and last (numbers of the
        overlap's first and last folded word in the passage, from 0) and overlap_text (from the
        corpus). Among overlaps with the most words, the one with the fewest gaps is chosen, and
        then the first in the corpus. A passage without a match has no row.
    """
    index, vocabulary = _build_index(passages, min_words, gaps)
    best = np.zeros((len(passages), len(COLUMNS) + len(PLACES)), dtype=np.int64)
    texts = [""] * len(best)
    for batch in batches(documents):
        corpus, offsets = _encoded([folded_words(text) for text in batch], vocabulary)
        before = best[:, :2].copy()
        _find(index, corpus, offsets, best)
        for passage in np.flatnonzero((best[:, :2] != before).any(axis=1)):
            document, begin, end = best[passage, len(COLUMNS) :].tolist()
            texts[passage] = quotation(batch[document], begin, end)
        if progress is not None:
            progress.advance(len(corpus))
    found = pd.DataFrame(best[:, : len(COLUMNS)], columns=COLUMNS)
    found.insert(0, "passage", np.arange(len(best)))
    return found.assign(overlap_text=texts)[best[:, 0] > 0].reset_index(drop=True)


@njit(cache=True)
def _hashes(codes, offsets, size):
    """Return an odd hash of the `size` words that begin at each place.

    It is 0 if the text has fewer words there, or if one of the words occurs in no passage.
    """
    hashes = np.zeros(len(codes), np.uint64)
    oldest = np.uint64(1)
    for _ in range(size):
        oldest *= BASE
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
def _find(index, corpus, documents, best):
    """Replace rows of `best`, one per passage, by better overlaps with a batch of documents."""
    left, right = np.empty((2, index.gaps + 1, 3), np.int64)
    of_corpus = _hashes(corpus, documents, index.seed)
    for document in range(len(documents) - 1):
        begin, end = documents[document], documents[document + 1]
        for place in range(begin, end):
            if of_corpus[place] == 0:
                continue
            number = np.searchsorted(index.hashes, of_corpus[place])
            while number < len(index.hashes) and index.hashes[number] == of_corpus[place]:
                start = index.places[number]
                number += 1
                passage = np.searchsorted(index.offsets, start, side="right") - 1
                low, high = index.offsets[passage], index.offsets[passage + 1]
                if start > low and place > begin and index.codes[start - 1] == corpus[place - 1]:
                    continue  # the run was extended from its beginning
                _extend(index.codes, start, high, corpus, place, end, right)
                if right[0, 0] < index.seed:
                    continue  # other words with the same hash
                _extend(index.codes, start - 1, low - 1, corpus, place - 1, begin - 1, left)
                _keep_best(best[passage], left, right, index.min_words, low, document, begin)


@njit(cache=True)
def _extend(codes, i, i_stop, corpus, j, j_stop, ends):
    """Write into `ends`, for each number of gaps, the most words that match, and their two ends.

    The words are read from i in the passage and j in the corpus up to `i_stop` and `j_stop`, or
    down to them if they are lower. Equal words always match, because no other alignment has more
    words in common. The only choice is the kind of gap that follows a run. -1 words means that this
    number of gaps is useless.
    """
    step = 1 if i_stop > i else -1
    states = np.empty((2, 3 ** (len(ends) - 1), 3), np.int64)
    states[0, 0] = 0, i, j
    count = 1
    for used in range(len(ends)):
        ends[used] = -1, i, j
        following = 0
        for number in range(count):
            words, x, y = states[used % 2, number]
            while x != i_stop and y != j_stop and codes[x] == corpus[y]:
                words, x, y = words + 1, x + step, y + step
            if words > ends[used, 0]:
                ends[used] = words, x, y
            if x == i_stop or y == j_stop or used == len(ends) - 1:
                continue  # no word is left to match, or no gap
            for i_moves, j_moves in ((1, 1), (1, 0), (0, 1)):
                states[(used + 1) % 2, following] = words, x + step * i_moves, y + step * j_moves
                following += 1
        count = following


@njit(cache=True)
def _keep_best(best, left, right, min_words, low, document, begin):
    """Replace a passage's best overlap by one with more words, or with as many and fewer gaps.

    `left` and `right` have the ends of the extensions to both sides (`_extend`). Places are counted
    from the beginning of the passage (`low`) and of the document (`begin`).
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


def soft_overlaps(
    texts: Mapping[str, pd.DataFrame],
    documents: Iterable[str],
    searched: str,
    *,
    min_words: int,
    gaps: int,
    scale: str,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return a `soft_overlap` table: each passage's longest soft overlap with documents.

    A passage without an overlap has 0 words, 0 gaps and a null place.

    `texts` has `words` tables by text, and `documents` those of the corpus `searched`, or of one of
    its files. Other arguments are those of `find_soft_overlaps`.
    """
    rows, passages, places = [], [], []
    for text, words in texts.items():
        for passage_id, part in words.groupby("passage_id", sort=False):
            folded = list(map(folded_words, part["word"]))
            passages.append(list(chain.from_iterable(folded)))
            places.append(np.repeat(part["word_index"].to_numpy(), list(map(len, folded))))
            rows.append((searched, text, passage_id, len(passages[-1])))
    found = find_soft_overlaps(
        passages, documents, min_words=min_words, gaps=gaps, progress=progress
    ).set_index("passage")
    table = pd.DataFrame(rows, columns=[*PASSAGE, "passage_words"]).join(found)
    for place in ("first", "last"):
        word = {number: places[number][at] for number, at in found[place].items()}
        table[f"{place}_word"] = pd.Series(word, dtype="Int64")
    table = table.fillna({"overlap_words": 0, "gaps": 0, "overlap_text": ""})
    table = table.astype({"overlap_words": int, "gaps": int}).assign(scale=scale)
    return table[SCHEMAS["soft_overlap"].names]


def longest_of_files(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the `soft_overlap` table of corpora from those of their files, in this order."""
    table = pd.concat(tables, ignore_index=True)
    ranked = table.sort_values(["overlap_words", "gaps"], ascending=[False, True], kind="stable")
    longest = ranked.drop_duplicates(PASSAGE).set_index(PASSAGE)
    order = pd.MultiIndex.from_frame(table[PASSAGE].drop_duplicates())
    return longest.loc[order].reset_index()[SCHEMAS["soft_overlap"].names]


def summarise_soft_overlaps(overlaps: pd.DataFrame) -> pd.DataFrame:
    """Return one row per searched corpus and text (column `corpus`), on the text's passages.

    `words` counts folded words, `overlapping` passages with an overlap, and `whole` passages with
    all words in one overlap. median_overlap and longest_overlap are in words.
    """
    words, least = overlaps["overlap_words"], overlaps["passage_words"].clip(lower=1)
    marked = overlaps.assign(overlapping=words > 0, whole=words == least)
    return (
        marked.groupby(["searched", "corpus"], sort=False)
        .agg(
            passages=("passage_id", "size"),
            words=("passage_words", "sum"),
            overlapping=("overlapping", "sum"),
            whole=("whole", "sum"),
            median_overlap=("overlap_words", "median"),
            longest_overlap=("overlap_words", "max"),
            scale=("scale", "first"),
        )
        .reset_index()
    )
