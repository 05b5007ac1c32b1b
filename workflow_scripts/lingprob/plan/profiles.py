"""Which tables a model's profile is made of, and those of other models that are there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lingprob.plan.data import Plan
from lingprob.workflow.names import surprisal_models

Files = dict[str, list[str]]
IN_CONTEXT = "results/context/profiles"


def profile_files(plan: Plan, model: str) -> Files:
    """Return the tables that the profile of a model asks for, by their name in `profiles.rows`.

    Those of the papers in `profiles.papers`, of the scale's data sets in the model's language. Of
    string_probability, whose scores are read by conventions of its own, those of its models and of
    `profiles.models` alone.
    """
    papers, settings = plan.settings["profiles"]["papers"], plan.settings
    reads_on = model in plan.causal_models()
    rated = [name for name in plan.rated_datasets(model) if plan.speaks(model, name)]
    strings = plan.string_datasets(model) if model in plan.string_models() else []
    in_context = [name for name in settings["context"]["datasets"] if plan.speaks(model, name)]
    of_strings = f"results/string_probability/{model}"
    files = {
        "fits": [f"results/morcela/{model}.parquet"] * bool("morcela" in papers and rated),
        **{
            name: [f"{of_strings}/{name}.parquet"]
            * bool("string_probability" in papers and strings)
            for name in ("separation", "correlations")
        },
        "deltas": [
            f"results/reading/models/{model}/{name}.parquet"
            for name in settings["reading"]["datasets"]
            if "reading" in papers
            and surprisal_models(plan.catalog, [model], plan.catalog.dataset(name)["texts"])
        ],
        **{
            name: [
                f"{IN_CONTEXT}/{model}/{dataset}/{name}.parquet"
                for dataset in in_context
                if "context" in papers and reads_on
            ]
            for name in ("unprefixed", "accuracy")
        },
    }
    return {name: paths for name, paths in files.items() if paths}


def profiles_beside(plan: Plan, model: str) -> dict[str, Files]:
    """Return the tables of other models that are there already, by model."""
    found: dict[str, Files] = {}
    shared = [f"results/reading/{name}.parquet" for name in plan.settings["reading"]["datasets"]]
    for other in plan.catalog.models:
        if other == model:
            continue
        wanted = profile_files(plan, other)
        wanted["deltas"] = shared + wanted.get("deltas", [])
        for name in ("unprefixed", "accuracy"):
            own = wanted.get(name, [])
            summed_up = [path.replace(IN_CONTEXT, "results/context/summaries") for path in own]
            wanted[name] = summed_up if all(map(os.path.exists, summed_up)) else own
        there = {name: [p for p in paths if Path(p).is_file()] for name, paths in wanted.items()}
        found[other] = {name: paths for name, paths in there.items() if paths}
    return {other: files for other, files in found.items() if files}


def profile_facts(plan: Plan, model: str) -> list[str]:
    """Return what the head of a profile says of the model, each a few words."""
    entry: dict[str, Any] = plan.catalog.model(model)
    parameters, policies = entry.get("parameters"), entry.get("bos_policies")
    origin = [entry.get("repository"), entry.get("revision", "")[:8], entry.get("path")]
    return [
        str(fact)
        for fact in (
            entry["family_title"],
            f"{parameters:,} parameters" if parameters else None,
            " ".join(str(part) for part in origin if part),
            f"source: {entry['source']}",
            f"BOS policies: {', '.join(policies)}" if policies else None,
            f"trained on {entry['corpus']}" if "corpus" in entry else None,
            entry.get("note"),
        )
        if fact
    ]


def profile_notes(plan: Plan, model: str) -> list[str]:
    """Return what a profile says of the papers that it does not show, and how they come to it."""
    there, settings = profile_files(plan, model), plan.settings["profiles"]
    said = []
    if "string_probability" in settings["papers"] and "separation" not in there:
        listed = model in plan.string_models()
        why = "no data set in its language" if listed else f"put {model} into profiles.models"
        said.append(f"String probability is not shown: {why}.")
    left = [name for name in ("morcela", "reading", "context") if name not in settings["papers"]]
    if left:
        said.append(f"Not asked for: {', '.join(left)}. Add them to profiles.papers.")
    return said
