"""Checks of the names in the settings, and the models that patterns of names choose.

Each key declares (`settings.key`) the KINDS of things that its names may refer to, such as a model
or a kind of data set. Some keys also take patterns (`pythia-*`), which may match nothing. A name or
pattern after `!` excludes its matches.
"""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog, read_datasets
from lingprob.errors import LingprobError, nearest, unknown_name
from lingprob.workflow.settings import Key, keys, value_of

# The word for each kind in messages. A name of several kinds is described by the first of them.
KINDS = {
    "stimuli": "data set of stimuli",
    "corpus": "corpus",
    "reading_texts": "data set of texts that people read",
    "reading_times": "data set of reading times",
    "tokenizer": "tokenizer",
    "unigrams": "table of unigrams",
    "surprisals": "data set of surprisals",
    "overlaps": "table of overlaps",
    "scores": "model of imported scores, without weights",
    "masked": "masked model, which reads nothing from left to right",
    "weights": "model with weights",
    "model": "model",
    "embedding": "sentence-embedding model",
    "unigram_source": "unigram source",
    "own": "tokenizer of its own (own)",
    "auto": "corpus of the run's choice (auto)",
    "file": "file",
}
# The settings that list the data sets of each paper, or of a part with its own folder of results.
OWN_LISTS = {
    "morcela": ["datasets"],
    "string_probability": ["prediction_1", "prediction_2", "prediction_3"],
    "overlap": ["texts"],
    "training": [],
    "reading": ["datasets"],
    "context": ["datasets"],
}


def own_rooms(settings: dict[str, Any]) -> list[str]:
    """Return the papers, or parts of papers, whose data sets are all the user's own.

    An entry with the name of a data set of the catalog only replaces its files, so such a data set
    is not the user's own.
    """
    own = settings["datasets"].keys() - read_datasets().keys()
    named = {
        room: {name for key in lists for name in settings[room][key]}
        for room, lists in OWN_LISTS.items()
    }
    return [room for room, names in named.items() if names and names <= own]


def check_names(settings: dict[str, Any], catalog: Catalog) -> None:
    """Raise LingprobError for the first name in the settings that is unknown or of a wrong kind.

    The message has the key, the kind of the thing with this name, and the nearest allowed names.
    """
    known = names_by_kind(catalog)
    for declared, names in declared_names(settings):
        for given in names:
            name = given.removeprefix("!") if declared.patterns else given
            if not (declared.patterns and set(name) & set("*?[")):
                _check_name(name, declared.names, known, declared.path)


def declared_names(settings: dict[str, Any]) -> Iterator[tuple[Key, list[str]]]:
    """Yield each key whose values are names, with the names in these settings."""
    for declared in keys():
        value = value_of(settings, declared)
        if declared.names and value is not None:
            names = value.values() if isinstance(value, dict) else value
            yield declared, [value] if isinstance(value, str) else list(names)


def names_by_kind(catalog: Catalog) -> dict[str, list[str]]:
    """Return {kind: names} for the catalog's things of all KINDS."""
    known: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name, entry in catalog.datasets.items():
        known[entry["kind"]].append(name)
    for name, entry in catalog.models.items():
        with_weights = "masked" if catalog.is_masked(name) else "weights"
        known["scores" if entry["source"] == "scores" else with_weights].append(name)
    listed = [source for entry in catalog.models.values() for source in entry["unigrams"]]
    known["unigram_source"] = [
        *known["unigrams"],
        *dict.fromkeys(source for source in listed if source.startswith("training_")),
        *(f"corpus_{name}" for name in known["corpus"]),
        *(f"{kind}_{name}" for kind in catalog.samplings for name in known["weights"]),
    ]
    own = {"own": ["own"], "auto": ["auto"]}
    return known | {"model": [*catalog.models], "embedding": [*catalog.embeddings]} | own


def _check_name(name: str, kinds: Iterable[str], known: dict[str, list[str]], where: str) -> None:
    candidates = [candidate for kind in kinds for candidate in known[kind]]
    wanted = [KINDS[kind] for kind in kinds]
    instead = [word for kind, word in KINDS.items() if name in known[kind]]
    # The name of a file has a folder or a suffix, or the file exists.
    path = Path(name)
    is_file = "file" in kinds and (len(path.parts) > 1 or path.suffix != "" or path.is_file())
    if name in candidates or (not instead and is_file):
        return
    if instead:
        close = nearest(name, candidates) or candidates[:5]
        raise LingprobError(
            f"{where}: {name!r} is a {instead[0]}, not a {' or a '.join(wanted)}. Did you mean "
            f"{', '.join(map(repr, close))}?"
        )
    remedy = f"({where}) Your own ones are entries under `models:`, `datasets:` or `embeddings:`."
    raise unknown_name(" or ".join(wanted), name, candidates, remedy)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name matches one of these patterns, and none of those after `!`."""
    met = {pattern for pattern in patterns if fnmatch(name, pattern.removeprefix("!"))}
    return bool(met) and not any(pattern.startswith("!") for pattern in met)


def choose(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match, each once, in the order of the patterns and then of `names`."""
    wanted = [name for pattern in patterns for name in names if fnmatch(name, pattern)]
    return [name for name in dict.fromkeys(wanted) if matches(name, patterns)]


def surprisal_models(catalog: Catalog, patterns: list[str], texts: str) -> list[str]:
    """Return the models that match the patterns and have, or can compute, surprisals of a text.

    A model of imported word surprisals has those of the texts in its entry. Other imported scores
    and masked models have none.
    """
    return [
        name
        for name in choose([*catalog.models], patterns)
        if (catalog.models[name]["source"] != "scores" and not catalog.is_masked(name))
        or texts in catalog.models[name].get("texts", [])
    ]
