"""How long a job is expected to take: what each rule's jobs do, at the catalog's speeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lingprob.catalog import Catalog
from lingprob.context.names import CROWS_PAIRS, SYNTAXGYM, pairs_per_suite, primary_dataset
from lingprob.io.files import dataset_paths
from lingprob.plan.speeds import Speeds, speeds
from lingprob.training.sizes import ModelSize, fine_tuning_steps, model_name

SMALL = 250e6  # parameters; such models do without a GPU, except on a cluster
SENTENCE_TOKENS = 15
ITEMS = 130_000  # of a data set whose number the catalog does not know
PACKAGE_ITEMS = 1000  # the same of one that the package has
OUTSIDE = {"files", "path"}  # keys of entries whose data are not in the package
TEXT_WORDS = 60_000  # of a text that people read, where the catalog does not know
WORD_TOKENS = 1.3
UNSTATED_BYTES = 1e9  # of a file whose size the catalog does not know
ITEM_BYTES = 40  # of a table of one's own, a sentence with its rating
WORD_BYTES = 6
ROW_BYTES = 4000  # of text on the web, a row of a corpus on the hub
TOKEN_BYTES = 4  # of text
FEWEST_NGRAMS = 1_000_000  # of a corpus in the package
CHUNK_BYTES = 1_024_000 * 2049 * 2  # of Pythia's training data
USUAL_SECONDS = 15.0  # of any job, to start, and to read and write small tables
SAMPLE_TOKENS, SAMPLES_AT_ONCE = 34, 128  # of unigrahams
WORDS_FASTER = 4  # a word is counted so much faster than a token is looked up

# Prefixes before the same pairs, by stage: five kinds; eight perturbations of two.
CONDITIONS = {"sampled": 5, "shared": 5, "perturbed": 16}


def formats(model: Mapping[str, Any], bulk: bool) -> dict[str, str]:
    """Return the number formats of a model's weights by device (`cpu`, `cuda`), from its entry."""
    by_device = dict(model.get("dtype", {}))
    much = by_device.pop("bulk", by_device.get("cuda"))
    return {**by_device, "cuda": much} if bulk and much else by_device


def prefix_lengths(context: Mapping[str, Any], stage: str) -> list[int]:
    """Return the lengths of a stage's prefixes, tokens: of later stages than `sampled` as far as
    perturbed ones go.

    Args:
        context: section `context` of the configuration.
        stage: sampled, shared or perturbed.
    """
    longest = max(context["lengths"]) if stage == "sampled" else context["perturbed_tokens"]
    return [length for length in context["lengths"] if length <= longest]


def own_bytes(dataset: str, entry: Mapping[str, Any], file: str | None = None) -> float:
    """Return the size of the user's own files of a data set, or of one; 0 where they are not."""
    own = dataset_paths(dataset, dict(entry)) if "path" in entry else []
    if not all(path.is_file() for path in own):
        return 0.0
    return float(sum(path.stat().st_size for path in own if file in (None, path.name)))


@dataclass(frozen=True)
class Work:
    """Expected seconds of jobs, and the sizes that they follow from."""

    settings: dict[str, Any]
    catalog: Catalog

    @property
    def speeds(self) -> Speeds:
        """The rates of devices, scans and downloads."""
        return speeds()

    def seconds(self, rule: str, wildcards: Any) -> float:
        """Return how long a job of a rule is expected to take on one core, or on its GPUs."""
        return USUAL_SECONDS + (KNOWN[rule](self, wildcards) if rule in KNOWN else 0.0)

    def parameters(self, model: str) -> int:
        """Return a model's number of parameters; a billion where its entry does not say. Of an
        n-gram model, as many as it may have: an n-gram of each order at each token of its corpus.
        """
        entry = self.catalog.model(model)
        if entry["source"] == "ngram":
            tokens = self.bytes_of(entry["corpus"]) / TOKEN_BYTES
            return max(FEWEST_NGRAMS, int(entry["order"] * tokens))
        return int(entry["parameters"] or 1_000_000_000)

    def device(self, model: str) -> str:
        """Return where a model runs: `gpu` or `cpu`."""
        if self.catalog.model(model)["source"] == "ngram":  # nothing of which is multiplied
            return "cpu"
        takes = self.takes_gpu(self.settings["scoring"]["device"], self.parameters(model))
        return "gpu" if takes else "cpu"

    def dtype(self, model: str, bulk: bool = False) -> str:
        """Return the number format of a model's weights on its device, for much work or usual."""
        asked = self.settings["scoring"]["dtype"]
        by_device = formats(self.catalog.model(model), bulk)
        found = by_device.get("cuda" if self.device(model) == "gpu" else "cpu", "float32")
        return str(found if asked == "auto" else asked)

    def takes_gpu(self, device: str, parameters: float = 0) -> bool:
        """Say whether a job runs on a GPU: left to itself on a cluster, or for a large model."""
        auto = self.settings["scale"] == "paper" or parameters >= SMALL
        return device == "cuda" or (device == "auto" and auto)

    def scoring(self, model: str, tokens: float, bulk: bool = False) -> float:
        """Return the seconds of a model over so many tokens."""
        where = self.parameters(model), self.device(model), self.dtype(model, bulk)
        return tokens / self.speeds.scoring(*where)

    def scoring_stimuli(self, model: str, datasets: Iterable[str]) -> float:
        """Return the seconds in which a model reads data sets after each of its start tokens; a
        masked model reads each sentence once for each token of it."""
        policies = self.catalog.model(model)["bos_policies"]
        readings = len({self.catalog.start_token_of(policy) for policy in policies})
        of_sentence = SENTENCE_TOKENS ** (2 if self.catalog.is_masked(model) else 1)
        return self.scoring(model, readings * of_sentence * sum(map(self.items, datasets)))

    def items(self, dataset: str) -> int:
        """Return the sentences of a data set, or of a sample of one (two a pair)."""
        name, _, pairs = dataset.partition("_sample")
        if pairs.isdigit() and name in self.catalog.datasets:
            return 2 * int(pairs)
        entry = self.catalog.dataset(dataset)
        if "items" not in entry and (own := own_bytes(dataset, entry)):
            return int(max(1, own / ITEM_BYTES))
        return int(entry.get("items", ITEMS if OUTSIDE & entry.keys() else PACKAGE_ITEMS))

    def bytes_of(self, dataset: str, file: str | None = None) -> float:
        """Return the size of a data set's files, or of one, as far as the catalog knows it, or
        the user's own are there."""
        entry = self.catalog.dataset(dataset)
        if not OUTSIDE & entry.keys():
            return 0.0
        if own := own_bytes(dataset, entry, file):
            return own
        unstated = CHUNK_BYTES if "shards" in entry else UNSTATED_BYTES
        unstated = ROW_BYTES * entry["rows"] if "rows" in entry else unstated
        files = [
            part for part in entry.get("files", [{}]) if file in (None, part.get("name", file))
        ]
        return float(sum(part.get("bytes", unstated) for part in files))

    def passes_by(self, corpus: str) -> bool:
        """Tell whether a corpus's files are fetched by the jobs that scan them, and let go of."""
        return (
            "shards" in self.catalog.dataset(corpus) and not self.settings["overlap"]["keep_chunks"]
        )

    def chosen_bytes(self, corpus: str) -> float:
        """Return the size of the chunks of a corpus that are trained and validated on.

        Nobody knows before the scans how many are free of leakage: twice those that are sampled
        (leakage, §3.1: 18 and 10).
        """
        chunks = len(self.catalog.dataset(corpus)["files"])
        if self.settings["training"]["chunks"] != "all":
            chunks = min(chunks, 2 * self.settings["overlap"]["chunks_selected"])
        return float(chunks * CHUNK_BYTES)

    def suites(self, dataset: str) -> int:
        """Return the suites of a data set, CrowS-Pairs' nine types of bias; 70 where their number
        is not known."""
        unstated = 9 if dataset == CROWS_PAIRS else 70
        return len(self.catalog.dataset(dataset).get("suites", [])) or unstated

    def judged_pairs(self, dataset: str) -> int:
        """Return the pairs of a data set that are judged in contexts."""
        context, entry = self.settings["context"], self.catalog.dataset(dataset)
        drawn = self.suites(dataset) * (pairs_per_suite(context, dataset, entry) or 1000)
        there = self.items(dataset) / 2 if own_bytes(dataset, entry) else drawn
        return int(min(drawn, entry.get("pairs", max(1, there))))

    def context_tokens(self, stage: str, dataset: str) -> int:
        """Return about how many tokens a stage's prefixes and targets have: before all pairs that
        share them so many prefixes as the stage has conditions, with targets at each length."""
        context, suites = self.settings["context"], self.suites(dataset)
        pairs = self.judged_pairs(dataset)
        if stage == "perturbed":
            pairs = min(pairs, pairs * context["perturbed_suites"] // suites)
        of_suite = self.judged_pairs(dataset) / suites
        sharing = of_suite if stage == "shared" else context["pairs_per_prefix"]
        groups = pairs / max(1, of_suite / math.ceil(of_suite / sharing))  # dealt out evenly
        lengths, target = prefix_lengths(context, stage), self.target_tokens(dataset)
        tokens = CONDITIONS[stage] * (groups * lengths[-1] + pairs * target * len(lengths))
        return int(tokens + (self.matrix_tokens(dataset) if stage == "sampled" else 0))

    def matrix_tokens(self, dataset: str) -> int:
        """Return about how many tokens a data set's matrix has: ten sentences of ten tokens of
        each suite (SyntaxGym's suites have sentences for some half of the longest prefix), and
        targets of all others after one of its draws."""
        context, others = self.settings["context"], self.suites(dataset) - 1
        if dataset == CROWS_PAIRS:
            return 0
        pairs = min(self.judged_pairs(dataset), (others + 1) * (context["matrix_targets"] or 10**6))
        targets = pairs * others
        fit = max(context["lengths"]) // 2
        prefix = fit if dataset == SYNTAXGYM else 10 * context["matrix_sentences"]
        prefixes = (others + 1) * context["matrix_prefixes"] * prefix
        return int(targets * self.target_tokens(dataset) + prefixes)

    def target_tokens(self, dataset: str) -> int:
        """Return the tokens of a target's sentences, whose common beginning is run once: of a pair,
        or of a SyntaxGym item's four conditions."""
        return 20 if dataset == SYNTAXGYM else 16

    def unprefixed_tokens(self, model: str, dataset: str) -> int:
        """Return about how many tokens the same targets have without a prefix: once a start token
        of the model's BOS policies."""
        policies = self.catalog.model(model)["bos_policies"]
        start_tokens = {self.catalog.start_token_of(policy) for policy in policies}
        return self.target_tokens(dataset) * self.judged_pairs(dataset) * len(start_tokens)

    @property
    def primary(self) -> str:
        """The data set whose prefixes are perturbed and shared."""
        return str(primary_dataset(self.settings["context"]["datasets"]))

    def judged_tokens(self, model: str) -> int:
        """Return about how many tokens a model reads to judge all pairs."""
        context = self.settings["context"]
        shared = self.context_tokens("shared", self.primary) if context["compare_sharing"] else 0
        return shared + sum(
            self.context_tokens("sampled", name) + self.unprefixed_tokens(model, name)
            for name in context["datasets"]
        )

    def training(self, size: str) -> float:
        """Return the seconds of a training, shared by its processes."""
        training = self.settings["training"]
        model, window = ModelSize(**training["sizes"][size]), training["context_window"]
        speed = training["processes"] * self.speeds.training(
            model.flops_per_token(training["vocabulary"], window),
            model.parameters(training["vocabulary"]),
            "gpu" if self.takes_gpu(training["device"]) else "cpu",
            "float32" if training["precision"] == "float32" else "bfloat16",
        )
        return float(training["steps"] * training["batch_size"] * window / speed)

    def sampling(self, model: str, shards: int) -> float:
        """Return the seconds in which a model generates one shard of its samples."""
        options = self.settings["unigrahams"]
        speed = self.speeds.generating(
            self.parameters(model), SAMPLES_AT_ONCE, self.device(model), self.dtype(model)
        )
        return float(options["samples"] * SAMPLE_TOKENS / shards / speed)

    def text_tokens(self, texts: str) -> float:
        """Return about how many tokens the texts have that people read."""
        entry = self.catalog.dataset(texts)
        words = own_bytes(texts, entry) / WORD_BYTES or TEXT_WORDS
        return WORD_TOKENS * float(entry.get("words", words))

    def perplexities(self) -> float:
        """Return the seconds in which every trained model reads every text."""
        training = self.settings["training"]
        tokens = sum(self.text_tokens(texts) for texts in self.settings["overlap"]["texts"])
        return sum(
            self.scoring(model_name(size, steps), tokens)
            for size in training["sizes"]
            for steps in fine_tuning_steps(training)
        )

    def embedding(self, name: str, dataset: str) -> float:
        """Return the seconds in which a sentence-embedding model reads a data set."""
        device = "gpu" if self.takes_gpu(self.settings["scoring"]["device"]) else "cpu"
        parameters = self.catalog.embedding(name).get("parameters", 100_000_000)
        speed = self.speeds.scoring(parameters, device, "float32")
        return self.items(dataset) * SENTENCE_TOKENS / speed

    def scanning(self, corpus: str, file: str | None = None) -> float:
        """Return the seconds in which a corpus, or one file of it, streams by."""
        parser = self.catalog.dataset(corpus)["parser"]
        size = self.bytes_of(corpus, file)
        fetched = self.downloading(size) if self.passes_by(corpus) else 0.0
        return fetched + size / self.speeds.scanning(parser)

    def counting(self, model: str) -> float:
        """Return the seconds in which an n-gram model is estimated, each order like a scan."""
        entry = self.catalog.model(model)
        return (1 + int(entry["order"])) * self.scanning(entry["corpus"])

    def downloading(self, size: float) -> float:
        """Return the seconds in which so many bytes arrive."""
        return size / self.speeds.downloading()

    def frequency_tokens(self) -> float:
        """Return the tokens that a model is fed for §5 of MORCELA, after all start tokens.

        Overlapping windows feed each of them twice.
        """
        morcela = self.settings["morcela"]
        return 2.0 * morcela["frequency_tokens"] * len(morcela["frequency_start_tokens"])


# What the jobs of a rule do beside starting; a rule that is not here has small tables alone.
KNOWN: dict[str, Callable[[Work, Any], float]] = {
    # The data sets of a rule, or the one of its wildcard.
    "score_stimuli": lambda w, job: w.scoring_stimuli(
        job.model, [name.format(**vars(job)) for name in job.datasets]
    ),
    "sample_unigrahams": lambda w, job: w.sampling(job.model, int(job.shards)),
    "sum_frequency_moments": lambda w, job: w.scoring(
        job.model, w.frequency_tokens() / int(job.shards), bulk=True
    ),
    # Windows overlap by half.
    "compute_word_surprisal": lambda w, job: w.scoring(
        job.model, 2 * sum(map(w.text_tokens, job.texts))
    ),
    "judge_contexts": lambda w, job: w.scoring(job.model, w.judged_tokens(job.model), bulk=True),
    "judge_perturbed_contexts": lambda w, job: w.scoring(
        job.model, w.context_tokens("perturbed", w.primary), bulk=True
    ),
    "train_model": lambda w, job: w.training(job.size),
    "measure_perplexity": lambda w, _: w.perplexities(),
    "measure_minimalness": lambda w, job: w.embedding(job.embedding, job.dataset),
    "scan_corpus": lambda w, job: w.scanning(job.corpus, job.file),
    "count_tokens": lambda w, job: w.scanning(job.corpus),
    "count_words": lambda w, job: w.scanning(job.corpus) / WORDS_FASTER,
    "estimate_ngram_model": lambda w, job: w.counting(job.model),
    "estimate_ngrams": lambda w, job: w.scanning(job.corpus),
    "download_dataset": lambda w, job: w.downloading(w.bytes_of(job.dataset)),
    "download_corpus_file": lambda w, job: w.downloading(w.bytes_of(job.corpus, job.file)),
    "fetch_chosen_chunks": lambda w, job: w.downloading(w.chosen_bytes(job.corpus)),
    "prepare_model": lambda w, job: w.downloading(2 * w.parameters(job.model)),
}
