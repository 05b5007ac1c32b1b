"""Whether a model in a folder predicts from left to right or fills in masks."""

from __future__ import annotations

import json
from pathlib import Path

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
