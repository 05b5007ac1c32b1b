"""Sum tokens' log-probabilities in context by unigram log-probability (morcela, §5)."""

from collections.abc import Iterator, Mapping
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
WINDOW, STRIDE = 2048, 1024  # tokens in a window, and between the starts of two windows
WINDOWS_PER_PIECE = 4
BATCHES_PER_CHUNK = 8
BINS = 20


class Piece(NamedTuple):
    """Consecutive tokens of a document, of which those from `keep_from` on are regressed."""

    document: int
    ids: np.ndarray
    keep_from: int


def frequency_moments(
    lm: LanguageModel, unigrams: pd.DataFrame, regressed: Mapping[str, Any], shard: int, shards: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return sums of tokens' log-probabilities in context, by unigram log-probability and document.

    The first token of a document is only context, even if a start token precedes it. Documents are
    scored in windows of WINDOW tokens (or of the model's context window) that advance by STRIDE (or
    by half their length if they have no more tokens than STRIDE).

    Args:
        lm, unigrams: the language model, and a `unigrams` table of its vocabulary.
        regressed: `corpus` (a name), its `parser` and `paths`, `start_tokens` by name (as in
            `LanguageModel.start_id`), and the greatest number of `tokens` in all shards and
            (`document_tokens`) in a document.
        shard, shards: the number of this job (from 0), and of the jobs that share the tokens.

    Returns:
        The sums that `frequency_slopes` regresses: start_token, n_tokens, x (unigram
        log-probability), y (log-probability, nats), xx, xy and yy. The first table has one row per
        bin of equal width over the unigram log-probabilities, from `bin_low` to `bin_high`. The
        second has one row per document of which this shard has tokens; `document` counts from 0.

    Raises LingprobError if the unigrams do not fit the model.
    """
    unigram_logprob = unigrams.sort_values("token_id")["logprob"].to_numpy(dtype=np.float64)
    if len(unigram_logprob) != lm.vocabulary_size or not np.isfinite(unigram_logprob).all():
        raise LingprobError(
            f"{len(unigram_logprob)} unigram log-probabilities: {lm.directory} needs "
            f"{lm.vocabulary_size} finite ones. Make the unigrams with this model's tokenizer "
            "and vocabulary, and with smoothing."
        )
    scorer, start_tokens = Scorer(lm), regressed["start_tokens"]
    window = min(WINDOW, lm.context_window)
    windows = {"window": window, "stride": STRIDE if window > STRIDE else max(window // 2, 1)}
    tokens = len(start_tokens) * regressed["tokens"] // shards
    tables = []
    with Progress(tokens, f"tokens of {regressed['corpus']}", "tokens") as progress:
        for name, start_token in start_tokens.items():
            pieces = _pieces(lm, regressed, lm.start_id(start_token), **windows)
            share = islice(pieces, shard, None, shards)
            sums = _sums(scorer, share, unigram_logprob, progress, windows)
            tables.append([table.assign(start_token=name) for table in sums])
    binned, by_document = (pd.concat(part, ignore_index=True) for part in zip(*tables, strict=True))
    return binned, by_document


def _sums(
    scorer: Scorer,
    pieces: Iterator[Piece],
    unigram_logprob: np.ndarray,
    progress: Progress,
    windows: Mapping[str, Any],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the sums over pieces by bin and by document, as `frequency_moments` does."""
    edges = np.linspace(unigram_logprob.min(), unigram_logprob.max(), BINS + 1)
    bin_of_token = np.clip(np.searchsorted(edges, unigram_logprob, side="right") - 1, 0, BINS - 1)
    # Without any token, both tables still have their columns, and the bins their rows.
    empty = pd.DataFrame({"n_tokens": 0, **dict.fromkeys(SUMS, 0.0)}, index=range(BINS))
    by_bin = [empty.assign(bin=empty.index)]
    by_document = [empty.assign(document=0)[:0]]
    chunk_size = BATCHES_PER_CHUNK * scorer.tokens_per_batch
    for chunk in batches(pieces, chunk_size, lambda piece: len(piece.ids)):
        logprobs = scorer.score([piece.ids for piece in chunk], None, **windows)
        ids = np.concatenate([piece.ids[piece.keep_from :] for piece in chunk])
        kept = [values[piece.keep_from :] for values, piece in zip(logprobs, chunk, strict=True)]
        values = np.concatenate(kept).astype(np.float64)
        pairs = (unigram_logprob[ids], values)
        by_bin.append(sum_tokens("bin", bin_of_token[ids], *pairs))
        documents_of = np.repeat([piece.document for piece in chunk], [len(one) for one in kept])
        by_document.append(sum_tokens("document", documents_of, *pairs))
        progress.advance(len(ids))
    binned = merge_sums(by_bin, "bin").drop(columns="bin")
    binned.insert(0, "bin_low", edges[:-1])
    binned.insert(1, "bin_high", edges[1:])
    return binned, merge_sums(by_document, "document")


def _token_sequences(lm: LanguageModel, regressed: Mapping[str, Any]) -> Iterator[np.ndarray]:
    """Yield the token ids of documents until they have `tokens` tokens without first ones.

    Documents of a single token are left out.
    """
    left, longest = regressed["tokens"], regressed["document_tokens"]  # None: no limit
    documents = iter_documents(regressed["parser"], [Path(path) for path in regressed["paths"]])
    for texts in batches(documents, CHARACTERS_PER_BATCH):
        for tokens in lm.tokenize(texts):
            ids = tokens.ids[:longest][: left + 1]
            if len(ids) > 1:
                yield ids
                left -= len(ids) - 1
            if left <= 0:
                return


def _pieces(
    lm: LanguageModel, regressed: Mapping[str, Any], start_id: int | None, window: int, stride: int
) -> Iterator[Piece]:
    """Yield pieces of documents, cut so that their windows are those of the whole document.

    Each piece repeats the context of its first new token. So memory does not grow with the length
    of a document.
    """
    for document, text in enumerate(_token_sequences(lm, regressed)):
        ids = text if start_id is None else np.concatenate([[start_id], text])
        keep_from = 1 if start_id is None else 2
        for first in range(0, len(sliding_windows(len(ids), window, stride)), WINDOWS_PER_PIECE):
            start = first * stride
            end = start + (WINDOWS_PER_PIECE - 1) * stride + window
            yield Piece(document, ids[start:end], keep_from)
            keep_from = window - stride
