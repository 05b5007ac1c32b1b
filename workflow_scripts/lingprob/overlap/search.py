"""Texts' longest overlaps with corpora: how long, how often, and where each first stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.automaton import StimulusIndex, build_index
from lingprob.overlap.corpora import Corpus, Matches, search
from lingprob.overlap.passages import longest_matches, passage_overlaps
from lingprob.overlap.streaming import scan
from lingprob.overlap.texts import index_texts
from lingprob.overlap.token_blocks import TokenBlock, normalise

CONTEXT_TOKENS = 24
# A text within another follows a blank, and its first token is another one then.
VARIANTS = {"first": "", "within": " "}
HALF_CHARACTER = "\ufffd"  # what a token of some bytes of a character is decoded to
OVERLAP = ["corpus", "overlap_tokens", "overlap_text", "last_token", "occurrences"]
PLACE = ["file", "document", "first_token", "before", "after"]
SPAN = ["passage", "overlap_tokens", "last_token"]
COLUMNS = ["text_id", "text", "n_tokens", *OVERLAP, *PLACE, "whole_words", "corpus_words"]


@dataclass(frozen=True, eq=False)
class Place:
    """Where a sequence begins: in which `document` of a file (from 1) and at which token of it
    (`first_token`, from 0), with up to 24 tokens of the document `before` and `after` it."""

    document: int
    first_token: int
    before: np.ndarray
    after: np.ndarray


def longest_overlaps(
    texts: pd.Series, corpora: Iterable[Corpus], tokenizer: Tokenizer, min_length: int
) -> pd.DataFrame:
    """Return a row a text and corpus: the longest overlap of the two, and where it first stands.

    Args:
        texts: by text_id, none blank. Runs of white space are one blank, as in the corpora.
        corpora: to search.
        tokenizer: of texts and corpora.
        min_length: shortest overlaps that count, tokens.

    Returns:
        text_id; text; n_tokens; corpus; overlap_tokens (0 without one); overlap_text, as the text
        has it; last_token of it, from 0 in the text (-1 without one); occurrences in the corpus;
        of the first of these file, document (from 1 in the file; 0 without one), first_token
        (from 0 in the document; -1 without one) and what is before and after it there;
        whole_words, those that lie whole in the overlap; corpus_words, all of the corpus (null if
        they were not counted).

    A text is looked for as the first of a document and after a blank. The overlap with the larger
    share of its tokens counts, and of several of the same length the most frequent one.

    Raises LingprobError as `search` and `first_places`.
    """
    texts = texts.map(normalise)
    index, passages = _index_variants(texts, tokenizer)
    parts = []
    for corpus in corpora:
        matches = search(corpus, index, tokenizer, min_length)
        best = _best(index, passages, matches).loc[texts.index].assign(text=texts)
        best = best.assign(corpus=corpus.name, corpus_words=matches.n_words)
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

    Args:
        texts: sentences of each data set by item id.
        corpora: to search.
        tokenizer: of texts and corpora.

    Sentences are looked for as texts are by `longest_overlaps`.
    """
    named = pd.concat(texts, names=["dataset", "item_id"])
    sentences = named.reset_index(drop=True).astype(str).map(normalise)
    index, passages = _index_variants(sentences, tokenizer)
    places = named.index.to_frame(index=False)
    parts = []
    for corpus in corpora:
        best = _best(index, passages, search(corpus, index, tokenizer, 1)).loc[sentences.index]
        parts.append(places.join(best).assign(corpus=corpus.name))
    return pd.concat(parts, ignore_index=True)[SCHEMAS["audit_leakage"].names]


def _index_variants(texts: pd.Series, tokenizer: Tokenizer) -> tuple[StimulusIndex, pd.DataFrame]:
    return index_texts({name: blank + texts for name, blank in VARIANTS.items()}, tokenizer)


def whole_words(before: str, overlap: str, after: str) -> str:
    """Return the words of an overlap without those that go on in the text before or after it."""
    start, words = 0, overlap.split()
    end = len(words)
    if words and before and not before[-1].isspace() and not overlap[0].isspace():
        start = 1
    if words and after and not after[0].isspace() and not overlap[-1].isspace():
        end -= 1
    return " ".join(words[start:end])


def _best(index: StimulusIndex, passages: pd.DataFrame, matches: Matches) -> pd.DataFrame:
    """Return a row a text: of all ends of both of its passages the overlap that counts."""
    found = passage_overlaps(index, matches.lengths, matches.frequencies)
    found["text_id"] = passages["passage_id"].to_numpy()[found["passage"]]
    found["share"] = found["overlap_tokens"] / found["passage_tokens"]
    ranked = found.sort_values(["share", "frequency"], ascending=False, kind="stable")
    named = {"passage_tokens": "n_tokens", "frequency": "occurrences"}
    return ranked.drop_duplicates("text_id").rename(columns=named).set_index("text_id")


def _places(
    best: pd.DataFrame, index: StimulusIndex, matches: Matches, corpus: Corpus, tokenizer: Tokenizer
) -> pd.DataFrame:
    """Return the first place of each row's overlap; each file is read up to the last of its own."""
    ends = index.offsets[best["passage"]] + best["last_token"].to_numpy()
    lengths = best["overlap_tokens"].to_numpy()
    numbers = np.where(lengths > 0, matches.files[ends], -1)
    rows: list[tuple[str, int, int, str, str]] = [("", 0, -1, "", "")] * len(best)
    for number in np.unique(numbers[lengths > 0]).tolist():
        of_file, file = np.flatnonzero(numbers == number), corpus.files[number]
        sequences = [index.tokens[ends[row] + 1 - lengths[row] : ends[row] + 1] for row in of_file]
        places = first_places(
            sequences,
            file.blocks(tokenizer),
            file=file.name,
            vocabulary_size=index.vocabulary_size,
        )
        for row, place in zip(of_file, places, strict=True):
            around = _around(place, tokenizer)
            rows[row] = (file.name, place.document, place.first_token, *around)
    return pd.DataFrame(rows, columns=PLACE)


def _around(place: Place, tokenizer: Tokenizer) -> tuple[str, str]:
    """Return what precedes and follows a place, without words that are cut at the outer ends."""
    before, after = (tokenizer.decode(part.tolist()) for part in (place.before, place.after))
    if place.first_token > len(place.before):
        before = before[before.find(" ") + 1 :].lstrip(HALF_CHARACTER)
    if len(place.after) == CONTEXT_TOKENS and " " in after:
        after = after[: after.rfind(" ")]
    return before, after.rstrip(HALF_CHARACTER)


def _in_text(
    ids: np.ndarray, overlap_tokens: int, last_token: int, tokenizer: Tokenizer
) -> tuple[str, str, str]:
    """Return a text before its overlap, the overlap and what follows, "" for both without one."""
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
