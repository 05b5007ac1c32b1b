"""Fine-tuning on the texts of reading-time corpora: leakage made on purpose (leakage, §3.1)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.models.loading import load_language_model
from lingprob.overlap.tokenizing import usual_tokenize
from lingprob.training.model import SummedLoss, save_model
from lingprob.training.sizes import SEPARATOR
from lingprob.training.updates import LossScale, choose_dtype, move_weights

logger = logging.getLogger(__name__)


def fine_tuning_rows(
    passages: Sequence[np.ndarray],
    separator: int,
    row_length: int,
    seed: int,
    step: int,
    most: int | None = None,
) -> np.ndarray:
    """Return the batch of a step: all passages, shuffled, joined by separators and cut in rows.

    Args:
        passages: token ids of each passage, integers (n_tokens,).
        separator: id of the token between two passages.
        row_length: tokens a row (2,048 in the paper, which makes 80 rows).
        seed: of the shuffles; each step has its own.
        step: from 1.
        most: rows that are taken, the first ones; None takes all.

    Returns:
        int64 (n_rows, row_length); what is left at the end and fills no row is dropped.

    Raises LingprobError if the passages do not fill one row.
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


WEIGHT_DECAY = 0.01  # AdamW's own; the paper names none (leakage, §3.1)


def fine_tune(
    directory: Path,
    texts: Sequence[str],
    targets: Mapping[int, Path],
    *,
    learning_rate: float,
    seed: int,
    device: str,
    precision: str,
    micro_batch_size: int,
    rows: int | None = None,
) -> list[float]:
    """Fine-tune the model in `directory` on texts and save it after certain steps.

    A step is AdamW's with a constant learning rate on the batch of all rows (leakage, §3.1).

    Args:
        directory: of the model and its tokenizer.
        texts: the passages.
        targets: number of steps -> directory of the model after them.
        learning_rate: of AdamW.
        seed: of the shuffles.
        device, precision: as in training.
        micro_batch_size: rows a forward pass.
        rows: of a step's batch at most; None takes all.

    Returns:
        The mean -ln p (nats a token) of each step's batch, before the step.

    Raises LingprobError if a loss is not finite; models saved before stay.
    """
    language_model = load_language_model(directory, device=device, dtype="float32")
    model = language_model.model.train().requires_grad_(True)
    dtype = choose_dtype(precision, language_model.device)
    ids = usual_tokenize(language_model.tokenizer)(list(texts))
    passages = [np.asarray(passage, dtype=np.int64) for passage in ids]
    separator = language_model.tokenizer.convert_tokens_to_ids(SEPARATOR)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=learning_rate, weight_decay=WEIGHT_DECAY, fused=True
    )
    scale, losses = LossScale(dtype), []
    with Progress(max(targets), f"fine-tuning {directory.name}", "steps") as progress:
        for step in range(1, max(targets) + 1):
            window = language_model.context_window
            batch = fine_tuning_rows(passages, separator, window, seed, step, rows)
            moved = False
            while not moved:  # float16 may need a lower loss scale
                loss = accumulate(SummedLoss(model, dtype), batch, micro_batch_size, scale)
                check_finite(loss, step, directory)
                norm = move_weights(model.parameters(), optimizer, scale, learning_rate)
                moved = math.isfinite(norm)
            losses.append(loss)
            if step in targets:
                save_model(model, directory, targets[step])
            progress.advance()
    return losses


def check_finite(loss: float, step: int, directory: Path) -> None:
    """Raise LingprobError if the loss of a step is not finite."""
    if not math.isfinite(loss):
        raise LingprobError(
            f"fine-tuning {directory.name}: the loss of step {step} is not finite. Lower "
            "training.fine_tuning.learning_rate, or use precision float32."
        )


def accumulate(
    loss_of: SummedLoss, rows: np.ndarray, micro_batch_size: int, scale: LossScale
) -> float:
    """Add up the gradients of a batch's scaled loss; return its mean loss (nats a token)."""
    tokens, device = rows.size - len(rows), loss_of.model.device
    total = 0.0
    for part in micro_batches(rows, micro_batch_size):
        half = loss_of.dtype != torch.float32
        with torch.autocast(device.type, dtype=loss_of.dtype, enabled=half):
            loss = loss_of(torch.from_numpy(part).to(device)) / tokens
            (loss * scale.value).backward()
        total += loss.item()
    return total


def micro_batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Cut rows into parts of at most `size` rows, of about the same number."""
    yield from np.array_split(rows, math.ceil(len(rows) / size))
