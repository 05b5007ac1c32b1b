"""Messages for the user about refused settings and refused entries of the configuration."""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from lingprob.catalog import read_yaml
from lingprob.errors import LingprobError, nearest
from lingprob.workflow.settings import keys

KINDS = {"models": "model", "datasets": "dataset", "embeddings": "embedding"}
NO_PATH = (
    "cannot be used as a path. It must not be empty, and braces mark wildcards in a workflow. "
    "Rename the file or folder."
)


def check_entries(settings: dict[str, Any]) -> None:
    """Raise LingprobError if entries of the user violate the catalog's schema (schema.yaml).

    The message has up to five faults, each with the place of the entry in the configuration.
    """
    faults = [
        fault
        for section in KINDS
        for name, entry in settings[section].items()
        for fault in entry_faults(entry, section, f"{section}.{name}")
    ]
    faults += [
        f"datasets.{name}: only samples of pairs have names that end in _sampleN. Rename it"
        for name in settings["datasets"]
        if re.search(r"_sample\d+$", name)
    ]
    if faults:
        raise LingprobError("config: " + "; ".join(faults[:5]))


def entry_faults(entry: Any, section: str, where: str) -> list[str]:
    """Return a sentence on each fault of an entry of `models`, `datasets` or `embeddings`."""
    from jsonschema import Draft202012Validator  # slow to import, and most users have no entries

    definitions = read_yaml("schema.yaml")["$defs"]
    validator = Draft202012Validator({"$defs": definitions, "$ref": f"#/$defs/{KINDS[section]}"})
    errors = sorted(validator.iter_errors(entry), key=lambda error: [*map(str, error.path)])
    return [_entry_fault(error, where) for error in errors]


def _entry_fault(error: Any, entry: str) -> str:
    where = ".".join([entry, *map(str, error.path)])
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        return f"unknown key at {where}: {', '.join(_hinted(key, known) for key in unknown)}"
    if error.validator == "pattern" and "{}" in str(error.validator_value):
        return f"{where}: {error.instance!r} {NO_PATH}"
    if error.validator == "not":
        return f"{where}: this key does not go with the entry's other keys. Delete it or those."
    described = error.schema.get("description")
    return f"{where}: {error.message}" + (f" ({described})" if described else "")


def refusals(error: ValidationError, given: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each refused place of the configuration `given`.

    It names the place, the fault that pydantic found, and the description of the setting.
    """
    faults: dict[str, list[Any]] = {}
    for fault in error.errors(include_url=False):
        faults.setdefault(_place_of(fault["loc"], given), []).append(fault)
    described = {key.path: key.description for key in keys()}
    for where, found in faults.items():
        said = _setting_fault(where, found)
        yield f"{said} ({described[where]})" if where in described else said


def _setting_fault(where: str, faults: list[Any]) -> str:
    """Return a sentence on a refused value. Pydantic has one fault for each type that it tried."""
    kind, value, context = (faults[0].get(part, {}) for part in ("type", "input", "ctx"))
    if kind == "extra_forbidden":
        section, _, name = where.rpartition(".")
        return f"unknown key at {section or 'top level'}: {_hinted(name, _known_keys(section))}"
    if kind == "string_pattern_mismatch" and "{}" in context["pattern"]:
        return f"{where}: {value!r} {NO_PATH}"
    if kind == "missing":
        return f"{where}: it is missing. Add it."
    if kind in ("model_type", "dict_type"):
        return f"{where}: `key: value` lines are needed, not {value!r}."
    wanted = dict.fromkeys(fault["msg"].partition(", unable")[0] for fault in faults)
    said = " or ".join(wanted).replace("Input should be", f"{value!r} is not", 1)
    return f"{where}: {said.replace('Input should be ', '')}"


def _place_of(location: tuple[int | str, ...], given: Any) -> str:
    """Return the dotted key of a refused value.

    The end of pydantic's `location`, with names of types and of branches, is left out.
    """
    place = []
    for part in location:
        if isinstance(given, dict) and part in given:
            given = given[part]
        elif not isinstance(given, dict) or str(part).startswith("["):
            break
        place.append(str(part))
        if not isinstance(given, dict):
            break
    return ".".join(place)


def _known_keys(section: str) -> list[str]:
    """Return the keys of a section of the settings. The section "" is the top level."""
    above = f"{section}." if section else ""
    below = [key.path.removeprefix(above) for key in keys() if key.path.startswith(above)]
    return list(dict.fromkeys(path.partition(".")[0] for path in below))


def _hinted(key: str, known: list[str]) -> str:
    """Return an unknown key in quotation marks, followed by the nearest known key or by all."""
    if close := nearest(key, known, 1):
        return f"{key!r} (did you mean {close[0]!r}?)"
    return f"{key!r} (known are {', '.join(map(repr, known)) or 'none'})"
