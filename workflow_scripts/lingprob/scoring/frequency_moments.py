"""Sums of tokens' log-probabilities in context by unigram log-probability (morcela, §5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches, iter_documents
from lingprob.io.progress import Progress
from lingprob.models.loading import LanguageModel
from lingprob.scoring.engine import Scorer, sliding_windows
from lingprob.stats.least_squares import SUMS, merge_sums, sum_tokens

CHARACTERS_PER_BATCH = 2**20
WINDOWS_PER_PIECE = 4
BATCHES_PER_CHUNK = 8


class Piece(NamedTuple):
    """Consecutive tokens of a document, of which those from `keep_from` on are regressed."""

    document: int
    ids: np.ndarray
    keep_from: int


def moments_of_shard(
    lm: LanguageModel,
    unigrams: pd.DataFrame,
    regressed: Mapping[str, Any],
    shard: int,
    shards: int,
    **options: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum tokens' log-probabilities over a shard of a corpus, after each of several start tokens.

    Args:
        lm: the language model.
        unigrams: a `unigrams` table of its vocabulary.
        regressed: `corpus` (a name), its `parser` and `paths`, `start_tokens` by name, and the
            greatest number of `tokens` in all shards and (`document_tokens`) in a document.
        shard, shards, options: as in `frequency_moments`.

    Returns both tables of `frequency_moments`, with a column `start_token`.
    """
    start_tokens = regressed["start_tokens"]
    tokens = len(start_tokens) * regressed["tokens"] // shards
    unigram_logprob = unigrams.sort_values("token_id")["logprob"].to_numpy()
    paths = [Path(path) for path in regressed["paths"]]
    tables: list[tuple[pd.DataFrame, pd.DataFrame]] = []
    with Progress(tokens, f"tokens of {regressed['corpus']}", "tokens") as progress:
        for name, start_token in start_tokens.items():
            binned, by_document = frequency_moments(
                lm,
                iter_documents(regressed["parser"], paths),
                unigram_logprob,
                max_tokens=regressed["tokens"],
                max_document_tokens=regressed["document_tokens"],
                start_token=start_token,
                shard=shard,
                shards=shards,
                progress=progress,
                **options,
            )
            tables.append((binned.assign(start_token=name), by_document.assign(start_token=name)))
    binned, by_document = (pd.concat(part, ignore_index=True) for part in zip(*tables, strict=True))
    return binned, by_document


def frequency_moments(
    lm: LanguageModel,
    documents: Iterable[str],
    unigram_logprob: np.ndarray,
    *,
    window: int = 2048,
    stride: int = 1024,
    max_tokens: int | None = None,
    max_document_tokens: int | None = None,
    start_token: str = "none",
    bins: int = 20,
    shard: int = 0,
    shards: int = 1,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum tokens' log-probabilities in context by their unigram log-probability.

    The first token of a document is only context, even if `start_token` precedes it. Documents are
    read, scored and dropped a few at a time.

    Args:
        lm: the language model.
        documents: texts of a corpus.
        unigram_logprob: unigram log-probabilities in nats, shape (V,), all finite.
        window: tokens of a sliding window, replaced by a smaller context window.
        stride: tokens from one window to the next, replaced by half a window unless smaller.
        max_tokens: number of regressed tokens after which to stop, even within a document.
        max_document_tokens: number of tokens after which a document is cut.
        start_token: 'none', or the token before each document as in `LanguageModel.start_id`.
        bins: number of bins of equal width over the unigram log-probabilities.
        shard, shards: number of this job, from 0, and of all jobs that share the tokens.
        progress: advanced by the number of regressed tokens.

    Returns:
        The sums that `frequency_slope` regresses: n_tokens, x (unigram log-probability), y
        (log-probability, nats), xx, xy and yy. The first table has one row per bin, from `bin_low`
        to `bin_high`. The second has one row per document of which this shard has tokens;
        `document` counts from 0.

    Raises LingprobError if `unigram_logprob` does not fit the model.
    """
    unigram_logprob = _checked(lm, unigram_logprob)
    edges = np.linspace(unigram_logprob.min(), unigram_logprob.max(), bins + 1)
    bin_of_token = np.clip(np.searchsorted(edges, unigram_logprob, side="right") - 1, 0, bins - 1)
    window = min(window, lm.context_window)
    stride = stride if stride < window else max(window // 2, 1)
    scorer, start_id = Scorer(lm), lm.start_id(start_token)
    pieces = (
        piece
        for number, ids in enumerate(
            _token_sequences(lm, documents, max_tokens, max_document_tokens)
        )
        for piece in _pieces(number, ids, start_id, window, stride)
    )
    # Without any token, both tables still have their columns, and the bins their rows.
    nothing = np.array([])
    empty = pd.DataFrame({"bin": np.arange(bins), "n_tokens": 0, **dict.fromkeys(SUMS, 0.0)})
    by_bin = [empty]
    by_document = [sum_tokens("document", nothing.astype(np.int64), nothing, nothing)]
    chunk_size = BATCHES_PER_CHUNK * scorer.tokens_per_batch
    share = islice(pieces, shard, None, shards)
    for chunk in batches(share, chunk_size, lambda piece: len(piece.ids)):
        logprobs = scorer.score([piece.ids for piece in chunk], None, window=window, stride=stride)
        ids = np.concatenate([piece.ids[piece.keep_from :] for piece in chunk])
        kept = [values[piece.keep_from :] for values, piece in zip(logprobs, chunk, strict=True)]
        values = np.concatenate(kept).astype(np.float64)
        pairs = (unigram_logprob[ids], values)
        by_bin.append(sum_tokens("bin", bin_of_token[ids], *pairs))
        documents_of = np.repeat([piece.document for piece in chunk], [len(one) for one in kept])
        by_document.append(sum_tokens("document", documents_of, *pairs))
        if progress is not None:
            progress.advance(len(ids))
    binned = merge_sums(by_bin, "bin").drop(columns="bin")
    binned.insert(0, "bin_low", edges[:-1])
    binned.insert(1, "bin_high", edges[1:])
    return binned, merge_sums(by_document, "document")


def _checked(lm: LanguageModel, unigram_logprob: np.ndarray) -> np.ndarray:
    unigram_logprob = np.asarray(unigram_logprob, dtype=np.float64)
    if unigram_logprob.shape != (lm.vocabulary_size,) or not np.isfinite(unigram_logprob).all():
        raise LingprobError(
            f"unigram log-probabilities of shape {unigram_logprob.shape}: {lm.directory} needs "
            f"{lm.vocabulary_size} finite ones. Make the unigrams with this model's tokenizer "
            "and vocabulary, and with smoothing."
        )
    return unigram_logprob


def _token_sequences(
    lm: LanguageModel,
    documents: Iterable[str],
    max_tokens: int | None,
    max_document_tokens: int | None,
) -> Iterator[np.ndarray]:
    """Tokenise documents until `max_tokens` tokens follow the first ones.

    Documents of a single token are left out.
    """
    left = np.inf if max_tokens is None else max_tokens
    longest = np.inf if max_document_tokens is None else max_document_tokens
    for texts in batches(documents, CHARACTERS_PER_BATCH):
        for tokens in lm.tokenize(texts):
            ids = tokens.ids[: int(min(left + 1, longest, len(tokens.ids)))]
            if len(ids) > 1:
                yield ids
                left -= len(ids) - 1
            if left <= 0:
                return


def _pieces(
    document: int, ids: np.ndarray, start_id: int | None, window: int, stride: int
) -> Iterator[Piece]:
    """Cut a document at the starts of windows, so that pieces have the windows of the whole.

    Each piece repeats the context of its first new token. The progress of a long document is
    therefore visible, and its memory does not grow.
    """
    ids = ids if start_id is None else np.concatenate([[start_id], ids])
    keep_from = 1 if start_id is None else 2
    for first in range(0, len(sliding_windows(len(ids), window, stride)), WINDOWS_PER_PIECE):
        start = first * stride
        end = start + (WINDOWS_PER_PIECE - 1) * stride + window
        yield Piece(document, ids[start:end], keep_from)
        keep_from = window - stride
