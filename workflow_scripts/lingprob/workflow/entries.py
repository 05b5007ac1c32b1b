"""The user's own models and data sets must be what the catalog's schema says of an entry."""

from __future__ import annotations

from typing import Any

from lingprob.catalog import read_yaml
from lingprob.errors import LingprobError, nearest
from lingprob.workflow.refusals import NO_PATH, hinted

KINDS = {"models": "model", "datasets": "dataset", "embeddings": "embedding"}


def check_entries(settings: dict[str, Any]) -> None:
    """Raise LingprobError for the first of the user's entries that violate the schema."""
    faults = [
        fault
        for section in KINDS
        for name, entry in settings[section].items()
        for fault in entry_faults(entry, section, f"{section}.{name}")
    ]
    if faults:
        raise LingprobError("config: " + "; ".join(faults[:5]))


def entry_faults(entry: Any, section: str, where: str) -> list[str]:
    """Return what is wrong with an entry of `models`, `datasets` or `embeddings`."""
    from jsonschema import Draft202012Validator  # slow to import, and few have entries

    definitions = read_yaml("schema.yaml")["$defs"]
    validator = Draft202012Validator({"$defs": definitions, "$ref": f"#/$defs/{KINDS[section]}"})
    errors = sorted(validator.iter_errors(entry), key=lambda error: [*map(str, error.path)])
    return [worded(error, where) for error in errors]


def worded(error: Any, entry: str) -> str:
    """Say a violation of the schema in terms of the configuration."""
    where = ".".join([entry, *map(str, error.path)])
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        return f"unknown key at {where}: {', '.join(hinted(key, known) for key in unknown)}"
    if error.validator == "enum" and isinstance(error.instance, str):
        close = nearest(error.instance, map(str, error.validator_value), 1)
        if close:
            return f"{where}: {error.message} (did you mean {close[0]!r}?)"
    if error.validator == "pattern" and "{}" in str(error.validator_value):
        return f"{where}: {error.instance!r} {NO_PATH}"
    if error.validator == "not":
        return f"{where}: not a key of such an entry. Delete it, or mend the others."
    described = error.schema.get("description")
    return f"{where}: {error.message}" + (f" ({described})" if described else "")
