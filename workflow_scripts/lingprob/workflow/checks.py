"""What settings must fit beside their own types: each other, and the catalog."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog
from lingprob.context.names import primary_dataset
from lingprob.errors import LingprobError, unknown_name
from lingprob.training.sizes import trained_models
from lingprob.workflow.names import surprisal_models

Settings = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]


def check_settings(settings: Settings, config: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for the first setting that does not fit others or the catalog.

    Args:
        settings: complete ones.
        config: what the user named; what only the scale names is left alone in places.
        catalog: with the user's entries.
    """
    catalog.check_references()
    check_languages(settings["string_probability"], catalog)
    check_conventions(settings["string_probability"], catalog)
    check_trained_models(settings, catalog)
    check_studies(settings["studies"])
    check_masked(settings, catalog)
    check_surprisals(settings["reading"], catalog)
    if primary_dataset(settings["context"]["datasets"]) is None:
        raise LingprobError(
            "context.datasets: one of plain pairs is needed, such as blimp; it has "
            f"{settings['context']['datasets']}."
        )
    check_english(settings["context"], catalog)


def check_studies(studies: Iterable[str]) -> None:
    """Raise LingprobError for a study that has no folder in studies/."""
    known = [path.parent.name for path in ROOT.glob("studies/*/study.smk")]
    for name in studies:
        if name not in known:
            raise unknown_name("study", name, known, "See studies/README.md.")


def check_english(context: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for pairs or models of `context` in another language than English: how
    sentences are joined and perturbed is English (context, §3 and §5)."""
    spoken = {name: catalog.model(name)["language"] for name in context["models"]}
    written = {name: catalog.dataset(name).get("language", "en") for name in context["datasets"]}
    for key, languages in {"models": spoken, "datasets": written}.items():
        for name, language in languages.items():
            if language != "en":
                raise LingprobError(
                    f"context.{key}: {name!r} is in {language!r}, and sentences of contexts are "
                    "joined and perturbed as in English. Leave it out; or say that it is in 'en' "
                    "if its sentences end with periods and have blanks between them."
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


def check_conventions(strings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for a model that has no BOS policy as string_probability wants it."""
    for name in strings["models"]:
        catalog.bos_policy(name, strings["bos"])


def check_trained_models(settings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for a model of source `trained` that no settings make."""
    training = settings["training"]
    for step in training["keep_checkpoints"]:
        if step > training["steps"]:
            raise LingprobError(
                f"training.keep_checkpoints: there is no step {step} in a training of "
                f"{training['steps']} steps. Leave it out, or raise training.steps."
            )
    made = trained_models(settings["training"], [""])
    for name, entry in catalog.models.items():
        if entry["source"] == "trained" and name not in made:
            raise unknown_name("trained model", name, made, "Sizes are entries of training.sizes.")


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
