"""Settings from config.yaml, completed by defaults and checked, or one error for all mistakes."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from lingprob.catalog import Catalog, read_yaml
from lingprob.errors import LingprobError, unknown_name
from lingprob.training.sizes import trained_models
from lingprob.workflow import settings as declared
from lingprob.workflow.checks import ROOT, check_settings
from lingprob.workflow.missing import chance_level
from lingprob.workflow.names import OWN_LISTS, check_names, choose, own_rooms
from lingprob.workflow.refusals import check_entries, refusals

Settings = dict[str, Any]
DEEPEST = 20
# Mappings of a scale, from which a value of null removes an entry.
REMOVABLE = (
    ("training", "sizes"),
    ("string_probability", "embeddings"),
    ("context", "pairs_per_suite_of"),
)
TAG = re.compile("<[a-zA-Z/!?]")
# Keys whose values are text, even if they look like numbers.
TEXTS = ("revision", "title", "family", "family_title", "repository", "version")
# Keys whose values Snakemake's report shows without escaping HTML. It has other texts in scripts,
# which only the tags of SCRIPT can end.
SHOWN = re.compile(r"\.(title|family_title|path|paths\..*|citation)$")
SCRIPT = re.compile("<(/?script|!--)", re.IGNORECASE)


def read_settings(config: Settings) -> tuple[Settings, Catalog]:
    """Return the complete settings of a configuration, and the catalog with the user's entries.

    A value in `config` replaces that of the chosen scale (`catalog/scales.yaml`), which replaces
    the declared default. In a section whose data sets are all the user's own,
    `catalog/own_data.yaml` replaces the scale. The site then shows only such sections.

    Raises LingprobError with the key at fault, the allowed values and, for a mistyped name, the
    nearest names.
    """
    settings, catalog = read_catalog(config)
    check_names(settings, catalog)
    for paper in ("morcela", "string_probability"):
        patterns = settings[paper]["models"]
        settings[paper]["models"] = choose([*catalog.models], patterns)
        if not settings[paper]["models"]:
            raise LingprobError(
                f"{paper}.models: no model matches {patterns}. Name a model, or a pattern that "
                "matches one."
            )
    overlap = settings["overlap"]
    overlap["chunk_corpora"] = overlap["chunk_corpora"] or overlap["corpora"]
    overlap |= chance_level(overlap, catalog)
    check_settings(settings, catalog)
    return settings, catalog


def read_catalog(config: Settings) -> tuple[Settings, Catalog]:
    """Return the settings, and the catalog with the user's entries and the trained models.

    The types of the settings are checked, but not yet whether they agree with each other and with
    the catalog.
    """
    config = without_empty_sections(config)
    presets = read_yaml("scales.yaml")
    preset = presets.get(str(config.get("scale")), presets["demo"])
    settings = typed(merged(merged(defaults(declared.Settings), preset), config))
    check_removed(config, preset)
    check_entries(settings)
    own = own_rooms(settings)
    for section, preset in read_yaml("own_data.yaml").items():
        asked = preset if section not in own else config.get(section, {})
        settings[section] |= {key: preset[key] for key in preset if key not in asked}
    settings["site"]["papers"] = settings["site"]["papers"] or own or [*OWN_LISTS]
    training = settings["training"]
    if "keep_checkpoints" not in config.get("training", {}):  # of the scale's, those reached
        kept = [step for step in training["keep_checkpoints"] if step < training["steps"]]
        training["keep_checkpoints"] = kept
    corpora = settings["overlap"]["chunk_corpora"] or settings["overlap"]["corpora"]
    catalog = Catalog(
        {**trained_models(training, corpora), **settings["models"]},
        settings["datasets"],
        settings["bos_policies"],
        settings["start_tokens"],
        settings["embeddings"],
    )
    return settings, catalog


def without_empty_sections(config: Settings) -> Settings:
    """Return a configuration without empty sections, whose keys may all be commented out.

    Raises LingprobError for content that is no mapping, and as `refuse_odd_parts`.
    """
    if not isinstance(config, dict):
        raise LingprobError(
            f"config: it is a {type(config).__name__}, but `key: value` lines are needed."
        )
    refuse_odd_parts(config)
    fields = declared.Settings.model_fields
    return {
        name: value
        for name, value in config.items()
        if not (value is None and name in fields and declared.section_of(fields[name]))
    }


def check_removed(config: Settings, preset: Settings) -> None:
    """Raise LingprobError if null is to remove an entry that the scale's preset does not have."""
    for section, key in REMOVABLE:
        known = preset[section].get(key, {})
        for name, value in config.get(section, {}).get(key, {}).items():
            if value is None and name not in known:
                remedy = "null removes an entry of the scale."
                raise unknown_name(f"entry of {section}.{key}", name, known, remedy)


def defaults(section: type[declared.Section]) -> Settings:
    """Return the declared defaults of a section and of the sections in it, as nested mappings."""
    found: Settings = {}
    for name, field in section.model_fields.items():
        if inner := declared.section_of(field):
            found[name] = defaults(inner)
        elif not field.is_required():
            found[name] = field.default
    return found


def typed(given: Settings) -> Settings:
    """Return settings whose values are converted to their declared types.

    Snakemake's --config gives every value inside a mapping as text. Raises LingprobError with up
    to five refused values.
    """
    try:
        return declared.Settings.model_validate(given).model_dump()
    except ValidationError as error:
        raise LingprobError("config: " + "; ".join([*refusals(error, given)][:5])) from None


def export_to_jobs(settings: Settings) -> None:
    """Set the mirror and the folder of this package in the environment, which jobs inherit.

    The mirror is no param, because it does not change the content of files. The folder goes into
    PYTHONPATH. Otherwise jobs would import an installed package of another checkout.
    """
    if settings["mirror"]:
        os.environ["LINGPROB_MIRROR"] = str(settings["mirror"])
    places = [str(ROOT / "workflow_scripts"), str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))


def refuse_duplicate_keys(paths: Iterable[str | Path]) -> None:
    """Raise LingprobError for parts of YAML files that a YAML reader would silently change.

    If a key occurs twice, the reader would drop the first. Names, revisions and titles without
    quotation marks may be read as numbers, dates or booleans.
    """
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yaml.load(file, _StrictLoader)


class _StrictLoader(yaml.SafeLoader):
    """A loader of YAML that refuses keys and values which others change."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise LingprobError(
                    f"{_line_of(key)}: {key.value!r} occurs twice, and the first would be lost. "
                    "Merge the two."
                )
            seen.add(key.value)
            for scalar in (key, value) if key.value in TEXTS else (key,):
                kind = scalar.tag.rpartition(":")[2]
                if kind in ("int", "float", "bool", "timestamp"):
                    raise LingprobError(
                        f"{_line_of(scalar)}: YAML reads {scalar.value} as a value of kind {kind}, "
                        f'and text is needed. Put it in quotation marks: "{scalar.value}".'
                    )
        return super().construct_mapping(node, deep)


def _line_of(node: yaml.Node) -> str:
    return f"{node.start_mark.name}, line {node.start_mark.line + 1}"


def refuse_odd_parts(config: Settings) -> None:
    """Raise LingprobError for parts of a configuration that YAML allows but that would do harm.

    They are keys that are not text, lone surrogates, endless nesting, and HTML. Snakemake's report
    shows keys, titles and paths without escaping HTML, and has other texts in scripts.
    """
    for place, key, value in _parts(config, ""):
        if not isinstance(key, str):
            raise LingprobError(
                f"config: the key {key!r} at {place or 'top level'} is not text. Put it in "
                "quotation marks."
            )
        where = f"{place}.{key}".strip(".")
        for text, markup in ((key, TAG), (value, TAG if SHOWN.search(where) else SCRIPT)):
            if isinstance(text, str) and markup.search(text):
                raise LingprobError(
                    f"config: {where} contains {text!r}, and pages would take the text after `<` "
                    "for HTML. Put a space after it, or leave it out."
                )
        try:
            f"{key}{value if isinstance(value, str) else ''}".encode()
        except UnicodeEncodeError as error:
            raise LingprobError(
                f"config: {where} has half of a character (a lone surrogate: {error}). Correct it."
            ) from error


def _parts(value: Any, place: str, depth: int = 0) -> Iterator[tuple[str, Any, Any]]:
    """Yield the place, key and value of each item of a mapping or list and of all within it.

    An item of a list has the key "".
    """
    if depth > DEEPEST:
        raise LingprobError(f"config: {place} is nested more than {DEEPEST} deep, or in itself.")
    if isinstance(value, dict):
        for key, part in value.items():
            yield place, key, part
            yield from _parts(part, f"{place}.{key}".strip("."), depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield place, "", part
            yield from _parts(part, place, depth + 1)


def merged(below: Settings, above: Settings) -> Settings:
    """Return the items of two mappings. `above` wins, except that nested mappings are merged."""
    result = dict(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
