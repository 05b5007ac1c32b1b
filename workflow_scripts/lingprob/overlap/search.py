"""Longest overlaps of texts with corpora: how long, how often, and the place of the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.automaton import StimulusIndex, build_index
from lingprob.overlap.corpora import Corpus, index_texts, search
from lingprob.overlap.matches import Matches, longest_matches, merge, passage_overlaps
from lingprob.overlap.streaming import scan
from lingprob.overlap.token_blocks import TokenBlock, normalise

CONTEXT_TOKENS = 24
# A text within another follows a space, which changes its first token.
VARIANTS = {"first": "", "within": " "}
HALF_CHARACTER = "\ufffd"  # the decoded text of a token of some bytes of a character
OVERLAP = ["corpus", "overlap_tokens", "overlap_text", "last_token", "occurrences"]
PLACE = ["file", "document", "first_token", "before", "after"]
SPAN = ["passage", "overlap_tokens", "last_token"]
COLUMNS = ["text_id", "text", "n_tokens", *OVERLAP, *PLACE, "whole_words", "corpus_words"]


class Place(NamedTuple):
    """Document of a file (from 1), first token in it (from 0), and up to 24 tokens on each side."""

    document: int
    first_token: int
    before: np.ndarray
    after: np.ndarray


def longest_overlaps(
    texts: pd.Series, corpora: Iterable[Corpus], tokenizer: Tokenizer, min_length: int
) -> pd.DataFrame:
    """Return the longest overlap of each text with each corpus, one row per text and corpus.

    Each text is searched for as the first of a document and after a space. The overlap with the
    larger share of its tokens counts, and among equally long ones the most frequent.

    Args:
        texts: by text_id, none empty. Runs of white space count as one space.
        corpora, tokenizer: the tokenizer is that of texts and corpora.
        min_length: shortest overlaps that count, tokens.

    Returns:
        Columns text_id, text, n_tokens and corpus.
        overlap_tokens (0 without an overlap), overlap_text (as in the text), last_token (its
        number in the text from 0, or -1) and occurrences in the corpus.
        The place of the first of these: file, document (from 1, or 0), first_token (from 0 in
        the document, or -1), and the text before and after it.
        whole_words (those that lie whole in the overlap), and corpus_words (of the whole corpus,
        null if they were not counted).

    Raises LingprobError as `search`, `merge` and `first_places`.
    """
    texts = texts.map(normalise)
    index, passages = _index_variants(texts, tokenizer)
    parts = []
    for corpus in corpora:
        matches = search(corpus, index, tokenizer, min_length)
        whole = merge(matches)
        best = _best(index, passages, whole).loc[texts.index].assign(text=texts)
        best = best.assign(corpus=corpus.name, corpus_words=corpus.words or whole.n_words or None)
        places = _places(best, index, matches, corpus, tokenizer)
        parts.append(best.rename_axis("text_id").reset_index().join(places))
    table = pd.concat(parts, ignore_index=True)
    said = [
        _in_text(index.passage(number), n_tokens, last, tokenizer)
        for number, n_tokens, last in table[SPAN].itertuples(index=False)
    ]
    table["overlap_text"] = [overlap for _, overlap, _ in said]
    table["whole_words"] = [whole_words(*parts) for parts in said]
    return table[COLUMNS]


def find_sentences(
    texts: Mapping[str, pd.Series], corpora: Iterable[Corpus], tokenizer: Tokenizer
) -> pd.DataFrame:
    """Return the `audit_leakage` table: each sentence's longest overlap with each corpus.

    Sentences are searched for as texts are by `longest_overlaps`. `texts` has those of each data
    set by item id.
    """
    named = pd.concat(texts, names=["dataset", "item_id"])
    sentences = named.reset_index(drop=True).astype(str).map(normalise)
    index, passages = _index_variants(sentences, tokenizer)
    places = named.index.to_frame(index=False)
    parts = []
    for corpus in corpora:
        matches = merge(search(corpus, index, tokenizer, 1))
        best = _best(index, passages, matches).loc[sentences.index]
        parts.append(places.join(best).assign(corpus=corpus.name))
    return pd.concat(parts, ignore_index=True)[SCHEMAS["audit_leakage"].names]


def whole_words(before: str, overlap: str, after: str) -> str:
    """Return the words of an overlap without those that continue before or after it."""
    start, words = 0, overlap.split()
    end = len(words)
    if words and before and not before[-1].isspace() and not overlap[0].isspace():
        start = 1
    if words and after and not after[0].isspace() and not overlap[-1].isspace():
        end -= 1
    return " ".join(words[start:end])


def _index_variants(texts: pd.Series, tokenizer: Tokenizer) -> tuple[StimulusIndex, pd.DataFrame]:
    return index_texts({name: space + texts for name, space in VARIANTS.items()}, tokenizer)


def _best(index: StimulusIndex, passages: pd.DataFrame, matches: Matches) -> pd.DataFrame:
    """Return the overlap of each text that counts, of all ends of both of its passages."""
    found = passage_overlaps(index, matches)
    found["text_id"] = passages["passage_id"].to_numpy()[found["passage"]]
    found["share"] = found["overlap_tokens"] / found["passage_tokens"]
    ranked = found.sort_values(["share", "frequency"], ascending=False, kind="stable")
    named = {"passage_tokens": "n_tokens", "frequency": "occurrences"}
    return ranked.drop_duplicates("text_id").rename(columns=named).set_index("text_id")


def _places(
    best: pd.DataFrame,
    index: StimulusIndex,
    matches: Sequence[Matches],
    corpus: Corpus,
    tokenizer: Tokenizer,
) -> pd.DataFrame:
    """Return the first place of each row's overlap. Files are read only as far as needed."""
    ends = index.offsets[best["passage"]] + best["last_token"].to_numpy()
    lengths = best["overlap_tokens"].to_numpy()
    rows: list[tuple[str, int, int, str, str]] = [("", 0, -1, "", "")] * len(best)
    missing = lengths > 0
    for file, of_file in zip(corpus.files, matches, strict=True):
        here = np.flatnonzero(missing & (of_file.lengths[ends] == lengths))
        missing[here] = False
        sequences = [index.tokens[ends[row] + 1 - lengths[row] : ends[row] + 1] for row in here]
        places = first_places(
            sequences,
            file.blocks(tokenizer),
            file=file.name,
            vocabulary_size=index.vocabulary_size,
        )
        for row, place in zip(here, places, strict=True):
            around = _around(place, tokenizer)
            rows[row] = (file.name, place.document, place.first_token, *around)
    return pd.DataFrame(rows, columns=PLACE)


def _around(place: Place, tokenizer: Tokenizer) -> tuple[str, str]:
    """Return the text on both sides of a place, without words that are cut at the outer ends."""
    before, after = (tokenizer.decode(part.tolist()) for part in (place.before, place.after))
    if place.first_token > len(place.before):
        before = before[before.find(" ") + 1 :].lstrip(HALF_CHARACTER)
    if len(place.after) == CONTEXT_TOKENS and " " in after:
        after = after[: after.rfind(" ")]
    return before, after.rstrip(HALF_CHARACTER)


def _in_text(
    ids: np.ndarray, overlap_tokens: int, last_token: int, tokenizer: Tokenizer
) -> tuple[str, str, str]:
    """Return the text before the overlap, the overlap, and the text after it, or "" three times."""
    if not overlap_tokens:
        return "", "", ""
    first, end = last_token + 1 - overlap_tokens, last_token + 1
    before, overlap, after = (
        tokenizer.decode(part.tolist()) for part in (ids[:first], ids[first:end], ids[end:])
    )
    return before, overlap, after


def first_places(
    sequences: Sequence[np.ndarray],
    blocks: Iterable[TokenBlock],
    *,
    file: str,
    vocabulary_size: int,
) -> list[Place]:
    """Return the first place of each sequence in a file that has them all.

    Blocks are scanned for the sequences as a corpus is for passages, and compared token by token
    if one is whole. No more blocks are read than needed.

    Args:
        sequences: token ids, int64 (n,) each, possibly none.
        blocks: the file's token ids, whole documents in each block, without separators.
        file, vocabulary_size: name of the file, and number of ids of the tokenizer.

    Raises LingprobError if the file lacks one, because it has changed since the scan.
    """
    missing = {sequence.tobytes(): sequence for sequence in sequences}
    if not missing:
        return []
    found, n_documents = dict[bytes, Place](), 0
    index = build_index(
        list(missing.values()), tokenizer_hash=file, vocabulary_size=vocabulary_size
    )
    for block in blocks:
        content = block.tokens.tobytes()
        for key in [key for key in _whole_in(block, index) if key in missing]:
            found[key] = _place_in(block, content, missing.pop(key), n_documents)
        if not missing:
            return [found[sequence.tobytes()] for sequence in sequences]
        n_documents += len(block.offsets) - 1
    raise LingprobError(
        f"{file}: lacks a sequence that was found in it, so it has changed meanwhile. Run again "
        "when no program writes to it."
    )


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
    matched = longest_matches(index, result).lengths
    whole = np.flatnonzero(matched[index.offsets[1:] - 1] == lengths)
    return [index.passage(number).tobytes() for number in whole.tolist()]


def _place_in(block: TokenBlock, content: bytes, sequence: np.ndarray, n_documents: int) -> Place:
    """Return the first place of a sequence that a block has.

    `content` is the block's tokens as bytes, `n_documents` the number of documents before it.
    """
    tokens, offsets = block.tokens, block.offsets
    wanted, byte = sequence.astype(tokens.dtype).tobytes(), -1
    while True:
        byte = content.find(wanted, byte + 1)
        first, odd = divmod(byte, tokens.itemsize)
        last = first + len(sequence)
        document = int(np.searchsorted(offsets, first, side="right"))
        start, end = offsets[document - 1], offsets[document]
        if not odd and last <= end:  # between two tokens, and within one document
            break
    return Place(
        n_documents + document,
        int(first - start),
        tokens[max(start, first - CONTEXT_TOKENS) : first].astype(np.int64),
        tokens[last : min(end, last + CONTEXT_TOKENS)].astype(np.int64),
    )
