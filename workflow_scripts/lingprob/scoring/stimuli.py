"""Token log-probabilities of a stimulus table, in shards: a killed job goes on where it stopped."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from lingprob.errors import LingprobError
from lingprob.files import require_identity
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.progress import Progress
from lingprob.scoring.engine import Scorer
from lingprob.scoring.shards import read_shard, shard_path, write_shard

logger = logging.getLogger(__name__)


def score_stimuli(
    language_model: LanguageModel,
    item_ids: Sequence[str],
    texts: Sequence[str],
    start_token: str,
    *,
    dataset: str,
    shard_directory: str | Path | None = None,
    identity: str = "",
    sentences_per_shard: int = 2000,
    tokens_per_batch: int | None = None,
    window: int | None = None,
    stride: int | None = None,
    scorer: Scorer | None = None,
) -> pd.DataFrame:
    """Score every text and return a `scores` table (one token a row; logprob in nats).

    `start_token` is as in `LanguageModel.start_id`; with 'none' a first token is not scored.
    Each distinct text is scored once, in shards that are kept in `shard_directory` (if any) and
    found again by a later call with the same texts, `identity` (what tells these weights and this
    code from any other), start token, window, stride and dtype. Delete them with `delete_shards`
    once the table is safe. `scorer` is one of this model that worked before, if any: it need not
    check the model again.
    Raises LingprobError, before any scoring, for a text that has no token to score.
    """
    require_identity(shard_directory, identity)
    start_id = language_model.start_id(start_token)
    unique = list(dict.fromkeys(texts))
    tokens = dict(zip(unique, language_model.tokenize(unique), strict=True))
    _check_scorable(item_ids, texts, tokens, start_token, dataset)
    scorer = scorer or Scorer(language_model, tokens_per_batch)
    window = window or language_model.context_window
    settings = [identity, start_id, window, stride, str(language_model.dtype)]
    logprobs: dict[str, np.ndarray] = {}
    shards = list(_shards(unique, tokens, sentences_per_shard, shard_directory, settings))
    with Progress(len(unique), f"scoring {dataset}", "sentences") as progress:
        missing = []
        for path, shard in shards:
            if path is not None and (kept := read_shard(path)) is not None:
                column = kept.column("logprob")
                values = [row.values.to_numpy(zero_copy_only=False) for row in column]
                logprobs.update(zip(shard, values, strict=True))
            else:
                missing.append((path, shard))
        if logprobs:
            there = len(shards) - len(missing)
            logger.info("%d of %d shards were there already", there, len(shards))
        progress.resume_at(len(logprobs))
        for path, shard in missing:
            ids = [tokens[text].ids for text in shard]
            values = scorer.score(ids, start_id, window=window, stride=stride, progress=progress)
            if path is not None:
                rows = pa.array([row.astype(np.float32) for row in values], pa.list_(pa.float32()))
                write_shard(path, pa.table({"logprob": rows}))
            logprobs.update(zip(shard, values, strict=True))
    return _scores_table(item_ids, texts, tokens, logprobs)


def _check_scorable(
    item_ids: Sequence[str],
    texts: Sequence[str],
    tokens: dict[str, Tokens],
    start_token: str,
    dataset: str,
) -> None:
    if not texts:
        raise LingprobError(f"dataset {dataset!r} has no sentences. Check its file.")
    for row, (item_id, text) in enumerate(zip(item_ids, texts, strict=True)):
        where = f"dataset {dataset!r}, row {row}, item_id {item_id!r}"
        n_tokens = len(tokens[text].ids)
        if n_tokens == 0 or not text.strip():
            raise LingprobError(f"{where}: the sentence is empty. Fill it in or drop the row.")
        if n_tokens == 1 and start_token == "none":
            raise LingprobError(
                f"{where}: {text!r} is a single token, and with bos 'none' a first token has no "
                "score. Choose a bos policy with a start token, or drop the row."
            )


def _shards(
    unique: list[str],
    tokens: dict[str, Tokens],
    sentences_per_shard: int,
    shard_directory: str | Path | None,
    settings: Sequence[object],
) -> Iterator[tuple[Path | None, list[str]]]:
    """Yield each shard's path, if it is kept, and texts, in the order of their tokens: what begins
    alike meets."""
    ordered = sorted(unique, key=lambda text: (tokens[text].ids.tolist(), text))
    for first in range(0, len(ordered), sentences_per_shard):
        shard = ordered[first : first + sentences_per_shard]
        described = [settings, shard, [tokens[text].ids.tolist() for text in shard]]
        yield None if shard_directory is None else shard_path(shard_directory, described), shard


def _scores_table(
    item_ids: Sequence[str],
    texts: Sequence[str],
    tokens: dict[str, Tokens],
    logprobs: dict[str, np.ndarray],
) -> pd.DataFrame:
    lengths = [len(tokens[text].ids) for text in texts]
    logprob = np.concatenate([logprobs[text] for text in texts]).astype(np.float32)
    return pd.DataFrame(
        {
            "item_id": np.repeat(np.array(item_ids, dtype=object), lengths),
            "token_index": np.concatenate([np.arange(n, dtype=np.int32) for n in lengths]),
            "token_id": np.concatenate([tokens[text].ids for text in texts]),
            "char_start": np.concatenate([tokens[text].char_start for text in texts]),
            "char_end": np.concatenate([tokens[text].char_end for text in texts]),
            "logprob": logprob,
            "scored": ~np.isnan(logprob),
        }
    )
