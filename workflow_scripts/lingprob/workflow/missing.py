"""Missing data sets and models that a run leaves out, and the n-gram model of chance levels."""

import copy
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from annotated_types import MinLen

from lingprob.catalog import Catalog, Entry
from lingprob.errors import LingprobError
from lingprob.io.parsers import TOKEN_ROWS
from lingprob.ngrams.lmplz import has_kenlm
from lingprob.workflow.settings import keys, value_of

# Settings that name one corpus. If it is missing, settings of the section get these values.
CORPORA: dict[str, dict[str, Any]] = {
    "morcela.frequency_corpus": {"frequency_models": []},
    "overlap.ngrams": {"ngrams": None, "no_chance_level": "the data of overlap.ngrams are missing"},
}
PAPERS_CORPUS = "gigaword"  # leakage, §2.1
COUNTABLE = 200_000_000  # bytes of the largest corpus whose n-grams are counted in memory
TOO_LARGE = (
    "no corpus of text is small enough for n-grams to be counted in memory, and KenLM is not there "
    "(lmplz and build_binary on the PATH, and the package kenlm)"
)
# The names of the left-out parts, for jobs. A file that arrives during a run changes nothing in it.
VARIABLE = "LINGPROB_LEFT_OUT"
MIRROR_VARIABLE = "LINGPROB_MIRROR"


@dataclass(frozen=True)
class LeftOut:
    """A data set or model that is left out, the settings that name it, and the way to get it."""

    name: str
    named_in: tuple[str, ...]
    remedy: str

    def __str__(self) -> str:
        return f"Left out: {self.name} ({', '.join(self.named_in)}). {self.remedy}"


def leave_out(settings: dict[str, Any], catalog: Catalog) -> tuple[dict[str, Any], list[LeftOut]]:
    """Return the settings without missing data sets and models, and a list of these by name.

    A data set of manual or gated access is missing if one of its files is neither in resources/ nor
    in the mirror. Reading times are also missing if their texts are. A gated model is missing if it
    has not been fetched and there is no token for the hub. A list that must not become empty keeps
    its names. With `missing: stop`, every list keeps its names. Jobs that need missing data then
    fail with instructions.
    """
    settings = copy.deepcopy(settings)
    if settings["missing"] == "stop":
        return settings, []
    named_in: dict[str, list[str]] = {}
    for key in keys():
        names = value_of(settings, key)
        if not key.names or not (isinstance(names, list) or key.path in CORPORA):
            continue
        listed = names if isinstance(names, list) else [names]
        kept = [name for name in listed if not _is_absent(name, catalog)]
        needed = any(isinstance(limit, MinLen) for limit in key.field.metadata)
        if not kept and needed and key.path not in CORPORA:
            continue
        section, _, option = key.path.partition(".")
        if kept != listed:
            settings[section] |= CORPORA.get(key.path, {option: kept})
        for name in set(listed) - {*kept}:
            named_in.setdefault(name, []).append(key.path)
    found = [LeftOut(name, tuple(named_in[name]), _remedy(name, catalog)) for name in named_in]
    return settings, sorted(found, key=lambda item: item.name)


def chance_level(overlap: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Return the settings of the n-gram model that gives overlaps their chance level.

    `ngrams` is its corpus or file. `auto` is replaced by the paper's corpus if its file is there,
    and otherwise by the first searched corpus of text. Without KenLM, the corpus must be small
    enough to be counted in memory. `no_chance_level` is the reason if there is no model, or "".

    Raises LingprobError for `auto` if no searched corpus is text.
    """
    if overlap["ngrams"] != "auto":
        return {"no_chance_level": "" if overlap["ngrams"] else "overlap.ngrams is null"}
    texts = [n for n in overlap["corpora"] if catalog.dataset(n)["parser"] != TOKEN_ROWS]
    if is_placed(PAPERS_CORPUS, catalog):
        texts = [PAPERS_CORPUS, *texts]
    if not texts:
        raise LingprobError(
            "overlap.ngrams: none of overlap.corpora has text for a 5-gram model. "
            f"Name a corpus, place {PAPERS_CORPUS}, or set null."
        )
    if not has_kenlm():
        texts = [name for name in texts if _is_countable(catalog.dataset(name))]
    if not texts:
        return {"ngrams": None, "no_chance_level": TOO_LARGE}
    return {"ngrams": texts[0], "no_chance_level": ""}


def _is_countable(entry: Entry) -> bool:
    """Return whether a corpus can be counted in memory, which is assumed of a user's own files."""
    return sum(file.get("bytes", COUNTABLE + 1) for file in entry.get("files", [])) <= COUNTABLE


def is_placed(corpus: str, catalog: Catalog) -> bool:
    """Return whether all files of a corpus are in resources/ or in a mirror that is a folder."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    folders = [Path("resources/datasets"), *([Path(mirror).expanduser()] if mirror else [])]
    files = [Path(corpus, file["name"]) for file in catalog.dataset(corpus)["files"]]
    return all(any((folder / file).is_file() for folder in folders) for file in files)


def may_be_had(folder: str, file: Entry) -> bool:
    """Return whether a file of a data set is in resources/ or in the mirror, or has a public URL.

    Nothing is fetched. If the mirror is a URL, its server is asked for the file's header.
    """
    if file.get("url") or Path("resources/datasets", folder, file["name"]).exists():
        return True
    mirror, path = os.environ.get(MIRROR_VARIABLE), file.get("mirror", f"{folder}/{file['name']}")
    if not mirror or not mirror.startswith(("http://", "https://")):
        return bool(mirror) and (Path(str(mirror)).expanduser() / path).exists()
    import requests  # slow to import, and few mirrors are URLs

    address = f"{mirror.rstrip('/')}/{quote(path)}"
    try:
        with requests.get(address, stream=True, timeout=10) as response:  # not its content
            return bool(response.ok)
    except requests.RequestException:
        return False


def _is_absent(name: str | None, catalog: Catalog) -> bool:
    if VARIABLE in os.environ:
        return name in os.environ[VARIABLE].split()
    if name in catalog.models:
        return bool(catalog.models[name].get("gated")) and not _may_be_fetched(name)
    sets = _with_texts(name, catalog) if name in catalog.datasets else {}
    files = [(folder, file) for folder, entry in sets.items() for file in entry.get("files", [])]
    return not all(may_be_had(folder, file) for folder, file in files)


def _may_be_fetched(model: str) -> bool:
    """Return whether a gated model was fetched or can be, with a token or from another hub."""
    from huggingface_hub import get_token

    there = Path("resources/models", model, "manifest.json").exists()
    return there or "HF_ENDPOINT" in os.environ or get_token() is not None


def _with_texts(name: str, catalog: Catalog) -> dict[str, Entry]:
    """Return the entries of a data set and of its texts whose access is not open, by folder."""
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
        said, (first, *more) = " ".join(entry.get("instructions", "").split()), entry["files"]
        others = f" and {len(more)} more" if more else ""
        remedies.append(f"{said} (resources/datasets/{folder}/{first['name']}{others})")
    return " ".join(remedies)
