"""Word surprisal in bits from a language model's token log-probabilities (leakage, §3.1).

A token of a byte-level vocabulary brings the blank before its word along, so the tokens of a word
say where it begins but not where it ends. The correction moves the probability of the following
blank to the word that it ends: P(word) times P(a blank follows the word) over P(a blank follows
what precedes it) (Oh & Schuler 2024; Pimentel & Meister 2024).
"""

from __future__ import annotations

import hashlib
import json
import logging
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, unknown_name
from lingprob.io.files import atomic_path, require_identity
from lingprob.io.progress import Progress
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.scoring.engine import Scorer, worker_map

logger = logging.getLogger(__name__)

# How sentence-piece and byte-level vocabularies write a space. Passages hold no other white space,
# so a line break ends no word of theirs.
SPACES = ("Ġ", "▁", " ")
WINDOW = 2048  # tokens that a model sees at once (leakage, §3.1)
# What a window's tokens are: those with the one that is only predicted, or those that are fed.
WINDOWS = {"predicted": 0, "fed": 1}
TOKENS_PER_BATCH_OF_PASSAGES = 20_000
CONTEXTS = ("passage", "sentence")


@dataclass(frozen=True)
class ScoredPassage:
    """Log-probabilities (nats) of a passage's n tokens, and of a blank at n + 1 places.

    `blank[k]` is that of any token that begins with a blank in the place of token k, or, for
    k = n, after the last. A first token without a context has NaN in both.
    """

    logprob: np.ndarray
    blank: np.ndarray


def word_surprisals(
    lm: LanguageModel,
    words: pd.DataFrame,
    *,
    start_token: str,
    context: str = "passage",
    window: int = WINDOW,
    stride: int | None = None,
    window_counts: str = "predicted",
    tokens_per_batch: int | None = None,
    shard_directory: str | Path | None = None,
    identity: str = "",
    scorer: Scorer | None = None,
    workers: int = 1,
) -> pd.DataFrame:
    """Return a `surprisal` table: the surprisal of every word in bits, with and without correction.

    Args:
        lm: the language model.
        words: a `words` table.
        start_token: what precedes each passage, as in `LanguageModel.start_id`; after 'none' a
            passage's first token has no log-probability, nor its first word a surprisal.
        context: `passage` (the paper's) or `sentence`: what may precede a word.
        window: tokens that the model sees at once; at most its context window.
        stride: tokens from one window to the next (paper: half a window, so that the second half
            of a window is the context of what follows).
        window_counts: `predicted`: a window holds the tokens that are predicted in it, so that the
            first token after one has `window - stride` tokens of context (the paper's wording);
            `fed`: it holds those that the model is fed, and the last of them predicts the first
            token after it with the whole window as context (the public code of the authors).
        tokens_per_batch: padded tokens a forward pass.
        shard_directory: where finished passages are kept, for a killed job to go on.
        identity: what tells these weights and this code from any other, for those passages.
        scorer: one of this model that worked before, if any: it need not check the model again.
        workers: threads that score passages at once on a CPU.

    Raises LingprobError that names the passage and word where the tokens do not cover the text,
    and if no token of the vocabulary begins with a blank.
    """
    require_identity(shard_directory, identity)
    pieces = passages_of(words, context)
    texts = [piece.text for piece in pieces]
    if window_counts not in WINDOWS:
        raise unknown_name("window_counts", window_counts, WINDOWS, "(reading.window_counts)")
    tokens = lm.tokenize(texts)
    token_words = [
        token_word_index(piece.words, found, piece.name)
        for piece, found in zip(pieces, tokens, strict=True)
    ]
    check_vocabulary(lm.tokenizer, pieces, tokens)
    window = min(window, lm.context_window)
    scored = _score(
        scorer or Scorer(lm, tokens_per_batch), [found.ids for found in tokens],
        lm.start_id(start_token), blank_tokens(lm.tokenizer, lm.vocabulary_size),
        window + WINDOWS[window_counts], stride or window // 2, shard_directory,
        identity, workers,
    )  # fmt: skip
    rows = [
        _word_rows(len(piece.words), index, passage)
        for piece, index, passage in zip(pieces, token_words, scored, strict=True)
    ]
    table = pd.concat(rows, ignore_index=True)
    keys = pd.concat([piece.keys for piece in pieces], ignore_index=True)
    table = pd.concat([keys, table], axis=1)
    return words[["passage_id", "word_index"]].merge(table, on=["passage_id", "word_index"])


def sum_words(
    n_words: int, word_of_token: np.ndarray, passage: ScoredPassage
) -> tuple[np.ndarray, np.ndarray]:
    """Return the surprisals (bits) of a passage's words, corrected and uncorrected, (n_words,).

    The uncorrected ones sum to the passage's surprisal. The corrected ones sum to that of the
    passage and a following blank, less that of a blank at the very beginning, of which the first
    word takes no account: nothing precedes it.
    """
    first = np.searchsorted(word_of_token, np.arange(n_words))
    end = np.append(first[1:], len(word_of_token))
    uncorrected = np.bincount(word_of_token, weights=-passage.logprob, minlength=n_words)
    before = passage.blank[first].astype(np.float64)
    before[0] = 0.0
    corrected = uncorrected + before - passage.blank[end]
    return corrected / np.log(2), uncorrected / np.log(2)


def token_word_index(words: Sequence[str], tokens: Tokens, where: str) -> np.ndarray:
    """Return the word (from 0) of every token of the words joined by single blanks.

    A token belongs to the word of its last letter; one that is a blank alone, to the word after
    it. Raises LingprobError for a token that spans two words and a word that no token covers.
    """
    lengths = np.array([len(word) for word in words])
    ends = np.cumsum(lengths + 1) - 1
    last = np.maximum(tokens.char_end - 1, tokens.char_start)
    index = np.searchsorted(ends, last, side="right")
    spanning = np.searchsorted(ends, tokens.char_start, side="right") != index
    if spanning.any():
        after = words[int(index[spanning.argmax()])]
        raise LingprobError(
            f"{where}: a token spans the end of the word before {after!r}. This tokenizer's tokens "
            "cross blanks, so words have no surprisals of their own."
        )
    covered = np.zeros(int(ends[-1]) + 1, dtype=bool)
    for start, end in zip(tokens.char_start, tokens.char_end, strict=True):
        covered[start:end] = True
    letters = np.ones(len(covered), dtype=bool)
    letters[ends] = False
    missing = letters & ~covered
    text = " ".join(words)
    # A normaliser may have composed an accent with its letter.
    for at in np.flatnonzero(missing).tolist():
        missing[at] = not unicodedata.category(text[at]).startswith("M")
    if missing.any():
        place = int(missing.argmax())
        word = int(np.searchsorted(ends, place, side="right"))
        raise LingprobError(
            f"{where}, word {word} {words[word]!r}: no token covers its letter "
            f"{text[place]!r}. This model's tokenizer cannot cover the text."
        )
    return index


def check_vocabulary(tokenizer: Any, pieces: Sequence[Any], tokens: Sequence[Tokens]) -> None:
    """Raise LingprobError at the first word with a token that stands for anything unknown."""
    unknown = tokenizer.unk_token_id  # None, which no id is, where there is none
    for piece, found in zip(pieces, tokens, strict=True):
        if (found.ids == unknown).any():
            word = int(token_word_index(piece.words, found, piece.name)[found.ids == unknown][0])
            raise LingprobError(
                f"{piece.name}, word {word} {piece.words[word]!r}: the tokenizer has no token for "
                f"it but {tokenizer.unk_token!r}. Choose a model whose tokenizer covers the text."
            )


def blank_tokens(tokenizer: Any, vocabulary_size: int) -> np.ndarray:
    """Return the ids (int64) of the tokens that begin with a space.

    Raises LingprobError if there are none: then a word's tokens do say where it ends.
    """
    names = tokenizer.convert_ids_to_tokens(list(range(min(len(tokenizer), vocabulary_size))))
    special = set(tokenizer.all_special_ids)
    ids = [
        number
        for number, name in enumerate(names)
        if name and number not in special and name.startswith(SPACES)
    ]
    if not ids:
        raise LingprobError(
            "no token of the vocabulary begins with a blank, so the correction for trailing blanks "
            "has nothing to move. Import this model's word surprisals instead (source `scores`)."
        )
    return np.array(ids, dtype=np.int64)


def _word_rows(n_words: int, word_of_token: np.ndarray, passage: ScoredPassage) -> pd.DataFrame:
    corrected, uncorrected = sum_words(n_words, word_of_token, passage)
    return pd.DataFrame(
        {
            "surprisal": corrected,
            "surprisal_uncorrected": uncorrected,
            "n_tokens": np.bincount(word_of_token, minlength=n_words),
        }
    )


def _score(
    scorer: Scorer,
    sequences: Sequence[np.ndarray],
    start_id: int | None,
    blanks: np.ndarray,
    window: int,
    stride: int,
    shard_directory: str | Path | None,
    identity: str,
    workers: int,
) -> list[ScoredPassage]:
    """Score passages a batch at a time; a batch that is in `shard_directory` is read from there.

    A token after the last one, whichever, makes room for the blank after it: it is not fed.
    """
    settings = [identity, start_id, window, stride, str(scorer.language_model.dtype)]

    def scored(batch: list[np.ndarray]) -> list[np.ndarray]:
        path = Path(shard_directory or "", f"{digest_of(settings, batch)}.npz")
        values = _kept(path) if shard_directory is not None else None
        if values is None:
            padded = [np.append(ids, ids[-1]) for ids in batch]
            values = scorer.score(padded, start_id, window=window, stride=stride, members=blanks)
            if shard_directory is not None:
                named: dict[str, Any] = {f"{n:08d}": array for n, array in enumerate(values)}
                with atomic_path(path) as temporary:
                    np.savez(temporary, **named)
        return values

    found: list[ScoredPassage] = []
    batches = list(_batches(sequences))
    with (
        Progress(sum(map(len, sequences)), "word surprisal", "tokens") as progress,
        worker_map(scorer.language_model, workers) as mapping,
    ):
        for batch, values in zip(batches, mapping(scored, batches), strict=True):
            found += [ScoredPassage(array[:-1, 0], array[:, 1]) for array in values]
            progress.advance(sum(map(len, batch)))
    return found


def _kept(path: Path) -> list[np.ndarray] | None:
    """Return the arrays of a finished batch, or None if there are none or the file is damaged."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return [archive[name] for name in sorted(archive.files)]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        logger.warning("%s: damaged (%s), made again", path, error)
        return None


def _batches(sequences: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
    batch: list[np.ndarray] = []
    for ids in sequences:
        batch.append(ids)
        if sum(map(len, batch)) >= TOKENS_PER_BATCH_OF_PASSAGES:
            yield batch
            batch = []
    if batch:
        yield batch


@dataclass(frozen=True)
class Piece:
    """A stretch of a passage: its name for messages, its words, and their keys in the table."""

    name: str
    words: list[str]
    keys: pd.DataFrame

    @property
    def text(self) -> str:
        """The words joined by single blanks."""
        return " ".join(self.words)


def passages_of(words: pd.DataFrame, context: str) -> list[Piece]:
    """Cut a `words` table into the pieces that a model reads without knowing of the others.

    `context` is `passage` or `sentence`. Raises LingprobError for any other, and where sentences
    are asked for and not marked.
    """
    if context not in CONTEXTS:
        raise unknown_name("context", context, CONTEXTS, "(reading.context)")
    keys = ["passage_id"] if context == "passage" else ["passage_id", "sentence_index"]
    if words[keys].isna().any(axis=None):
        raise LingprobError("reading.context: sentence needs texts whose sentences are marked.")
    pieces = []
    for key, part in words.groupby(keys, sort=False):
        name = f"passage {key[0]!r}" + (f", sentence {key[1]}" if len(keys) > 1 else "")
        index = part[["passage_id", "word_index"]].reset_index(drop=True)
        pieces.append(Piece(name, part["word"].tolist(), index))
    return pieces


def digest_of(settings: Sequence[object], sequences: Sequence[np.ndarray]) -> str:
    """Return a digest of settings and token sequences, for the name of a file."""
    described = json.dumps([settings, [ids.tolist() for ids in sequences]])
    return hashlib.sha256(described.encode()).hexdigest()[:32]
