"""Which models' surprisals reading times are regressed on, trained ones among them (leakage)."""

from __future__ import annotations

from lingprob.catalog import surprisal_file
from lingprob.plan.sources import Sources
from lingprob.workflow.names import surprisal_models


class Reading(Sources):
    """Which models meet which reading times, and what is known of their surprisals."""

    def dataset_models(self, dataset: str) -> list[str]:
        """Return the models whose surprisals a data set of reading times is regressed on."""
        texts = self.catalog.dataset(dataset)["texts"]
        return surprisal_models(self.catalog, self.settings["reading"]["models"], texts)

    def read_texts(self) -> list[str]:
        """Return the texts of the run's reading times, and those of the published surprisals."""
        reading = self.settings["reading"]
        texts = [self.catalog.dataset(name)["texts"] for name in reading["datasets"]]
        return list(dict.fromkeys([*texts, *["natural_stories"] * reading["published"]]))

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
