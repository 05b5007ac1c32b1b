"""What nobody can fetch for a user and has not been placed: left out, so that all else can run."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog, Entry
from lingprob.io.download import MIRROR_VARIABLE, RemoteFile, may_be_had

# Settings that list data sets or models, and whether a list may become empty.
LISTS = {
    ("morcela", "models"): False,
    ("morcela", "datasets"): False,
    ("morcela", "predicted"): True,
    ("overlap", "texts"): False,
    ("overlap", "corpora"): False,
    ("overlap", "indexed"): True,
    ("overlap", "chunk_corpora"): False,
    ("reading", "datasets"): False,
    ("reading", "models"): False,
    ("reading", "unigram_corpora"): False,
    ("string_probability", "models"): False,
    ("string_probability", "prediction_1"): True,
    ("string_probability", "prediction_2"): True,
    ("string_probability", "prediction_3"): False,
    ("string_probability", "pooled"): True,
    ("string_probability", "sampled"): True,
    ("audit", "datasets"): False,
    ("audit", "corpora"): True,
    ("context", "models"): False,
    ("context", "datasets"): False,
}
# Settings that name a corpus: what to set to which value without it.
CORPORA: dict[tuple[str, str], tuple[str, Any]] = {
    ("morcela", "frequency_corpus"): ("frequency_models", []),
    ("overlap", "ngrams"): ("ngrams", None),
}
# Jobs inherit what was decided at the start: a file placed during a run changes nothing in it.
VARIABLE = "LINGPROB_LEFT_OUT"


@dataclass(frozen=True)
class LeftOut:
    """A data set or model that is left out: the settings that name it, and how to get it."""

    name: str
    named_in: tuple[str, ...]
    remedy: str

    def __str__(self) -> str:
        return f"Left out: {self.name} ({', '.join(self.named_in)}). {self.remedy}"


def leave_out(settings: dict[str, Any], catalog: Catalog) -> tuple[dict[str, Any], list[LeftOut]]:
    """Return the settings without the data sets and models that cannot be had, and which these are.

    A data set of manual or gated access is left out if one of its files lies neither in resources/
    nor in the mirror; reading times without their texts, too; a gated model that is not there yet
    if there is no token. Whether a file is right is for its download to say. Where nothing would
    remain of a list that must not be empty, or with `missing: stop`, the names stay, and a job that
    needs them stops and says how to get them.
    """
    settings = copy.deepcopy(settings)
    if settings["missing"] == "stop":
        return settings, []
    absent = _absent(settings, catalog)
    named_in: dict[str, list[str]] = {}
    for (section, key), may_be_empty in LISTS.items():
        names = settings[section][key]
        kept = [name for name in names if name not in absent]
        if kept or may_be_empty:
            settings[section][key] = kept
            for name in absent.intersection(names):
                named_in.setdefault(name, []).append(f"{section}.{key}")
    for (section, key), (dependent, value) in CORPORA.items():
        if (name := settings[section][key]) in absent:
            settings[section][dependent] = value
            named_in.setdefault(name, []).append(f"{section}.{key}")
    found = [
        LeftOut(name, tuple(named_in[name]), _remedy(name, catalog)) for name in sorted(named_in)
    ]
    return settings, found


def announce(left_out: Sequence[LeftOut]) -> None:
    """Print what is left out, in the process that the user started, and hand it on to the jobs."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = " ".join(item.name for item in left_out)
        for item in left_out:
            print(item, file=sys.stderr)


def note_on(left_out: Sequence[LeftOut], paper: str) -> str:
    """Return what a paper's figures, tables and scorecard say of what was left out of it.

    Nothing where nothing was. A training is on what `overlap` searches and reads its texts.
    """
    section = "overlap" if paper == "training" else paper
    names = [
        item.name
        for item in left_out
        if any(setting.partition(".")[0] == section for setting in item.named_in)
    ]
    return f"Left out, for it is not there: {', '.join(names)}." if names else ""


def _absent(settings: dict[str, Any], catalog: Catalog) -> set[str]:
    if VARIABLE in os.environ:
        return set(os.environ[VARIABLE].split())
    named = {name for section, key in LISTS for name in settings[section][key]}
    named |= {settings[section][key] for section, key in CORPORA}
    return {name for name in named if not _is_there(name, catalog)}


def _is_there(name: str | None, catalog: Catalog) -> bool:
    if name in catalog.models:
        return not catalog.models[name].get("gated") or _may_be_fetched(name)
    sets = _with_texts(name, catalog) if name in catalog.datasets else {}
    return all(
        may_be_had(
            RemoteFile(file["name"], *map(file.get, ("sha256", "bytes", "mirror", "url"))),
            Path("resources/datasets", folder),
            mirror=os.environ.get(MIRROR_VARIABLE),
            dataset=folder,
        )
        for folder, entry in sets.items()
        for file in entry.get("files", [])
    )


def _may_be_fetched(model: str) -> bool:
    """Whether a gated model is there already, or there is a token or a hub of the user's own."""
    from huggingface_hub import get_token

    there = Path("resources/models", model, "manifest.json").exists()
    return there or "HF_ENDPOINT" in os.environ or get_token() is not None


def _with_texts(name: str, catalog: Catalog) -> dict[str, Entry]:
    """Those of a data set and the texts that it was measured on that are not open, by folder."""
    entry = catalog.dataset(name)
    both = [name, entry["texts"]] if entry["kind"] == "reading_times" else [name]
    entries = {other: catalog.dataset(other) for other in both}
    return {
        entry.get("files_of", other): entry
        for other, entry in entries.items()
        if entry.get("access") in ("manual", "gated")
    }


def _remedy(name: str, catalog: Catalog) -> str:
    if name in catalog.models:
        address = f"https://huggingface.co/{catalog.models[name]['repository']}"
        return f"Accept its licence at {address} and set HF_TOKEN."
    remedies = []
    for folder, entry in _with_texts(name, catalog).items():
        files = [file["name"] for file in entry["files"]]
        more = f" and {len(files) - 1} more" if files[1:] else ""
        remedies.append(
            f"{' '.join(entry.get('instructions', '').split())} "
            f"(resources/datasets/{folder}/{files[0]}{more})"
        )
    return " ".join(remedies)
