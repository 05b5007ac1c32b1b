"""What MORCELA fits to ratings, and the models that its trends are drawn over."""

from __future__ import annotations

from typing import Any

from lingprob.catalog import read_yaml
from lingprob.plan.sources import Sources
from lingprob.training.sizes import model_name
from lingprob.workflow.names import matches


class Ratings(Sources):
    """Which models meet which rated data sets (morcela)."""

    def rated_datasets(self, model: str) -> list[str]:
        """Return the rated data sets that MORCELA fits a model to: those that its scores cover, of
        one of the ladder the main one alone."""
        covered = self.catalog.model(model).get("datasets", self.catalog.datasets)
        ladder = model in self.settings["morcela"]["ladder"]
        wanted = [self.main_rated()] if ladder else self.settings["morcela"]["datasets"]
        return [name for name in wanted if name in covered]

    def main_rated(self) -> str:
        """Return MORCELA's own rated data set or, where the run has others alone, the first."""
        names: list[str] = self.settings["morcela"]["datasets"]
        of_paper = read_yaml("scales.yaml")["paper"]["morcela"]["datasets"]
        return next((name for name in names if name in of_paper), names[0])

    def fitted_models(self) -> list[str]:
        """Return the models of MORCELA that have a rated data set to be fitted to."""
        return [name for name in self.settings["morcela"]["models"] if self.rated_datasets(name)]

    def fitted_ladder(self) -> list[str]:
        """Return these models, and those of the ladder that have one."""
        ladder = [name for name in self.settings["morcela"]["ladder"] if self.rated_datasets(name)]
        return [*self.fitted_models(), *ladder]

    def ladder_facts(self, section: str) -> dict[str, dict[str, Any]]:
        """Return what each model of a paper, those of its ladder included, is one of several of.

        By name: `kind`, `step` of what a training kept on its way, `order` of n-grams over one
        corpus, else `model`; `series`, the same for all steps of a training, its end included, and
        for all orders over a corpus; `ladder`, whether it is of the ladder alone; `has_quality`,
        whether its log-probabilities are what it takes to say a text, which nobody knows of
        imported scores, and pseudo-log-likelihoods are not.
        """
        found: dict[str, dict[str, Any]] = {}
        causal = self.causal_models()
        ladder = self.settings[section]["ladder"]
        for name in [*self.settings[section]["models"], *ladder]:
            entry = self.catalog.model(name)
            kind = "step" if "training_step" in entry else "model"
            series = model_name(entry["size"]) if kind == "step" else name
            if entry["source"] == "ngram":
                kind, series = "order", f"{entry['tokenizer']}/{entry['corpus']}"
            found[name] = {"kind": kind, "series": series}
            found[name] |= {"ladder": name in ladder, "has_quality": name in causal}
        return found

    def frequency_models(self) -> list[str]:
        """Return the models whose log-probabilities are regressed on frequency (morcela, §5)."""
        morcela, causal = self.settings["morcela"], self.causal_models()
        return [
            name
            for name in [*morcela["models"], *morcela["ladder"]]
            if matches(name, morcela["frequency_models"]) and name in causal
        ]

    def frequency_tables(self, name: str) -> list[str]:
        """Return the slopes or bins of each of these models, after each start token; of those of
        the ladder after the first alone."""
        morcela = self.settings["morcela"]
        asked = morcela["frequency_start_tokens"]
        return [
            f"results/morcela/frequency_{name}/{model}/{start_token}.parquet"
            for model in self.frequency_models()
            for start_token in dict.fromkeys(
                self.own_start_token(model) if one == "own" else one
                for one in (asked[:1] if model in morcela["ladder"] else asked)
            )
        ]
