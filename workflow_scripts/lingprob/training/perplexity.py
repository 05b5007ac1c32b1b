"""Perplexity of reading-time corpora under trained models, before and after fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.models.prepared import load_prepared
from lingprob.progress import Progress
from lingprob.schemas import SCHEMAS
from lingprob.scoring.engine import score_sequences
from lingprob.training.sizes import ALL_TEXTS, SEPARATOR


def perplexities(
    models: Mapping[str, tuple[str | Path, dict[str, Any]]],
    texts: Mapping[str, Sequence[str]],
    *,
    device: str,
    scale: str,
) -> pd.DataFrame:
    """Return a `perplexity` table: a row a model and corpus, and one of all corpora.

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
            sums = {corpus: _logprob(lm, passages) for corpus, passages in texts.items()}
            if len(sums) > 1:
                sums[ALL_TEXTS] = tuple(np.sum(list(sums.values()), axis=0))
            for corpus, (logprob, n_tokens) in sums.items():
                rows.append(
                    {
                        "model": name,
                        "size": entry["size"],
                        "parameters": entry["parameters"],
                        "fine_tuning_steps": entry["fine_tuning_steps"],
                        "corpus": corpus,
                        "n_tokens": int(n_tokens),
                        "perplexity": float(np.exp(-logprob / n_tokens)),
                        "scale": scale,
                    }
                )
            progress.advance()
    return pd.DataFrame(rows)[SCHEMAS["perplexity"].names]


def _logprob(lm: Any, passages: Sequence[str]) -> tuple[float, int]:
    """Return the sum of the tokens' log-probabilities (nats) and their number."""
    sequences = [tokens.ids for tokens in lm.tokenize(list(passages))]
    window = lm.context_window
    logprobs = score_sequences(
        lm, sequences, lm.start_id(SEPARATOR), window=window, stride=window // 2
    )
    return sum(float(p.sum(dtype=np.float64)) for p in logprobs), sum(map(len, sequences))
