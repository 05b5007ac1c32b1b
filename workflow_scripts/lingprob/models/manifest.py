"""Manifests: where a prepared model's files are, where they came from, and what is in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lingprob.errors import LingprobError
from lingprob.io.files import identity_of, sha256_of, write_text
from lingprob.models.kinds import read_json, stated_base
from lingprob.models.safe_files import TOKENIZER_FILES


def write_manifest(name: str, source: str, origin: str, directory: Path, manifest: Path) -> None:
    """Write the manifest (JSON) of the model whose files lie in `directory`.

    All files are read once for their digest, about a minute for 100 GB.
    """
    content = {
        "model": name,
        "source": source,
        "origin": origin,
        "directory": seen_from(manifest, directory),
        "tokenizer_sha256": tokenizer_digest(directory),
        "files_digest": files_digest(directory),
    }
    write_text(json.dumps(content, indent=2) + "\n", manifest)


def read_manifest(path: str | Path) -> dict[str, str]:
    """Return what a manifest says, its directory as seen from the working folder.

    Raises LingprobError if there is no such directory.
    """
    content: dict[str, str] = read_json(Path(path))
    if "directory" not in content:
        raise LingprobError(
            f"{path}: no manifest of a model, or a damaged one. Delete this file and run again; "
            "the model's own files are kept."
        )
    directory = os.path.normpath(Path(path).parent / content["directory"])
    if not Path(directory).is_dir():
        raise LingprobError(
            f"{path}: the model's files are not in {directory}. Put them back, or delete the "
            "manifest to have them fetched again."
        )
    return {**content, "directory": directory}


def refuse_changed_files(manifest: str | Path, content: dict[str, str]) -> None:
    """Raise LingprobError if a model's files are no longer those that its manifest was made for.

    A damaged disk or a replaced file would give other numbers without a word.
    """
    directory = Path(content["directory"])
    if files_digest(directory) != content.get("files_digest"):
        raise LingprobError(
            f"{directory}: the model's files have changed since {manifest} was written, or are "
            "damaged. Restore them, or delete the manifest to have the model prepared again."
        )


def seen_from(manifest: Path, directory: Path) -> str:
    """Return how a manifest names a directory: from its own folder, so that both may be moved.

    A directory elsewhere that the user names from the root keeps that name.
    """
    if directory.is_absolute() and not directory.is_relative_to(manifest.parent):
        return str(directory)
    return os.path.relpath(directory, manifest.parent)


def model_files(directory: Path) -> list[Path]:
    """Return a model's files in the order of their names: all in its directory but hidden ones.

    Its manifest does not count: it is made of them. None if there is no such directory.
    """
    if not directory.is_dir():
        return []
    found = sorted(path for path in directory.iterdir() if path.is_file())
    return [path for path in found if path.name[0] != "." and path.name != "manifest.json"]


def files_digest(directory: Path) -> str:
    """Return a digest of the names and contents of a model's files: weights, tokenizer and all."""
    files = {path.name: path for path in model_files(directory)}
    if (base := stated_base(directory)) is not None:
        files |= {f"base/{path.name}": path for path in model_files(base)}
    return identity_of({name: sha256_of(path) for name, path in files.items()})


def tokenizer_digest(directory: Path) -> str:
    """Return the sha256 of the tokenizer's main file, or '' if it has none of the known names."""
    for name in TOKENIZER_FILES:
        if (directory / name).is_file():
            return sha256_of(directory / name)
    return ""
