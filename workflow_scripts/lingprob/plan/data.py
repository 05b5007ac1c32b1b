"""Which data set meets which model, under which conventions, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from lingprob.catalog import Catalog, Entry, read_yaml, surprisal_file
from lingprob.config import surprisal_models
from lingprob.context.suites import pairs_per_suite
from lingprob.files import dataset_paths
from lingprob.plan.work import formats, prefix_lengths
from lingprob.training.dosed import dosed_name, dosed_sizes
from lingprob.training.sizes import model_name
from lingprob.training.trajectories import trajectories

# Figure 1b's data set, which stands under no prediction.
TOY_STRINGS = "toy_strings"
# Sources of models that can score what they have not seen.
WITH_WEIGHTS = ("hub", "package", "local", "stand_in", "trained", "ngram")


def pick(entry: Mapping[str, Any], *keys: str) -> Entry:
    """Return the part of a catalog entry, or of the settings, that a rule depends on."""
    return {key: entry[key] for key in keys if key in entry}


@dataclass(frozen=True)
class Plan:
    """What is scored, counted and drawn. Paths are relative to the working directory; unknown
    names raise LingprobError with the nearest ones."""

    settings: dict[str, Any]
    catalog: Catalog

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

    def model_manifest(self, model: str) -> str:
        """Return what says where a model's files lie."""
        return f"resources/models/{model}/manifest.json"

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

    def training_chunk(self, corpus: str, file: str) -> Entry:
        """Return what `obtain_chunk` needs to know of a chunk."""
        return {
            "file": self.corpus_file_entry(corpus, file),
            "shards": self.catalog.dataset(corpus)["shards"],
        }

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

    def bos_policies(self, model: str, dataset: str) -> list[str]:
        """Return the BOS policies under which a model scores a data set, the default one first.

        All of them where conventions are compared; of string_probability's data sets its own, and
        those that the same scores give, and of one's own pairs that are audited, all; else the
        model's default one, by which MORCELA's fits predict ratings.
        """
        policies: list[str] = self.catalog.model(model)["bos_policies"]
        strings = self.settings["string_probability"]
        if self._compares_conventions(dataset, model):
            return policies
        reads = model in (*self.string_models(), self.settings["audit"]["model"])
        if not reads or not self._is_of_strings(dataset):
            return policies[:1]
        chosen, start_token = self.string_bos(model), self.catalog.start_token_of
        compared = model not in strings["ladder"]
        compared = compared and dataset in map(self.scored_as, strings["conventions"])
        compared = compared or self._audits_own(model, dataset)
        return [chosen] + [
            bos
            for bos in policies
            if bos != chosen
            and (
                compared
                or start_token(bos) == start_token(chosen)
                or (bos == policies[0] and dataset in self.predicted_datasets(model))
            )
        ]

    def _audits_own(self, model: str, dataset: str) -> bool:
        """Whether a data set is one's own and audited by this model."""
        audit = self.settings["audit"]
        own = dataset in audit["datasets"] and self.catalog.dataset(dataset)["parser"] == "table"
        return own and model == audit["model"]

    def _is_of_strings(self, dataset: str) -> bool:
        """Whether string_probability reads a data set's scores, or the audit does by its rules."""
        read = [*self.predictions(), *self.settings["audit"]["datasets"]]
        return dataset in [TOY_STRINGS, *read, *map(self.scored_as, read)]

    def _separates(self, model: str) -> bool:
        """Whether a model's sentences want unigrams: not if string_probability has it for
        Predictions 1 and 2 alone, on data sets that MORCELA leaves alone."""
        if model not in self.string_models():
            return True
        predictions = self.predictions()
        return any(
            3 in predictions[name]
            or self._compares_conventions(name)
            or self.scored_as(name) in self.predicted_datasets(model)
            for name in self.string_datasets(model)
        )

    def string_convention(self, model: str) -> list[str]:
        """Return the BOS policy and the unigram source that string_probability reads scores by."""
        source = self.string_unigrams(model) if self._separates(model) else "imported"
        return [self.string_bos(model), source]

    def string_unigrams(self, model: str) -> str:
        """Return the unigram source of a model's Prediction 3: the setting's, or the model's own
        where there is none, it is of another language or the scores are imported."""
        entry = self.catalog.model(model)
        own, chosen = entry["unigrams"][0], self.settings["string_probability"]["unigrams"]
        if chosen is None or own == "imported":
            return str(own)
        kind, corpus = self.catalog.unigram_source(chosen)
        foreign = kind == "corpus" and self.language(corpus) != entry["language"]
        return str(own if foreign else chosen)

    def string_bos(self, model: str) -> str:
        """Return the BOS policy under which string_probability reads a model's scores."""
        return self.catalog.bos_policy(model, self.settings["string_probability"]["bos"])

    def start_tokens(self, model: str, dataset: str) -> list[str]:
        """Return the start tokens that these BOS policies need, each scored once."""
        policies = self.bos_policies(model, dataset)
        return list(dict.fromkeys(map(self.catalog.start_token_of, policies)))

    def generation_start_token(self, model: str) -> str:
        """Return the token that a model generates from."""
        return str(self.catalog.start_tokens[self.own_start_token(model)])

    def own_start_token(self, model: str) -> str:
        """Return the name of the first start token that a model's BOS policies have; else `bos`."""
        names = map(self.catalog.start_token_of, self.catalog.model(model)["bos_policies"])
        return next((name for name in names if self.catalog.start_tokens[name] != "none"), "bos")

    def unigram_sources(self, model: str) -> list[str]:
        """Return a model's default unigram source and, of one that is not of the ladder alone,
        others that `morcela.unigrams` names."""
        default, *others = self.catalog.model(model)["unigrams"]
        morcela = self.settings["morcela"]
        patterns = [] if model in morcela["ladder"] else morcela["unigrams"]
        return [default, *(name for name in others if _matches(name, patterns))]

    def model_unigrams(self, model: str, dataset: str | None = None) -> list[str]:
        """Return those sources that are tables: all where conventions are compared, and the one of
        string_probability for its models; for other data sets the default one alone."""
        compared = dataset is None or self._compares_conventions(dataset, model)
        strings = model in self.string_models()
        of_strings = strings and (not dataset or self._is_of_strings(dataset))
        sources = self.unigram_sources(model) if compared else []
        if not of_strings or dataset in self.predicted_datasets(model):
            sources = sources or self.unigram_sources(model)[:1]
        if of_strings and (dataset in self.predictions() or not compared):
            sources = [*sources, self.string_unigrams(model)] if self._separates(model) else sources
        return [source for source in dict.fromkeys(sources) if source != "imported"]

    def unigram_tables(self, model: str, dataset: str | None = None) -> list[str]:
        """Return these tables' paths; none for imported scores."""
        folder = f"results/unigrams/{self.catalog.model(model)['tokenizer']}"
        return [f"{folder}/{source}.parquet" for source in self.model_unigrams(model, dataset)]

    def unigram_shards(self, tokenizer: str, source: str) -> list[str]:
        """Return the tables of independent jobs that a unigram source is merged of."""
        kind, _ = self.catalog.unigram_source(source)
        sampled = kind in self.catalog.samplings
        shards = self.settings["unigrahams" if sampled else "unigrams"]["shards"]
        shards = 1 if kind == "training" else shards
        folder = f"results/unigram_sums/{tokenizer}/{source}"
        return [f"{folder}/{shard}-of-{shards}.parquet" for shard in range(shards)]

    def sampling(self, kind: str) -> Entry:
        """Return what a kind of unigrahams may sample: its own settings, or the run's."""
        return {
            **pick(self.settings["unigrahams"], "top_k", "suppress_eos"),
            **self.catalog.samplings[kind],
        }

    def sampled_sources(self, model: str) -> list[str]:
        """Return those unigram sources of a model that are merged of several jobs' samples."""
        several = self.settings["unigrahams"]["shards"] > 1
        kinds = {name: self.catalog.unigram_source(name)[0] for name in self.model_unigrams(model)}
        return [name for name in kinds if several and kinds[name] in self.catalog.samplings]

    def stimuli_entry(self, dataset: str) -> Entry:
        """Return a data set's entry and, of one's own, what the analyses need of its `ratings`."""
        entry = self.catalog.dataset(dataset)
        if entry["parser"] != "table":
            return entry
        some = dataset in self.settings["string_probability"]["prediction_2"]
        ratings = "every" if self._compares_conventions(dataset) else "some" if some else "none"
        return {**entry, "ratings": ratings}

    def rated_datasets(self, model: str) -> list[str]:
        """Return the rated data sets that MORCELA fits a model to: those that its scores cover, of
        one of the ladder the main one alone."""
        covered = self.catalog.model(model).get("datasets", self.catalog.datasets)
        ladder = model in self.settings["morcela"]["ladder"]
        wanted = [self.main_rated()] if ladder else self.settings["morcela"]["datasets"]
        return [name for name in wanted if name in covered]

    def main_rated(self) -> str:
        """Return MORCELA's own rated data set or, where the run has others alone, the first."""
        names: list[str] = self.settings["morcela"]["datasets"]
        of_paper = read_yaml("scales.yaml")["paper"]["morcela"]["datasets"]
        return next((name for name in names if name in of_paper), names[0])

    def fitted_models(self) -> list[str]:
        """Return the models of MORCELA that have a rated data set to be fitted to."""
        return [name for name in self.settings["morcela"]["models"] if self.rated_datasets(name)]

    def fitted_ladder(self) -> list[str]:
        """Return these models, and those of the ladder that have one."""
        ladder = [name for name in self.settings["morcela"]["ladder"] if self.rated_datasets(name)]
        return [*self.fitted_models(), *ladder]

    def ladder_facts(self, section: str) -> dict[str, dict[str, Any]]:
        """Return what each model of a paper, those of its ladder included, is one of several of.

        By name: `kind`, `step` of what a training kept on its way, `order` of n-grams over one
        corpus, else `model`; `series`, the same for all steps of a training, its end included, and
        for all orders over a corpus; `ladder`, whether it is of the ladder alone; `has_quality`,
        whether its log-probabilities are what it takes to say a text, which nobody knows of
        imported scores, and pseudo-log-likelihoods are not.
        """
        found: dict[str, dict[str, Any]] = {}
        causal = self.causal_models()
        ladder = self.settings[section]["ladder"]
        for name in [*self.settings[section]["models"], *ladder]:
            entry = self.catalog.model(name)
            kind = "step" if "training_step" in entry else "model"
            series = model_name(entry["size"]) if kind == "step" else name
            if entry["source"] == "ngram":
                kind, series = "order", f"{entry['tokenizer']}/{entry['corpus']}"
            found[name] = {"kind": kind, "series": series}
            found[name] |= {"ladder": name in ladder, "has_quality": name in causal}
        return found

    def default_bos(self, model: str) -> str:
        """Return the BOS policy that MORCELA's figures show of a model."""
        return str(self.catalog.model(model)["bos_policies"][0])

    def sample_size_tables(self) -> list[str]:
        """Return what the numbers of samples behind each model's own unigrams do."""
        return [
            f"results/morcela/sample_sizes/{model}/{dataset}/{source}.parquet"
            for model in self.fitted_models()
            for dataset in self.rated_datasets(model)
            for source in self.sampled_sources(model)
        ]

    def predicted_datasets(self, model: str) -> list[str]:
        """Return the data sets whose ratings a model's fits predict, samples by their own names:
        those fitted to and, of MORCELA's models, others that their scores cover."""
        rated, morcela = self.rated_datasets(model), self.settings["morcela"]
        covered = self.catalog.model(model).get("datasets", self.catalog.datasets)
        wanted = morcela["predicted"] if rated and model in morcela["models"] else []
        others = [self.scored_as(name) for name in wanted if name in covered]
        return list(dict.fromkeys([*rated, *others]))

    def frequency_models(self) -> list[str]:
        """Return the models whose log-probabilities are regressed on frequency (morcela, §5)."""
        morcela, causal = self.settings["morcela"], self.causal_models()
        return [
            name
            for name in [*morcela["models"], *morcela["ladder"]]
            if _matches(name, morcela["frequency_models"]) and name in causal
        ]

    def frequency_tables(self, name: str) -> list[str]:
        """Return the slopes or bins of each of these models, after each start token; of those of
        the ladder after the first alone."""
        morcela = self.settings["morcela"]
        asked = morcela["frequency_start_tokens"]
        return [
            f"results/morcela/frequency_{name}/{model}/{start_token}.parquet"
            for model in self.frequency_models()
            for start_token in dict.fromkeys(
                self.own_start_token(model) if one == "own" else one
                for one in (asked[:1] if model in morcela["ladder"] else asked)
            )
        ]

    def predictions(self) -> dict[str, list[int]]:
        """Return the data sets of string_probability with the predictions that each is used for."""
        found: dict[str, list[int]] = {}
        for number in (1, 2, 3):
            for name in self.settings["string_probability"][f"prediction_{number}"]:
                found.setdefault(name, []).append(number)
        return found

    def scored_as(self, dataset: str) -> str:
        """Return the name that string_probability scores a data set by: its own or its sample's."""
        strings = self.settings["string_probability"]
        pairs = strings["pairs_per_dataset"]
        return f"{dataset}_sample{pairs}" if pairs and dataset in strings["sampled"] else dataset

    def bos_policy(self, bos: str) -> dict[str, str]:
        """Return what a BOS policy puts before a sentence, and whether its first token counts."""
        policy = self.catalog.bos_policies[bos]
        start_token = self.catalog.start_tokens[policy["start_token"]]
        return {"start_token": start_token, "first_token": policy["first_token"]}

    def string_datasets(self, model: str) -> list[str]:
        """Return the data sets of a model's language; of imported scores, those that they cover."""
        entry = self.catalog.model(model)
        covered = entry.get("datasets", self.catalog.datasets)
        return [
            name
            for name in self.predictions()
            if name in covered and self.language(name) == entry["language"]
        ]

    def string_models(self) -> list[str]:
        """Return the models whose scores string_probability's rules read: its own, those of its
        ladder and, for their profiles, those of `profiles.models`."""
        return list(dict.fromkeys([*self.strings_ladder(), *self.settings["profiles"]["models"]]))

    def strings_ladder(self) -> list[str]:
        """Return the models of string_probability, and those of its ladder."""
        strings = self.settings["string_probability"]
        return [*strings["models"], *strings["ladder"]]

    def speaks(self, model: str, dataset: str) -> bool:
        """Tell whether a data set is in a model's language."""
        return bool(self.language(dataset) == self.catalog.model(model)["language"])

    def paired_datasets(self, model: str) -> list[str]:
        """Return those of them whose pairs' distances are wanted."""
        predictions = self.predictions()
        return [name for name in self.string_datasets(model) if {1, 2} & {*predictions[name]}]

    def absent_from_strings(self) -> list[str]:
        """Return titles of the paper's data sets that no model of string_probability sees here."""
        paper = read_yaml("scales.yaml")["paper"]["string_probability"]
        wanted = [name for number in (1, 2, 3) for name in paper[f"prediction_{number}"]]
        if self.settings["scale"].startswith("demo"):  # which has none of them
            return []
        models = self.settings["string_probability"]["models"]
        seen = {name for model in models for name in self.string_datasets(model)}
        return [self.catalog.dataset(n)["title"] for n in dict.fromkeys(wanted) if n not in seen]

    def minimalness(self, dataset: str) -> str:
        """Return the distances within a data set's pairs, or its sample's, that are analysed."""
        return self.minimalness_of(self.scored_as(dataset))

    def minimalness_of(self, scored: str) -> str:
        """Return the distances within the pairs of a data set or sample, by the embedding model of
        its language."""
        language = self.language(self.whole(scored))
        embedding = self.settings["string_probability"]["embeddings"][language]
        return f"results/minimalness/{embedding}/{scored}.parquet"

    def whole(self, scored: str) -> str:
        """Return the name of the data set that a sample is of, or a data set's own."""
        return re.sub(r"_sample\d+$", "", scored)

    def neighbours(self) -> list[str]:
        """Return the tables of neighbours: of each causal model on the data sets of its language,
        or on samples of them."""
        strings, causal = self.settings["string_probability"], self.causal_models()
        pairs = strings["neighbour_pairs"]
        return [
            f"results/neighbours/{model}/{name}{f'_sample{pairs}' if pairs else ''}.parquet"
            for model in strings["models"]
            if model in causal
            for name in strings["neighbour_datasets"]
            if self.speaks(model, name)
        ]

    def distances_if_any(self, dataset: str) -> list[str]:
        """Return the distances within a data set's pairs, none without an embedding model."""
        known = self.settings["string_probability"]["embeddings"]
        return [self.minimalness(dataset)] if self.language(dataset) in known else []

    def dataset_models(self, dataset: str) -> list[str]:
        """Return the models whose surprisals a data set of reading times is regressed on."""
        texts = self.catalog.dataset(dataset)["texts"]
        return surprisal_models(self.catalog, self.settings["reading"]["models"], texts)

    def dosed_sizes(self) -> dict[str, int]:
        """Return the sizes of models that are trained with passages, and their parameters."""
        sizes = dosed_sizes(self.settings["doses"], self.settings["training"])
        return {size: self.catalog.model(dosed_name(size, 0))["parameters"] for size in sizes}

    def dosed_models(self) -> list[str]:
        """Return these models, each size's without passages first."""
        return [
            dosed_name(size, copies)
            for size in self.dosed_sizes()
            for copies in [0, *self.settings["doses"]["copies"]]
        ]

    def trajectories(self) -> dict[str, dict[str, Any]]:
        """Return the trained models of sizes that reading times are regressed on in several states
        of their training, as `lingprob.training.trajectories` describes them."""
        patterns = self.settings["reading"]["models"]
        read = {name: self.catalog.models[name] for name in self.models_with("trained")}
        read = {name: entry for name, entry in read.items() if _matches(name, patterns)}
        return trajectories(read, self.settings["training"])

    def reading_contexts(self, models: list[str]) -> dict[str, str]:
        """Return what precedes a word in each model's surprisals."""
        own = self.settings["reading"]["context"]
        imported = self.models_with("scores", level="word")
        return {
            name: self.catalog.model(name).get("context", "imported") if name in imported else own
            for name in models
        }

    def reading_corrections(self, models: list[str]) -> dict[str, bool | None]:
        """Return whether each model's surprisals are corrected for trailing blanks; None where
        nobody knows."""
        own = self.settings["reading"]["corrected"]
        imported = self.models_with("scores", level="word")
        return {
            name: self.catalog.model(name).get("corrected") if name in imported else own
            for name in models
        }

    def imported_surprisals(self, model: str, texts: str) -> tuple[str, str]:
        """Return what brings a model's imported word surprisals of a text, and their file."""
        entry = self.catalog.model(model)
        path = str(surprisal_file(entry, texts))
        if "dataset" not in entry:
            return path, path
        manifest = self.dataset_manifest(entry["dataset"])
        return manifest, f"resources/datasets/{entry['dataset']}/{path}"

    def language(self, dataset: str) -> str:
        """Return the language of a data set: en or zh."""
        return str(self.catalog.dataset(dataset).get("language", "en"))

    def chinese_pairs(self) -> list[str]:
        """Return the data sets of stimuli whose sentences are joined as Chinese in contexts."""
        return [name for name in self.datasets_of("stimuli") if self.language(name) == "zh"]

    def context_models(self, dataset: str) -> list[str]:
        """Return the models that judge a data set's pairs in contexts: those of its language."""
        models: list[str] = self.settings["context"]["models"]
        return [name for name in models if self.speaks(name, dataset)]

    def context_datasets(self, model: str) -> list[str]:
        """Return the data sets whose pairs a model judges in contexts: those in its language."""
        datasets: list[str] = self.settings["context"]["datasets"]
        return [name for name in datasets if self.speaks(model, name)]

    def chinese_in_contexts(self) -> list[str]:
        """Return the Chinese ones of all these data sets."""
        judged = {one for name in self.settings["context"]["models"]
                  for one in self.context_datasets(name)}  # fmt: skip
        return [name for name in self.chinese_pairs() if name in judged]

    def context_control(self, dataset: str) -> str:
        """Return the corpus, or data set of pairs, of a data set's unrelated sentences."""
        context = self.settings["context"]
        return str(context["control_of"].get(dataset, context["control"]))

    def control_titles(self, datasets: list[str]) -> str:
        """Return what the unrelated sentences before these data sets are of, without what stands
        in brackets."""
        controls = dict.fromkeys(map(self.context_control, datasets))
        return " / ".join(self.catalog.dataset(name)["title"].split(" (")[0] for name in controls)

    def control_files(self, control: str) -> str | list[str | list[str]]:
        """Return what unrelated sentences are read from: the stimuli of pairs, or a corpus."""
        of_pairs = self.catalog.dataset(control)["kind"] == "stimuli"
        return f"results/stimuli/{control}.parquet" if of_pairs else self.corpus_files(control)

    def context_tokenizer(self, dataset: str) -> str:
        """Return the model by whose tokens a data set's prefixes are drawn."""
        context = self.settings["context"]
        return str(context["tokenizer_of"].get(self.language(dataset), context["tokenizer"]))

    def suite_files(self, dataset: str) -> str | list[str]:
        """Return what suites are read from beside their stimuli: regions and formulas."""
        has_suites = self.catalog.dataset(dataset)["parser"] == "syntaxgym"
        return self.dataset_manifest(dataset) if has_suites else []

    def context_lengths(self, stage: str) -> list[int]:
        """Return the lengths of a stage's prefixes, tokens."""
        return prefix_lengths(self.settings["context"], stage)

    def sampling_settings(self, stage: str) -> dict[str, Any]:
        """Return what prefixes are drawn by: where pairs share one, all targets of a suite do."""
        matrix = ("sentences", "prefixes", "draws", "targets")
        drawn_by = ["pairs_per_prefix", *(f"matrix_{name}" for name in matrix)]
        drawn = pick(self.settings["context"], *drawn_by) | {"lengths": self.context_lengths(stage)}
        shared = {"pairs_per_prefix": 1_000_000, "matrix_prefixes": 0}
        return drawn if stage == "sampled" else drawn | shared

    def composed_sample(self, dataset: str) -> dict[str, int]:
        """Return how many suites and pairs have composed prefixes; all are sampled ones, whose
        judgments without a prefix there are."""
        context, entry = self.settings["context"], self.catalog.dataset(dataset)
        sampled = pairs_per_suite(context, dataset, entry) or context["composed_pairs"]
        return {
            "suites_drawn": context["composed_suites"],
            "pairs_per_suite": min(context["composed_pairs"], sampled),
            "pairs_per_prefix": context["pairs_per_prefix"],
        }

    def composed_sizes(self) -> dict[str, int]:
        """Return the lengths of composed prefixes, tokens, as `context.compositions.Sizes`."""
        lengths = self.context_lengths("composed")
        varied = self.settings["context"]["composed_tokens"]
        return {"longest": lengths[-1], "varied": varied, "block": lengths[0]}

    def _compares_conventions(self, dataset: str, model: str | None = None) -> bool:
        """Whether a data set is scored under every convention of a model: MORCELA's are, of those
        that it is fitted to."""
        fitted = self.rated_datasets(model) if model else self.settings["morcela"]["datasets"]
        return dataset in fitted

    def _paths(self, corpus: str) -> dict[str, str]:
        """Paths of a corpus's files by file name."""
        paths = dataset_paths(corpus, self.catalog.dataset(corpus))
        return {path.name: str(path) for path in paths}


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)
