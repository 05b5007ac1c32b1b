"""Models and tokenizers that lie ready in a local directory, by the manifest that names it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lingprob.errors import LingprobError
from lingprob.models.manifest import read_manifest, refuse_changed_files

if TYPE_CHECKING:
    from lingprob.models.loading import LanguageModel


KEPT = ("model", "origin", "tokenizer_sha256", "files_digest")


def load_prepared(
    manifest: str | Path,
    entry: dict[str, Any],
    device: str = "auto",
    dtype: str = "auto",
    device_map: str = "single",
    unknown_letters: str = "warn",
) -> tuple[LanguageModel, dict[str, str]]:
    """Load a prepared model; return it with the provenance that its results carry.

    `dtype` auto is what the entry names for the device, `context_window` the entry's if any.
    """
    import torch

    from lingprob.models.loading import load_language_model

    content = read_manifest(manifest)
    if missing := [key for key in KEPT if key not in content]:
        raise LingprobError(
            f"{manifest}: says nothing of {', '.join(missing)}, for another version wrote it. "
            "Delete it and run again; what was fetched is kept."
        )
    refuse_changed_files(manifest, content)
    if dtype == "auto":
        on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
        dtype = entry.get("dtype", {}).get("cuda" if on_gpu else "cpu", "auto")
    lm = load_language_model(
        content["directory"],
        device=device,
        dtype=dtype,
        device_map=device_map,
        context_window=entry.get("context_window"),
        unknown_letters=unknown_letters,
    )
    kept = {key: content[key] for key in KEPT}
    return lm, {**kept, "dtype": str(lm.dtype), "device": lm.device.type}
