"""Prefixes: their sentences, how these are joined, and how many tokens they have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths

ENDS = (".", "?", "!", '."', '?"', '!"')
# Words of an unrelated sentence, tokenised as WikiText is.
WORDS = range(4, 61)
# Texts that a tokenizer gets at a time: it keeps some hundred bytes of each token.
TEXTS_AT_ONCE = 500
# Returns the token offsets (start, end) of each text under one tokenizer.
Tokenize = Callable[[Sequence[str]], list[np.ndarray]]


class Writing(NamedTuple):
    """How a language joins sentences.

    `joined` returns the text of some sentences and the end of each in it, in characters.
    `separator` is put between two of them.
    """

    joined: Callable[[Sequence[str]], tuple[str, list[int]]]
    separator: str


def joined(sentences: Sequence[str]) -> tuple[str, list[int]]:
    """Join sentences with periods and spaces (context, §3).

    Return the text and the end of each sentence in it, in characters. A sentence with a period,
    question mark or exclamation mark at its end gets no other period.
    """
    closed = [sentence if sentence.endswith(ENDS) else f"{sentence}." for sentence in sentences]
    ends = np.cumsum([len(sentence) + 1 for sentence in closed]) - 1
    return " ".join(closed), [int(end) for end in ends]


ENGLISH = Writing(joined, " ")


def prefix_row(
    sentences: Sequence[str], source_ids: Sequence[str], writing: Writing = ENGLISH, **about: Any
) -> dict[str, Any]:
    """Return a row of a `context_prefixes` table.

    Args:
        sentences: the text of each sentence.
        source_ids: their ids in the stimuli, or in the control by their number.
        writing: how they are joined.
        about: the other columns. Optional ones are null unless given.
    """
    text, ends = writing.joined(sentences)
    row = dict.fromkeys(("suite", "source_suite", "perturbation", "similarity"))
    return {**row, **about, "text": text, "source_ids": list(source_ids), "char_ends": ends}


def control_sentences(control: str, entry: dict[str, Any]) -> list[str]:
    """Return the unrelated sentences of a corpus (context, §3), given its catalog entry.

    Raises LingprobError if it has none.
    """
    documents = iter_documents(entry["parser"], dataset_paths(control, entry))
    found = unrelated_sentences(documents)
    if not found:
        raise LingprobError(
            f"corpus {control!r} has no whole sentence of 4 to 60 words to put before the pairs. "
            "Name another corpus in context.control."
        )
    return found


def unrelated_sentences(documents: Iterable[str]) -> list[str]:
    """Return the sentences of running text or of WikiText, as natural text, each once.

    A sentence ends at a `.`, `!` or `?` that is a separate word (WikiText) or precedes a capital.
    Sentences with unknown words, unbalanced quotation marks or brackets, or fewer than 4 or more
    than 60 words, are left out.
    """
    found: dict[str, None] = {}
    for document in documents:
        for line in document.splitlines():
            for part in re.split(r"(?<= [.!?])\s|(?<=\w[.!?])\s(?=[A-Z])", f"{line.strip()} "):
                if len(part.split()) in WORDS and _whole(part):
                    found[natural(part)] = None
    return list(found)


def _whole(part: str) -> bool:
    return (
        part.count('"') % 2 == 0
        and part.count("(") == part.count(")")
        and not any(mark in part for mark in "<=")
        and part.rstrip().endswith((".", "!", "?"))
    )


def natural(text: str) -> str:
    """Undo WikiText's tokenisation: spaces around punctuation, `@-@` and quotation marks."""
    text = re.sub(r" @([-.,])@ ", r"\1", text.strip())
    text = re.sub(r"\s+([,.;:!?%)\]]|'s\b|'t\b|'re\b|'ve\b|'d\b|'ll\b|')(?=\W|$)", r"\1", text)
    text = re.sub(r"([(\[$£])\s+", r"\1", text)
    # Quotation marks open and close in turn.
    pieces = [piece.strip() for piece in re.split(r'\s*"\s*', text)]
    for index in range(1, len(pieces)):
        opening = index % 2 == 1
        before = " " if opening else ""
        after = "" if opening or re.match(r"[,.;:!?)]|$", pieces[index]) else " "
        pieces[index] = f'{before}"{after}{pieces[index]}'
    return "".join(pieces).strip()


def count_tokens(prefixes: pd.DataFrame, tokenize: Tokenize) -> list[list[int]]:
    """Return the number of tokens of each prefix up to the end of each of its sentences."""
    counts = []
    for first in range(0, len(prefixes), TEXTS_AT_ONCE):
        some = prefixes.iloc[first : first + TEXTS_AT_ONCE]
        offsets = tokenize(some["text"].tolist())
        counts += [
            np.searchsorted(spans[:, 0], ends).tolist()
            for spans, ends in zip(offsets, some["char_ends"], strict=True)
        ]
    return counts


def cuts(n_tokens: Sequence[int], lengths: Sequence[int], room: int) -> dict[int, int]:
    """Return the last sentence of a prefix at each length, by length in tokens.

    This gives the longest prefix of whole sentences within the length and the room (tokens).
    Lengths shorter than the first sentence are left out, as are those that add no sentence to the
    length before.
    """
    found: dict[int, int] = {}
    for length in sorted(lengths):
        last = int(np.searchsorted(n_tokens, min(length, room), side="right")) - 1
        if last >= 0 and last not in found.values():
            found[length] = last
    return found


def sentences_within(
    prefixes: pd.DataFrame, tokenizers: Iterable[Tokenize], length: int
) -> dict[str, int]:
    """Return by prefix id how many of its sentences reach a length under every tokenizer."""
    reached = [
        [int(np.searchsorted(counts, length)) + 1 for counts in count_tokens(prefixes, tokenize)]
        for tokenize in tokenizers
    ]
    most = [max(of_prefix) for of_prefix in zip(*reached, strict=True)]
    return dict(zip(prefixes["prefix_id"], most, strict=True))


def tokenizer_of(manifest: str | Path) -> Tokenize:
    """Return a prepared model's tokenizer as a function from texts to token offsets."""
    from lingprob.models.tokenizer import encode, open_tokenizer

    tokenizer = open_tokenizer(manifest).tokenizer

    def tokenize(texts: Sequence[str]) -> list[np.ndarray]:
        offsets = encode(tokenizer, texts, offsets=True)["offset_mapping"]
        return [np.asarray(spans).reshape(-1, 2) for spans in offsets]

    return tokenize
