"""From config.yaml to settings that are complete and checked, or one clear error."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from lingprob.catalog import Catalog, read_yaml
from lingprob.errors import LingprobError
from lingprob.training.sizes import trained_models
from lingprob.workflow import settings as declared
from lingprob.workflow.checks import ROOT, check_settings
from lingprob.workflow.missing import chance_level
from lingprob.workflow.names import check_names, matching_models
from lingprob.workflow.refusals import check_entries, refusals

Settings = dict[str, Any]
DEEPEST = 20
TAG = re.compile("<[a-zA-Z/!?]")
# Keys whose values are text, whatever they look like.
TEXTS = ("revision", "title", "family", "family_title", "repository", "version")
# Keys whose values Snakemake's report shows as they are; a special token is none of them.
SHOWN = ("title", "family_title", "path", "paths", "citation")


def read_settings(config: Settings) -> tuple[Settings, Catalog]:
    """Complete and check a configuration.

    A key of `config` wins over the chosen scale's preset, which wins over the declared default. If
    all rated data sets are the user's own, `catalog/own_data.yaml` wins over the scale.

    Returns the settings and the catalog with the user's entries. Raises LingprobError that
    names the key at fault, what is allowed there and, for a mistyped key or an unknown model or
    data set, the nearest names.
    """
    config = without_empty_sections(config)
    settings, catalog = read_catalog(config)
    overlap = settings["overlap"]
    # Names first, because the chance level looks corpora up; `auto` is none.
    ngrams = None if overlap["ngrams"] == "auto" else overlap["ngrams"]
    check_names({**settings, "overlap": {**overlap, "ngrams": ngrams}}, catalog)
    for paper in ("morcela", "string_probability"):
        patterns = settings[paper]["models"]
        settings[paper]["models"] = matching_models(f"{paper}.models", patterns, catalog)
    settings["overlap"] |= chance_level(overlap, catalog)
    settings["overlap"] = with_chunk_corpora(settings["overlap"])
    check_settings(settings, config, catalog)
    return settings, catalog


def read_catalog(config: Settings) -> tuple[Settings, Catalog]:
    """Return the catalog with the user's entries and the models that are trained here.

    Before it come the settings, each of which has its type. Nobody has checked yet whether they
    fit each other and the catalog. Raises LingprobError likewise.
    """
    config = without_empty_sections(config)
    settings = typed(with_presets(config))
    check_entries(settings)
    rated = config.get("morcela", {}).get("datasets", [])
    if rated and set(rated) <= settings["datasets"].keys():
        for section, preset in read_yaml("own_data.yaml").items():
            unasked = preset.keys() - config.get(section, {}).keys()
            settings[section] |= {key: preset[key] for key in unasked}
    corpora = settings["overlap"]["chunk_corpora"] or settings["overlap"]["corpora"]
    settings["training"] = with_reached_steps(settings["training"], config.get("training", {}))
    catalog = Catalog(
        {**trained_models(settings["training"], corpora), **settings["models"]},
        settings["datasets"],
        settings["bos_policies"],
        settings["start_tokens"],
        settings["embeddings"],
    )
    return settings, catalog


def without_empty_sections(config: Settings) -> Settings:
    """Return a configuration without sections whose keys are all commented out."""
    refuse_odd_parts(config)
    fields = declared.Settings.model_fields
    return {
        name: value
        for name, value in config.items()
        if not (value is None and name in fields and declared.section_of(fields[name]))
    }


def with_presets(config: Settings) -> Settings:
    """Lay a configuration over the presets of its scale, and these over the defaults.

    A scale that does not exist has the presets of the first.
    """
    presets = read_yaml("scales.yaml")
    scale = config.get("scale", declared.Settings.model_fields["scale"].default)
    preset = presets[scale if scale in [*presets] else next(iter(presets))]
    return merged(merged(defaults(declared.Settings), preset), config)


def defaults(section: type[declared.Section]) -> Settings:
    """Return the defaults of a section, sections within it included."""
    found: Settings = {}
    for name, field in section.model_fields.items():
        if inner := declared.section_of(field):
            found[name] = defaults(inner)
        elif not field.is_required():
            found[name] = field.default
    return found


def typed(given: Settings) -> Settings:
    """Return settings with the values that their types have: numbers, not text.

    Snakemake's --config gives every value inside a mapping as text. Raises LingprobError.
    """
    try:
        return declared.Settings.model_validate(given).model_dump()
    except ValidationError as error:
        raise LingprobError("config: " + "; ".join([*refusals(error, given)][:5])) from None


def with_chunk_corpora(overlap: Settings) -> Settings:
    """Return `overlap` with the corpora whose files are chunks to train on; by default all.

    Raises LingprobError for one that is not searched: nobody would know what it overlaps with.
    """
    chunk_corpora = overlap["chunk_corpora"] or overlap["corpora"]
    for name in chunk_corpora:
        if name not in overlap["corpora"]:
            raise LingprobError(
                f"overlap.chunk_corpora: {name!r} is none of overlap.corpora "
                f"{overlap['corpora']}. Name some of these, or null for all of them."
            )
    return {**overlap, "chunk_corpora": chunk_corpora}


def with_reached_steps(training: Settings, asked: Settings) -> Settings:
    """Return the section `training` with those of the scale's `keep_checkpoints` that it reaches;
    what the user names (`asked`) stays, for `check_trained_models`."""
    kept = [step for step in training["keep_checkpoints"] if step < training["steps"]]
    return training if "keep_checkpoints" in asked else {**training, "keep_checkpoints": kept}


def export_mirror(settings: Settings) -> None:
    """Hand a configured mirror to jobs as LINGPROB_MIRROR.

    The environment, not a parameter: the files are the same wherever they come from.
    """
    if settings["mirror"]:
        os.environ["LINGPROB_MIRROR"] = str(settings["mirror"])


def export_package() -> None:
    """Have jobs import this checkout's package and studies, not others that are installed.

    Snakemake puts the folder of a script's package behind what is installed, so that a second
    checkout would run its jobs by the code of the first.
    """
    places = [str(ROOT / "workflow_scripts"), str(ROOT), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))


def refuse_duplicate_keys(paths: Iterable[str | Path]) -> None:
    """Raise LingprobError for keys and values of YAML files that would silently become others.

    These are a key that is there twice, of which the first would be lost, and names, revisions and
    titles without quotation marks that YAML reads as numbers or as true and false.
    """
    for path in paths:
        pending = [yaml.compose(Path(path).read_text(encoding="utf-8"))]
        met: set[int] = set()  # a node may hold itself
        while pending:
            node = pending.pop()
            if not isinstance(node, yaml.MappingNode) or id(node) in met:
                continue
            met.add(id(node))
            seen: set[str] = set()
            for key, value in node.value:
                if key.value in seen:
                    raise LingprobError(
                        f"{path}, line {key.start_mark.line + 1}: {key.value!r} is there twice, "
                        "and the first would be lost. Merge the two."
                    )
                seen.add(key.value)
                for scalar in (key, value) if key.value in TEXTS else (key,):
                    _refuse_other_scalar(path, scalar)
                pending.append(value)


def _refuse_other_scalar(path: str | Path, node: yaml.Node) -> None:
    kind = node.tag.rpartition(":")[2]
    if isinstance(node, yaml.ScalarNode) and kind in ("int", "float", "bool", "timestamp"):
        raise LingprobError(
            f"{path}, line {node.start_mark.line + 1}: YAML reads {node.value} as a value of kind "
            f'{kind}, and text is needed. Put it in quotation marks: "{node.value}".'
        )


def refuse_odd_parts(value: Any, where: str = "", depth: int = 0) -> None:
    """Raise LingprobError for what YAML and JSON may hold and no configuration does.

    That is a list in the place of sections, a key that is no text, half a character, endlessness.
    Tags of HTML are refused too: Snakemake's report has titles and paths in it as they are.
    """
    place = where or "top level"
    if depth == 0 and not isinstance(value, dict):
        raise LingprobError(
            f"config: it is a {type(value).__name__} where `key: value` lines are needed."
        )
    if depth > DEEPEST:
        raise LingprobError(f"config: {place} is nested more than {DEEPEST} deep, or in itself.")
    parts: dict[Any, Any] = value if isinstance(value, dict) else {}
    for key, part in parts.items():
        if not isinstance(key, str):
            raise LingprobError(
                f"config: the key {key!r} at {place} is no text. Put it in quotation marks."
            )
        place = f"{where}.{key}".removeprefix(".")
        shown = [key, part] if key in SHOWN else [key]
        if text := next((one for one in shown if isinstance(one, str) and TAG.search(one)), None):
            raise LingprobError(
                f"config: {place} contains {text!r}, and pages would take the text after `<` for "
                "HTML. Put a space after it, or leave it out."
            )
        refuse_odd_parts(part, place, depth + 1)
    for part in value if isinstance(value, list) else []:
        refuse_odd_parts(part, where, depth + 1)
    for text in [value, *parts.keys()] if isinstance(value, dict) else [value]:
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise LingprobError(
                    f"config: {where or 'top level'} has half of a character ({error})."
                ) from error


def merged(below: Settings, above: Settings) -> Settings:
    """Lay one mapping over another, section by section."""
    result = dict(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
