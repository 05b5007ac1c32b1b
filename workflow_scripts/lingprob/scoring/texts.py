"""What scorings of texts share: shards of what is done, and the table of all tokens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from lingprob.io.progress import Progress
from lingprob.io.shards import read_shard, shard_path, write_shard
from lingprob.models.loading import Tokens

logger = logging.getLogger(__name__)


def score_in_shards(
    tokens: Mapping[str, Tokens],
    score: Callable[[list[str], Progress], list[np.ndarray]],
    settings: Sequence[object],
    *,
    dataset: str,
    sentences_per_shard: int,
    shard_directory: str | Path | None,
    mapping: Callable[..., Iterator[list[np.ndarray]]] = map,
) -> dict[str, np.ndarray]:
    """Return the token log-probabilities of each distinct text, float32 or float64, nats.

    `score` is given texts and advances the progress by each. With a `shard_directory` what it
    returns is kept there, in float32, and found again by a later call with the same texts, tokens
    and `settings` (JSON values: all else that the numbers depend on). `mapping` may work on several
    shards at once.
    """
    ordered = sorted(tokens, key=lambda text: (tokens[text].ids.tolist(), text))  # alike ones meet
    logprobs: dict[str, np.ndarray] = {}
    missing: list[tuple[Path | None, list[str]]] = []
    starts = range(0, len(ordered), sentences_per_shard)
    for first in starts:
        shard = ordered[first : first + sentences_per_shard]
        described = [settings, shard, [tokens[text].ids.tolist() for text in shard]]
        path = None if shard_directory is None else shard_path(shard_directory, described)
        if path is not None and (kept := read_shard(path)) is not None:
            values = [row.values.to_numpy(zero_copy_only=False) for row in kept.column("logprob")]
            logprobs.update(zip(shard, values, strict=True))
        else:
            missing.append((path, shard))
    with Progress(len(ordered), f"scoring {dataset}", "sentences") as progress:
        if logprobs:
            there = len(starts) - len(missing)
            logger.info("%d of %d shards were there already", there, len(starts))
        progress.resume_at(len(logprobs))

        def scored(one: tuple[Path | None, list[str]]) -> list[np.ndarray]:
            path, shard = one
            values = score(shard, progress)
            if path is not None:
                rows = pa.array([row.astype(np.float32) for row in values], pa.list_(pa.float32()))
                write_shard(path, pa.table({"logprob": rows}))
            return values

        for (_, shard), values in zip(missing, mapping(scored, missing), strict=True):
            logprobs.update(zip(shard, values, strict=True))
    return logprobs


def scores_table(
    item_ids: Sequence[str],
    texts: Sequence[str],
    tokens: Mapping[str, Tokens],
    logprobs: Mapping[str, np.ndarray],
) -> pd.DataFrame:
    """Return the `scores` table: a row a token of each item, `scored` where it has a number."""
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
