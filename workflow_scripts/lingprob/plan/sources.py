"""Which models and data sets there are, and what each is read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog, Entry
from lingprob.files import dataset_paths
from lingprob.models.manifest import model_files
from lingprob.plan.work import formats
from lingprob.training.sizes import model_name

# Sources of models that can score what they have not seen.
WITH_WEIGHTS = ("hub", "package", "local", "stand_in", "trained", "ngram")


def pick(entry: Mapping[str, Any], *keys: str) -> Entry:
    """Return the part of a catalog entry, or of the settings, that a rule depends on."""
    return {key: entry[key] for key in keys if key in entry}


def local_files(entry: Mapping[str, Any]) -> list[Path]:
    """Return the files of a model that the user has on disk: other files are another model."""
    return model_files(Path(entry["path"])) if entry["source"] == "local" else []


@dataclass(frozen=True)
class Sources:
    """The models and data sets of a run, with the files that they come from.

    Paths are relative to the working directory; unknown names raise LingprobError with the nearest
    ones.
    """

    settings: dict[str, Any]
    catalog: Catalog

    def series(self, models: Iterable[str]) -> dict[str, str]:
        """Return what each model is one of several of.

        The states of a training share its final model's name, and the orders of n-grams over one
        corpus a name of their own; all others are for themselves.
        """
        found = {}
        for name in models:
            entry = self.catalog.model(name)
            found[name] = model_name(entry["size"]) if "training_step" in entry else name
            if entry["source"] == "ngram":
                found[name] = f"{entry['tokenizer']}/{entry['corpus']}"
        return found

    def models_with(self, *sources: str, level: str | None = None) -> list[str]:
        """Return the models of one of these sources (and, of imported scores, of this level)."""
        return [
            name
            for name, entry in self.catalog.models.items()
            if entry["source"] in sources and level in (None, entry.get("level"))
        ]

    def causal_models(self) -> list[str]:
        """Return the models with weights that read from left to right."""
        return [
            name for name in self.models_with(*WITH_WEIGHTS) if not self.catalog.is_masked(name)
        ]

    def masked_models(self) -> list[str]:
        """Return the models with weights that see both sides of what they predict."""
        return [name for name in self.models_with(*WITH_WEIGHTS) if self.catalog.is_masked(name)]

    def datasets_of(self, kind: str) -> list[str]:
        """Return the data sets of a kind."""
        return [name for name, entry in self.catalog.datasets.items() if entry["kind"] == kind]

    def language(self, dataset: str) -> str:
        """Return the language of a data set: en or zh."""
        return str(self.catalog.dataset(dataset).get("language", "en"))

    def speaks(self, model: str, dataset: str) -> bool:
        """Tell whether a data set is in a model's language."""
        return bool(self.language(dataset) == self.catalog.model(model)["language"])

    def model_manifest(self, model: str) -> str:
        """Return what says where a model's files lie."""
        return f"resources/models/{model}/manifest.json"

    def model_files(self, model: str) -> list[Path]:
        """Return the files of a model that the user has on disk."""
        return local_files(self.catalog.model(model))

    def embedding_files(self, embedding: str) -> list[Path]:
        """Return the files of an embedding model likewise."""
        return local_files(self.catalog.embedding(embedding))

    def embedding_manifest(self, embedding: str) -> str:
        """Return what says where an embedding model's files lie."""
        return f"resources/embeddings/{embedding}/manifest.json"

    def model_entry(self, model: str, keys: str, bulk: bool) -> Entry:
        """Return these parts of a model's entry, and its number formats for usual or much work."""
        entry = self.catalog.model(model)
        # In one order for good: Snakemake takes params in another order for other params.
        return {"dtype": formats(entry, bulk), **pick(entry, *keys.split())}

    def dataset_manifest(self, dataset: str) -> str:
        """Return what says which files of a data set were fetched and checked."""
        return f"resources/datasets/{dataset}/manifest.tsv"

    def raw_dataset(self, dataset: str) -> dict[str, str]:
        """Return what a parser reads: fetched files, the user's own, or (package data) nothing."""
        entry = self.catalog.dataset(dataset)
        if entry.get("files"):
            return {"manifest": self.dataset_manifest(entry.get("files_of", dataset))}
        return {"own": entry["path"]} if "path" in entry else {}

    def words_read(self, dataset: str) -> str | list[str]:
        """Return the words that made-up reading times are of; none of files that are fetched."""
        entry = self.catalog.dataset(dataset)
        made_up = any("stand_in" in file for file in entry.get("files", []))
        return f"results/words/{entry['texts']}.parquet" if made_up and "texts" in entry else []

    def corpus_file_names(self, corpus: str) -> list[str]:
        """Return the files of a corpus, each of which a job reads; `package` where it has none."""
        return list(self._paths(corpus)) or ["package"]

    def corpus_file_path(self, corpus: str, file: str) -> str | None:
        """Return where one file of a corpus lies, or None where the package has the corpus."""
        return self._paths(corpus).get(file)

    def corpus_file(self, corpus: str, file: str) -> str | list[str]:
        """Return what a file of a corpus is read from: its manifest, the user's own, or nothing."""
        entry = self.catalog.dataset(corpus)
        if "source" in entry:
            return self.dataset_manifest(corpus)
        if entry.get("files"):
            return f"resources/datasets/{corpus}/manifests/{file}.tsv"
        return self.corpus_file_path(corpus, file) or []

    def corpus_file_source(self, corpus: str, file: str) -> Entry:
        """Return what `obtain_file` needs to know of a file of a corpus."""
        entry = self.catalog.dataset(corpus)
        found = {"file": self.corpus_file_entry(corpus, file)}
        return found | pick(entry, "shards", "instructions")

    def corpus_files(self, corpus: str) -> list[str | list[str]]:
        """Return what a whole corpus is read from."""
        return [self.corpus_file(corpus, file) for file in self._paths(corpus)]

    def corpus_file_entry(self, corpus: str, file: str) -> Entry:
        """Return what the catalog says of one file of a corpus."""
        files: list[Entry] = self.catalog.dataset(corpus)["files"]
        return next(entry for entry in files if entry["name"] == file)

    def tokenizer_files(self, name: str) -> str:
        """Return the manifest of a model, or of a data set that is a tokenizer."""
        known = name in self.catalog.datasets
        return self.dataset_manifest(name) if known else self.model_manifest(name)

    def tokenizer_manifest(self, tokenizer: str) -> str:
        """Return the manifest of the model whose tokenizer is meant."""
        return self.model_manifest(self.catalog.tokenizer_provider(tokenizer))

    def bos_policy(self, bos: str) -> dict[str, str]:
        """Return what a BOS policy puts before a sentence, and whether its first token counts."""
        policy = self.catalog.bos_policies[bos]
        start_token = self.catalog.start_tokens[policy["start_token"]]
        return {"start_token": start_token, "first_token": policy["first_token"]}

    def default_bos(self, model: str) -> str:
        """Return the BOS policy that MORCELA's figures show of a model."""
        return str(self.catalog.model(model)["bos_policies"][0])

    def generation_start_token(self, model: str) -> str:
        """Return the token that a model generates from."""
        return str(self.catalog.start_tokens[self.own_start_token(model)])

    def own_start_token(self, model: str) -> str:
        """Return the name of the first start token that a model's BOS policies have; else `bos`."""
        names = map(self.catalog.start_token_of, self.catalog.model(model)["bos_policies"])
        return next((name for name in names if self.catalog.start_tokens[name] != "none"), "bos")

    def unigram_shards(self, tokenizer: str, source: str) -> list[str]:
        """Return the tables of independent jobs that a unigram source is merged of."""
        kind, of = self.catalog.unigram_source(source)
        sampled = kind in self.catalog.samplings
        shards = self.settings["unigrahams" if sampled else "unigrams"]["shards"]
        shards = 1 if kind == "training" else shards
        part_of = self.catalog.samplings[kind].get("tenth_of") if sampled else None
        folder = f"results/unigram_sums/{tokenizer}/{f'{part_of}_{of}' if part_of else source}"
        used = max(1, round(shards / 10)) if part_of else shards
        return [f"{folder}/{shard}-of-{shards}.parquet" for shard in range(used)]

    def _paths(self, corpus: str) -> dict[str, str]:
        """Paths of a corpus's files by file name."""
        paths = dataset_paths(corpus, self.catalog.dataset(corpus))
        return {path.name: str(path) for path in paths}
