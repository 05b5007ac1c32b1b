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

        Six a weight that takes part in a product (the input embedding is looked up), and the
        attention's, counted without its causal mask as model-FLOPs utilisation usually is.
        """
        products = self.parameters(vocabulary) - vocabulary * self.width
        return 6 * products + 12 * self.layers * self.width * context_window


def model_name(size: str, steps: int = 0) -> str:
    """Return the catalog name of a trained model after so many fine-tuning steps."""
    return f"{PREFIX}{size}" + (f"-ft{steps}" if steps else "")


def fine_tuning_steps(training: Mapping[str, Any]) -> list[int]:
    """Return the numbers of fine-tuning steps after which there is a model, 0 first."""
    return [0, *training["fine_tuning"]["steps"]]


def trained_models(training: Mapping[str, Any], corpora: list[str]) -> dict[str, dict[str, Any]]:
    """Return a catalog entry of source `trained` for every size and number of fine-tuning steps.

    Args:
        training: the section `training` of the settings.
        corpora: text corpora that unigrams of an own tokenizer may be counted over.
    """
    own = training["tokenizer"] == "own"
    unigrams = [f"corpus_{corpora[0]}"] if own else ["pile_published"]
    entries = {}
    for name, size in training["sizes"].items():
        title = name.replace("-", " ").capitalize()
        for steps in fine_tuning_steps(training):
            entries[model_name(name, steps)] = {
                "title": f"{title}, fine-tuned {steps} steps" if steps else title,
                "family": "trained",
                "source": "trained",
                "size": name,
                "fine_tuning_steps": steps,
                "parameters": ModelSize(**size).parameters(training["vocabulary"]),
                "tokenizer": "trained" if own else training["tokenizer"],
                "context_window": training["context_window"],
                "unigrams": unigrams,
            }
    return entries
