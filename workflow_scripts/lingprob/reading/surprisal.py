"""Word surprisal in bits from a language model's token log-probabilities (leakage, §3.1).

A token of a byte-level vocabulary contains the space before its word. So the tokens of a word mark
its beginning but not its end. The correction moves the probability of the following space to the
word before the space: P(word) times P(a space follows the word) divided by P(a space follows the
words before) (Oh & Schuler 2024, Pimentel & Meister 2024).
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.io.shards import NOWHERE, Shards
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.scoring.engine import Scorer, worker_map

logger = logging.getLogger(__name__)

UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"  # Thai to Chinese
# How byte-level and sentence-piece vocabularies write a space. Passages contain no other white
# space, so a line break ends no word.
OF_BYTES, OF_PIECES = "Ġ", "▁"
WINDOW = 2048  # tokens, of which the first half repeats the end of the window before
# Number of a window's tokens that are not predicted, for each value of `window_counts`.
WINDOWS = {"predicted": 0, "fed": 1}
TOKENS_PER_BATCH_OF_PASSAGES = 20_000
KEYS = ["passage_id", "word_index"]


class ScoredPassage(NamedTuple):
    """Log-probabilities (nats) of a passage's n tokens: `logprob` (n,) and `space` (n + 1,).

    `space[k]` is the log-probability that the token with index k is any token that begins with a
    space. Index n is the token after the last one. A first token without context has NaN in both.
    """

    logprob: np.ndarray
    space: np.ndarray


@dataclass(frozen=True)
class Piece:
    """A passage or sentence, which a model reads separately, with KEYS for each word.

    `glued`, bool of shape (n_words,), is true for words that follow the previous word without a
    space. `name` is for messages.
    """

    name: str
    words: list[str]
    keys: pd.DataFrame
    glued: np.ndarray


def word_surprisals(
    lm: LanguageModel,
    words: pd.DataFrame,
    *,
    start_token: str,
    context: str = "passage",
    window_counts: str = "predicted",
    scorer: Scorer | None = None,
    shards: Shards = NOWHERE,
    workers: int = 1,
) -> pd.DataFrame:
    """Return a `surprisal` table: the surprisal of every word in bits, with and without correction.

    Args:
        lm, scorer: the language model, and perhaps an existing Scorer of it.
        words: a `words` table, optionally with a column `glued` (see Piece).
        start_token: token before each passage, as in `LanguageModel.start_id`. With 'none' the
            first word of a passage has no surprisal.
        context: text that predicts a word: its `passage` (the paper's) or `sentence`.
        window_counts: which tokens WINDOW counts: those that the window predicts (`predicted`, the
            paper's wording), or the model's inputs (`fed`, the authors' public code).
        shards: store of finished batches, so that a killed job can resume.
        workers: number of threads that score batches at the same time on a CPU.

    Raises LingprobError that names the passage if the tokens do not cover the text, and if no token
    of the vocabulary begins with a space.
    """
    pieces = passages_of(words, context)
    texts = [join_words(piece.words, piece.glued) for piece in pieces]
    if any(re.search(f"{UNSPACED} {UNSPACED}", text) for text in texts):
        logger.warning(
            "Words are separated by spaces that their script does not write. Compute surprisals of "
            "`regions` with Model.surprisal, and import them instead."
        )
    tokens = lm.tokenize(texts)
    token_words = []
    for piece, text, found in zip(pieces, texts, tokens, strict=True):
        index = token_word_index(piece.words, found, piece.name, piece.glued)
        token_words.append(index)
        without = sorted({*range(len(piece.words))} - {*index.tolist()})
        if lost := lm.letters.lost(text, found) or [piece.words[number] for number in without]:
            raise LingprobError(
                f"{piece.name}: the tokenizer has no token for {lost[0]!r}. Choose a model whose "
                "tokenizer covers the text."
            )
    ids = [found.ids for found in tokens]
    scored = _score_passages(scorer or Scorer(lm), ids, start_token, window_counts, shards, workers)
    rows = [
        piece.keys.assign(**sum_words(index, passage, piece.glued))
        for piece, index, passage in zip(pieces, token_words, scored, strict=True)
    ]
    return words[KEYS].merge(pd.concat(rows, ignore_index=True), on=KEYS)


def join_words(words: Sequence[str], glued: np.ndarray) -> str:
    """Return the text of words, with a space before each word but the first and glued ones."""
    parts = [word if one else f" {word}" for word, one in zip(words, glued, strict=True)]
    return "".join(parts).removeprefix(" ")


def sum_words(
    word_of_token: np.ndarray, passage: ScoredPassage, glued: np.ndarray
) -> dict[str, np.ndarray]:
    """Return surprisal, surprisal_uncorrected (bits) and n_tokens of words, (n_words,) each.

    `word_of_token` (n,) has the index of each token's word, and `glued` is that of Piece. The
    uncorrected surprisals sum to the surprisal of the passage, and the corrected ones to that of
    the passage and a following space. No correction is made for a space before the first word, or
    between a word and a `glued` one.
    """
    n_words = len(glued)
    first = np.searchsorted(word_of_token, np.arange(n_words))
    end = np.append(first[1:], len(word_of_token))
    uncorrected = np.bincount(word_of_token, weights=-passage.logprob, minlength=n_words)
    before = passage.space[first].astype(np.float64)
    after = passage.space[end].astype(np.float64)
    before[0] = 0.0
    before[glued] = 0.0
    after[:-1][glued[1:]] = 0.0
    corrected = uncorrected + before - after
    return {
        "surprisal": corrected / np.log(2),
        "surprisal_uncorrected": uncorrected / np.log(2),
        "n_tokens": np.bincount(word_of_token, minlength=n_words),
    }


def token_word_index(
    words: Sequence[str], tokens: Tokens, where: str, glued: np.ndarray
) -> np.ndarray:
    """Return the index (int, from 0) of the word of every token of `join_words`, shape (n_tokens,).

    A token belongs to the word of its last letter. A token that is only a space belongs to the word
    after it. Raises LingprobError for a token that spans two words. `where` begins its message.
    """
    lengths = np.array([len(word) for word in words])
    gaps = np.append(~glued[1:], True).astype(np.int64)
    ends = np.cumsum(lengths + gaps) - gaps
    last = np.maximum(tokens.char_end - 1, tokens.char_start)
    index = np.searchsorted(ends, last, side="right")
    spanning = np.searchsorted(ends, tokens.char_start, side="right") != index
    if spanning.any():
        at = int(index[spanning.argmax()])
        raise LingprobError(
            f"{where}: a token spans {words[at - 1]!r} and {words[at]!r}. Join them to one region, "
            "or choose a model whose tokens end there."
        )
    return index


def space_tokens(tokenizer: Any, vocabulary_size: int) -> np.ndarray:
    """Return the ids (int64) of tokens that begin with a space. Raise LingprobError without any."""
    names = tokenizer.convert_ids_to_tokens(list(range(min(len(tokenizer), vocabulary_size))))
    special = set(tokenizer.all_special_ids)
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    rules = str([parts[name] for name in ("normalizer", "pre_tokenizer", "decoder")])
    # Other vocabularies can have these signs as letters, such as the Maltese Ġ.
    sign = OF_BYTES if "'ByteLevel'" in rules else OF_PIECES if OF_PIECES in rules else " "
    ids = [
        number
        for number, name in enumerate(names)
        if name and number not in special and name.startswith((sign, " "))
    ]
    if not ids:
        raise LingprobError(
            "no token of the vocabulary begins with a space, which the correction needs. "
            "Import this model's word surprisals instead (source `scores`)."
        )
    return np.array(ids, dtype=np.int64)


def _score_passages(
    scorer: Scorer,
    sequences: Sequence[np.ndarray],
    start_token: str,
    window_counts: str,
    shards: Shards,
    workers: int,
) -> list[ScoredPassage]:
    """Return the log-probabilities of sequences of token ids (n,), from batches that are saved."""
    lm = scorer.language_model
    start_id, window = lm.start_id(start_token), min(WINDOW, lm.context_window)
    spaces = space_tokens(lm.tokenizer, lm.vocabulary_size)
    options: dict[str, Any] = {
        "window": window + WINDOWS[window_counts], "stride": window // 2
    }  # fmt: skip
    digest = hashlib.sha256(spaces.tobytes()).hexdigest()

    def score(batch: list[np.ndarray]) -> pa.Table:
        """Return `logprob` and `space` of a batch, with n + 1 rows for a passage of n tokens."""
        described = [start_id, options, digest, str(lm.dtype), [ids.tolist() for ids in batch]]
        if (kept := shards.read(described)) is not None:
            return kept
        padded = [np.append(ids, ids[-1]) for ids in batch]  # for the space after the last token
        both = np.concatenate(scorer.score(padded, start_id, members=spaces, **options))
        table = pa.table(dict(zip(ScoredPassage._fields, both.T.copy(), strict=True)))
        shards.write(described, table)
        return table

    found: list[ScoredPassage] = []
    batches = list(_batches(sequences))
    with (
        Progress(sum(map(len, sequences)), "word surprisal", "tokens") as progress,
        worker_map(lm, workers) as mapping,
    ):
        for batch, table in zip(batches, mapping(score, batches), strict=True):
            values = [table[name].to_numpy() for name in ScoredPassage._fields]
            ends = np.cumsum([len(ids) + 1 for ids in batch])[:-1]
            columns = zip(*(np.split(column, ends) for column in values), strict=True)
            found += [ScoredPassage(logprob[:-1], space) for logprob, space in columns]
            progress.advance(sum(map(len, batch)))
    return found


def _batches(sequences: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """Yield lists of sequences, each with at least TOKENS_PER_BATCH_OF_PASSAGES tokens."""
    batch: list[np.ndarray] = []
    for ids in sequences:
        batch.append(ids)
        if sum(map(len, batch)) >= TOKENS_PER_BATCH_OF_PASSAGES:
            yield batch
            batch = []
    if batch:
        yield batch


def passages_of(words: pd.DataFrame, context: str) -> list[Piece]:
    """Cut a `words` table into passages or sentences (`context`).

    Raises LingprobError if no sentences are marked.
    """
    keys = ["passage_id"] if context == "passage" else ["passage_id", "sentence_index"]
    if words[keys].isna().any(axis=None):
        raise LingprobError("reading.context: sentence needs texts whose sentences are marked.")
    pieces = []
    for key, part in words.groupby(keys, sort=False):
        name = f"passage {key[0]!r}" + (f", sentence {key[1]}" if len(keys) > 1 else "")
        glued = part.get("glued", pd.Series(False, part.index)).to_numpy(dtype=bool)
        pieces.append(Piece(name, part["word"].tolist(), part[KEYS], glued))
    return pieces
