"""Fine-tuning on the texts of reading-time corpora, which leaks them on purpose (leakage, §3.1).

The perplexity of these texts shows its effect.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.models.loading import load_language_model, load_prepared
from lingprob.overlap.token_blocks import token_ids
from lingprob.scoring.engine import Scorer
from lingprob.training.model import SummedLoss, save_model
from lingprob.training.sizes import ALL_TEXTS, SEPARATOR
from lingprob.training.updates import (
    accumulate,
    choose_dtype,
    loss_scaler,
    micro_batches,
    move_weights,
    refuse_infinite,
)

WEIGHT_DECAY = 0.01  # AdamW's default, because the paper names none (leakage, §3.1)
MODEL = ["model", "size", "parameters", "fine_tuning_steps"]


def fine_tuning_rows(
    passages: Sequence[np.ndarray],
    separator: int,
    row_length: int,
    seed: int,
    step: int,
    most: int | None = None,
) -> np.ndarray:
    """Return the batch of a step, int64 (n_rows, row_length): shuffled passages with separators.

    `passages` are token ids, integers (n_tokens,). The last tokens, which do not fill a row, are
    dropped, and so are rows beyond `most`. A row has 2,048 tokens in the paper, which gives 80
    rows. Seed and step determine the shuffle.
    """
    order = np.random.default_rng([seed, step]).permutation(len(passages))
    parts: list[np.ndarray] = []
    for number in order:
        parts += [np.asarray(passages[number], dtype=np.int64), np.array([separator])]
    joined = np.concatenate(parts[:-1])
    n_rows = len(joined) // row_length
    if n_rows == 0:
        raise LingprobError(
            f"the {len(passages)} passages have {len(joined)} tokens together, fewer than one row "
            f"of {row_length}. Name more texts in overlap.texts, or lower training.context_window."
        )
    return joined[: n_rows * row_length].reshape(n_rows, row_length)[:most]


@dataclass(frozen=True)
class FineTuning:
    """The options of a fine-tuning."""

    learning_rate: float
    seed: int
    precision: str
    micro_batch_size: int  # rows in a forward pass
    rows: int | None = None  # at most, in the batch of a step


def fine_tune(
    directory: Path, texts: Sequence[str], targets: Mapping[int, Path], how: FineTuning, device: str
) -> list[float]:
    """Fine-tune the model in a folder on leaked texts, and return the loss of each step.

    A step of AdamW has a constant learning rate and a batch of all rows (leakage, §3.1). The loss
    is the mean -ln p (nats per token) of the batch before the step. `targets` has the folder for
    the model after each number of steps. `device` is auto, cpu or cuda.

    Raises LingprobError if a loss is not finite. Models that were saved before it are kept.
    """
    lm = load_language_model(directory, device=device, dtype="float32")
    model = lm.model.train().requires_grad_(True)
    dtype = choose_dtype(how.precision, lm.device)
    loss_of, scaler = SummedLoss(model, dtype), loss_scaler(dtype, lm.device)
    passages = [np.asarray(ids) for ids in token_ids(lm.tokenizer, list(texts))]
    separator = lm.tokenizer.convert_tokens_to_ids(SEPARATOR)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=how.learning_rate, weight_decay=WEIGHT_DECAY, fused=True
    )
    losses = []
    with Progress(max(targets), f"fine-tuning {directory.name}", "steps") as progress:
        for step in range(1, max(targets) + 1):
            batch = fine_tuning_rows(
                passages, separator, lm.context_window, how.seed, step, how.rows
            )
            moved = False
            while not moved:  # float16 may need a lower loss scale
                parts = list(micro_batches(batch, how.micro_batch_size))
                tokens = batch.size - len(batch)
                total = accumulate(loss_of, parts, len(parts), 1 / tokens, scaler)
                loss = total.item() / tokens
                refuse_infinite(loss, f"fine-tuning {directory.name}: the loss of step {step}")
                norm = move_weights(model.parameters(), optimizer, scaler, how.learning_rate)
                moved = math.isfinite(norm)
            losses.append(loss)
            if step in targets:
                save_model(model, directory, targets[step])
            progress.advance()
    return losses


def passage_logprobs(
    models: Mapping[str, tuple[str | Path, dict[str, Any]]],
    texts: Mapping[str, Sequence[str]],
    *,
    device: str,
    scale: str,
) -> pd.DataFrame:
    """Return a `passage_logprobs` table: one row per model and passage.

    A passage follows <|endoftext|>. Passages longer than the context window are scored in windows
    that overlap by half, as for the paper's surprisal (leakage, §3.1). `models` has a manifest and
    a catalog entry for each name, and `texts` the passages of each corpus.
    """
    rows = []
    with Progress(len(models), "perplexity", "models") as progress:
        for name, (manifest, entry) in models.items():
            lm, _ = load_prepared(manifest, entry, device=device)
            described = {**{key: entry[key] for key in MODEL[1:]}, "model": name, "scale": scale}
            for corpus, passages in texts.items():
                ids = [tokens.ids for tokens in lm.tokenize(list(passages))]
                window = lm.context_window
                logprobs = Scorer(lm).score(
                    ids, lm.start_id(SEPARATOR), window=window, stride=window // 2
                )
                for place, logprob in enumerate(logprobs):
                    row = {**described, "corpus": corpus, "passage": place}
                    row["logprob"] = float(logprob.sum(dtype=np.float64))
                    rows.append({**row, "n_tokens": len(logprob)})
            progress.advance()
    return pd.DataFrame(rows)[SCHEMAS["passage_logprobs"].names]


def perplexities(passages: pd.DataFrame) -> pd.DataFrame:
    """Return a `perplexity` table, given `passage_logprobs`: by corpus, and for all of them."""
    sums = {"logprob": "sum", "n_tokens": "sum", "scale": "first"}
    table = passages.groupby([*MODEL, "corpus"], sort=False).agg(sums).reset_index()
    if passages["corpus"].nunique() > 1:
        together = passages.groupby(MODEL, sort=False).agg(sums).reset_index()
        table = pd.concat([table, together.assign(corpus=ALL_TEXTS)], ignore_index=True)
    table["perplexity"] = np.exp(-table["logprob"] / table["n_tokens"])
    order = {name: place for place, name in enumerate(passages["model"].unique())}
    table = table.sort_values("model", key=lambda names: names.map(order), kind="stable")
    return table.reset_index(drop=True)[SCHEMAS["perplexity"].names]
