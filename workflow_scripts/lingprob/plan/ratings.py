"""What MORCELA fits to ratings, and the models that its trends are drawn over."""

from __future__ import annotations

from lingprob.catalog import read_yaml
from lingprob.plan.sources import Sources
from lingprob.workflow.names import matches


class Ratings(Sources):
    """Which models meet which rated data sets (morcela)."""

    def rated_datasets(self, model: str) -> list[str]:
        """Return the rated data sets that MORCELA fits a model to: those that its scores cover."""
        covered = self.catalog.model(model).get("datasets", self.catalog.datasets)
        return [name for name in self.settings["morcela"]["datasets"] if name in covered]

    def main_rated(self) -> str:
        """Return MORCELA's own rated data set or, where the run has others alone, the first."""
        names: list[str] = self.settings["morcela"]["datasets"]
        of_paper = read_yaml("scales.yaml")["paper"]["morcela"]["datasets"]
        return next((name for name in names if name in of_paper), names[0])

    def fitted_models(self) -> list[str]:
        """Return the models of MORCELA that have a rated data set to be fitted to."""
        return [name for name in self.settings["morcela"]["models"] if self.rated_datasets(name)]

    def frequency_models(self) -> list[str]:
        """Return the models whose log-probabilities are regressed on frequency (morcela, §5)."""
        morcela, causal = self.settings["morcela"], self.causal_models()
        wanted = morcela["frequency_models"]
        return [name for name in morcela["models"] if matches(name, wanted) and name in causal]

    def frequency_start_tokens(self, model: str) -> list[str]:
        """Return the start tokens after which a model's documents are scored (morcela, §5)."""
        wanted = self.settings["morcela"]["frequency_start_tokens"]
        own = self.own_start_token(model)
        return list(dict.fromkeys(own if one == "own" else one for one in wanted))

    def frequency_tables(self, name: str) -> list[str]:
        """Return the slopes or bins of each of these models."""
        models = self.frequency_models()
        return [f"results/morcela/frequency_{name}/{model}.parquet" for model in models]
