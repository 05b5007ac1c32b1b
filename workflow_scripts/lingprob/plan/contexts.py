"""Which pairs models judge after prefixes, and what the prefixes are drawn from (context)."""

from __future__ import annotations

from typing import Any

from lingprob.plan.sources import Sources, pick
from lingprob.plan.work import prefix_lengths


class Contexts(Sources):
    """Which models meet which data sets in contexts, of which texts and lengths."""

    def context_models(self, dataset: str) -> list[str]:
        """Return the models that judge a data set's pairs in contexts: those of its language."""
        models: list[str] = self.settings["context"]["models"]
        return [name for name in models if self.speaks(name, dataset)]

    def context_datasets(self, model: str) -> list[str]:
        """Return the data sets whose pairs a model judges in contexts: those in its language."""
        datasets: list[str] = self.settings["context"]["datasets"]
        return [name for name in datasets if self.speaks(model, name)]

    def chinese_pairs(self) -> list[str]:
        """Return the data sets of stimuli whose sentences are joined as Chinese in contexts."""
        return [name for name in self.datasets_of("stimuli") if self.language(name) == "zh"]

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
