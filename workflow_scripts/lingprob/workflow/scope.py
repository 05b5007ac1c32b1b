"""Which models meet which data sets, and under which conventions, for each paper.

What a model is scored under, its entry says; which data sets, the papers' lists. Rules read this
module, so it imports nothing that only a job needs.
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

# Figure 1b's data set, which stands under no prediction.
TOY_STRINGS = "toy_strings"
# What lists data sets to be scored.
SECTIONS = ("morcela", "string_probability", "audit", "other")


def scored_datasets(run: Run, section: str) -> list[str]:
    """Return the stimuli that a section's jobs score, samples by their own names.

    A data set that several sections list is the first one's: no two jobs score it.
    """
    morcela, audit = run.settings["morcela"], run.settings["audit"]
    listed = {
        "morcela": [*morcela["datasets"], *(scored_as(run, name) for name in morcela["predicted"])],
        "string_probability": [*(scored_as(run, name) for name in predictions(run)), TOY_STRINGS],
        "audit": [*(scored_as(run, name) for name in audit["datasets"])],
    }
    of_section = {name: owner for owner in reversed(listed) for name in listed[owner]}
    return [name for name in dict.fromkeys(listed[section]) if of_section[name] == section]


def scoring_jobs(run: Run, models: list[str]) -> list[tuple[str, str, list[str]]]:
    """Return a section, one of these models and its data sets, for each scoring job.

    A model has one job for each section, so that one paper's data never hold up another's
    scores, and no job changes when a paper's list of models does. The section `other` stands
    for any one data set that no section lists.
    """
    jobs = [
        (section, model, _of_model(run, model, section)) for section in SECTIONS for model in models
    ]
    return [job for job in jobs if job[2]]


def start_tokens(run: Run, model: str) -> list[str]:
    """Return the start tokens of a model's BOS policies (of a masked one its corrections)."""
    policies = run.catalog.model(model)["bos_policies"]
    return list(dict.fromkeys(map(run.catalog.start_token_of, policies)))


def bos_policies(run: Run, model: str) -> dict[str, Entry]:
    """Return a model's BOS policies by name, the default one first."""
    policies = run.catalog.model(model)["bos_policies"]
    return {bos: run.catalog.bos_policies[bos] for bos in policies}


def unigram_sources(run: Run, model: str) -> list[str]:
    """Return the unigram sources of a model that are tables, the default one first: those of
    its entry that `morcela.unigrams` or `string_probability.unigrams` names."""
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
    """Return a model's default unigram source; `imported` if it has no table of any."""
    return [*unigram_sources(run, model), "imported"][0]


def default_convention(run: Run, model: str) -> list[str]:
    """Return the BOS policy and the unigram source that MORCELA's figures show of a model."""
    return [sources.default_bos(run, model), default_unigrams(run, model)]


def string_convention(run: Run, model: str) -> list[str]:
    """Return the BOS policy and the unigram source that string_probability reads scores by."""
    chosen = run.settings["string_probability"]["unigrams"]
    listed = chosen in unigram_sources(run, model)
    return [string_bos(run, model), chosen if listed else default_unigrams(run, model)]


def predicted_datasets(run: Run, model: str) -> list[str]:
    """Return the data sets whose ratings a model's fits predict, samples by their own names:
    those fitted to and, of MORCELA's models, others that their scores cover."""
    rated, morcela = rated_datasets(run, model), run.settings["morcela"]
    covered = run.catalog.model(model).get("datasets", run.catalog.datasets)
    wanted = morcela["predicted"] if rated and model in morcela["models"] else []
    others = [scored_as(run, name) for name in wanted if name in covered]
    return list(dict.fromkeys([*rated, *others]))


def stimuli_entry(run: Run, dataset: str) -> Entry:
    """Return a data set's entry and, of one's own, what the analyses need of its `ratings`."""
    entry = run.catalog.dataset(dataset)
    if entry["parser"] != "table":
        return entry
    fitted = dataset in run.settings["morcela"]["datasets"]
    some = dataset in run.settings["string_probability"]["prediction_2"]
    return {**entry, "ratings": "every" if fitted else "some" if some else "none"}


def _of_model(run: Run, model: str, section: str) -> list[str]:
    """Return a section's data sets that a model scores: those that its scores cover and, of
    string_probability, those in its language."""
    if section == "other":
        return ["{dataset}"]
    covered = run.catalog.model(model).get("datasets", run.catalog.datasets)
    return [
        name
        for name in scored_datasets(run, section)
        if whole(name) in covered
        and (section != "string_probability" or sources.speaks(run, model, whole(name)))
    ]


def rated_datasets(run: Run, model: str) -> list[str]:
    """Return the rated data sets that MORCELA fits a model to: those that its scores cover."""
    covered = run.catalog.model(model).get("datasets", run.catalog.datasets)
    return [name for name in run.settings["morcela"]["datasets"] if name in covered]


def main_rated(run: Run) -> str:
    """Return MORCELA's own rated data set or, where the run has others alone, the first."""
    names: list[str] = run.settings["morcela"]["datasets"]
    of_paper = read_yaml("scales.yaml")["paper"]["morcela"]["datasets"]
    return next((name for name in names if name in of_paper), names[0])


def fitted_models(run: Run) -> list[str]:
    """Return the models of MORCELA that have a rated data set to be fitted to."""
    return [name for name in run.settings["morcela"]["models"] if rated_datasets(run, name)]


def frequency_models(run: Run) -> list[str]:
    """Return the models whose log-probabilities are regressed on frequency (morcela, §5)."""
    morcela, causal = run.settings["morcela"], sources.causal_models(run)
    wanted = morcela["frequency_models"]
    return [name for name in morcela["models"] if matches(name, wanted) and name in causal]


def frequency_start_tokens(run: Run, model: str) -> list[str]:
    """Return the start tokens after which a model's documents are scored (morcela, §5)."""
    wanted = run.settings["morcela"]["frequency_start_tokens"]
    own = sources.own_start_token(run, model)
    return list(dict.fromkeys(own if one == "own" else one for one in wanted))


def frequency_regression(run: Run, model: str) -> dict[str, Any]:
    """Return the `regressed` of `scoring.frequency_moments.moments_of_shard`."""
    morcela = run.settings["morcela"]
    corpus = morcela["frequency_corpus"]
    entry = run.catalog.dataset(corpus)
    return {
        "corpus": corpus,
        "parser": entry["parser"],
        "paths": [str(path) for path in dataset_paths(corpus, entry)],
        "start_tokens": {
            name: run.catalog.start_tokens[name] for name in frequency_start_tokens(run, model)
        },
        "tokens": morcela["frequency_tokens"],
        "document_tokens": morcela["frequency_document_tokens"],
    }


def frequency_tables(run: Run, name: str) -> list[str]:
    """Return the slopes or bins of each of these models."""
    models = frequency_models(run)
    return [f"results/morcela/frequency_{name}/{model}.parquet" for model in models]


def predictions(run: Run) -> dict[str, list[int]]:
    """Return the data sets of string_probability with the predictions that each is used for."""
    found: dict[str, list[int]] = {}
    for number in (1, 2, 3):
        for name in run.settings["string_probability"][f"prediction_{number}"]:
            found.setdefault(name, []).append(number)
    return found


def string_datasets(run: Run, model: str) -> list[str]:
    """Return the data sets of a model's language; of imported scores, those that they cover."""
    entry = run.catalog.model(model)
    covered = entry.get("datasets", run.catalog.datasets)
    return [
        name
        for name in predictions(run)
        if name in covered and sources.language(run, name) == entry["language"]
    ]


def string_panels(run: Run) -> list[str]:
    """Return the models of string_probability that have panels and whose claims are judged.

    What the run trains or counts itself is points of trends, unless there is nothing else.
    """
    models = run.settings["string_probability"]["models"]
    made = ("trained", "ngram")
    others = [name for name in models if run.catalog.model(name)["source"] not in made]
    return others or list(models)


def string_bos(run: Run, model: str) -> str:
    """Return the BOS policy under which string_probability reads a model's scores."""
    return run.catalog.bos_policy(model, run.settings["string_probability"]["bos"])


def scored_as(run: Run, dataset: str) -> str:
    """Return the name that string_probability scores a data set by: its own or its sample's."""
    strings = run.settings["string_probability"]
    pairs = strings["pairs_per_dataset"]
    return f"{dataset}_sample{pairs}" if pairs and dataset in strings["sampled"] else dataset


def whole(scored: str) -> str:
    """Return the name of the data set that a sample is of, or a data set's own."""
    return re.sub(r"_sample\d+$", "", scored)


def paired_datasets(run: Run, model: str) -> list[str]:
    """Return those of them whose pairs' distances are wanted."""
    used = predictions(run)
    return [name for name in string_datasets(run, model) if {1, 2} & {*used[name]}]


def absent_from_strings(run: Run) -> str:
    """Return what figures say of the paper's data sets that no model sees here; maybe nothing."""
    paper = read_yaml("scales.yaml")["paper"]["string_probability"]
    wanted = [name for number in (1, 2, 3) for name in paper[f"prediction_{number}"]]
    if run.settings["scale"] == "demo":  # which has none of them
        return ""
    seen = {
        one
        for model in run.settings["string_probability"]["models"]
        for one in string_datasets(run, model)
    }
    titles = [run.catalog.dataset(n)["title"] for n in dict.fromkeys(wanted) if n not in seen]
    return f"Absent, without a model or file here: {', '.join(titles)}." if titles else ""


def minimalness(run: Run, dataset: str) -> str:
    """Return the distances within a data set's pairs, or its sample's, that are analysed."""
    return minimalness_of(run, scored_as(run, dataset))


def minimalness_of(run: Run, scored: str) -> str:
    """Return the distances within the pairs of a data set or sample, by the embedding model of
    its language."""
    language = sources.language(run, whole(scored))
    embedding = run.settings["string_probability"]["embeddings"][language]
    return f"results/minimalness/{embedding}/{scored}.parquet"


def distances_if_any(run: Run, dataset: str) -> list[str]:
    """Return the distances within a data set's pairs, none without an embedding model."""
    known = run.settings["string_probability"]["embeddings"]
    return [minimalness(run, dataset)] if sources.language(run, dataset) in known else []


def dataset_models(run: Run, dataset: str) -> list[str]:
    """Return the models whose surprisals a data set of reading times is regressed on."""
    texts = run.catalog.dataset(dataset)["texts"]
    return surprisal_models(run.catalog, run.settings["reading"]["models"], texts)


def read_texts(run: Run) -> list[str]:
    """Return the texts of the run's reading times, and those of the published surprisals."""
    reading = run.settings["reading"]
    texts = [run.catalog.dataset(name)["texts"] for name in reading["datasets"]]
    return list(dict.fromkeys([*texts, *["natural_stories"] * reading["published"]]))


def reading_contexts(run: Run, models: list[str]) -> dict[str, str]:
    """Return what precedes a word in each model's surprisals."""
    own = run.settings["reading"]["context"]
    imported = sources.models_with(run, "scores", level="word")
    return {
        name: run.catalog.model(name).get("context", "imported") if name in imported else own
        for name in models
    }


def reading_corrections(run: Run, models: list[str]) -> dict[str, bool | None]:
    """Return whether each model's surprisals are corrected for trailing blanks; None where
    nobody knows."""
    own = run.settings["reading"]["corrected"]
    imported = sources.models_with(run, "scores", level="word")
    return {
        name: run.catalog.model(name).get("corrected") if name in imported else own
        for name in models
    }


def surprisal_imports(run: Run) -> dict[str, list[tuple[str, str]]]:
    """Return the models and texts that each job imports word surprisals of: all models of a data
    set that has their surprisals, or one model of the user's."""
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
    path = str(surprisal_file(entry, texts))
    folder = f"resources/datasets/{entry['dataset']}/" if "dataset" in entry else ""
    return {
        "model": model,
        "text": texts,
        "path": f"{folder}{path}",
        "unit": entry.get("unit", "bits"),
        "texts_in_file": texts_in_file(entry, texts),
    }


def suite_files(run: Run, datasets: list[str]) -> list[str]:
    """Return what suites are read from beside their stimuli: regions and formulas."""
    return [
        sources.dataset_manifest(name)
        for name in datasets
        if run.catalog.dataset(name)["parser"] == "syntaxgym"
    ]


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

    They are those of MORCELA, and of each other paper whose list of models names the model; all
    of `site.papers` alone.
    """
    settings = run.settings
    papers = settings["site"]["papers"]
    rated = [name for name in rated_datasets(run, model) if sources.speaks(run, model, name)]
    in_strings = (
        "string_probability" in papers and model in run.settings["string_probability"]["models"]
    )
    strings = string_datasets(run, model) if in_strings else []
    in_context = "context" in papers and model in settings["context"]["models"]
    files = {
        "linking_functions": [f"results/morcela/{model}.parquet"]
        * bool("morcela" in papers and rated),
        "delta_log_likelihood": [
            f"results/reading/{name}.parquet"
            for name in settings["reading"]["datasets"]
            if "reading" in papers and model in dataset_models(run, name)
        ],
    }
    for name in ("separation", "correlations"):
        path = f"results/string_probability/{model}/{name}.parquet"
        files[f"string_{name}"] = [path] * bool(strings)
    files["context_accuracy"] = [f"results/context/accuracy/{model}.parquet"] * in_context
    return {name: paths for name, paths in files.items() if paths}


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
