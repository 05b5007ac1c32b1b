"""Which sentences are scored under which conventions, whichever papers ask for them."""

from __future__ import annotations

from lingprob.catalog import Entry
from lingprob.plan.ratings import Ratings
from lingprob.plan.strings import Strings
from lingprob.workflow.names import matches

# Figure 1b's data set, which stands under no prediction.
TOY_STRINGS = "toy_strings"


class Scores(Ratings, Strings):
    """BOS policies, start tokens and unigram sources of each model and data set."""

    def bos_policies(self, model: str, dataset: str) -> list[str]:
        """Return the BOS policies under which a model scores a data set, the default one first.

        All of them where conventions are compared; of string_probability's data sets its own, and
        those that the same scores give, and of one's own pairs that are audited, all; else the
        model's default one, by which MORCELA's fits predict ratings.
        """
        policies: list[str] = self.catalog.model(model)["bos_policies"]
        strings = self.settings["string_probability"]
        if self._compares_conventions(dataset, model):
            return policies
        reads = model in (
            *self.settings["string_probability"]["models"],
            self.settings["audit"]["model"],
        )
        if not reads or not self._is_of_strings(dataset):
            return policies[:1]
        chosen, start_token = self.string_bos(model), self.catalog.start_token_of
        compared = model in self.string_panels()
        compared = compared and dataset in map(self.scored_as, strings["conventions"])
        compared = compared or self._audits_own(model, dataset)
        return [chosen] + [
            bos
            for bos in policies
            if bos != chosen
            and (
                compared
                or start_token(bos) == start_token(chosen)
                or (bos == policies[0] and dataset in self.predicted_datasets(model))
            )
        ]

    def start_tokens(self, model: str, dataset: str) -> list[str]:
        """Return the start tokens that these BOS policies need, each scored once."""
        policies = self.bos_policies(model, dataset)
        return list(dict.fromkeys(map(self.catalog.start_token_of, policies)))

    def string_convention(self, model: str) -> list[str]:
        """Return the BOS policy and the unigram source that string_probability reads scores by."""
        source = self.string_unigrams(model) if self._separates(model) else "imported"
        return [self.string_bos(model), source]

    def unigram_sources(self, model: str) -> list[str]:
        """Return a model's default unigram source and others that `morcela.unigrams` names."""
        default, *others = self.catalog.model(model)["unigrams"]
        patterns = self.settings["morcela"]["unigrams"]
        return [default, *(name for name in others if matches(name, patterns))]

    def model_unigrams(self, model: str, dataset: str | None = None) -> list[str]:
        """Return those sources that are tables: all where conventions are compared, and the one of
        string_probability for its models; for other data sets the default one alone."""
        compared = dataset is None or self._compares_conventions(dataset, model)
        strings = model in self.settings["string_probability"]["models"]
        of_strings = strings and (not dataset or self._is_of_strings(dataset))
        sources = self.unigram_sources(model) if compared else []
        if not of_strings or dataset in self.predicted_datasets(model):
            sources = sources or self.unigram_sources(model)[:1]
        if of_strings and (dataset in self.predictions() or not compared):
            sources = [*sources, self.string_unigrams(model)] if self._separates(model) else sources
        return [source for source in dict.fromkeys(sources) if source != "imported"]

    def unigram_tables(self, model: str, dataset: str | None = None) -> list[str]:
        """Return these tables' paths; none for imported scores."""
        folder = f"results/unigrams/{self.catalog.model(model)['tokenizer']}"
        return [f"{folder}/{source}.parquet" for source in self.model_unigrams(model, dataset)]

    def predicted_datasets(self, model: str) -> list[str]:
        """Return the data sets whose ratings a model's fits predict, samples by their own names:
        those fitted to and, of MORCELA's models, others that their scores cover."""
        rated, morcela = self.rated_datasets(model), self.settings["morcela"]
        covered = self.catalog.model(model).get("datasets", self.catalog.datasets)
        wanted = morcela["predicted"] if rated and model in morcela["models"] else []
        others = [self.scored_as(name) for name in wanted if name in covered]
        return list(dict.fromkeys([*rated, *others]))

    def stimuli_entry(self, dataset: str) -> Entry:
        """Return a data set's entry and, of one's own, what the analyses need of its `ratings`."""
        entry = self.catalog.dataset(dataset)
        if entry["parser"] != "table":
            return entry
        some = dataset in self.settings["string_probability"]["prediction_2"]
        ratings = "every" if self._compares_conventions(dataset) else "some" if some else "none"
        return {**entry, "ratings": ratings}

    def _audits_own(self, model: str, dataset: str) -> bool:
        """Whether a data set is one's own and audited by this model."""
        audit = self.settings["audit"]
        own = dataset in audit["datasets"] and self.catalog.dataset(dataset)["parser"] == "table"
        return own and model == audit["model"]

    def _is_of_strings(self, dataset: str) -> bool:
        """Whether string_probability reads a data set's scores, or the audit does by its rules."""
        read = [*self.predictions(), *self.settings["audit"]["datasets"]]
        return dataset in [TOY_STRINGS, *read, *map(self.scored_as, read)]

    def _separates(self, model: str) -> bool:
        """Whether a model's sentences want unigrams: not if string_probability has it for
        Predictions 1 and 2 alone, on data sets that MORCELA leaves alone."""
        if model not in self.settings["string_probability"]["models"]:
            return True
        predictions = self.predictions()
        return any(
            3 in predictions[name]
            or self._compares_conventions(name)
            or self.scored_as(name) in self.predicted_datasets(model)
            for name in self.string_datasets(model)
        )

    def _compares_conventions(self, dataset: str, model: str | None = None) -> bool:
        """Whether a data set is scored under every convention of a model: MORCELA's are, of those
        that it is fitted to."""
        fitted = self.rated_datasets(model) if model else self.settings["morcela"]["datasets"]
        return dataset in fitted
