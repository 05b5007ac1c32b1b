"""What the site tells of a run's settings and catalog: models, data, conventions, what is new.

Rules read this module, so it imports nothing that only a job needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lingprob.catalog import Catalog
from lingprob.workflow.settings import keys, value_of

Settings = dict[str, Any]
OF_MODELS = ("source", "repository", "revision", "licence", "citation", "dtype", "note")
OF_DATASETS = ("title", "kind", "access", "licence", "citation")


def run_facts(settings: Settings, catalog: Catalog) -> dict[str, Any]:
    """Return what the page of methods tells, as plain values.

    Returns:
        models: OF_MODELS of each model, by name; datasets: OF_DATASETS and `files` (name and
        sha256) of each that the settings name, by name; conventions: key, value and description of
        each setting that changes results; own: the names of the user's models and data sets.
    """
    return {
        "seed": settings["seed"],
        "dtype": settings["scoring"]["dtype"],
        "models": {
            name: {key: entry[key] for key in OF_MODELS if entry.get(key)}
            for name, entry in catalog.models.items()
        },
        "datasets": {name: _of_dataset(catalog.dataset(name)) for name in named(settings, catalog)},
        "conventions": list(_conventions(settings)),
        "own": {kind: sorted(settings[kind]) for kind in ("models", "datasets")},
    }


def named(settings: Settings, catalog: Catalog) -> list[str]:
    """Return the data sets that settings name, with the texts that reading times are of."""
    entries = ("models", "datasets", "embeddings")
    found = {name for key, part in settings.items() if key not in entries
             for name in _words(part) if name in catalog.datasets}  # fmt: skip
    found |= {catalog.dataset(name)["texts"] for name in found if "texts" in catalog.dataset(name)}
    return [name for name in catalog.datasets if name in found]


def _words(part: Any) -> Iterator[str]:
    """Yield every text among nested values; of names, `corpus_NAME` is a data set's."""
    if isinstance(part, str):
        yield part.removeprefix("corpus_")
    elif isinstance(part, dict):
        for value in part.values():
            yield from _words(value)
    elif isinstance(part, list):
        for value in part:
            yield from _words(value)


def _of_dataset(entry: dict[str, Any]) -> dict[str, Any]:
    files = [(file["name"], file.get("sha256", "")) for file in entry.get("files", [])]
    return {**{key: entry[key] for key in OF_DATASETS if entry.get(key)}, "files": files}


def _conventions(settings: Settings) -> Iterator[tuple[str, str, str]]:
    for key in keys():
        if key.convention:
            yield key.path, _plain(value_of(settings, key)), key.description


def _plain(value: Any) -> str:
    """Return a setting in words."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value)) or "none"
    return {None: "none", True: "yes", False: "no"}.get(value, str(value))
