"""What stands in for what: a scale's settings and catalog with less of all that is large."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog, Entry, read_yaml
from lingprob.io.download import MIRROR_VARIABLE
from lingprob.rehearsal import STAMP

WITH_FILES = ("hub", "package", "local")


def rehearse(settings: dict[str, Any], catalog: Catalog) -> tuple[dict[str, Any], Catalog]:
    """Return settings and catalog of a rehearsal; jobs and their names stay the scale's.

    Every model with weights becomes a tiny random one of its architecture, every data set that
    cannot be had, or is large, one that is made up in its format; of stimuli a sample is drawn;
    steps, samples and draws are few. The scale is marked with STAMP, wherever it is stated.
    """
    less = read_yaml("rehearsal.yaml")
    changed = copy.copy(catalog)
    changed.models = {name: stand_in_model(entry, less) for name, entry in catalog.models.items()}
    changed.embeddings = {
        name: stand_in_embedding(name, entry, less) for name, entry in catalog.embeddings.items()
    }
    changed.datasets = {
        name: stand_in_dataset(name, entry, less) for name, entry in catalog.datasets.items()
    }
    settings = fewer(settings, less["settings"])
    sizes = dict.fromkeys(settings["training"]["sizes"], less["trained_size"])
    settings["training"] = {**settings["training"], "sizes": sizes}
    changed.models |= anchored(changed.models, settings["models"])
    changed.datasets |= anchored(changed.datasets, settings["datasets"])
    return {**settings, "scale": f"{settings['scale']}, {STAMP}"}, changed


def anchored(entries: Mapping[str, Entry], own: Iterable[str]) -> dict[str, Entry]:
    """Return the user's own entries with paths that hold in the rehearsal's folder, too."""
    found = {}
    for name in own:
        entry = entries[name]
        if "dataset" not in entry:
            path = {"path": os.path.abspath(entry["path"])} if "path" in entry else {}
            paths = {texts: os.path.abspath(p) for texts, p in entry.get("paths", {}).items()}
            entry = {**entry, **path, **({"paths": paths} if paths else {})}
        found[name] = entry
    return found


def fewer(settings: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which no number is above its limit; other values are put in place."""
    result = dict(settings)
    for key, limit in limits.items():
        value = settings.get(key)
        if isinstance(limit, dict):
            result[key] = fewer(value or {}, limit)
        elif isinstance(value, int) and isinstance(limit, int):
            result[key] = min(value, limit)
        else:
            result[key] = limit
    return result


def stand_in_model(entry: Entry, less: Mapping[str, Any]) -> Entry:
    """Return a model's entry with what its stand-in is made of, or as it is if it has no files."""
    if entry["source"] not in WITH_FILES:
        return entry
    masked = entry.get("kind") == "masked"
    kinds = ("word_pieces", "bert", 512) if masked else ("byte_pairs", "llama", 2048)
    kind, architecture, context_window = kinds
    described = {
        "architecture": less["architectures"].get(entry["family"], architecture),
        "context_window": entry["context_window"] or context_window,
        "tokenizer": less["tokenizers"].get(entry["tokenizer"], {"kind": kind}),
        "predicts": "masked" if masked else "next",
    }
    return {**entry, "source": "stand_in", "stand_in": described}


def stand_in_embedding(name: str, entry: Entry, less: Mapping[str, Any]) -> Entry:
    """Return the entry of a sentence-embedding model with what its stand-in is made of."""
    described = {
        "architecture": less["embeddings"].get(name, "bert"),
        "context_window": entry["context_window"],
        "tokenizer": {"kind": "word_pieces"},
        "predicts": "nothing",
    }
    return {**entry, "source": "stand_in", "stand_in": described}


def stand_in_dataset(name: str, entry: Entry, less: Mapping[str, Any]) -> Entry:
    """Return a data set's entry; files that are made up say by which writer (`stand_in`).

    Expected counts are those of real files and go where some are made up.
    """
    if entry["kind"] == "stimuli":
        entry = {**entry, "rehearsed_pairs": less["pairs"]}
    streamed = entry.get("source") == "hub" and entry["kind"] == "corpus"
    always = "parquet" if streamed else less["always_made_up"].get(name)
    writer = always or less["made_up"].get(name)
    files = [
        {"name": file["name"], "stand_in": writer}
        if always or (writer and not is_small_and_public(file) and not in_mirror(name, file))
        else file
        for file in entry.get("files", [])
    ]
    if files == entry.get("files", []):
        return entry
    counts = {"items", "pairs", "words", "subjects"} if not always else set()
    return {key: value for key, value in entry.items() if key not in counts} | {"files": files}


def is_small_and_public(file: Entry) -> bool:
    """Tell whether a file is fetched as in the run itself: the catalog knows it whole."""
    return "sha256" in file and "url" in file


def in_mirror(dataset: str, file: Entry) -> bool:
    """Tell whether a mirror that is a folder has a file."""
    mirror = os.environ.get(MIRROR_VARIABLE, "")
    path = Path(mirror).expanduser() / file.get("mirror", f"{dataset}/{file['name']}")
    return bool(mirror) and "://" not in mirror and path.is_file()
