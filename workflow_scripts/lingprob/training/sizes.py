"""Sizes of Pythia-like models, and catalog entries for the models that the workflow trains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = "trained-"
SEPARATOR = "<|endoftext|>"
ALL_TEXTS = "all"  # means the texts of all corpora, in tables with a column `corpus`


@dataclass(frozen=True)
class ModelSize:
    """Layers, attention heads per layer and embedding size of a model (leakage, Table 1)."""

    layers: int
    heads: int
    width: int

    def parameters(self, vocabulary: int) -> int:
        """Return the number of weights: two embeddings, layers with biases, and the last norm."""
        layer = 12 * self.width**2 + 13 * self.width
        return 2 * vocabulary * self.width + self.layers * layer + 2 * self.width

    def flops_per_token(self, vocabulary: int, context_window: int) -> int:
        """Return the number of floating-point operations of training on one token.

        They are six per weight in a matrix product (all but the input embedding), and those of
        attention without a causal mask.
        """
        products = self.parameters(vocabulary) - vocabulary * self.width
        return 6 * products + 12 * self.layers * self.width * context_window


def model_name(size: str, steps: int = 0) -> str:
    """Return the catalog name of a trained model after a number of fine-tuning steps."""
    return f"{PREFIX}{size}" + (f"-ft{steps}" if steps else "")


def fine_tuning_steps(training: Mapping[str, Any]) -> list[int]:
    """Return the numbers of fine-tuning steps after which a model is saved, beginning with 0."""
    return [0, *training["fine_tuning"]["steps"]]


def trained_models(training: Mapping[str, Any], corpora: list[str]) -> dict[str, dict[str, Any]]:
    """Return catalog entries of source `trained`, by name, for every size and its saved states.

    States are saved after each number of fine-tuning steps and after each of `keep_checkpoints`
    steps of `training`, the section of the settings. The default unigrams of a model with its own
    tokenizer are counted over the text that it was trained on (`training_STEPS`), and the first of
    the text corpora is another source.
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
            entries[f"{PREFIX}{name}-step{step}"] = {**entry, **state, "unigrams": unigrams(step)}
    return entries
