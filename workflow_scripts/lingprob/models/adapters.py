"""Adapters such as LoRA, which change the weights of a base model in another folder."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError
from lingprob.models.kinds import read_json, stated_base


def base_of(directory: Path) -> Path | None:
    """Return the folder of the base model if `directory` holds an adapter, and None otherwise.

    Raises LingprobError unless the adapter can be merged here: its base model must be a folder on
    this machine, and the package peft must be installed.
    """
    if not (directory / "adapter_config.json").is_file():
        return None
    config = read_json(directory / "adapter_config.json")
    base = stated_base(directory) or Path("unknown")
    by_hand = (
        "merge it and save the result: PeftModel.from_pretrained(BASE, FOLDER).merge_and_unload()"
        ".save_pretrained(NEW) of peft, and load NEW."
    )
    if (directory / "config.json").is_file() or not (base / "config.json").is_file():
        raise LingprobError(
            f"{directory}: a {config.get('peft_type', 'PEFT')} adapter of {str(base)!r} "
            "(adapter_config.json), and the weights of its base model alone are not it. First "
            f"{by_hand}"
        )
    if find_spec("peft") is None:
        raise LingprobError(
            f"{directory}: a {config.get('peft_type', 'PEFT')} adapter of {str(base)!r}, which "
            f"needs the package peft: `pip install peft`. Or {by_hand}"
        )
    return base


def merge(model: Any, directory: Path) -> Any:
    """Return a base model with the adapter of a folder merged into its weights."""
    from peft import PeftModel

    adapted = PeftModel.from_pretrained(model, str(directory), local_files_only=True)
    return adapted.merge_and_unload()
