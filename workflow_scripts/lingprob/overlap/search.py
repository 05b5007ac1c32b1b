"""The longest overlap of each text with each corpus: its length, words and frequency."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from lingprob.io.schemas import SCHEMAS
from lingprob.models.tokenizer import Tokenizer, Tokens, encode, tokens_of
from lingprob.overlap.automaton import PassageIndex
from lingprob.overlap.corpora import Corpus, index_texts, search
from lingprob.overlap.matches import merge, passage_overlaps
from lingprob.overlap.token_blocks import normalise

# The character before a text in a document: none, or a space, which changes the first token.
VARIANTS = {"first": "", "within": " "}
OVERLAP = ["corpus", "overlap_tokens", "overlap_text", "last_token", "occurrences"]
SPAN = ["passage", "overlap_tokens", "last_token"]
COLUMNS = ["text_id", "text", "n_tokens", *OVERLAP, "whole_words", "corpus_words"]


def longest_overlaps(
    texts: pd.Series, corpora: Iterable[Corpus], tokenizer: Tokenizer, min_length: int
) -> pd.DataFrame:
    """Return the longest overlap of each text with each corpus, one row per text and corpus.

    An overlap is a sequence of at least `min_length` tokens that the text and the corpus share.
    Each text (not empty, indexed by text_id) is searched for in two forms, as at the start of a
    document and after a space, which changes the first token. The overlap with the largest share of
    the form's tokens is returned. Among equal shares it is the most frequent overlap.

    Returns:
        Columns text_id, text, n_tokens, corpus, overlap_tokens (0 without an overlap), overlap_text
        (as in the text), last_token (its number in the text from 0, or -1), occurrences (in the
        corpus), whole_words (the words that lie entirely within the overlap, as text), and
        corpus_words (number of words in the corpus, null if they were not counted).

    Raises LingprobError in the same cases as `search` and `merge`.
    """
    texts = texts.map(normalise)
    table = _overlaps(texts, corpora, tokenizer, min_length)
    forms = [space + text for space in VARIANTS.values() for text in texts]
    tokens = tokens_of(encode(tokenizer.tokenizer, forms, offsets=True))
    said = [
        _in_text(forms[number], tokens[number], n_tokens, last)
        for number, n_tokens, last in table[SPAN].itertuples(index=False)
    ]
    table["text"] = texts.loc[table.index]
    table["overlap_text"] = [overlap for _, overlap, _ in said]
    table["whole_words"] = [whole_words(*parts) for parts in said]
    return table.rename_axis("text_id").reset_index()[COLUMNS]


def find_sentences(
    texts: Mapping[str, pd.Series], corpora: Iterable[Corpus], tokenizer: Tokenizer
) -> pd.DataFrame:
    """Return the `audit_leakage` table: each sentence's longest overlap with each corpus.

    `texts` has the sentences of each data set by item id.
    """
    named = pd.concat(texts, names=["dataset", "item_id"])
    sentences = named.reset_index(drop=True).astype(str).map(normalise)
    best = _overlaps(sentences, corpora, tokenizer, 1)
    table = best.join(named.index.to_frame(index=False))
    return table.reset_index(drop=True)[SCHEMAS["audit_leakage"].names]


def whole_words(before: str, overlap: str, after: str) -> str:
    """Return the words that lie entirely within an overlap, given the text before and after it."""
    start, words = 0, overlap.split()
    end = len(words)
    if words and before and not before[-1].isspace() and not overlap[0].isspace():
        start = 1
    if words and after and not after[0].isspace() and not overlap[-1].isspace():
        end -= 1
    return " ".join(words[start:end])


def _overlaps(
    texts: pd.Series, corpora: Iterable[Corpus], tokenizer: Tokenizer, min_length: int
) -> pd.DataFrame:
    """Return each text's best overlap by corpus. Passages are both forms of each text."""
    variants = {name: space + texts for name, space in VARIANTS.items()}
    index, passages = index_texts(variants, tokenizer)
    parts = []
    for corpus in corpora:
        matches = merge(search(corpus, index, tokenizer, min_length))
        found = passage_overlaps(index, matches)
        found["text_id"] = passages["passage_id"].to_numpy()[found["passage"]]
        found["share"] = found["overlap_tokens"] / found["passage_tokens"]
        ranked = found.sort_values(["share", "frequency"], ascending=False, kind="stable")
        best = ranked.drop_duplicates("text_id").set_index("text_id").loc[texts.index]
        whole = _whole_texts(index, found).reindex(texts.index)
        best["frequency"] = whole.fillna(best["frequency"]).astype(np.int64)
        words = corpus.words or matches.n_words or None
        parts.append(best.assign(corpus=corpus.name, corpus_words=words))
    names = {"passage_tokens": "n_tokens", "frequency": "occurrences"}
    return pd.concat(parts).rename(columns=names)


def _whole_texts(index: PassageIndex, found: pd.DataFrame) -> pd.Series:
    """Return how often each text occurs as a whole, in both forms, by text_id.

    At the start of a document a text has other tokens than after a space, so occurrences of both
    forms are added. If one form is the end of the other, it also occurs wherever the other does.
    """
    whole = found[(found["overlap_tokens"] > 0) & (found["share"] == 1)]
    forms = whole.groupby("text_id", sort=False).agg(
        one=("passage", "min"), other=("passage", "max"),
        most=("frequency", "max"), total=("frequency", "sum"),
    )  # fmt: skip
    ids = [[index.passage(n).tolist() for n in pair] for pair in forms[["one", "other"]].to_numpy()]
    nested = [other[-len(one) :] == one or one[-len(other) :] == other for one, other in ids]
    return forms["most"].where(nested, forms["total"])


def _in_text(text: str, tokens: Tokens, n_tokens: int, last_token: int) -> tuple[str, str, str]:
    """Return the text before the overlap, the overlap, and the text after it.

    A character of which the overlap has some bytes only belongs to the text around it.
    """
    if not n_tokens:
        return "", "", text
    ends = [0, *tokens.char_end.tolist()]
    starts = [*tokens.char_start.tolist(), len(text)]
    first = last_token + 1 - n_tokens
    start = max(starts[first], ends[first])
    end = max(start, min(ends[last_token + 1], starts[last_token + 1]))
    return text[:start], text[start:end], text[end:]
