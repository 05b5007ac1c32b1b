"""What a job asks for: memory, minutes, GPUs and disk, by the sizes in catalog and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lingprob.catalog import Catalog
from lingprob.context.suites import pairs_per_suite
from lingprob.training.sizes import ModelSize, model_name

BASE_MEMORY_MB = 2000  # Python with torch
SMALL = 250e6  # parameters; such models do without a GPU, except on a cluster
# FLOP/s that a job may count on, of a GPU and of one CPU core.
SCORING_SPEED = {"cuda": 100e12, "cpu": 20e9}
TRAINING_SPEED = {"cuda": 60e12, "cpu": 20e9}
# Bytes a second that one core streams through the index of passages, of rows of token ids and of
# text, a quarter of what was measured (85 and 7 MB/s).
SCANNING_SPEED = {"token_rows": 20e6, "text": 2e6}
UNSTATED_BYTES = 1e9  # of a file whose size the catalog does not know
CHUNK_BYTES = 1_024_000 * 2049 * 2  # of Pythia's training data


@dataclass(frozen=True)
class Costs:
    """Resources of jobs; memory in MB, time in minutes."""

    settings: dict[str, Any]
    catalog: Catalog

    def parameters(self, model: str) -> int:
        """Return a model's number of parameters; a billion where its entry does not say."""
        return int(self.catalog.model(model)["parameters"] or 1_000_000_000)

    def memory_mb(self, model: str) -> int:
        """Return the memory of a job that holds a model: four bytes a parameter, half as much
        again while loading."""
        return BASE_MEMORY_MB + int(6 * self.parameters(model) / 1e6)

    def grown(self, memory_mb: int, attempt: int) -> int:
        """Return the memory of a job that is tried again: twice and three times as much, and no
        more, for later attempts ran out of time."""
        return min(attempt, 3) * memory_mb

    def at_most(self, minutes: float) -> int:
        """Return a job's time, at most `machine.max_runtime`. What takes longer goes on in the next
        attempt: scoring after its last shard, training after its last checkpoint."""
        return min(int(minutes), int(self.settings["machine"]["max_runtime"]))

    def gpus(self, model: str) -> int:
        """Return the GPUs that a model asks for: more than one when its weights need them."""
        parameters = self.parameters(model)
        if not self._takes_gpu(self.settings["scoring"]["device"], parameters):
            return 0
        return 1 + int(2.5 * parameters / 1e6 // self.settings["machine"]["gpu_memory_mb"])

    def device_map(self, model: str) -> str:
        """Return how a model is laid over GPUs: `auto` where it needs more than one."""
        return "auto" if self.gpus(model) > 1 else str(self.settings["scoring"]["device_map"])

    def minutes(self, model: str, tokens: float) -> float:
        """Return the time of a model over so many tokens: an hour to load and start, and three
        times what 2 FLOP a parameter and token take."""
        speed = SCORING_SPEED["cuda" if self.gpus(model) else "cpu"]
        return 60 + 3 * 2 * self.parameters(model) * tokens / speed / 60

    def scanning_minutes(self, corpus: str, file: str) -> float:
        """Return the time to stream one file of a corpus: half an hour, and three times what its
        bytes take."""
        entry = self.catalog.dataset(corpus)
        speed = SCANNING_SPEED.get(entry["parser"], SCANNING_SPEED["text"])
        return 30 + 3 * self._megabytes(corpus, file) * 1e6 / speed / 60

    def download_mb(self, dataset: str, file: str | None = None) -> int:
        """Return the disk that a data set's files, or one of them, take."""
        return 100 + int(self._megabytes(dataset, file))

    def model_download_mb(self, model: str) -> int:
        """Return the disk that a model's files take: at most four bytes a parameter; twice that of
        one from a package, which is unpacked."""
        copies = 2 if self.catalog.model(model)["source"] == "package" else 1
        return 1000 + copies * int(4 * self.parameters(model) / 1e6)

    def context_tokens(self, dataset: str) -> int:
        """Return about how many tokens a data set's prefixes and targets have: five kinds before
        all pairs that share one (of 70 suites where their number is not known), two or four targets
        of 15 tokens at each length, as much again for matrices."""
        context, entry = self.settings["context"], self.catalog.dataset(dataset)
        a_suite = pairs_per_suite(context, dataset, entry) or 1000
        drawn = len(entry.get("suites", [])) or 70
        pairs = min(drawn * a_suite, entry.get("pairs", drawn * a_suite))
        prefix = max(context["lengths"]) / context["pairs_per_prefix"]
        return int(2 * 5 * pairs * (prefix + 60 * len(context["lengths"])))

    def embedding_gpus(self) -> int:
        """Return the GPUs that a sentence-embedding model asks for."""
        return int(self._takes_gpu(self.settings["scoring"]["device"]))

    def training_gpus(self) -> int:
        """Return the GPUs that a training asks for: one a process."""
        training = self.settings["training"]
        return int(training["processes"]) if self._takes_gpu(training["device"]) else 0

    def training_memory_mb(self, size: str) -> int:
        """Return the memory of a training: a process holds weights, gradients and Adam's two
        moments (16 bytes a parameter), and the first one a copy of them for the checkpoint."""
        a_process = 2 * BASE_MEMORY_MB + int(32 * self.parameters(model_name(size)) / 1e6)
        return int(self.settings["training"]["processes"]) * a_process

    def training_minutes(self, size: str) -> float:
        """Return the time of a training: an hour, and twice what its operations take."""
        training = self.settings["training"]
        model, window = ModelSize(**training["sizes"][size]), training["context_window"]
        flops = model.flops_per_token(training["vocabulary"], window) * window
        speed = training["processes"] * TRAINING_SPEED["cuda" if self.training_gpus() else "cpu"]
        return 60 + 2 * training["steps"] * training["batch_size"] * flops / speed / 60

    def _megabytes(self, dataset: str, file: str | None) -> float:
        """Size of a data set's files, or of one of them, as far as the catalog knows it."""
        entry = self.catalog.dataset(dataset)
        unstated = CHUNK_BYTES if "shards" in entry else UNSTATED_BYTES
        files = [
            part for part in entry.get("files", [{}]) if file in (None, part.get("name", file))
        ]
        return sum(part.get("bytes", unstated) for part in files) / 1e6

    def _takes_gpu(self, device: str, parameters: float = 0) -> bool:
        """Whether a job runs on a GPU: left to itself on a cluster, or for a large model."""
        auto = self.settings["scale"] == "paper" or parameters >= SMALL
        return device == "cuda" or (device == "auto" and auto)
