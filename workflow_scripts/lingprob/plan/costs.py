"""What a job asks for: memory, minutes and GPUs, by the sizes that catalog and settings state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lingprob.catalog import Catalog
from lingprob.context.suites import pairs_per_suite
from lingprob.training.sizes import ModelSize, model_name

BASE_MEMORY_MB = 2000  # Python with torch
GPU_MEMORY_MB = 80_000
SMALL = 250e6  # parameters; such models do without a GPU, except on a cluster
# FLOP/s that a job may count on, of a GPU and of one CPU core.
SCORING_SPEED = {"cuda": 100e12, "cpu": 20e9}
TRAINING_SPEED = {"cuda": 60e12, "cpu": 20e9}


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

    def gpus(self, model: str) -> int:
        """Return the GPUs that a model asks for: more than one when its weights need them."""
        parameters = self.parameters(model)
        if not self._takes_gpu(self.settings["scoring"]["device"], parameters):
            return 0
        return 1 + int(2.5 * parameters / 1e6 // GPU_MEMORY_MB)

    def minutes(self, model: str, tokens: float) -> int:
        """Return the time of a model over so many tokens: an hour to load and start, and three
        times what 2 FLOP a parameter and token take."""
        speed = SCORING_SPEED["cuda" if self.gpus(model) else "cpu"]
        return 60 + int(3 * 2 * self.parameters(model) * tokens / speed / 60)

    def context_tokens(self, dataset: str) -> int:
        """Return about how many tokens a data set's prefixes and targets have: five kinds before
        every pair, two or four targets of 15 tokens at each length, as much again for matrices."""
        context, entry = self.settings["context"], self.catalog.dataset(dataset)
        suites = len(entry.get("suites") or entry.get("files", []))
        pairs = max(suites, 70) * (pairs_per_suite(context, dataset, entry) or 1000)
        return int(2 * 5 * pairs * (max(context["lengths"]) + 60 * len(context["lengths"])))

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

    def training_minutes(self, size: str) -> int:
        """Return the time of a training: an hour, and twice what its operations take."""
        training = self.settings["training"]
        model, window = ModelSize(**training["sizes"][size]), training["context_window"]
        flops = model.flops_per_token(training["vocabulary"], window) * window
        speed = training["processes"] * TRAINING_SPEED["cuda" if self.training_gpus() else "cpu"]
        return 60 + int(2 * training["steps"] * training["batch_size"] * flops / speed / 60)

    def _takes_gpu(self, device: str, parameters: float = 0) -> bool:
        """Whether a job runs on a GPU: left to itself on a cluster, or for a large model."""
        auto = self.settings["scale"] == "paper" or parameters >= SMALL
        return device == "cuda" or (device == "auto" and auto)
