"""Checks of the settings against each other and against the catalog.

Types, allowed values and names have been checked before (`settings`, `names`).
"""

from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog
from lingprob.context.names import primary_dataset
from lingprob.errors import LingprobError, looked_up
from lingprob.training.sizes import trained_models
from lingprob.workflow.names import surprisal_models

Settings = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]


def check_settings(settings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for the first setting that contradicts another one or the catalog.

    `settings` has a value for every key, and `catalog` includes the user's entries.
    """
    catalog.check_references()
    _check_strings(settings["string_probability"], catalog)
    _check_trained_models(settings["training"], catalog)
    studies = {path.parent.name: path for path in ROOT.glob("studies/*/study.smk")}
    for name in settings["studies"]:
        looked_up("study", name, studies, "See studies/README.md.")
    overlap = settings["overlap"]
    for name in overlap["chunk_corpora"]:
        if name not in overlap["corpora"]:
            raise LingprobError(
                f"overlap.chunk_corpora: {name!r} is none of overlap.corpora "
                f"{overlap['corpora']}. Name some of these, or null for all of them."
            )
    _check_masked(settings, catalog)
    _check_surprisals(settings["reading"], catalog)
    _check_contexts(settings["context"], catalog)


def _check_strings(strings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for pairs without an embedding model, or models without policy `bos`.

    `strings` is the section `string_probability` of the settings.
    """
    for key in ("prediction_1", "prediction_2", "prediction_3", "pooled"):
        for name in strings[key]:
            language = catalog.dataset(name).get("language", "en")
            if language not in strings["embeddings"]:
                raise LingprobError(
                    f"string_probability.embeddings: none for {language!r}, the language of the "
                    f"data set {name!r} of string_probability.{key}. Add one."
                )
    for name in strings["models"]:
        catalog.bos_policy(name, strings["bos"])


def _check_trained_models(training: Settings, catalog: Catalog) -> None:
    """Raise LingprobError unless the section `training` trains every model of source `trained`."""
    if not training["sizes"]:
        raise LingprobError("training.sizes: every size is null. Keep one, or add your own.")
    for step in training["keep_checkpoints"]:
        if step > training["steps"]:
            raise LingprobError(
                f"training.keep_checkpoints: there is no step {step} in a training of "
                f"{training['steps']} steps. Leave it out, or raise training.steps."
            )
    made = trained_models(training, [""])
    for name, entry in catalog.models.items():
        if entry["source"] == "trained":
            looked_up("trained model", name, made, "Sizes are entries of training.sizes.")


def _check_masked(settings: Settings, catalog: Catalog) -> None:
    """Raise LingprobError for a masked model with a key or in a setting that cannot have it."""
    for name, entry in settings["models"].items():
        if catalog.is_masked(name) and (ignored := entry.keys() & {"context_window", "dtype"}):
            raise LingprobError(
                f"models.{name}.{min(ignored)}: {name!r} is a masked model, which runs in "
                "scoring.dtype and has the window of its config.json. Delete the key."
            )
    left_to_right = [("reading.models", name) for name in settings["reading"]["models"]]
    for key, name in [*left_to_right, ("audit.model", settings["audit"]["model"])]:
        if name in catalog.models and catalog.is_masked(name):
            raise LingprobError(
                f"{key}: {name!r} is a masked model, which sees both sides of a word. Leave it "
                "out. morcela and string_probability take it."
            )


def _check_surprisals(reading: Settings, catalog: Catalog) -> None:
    """Raise LingprobError if no model of `reading.models` has surprisals of a text that is read."""
    for name in reading["datasets"]:
        texts = catalog.dataset(name)["texts"]
        if not surprisal_models(catalog, reading["models"], texts):
            raise LingprobError(
                f"reading.models: none of {reading['models']} has surprisals of {texts!r}, the "
                f"texts of {name!r} in reading.datasets. Add a model, or leave {name!r} out."
            )


def _check_contexts(context: Settings, catalog: Catalog) -> None:
    """Raise LingprobError if there are no plain pairs, or if a model or data set is not English.

    Prefixes are joined and perturbed by the rules of English (context, §3 and §5).
    """
    if primary_dataset(context["datasets"]) is None:
        raise LingprobError(
            f"context.datasets: {context['datasets']} has no data set of plain minimal pairs. Add "
            "one, such as blimp."
        )
    for name in context["pairs_per_suite_of"]:
        catalog.dataset(name)  # refuses an unknown name
    if context["perturbed_tokens"] < min(context["lengths"]):
        raise LingprobError(
            f"context.perturbed_tokens: {context['perturbed_tokens']} is below the shortest of "
            f"context.lengths {context['lengths']}, so no perturbed prefix has a length. Raise it."
        )
    for key, entry_of in (("models", catalog.model), ("datasets", catalog.dataset)):
        for name in context[key]:
            language = entry_of(name).get("language", "en")
            if language != "en":
                raise LingprobError(
                    f"context.{key}: {name!r} is in {language!r}, and prefixes are joined and "
                    "perturbed as in English. Leave it out. If its sentences end with periods and "
                    "have spaces between them, you can set its `language` to en."
                )
