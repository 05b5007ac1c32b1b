"""Which tables of the papers a model's page is made of."""

from __future__ import annotations

from lingprob.plan.data import Plan


def model_tables(plan: Plan, model: str) -> dict[str, list[str]]:
    """Return the files that have a model's numbers, by the names of `site.models.TABLES`.

    They are those of MORCELA, and of each other paper whose list of models names the model; all
    of `site.papers` alone.
    """
    settings = plan.settings
    papers = settings["site"]["papers"]
    rated = [name for name in plan.rated_datasets(model) if plan.speaks(model, name)]
    in_strings = (
        "string_probability" in papers and model in plan.settings["string_probability"]["models"]
    )
    strings = plan.string_datasets(model) if in_strings else []
    in_context = "context" in papers and model in settings["context"]["models"]
    files = {
        "fits": [f"results/morcela/{model}.parquet"] * bool("morcela" in papers and rated),
        "deltas": [
            f"results/reading/{name}.parquet"
            for name in settings["reading"]["datasets"]
            if "reading" in papers and model in plan.dataset_models(name)
        ],
    }
    for name in ("separation", "correlations"):
        files[name] = [f"results/string_probability/{model}/{name}.parquet"] * bool(strings)
    for name in ("unprefixed", "accuracy"):
        files[name] = [f"results/context/{name}/{model}.parquet"] * in_context
    return {name: paths for name, paths in files.items() if paths}


def shown_models(plan: Plan) -> list[str]:
    """Return the models that the lists of the papers name, in the catalog's order.

    States that a training kept on its way have pages on request alone.
    """
    named = {
        name
        for section in ("morcela", "string_probability", "reading", "context")
        for name in plan.settings[section]["models"]
    }
    return [
        name
        for name, entry in plan.catalog.models.items()
        if name in named and "training_step" not in entry and model_tables(plan, name)
    ]
