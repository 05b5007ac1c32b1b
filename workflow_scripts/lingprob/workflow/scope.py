"""The data sets that each model is scored on, and the conventions that apply, for each paper.

A model is scored under the conventions of its entry, on the data sets that the papers' lists name.
"""

import re
from collections import defaultdict
from typing import Any

from lingprob.catalog import Entry, read_yaml, surprisal_file, texts_in_file
from lingprob.io.files import dataset_paths
from lingprob.workflow import sources
from lingprob.workflow.names import matches, surprisal_models
from lingprob.workflow.sources import Run, pick

TOY_STRINGS = "toy_strings"  # Figure 1b's data set, which belongs to no prediction
# Sections of the settings with data sets to score, and `other` for a data set in none of them.
SECTIONS = ("morcela", "string_probability", "audit", "other")


def scored_datasets(run: Run, section: str) -> list[str]:
    """Return the data sets of stimuli that a section's jobs score. Samples have their own names.

    A data set that several sections list belongs to the first of them, so that one job scores it.
    """
    morcela, audit = run.settings["morcela"], run.settings["audit"]
    listed = {
        "morcela": [*morcela["datasets"], *(scored_as(run, name) for name in morcela["predicted"])],
        "string_probability": [*(scored_as(run, name) for name in predictions(run)), TOY_STRINGS],
        "audit": [*(scored_as(run, name) for name in audit["datasets"])],
    }
    of_section = {name: owner for owner in reversed(listed) for name in listed[owner]}
    return [name for name in dict.fromkeys(listed[section]) if of_section[name] == section]


def scoring_rules(run: Run, models: list[str]) -> dict[tuple[str, ...], list[str]]:
    """Return lists of models by section, language and start tokens, which their jobs share.

    Each model has one job per section. One paper's data therefore never delay another's scores,
    and a change of a paper's list of models changes no job.
    """
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for section in SECTIONS:
        for model in models:
            if datasets_to_score(run, model, section):
                language = run.catalog.model(model)["language"]
                found[section, language, *start_tokens(run, model)].append(model)
    return found


def datasets_to_score(run: Run, model: str, section: str) -> list[str]:
    """Return the data sets of a section that a model scores.

    For string_probability they must be in the model's language. The section `other` has the
    wildcard {dataset}, for any data set that no section lists.
    """
    if section == "other":
        return ["{dataset}"]
    return [
        name
        for name in scored_datasets(run, section)
        if covers(run, model, whole(name))
        and (section != "string_probability" or sources.speaks(run, model, whole(name)))
    ]


def whole(scored: str) -> str:
    """Return the name of the data set that a sample was drawn from. Other names stay the same."""
    return re.sub(r"_sample\d+$", "", scored)


def covers(run: Run, model: str, dataset: str) -> bool:
    """Return whether a model can score a data set. Imported scores cover those of their entry."""
    return dataset in run.catalog.model(model).get("datasets", run.catalog.datasets)


def start_tokens(run: Run, model: str) -> list[str]:
    """Return the start tokens of a model's BOS policies, or a masked model's corrections."""
    policies = run.catalog.model(model)["bos_policies"]
    return list(dict.fromkeys(map(run.catalog.start_token_of, policies)))


def bos_policies(run: Run, model: str) -> dict[str, Entry]:
    """Return the entries of a model's BOS policies by name. The first is the model's default."""
    policies = run.catalog.model(model)["bos_policies"]
    return {bos: run.catalog.bos_policies[bos] for bos in policies}


def unigram_sources(run: Run, model: str) -> list[str]:
    """Return the unigram sources of a model that the run uses, without `imported`, by name.

    They are the first source in its entry (the default), and those sources in its entry that
    `morcela.unigrams` or `string_probability.unigrams` names.
    """
    listed: list[str] = run.catalog.model(model)["unigrams"]
    patterns = run.settings["morcela"]["unigrams"]
    chosen = run.settings["string_probability"]["unigrams"]
    named = [name for name in listed[1:] if name == chosen or matches(name, patterns)]
    return [name for name in [*listed[:1], *named] if name != "imported"]


def unigram_tables(run: Run, model: str) -> list[str]:
    """Return the paths of the tables of a model's `unigram_sources`."""
    folder = f"results/unigrams/{run.catalog.model(model)['tokenizer']}"
    return [f"{folder}/{source}.parquet" for source in unigram_sources(run, model)]


def default_unigrams(run: Run, model: str) -> str:
    """Return the name of a model's default unigram source (`imported` for imported unigrams)."""
    return [*unigram_sources(run, model), "imported"][0]


def default_convention(run: Run, model: str) -> list[str]:
    """Return the BOS policy and the unigram source of a model in the figures of MORCELA."""
    return [run.catalog.model(model)["bos_policies"][0], default_unigrams(run, model)]


def string_convention(run: Run, model: str) -> list[str]:
    """Return the BOS policy and the unigram source of a model in string_probability."""
    chosen = run.settings["string_probability"]["unigrams"]
    listed = chosen in unigram_sources(run, model)
    return [string_bos(run, model), chosen if listed else default_unigrams(run, model)]


def string_bos(run: Run, model: str) -> str:
    """Return the BOS policy of a model in string_probability, by the setting `bos`."""
    return run.catalog.bos_policy(model, run.settings["string_probability"]["bos"])


def stimuli_entry(run: Run, dataset: str) -> Entry:
    """Return the entry of a data set and, for a user's table, the columns that its analyses need.

    `ratings` tells whether `every` sentence, `some` or `none` must have a rating. `needed` maps
    each needed column (`grammatical`, `pair`) to the first setting that needs it.
    """
    entry, settings = run.catalog.dataset(dataset), run.settings
    if entry["parser"] != "table":
        return entry
    strings, last = "string_probability", ("string_probability", "prediction_3")
    # Lists whose analyses compare the sentences of pairs. Those of the last compare all sentences.
    lists = [(strings, "prediction_1"), (strings, "prediction_2"), ("context", "datasets")]
    lists += [("audit", "datasets"), last]
    used = [(section, key) for section, key in lists if dataset in settings[section][key]]
    needed = {"grammatical": used[:1], "pair": [key for key in used if key != last][:1]}
    fitted = dataset in settings["morcela"]["datasets"]
    some = (strings, "prediction_2") in used
    return {
        **entry,
        "ratings": "every" if fitted else "some" if some else "none",
        "needed": {column: ".".join(keys[0]) for column, keys in needed.items() if keys},
    }


def rated_datasets(run: Run, model: str) -> list[str]:
    """Return the rated data sets to which MORCELA's linking functions of a model are fitted."""
    return [name for name in run.settings["morcela"]["datasets"] if covers(run, model, name)]


def predicted_datasets(run: Run, model: str) -> list[str]:
    """Return the data sets whose ratings the fitted linking functions of a model predict.

    They are the data sets that the functions are fitted to and, for models of MORCELA, those of
    `morcela.predicted`. Samples have their own names.
    """
    rated, morcela = rated_datasets(run, model), run.settings["morcela"]
    wanted = morcela["predicted"] if rated and model in morcela["models"] else []
    others = [scored_as(run, name) for name in wanted if covers(run, model, name)]
    return list(dict.fromkeys([*rated, *others]))


def fitted_models(run: Run) -> list[str]:
    """Return the models of MORCELA that cover at least one rated data set."""
    return [name for name in run.settings["morcela"]["models"] if rated_datasets(run, name)]


def frequency_models(run: Run) -> list[str]:
    """Return the models whose log-probabilities are regressed on frequency (morcela, §5)."""
    morcela, causal = run.settings["morcela"], sources.causal_models(run)
    wanted = morcela["frequency_models"]
    return [name for name in morcela["models"] if matches(name, wanted) and name in causal]


def frequency_regression(run: Run, model: str) -> dict[str, Any]:
    """Return the argument `regressed` of `scoring.frequency_moments.frequency_moments`."""
    morcela, own = run.settings["morcela"], sources.own_start_token(run, model)
    corpus, wanted = morcela["frequency_corpus"], morcela["frequency_start_tokens"]
    entry = run.catalog.dataset(corpus)
    names = dict.fromkeys(own if one == "own" else one for one in wanted)
    return {
        "corpus": corpus,
        "parser": entry["parser"],
        "paths": [str(path) for path in dataset_paths(corpus, entry)],
        "start_tokens": {name: run.catalog.start_tokens[name] for name in names},
        "tokens": morcela["frequency_tokens"],
        "document_tokens": morcela["frequency_document_tokens"],
    }


def predictions(run: Run) -> dict[str, list[int]]:
    """Return the numbers of the predictions (1 to 3) that use each data set, by data set."""
    found: dict[str, list[int]] = {}
    for number in (1, 2, 3):
        for name in run.settings["string_probability"][f"prediction_{number}"]:
            found.setdefault(name, []).append(number)
    return found


def string_datasets(run: Run, model: str) -> list[str]:
    """Return the data sets of string_probability in a model's language that it covers."""
    return [
        name
        for name in predictions(run)
        if covers(run, model, name) and sources.speaks(run, model, name)
    ]


def paired_datasets(run: Run, model: str) -> list[str]:
    """Return the `string_datasets` of Predictions 1 and 2, which need distances within pairs."""
    used = predictions(run)
    return [name for name in string_datasets(run, model) if {1, 2} & {*used[name]}]


def string_panels(run: Run) -> list[str]:
    """Return the models of string_probability that have panels in figures and test the claims.

    Models that the run trains, and n-gram models, only appear as points of trends. If there are no
    other models, they have panels.
    """
    models = run.settings["string_probability"]["models"]
    made = ("trained", "ngram")
    others = [name for name in models if run.catalog.model(name)["source"] not in made]
    return others or list(models)


def scored_as(run: Run, dataset: str) -> str:
    """Return the name of the scored part of a data set: its own name or that of its sample."""
    strings = run.settings["string_probability"]
    pairs = strings["pairs_per_dataset"]
    return f"{dataset}_sample{pairs}" if pairs and dataset in strings["sampled"] else dataset


def absent_from_strings(run: Run) -> str:
    """Return a sentence for figures that names the paper's data sets that this run lacks, or ""."""
    if run.settings["scale"] == "demo":  # The demo has none of them.
        return ""
    paper = read_yaml("scales.yaml")["paper"]["string_probability"]
    wanted = dict.fromkeys(n for number in (1, 2, 3) for n in paper[f"prediction_{number}"])
    models = run.settings["string_probability"]["models"]
    seen = {name for model in models for name in string_datasets(run, model)}
    titles = [run.catalog.dataset(name)["title"] for name in wanted if name not in seen]
    return f"Absent, without a model or file here: {', '.join(titles)}." if titles else ""


def minimalness(run: Run, dataset: str) -> list[str]:
    """Return the path of a data set's distances within pairs, in a list that may be empty."""
    known = run.settings["string_probability"]["embeddings"]
    embedding = known.get(sources.language(run, dataset))
    return [f"results/minimalness/{embedding}/{scored_as(run, dataset)}.parquet"] * bool(embedding)


def dataset_models(run: Run, dataset: str) -> list[str]:
    """Return the models whose surprisals predict a data set of reading times in a regression."""
    texts = run.catalog.dataset(dataset)["texts"]
    return surprisal_models(run.catalog, run.settings["reading"]["models"], texts)


def read_texts(run: Run) -> list[str]:
    """Return the names of the texts that the readers of the run's reading times read."""
    datasets = run.settings["reading"]["datasets"]
    return list(dict.fromkeys(run.catalog.dataset(name)["texts"] for name in datasets))


def published_fits(run: Run) -> bool:
    """Return whether the published fits are reproduced, which needs times of Natural Stories."""
    return run.settings["reading"]["published"] and "natural_stories" in read_texts(run)


def made_with(run: Run, key: str, models: list[str], unknown: Any = None) -> dict[str, Any]:
    """Return the value of `reading.context` or `reading.corrected` for each model's surprisals.

    Imported surprisals have the value that their entry states, or `unknown`.
    """
    own = run.settings["reading"][key]
    imported = sources.models_with(run, "scores", level="word")
    return {
        name: run.catalog.model(name).get(key, unknown) if name in imported else own
        for name in models
    }


def surprisal_imports(run: Run) -> dict[str, list[tuple[str, str]]]:
    """Return the (model, text) pairs of each job that imports word surprisals, by job.

    A job imports the surprisals of all models of a data set, or of one of the user's own models.
    """
    read = read_texts(run)
    jobs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for model in sources.models_with(run, "scores", level="word"):
        entry = run.catalog.model(model)
        texts = [(model, name) for name in entry["texts"] if name in read]
        jobs[entry.get("dataset", model)] += texts
    return {name: imported for name, imported in jobs.items() if imported}


def imported_surprisals(run: Run, model: str, texts: str) -> dict[str, Any]:
    """Return the facts that an import of a model's word surprisals of a text needs.

    They are the names of both, the path of the file, the unit and all texts in the file.
    """
    entry = run.catalog.model(model)
    folder = f"resources/datasets/{entry['dataset']}/" if "dataset" in entry else ""
    return {
        "model": model,
        "text": texts,
        "path": f"{folder}{surprisal_file(entry, texts)}",
        "unit": entry.get("unit", "bits"),
        "texts_in_file": texts_in_file(entry, texts),
    }


def context_lengths(run: Run, stage: str) -> list[int]:
    """Return the lengths in tokens of the prefixes of a stage, `sampled` or `perturbed`."""
    context = run.settings["context"]
    longest = max(context["lengths"]) if stage == "sampled" else context["perturbed_tokens"]
    return [length for length in sorted(context["lengths"]) if length <= longest]


def context_task(run: Run, stage: str, dataset: str) -> dict[str, Any]:
    """Return the fields of `context.scores.Task` other than its files."""
    return {
        "dataset": dataset,
        "entry": pick(run.catalog.dataset(dataset), "parser", "files"),
        "lengths": context_lengths(run, stage),
        "alone": stage == "sampled",
    }


def model_tables(run: Run, model: str) -> dict[str, list[str]]:
    """Return the paths of the tables with a model's results, by the names in `site.models.TABLES`.

    They are results of MORCELA, and of papers on the site (`site.papers`) that list the model.
    """
    settings, papers = run.settings, run.settings["site"]["papers"]
    rated = [name for name in rated_datasets(run, model) if sources.speaks(run, model, name)]
    strings = model in settings["string_probability"]["models"] and string_datasets(run, model)
    read = [name for name in settings["reading"]["datasets"] if model in dataset_models(run, name)]
    in_context = model in settings["context"]["models"]
    files = {
        "morcela": {"linking_functions": [f"results/morcela/{model}.parquet"] * bool(rated)},
        "reading": {"delta_log_likelihood": [f"results/reading/{name}.parquet" for name in read]},
        "string_probability": {
            f"string_{name}": [f"results/string_probability/{model}/{name}.parquet"] * bool(strings)
            for name in ("separation", "correlations")
        },
        "context": {"context_accuracy": [f"results/context/accuracy/{model}.parquet"] * in_context},
    }
    shown = [part for paper, part in files.items() if paper in papers]
    return {name: paths for part in shown for name, paths in part.items() if paths}


def shown_models(run: Run) -> list[str]:
    """Return the models that have a page on the site by default, in the catalog's order.

    They are those that a paper lists and that have results. Models that a training kept before its
    last step have a page only on request.
    """
    named = {
        name
        for section in ("morcela", "string_probability", "reading", "context")
        for name in run.settings[section]["models"]
    }
    return [
        name
        for name, entry in run.catalog.models.items()
        if name in named and "training_step" not in entry and model_tables(run, name)
    ]
