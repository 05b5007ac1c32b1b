"""Sizes of Pythia-like models, and the catalog entries of the models that training makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "trained-"
SEPARATOR = "<|endoftext|>"
ALL_TEXTS = "all"  # in place of a corpus: the texts of all of them


@dataclass(frozen=True)
class ModelSize:
    """Layers, attention heads a layer and embedding size of a GPT-NeoX model (leakage, Table 1)."""

    layers: int
    heads: int
    width: int

    def parameters(self, vocabulary: int) -> int:
        """Return the number of weights: two untied embeddings, layers with biases, last norm."""
        layer = 12 * self.width**2 + 13 * self.width
        return 2 * vocabulary * self.width + self.layers * layer + 2 * self.width

    def flops_per_token(self, vocabulary: int, context_window: int) -> int:
        """Return the floating-point operations of training on one token.

        They are six for each weight in a product, which the input embedding is not, and the
        attention's, counted without its causal mask.
        """
        products = self.parameters(vocabulary) - vocabulary * self.width
        return 6 * products + 12 * self.layers * self.width * context_window


def model_name(size: str, steps: int = 0) -> str:
    """Return the catalog name of a trained model after a number of fine-tuning steps."""
    return f"{PREFIX}{size}" + (f"-ft{steps}" if steps else "")


def checkpoint_name(size: str, step: int) -> str:
    """Return the catalog name of a model that was kept after a step of its training."""
    return f"{PREFIX}{size}-step{step}"


def fine_tuning_steps(training: Mapping[str, Any]) -> list[int]:
    """Return the numbers of fine-tuning steps after which there is a model, 0 first."""
    return [0, *training["fine_tuning"]["steps"]]


def trained_models(training: Mapping[str, Any], corpora: list[str]) -> dict[str, dict[str, Any]]:
    """Return a catalog entry of source `trained` for every size and each of its kept states.

    States are kept after each number of fine-tuning steps and after each of `keep_checkpoints`
    steps of training (`training_step`). With a tokenizer of its own a model's unigrams are counted
    over the text that it had met by then (`training_STEPS`). `training` is that section of the
    settings, and `corpora` are text corpora for such unigrams.
    """
    own = training["tokenizer"] == "own"
    others = f"corpus_{corpora[0]}" if own else "pile_published"

    def unigrams(step: int) -> list[str]:
        met = f"training_{step}"
        return [met, others] if own else [others, met]

    entries = {}
    for name, size in training["sizes"].items():
        title = name.replace("-", " ").capitalize()
        entry = {
            "title": title,
            "family": "trained",
            "source": "trained",
            "size": name,
            "fine_tuning_steps": 0,
            "parameters": ModelSize(**size).parameters(training["vocabulary"]),
            "tokenizer": "trained" if own else training["tokenizer"],
            "context_window": training["context_window"],
            "unigrams": unigrams(training["steps"]),
        }
        for steps in fine_tuning_steps(training):
            state = {"title": f"{title}, fine-tuned {steps} steps", "fine_tuning_steps": steps}
            entries[model_name(name, steps)] = {**entry, **(state if steps else {})}
        for step in training["keep_checkpoints"]:
            state = {"title": f"{title}, step {step:,}", "training_step": step}
            state["unigrams"] = unigrams(step)
            entries[checkpoint_name(name, step)] = {**entry, **state}
    return entries
