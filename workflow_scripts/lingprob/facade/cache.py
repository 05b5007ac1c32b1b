"""Prepared models are kept in one folder, laid out as a workflow's: each is prepared once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from filelock import FileLock

from lingprob.catalog import Entry
from lingprob.errors import LingprobError
from lingprob.io.files import write_text
from lingprob.models.kinds import is_masked
from lingprob.models.manifest import files_digest, model_files, read_manifest, write_manifest
from lingprob.models.prepare import origin_of, prepare_model

# Beside a manifest: sizes and times of the files whose digest it has.
SEEN = ".seen.json"
# Sources of models that rules make from text: nothing can be fetched.
MADE = ("trained", "ngram")


def cache_folder(given: str | Path | None = None) -> Path:
    """Return where models are kept: as given, LINGPROB_CACHE, or `lingprob` in the user's cache.

    The folder in which a workflow ran will do: its models and unigrams are used.
    """
    chosen = given or os.environ.get("LINGPROB_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "lingprob"


def prepared_model(name: str, entry: Entry, manifest: Path) -> Path:
    """Return the manifest of a model, which is prepared if it is not there as its entry says.

    A model's files are known by their digest, which is taken anew where a size or time has changed.

    Raises LingprobError as `prepare_model`, for a model without weights, and for one that a
    workflow has to make first.
    """
    if entry["source"] == "scores":
        raise LingprobError(
            f"model {name!r} is a file of log-probabilities ({entry.get('path')}): it has no "
            "weights to score other sentences by. Choose another."
        )
    if is_current(manifest, entry):
        return manifest
    if entry["source"] in MADE:
        raise LingprobError(
            f"model {name!r} is made by the workflow and not in {manifest.parent}. Run `snakemake "
            f"--cores 2 resources/models/{name}/manifest.json` and name the folder in which it ran "
            "as `cache`."
        )
    try:
        manifest.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(manifest.parent / ".lock"):
            if not is_current(manifest, entry):  # another process may have been here
                prepare(name, entry, manifest)
                _see(manifest, Path(read_manifest(manifest)["directory"]))
    except OSError as error:
        raise LingprobError(
            f"{manifest.parent}: models cannot be kept there ({error}). Name another folder, by "
            "`cache` or by the environment variable LINGPROB_CACHE."
        ) from error
    return manifest


def prepare(name: str, entry: Entry, manifest: Path) -> None:
    """Fetch a model and write its manifest as the rule does; a masked one is checked as such."""
    if entry["source"] != "local":
        print(f"Preparing {name}, once: it is kept in {manifest.parent}.", file=sys.stderr)
    directory = Path(entry["path"]) if entry["source"] == "local" else manifest.parent
    if entry["source"] == "hub":
        from lingprob.models.hub import fetch_snapshot

        fetch_snapshot(entry["repository"], entry["revision"], directory)
    if entry["source"] in ("hub", "local") and is_masked(directory):
        from lingprob.models.masked import check_masked_model

        check_masked_model(directory)
        write_manifest(name, entry["source"], origin_of(entry), directory, manifest)
    else:
        prepare_model(name, entry, manifest)


def is_current(manifest: Path, entry: Entry) -> bool:
    """Whether a manifest is of an entry's model, and its files are those that it was made for."""
    try:
        content = read_manifest(manifest)
    except (OSError, ValueError, KeyError, LingprobError):
        return False
    directory = Path(content["directory"])
    if entry["source"] == "local":
        same = directory.resolve() == Path(entry["path"]).resolve()
    else:
        same = entry["source"] in MADE or content.get("origin") == origin_of(entry)
    if not same:
        return False
    if _seen(manifest) == _sizes_and_times(directory):
        return True
    if files_digest(directory) != content.get("files_digest"):
        return False
    _see(manifest, directory)
    return True


def _see(manifest: Path, directory: Path) -> None:
    write_text(json.dumps(_sizes_and_times(directory)), manifest.with_name(SEEN))


def _seen(manifest: Path) -> object:
    try:
        return json.loads(manifest.with_name(SEEN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _sizes_and_times(directory: Path) -> dict[str, list[int]]:
    found = {path.name: path.stat() for path in model_files(directory)}
    return {name: [state.st_size, state.st_mtime_ns] for name, state in found.items()}
