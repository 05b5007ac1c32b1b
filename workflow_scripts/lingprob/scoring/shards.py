"""Scoring a stimulus table in shards, so that a killed job goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lingprob.errors import LingprobError
from lingprob.files import atomic_path
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.progress import Progress
from lingprob.scoring.engine import Scorer

logger = logging.getLogger(__name__)


def score_stimuli(
    language_model: LanguageModel,
    item_ids: Sequence[str],
    texts: Sequence[str],
    context: str,
    *,
    shard_directory: str | Path,
    identity: str,
    dataset: str,
    sentences_per_shard: int = 2000,
    tokens_per_batch: int | None = None,
    window: int | None = None,
    stride: int | None = None,
) -> pd.DataFrame:
    """Score every text and return a `scores` table (one token a row; logprob in nats).

    `context` is as in `LanguageModel.context_id`; with 'none' a first token is not scored.
    Each distinct text is scored once, in shards that are kept in `shard_directory` and found
    again by a later call with the same texts, `identity` (what tells this model's weights and
    revision from any other's), context, window, stride and dtype. Delete them with
    `delete_shards` once the table is safe.
    Raises LingprobError, before any scoring, for a text that has no token to score.
    """
    context_id = language_model.context_id(context)
    unique = list(dict.fromkeys(texts))
    tokens = dict(zip(unique, language_model.tokenize(unique), strict=True))
    _check_scorable(item_ids, texts, tokens, context, dataset)
    scorer = Scorer(language_model, tokens_per_batch)
    window = window or language_model.context_window
    settings = [identity, context_id, window, stride, str(language_model.dtype)]
    logprobs: dict[str, np.ndarray] = {}
    shards = list(_shards(unique, tokens, sentences_per_shard, shard_directory, settings))
    with Progress(len(unique), f"scoring {dataset}", "sentences") as progress:
        missing = []
        for path, shard in shards:
            if (kept := read_shard(path)) is not None:
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
            values = scorer.score(ids, context_id, window=window, stride=stride, progress=progress)
            rows = pa.array([row.astype(np.float32) for row in values], pa.list_(pa.float32()))
            write_shard(path, pa.table({"logprob": rows}))
            logprobs.update(zip(shard, values, strict=True))
    return _scores_table(item_ids, texts, tokens, logprobs)


def delete_shards(shard_directory: str | Path) -> None:
    """Delete the shards of a finished table; no error where there are none."""
    shutil.rmtree(shard_directory, ignore_errors=True)


def _check_scorable(
    item_ids: Sequence[str],
    texts: Sequence[str],
    tokens: dict[str, Tokens],
    context: str,
    dataset: str,
) -> None:
    if not texts:
        raise LingprobError(f"dataset {dataset!r} has no sentences. Check its file.")
    for row, (item_id, text) in enumerate(zip(item_ids, texts, strict=True)):
        where = f"dataset {dataset!r}, row {row}, item_id {item_id!r}"
        n_tokens = len(tokens[text].ids)
        if n_tokens == 0 or not text.strip():
            raise LingprobError(f"{where}: the sentence is empty. Fill it in or drop the row.")
        if n_tokens == 1 and context == "none":
            raise LingprobError(
                f"{where}: {text!r} is a single token, and with bos 'none' a first token has no "
                "score. Choose a bos policy with a context token, or drop the row."
            )


def _shards(
    unique: list[str],
    tokens: dict[str, Tokens],
    sentences_per_shard: int,
    shard_directory: str | Path,
    settings: Sequence[object],
) -> Iterator[tuple[Path, list[str]]]:
    """Yield each shard's path and texts, in the order of their tokens: what begins alike meets."""
    ordered = sorted(unique, key=lambda text: (tokens[text].ids.tolist(), text))
    for first in range(0, len(ordered), sentences_per_shard):
        shard = ordered[first : first + sentences_per_shard]
        described = [settings, shard, [tokens[text].ids.tolist() for text in shard]]
        yield shard_path(shard_directory, described), shard


def shard_path(directory: str | Path, described: object) -> Path:
    """Return where the shard that `described` (JSON values) tells from any other is kept."""
    digest = hashlib.sha256(json.dumps(described).encode()).hexdigest()[:32]
    return Path(directory) / f"{digest}.parquet"


def write_shard(path: Path, table: pa.Table) -> None:
    """Keep a shard, whole or not at all."""
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read_shard(path: Path) -> pa.Table | None:
    """Return a shard, or None where there is none or (the log says so) a damaged one."""
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError:
        return None
    except (pa.ArrowException, OSError) as error:
        logger.warning("%s: a damaged shard (%s), made again", path, error)
        return None


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
