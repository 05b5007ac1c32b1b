"""Which pairs of sentences string_probability compares, and what it measures on them."""

from __future__ import annotations

import re

from lingprob.catalog import read_yaml
from lingprob.plan.sources import Sources


class Strings(Sources):
    """Which models meet which data sets of pairs (string_probability)."""

    def predictions(self) -> dict[str, list[int]]:
        """Return the data sets of string_probability with the predictions that each is used for."""
        found: dict[str, list[int]] = {}
        for number in (1, 2, 3):
            for name in self.settings["string_probability"][f"prediction_{number}"]:
                found.setdefault(name, []).append(number)
        return found

    def string_datasets(self, model: str) -> list[str]:
        """Return the data sets of a model's language; of imported scores, those that they cover."""
        entry = self.catalog.model(model)
        covered = entry.get("datasets", self.catalog.datasets)
        return [
            name
            for name in self.predictions()
            if name in covered and self.language(name) == entry["language"]
        ]

    def string_panels(self) -> list[str]:
        """Return the models of string_probability that have panels and whose claims are judged.

        What the run trains or counts itself is points of trends, unless there is nothing else.
        """
        models = self.settings["string_probability"]["models"]
        made = ("trained", "ngram")
        others = [name for name in models if self.catalog.model(name)["source"] not in made]
        return others or list(models)

    def string_bos(self, model: str) -> str:
        """Return the BOS policy under which string_probability reads a model's scores."""
        return self.catalog.bos_policy(model, self.settings["string_probability"]["bos"])

    def scored_as(self, dataset: str) -> str:
        """Return the name that string_probability scores a data set by: its own or its sample's."""
        strings = self.settings["string_probability"]
        pairs = strings["pairs_per_dataset"]
        return f"{dataset}_sample{pairs}" if pairs and dataset in strings["sampled"] else dataset

    def whole(self, scored: str) -> str:
        """Return the name of the data set that a sample is of, or a data set's own."""
        return re.sub(r"_sample\d+$", "", scored)

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
        seen = {
            one
            for model in self.settings["string_probability"]["models"]
            for one in self.string_datasets(model)
        }
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

    def distances_if_any(self, dataset: str) -> list[str]:
        """Return the distances within a data set's pairs, none without an embedding model."""
        known = self.settings["string_probability"]["embeddings"]
        return [self.minimalness(dataset)] if self.language(dataset) in known else []
