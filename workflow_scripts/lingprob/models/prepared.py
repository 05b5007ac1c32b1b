"""Models and tokenizers that lie ready in a local directory, by the manifest that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lingprob.models.safe_files import ONLY_DATA, unloadable

if TYPE_CHECKING:
    from lingprob.models.loading import LanguageModel


def load_prepared(
    manifest: str | Path,
    entry: dict[str, Any],
    device: str = "auto",
    dtype: str = "auto",
    device_map: str = "single",
) -> tuple[LanguageModel, dict[str, str]]:
    """Load a prepared model; return it with the provenance that its results carry.

    `dtype` auto is what the entry names for the device, `context_window` the entry's if any.
    """
    import torch

    from lingprob.models.loading import load_language_model

    content = read_manifest(manifest)
    if dtype == "auto":
        on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
        dtype = entry.get("dtype", {}).get("cuda" if on_gpu else "cpu", "auto")
    lm = load_language_model(
        content["directory"],
        device=device,
        dtype=dtype,
        device_map=device_map,
        context_window=entry.get("context_window"),
    )
    kept = {key: content[key] for key in ("model", "origin", "tokenizer_sha256")}
    return lm, {**kept, "dtype": str(lm.dtype), "device": lm.device.type}


def read_manifest(path: str | Path) -> dict[str, str]:
    """Return what `prepare_model` wrote."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def load_tokenizer(manifest: str | Path) -> tuple[Any, int]:
    """Load a prepared model's tokenizer without its weights; return it and the number of logits."""
    from transformers import AutoConfig, AutoTokenizer

    directory = read_manifest(manifest)["directory"]
    try:
        config = AutoConfig.from_pretrained(directory, **ONLY_DATA)
        tokenizer = AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
    except Exception as error:  # whatever transformers makes of a stranger's files
        raise unloadable(Path(directory), error) from error
    return tokenizer, int(config.get_text_config().vocab_size)
