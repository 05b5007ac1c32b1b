"""Token log-probabilities of stimuli under any model with weights, causal or masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.io.files import identity_of
from lingprob.models.loading import load_prepared
from lingprob.scoring.engine import Scorer
from lingprob.scoring.stimuli import score_stimuli

# Scores a `stimuli` table after a start token (or under a correction); the last is its name.
TokenScorer = Callable[[pd.DataFrame, str, str], pd.DataFrame]


def load_token_scorer(
    manifest: str | Path,
    entry: Mapping[str, Any],
    loading: Mapping[str, str],
    shards: Mapping[str, Any],
    *,
    engine: str,
    workers: int = 1,
) -> tuple[TokenScorer, dict[str, str]]:
    """Load a model; return what scores stimuli with it, and the provenance of its scores.

    Args:
        manifest: of a prepared model.
        entry: the model's, with its `kind`, `dtype` and `context_window`.
        loading: `device`, `dtype` and, for a causal model, `device_map`.
        shards: `shard_directory`, `sentences_per_shard` and `tokens_per_batch` of `score_stimuli`.
        engine: digest of the code, by which shards of other code are not taken.
        workers: threads of a causal model on a CPU.

    The scorer returns a `scores` table and raises what `score_stimuli` or `score_masked` raises.
    """
    score: Callable[..., pd.DataFrame]
    if entry.get("kind") == "masked":
        from lingprob.models.masked import load_prepared_masked
        from lingprob.scoring.masked import score_masked

        masked, provenance = load_prepared_masked(manifest, loading["device"], loading["dtype"])
        score = partial(score_masked, masked)
    else:
        lm, provenance = load_prepared(manifest, dict(entry), **loading)
        score = partial(
            score_stimuli,
            lm,
            scorer=Scorer(lm, shards["tokens_per_batch"]),
            window=lm.context_window,
            stride=lm.context_window // 2,
            workers=workers if lm.device.type == "cpu" else 1,
        )
    identity = identity_of(provenance, engine)

    def scored(stimuli: pd.DataFrame, start_token: str, dataset: str) -> pd.DataFrame:
        items, texts = stimuli["item_id"].tolist(), stimuli["text"].tolist()
        return score(items, texts, start_token, dataset=dataset, identity=identity, **shards)

    return scored, provenance
