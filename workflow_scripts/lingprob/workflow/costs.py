"""Memory, time, GPUs and disk of jobs, estimated from the sizes of their models and data.

Times follow from the speeds in `catalog/costs.yaml`.
"""

import math
from collections.abc import Iterable
from typing import Any

from lingprob.catalog import Entry, read_yaml
from lingprob.context.names import CROWS_PAIRS, pairs_per_suite, primary_dataset
from lingprob.io.files import dataset_paths
from lingprob.training.sizes import ModelSize, model_name
from lingprob.workflow.scope import context_lengths
from lingprob.workflow.sources import Run, formats, is_transient

SPEEDS: dict[str, Any] = read_yaml("costs.yaml")
BASE_MEMORY_MB = 2000  # Python with torch
MARGIN = 3  # requested time, as a multiple of the expected time
START = 60  # minutes to start, and to load large files
TINY = 50e6  # parameters of a model that loads longer than it runs
SMALL = 250e6  # parameters of models that run without a GPU, except on a cluster
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
OUTSIDE = {"files", "path"}  # keys of entries whose data are not in the package

# Assumed sizes if the catalog does not state them.
PARAMETERS = 1_000_000_000
FEWEST_NGRAMS = 1_000_000
ITEMS = 130_000  # of a data set that is fetched
PACKAGE_ITEMS = 1000  # of one in the package
ITEM_BYTES = 40  # of a user's table, per sentence with its rating
SUITES, BIAS_TYPES = 70, 9
SUITE_PAIRS = 1000
TEXT_WORDS, WORD_BYTES = 60_000, 6  # of a text that people read
FILE_BYTES = 1e9
ROW_BYTES = 4000  # of text on the web, per row of a corpus on the hub
CHUNK_BYTES = 1_024_000 * 2049 * 2  # of Pythia's training data

SENTENCE_TOKENS, WORD_TOKENS, TOKEN_BYTES = 15, 1.3, 4
TARGET_TOKENS = 16  # of a pair after a prefix: its sentences' common beginning is run once
PREFIX_TOKENS = 100  # of a prefix in the matrix of suites
SAMPLE_TOKENS = 34  # of unigrahams
# Prefixes before the same pairs, by stage: five kinds; eight perturbations of two.
CONDITIONS = {"sampled": 5, "perturbed": 16}


class Costs(Run):
    """A run with estimates of the sizes and times (s) of work, and requests of jobs (MB, min)."""

    def parameters(self, model: str) -> int:
        """Return a model's number of parameters.

        An n-gram model has at most one n-gram of each order at each token of its corpus.
        """
        entry = self.catalog.model(model)
        if entry["source"] == "ngram":
            tokens = self.bytes_of(entry["corpus"]) / TOKEN_BYTES
            return max(FEWEST_NGRAMS, int(entry["order"] * tokens))
        return int(entry["parameters"] or PARAMETERS)

    def items(self, dataset: str) -> int:
        """Return the number of sentences of a data set, or of a sample of its pairs."""
        name, _, pairs = dataset.partition("_sample")
        if pairs.isdigit() and name in self.catalog.datasets:
            return 2 * int(pairs)
        entry = self.catalog.dataset(dataset)
        if "items" not in entry and (own := own_bytes(dataset, entry)):
            return int(max(1, own / ITEM_BYTES))
        return int(entry.get("items", ITEMS if OUTSIDE & entry.keys() else PACKAGE_ITEMS))

    def bytes_of(self, dataset: str, file: str | None = None) -> float:
        """Return the size in bytes of a data set's files, or of one of them."""
        entry = self.catalog.dataset(dataset)
        if not OUTSIDE & entry.keys():
            return 0.0
        if own := own_bytes(dataset, entry, file):
            return own
        unstated = CHUNK_BYTES if "shards" in entry else FILE_BYTES
        unstated = ROW_BYTES * entry["rows"] if "rows" in entry else unstated
        files = entry.get("files", [{}])
        known = [part for part in files if file in (None, part.get("name", file))]
        return float(sum(part.get("bytes", unstated) for part in known))

    def leakage_free_bytes(self, corpus: str) -> float:
        """Return the size in bytes of the chunks of a corpus for training and validation.

        Before the chunks are scanned for overlaps, about twice as many as `overlap.chunks_selected`
        are expected to be free of them (leakage, §3.1: 18 and 10).
        """
        chunks = len(self.catalog.dataset(corpus)["files"])
        if self.settings["training"]["chunks"] != "all":
            chunks = min(chunks, 2 * self.settings["overlap"]["chunks_selected"])
        return float(chunks * CHUNK_BYTES)

    def text_tokens(self, texts: str) -> float:
        """Return the approximate number of tokens of a data set of texts that people read."""
        entry = self.catalog.dataset(texts)
        words = own_bytes(texts, entry) / WORD_BYTES or TEXT_WORDS
        return WORD_TOKENS * float(entry.get("words", words))

    def context_tokens(self, stage: str, dataset: str) -> float:
        """Return the approximate tokens that a model reads in a stage (`sampled` or `perturbed`).

        A target is read after its prefix at each length. Several pairs may share a prefix. For the
        matrix of suites, targets are also read after the prefixes of each other suite.
        """
        context, entry = self.settings["context"], self.catalog.dataset(dataset)
        unstated = BIAS_TYPES if dataset == CROWS_PAIRS else SUITES
        suites = len(entry.get("suites", [])) or unstated
        pairs = suites * (pairs_per_suite(context, dataset, entry) or SUITE_PAIRS)
        pairs = min(pairs, entry.get("pairs", math.ceil(self.items(dataset) / 2)))
        matrix = 0.0
        if stage == "sampled" and dataset != CROWS_PAIRS:
            targets = min(pairs, suites * (context["matrix_targets"] or pairs))
            prefixes = suites * context["matrix_prefixes"] * PREFIX_TOKENS
            matrix = (suites - 1) * targets * TARGET_TOKENS + prefixes
        if stage == "perturbed":
            pairs = pairs * min(1.0, context["perturbed_suites"] / suites)
        lengths = context_lengths(self, stage)
        targets = pairs * TARGET_TOKENS * len(lengths)
        of_prefixes = pairs / context["pairs_per_prefix"] * lengths[-1]
        return CONDITIONS[stage] * (of_prefixes + targets) + matrix

    def takes_gpu(self, device: str, parameters: float = 0) -> bool:
        """Return whether a job uses a GPU: with `auto`, at scale `paper` or for a large model."""
        auto = self.settings["scale"] == "paper" or parameters >= SMALL
        return device == "cuda" or (device == "auto" and auto)

    def on_gpu(self, model: str) -> bool:
        """Return whether a model runs on a GPU. N-gram models never do."""
        if self.catalog.model(model)["source"] == "ngram":
            return False
        return self.takes_gpu(self.settings["scoring"]["device"], self.parameters(model))

    def dtype(self, model: str, bulk: bool = False) -> str:
        """Return the number format of a model's weights on its device, for usual or bulk work."""
        wanted = self.settings["scoring"]["dtype"]
        by_device = formats(self.catalog.model(model), bulk)
        found = by_device.get("cuda" if self.on_gpu(model) else "cpu", "float32")
        return str(found if wanted == "auto" else wanted)

    def scoring(self, model: str, tokens: float, bulk: bool = False) -> float:
        """Return the seconds in which a model reads tokens, with 2 FLOP per parameter and token.

        Several GPUs add no speed, because the layers of a model on them wait for each other.
        """
        parameters, dtype = self.parameters(model), self.dtype(model, bulk)
        return tokens / speed("scoring", 2.0 * parameters, parameters, self.on_gpu(model), dtype)

    def scoring_stimuli(self, model: str, datasets: Iterable[str]) -> float:
        """Return the seconds in which a model scores data sets after each of its start tokens.

        A masked model reads each sentence once per token of the sentence.
        """
        policies = self.catalog.model(model)["bos_policies"]
        readings = len({self.catalog.start_token_of(policy) for policy in policies})
        of_sentence = SENTENCE_TOKENS ** (2 if self.catalog.is_masked(model) else 1)
        return self.scoring(model, readings * of_sentence * sum(map(self.items, datasets)))

    def sampling(self, model: str) -> float:
        """Return the seconds in which a model generates its samples."""
        return self.scoring(model, self.settings["unigrahams"]["samples"] * SAMPLE_TOKENS)

    def regressing(self, model: str) -> float:
        """Return the seconds of the frequency regression (morcela, §5), whose windows overlap."""
        morcela = self.settings["morcela"]
        tokens = 2.0 * morcela["frequency_tokens"] * len(morcela["frequency_start_tokens"])
        return self.scoring(model, tokens, bulk=True)

    def reading(self, model: str, texts: Iterable[str]) -> float:
        """Return the seconds in which a model reads texts in windows that overlap by half."""
        return self.scoring(model, 2 * sum(map(self.text_tokens, texts)))

    def judging(self, model: str) -> float:
        """Return the seconds in which a model judges all pairs, with and without a prefix."""
        datasets = self.settings["context"]["datasets"]
        alone = TARGET_TOKENS * sum(map(self.items, datasets)) / 2
        after = sum(self.context_tokens("sampled", name) for name in datasets)
        return self.scoring(model, alone + after, bulk=True)

    def judging_perturbed(self, model: str) -> float:
        """Return the seconds in which a model judges pairs after perturbed prefixes."""
        primary = str(primary_dataset(self.settings["context"]["datasets"]))
        return self.scoring(model, self.context_tokens("perturbed", primary), bulk=True)

    def training(self, size: str) -> float:
        """Return the seconds of the training of a size of model by all processes together."""
        training = self.settings["training"]
        model, window = ModelSize(**training["sizes"][size]), training["context_window"]
        tokens = training["steps"] * training["batch_size"] * window
        rate = speed(
            "training",
            model.flops_per_token(training["vocabulary"], window),
            model.parameters(training["vocabulary"]),
            self.takes_gpu(training["device"]),
            "float32" if training["precision"] == "float32" else "bfloat16",
        )
        return float(tokens / rate / training["processes"])

    def scanning(self, corpus: str, file: str | None = None) -> float:
        """Return the seconds in which a corpus, or one file of it, is searched for overlaps."""
        rates, size = SPEEDS["scanning"], self.bytes_of(corpus, file)
        fetched = self.downloading(size) if is_transient(self, corpus) else 0.0
        rate = rates.get(self.catalog.dataset(corpus)["parser"], rates["text"])
        return float(fetched + size / rate)

    def downloading(self, size: float) -> float:
        """Return the seconds in which `size` bytes are downloaded."""
        return size / float(SPEEDS["downloading"]["bytes_per_second"])

    def counting(self, model: str) -> float:
        """Return the seconds in which an n-gram model is estimated, about one scan per order."""
        entry = self.catalog.model(model)
        return (1 + int(entry["order"])) * self.scanning(entry["corpus"])

    def runtime(self, seconds: float, start: float = START) -> int:
        """Return the minutes that a job requests: `start` plus three times `seconds`."""
        return self.at_most(start + MARGIN * seconds / 60)

    def at_most(self, minutes: float) -> int:
        """Return the minutes that a job requests, at most `machine.max_runtime`.

        Longer work goes on in the next attempt: scoring after its last shard, and training after
        its last checkpoint.
        """
        return min(int(minutes), int(self.settings["machine"]["max_runtime"]))

    def memory_mb(self, model: str) -> int:
        """Return the memory of a job that loads a model: 6 bytes per parameter, 60 per n-gram."""
        per_parameter = 60 if self.catalog.model(model)["source"] == "ngram" else 6
        return BASE_MEMORY_MB + int(per_parameter * self.parameters(model) / 1e6)

    def grown(self, memory_mb: int, attempt: int) -> int:
        """Return the memory (MB) of a job's attempt: `memory_mb` once, twice, then three times.

        From the second attempt on, it is at most `machine.memory_mb`, the memory of a node, because
        a cluster refuses larger jobs.
        """
        wanted, node = min(attempt, 3) * memory_mb, self.settings["machine"]["memory_mb"]
        return wanted if node is None else max(memory_mb, min(wanted, node))

    def gpus(self, model: str) -> int:
        """Return the number of GPUs whose memory a model needs: its weights, and a quarter more."""
        if not self.on_gpu(model):
            return 0
        needed = 1.25 * BYTES[self.dtype(model)] * self.parameters(model) / 1e6
        return 1 + int(needed // self.settings["machine"]["gpu_memory_mb"])

    def threads(self, model: str) -> int:
        """Return the threads of a job that runs a model: 1 for a tiny model or on a GPU, else 8."""
        return 1 if self.gpus(model) or self.parameters(model) < TINY else 8

    def download_mb(self, dataset: str, file: str | None = None) -> int:
        """Return the disk space (MB) that a data set's files, or one of them, take."""
        return 100 + int(self.bytes_of(dataset, file) / 1e6)

    def model_download_mb(self, model: str) -> int:
        """Return the disk space (MB) of a model's files, or twice that to unpack a package."""
        copies = 2 if self.catalog.model(model)["source"] == "package" else 1
        return 1000 + copies * int(4 * self.parameters(model) / 1e6)

    def training_gpus(self) -> int:
        """Return the number of GPUs of a training, one per process, or 0 on a CPU."""
        training = self.settings["training"]
        return int(training["processes"]) if self.takes_gpu(training["device"]) else 0

    def training_memory_mb(self, size: str) -> int:
        """Return the memory (MB) of the training of a size of model by all processes.

        A process has weights, gradients and Adam's two moments (16 bytes per parameter). The first
        process also has a copy of them for the checkpoint.
        """
        per_process = 2 * BASE_MEMORY_MB + int(32 * self.parameters(model_name(size)) / 1e6)
        return int(self.settings["training"]["processes"]) * per_process


def own_bytes(dataset: str, entry: Entry, file: str | None = None) -> float:
    """Return the bytes of the user's files of a data set, or of one of them, 0 if any is absent."""
    own = dataset_paths(dataset, entry) if "path" in entry else []
    if not all(path.is_file() for path in own):
        return 0.0
    return float(sum(path.stat().st_size for path in own if file in (None, path.name)))


def speed(work: str, flops: float, parameters: int, gpu: bool, dtype: str) -> float:
    """Return the tokens per second of `scoring` or `training` on a GPU or on one core."""
    if not gpu:
        near = min(
            SPEEDS["cpu"][work],
            key=lambda point: abs(math.log(point["parameters"] / parameters)),
        )
        # A core has about the same FLOP/s at the nearest size.
        return float(near["tokens_per_second"] * near["parameters"] / parameters)
    gpus = SPEEDS["gpu"]
    most = gpus["share_of_peak"][work] * gpus["peak"][dtype] / flops
    return float(min(most, gpus["most_tokens_per_second"]))
