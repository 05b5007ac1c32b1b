"""Perplexity of reading-time corpora under trained models, before and after fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.models.loading import load_prepared
from lingprob.scoring.engine import score_sequences
from lingprob.training.sizes import ALL_TEXTS, SEPARATOR

MODEL = ["model", "size", "parameters", "fine_tuning_steps"]


def passage_logprobs(
    models: Mapping[str, tuple[str | Path, dict[str, Any]]],
    texts: Mapping[str, Sequence[str]],
    *,
    device: str,
    scale: str,
) -> pd.DataFrame:
    """Return a `passage_logprobs` table: a row a model and passage.

    A passage follows <|endoftext|>; one longer than the context window is scored in windows that
    overlap by half, as the paper's surprisal is (leakage, §3.1).

    Args:
        models: manifest and catalog entry by name.
        texts: a corpus's passages, by its name.
        device: auto, cpu or cuda.
        scale: of the run.
    """
    rows = []
    with Progress(len(models), "perplexity", "models") as progress:
        for name, (manifest, entry) in models.items():
            lm, _ = load_prepared(manifest, entry, device=device)
            described = {**{key: entry[key] for key in MODEL[1:]}, "model": name, "scale": scale}
            for corpus, passages in texts.items():
                rows += [
                    {**described, "corpus": corpus, "passage": place, **found}
                    for place, found in enumerate(_logprobs(lm, passages))
                ]
            progress.advance()
    return pd.DataFrame(rows)[SCHEMAS["passage_logprobs"].names]


def perplexities(passages: pd.DataFrame) -> pd.DataFrame:
    """Return a `perplexity` table: a row a model and corpus, and one of all corpora.

    `passages` is a `passage_logprobs` table.
    """
    sums = {"logprob": "sum", "n_tokens": "sum", "scale": "first"}
    table = passages.groupby([*MODEL, "corpus"], sort=False).agg(sums).reset_index()
    if passages["corpus"].nunique() > 1:
        together = passages.groupby(MODEL, sort=False).agg(sums).reset_index()
        table = pd.concat([table, together.assign(corpus=ALL_TEXTS)], ignore_index=True)
    table["perplexity"] = np.exp(-table["logprob"] / table["n_tokens"])
    order = {name: place for place, name in enumerate(passages["model"].unique())}
    table = table.sort_values("model", key=lambda names: names.map(order), kind="stable")
    return table.reset_index(drop=True)[SCHEMAS["perplexity"].names]


def _logprobs(lm: Any, passages: Sequence[str]) -> list[dict[str, float]]:
    """Return the sum of each passage's log-probabilities (nats) and the number of its tokens."""
    sequences = [tokens.ids for tokens in lm.tokenize(list(passages))]
    window = lm.context_window
    logprobs = score_sequences(
        lm, sequences, lm.start_id(SEPARATOR), window=window, stride=window // 2
    )
    return [
        {"logprob": float(p.sum(dtype=np.float64)), "n_tokens": len(ids)}
        for p, ids in zip(logprobs, sequences, strict=True)
    ]
