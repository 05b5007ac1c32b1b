"""A corpus of a few hundred tiny examples, and trainings of seconds on it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from lingprob.training.corpus import TrainingData
from lingprob.training.launch import train
from lingprob.training.sizes import SEPARATOR, ModelSize
from lingprob.training.trainer import Means, Plan, Trainer, World

VOCABULARY, CONTEXT_WINDOW, N_EXAMPLES = 96, 12, 90
SIZE = {"layers": 2, "heads": 2, "width": 32}
ALONE = World(0, 1, torch.device("cpu"))


def save_word_tokenizer(directory: Path) -> Path:
    """Save a tokenizer of <|endoftext|> (0) and the words w1, w2, ..., w95."""
    vocabulary = {SEPARATOR: 0, **{f"w{number}": number for number in range(1, VOCABULARY)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=SEPARATOR))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=SEPARATOR)
    fast.save_pretrained(directory)
    return directory


def rows_with_structure(n_rows: int, seed: int = 0) -> np.ndarray:
    """Make rows in which a token says much about the next one: 3 t + 1, 2 or 3."""
    random = np.random.default_rng(seed)
    rows = np.empty((n_rows, CONTEXT_WINDOW + 1), dtype=np.uint16)
    rows[:, 0] = random.integers(1, VOCABULARY, n_rows)
    for column in range(1, CONTEXT_WINDOW + 1):
        step = random.integers(1, 4, n_rows)
        rows[:, column] = (3 * rows[:, column - 1].astype(int) + step) % (VOCABULARY - 1) + 1
    return rows


def save_corpus(folder: Path) -> dict[str, Any]:
    """Write rows in two files and some held out; return the corpus's description."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = rows_with_structure(N_EXAMPLES)
    files = {"a": rows[:50], "b": rows[50:], "held_out": rows_with_structure(20, seed=1)}
    for name, part in files.items():
        np.save(folder / f"{name}.npy", part)
    return {
        "tokenizer": str(save_word_tokenizer(folder / "tokenizer")),
        "tokenizer_sha256": "of the word tokenizer", "separator": 0, "vocabulary": VOCABULARY,
        "context_window": CONTEXT_WINDOW,
        "training": [str(folder / "a.npy"), str(folder / "b.npy")],
        "validation": [str(folder / "held_out.npy")],
    }  # fmt: skip


def plan(**changes: Any) -> dict[str, Any]:
    """The plan of a training of 30 steps of 8 examples."""
    return {
        "size": SIZE, "vocabulary": VOCABULARY, "context_window": CONTEXT_WINDOW, "batch_size": 8,
        "steps": 30, "seed": 3, "precision": "float32", "learning_rate": 0.01,
        "lowest_learning_rate": 0.001, "warmup": 0.1, **changes,
    }  # fmt: skip


def means(**changes: Any) -> dict[str, Any]:
    """How the training is done: in micro-batches of 3, so that the last one is smaller."""
    return {
        "device": "cpu", "micro_batch_size": 3, "repeat_examples": True, "validation_steps": 10,
        "checkpoint_steps": 4, **changes,
    }  # fmt: skip


def job(corpus: dict[str, Any], folder: Path, **changes: Any) -> dict[str, Any]:
    """Return arguments of `train`, with `plan` and `means` updated from `changes`."""
    return {
        "corpus": corpus, "validation_examples": 10, "code": changes.get("code", "as it is"),
        "plan": plan(**changes.get("plan", {})), "means": means(**changes.get("means", {})),
        "folder": str(folder / "work"), "directory": str(folder / "model"),
    }  # fmt: skip


def trainer(
    corpus: dict[str, Any],
    folder: Path,
    world: World = ALONE,
    keep: Any = lambda step, model: None,
    **changes: Any,
) -> Trainer:
    """A training that is stepped through by hand, with `changes` as for `job`."""
    described = job(corpus, folder, **changes)
    settings = {**described["plan"], "size": ModelSize(**SIZE)}
    data = TrainingData(corpus, 10)
    return Trainer(Plan(**settings), Means(**described["means"]), data, folder, "i", world, keep)


def log_of(described: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of a training's log."""
    text = (Path(described["folder"]) / "log.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def losses(described: dict[str, Any], processes: int = 1) -> list[float]:
    """Train and return the loss of every step."""
    train(described, processes)
    return [record["loss"] for record in log_of(described)]
