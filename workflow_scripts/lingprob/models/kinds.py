"""The kind of model that a folder's files describe, read without loading any weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError

# Endings of `architectures` in config.json for models trained to fill in masks. BERT's first
# checkpoints have the second.
MASKED = ("ForMaskedLM", "ForPreTraining")
# Endings for models whose output is no distribution over tokens, and what each model is.
OTHER_KINDS = {
    "ElectraForPreTraining": "a discriminator of replaced tokens",
    "ForSequenceClassification": "a classifier or reward model",
    "ForTokenClassification": "a classifier of tokens",
    "ForMultipleChoice": "a model of multiple choice",
    "ForQuestionAnswering": "a model that answers questions by spans",
    "ForNextSentencePrediction": "a classifier of sentence pairs",
    "RewardModel": "a reward model",
    "Model": "a model without an output layer over tokens, such as an embedding model",
}
# Packages that transformers needs to read weights of fewer bits, by `quant_method`.
QUANTISERS = {
    "bitsandbytes": "bitsandbytes",
    "gptq": "gptqmodel",
    "awq": "gptqmodel",
    "aqlm": "aqlm",
    "hqq": "hqq",
    "compressed-tensors": "compressed-tensors",
}


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file, and nothing if it is absent or is not a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def is_masked(directory: str | Path) -> bool:
    """Say whether a folder's config.json describes a masked language model."""
    names = architectures_of(Path(directory))
    return any(name.endswith(MASKED) and name not in OTHER_KINDS for name in names)


def architectures_of(directory: Path) -> list[str]:
    """Return the names under `architectures` in a folder's config.json."""
    named = read_json(directory / "config.json").get("architectures")
    return [str(name) for name in named] if isinstance(named, list) else []


def refuse_other_kinds(directory: Path) -> None:
    """Raise LingprobError if a folder's config.json describes no causal or masked model."""
    config = read_json(directory / "config.json")
    names = architectures_of(directory)
    if config.get("is_encoder_decoder") is True:
        raise LingprobError(
            f"{directory}: an encoder-decoder ({', '.join(names) or config.get('model_type')}), "
            "whose probabilities are those of an output given an input. Choose a causal or masked "
            "language model."
        )
    for name in names:
        kind = next((kind for end, kind in OTHER_KINDS.items() if name.endswith(end)), None)
        if kind is not None and not name.endswith(("HeadModel", "HeadsModel")):
            raise LingprobError(
                f"{directory}: {kind} (`architectures` in config.json is {name}), so it gives no "
                "probabilities of tokens. Choose the language model that it was made from."
            )


def quantisation_of(directory: Path) -> tuple[str, str] | None:
    """Return the method by which a folder's weights are quantised, and the package it needs."""
    method = read_json(directory / "config.json").get("quantization_config")
    if not isinstance(method, dict):
        return None
    name = str(method.get("quant_method", "unknown"))
    return name, QUANTISERS.get(name, name)


def stated_base(directory: Path) -> Path | None:
    """Return the folder that an adapter's adapter_config.json names as its base model, if any."""
    named = read_json(directory / "adapter_config.json").get("base_model_name_or_path")
    return Path(str(named)).expanduser() if named else None
