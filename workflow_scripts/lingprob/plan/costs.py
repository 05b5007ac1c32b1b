"""What a job asks for: memory, minutes, GPUs and disk, by the sizes in catalog and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lingprob.catalog import Catalog
from lingprob.plan.speeds import BYTES
from lingprob.plan.work import Work
from lingprob.training.sizes import model_name

BASE_MEMORY_MB = 2000  # Python with torch
MARGIN = 3  # times the expected time that a job asks for
START = 60  # minutes to start, and to load what may be large
TINY = 50e6  # parameters
STREAM_START = 30  # minutes, for a job that streams a file


@dataclass(frozen=True)
class Costs:
    """Resources of jobs; memory in MB, time in minutes."""

    settings: dict[str, Any]
    catalog: Catalog

    @property
    def work(self) -> Work:
        """What jobs are expected to do."""
        return Work(self.settings, self.catalog)

    def runtime(self, rule: str, wildcards: Any) -> int:
        """Return the time that a job asks for."""
        return self.at_most(self.minutes(rule, wildcards))

    def minutes(self, rule: str, wildcards: Any) -> float:
        """Return the time that a job would ask for if there were no limit: an hour to load and
        start (half of one for a stream), and three times what its work is expected to take."""
        start = STREAM_START if rule == "scan_corpus" else START
        return start + MARGIN * self.work.seconds(rule, wildcards) / 60

    def at_most(self, minutes: float) -> int:
        """Return a job's time, at most `machine.max_runtime`. What takes longer goes on in the next
        attempt: scoring after its last shard, training after its last checkpoint."""
        return min(int(minutes), int(self.settings["machine"]["max_runtime"]))

    def memory_mb(self, model: str) -> int:
        """Return the memory of a job that holds a model: four bytes a parameter, half as much
        again while loading; an n-gram model's have keys, and are sorted as they are counted."""
        a_parameter = 60 if self.catalog.model(model)["source"] == "ngram" else 6
        return BASE_MEMORY_MB + int(a_parameter * self.work.parameters(model) / 1e6)

    def grown(self, memory_mb: int, attempt: int) -> int:
        """Return the memory of a job that is tried again: twice and three times as much, and no
        more, for later attempts ran out of time; nor more than a node has, unless it did before,
        for a cluster refuses a job that fits no node."""
        wanted, node = min(attempt, 3) * memory_mb, self.settings["machine"]["memory_mb"]
        return wanted if node is None else max(memory_mb, min(wanted, node))

    def gpus(self, model: str) -> int:
        """Return the GPUs that a model asks for: more than one when its weights, and a quarter more
        for the rest, need them."""
        if self.work.device(model) == "cpu":
            return 0
        needed = 1.25 * BYTES[self.work.dtype(model)] * self.work.parameters(model) / 1e6
        return 1 + int(needed // self.settings["machine"]["gpu_memory_mb"])

    def threads(self, model: str) -> int:
        """Return the threads of a job that feeds a model: a small one is loaded longer than run."""
        return 1 if self.gpus(model) or self.work.parameters(model) < TINY else 8

    def download_mb(self, dataset: str, file: str | None = None) -> int:
        """Return the disk that a data set's files, or one of them, take."""
        return 100 + int(self.work.bytes_of(dataset, file) / 1e6)

    def chosen_disk_mb(self, corpus: str) -> int:
        """Return the disk of the chunks of a corpus that are trained and validated on."""
        return 100 + int(self.work.chosen_bytes(corpus) / 1e6)

    def model_download_mb(self, model: str) -> int:
        """Return the disk that a model's files take: at most four bytes a parameter; twice that of
        one from a package, which is unpacked."""
        copies = 2 if self.catalog.model(model)["source"] == "package" else 1
        return 1000 + copies * int(4 * self.work.parameters(model) / 1e6)

    def embedding_gpus(self) -> int:
        """Return the GPUs that a sentence-embedding model asks for."""
        return int(self.work.takes_gpu(self.settings["scoring"]["device"]))

    def training_gpus(self) -> int:
        """Return the GPUs that a training asks for: one a process."""
        training = self.settings["training"]
        return int(training["processes"]) if self.work.takes_gpu(training["device"]) else 0

    def training_memory_mb(self, size: str) -> int:
        """Return the memory of a training: a process holds weights, gradients and Adam's two
        moments (16 bytes a parameter), and the first one a copy of them for the checkpoint."""
        a_process = 2 * BASE_MEMORY_MB + int(32 * self.work.parameters(model_name(size)) / 1e6)
        return int(self.settings["training"]["processes"]) * a_process
