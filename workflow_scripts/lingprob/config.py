"""From config.yaml to settings that are complete and checked, or one clear error."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

from lingprob.catalog import Catalog, parse_yaml, read_yaml
from lingprob.chance_level import chance_level
from lingprob.context.names import primary_dataset
from lingprob.errors import LingprobError, nearest, unknown_name
from lingprob.patterns import choose
from lingprob.references import check_names
from lingprob.training.dosed import dosed_models
from lingprob.training.sizes import trained_models

ROOT = Path(__file__).resolve().parents[2]
Settings = dict[str, Any]
DEEPEST = 20
READ_AS_WRITTEN = {"integer", "number", "boolean"}


def config_schema() -> Settings:
    """Return the JSON schema of config.yaml."""
    return parse_yaml(ROOT / "config.schema.yaml")


def read_settings(config: Settings) -> tuple[Settings, Catalog]:
    """Complete and check a configuration.

    A key of `config` wins over the chosen scale's preset, which wins over the schema's default. If
    all rated data sets are the user's own, `catalog/own_data.yaml` wins over the scale.

    Returns the settings and the catalog with the user's entries. Raises LingprobError that
    names the key at fault, what is allowed there and, for a mistyped key or an unknown model or
    data set, the nearest names.
    """
    refuse_odd_parts(config)
    schema = config_schema()
    config = retyped(config, schema)
    check(config, schema)
    scale = config.get("scale", schema["properties"]["scale"]["default"])
    settings = merged(defaults(schema), read_yaml("scales.yaml")[scale])
    rated = config.get("morcela", {}).get("datasets", [])
    if rated and set(rated) <= config.get("datasets", {}).keys():
        settings = merged(settings, read_yaml("own_data.yaml"))
    settings = merged(settings, config)
    corpora = settings["overlap"]["chunk_corpora"] or settings["overlap"]["corpora"]
    settings["doses"] = searched_doses(settings, config.get("doses", {}))
    settings["training"] = with_reached_steps(settings["training"], config.get("training", {}))
    # Dosed ones last, so that others look as they do without them.
    made = made_models(settings, corpora)
    models = {**made["trained"], **settings["models"], **made["dosed"]}
    catalog = Catalog(
        models,
        settings["datasets"],
        settings["bos_policies"],
        settings["start_tokens"],
        settings["embeddings"],
    )
    overlap = settings["overlap"]
    # Names first, for the chance level looks corpora up; `auto` is none.
    ngrams = None if overlap["ngrams"] == "auto" else overlap["ngrams"]
    check_names({**settings, "overlap": {**overlap, "ngrams": ngrams}}, schema, catalog)
    for section in ("morcela", "string_probability"):
        ladder = ladder_models(settings[section], config.get(section, {}), catalog)
        settings[section] = {**settings[section], "ladder": ladder}
    settings["overlap"] |= chance_level(overlap, catalog)
    settings["overlap"] = with_chunk_corpora(settings["overlap"])
    catalog.check_references()
    check_languages(settings["string_probability"], catalog)
    check_conventions(settings["string_probability"], catalog)
    check_doses(settings)
    check_trained_models(settings, catalog)
    check_studies(settings["studies"])
    check_masked(settings, catalog)
    check_surprisals(settings["reading"], catalog)
    if primary_dataset(settings["context"]["datasets"]) is None:
        raise LingprobError(
            "context.datasets: one of plain pairs is needed, such as blimp; it has "
            f"{settings['context']['datasets']}."
        )
    check_context_languages(settings["context"], config.get("context", {}), catalog)
    return settings, catalog


def check_studies(studies: Iterable[str]) -> None:
    """Raise LingprobError for a study that has no folder in studies/."""
    known = [path.parent.name for path in ROOT.glob("studies/*/study.smk")]
    for name in studies:
        if name not in known:
            raise unknown_name("study", name, known, "See studies/README.md.")


def check_context_languages(context: Settings, named: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for pairs of `context` that no model knows the language of, or the other
    way round, where they are `named` by the user (the scale's own are then left alone); for
    sentences that nobody knows how to join; and for others than English ones in BLiMP's place:
    what they are perturbed with is English (context, §5)."""
    spoken = {name: catalog.model(name)["language"] for name in context["models"]}
    written = {name: catalog.dataset(name).get("language", "en") for name in context["datasets"]}
    primary = primary_dataset(context["datasets"])
    for name, language in written.items():
        if language not in ("en", "zh"):
            raise LingprobError(
                f"context.datasets: {name!r} is in {language!r}, and sentences are joined as in "
                "English ('en') or Chinese ('zh'). Leave it out; or say that it is in 'en', if its "
                "sentences end with periods and have blanks between them."
            )
        if name == primary and language != "en":
            raise LingprobError(
                f"context.datasets: {name!r} is in {language!r}, and the first data set of plain "
                "pairs is perturbed with English words. Name one in English before it, such as "
                "blimp, and a model of it in context.models."
            )
        wanted = name == primary or name in named.get("datasets", [])
        if wanted and language not in spoken.values():
            raise LingprobError(
                f"context.models: none of {list(spoken)} is in {language!r}, the language of the "
                f"data set {name!r} of context.datasets. Add one (`language` in a model's entry)."
            )
        check_control(name, language, context, catalog)
    for name in named.get("models", []):
        if spoken[name] not in written.values():
            raise LingprobError(
                f"context.datasets: none of {list(written)} is in {spoken[name]!r}, the language "
                f"of the model {name!r} of context.models. Add one, such as zhoblimp for 'zh'."
            )


def check_control(dataset: str, language: str, context: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for a control that is the data set itself or in another language than
    it, and for a language that no model is named for by whose tokens its prefixes are drawn."""
    control = context["control_of"].get(dataset, context["control"])
    theirs = catalog.dataset(control).get("language", "en")
    if control == dataset or theirs != language:
        fault = "itself" if control == dataset else f"in {theirs!r}"
        raise LingprobError(
            f"context.control_of: {control!r}, the control of the data set {dataset!r}, is "
            f"{fault}. Name a corpus, or another data set of pairs, in {language!r}."
        )
    if language != "en" and language not in context["tokenizer_of"]:
        raise LingprobError(
            f"context.tokenizer_of: none for {language!r}, the language of the data set "
            f"{dataset!r} of context.datasets. Add a model that is in it."
        )


def check_languages(strings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for pairs in a language that no embedding model is named for."""
    for key in ("prediction_1", "prediction_2", "prediction_3", "pooled"):
        for name in strings[key]:
            language = catalog.dataset(name).get("language", "en")
            if language not in strings["embeddings"]:
                raise LingprobError(
                    f"string_probability.embeddings: none for {language!r}, the language of the "
                    f"data set {name!r} of string_probability.{key}. Add one."
                )


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


def check_conventions(strings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for a model that has no BOS policy as string_probability wants it."""
    for name in [*strings["models"], *strings["ladder"]]:
        catalog.bos_policy(name, strings["bos"])


def made_models(settings: Settings, corpora: list[str]) -> dict[str, dict[str, Any]]:
    """Return the entries of all models that a run trains, those with passages (`dosed`) apart."""
    trained = trained_models(settings["training"], corpora)
    dosed = dosed_models(settings["doses"], settings["training"], trained)
    return {"trained": trained, "dosed": dosed}


def check_trained_models(settings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for a model of source `trained` that no settings make."""
    training = settings["training"]
    for step in training["keep_checkpoints"]:
        if step > training["steps"]:
            raise LingprobError(
                f"training.keep_checkpoints: there is no step {step} in a training of "
                f"{training['steps']} steps. Leave it out, or raise training.steps."
            )
    made = [name for models in made_models(settings, [""]).values() for name in models]
    for name, entry in catalog.models.items():
        if entry["source"] == "trained" and name not in made:
            raise unknown_name("trained model", name, made, "Sizes are entries of training.sizes.")


def searched_doses(settings: Settings, asked: Settings) -> Settings:
    """Return the section `doses`, of texts that the scale names with those that are searched for;
    what the user names (`asked`) stays, for `check_doses`."""
    doses, searched = settings["doses"], settings["overlap"]["texts"]
    kept = [name for name in doses["texts"] if name in searched]
    return doses if "texts" in asked else {**doses, "texts": kept}


def with_reached_steps(training: Settings, asked: Settings) -> Settings:
    """Return the section `training` with those of the scale's `keep_checkpoints` that it reaches;
    what the user names (`asked`) stays, for `check_trained_models`."""
    kept = [step for step in training["keep_checkpoints"] if step < training["steps"]]
    return training if "keep_checkpoints" in asked else {**training, "keep_checkpoints": kept}


def check_doses(settings: Settings) -> None:
    """Raise LingprobError for doses of texts that nobody searched for, in sizes that nothing
    trains, or in a part of the training that ends before it begins."""
    doses, searched = settings["doses"], settings["overlap"]["texts"]
    for name in doses["texts"]:
        if name not in searched:
            raise LingprobError(
                f"doses.texts: {name!r} is none of overlap.texts {searched}, so nobody knows "
                "whether training has it anyway. Name it there, too, or leave it out."
            )
    first, last = doses["period"]
    if first >= last:
        raise LingprobError(
            f"doses.period: {doses['period']} ends before it begins. Give two shares of the "
            "training, the smaller one first."
        )


def check_masked(settings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for a masked model that is named where one that reads from left to right
    is needed, or one that start tokens may precede, and for what its own entry cannot change."""
    for name, entry in settings["models"].items():
        if catalog.is_masked(name) and (ignored := entry.keys() & {"context_window", "dtype"}):
            raise LingprobError(
                f"models.{name}.{min(ignored)}: {name!r} is a masked model, which is run in "
                "scoring.dtype, and sees what its config.json says. Delete the key."
            )
    left_to_right = {
        "reading.models": settings["reading"]["models"],
        "audit.model": [settings["audit"]["model"]],
    }
    for key, names in left_to_right.items():
        for name in names:
            if name in catalog.models and catalog.is_masked(name):
                raise LingprobError(
                    f"{key}: {name!r} is a masked model, which sees both sides of a word and has "
                    "no start token. Leave it out; morcela and string_probability take it."
                )


def check_surprisals(reading: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for read texts that no model of `reading` has surprisals of."""
    for name in reading["datasets"]:
        texts = catalog.dataset(name)["texts"]
        if not surprisal_models(catalog, reading["models"], texts):
            raise LingprobError(
                f"reading.models: none of {reading['models']} has surprisals of {texts!r}, which "
                f"reading.datasets asks for ({name})."
            )


def ladder_models(section: Settings, asked: Settings, catalog: Catalog) -> list[str]:
    """Return the models of a section's `ladder` that its `models` have not, in the catalog's order
    of each pattern; none of the scale's where the user names (`asked`) models and no ladder."""
    patterns = section["ladder"] if "ladder" in asked or "models" not in asked else []
    return [name for name in choose([*catalog.models], patterns) if name not in section["models"]]


def surprisal_models(catalog: Catalog, patterns: list[str], texts: str) -> list[str]:
    """Return the models that match the patterns and have, or can make, surprisals of a text.

    Imported word surprisals cover the texts that their entry names, other imported scores none,
    and masked models have none.
    """
    return [
        name
        for name in choose([*catalog.models], patterns)
        if (catalog.models[name]["source"] != "scores" and not catalog.is_masked(name))
        or texts in catalog.models[name].get("texts", [])
    ]


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
    """Raise LingprobError for a key that a YAML file has twice: the first would be lost."""
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
                        f"{path}, line {key.start_mark.line + 1}: {key.value!r} stands there a "
                        "second time, and the first would be lost. Merge the two."
                    )
                seen.add(key.value)
                pending.append(value)


def refuse_odd_parts(value: Any, where: str = "", depth: int = 0) -> None:
    """Raise LingprobError for what YAML and JSON may hold and no configuration does.

    That is a list in the place of sections, a key that is no text, half a character, endlessness.
    """
    place = where or "top level"
    if depth == 0 and not isinstance(value, dict):
        raise LingprobError(
            f"config: it is a {type(value).__name__} where `key: value` lines are needed."
        )
    if depth > DEEPEST:
        raise LingprobError(f"config: {place} is nested more than {DEEPEST} deep, or in itself.")
    parts = value.items() if isinstance(value, dict) else []
    for key, part in parts:
        if not isinstance(key, str):
            raise LingprobError(
                f"config: the key {key!r} at {place} is no text. Put it in quotation marks."
            )
        refuse_odd_parts(part, f"{where}.{key}".removeprefix("."), depth + 1)
    for part in value if isinstance(value, list) else []:
        refuse_odd_parts(part, where, depth + 1)
    for text in [value, *(key for key, _ in parts)]:
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise LingprobError(f"config: {place} holds half a character ({error}).") from error


def check(config: Settings, schema: Settings) -> None:
    """Raise LingprobError for the first of all violations of the schema."""
    catalog_schema = Resource.from_contents(read_yaml("schema.yaml"))
    registry: Registry = Registry().with_resource("catalog", catalog_schema)
    validator = Draft202012Validator(schema, registry=registry)
    errors = sorted(validator.iter_errors(config), key=lambda error: list(map(str, error.path)))
    if errors:
        raise LingprobError("config: " + "; ".join(worded(error) for error in errors[:5]))


def retyped(value: Any, schema: Settings) -> Any:
    """Turn text into the numbers and booleans that the schema wants, at any depth.

    Snakemake's --config gives every value inside a mapping as text.
    """
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        others = others if isinstance(others, dict) else {}
        return {key: retyped(part, known.get(key, others)) for key, part in value.items()}
    if isinstance(value, list):
        return [retyped(part, schema.get("items", {})) for part in value]
    wanted = not READ_AS_WRITTEN.isdisjoint(types_of(schema)) or any(
        isinstance(choice, bool) for choice in schema.get("enum", [])
    )
    if not (isinstance(value, str) and wanted):
        return value
    try:
        return yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        return value  # which the schema refuses


def _hinted(key: str, known: list[str]) -> str:
    """Return an unknown key with what else could be meant."""
    if close := nearest(key, known, 1):
        return f"{key!r} (did you mean {close[0]!r}?)"
    return f"{key!r} (known are {', '.join(map(repr, known)) or 'none'})"


def types_of(part: Settings) -> list[str]:
    """Return the types that a part of a schema allows."""
    types = part.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def worded(error: ValidationError) -> str:
    """Say a violation of the schema in terms of the configuration."""
    where = ".".join(map(str, error.path)) or "top level"
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        return f"unknown key at {where}: {', '.join(_hinted(key, known) for key in unknown)}"
    if error.validator == "enum" and isinstance(error.instance, str):
        close = nearest(error.instance, map(str, error.validator_value), 1)
        if close:
            return f"{where}: {error.message} (did you mean {close[0]!r}?)"
    if error.validator == "pattern" and "{}" in str(error.validator_value):
        return (
            f"{where}: {error.instance!r} is no path to be used here: braces stand for wildcards "
            "in a workflow, and it must not be empty. Rename the file or folder."
        )
    if error.validator == "not":
        return f"{where}: not a key of such an entry. Delete it, or mend the others."
    described = error.schema.get("description")
    return f"{where}: {error.message}" + (f" ({described})" if described else "")


def defaults(schema: Settings) -> Settings:
    """Collect the defaults of a schema, section by section."""
    found: Settings = {}
    for key, part in schema["properties"].items():
        if part.get("type") == "object" and "properties" in part:
            found[key] = defaults(part)
        elif "default" in part:
            found[key] = copy.deepcopy(part["default"])
    return found


def merged(below: Settings, above: Settings) -> Settings:
    """Lay one mapping over another, section by section."""
    result = dict(below)
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
