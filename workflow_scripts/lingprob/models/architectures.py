"""Architectures of our own, which transformers learns of before it loads a folder."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

# By `model_type` of config.json, the module that registers it. It is named, not imported: its code
# counts in the rule that makes such a model, and is none of what scores the others.
OWN = {"ngram": "lingprob.ngrams.model"}


def register(directory: Path) -> None:
    """Make transformers know what the folder of a model holds, if that is ours.

    A config.json that is none is left to transformers.
    """
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        module = OWN.get(str(config.get("model_type")))
    except (OSError, ValueError, AttributeError):
        return
    if module is not None:
        importlib.import_module(module)
