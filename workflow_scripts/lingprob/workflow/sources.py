"""The files from which the models and data sets of a run are read.

Paths are relative to the working directory. An unknown name raises LingprobError with the nearest
known names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog, Entry
from lingprob.io.files import dataset_paths
from lingprob.models import folders

# Sources of models that can score new sentences.
WITH_WEIGHTS = ("hub", "package", "local", "trained", "ngram")


@dataclass(frozen=True)
class Run:
    """The settings and the catalog of a run."""

    settings: dict[str, Any]
    catalog: Catalog


def pick(entry: Mapping[str, Any], *keys: str) -> Entry:
    """Return the items of a mapping with these keys. Keys that it lacks are left out.

    Rules use it to depend on a part of a catalog entry or of the settings.
    """
    return {key: entry[key] for key in keys if key in entry}


def local_files(entry: Mapping[str, Any]) -> list[Path]:
    """Return the files of a model of source `local`, and [] for a model of another source.

    Rules take them as input, so that other files in the folder make the model's jobs run again.
    """
    return folders.model_files(Path(entry["path"])) if entry["source"] == "local" else []


def models_with(run: Run, *sources: str, level: str | None = None) -> list[str]:
    """Return the models of one of these sources.

    `level` (`token`, `word` or `sentence`) further selects models of imported scores.
    """
    return [
        name
        for name, entry in run.catalog.models.items()
        if entry["source"] in sources and level in (None, entry.get("level"))
    ]


def causal_models(run: Run) -> list[str]:
    """Return the models with weights that predict a token from the tokens before it."""
    return [name for name in models_with(run, *WITH_WEIGHTS) if not run.catalog.is_masked(name)]


def masked_models(run: Run) -> list[str]:
    """Return the models with weights that predict a token from the tokens on both sides."""
    return [name for name in models_with(run, *WITH_WEIGHTS) if run.catalog.is_masked(name)]


def language(run: Run, dataset: str) -> str:
    """Return the ISO 639-1 code of a data set's language, by default `en`."""
    return str(run.catalog.dataset(dataset).get("language", "en"))


def speaks(run: Run, model: str, dataset: str) -> bool:
    """Return whether a data set is in a model's language."""
    return bool(language(run, dataset) == run.catalog.model(model)["language"])


def model_manifest(model: str) -> str:
    """Return the path of the JSON file that names the folder with a model's files."""
    return f"resources/models/{model}/manifest.json"


def dataset_manifest(dataset: str) -> str:
    """Return the path of the table that lists the fetched and checked files of a data set."""
    return f"resources/datasets/{dataset}/manifest.tsv"


def model_entry(run: Run, model: str, keys: str, bulk: bool) -> Entry:
    """Return these keys (with spaces between) of a model's entry, and its number formats as dtype.

    The items always have the same order, because Snakemake would run jobs again for another order.
    """
    entry = run.catalog.model(model)
    return {"dtype": formats(entry, bulk), **pick(entry, *keys.split())}


def formats(model: Entry, bulk: bool) -> dict[str, str]:
    """Return the number formats of a model's weights by device (`cpu`, `cuda`).

    An entry may state another format on GPUs for bulk work (`dtype.bulk`).
    """
    by_device = dict(model.get("dtype", {}))
    in_bulk = by_device.pop("bulk", by_device.get("cuda"))
    return {**by_device, "cuda": in_bulk} if bulk and in_bulk else by_device


def imported_scores(run: Run, model: str) -> tuple[str, str]:
    """Return the input file of the job that imports a model's scores, and the file with the scores.

    They differ if the scores belong to a data set, whose manifest is then the input.
    """
    entry = run.catalog.model(model)
    if "dataset" not in entry:
        return entry["path"], entry["path"]
    manifest = dataset_manifest(entry["dataset"])
    return manifest, str(Path(manifest).with_name(entry["path"]))


def raw_dataset(run: Run, dataset: str) -> dict[str, str | list[str]]:
    """Return the named inputs of a job that parses a data set.

    They are the manifest of fetched files, the user's own files, or none for data in the package.
    """
    entry = run.catalog.dataset(dataset)
    if entry.get("files"):
        return {"manifest": dataset_manifest(entry.get("files_of", dataset))}
    # A folder's own time does not change with a file in it.
    return {"own": [*map(str, dataset_paths(dataset, entry))]} if "path" in entry else {}


def corpus_file_names(run: Run, corpus: str) -> list[str]:
    """Return the names of a corpus's files, one per job, or ["package"] if it has none."""
    return list(_paths(run, corpus)) or ["package"]


def corpus_file_path(run: Run, corpus: str, file: str) -> str | None:
    """Return the path of one file of a corpus, or None for a corpus in the package."""
    return _paths(run, corpus).get(file)


def corpus_file(run: Run, corpus: str, file: str) -> str | list[str]:
    """Return the input of a job that reads one file of a corpus.

    It is the manifest of fetched files, the user's own file, or [] for a corpus in the package.
    """
    entry = run.catalog.dataset(corpus)
    if "source" in entry:
        return dataset_manifest(corpus)
    if entry.get("files"):
        return f"resources/datasets/{corpus}/manifests/{file}.tsv"
    return corpus_file_path(run, corpus, file) or []


def corpus_files(run: Run, corpus: str) -> list[str | list[str]]:
    """Return the inputs of a job that reads all files of a corpus."""
    return [corpus_file(run, corpus, file) for file in _paths(run, corpus)]


def is_transient(run: Run, corpus: str) -> bool:
    """Return whether jobs that scan a corpus fetch the scanned file and delete it afterwards."""
    return "shards" in run.catalog.dataset(corpus) and not run.settings["overlap"]["keep_chunks"]


def corpus_file_source(run: Run, corpus: str, file: str) -> Entry:
    """Return the keys by which `training.preshuffled.obtain_file` fetches a file of a corpus."""
    entry = run.catalog.dataset(corpus)
    found = next(part for part in entry["files"] if part["name"] == file)
    return {"file": found} | pick(entry, "shards", "instructions")


def tokenizer_files(run: Run, name: str) -> str:
    """Return the manifest of a tokenizer, which is a data set or belongs to a model."""
    return dataset_manifest(name) if name in run.catalog.datasets else model_manifest(name)


def tokenizer_manifest(run: Run, tokenizer: str) -> str:
    """Return the manifest of the first model whose files include this tokenizer."""
    return model_manifest(run.catalog.tokenizer_provider(tokenizer))


def bos_policy(run: Run, bos: str) -> dict[str, str]:
    """Return a BOS policy with the text of its token.

    `start_token` is the token's text or `none`, and `first_token` is `scored` or `excluded`.
    """
    policy = run.catalog.bos_policies[bos]
    start_token = run.catalog.start_tokens[policy["start_token"]]
    return {"start_token": start_token, "first_token": policy["first_token"]}


def generation_start_token(run: Run, model: str) -> str:
    """Return the text of the token after which a model generates."""
    return str(run.catalog.start_tokens[own_start_token(run, model)])


def own_start_token(run: Run, model: str) -> str:
    """Return the name of the first start token of a model's BOS policies, or `bos` without any."""
    names = map(run.catalog.start_token_of, run.catalog.model(model)["bos_policies"])
    return next((name for name in names if run.catalog.start_tokens[name] != "none"), "bos")


def unigram_shards(run: Run, tokenizer: str, source: str) -> list[str]:
    """Return the paths of the tables whose sums give a unigram source, one per job (shard)."""
    kind, _ = run.catalog.unigram_source(source)
    sampled = kind in run.catalog.samplings
    shards = run.settings["unigrahams" if sampled else "unigrams"]["shards"]
    folder = f"results/unigram_sums/{tokenizer}/{source}"
    return [f"{folder}/{shard}-of-{shards}.parquet" for shard in range(shards)]


def ngram_inputs(run: Run, model: str) -> dict[str, Any]:
    """Return the named inputs of an n-gram model's job. `tokenizer` is [] for one of words."""
    entry = run.catalog.model(model)
    words = entry["tokenizer"] == model
    return {
        "corpus": corpus_files(run, entry["corpus"]),
        "tokenizer": [] if words else tokenizer_manifest(run, entry["tokenizer"]),
    }


def _paths(run: Run, corpus: str) -> dict[str, str]:
    """Return the paths of a corpus's files by file name."""
    paths = dataset_paths(corpus, run.catalog.dataset(corpus))
    return {path.name: str(path) for path in paths}
