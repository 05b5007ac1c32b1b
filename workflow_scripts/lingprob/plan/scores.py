"""Which sentences are scored under which conventions, whichever papers ask for them."""

from __future__ import annotations

from lingprob.catalog import Entry
from lingprob.plan.ratings import Ratings
from lingprob.plan.strings import Strings
from lingprob.workflow.names import matches

# Figure 1b's data set, which stands under no prediction.
TOY_STRINGS = "toy_strings"
# What lists data sets to be scored.
SECTIONS = ("morcela", "string_probability", "audit", "other")


class Scores(Ratings, Strings):
    """Data sets, start tokens and unigram sources of each model's scores."""

    def scored_datasets(self, section: str) -> list[str]:
        """Return the stimuli that a section's jobs score, samples by their own names.

        A data set that several sections list is the first one's: no two jobs score it.
        """
        morcela, audit = self.settings["morcela"], self.settings["audit"]
        listed = {
            "morcela": [*morcela["datasets"], *map(self.scored_as, morcela["predicted"])],
            "string_probability": [*map(self.scored_as, self.predictions()), TOY_STRINGS],
            "audit": [*map(self.scored_as, audit["datasets"])],
        }
        of_section = {name: owner for owner in reversed(listed) for name in listed[owner]}
        return [name for name in dict.fromkeys(listed[section]) if of_section[name] == section]

    def scoring_jobs(self, models: list[str]) -> list[tuple[str, str, list[str]]]:
        """Return a section, one of these models and its data sets, for each scoring job.

        A model has one job for each section, so that one paper's data never hold up another's
        scores, and no job changes when a paper's list of models does. The section `other` stands
        for any one data set that no section lists.
        """
        jobs = [
            (section, model, self._of_model(model, section))
            for section in SECTIONS
            for model in models
        ]
        return [job for job in jobs if job[2]]

    def start_tokens(self, model: str) -> list[str]:
        """Return the start tokens of a model's BOS policies (of a masked one its corrections)."""
        policies = self.catalog.model(model)["bos_policies"]
        return list(dict.fromkeys(map(self.catalog.start_token_of, policies)))

    def bos_policies(self, model: str) -> dict[str, Entry]:
        """Return a model's BOS policies by name, the default one first."""
        policies = self.catalog.model(model)["bos_policies"]
        return {bos: self.catalog.bos_policies[bos] for bos in policies}

    def unigram_sources(self, model: str) -> list[str]:
        """Return the unigram sources of a model that are tables, the default one first: those of
        its entry that `morcela.unigrams` or `string_probability.unigrams` names."""
        listed: list[str] = self.catalog.model(model)["unigrams"]
        patterns = self.settings["morcela"]["unigrams"]
        chosen = self.settings["string_probability"]["unigrams"]
        named = [name for name in listed[1:] if name == chosen or matches(name, patterns)]
        return [name for name in [*listed[:1], *named] if name != "imported"]

    def unigram_tables(self, model: str) -> list[str]:
        """Return these tables' paths; none for imported scores."""
        folder = f"results/unigrams/{self.catalog.model(model)['tokenizer']}"
        return [f"{folder}/{source}.parquet" for source in self.unigram_sources(model)]

    def default_unigrams(self, model: str) -> str:
        """Return a model's default unigram source; `imported` if it has no table of any."""
        return [*self.unigram_sources(model), "imported"][0]

    def default_convention(self, model: str) -> list[str]:
        """Return the BOS policy and the unigram source that MORCELA's figures show of a model."""
        return [self.default_bos(model), self.default_unigrams(model)]

    def string_convention(self, model: str) -> list[str]:
        """Return the BOS policy and the unigram source that string_probability reads scores by."""
        chosen = self.settings["string_probability"]["unigrams"]
        listed = chosen in self.unigram_sources(model)
        return [self.string_bos(model), chosen if listed else self.default_unigrams(model)]

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
        fitted = dataset in self.settings["morcela"]["datasets"]
        some = dataset in self.settings["string_probability"]["prediction_2"]
        return {**entry, "ratings": "every" if fitted else "some" if some else "none"}

    def _of_model(self, model: str, section: str) -> list[str]:
        """Return a section's data sets that a model scores: those that its scores cover and, of
        string_probability, those in its language."""
        if section == "other":
            return ["{dataset}"]
        covered = self.catalog.model(model).get("datasets", self.catalog.datasets)
        return [
            name
            for name in self.scored_datasets(section)
            if self.whole(name) in covered
            and (section != "string_probability" or self.speaks(model, self.whole(name)))
        ]
