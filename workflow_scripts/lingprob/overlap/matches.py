"""The longest matches of passages with a corpus, merged from those with each of its files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.overlap.automaton import PassageIndex


@dataclass(frozen=True, eq=False)
class Matches:
    """For each token of the passages, the longest match with one or several files that ends at it.

    name, digest: name of the file and digest of its tokens.
    index_digest: digest of the index of the passages.
    min_length: number of tokens of the shortest match that counts.
    n_tokens: number of tokens of the file.
    n_words: number of words of the file between white space, or 0 if they were not counted.
    lengths: number of tokens of each match, int32 (tokens of all passages,), 0 without a match.
    frequencies: number of occurrences of each match in the file, int64, of the same shape.
    """

    name: str
    digest: str
    index_digest: str
    min_length: int
    n_tokens: int
    n_words: int
    lengths: np.ndarray
    frequencies: np.ndarray


def without_short(matches: Matches) -> Matches:
    """Return the matches of at least `min_length` tokens."""
    counts = matches.lengths >= matches.min_length
    return replace(
        matches,
        lengths=np.where(counts, matches.lengths, 0).astype(np.int32),
        frequencies=np.where(counts, matches.frequencies, 0).astype(np.int64),
    )


def merge(parts: Sequence[Matches]) -> Matches:
    """Merge the longest matches with each file of a corpus into those with the whole corpus.

    Raises LingprobError for other passages or minimal lengths, or two files of the same tokens.
    """
    first = parts[0]
    lengths, frequencies = np.zeros_like(first.lengths), np.zeros_like(first.frequencies)
    names: dict[str, str] = {}
    for part in parts:
        if (part.index_digest, part.min_length) != (first.index_digest, first.min_length):
            raise LingprobError(
                f"files {first.name!r} and {part.name!r} were scanned for different passages or "
                f"minimal lengths ({first.min_length} and {part.min_length}). Delete the older one."
            )
        if part.n_tokens and part.digest in names:
            raise LingprobError(
                f"files {names[part.digest]!r} and {part.name!r} have the same tokens. Leave one "
                "of them out."
            )
        names[part.digest] = part.name
        as_long = (part.lengths == lengths) & (part.lengths > 0)
        longer = part.lengths > lengths
        frequencies = np.where(longer, 0, frequencies) + (longer | as_long) * part.frequencies
        lengths = np.maximum(lengths, part.lengths)
    words = [part.n_words for part in parts]
    return Matches(
        ", ".join(part.name for part in parts), " ".join(part.digest for part in parts),
        first.index_digest, first.min_length, sum(part.n_tokens for part in parts),
        sum(words) if all(words) else 0, lengths, frequencies,
    )  # fmt: skip


def passage_overlaps(index: PassageIndex, matches: Matches) -> pd.DataFrame:
    """Return the longest overlaps of each passage, one row per place at which such an overlap ends.

    Returns:
        Columns passage (its number), passage_tokens, overlap_tokens, last_token (the number of the
        overlap's last token in the passage, from 0) and frequency, all int64. A passage without an
        overlap has one row with 0 tokens and last_token -1.

    Raises LingprobError if the matches are of another index.
    """
    if matches.index_digest != index.digest:
        raise LingprobError("the overlaps are of other passages than the index. Delete the older.")
    lengths, frequencies = matches.lengths, matches.frequencies
    rows = []
    for passage, (start, end) in enumerate(zip(index.offsets, index.offsets[1:], strict=False)):
        longest = int(lengths[start:end].max(initial=0))
        places = np.flatnonzero(lengths[start:end] == longest) if longest else np.array([-1])
        for place in places.tolist():
            frequency = int(frequencies[start + place]) if longest else 0
            rows.append((passage, int(end - start), longest, place, frequency))
    columns = ["passage", "passage_tokens", "overlap_tokens", "last_token", "frequency"]
    return pd.DataFrame(rows, columns=columns).astype(np.int64)


def overlap_texts(
    index: PassageIndex, overlaps: pd.DataFrame, decode: Callable[[list[int]], str]
) -> list[str]:
    """Return the text of each row of `passage_overlaps`, "" without an overlap."""
    texts = []
    for row in overlaps.itertuples():
        last = int(index.offsets[row.passage]) + row.last_token
        ids = index.tokens[last + 1 - row.overlap_tokens : last + 1].tolist()
        texts.append(decode(ids) if row.overlap_tokens else "")
    return texts
