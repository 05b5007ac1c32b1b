"""What is said of settings that their types refuse, in terms of the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from lingprob.errors import nearest
from lingprob.workflow.settings import Settings, keys, section_of

NO_PATH = (
    "is no path to be used here: braces stand for wildcards in a workflow, and it must not be "
    "empty. Rename the file or folder."
)


def refusals(error: ValidationError, given: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each place of the configuration that is refused."""
    faults: dict[str, list[Any]] = {}
    for fault in error.errors(include_url=False):
        faults.setdefault(place_of(fault["loc"], given), []).append(fault)
    described = {key.path: key.description for key in keys()}
    for where, found in faults.items():
        said = worded(where, found)
        yield f"{said} ({described[where]})" if where in described else said


def worded(where: str, faults: list[Any]) -> str:
    """Return what is wrong at a place; each type that was tried there has its own fault."""
    kind, value, context = (faults[0].get(part, {}) for part in ("type", "input", "ctx"))
    if kind == "extra_forbidden":
        section, _, name = where.rpartition(".")
        return f"unknown key at {section or 'top level'}: {hinted(name, known_keys(section))}"
    if kind == "string_pattern_mismatch" and "{}" in context["pattern"]:
        return f"{where}: {value!r} {NO_PATH}"
    if kind == "missing":
        return f"{where}: it is missing. Add it."
    if kind in ("model_type", "dict_type"):
        return f"{where}: {value!r} stands where `key: value` lines are needed."
    wanted = dict.fromkeys(fault["msg"].partition(", unable")[0] for fault in faults)
    said = " or ".join(wanted).replace("Input should be", f"{value!r} is not", 1)
    said = said.replace("Input should be ", "")
    choices = str(context.get("expected", "")).split("'")[1::2]
    if isinstance(value, str) and (close := nearest(value, choices, 1)):
        said += f" (did you mean {close[0]!r}?)"
    return f"{where}: {said}"


def place_of(location: tuple[int | str, ...], given: Any) -> str:
    """Return where in the configuration a violation is, without the branches of types."""
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


def known_keys(section: str) -> list[str]:
    """Return the keys that a section has, by its place; those of the top level for an empty one."""
    kind: Any = Settings
    for part in filter(None, section.split(".")):
        field = kind.model_fields.get(part)
        kind = field and section_of(field)
        if kind is None:
            return []
    return list(kind.model_fields)


def hinted(key: str, known: list[str]) -> str:
    """Return an unknown key with what else could be meant."""
    if close := nearest(key, known, 1):
        return f"{key!r} (did you mean {close[0]!r}?)"
    return f"{key!r} (known are {', '.join(map(repr, known)) or 'none'})"
