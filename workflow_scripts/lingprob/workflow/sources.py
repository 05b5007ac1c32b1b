"""What a run's models and data sets are, and the files that each is read from.

Paths are relative to the working directory; unknown names raise LingprobError with the nearest
ones. Rules read this module, so it imports nothing that only a job needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog, Entry
from lingprob.io.files import dataset_paths
from lingprob.models import folders
from lingprob.overlap.kenlm_programs import PROGRAMS, lmplz_missing

# Sources of models that can score what they have not seen.
WITH_WEIGHTS = ("hub", "package", "local", "trained", "ngram")


@dataclass(frozen=True)
class Run:
    """The settings and the catalog of a run."""

    settings: dict[str, Any]
    catalog: Catalog


def pick(entry: Mapping[str, Any], *keys: str) -> Entry:
    """Return the part of a catalog entry, or of the settings, that a rule depends on."""
    return {key: entry[key] for key in keys if key in entry}


def local_files(entry: Mapping[str, Any]) -> list[Path]:
    """Return the files of a model that the user has on disk: other files are another model."""
    return folders.model_files(Path(entry["path"])) if entry["source"] == "local" else []


def models_with(run: Run, *sources: str, level: str | None = None) -> list[str]:
    """Return the models of one of these sources (and, of imported scores, of this level)."""
    return [
        name
        for name, entry in run.catalog.models.items()
        if entry["source"] in sources and level in (None, entry.get("level"))
    ]


def causal_models(run: Run) -> list[str]:
    """Return the models with weights that read from left to right."""
    return [name for name in models_with(run, *WITH_WEIGHTS) if not run.catalog.is_masked(name)]


def masked_models(run: Run) -> list[str]:
    """Return the models with weights that see both sides of what they predict."""
    return [name for name in models_with(run, *WITH_WEIGHTS) if run.catalog.is_masked(name)]


def datasets_of(run: Run, kind: str) -> list[str]:
    """Return the data sets of a kind."""
    return [name for name, entry in run.catalog.datasets.items() if entry["kind"] == kind]


def language(run: Run, dataset: str) -> str:
    """Return the language of a data set: en or zh."""
    return str(run.catalog.dataset(dataset).get("language", "en"))


def speaks(run: Run, model: str, dataset: str) -> bool:
    """Tell whether a data set is in a model's language."""
    return bool(language(run, dataset) == run.catalog.model(model)["language"])


def model_manifest(model: str) -> str:
    """Return what says where a model's files lie."""
    return f"resources/models/{model}/manifest.json"


def model_files(run: Run, model: str) -> list[Path]:
    """Return the files of a model that the user has on disk."""
    return local_files(run.catalog.model(model))


def embedding_files(run: Run, embedding: str) -> list[Path]:
    """Return the files of an embedding model likewise."""
    return local_files(run.catalog.embedding(embedding))


def embedding_manifest(embedding: str) -> str:
    """Return what says where an embedding model's files lie."""
    return f"resources/embeddings/{embedding}/manifest.json"


def model_entry(run: Run, model: str, keys: str, bulk: bool) -> Entry:
    """Return these parts of a model's entry, and its number formats for usual or much work."""
    entry = run.catalog.model(model)
    # In one order for good: Snakemake takes params in another order for other params.
    return {"dtype": formats(entry, bulk), **pick(entry, *keys.split())}


def formats(model: Entry, bulk: bool) -> dict[str, str]:
    """Return the number formats of a model's weights by device (`cpu`, `cuda`), from its entry."""
    by_device = dict(model.get("dtype", {}))
    much = by_device.pop("bulk", by_device.get("cuda"))
    return {**by_device, "cuda": much} if bulk and much else by_device


def dataset_manifest(dataset: str) -> str:
    """Return what says which files of a data set were fetched and checked."""
    return f"resources/datasets/{dataset}/manifest.tsv"


def imported_scores(run: Run, model: str) -> tuple[str, str]:
    """Return what brings a model's imported scores, and their file: of a data set or the user's."""
    entry = run.catalog.model(model)
    if "dataset" not in entry:
        return entry["path"], entry["path"]
    manifest = dataset_manifest(entry["dataset"])
    return manifest, str(Path(manifest).with_name(entry["path"]))


def raw_dataset(run: Run, dataset: str) -> dict[str, str]:
    """Return what a parser reads: fetched files, the user's own, or (package data) nothing."""
    entry = run.catalog.dataset(dataset)
    if entry.get("files"):
        return {"manifest": dataset_manifest(entry.get("files_of", dataset))}
    return {"own": entry["path"]} if "path" in entry else {}


def corpus_file_names(run: Run, corpus: str) -> list[str]:
    """Return the files of a corpus, each of which a job reads; `package` where it has none."""
    return list(_paths(run, corpus)) or ["package"]


def corpus_file_path(run: Run, corpus: str, file: str) -> str | None:
    """Return where one file of a corpus lies, or None where the package has the corpus."""
    return _paths(run, corpus).get(file)


def corpus_file(run: Run, corpus: str, file: str) -> str | list[str]:
    """Return what a file of a corpus is read from: its manifest, the user's own, or nothing."""
    entry = run.catalog.dataset(corpus)
    if "source" in entry:
        return dataset_manifest(corpus)
    if entry.get("files"):
        return f"resources/datasets/{corpus}/manifests/{file}.tsv"
    return corpus_file_path(run, corpus, file) or []


def corpus_file_source(run: Run, corpus: str, file: str) -> Entry:
    """Return what `obtain_file` needs to know of a file of a corpus."""
    entry = run.catalog.dataset(corpus)
    found = {"file": corpus_file_entry(run, corpus, file)}
    return found | pick(entry, "shards", "instructions")


def corpus_files(run: Run, corpus: str) -> list[str | list[str]]:
    """Return what a whole corpus is read from."""
    return [corpus_file(run, corpus, file) for file in _paths(run, corpus)]


def corpus_file_entry(run: Run, corpus: str, file: str) -> Entry:
    """Return what the catalog says of one file of a corpus."""
    files: list[Entry] = run.catalog.dataset(corpus)["files"]
    return next(entry for entry in files if entry["name"] == file)


def tokenizer_files(run: Run, name: str) -> str:
    """Return the manifest of a model, or of a data set that is a tokenizer."""
    known = name in run.catalog.datasets
    return dataset_manifest(name) if known else model_manifest(name)


def tokenizer_manifest(run: Run, tokenizer: str) -> str:
    """Return the manifest of the model whose tokenizer is meant."""
    return model_manifest(run.catalog.tokenizer_provider(tokenizer))


def bos_policy(run: Run, bos: str) -> dict[str, str]:
    """Return what a BOS policy puts before a sentence, and whether its first token counts."""
    policy = run.catalog.bos_policies[bos]
    start_token = run.catalog.start_tokens[policy["start_token"]]
    return {"start_token": start_token, "first_token": policy["first_token"]}


def default_bos(run: Run, model: str) -> str:
    """Return the BOS policy that MORCELA's figures show of a model."""
    return str(run.catalog.model(model)["bos_policies"][0])


def generation_start_token(run: Run, model: str) -> str:
    """Return the token that a model generates from."""
    return str(run.catalog.start_tokens[own_start_token(run, model)])


def own_start_token(run: Run, model: str) -> str:
    """Return the name of the first start token that a model's BOS policies have; else `bos`."""
    names = map(run.catalog.start_token_of, run.catalog.model(model)["bos_policies"])
    return next((name for name in names if run.catalog.start_tokens[name] != "none"), "bos")


def unigram_shards(run: Run, tokenizer: str, source: str) -> list[str]:
    """Return the tables of independent jobs that a unigram source is merged of."""
    kind, of = run.catalog.unigram_source(source)
    sampled = kind in run.catalog.samplings
    shards = run.settings["unigrahams" if sampled else "unigrams"]["shards"]
    part_of = run.catalog.samplings[kind].get("tenth_of") if sampled else None
    folder = f"results/unigram_sums/{tokenizer}/{f'{part_of}_{of}' if part_of else source}"
    used = max(1, round(shards / 10)) if part_of else shards
    return [f"{folder}/{shard}-of-{shards}.parquet" for shard in range(used)]


def _paths(run: Run, corpus: str) -> dict[str, str]:
    """Paths of a corpus's files by file name."""
    paths = dataset_paths(corpus, run.catalog.dataset(corpus))
    return {path.name: str(path) for path in paths}


def ngram_inputs(run: Run, model: str) -> dict[str, Any]:
    """Return what a model of source `ngram` is estimated from: `corpus`, `tokenizer` (none where
    its tokens are words) and `programs`, KenLM's (none where they cannot be had, or not asked for).
    """
    entry = run.catalog.model(model)
    words, asked = entry["tokenizer"] == model, entry["estimator"]
    counted = asked == "counts" or (asked == "auto" and lmplz_missing() is not None)
    return {
        "corpus": corpus_files(run, entry["corpus"]),
        "tokenizer": [] if words else tokenizer_manifest(run, entry["tokenizer"]),
        "programs": [] if counted else [f"resources/tools/kenlm/{name}" for name in PROGRAMS],
    }
