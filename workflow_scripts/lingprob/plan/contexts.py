"""What models judge after prefixes, and what the prefixes are drawn from (context)."""

from __future__ import annotations

from typing import Any

from lingprob.plan.sources import Sources, pick
from lingprob.plan.work import prefix_lengths


class Contexts(Sources):
    """Which data sets stand in contexts, and the lengths of these."""

    def suite_files(self, datasets: list[str]) -> list[str]:
        """Return what suites are read from beside their stimuli: regions and formulas."""
        return [
            self.dataset_manifest(name)
            for name in datasets
            if self.catalog.dataset(name)["parser"] == "syntaxgym"
        ]

    def context_lengths(self, stage: str) -> list[int]:
        """Return the lengths of a stage's prefixes, tokens."""
        return prefix_lengths(self.settings["context"], stage)

    def context_task(self, stage: str, dataset: str) -> dict[str, Any]:
        """Return a task of `context.model_judgments`, without its files."""
        return {
            "dataset": dataset,
            "entry": pick(self.catalog.dataset(dataset), "parser", "files"),
            "lengths": self.context_lengths(stage),
            "alone": stage == "sampled",
        }

    def judged_policies(self, model: str) -> dict[str, dict[str, str]]:
        """Return by BOS policy of a model what precedes a sentence, and if its first token
        counts."""
        catalog = self.catalog
        return {
            name: {
                "start_token": catalog.start_tokens[catalog.start_token_of(name)],
                "first_token": catalog.bos_policies[name]["first_token"],
            }
            for name in catalog.model(model)["bos_policies"]
        }

    def sampling_settings(self, stage: str) -> dict[str, Any]:
        """Return what prefixes are drawn by: where pairs share one, all targets of a suite do."""
        matrix = ("sentences", "prefixes", "targets")
        drawn_by = ["pairs_per_prefix", *(f"matrix_{name}" for name in matrix)]
        drawn = pick(self.settings["context"], *drawn_by) | {"lengths": self.context_lengths(stage)}
        shared = {"pairs_per_prefix": 1_000_000, "matrix_prefixes": 0}
        return drawn if stage == "sampled" else drawn | shared
