"""Whether a model in a folder predicts from left to right or fills in masks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError

# How config.json calls what was trained to fill in masks; BERT's first checkpoints have the second.
ARCHITECTURES = ("ForMaskedLM", "ForPreTraining")


def is_masked(directory: str | Path) -> bool:
    """Say whether a folder's config.json is of a masked language model."""
    try:
        config = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))
        named = config.get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return False  # who loads the folder says what is wrong with it
    return any(str(name).endswith(ARCHITECTURES) for name in named)


def refuse_masked(name: str, entry: dict[str, Any]) -> None:
    """Raise LingprobError for the entry of a folder that has a masked model.

    The rules read a model from left to right, and such a one gives numbers then that mean nothing.
    """
    if entry["source"] == "local" and is_masked(entry["path"]):
        raise LingprobError(
            f"models.{name}.path: {entry['path']} has a masked model (`architectures` in its "
            "config.json), and the rules read models from left to right. `lingprob.load` takes it; "
            "or bring its log-probabilities as scores (`source: scores`)."
        )
