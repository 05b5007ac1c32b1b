"""Describe a run for its pages, from settings and catalog."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog
from lingprob.site import TEMPLATES
from lingprob.workflow.names import OWN_LISTS, declared_names, own_rooms
from lingprob.workflow.settings import keys, value_of

Settings = dict[str, Any]
OF_MODELS = ("title", "source", "repository", "revision", "licence", "citation", "dtype", "note")
OF_DATASETS = ("title", "kind", "access", "licence", "citation")


def template_files() -> list[Path]:
    """Return the templates, the style sheet and the script of all pages."""
    return sorted(TEMPLATES.iterdir())


def run_facts(settings: Settings, catalog: Catalog) -> dict[str, Any]:
    """Return the facts about a run that its pages show, as plain values.

    Returns:
        The `seed`; `models`, by name (OF_MODELS, with the number format of the weights as `dtype`);
        `datasets` that the run uses, by name (OF_DATASETS and `files`, each a name and a sha256);
        `conventions` (key, value and description of each setting that changes results); `own` (the
        names of the user's models and data sets, and `rooms` with no other data).
    """
    own, shown = own_rooms(settings), {*settings["site"]["papers"]}
    unused = {*OWN_LISTS, "audit"} - shown if shown <= {*own} else ()
    models, datasets = catalog.models.items(), used(settings, catalog, unused)
    of_user = {kind: sorted(settings[kind]) for kind in ("models", "datasets")}
    return {
        "seed": settings["seed"],
        "models": {name: _of_model(one, settings["scoring"]["dtype"]) for name, one in models},
        "datasets": {name: _of_dataset(catalog.dataset(name)) for name in datasets},
        "conventions": [(key.path, json.dumps(value_of(settings, key)).strip('"'), key.description)
                        for key in keys() if key.convention],
        "own": {**of_user, "rooms": own},
    }  # fmt: skip


def facts_of_model(entry: dict[str, Any]) -> list[str]:
    """Return short facts about a model for the top of its page, without repetitions."""
    parameters = entry.get("parameters")
    facts = [
        entry.get("family_title"),
        f"{parameters:,} parameters" if parameters else None,
        entry.get("repository"),
        f"source: {entry['source']}",
        f"trained on {entry['corpus']}" if "corpus" in entry else None,
        entry.get("note"),
    ]
    return [fact for fact in dict.fromkeys(facts) if fact and fact != entry["title"]]


def used(settings: Settings, catalog: Catalog, unused: Collection[str] = ()) -> list[str]:
    """Return the data sets that a run uses, with the texts of its reading times.

    `unused` has sections of the settings that do not count.
    """
    found = {
        name.removeprefix("corpus_")
        for key, names in declared_names(settings)
        if key.path.partition(".")[0] not in unused
        for name in names
    }
    found |= {catalog.datasets[name].get("texts", name) for name in found & {*catalog.datasets}}
    return [name for name in catalog.datasets if name in found]


def _of_model(entry: dict[str, Any], asked: str) -> dict[str, Any]:
    """Return OF_MODELS of a model's entry, with `asked` as its dtype unless that is auto."""
    by_device = (f"{dtype} ({device})" for device, dtype in entry.get("dtype", {}).items())
    dtype = ", ".join(by_device) if asked == "auto" else asked
    return {**{key: entry[key] for key in OF_MODELS if entry.get(key)}, "dtype": dtype}


def _of_dataset(entry: dict[str, Any]) -> dict[str, Any]:
    files = [(file["name"], file.get("sha256", "")) for file in entry.get("files", [])]
    return {**{key: entry[key] for key in OF_DATASETS if entry.get(key)}, "files": files}
