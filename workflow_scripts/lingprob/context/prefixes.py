"""Join sentences to prefixes, find unrelated sentences, and count the tokens of prefixes."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths
from lingprob.io.text_units import split_lines

ENDS = (".", "?", "!", '."', '?"', '!"')
# Words of an unrelated sentence, tokenised as WikiText is.
WORDS = range(4, 61)
# Texts per call of a tokenizer, which keeps some hundred bytes per token.
TEXTS_AT_ONCE = 500
# Returns the token offsets (start, end) of each text under one tokenizer.
Tokenize = Callable[[Sequence[str]], list[np.ndarray]]


class Writing(NamedTuple):
    """A way to join sentences of a language: a function like `joined`, and the text in between."""

    joined: Callable[[Sequence[str]], tuple[str, list[int]]]
    separator: str


def joined(sentences: Sequence[str]) -> tuple[str, list[int]]:
    """Return sentences joined by periods and spaces, and the end of each, in characters.

    A sentence that ends in a period, question mark or exclamation mark gets none (context, §3).
    """
    closed = [sentence if sentence.endswith(ENDS) else f"{sentence}." for sentence in sentences]
    ends = np.cumsum([len(sentence) + 1 for sentence in closed]) - 1
    return " ".join(closed), [int(end) for end in ends]


ENGLISH = Writing(joined, " ")


def prefix_row(
    sentences: Sequence[str], source_ids: Sequence[str], writing: Writing = ENGLISH, **about: Any
) -> dict[str, Any]:
    """Return a row of a `context_prefixes` table.

    `source_ids` are the item ids of the sentences, or UNRELATED/NUMBER. `about` has the other
    columns. Optional ones are null unless given.
    """
    text, ends = writing.joined(sentences)
    row = dict.fromkeys(("suite", "source_suite", "perturbation", "similarity"))
    return {**row, **about, "text": text, "source_ids": list(source_ids), "char_ends": ends}


def control_sentences(control: str, entry: dict[str, Any]) -> list[str]:
    """Return the `unrelated_sentences` of the corpus `control` (context, §3), given its entry.

    Raises LingprobError if there are none.
    """
    documents = iter_documents(entry["parser"], dataset_paths(control, entry))
    if not (found := unrelated_sentences(documents)):
        raise LingprobError(
            f"corpus {control!r} has no whole sentence of 4 to 60 words to put before the pairs. "
            "Name another corpus in context.control."
        )
    return found


def unrelated_sentences(documents: Iterable[str]) -> list[str]:
    """Return the distinct sentences of documents, running text or WikiText, as natural text.

    A sentence ends at a `.`, `!` or `?` that is a separate word (WikiText) or precedes a capital.
    Left out are sentences with WikiText's marks for unknown words or headings, with unbalanced
    quotation marks or brackets, and with fewer than 4 or more than 60 words.
    """
    found: dict[str, None] = {}
    for document in documents:
        for line in split_lines(document):
            for part in re.split(r"(?<= [.!?])\s|(?<=\w[.!?])\s(?=[A-Z])", f"{line.strip()} "):
                is_paired = part.count('"') % 2 == 0 and part.count("(") == part.count(")")
                is_ended = part.rstrip().endswith((".", "!", "?"))
                is_marked = "<" in part or "=" in part
                if len(part.split()) in WORDS and is_paired and is_ended and not is_marked:
                    found[natural(part)] = None
    return list(found)


def natural(text: str) -> str:
    """Return WikiText without its spaces around punctuation, `@-@` and quotation marks."""
    text = re.sub(r" @([-.,])@ ", r"\1", text.strip())
    text = re.sub(r"\s+([,.;:!?%)\]]|'s\b|'t\b|'re\b|'ve\b|'d\b|'ll\b|')(?=\W|$)", r"\1", text)
    text = re.sub(r"([(\[$£])\s+", r"\1", text)
    # Quotation marks open and close in turn.
    pieces = re.split(r'\s*"\s*', text)
    for index in range(1, len(pieces)):
        after = "" if re.match(r"[,.;:!?)]|$", pieces[index]) else " "
        pieces[index] = f' "{pieces[index]}' if index % 2 else f'"{after}{pieces[index]}'
    return "".join(pieces).strip()


def count_tokens(prefixes: pd.DataFrame, tokenize: Tokenize) -> list[list[int]]:
    """Return, for each prefix, its number of tokens up to the end of each of its sentences."""
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
    """Return the index of a prefix's last sentence at each of `lengths` (tokens), by length.

    It is the last whole sentence within the length and the `room` (tokens). `n_tokens` is from
    `count_tokens`. Lengths without a whole sentence, or without one more than the length before,
    are left out.
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
    """Return the number of sentences that reach a length under every tokenizer, by prefix id."""
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
