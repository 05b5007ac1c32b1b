"""Which models meet which data sets, and under which conventions, for each paper.

A model is scored under the conventions of its entry, on the data sets that the papers' lists name.
Rules read this module, so it imports nothing that only a job needs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from lingprob.catalog import Entry, read_yaml, surprisal_file, texts_in_file
from lingprob.io.files import dataset_paths
from lingprob.workflow import sources
from lingprob.workflow.names import matches, surprisal_models
from lingprob.workflow.sources import Run, pick

TOY_STRINGS = "toy_strings"  # Figure 1b's data set, which belongs to no prediction
# Sections that list data sets to be scored.
SECTIONS = ("morcela", "string_probability", "audit", "other")


def scored_datasets(run: Run, section: str) -> list[str]:
    """Return the stimuli that a section's jobs score, samples by their own names.

    A data set that several sections list belongs to the first, so that no two jobs score it.
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
    """Return models by the shared facts of their jobs: a section, a language and start tokens.

    A model has one job for each section. One paper's data therefore never delay another's scores,
    and no job changes when a paper's list of models does.
    """
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for section in SECTIONS:
        for model in models:
            if datasets_to_score(run, model, section):
                language = run.catalog.model(model)["language"]
                found[section, language, *start_tokens(run, model)].append(model)
    return found


def datasets_to_score(run: Run, model: str, section: str) -> list[str]:
    """Return a section's data sets that a model scores; of string_probability, in its language.

    The section `other` stands for any one data set that no section lists.
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
    """Return the name of the data set that a sample is of, or a data set's own."""
    return re.sub(r"_sample\d+$", "", scored)


def covers(run: Run, model: str, dataset: str) -> bool:
    """Tell whether a model can score a data set. Imported scores cover those that they name."""
    return dataset in run.catalog.model(model).get("datasets", run.catalog.datasets)


def start_tokens(run: Run, model: str) -> list[str]:
    """Return the start tokens of a model's BOS policies; of a masked model, its corrections."""
    policies = run.catalog.model(model)["bos_policies"]
    return list(dict.fromkeys(map(run.catalog.start_token_of, policies)))


def bos_policies(run: Run, model: str) -> dict[str, Entry]:
    """Return a model's BOS policies by name, the default one first."""
    policies = run.catalog.model(model)["bos_policies"]
    return {bos: run.catalog.bos_policies[bos] for bos in policies}


def unigram_sources(run: Run, model: str) -> list[str]:
    """Return the unigram sources of a model that are tables, the default one first.

    They are those of its entry that `morcela.unigrams` or `string_probability.unigrams` names.
    """
    listed: list[str] = run.catalog.model(model)["unigrams"]
    patterns = run.settings["morcela"]["unigrams"]
    chosen = run.settings["string_probability"]["unigrams"]
    named = [name for name in listed[1:] if name == chosen or matches(name, patterns)]
    return [name for name in [*listed[:1], *named] if name != "imported"]


def unigram_tables(run: Run, model: str) -> list[str]:
    """Return these tables' paths; none for imported scores."""
    folder = f"results/unigrams/{run.catalog.model(model)['tokenizer']}"
    return [f"{folder}/{source}.parquet" for source in unigram_sources(run, model)]


def default_unigrams(run: Run, model: str) -> str:
    """Return a model's default unigram source, or `imported` if it has no table."""
    return [*unigram_sources(run, model), "imported"][0]


def default_convention(run: Run, model: str) -> list[str]:
    """Return the BOS policy and the unigram source that MORCELA's figures show of a model."""
    return [run.catalog.model(model)["bos_policies"][0], default_unigrams(run, model)]


def string_convention(run: Run, model: str) -> list[str]:
    """Return the BOS policy and the unigram source by which string_probability reads scores."""
    chosen = run.settings["string_probability"]["unigrams"]
    listed = chosen in unigram_sources(run, model)
    return [string_bos(run, model), chosen if listed else default_unigrams(run, model)]


def string_bos(run: Run, model: str) -> str:
    """Return the BOS policy under which string_probability reads a model's scores."""
    return run.catalog.bos_policy(model, run.settings["string_probability"]["bos"])


def stimuli_entry(run: Run, dataset: str) -> Entry:
    """Return a data set's entry and, of a user's table, the columns that its analyses need.

    `ratings` says which ratings they need, and `needed` has the first setting for each column.
    """
    entry = run.catalog.dataset(dataset)
    if entry["parser"] != "table":
        return entry
    used = [key for key in PAIR_LISTS + SENTENCE_LISTS if dataset in _list_of(run, key)]
    paired = [key for key in used if key in PAIR_LISTS]
    needed = {"grammatical": used[:1], "pair": paired[:1]}
    fitted = dataset in run.settings["morcela"]["datasets"]
    some = "string_probability.prediction_2" in used
    return {
        **entry,
        "ratings": "every" if fitted else "some" if some else "none",
        "needed": {column: keys[0] for column, keys in needed.items() if keys},
    }


# Lists of data sets whose analyses compare pairs, or grammatical sentences with others.
PAIR_LISTS = [
    "string_probability.prediction_1",
    "string_probability.prediction_2",
    "context.datasets",
    "audit.datasets",
]
SENTENCE_LISTS = ["string_probability.prediction_3"]


def _list_of(run: Run, key: str) -> list[str]:
    section, name = key.split(".")
    listed: list[str] = run.settings[section][name]
    return listed


def rated_datasets(run: Run, model: str) -> list[str]:
    """Return the rated data sets to which MORCELA fits a model."""
    return [name for name in run.settings["morcela"]["datasets"] if covers(run, model, name)]


def predicted_datasets(run: Run, model: str) -> list[str]:
    """Return the data sets whose ratings a model's fits predict, samples by their own names.

    They are those that it is fitted to and, for MORCELA's models, `morcela.predicted`.
    """
    rated, morcela = rated_datasets(run, model), run.settings["morcela"]
    wanted = morcela["predicted"] if rated and model in morcela["models"] else []
    others = [scored_as(run, name) for name in wanted if covers(run, model, name)]
    return list(dict.fromkeys([*rated, *others]))


def fitted_models(run: Run) -> list[str]:
    """Return the models of MORCELA that have a rated data set to be fitted to."""
    return [name for name in run.settings["morcela"]["models"] if rated_datasets(run, name)]


def frequency_models(run: Run) -> list[str]:
    """Return the models whose log-probabilities are regressed on frequency (morcela, §5)."""
    morcela, causal = run.settings["morcela"], sources.causal_models(run)
    wanted = morcela["frequency_models"]
    return [name for name in morcela["models"] if matches(name, wanted) and name in causal]


def frequency_regression(run: Run, model: str) -> dict[str, Any]:
    """Return the `regressed` of `scoring.frequency_moments.frequency_moments`."""
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
    """Return the data sets of string_probability with the predictions that each is used for."""
    found: dict[str, list[int]] = {}
    for number in (1, 2, 3):
        for name in run.settings["string_probability"][f"prediction_{number}"]:
            found.setdefault(name, []).append(number)
    return found


def string_datasets(run: Run, model: str) -> list[str]:
    """Return the data sets of string_probability that a model scores: those in its language."""
    return [
        name
        for name in predictions(run)
        if covers(run, model, name) and sources.speaks(run, model, name)
    ]


def paired_datasets(run: Run, model: str) -> list[str]:
    """Return those of them for which distances within pairs are needed."""
    used = predictions(run)
    return [name for name in string_datasets(run, model) if {1, 2} & {*used[name]}]


def string_panels(run: Run) -> list[str]:
    """Return the models of string_probability that have panels and whose claims are judged.

    Models that the run trains or counts are points of trends, unless there are no others.
    """
    models = run.settings["string_probability"]["models"]
    made = ("trained", "ngram")
    others = [name for name in models if run.catalog.model(name)["source"] not in made]
    return others or list(models)


def scored_as(run: Run, dataset: str) -> str:
    """Return the name under which papers find a data set's scores: its own or its sample's."""
    strings = run.settings["string_probability"]
    pairs = strings["pairs_per_dataset"]
    return f"{dataset}_sample{pairs}" if pairs and dataset in strings["sampled"] else dataset


def absent_from_strings(run: Run) -> str:
    """Return a sentence for figures about the paper's data sets that no model scores here."""
    if run.settings["scale"] == "demo":  # which has none of them
        return ""
    paper = read_yaml("scales.yaml")["paper"]["string_probability"]
    wanted = dict.fromkeys(n for number in (1, 2, 3) for n in paper[f"prediction_{number}"])
    models = run.settings["string_probability"]["models"]
    seen = {name for model in models for name in string_datasets(run, model)}
    titles = [run.catalog.dataset(name)["title"] for name in wanted if name not in seen]
    return f"Absent, without a model or file here: {', '.join(titles)}." if titles else ""


def minimalness(run: Run, dataset: str) -> list[str]:
    """Return the distances within a data set's pairs; none without a model of its language."""
    known = run.settings["string_probability"]["embeddings"]
    embedding = known.get(sources.language(run, dataset))
    return [f"results/minimalness/{embedding}/{scored_as(run, dataset)}.parquet"] * bool(embedding)


def dataset_models(run: Run, dataset: str) -> list[str]:
    """Return the models on whose surprisals a data set of reading times is regressed."""
    texts = run.catalog.dataset(dataset)["texts"]
    return surprisal_models(run.catalog, run.settings["reading"]["models"], texts)


def read_texts(run: Run) -> list[str]:
    """Return the texts of the run's reading times."""
    datasets = run.settings["reading"]["datasets"]
    return list(dict.fromkeys(run.catalog.dataset(name)["texts"] for name in datasets))


def published_fits(run: Run) -> bool:
    """Tell whether the published fits to Natural Stories are reproduced: if it is read."""
    return run.settings["reading"]["published"] and "natural_stories" in read_texts(run)


def made_with(run: Run, key: str, models: list[str], unknown: Any = None) -> dict[str, Any]:
    """Return the value of `reading.context` or `reading.corrected` behind each model's surprisals.

    Imported surprisals have the value of their entry, or `unknown`.
    """
    own = run.settings["reading"][key]
    imported = sources.models_with(run, "scores", level="word")
    return {
        name: run.catalog.model(name).get(key, unknown) if name in imported else own
        for name in models
    }


def surprisal_imports(run: Run) -> dict[str, list[tuple[str, str]]]:
    """Return the models and texts of each job that imports word surprisals.

    A job imports those of all models of a data set, or of one model of the user's.
    """
    read = read_texts(run)
    jobs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for model in sources.models_with(run, "scores", level="word"):
        entry = run.catalog.model(model)
        texts = [(model, name) for name in entry["texts"] if name in read]
        jobs[entry.get("dataset", model)] += texts
    return {name: imported for name, imported in jobs.items() if imported}


def imported_surprisals(run: Run, model: str, texts: str) -> dict[str, Any]:
    """Return a model, a text, the file with the word surprisals, their unit, and all its texts."""
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
    """Return the lengths of the prefixes of a stage, `sampled` or `perturbed` (tokens)."""
    context = run.settings["context"]
    longest = max(context["lengths"]) if stage == "sampled" else context["perturbed_tokens"]
    return [length for length in context["lengths"] if length <= longest]


def context_task(run: Run, stage: str, dataset: str) -> dict[str, Any]:
    """Return a `context.scores.Task` without its files."""
    return {
        "dataset": dataset,
        "entry": pick(run.catalog.dataset(dataset), "parser", "files"),
        "lengths": context_lengths(run, stage),
        "alone": stage == "sampled",
    }


def model_tables(run: Run, model: str) -> dict[str, list[str]]:
    """Return the files that have a model's numbers, by the names of `site.models.TABLES`.

    They are those of MORCELA and of each other paper of `site.papers` whose list names the model.
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
    """Return the models that the lists of the papers name, in the catalog's order.

    States that a training kept on its way have pages on request alone.
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
