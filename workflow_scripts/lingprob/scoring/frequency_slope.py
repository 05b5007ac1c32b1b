"""Tokens' log-probability in context regressed on their unigram log-probability (morcela, §5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from lingprob.corpora import batches
from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel
from lingprob.progress import Progress
from lingprob.scoring.engine import Scorer
from lingprob.scoring.windows import sliding_windows

CHARACTERS_PER_BATCH = 2**20
WINDOWS_PER_PIECE = 4
BATCHES_PER_CHUNK = 8


class Piece(NamedTuple):
    """Consecutive tokens of a document, of which those from `keep_from` on are regressed."""

    ids: np.ndarray
    keep_from: int


class Moments:
    """Counts, means and central second moments of pairs (x, y), in groups, one chunk at a time.

    Chan's update keeps them as accurate as two passes over all the data would.
    """

    def __init__(self, groups: int) -> None:
        self.n = np.zeros(groups, dtype=np.int64)
        self.mean_x, self.mean_y = np.zeros(groups), np.zeros(groups)
        self.sxx, self.sxy, self.syy = np.zeros(groups), np.zeros(groups), np.zeros(groups)

    def add(self, group: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Add pairs: `group` integers, `x` and `y` float64, all of shape (n,)."""
        chunk = Moments(len(self.n))
        chunk.n = np.bincount(group, minlength=len(self.n))
        divisor = np.maximum(chunk.n, 1)

        def summed(values: np.ndarray) -> np.ndarray:
            return np.bincount(group, weights=values, minlength=len(self.n))

        chunk.mean_x, chunk.mean_y = summed(x) / divisor, summed(y) / divisor
        dx, dy = x - chunk.mean_x[group], y - chunk.mean_y[group]
        chunk.sxx, chunk.sxy, chunk.syy = summed(dx * dx), summed(dx * dy), summed(dy * dy)
        self.merge(chunk)

    def merge(self, other: Moments) -> None:
        """Add the pairs of another set, group by group."""
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        weight = self.n * share
        self.sxx += other.sxx + weight * dx * dx
        self.sxy += other.sxy + weight * dx * dy
        self.syy += other.syy + weight * dy * dy
        self.mean_x += share * dx
        self.mean_y += share * dy
        self.n = n

    def pooled(self) -> Moments:
        """Return the moments of all groups taken together, as a single group."""
        whole = Moments(1)
        for group in range(len(self.n)):
            part = Moments(1)
            for name, value in vars(self).items():
                setattr(part, name, value[group : group + 1])
            whole.merge(part)
        return whole


def frequency_slope(
    lm: LanguageModel,
    documents: Iterable[str],
    unigram_logprob: np.ndarray,
    *,
    window: int = 2048,
    stride: int = 1024,
    max_tokens: int | None = None,
    start_token: str = "none",
    bins: int = 20,
    progress: Progress | None = None,
) -> tuple[dict[str, float], pd.DataFrame]:
    """Regress tokens' log-probability in context on their unigram log-probability (morcela, §5).

    The first token of a document is context only, also where `start_token` precedes it. Documents
    are read, scored and forgotten a few at a time.

    Args:
        lm: the language model.
        documents: texts of a corpus.
        unigram_logprob: unigram log-probabilities in nats, shape (V,), all finite.
        window: tokens of a sliding window, at most; a smaller context window takes its place.
        stride: tokens from one window to the next; half a window where it is not smaller.
        max_tokens: stop after this many regressed tokens, within a document if need be.
        start_token: 'none', or the token before each document as in `LanguageModel.start_id`.
        bins: bins of equal width from the lowest to the highest unigram log-probability.
        progress: advanced by the number of regressed tokens.

    Returns:
        slope, slope_std_error, intercept (nats), r and n_tokens; and a row for each bin that
        holds tokens: bin_low, bin_high, n_tokens, mean_unigram_logprob, mean_logprob and the
        population standard deviation sd_logprob (nats).

    Raises LingprobError if `unigram_logprob` does not fit the model, or if there are fewer than
    three tokens, or only tokens of one unigram log-probability.
    """
    unigram_logprob = _checked(lm, unigram_logprob)
    edges = np.linspace(unigram_logprob.min(), unigram_logprob.max(), bins + 1)
    bin_of_token = np.clip(np.searchsorted(edges, unigram_logprob, side="right") - 1, 0, bins - 1)
    window = min(window, lm.context_window)
    stride = stride if stride < window else max(window // 2, 1)
    scorer, start_id = Scorer(lm), lm.start_id(start_token)
    pieces = (
        piece
        for ids in _token_sequences(lm, documents, max_tokens)
        for piece in _pieces(ids, start_id, window, stride)
    )
    moments = Moments(bins)
    chunk_size = BATCHES_PER_CHUNK * scorer.tokens_per_batch
    for chunk in batches(pieces, chunk_size, lambda piece: len(piece.ids)):
        logprobs = scorer.score([piece.ids for piece in chunk], None, window=window, stride=stride)
        ids = np.concatenate([ids[keep_from:] for ids, keep_from in chunk])
        kept = [values[piece.keep_from :] for values, piece in zip(logprobs, chunk, strict=True)]
        values = np.concatenate(kept).astype(np.float64)
        moments.add(bin_of_token[ids], unigram_logprob[ids], values)
        if progress is not None:
            progress.advance(len(ids))
    return _regression(moments.pooled()), _bins_table(moments, edges)


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
    lm: LanguageModel, documents: Iterable[str], max_tokens: int | None
) -> Iterator[np.ndarray]:
    """Tokenise documents until `max_tokens` tokens follow the first ones; skip shorter ones."""
    left = np.inf if max_tokens is None else max_tokens
    for texts in batches(documents, CHARACTERS_PER_BATCH):
        for tokens in lm.tokenize(texts):
            ids = tokens.ids[: int(min(left + 1, len(tokens.ids)))]
            if len(ids) > 1:
                yield ids
                left -= len(ids) - 1
            if left <= 0:
                return


def _pieces(ids: np.ndarray, start_id: int | None, window: int, stride: int) -> Iterator[Piece]:
    """Cut a document where windows start, so that a piece's windows are the whole's windows.

    Each piece repeats the context of its first new token; progress shows within a long document,
    and its memory does not grow.
    """
    ids = ids if start_id is None else np.concatenate([[start_id], ids])
    keep_from = 1 if start_id is None else 2
    for first in range(0, len(sliding_windows(len(ids), window, stride)), WINDOWS_PER_PIECE):
        start = first * stride
        yield Piece(ids[start : start + (WINDOWS_PER_PIECE - 1) * stride + window], keep_from)
        keep_from = window - stride


def _regression(whole: Moments) -> dict[str, float]:
    n, sxx, sxy, syy = int(whole.n[0]), whole.sxx[0], whole.sxy[0], whole.syy[0]
    if n < 3 or sxx <= 0:
        raise LingprobError(
            f"the token-frequency regression has {n} tokens"
            f"{'' if n < 3 else ' of one and the same unigram log-probability'}: it needs three "
            "or more that differ. Use a larger corpus (morcela.frequency_corpus) or allow more "
            "tokens (morcela.frequency_tokens)."
        )
    slope = sxy / sxx
    residual = max(syy - slope * sxy, 0.0)
    return {
        "slope": float(slope),
        "slope_std_error": float(np.sqrt(residual / (n - 2) / sxx)),
        "intercept": float(whole.mean_y[0] - slope * whole.mean_x[0]),
        "r": float(sxy / np.sqrt(sxx * syy)) if syy > 0 else 0.0,
        "n_tokens": n,
    }


def _bins_table(moments: Moments, edges: np.ndarray) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "bin_low": edges[:-1],
            "bin_high": edges[1:],
            "n_tokens": moments.n,
            "mean_unigram_logprob": moments.mean_x,
            "mean_logprob": moments.mean_y,
            "sd_logprob": np.sqrt(moments.syy / np.maximum(moments.n, 1)),
        }
    )
    return table[table["n_tokens"] > 0].reset_index(drop=True)
