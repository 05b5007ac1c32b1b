"""Trained models in the order of what they had seen of their training, size by size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FEWEST = 2  # steps of a size


def trajectories(
    models: Mapping[str, Mapping[str, Any]], training: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the models that show how a size's training went, by name, size by size and in order.

    Of each: size, parameters, training_step (after how many steps it was kept), tokens (that these
    steps predicted, as the log of a training counts them) and whether it is `finished`. Models that
    were fine-tuned or trained with passages are none of these; nor are those of a size that was
    kept after fewer than two steps, its end included.

    Args:
        models: catalog entries, by name.
        training: the section `training` of the settings.
    """
    tokens = training["batch_size"] * training["context_window"]
    steps: dict[str, dict[int, str]] = {}
    for name, entry in models.items():
        if entry["source"] == "trained" and not entry["fine_tuning_steps"] | entry.get("copies", 0):
            step = entry.get("training_step", training["steps"])
            # What was kept after the last step is the finished model over again.
            steps.setdefault(entry["size"], {}).setdefault(step, name)
    return {
        name: {
            "size": size,
            "parameters": models[name]["parameters"],
            "training_step": step,
            "tokens": step * tokens,
            "finished": step == training["steps"],
        }
        for size, kept in steps.items()
        if len(kept) >= FEWEST
        for step, name in sorted(kept.items())
    }
