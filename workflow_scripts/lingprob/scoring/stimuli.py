"""Token log-probabilities of a stimulus table, in shards: a killed job goes on where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.files import require_identity
from lingprob.io.progress import Progress
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.scoring.engine import Scorer, worker_map
from lingprob.scoring.texts import score_in_shards, scores_table


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
    workers: int = 1,
) -> pd.DataFrame:
    """Score every text and return a `scores` table (one token a row; logprob in nats).

    `start_token` is as in `LanguageModel.start_id`; with 'none' a first token is not scored.
    Each distinct text is scored once, in shards that are kept in `shard_directory` (if any) and
    found again by a later call with the same texts, `identity` (what tells these weights and this
    code from any other), start token, window, stride and dtype. `scorer` is one of this model that
    worked before, if any: it need not check the model again. On a CPU several `workers`, a thread
    each, score several shards at once.
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

    def score(shard: list[str], progress: Progress) -> list[np.ndarray]:
        ids = [tokens[text].ids for text in shard]
        return scorer.score(ids, start_id, window=window, stride=stride, progress=progress)

    with worker_map(language_model, workers) as mapping:
        logprobs = score_in_shards(
            tokens,
            score,
            settings,
            dataset=dataset,
            sentences_per_shard=sentences_per_shard,
            shard_directory=shard_directory,
            mapping=mapping,
        )
    return scores_table(item_ids, texts, tokens, logprobs)


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
