"""The catalog of models, data sets, conventions and published numbers, from YAML files here."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lingprob.errors import LingprobError, looked_up, unknown_name
from lingprob.models.folders import is_masked

FOLDER = Path(__file__).parent
Entry = dict[str, Any]


@cache
def read_yaml(name: str) -> Any:
    """Return the content of a YAML file of the catalog, by its path in this folder."""
    return parse_yaml(FOLDER / name)


def parse_yaml(path: Path) -> Any:
    """Return the content of a YAML file, read by PyYAML's loader in C if there is one."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


@cache
def read_datasets() -> dict[str, Entry]:
    """Return the entries of data sets by name, in the order of the files in `datasets`."""
    paths = sorted((FOLDER / "datasets").glob("*.yaml"))
    files = [read_yaml(f"datasets/{path.name}") for path in paths]
    return {name: entry for found in files for name, entry in found.items()}


def read_published(target: str) -> Entry:
    """Return the published numbers and claims that a target of the workflow compares with its own.

    They are in `published/TARGET.yaml`. Its `items` are tables and figures. A row of an item is a
    model (with its linking function after a slash) or a quantity, and `columns` are columns of
    computed tables. `places` and `decides` have one value per column. `claims` are the paper's
    sentences that are tested, and `not_computed` lists the rest of the paper, with reasons.
    """
    return dict(read_yaml(f"published/{target}.yaml"))


class Catalog:
    """The catalog's entries by name, complete with defaults, and replaced by a user's entries.

    The arguments are the user's entries of each section.
    """

    def __init__(
        self,
        models: dict[str, Entry] | None = None,
        datasets: dict[str, Entry] | None = None,
        bos_policies: dict[str, Entry] | None = None,
        start_tokens: dict[str, str] | None = None,
        embeddings: dict[str, Entry] | None = None,
    ) -> None:
        shipped, conventions = read_yaml("models.yaml"), read_yaml("conventions.yaml")
        tokens, policies = conventions["start_tokens"], conventions["bos_policies"]
        self.samplings: dict[str, Entry] = conventions["samplings"]
        self.corrections: dict[str, str] = conventions["corrections"]
        self.start_tokens: dict[str, str] = tokens | self.corrections | (start_tokens or {})
        self.bos_policies: dict[str, Entry] = policies | (bos_policies or {})
        given = read_datasets() | (datasets or {})
        self.datasets: dict[str, Entry] = {
            name: complete_dataset(entry, given) for name, entry in given.items()
        }
        self.models: dict[str, Entry] = {
            name: complete_model(name, entry, shipped["families"])
            for name, entry in (shipped["models"] | (models or {})).items()
        }
        self.embeddings: dict[str, Entry] = read_yaml("embeddings.yaml") | (embeddings or {})

    def check_references(self) -> None:
        """Raise LingprobError for the first entry that names something unknown or unsuitable."""
        for name, policy in self.bos_policies.items():
            where = f"(bos_policies.{name})"
            looked_up("start token", policy["start_token"], self.start_tokens, where)
        for name, model in self.models.items():
            for policy in model["bos_policies"]:
                where = f"(models.{name}.bos_policies)"
                looked_up("BOS policy", policy, self.bos_policies, where)
                self._check_correction(name, policy)
            if model["source"] == "ngram":
                corpora = self.datasets_of("corpus")
                looked_up("corpus", model["corpus"], corpora, f"(models.{name}.corpus)")
                self.tokenizer_provider(model["tokenizer"])
            for source in model["unigrams"]:
                kind, of = self.unigram_source(source)
                entry = self.models[of] if kind in self.samplings else {}
                if entry.get("source") in ("ngram", "scores") or entry.get("kind") == "masked":
                    raise LingprobError(
                        f"models.{name}.unigrams: {source!r}, and imported scores, n-gram models "
                        "and masked models do not generate. Name a corpus, such as "
                        f"corpus_{entry.get('corpus', 'gutenberg')}."
                    )
            for dataset in model.get("datasets", []):
                self.dataset(dataset)
            for texts in model.get("texts", []):
                known = self.datasets_of("reading_texts")
                looked_up("reading text", texts, known, f"(models.{name}.texts)")
                if surprisal_file(model, texts) is None:
                    raise LingprobError(
                        f"models.{name}.paths: no file for {texts!r}, one of its texts. Name one."
                    )

    def model(self, name: str) -> Entry:
        """Return a model's entry."""
        return looked_up("model", name, self.models, OWN_ENTRY.format("models"))

    def is_masked(self, model: str) -> bool:
        """Return whether a model is a masked one, which predicts a token from both sides."""
        return bool(self.model(model).get("kind") == "masked")

    def _check_correction(self, model: str, policy: str) -> None:
        """Raise LingprobError if a masked model has a start token, or another one a correction."""
        own = {name for name in self.bos_policies if self.start_token_of(name) in self.corrections}
        masked = self.is_masked(model)
        if (policy in own) != masked:
            suited = own if masked else self.bos_policies.keys() - own
            raise LingprobError(
                f"models.{model}.bos_policies: {policy!r} is {'not' if masked else 'only'} for "
                f"masked models (`kind`). Choose among {', '.join(map(repr, sorted(suited)))}."
            )

    def dataset(self, name: str) -> Entry:
        """Return a data set's entry."""
        return looked_up("data set", name, self.datasets, OWN_ENTRY.format("datasets"))

    def datasets_of(self, kind: str) -> dict[str, Entry]:
        """Return the entries of the data sets of a kind, by name."""
        return {name: entry for name, entry in self.datasets.items() if entry["kind"] == kind}

    def embedding(self, name: str) -> Entry:
        """Return the entry of a sentence-embedding model."""
        return looked_up("embedding model", name, self.embeddings, OWN_ENTRY.format("embeddings"))

    def start_token_of(self, bos: str) -> str:
        """Return the name of the start token that a BOS policy puts before a sentence."""
        return str(self.bos_policies[bos]["start_token"])

    def bos_policy(self, model: str, convention: str) -> str:
        """Return the name of a model's BOS policy for a value of `string_probability.bos`.

        For `scored` and `excluded` it is the first of the model's policies that treats the first
        token so. Another value is the name of a policy. For imported scores, and for masked models
        without that policy, it is the model's first policy. Raises LingprobError if the model has
        no such policy.
        """
        entry = self.model(model)
        policies = entry["bos_policies"]
        if entry["source"] == "scores" or (self.is_masked(model) and convention not in policies):
            return str(policies[0])
        if convention not in ("scored", "excluded"):
            looked_up("BOS policy", convention, self.bos_policies)
        for policy in policies:
            if convention in (policy, self.bos_policies[policy]["first_token"]):
                return str(policy)
        raise LingprobError(
            f"models.{model}.bos_policies: {policies} lacks {convention!r}, the value of "
            "string_probability.bos. Add one, such as `bos` (a start token, first token scored), "
            "or choose another convention."
        )

    def unigram_source(self, source: str) -> tuple[str, str]:
        """Return the kind of a unigram source, and its model, corpus, steps or data set.

        `unigrahams_MODEL` and other `samplings` are estimated from a model's samples,
        `corpus_DATASET` is counted over a corpus, and `training_STEPS` over the text of a training.
        `imported` comes with imported scores. Any other source is a data set of kind `unigrams`,
        which has the kind `published`. Raises LingprobError for an unknown name.
        """
        kind, _, of = source.partition("_")
        if kind in self.samplings:
            self.model(of)
        elif kind == "corpus":
            looked_up("corpus", of, self.datasets_of("corpus"), OWN_ENTRY.format("datasets"))
        if kind in (*self.samplings, "corpus") or (kind == "training" and of.isdecimal()):
            return kind, of
        if source == "imported":
            return source, ""
        remedy = "Counts over a corpus are called corpus_NAME, a model's own unigrahams_NAME."
        looked_up("unigram source", source, self.datasets_of("unigrams"), remedy)
        return "published", source

    def tokenizer_provider(self, tokenizer: str) -> str:
        """Return the name of the first model whose files include this tokenizer."""
        for name, entry in self.models.items():
            borrowed = entry["source"] == "ngram" and name != tokenizer
            if entry["tokenizer"] == tokenizer and entry["source"] != "scores" and not borrowed:
                return name
        raise unknown_name(
            "tokenizer", tokenizer, {entry["tokenizer"] for entry in self.models.values()}
        )


# The file with the rows of a data set on the hub.
HUB_ROWS = "rows.parquet"
# The note on a masked model in figures.
PSEUDO = (
    "{title} is a masked model. Its log p is a pseudo-log-likelihood: each token given the tokens "
    "on both sides."
)
OWN_ENTRY = "Your own entries are under `{}:` in config.yaml."


def complete_dataset(entry: Entry, datasets: dict[str, Entry]) -> Entry:
    """Return a data set's entry with a URL and a mirror path for each of its files.

    An entry with `files_of` gets the files of that data set. An entry of source `hub` gets the file
    of its rows and a parser.
    """
    if entry.get("source") == "hub":
        parser = "parquet" if entry["kind"] == "corpus" else "table"
        return {**entry, "parser": parser, "files": [{"name": HUB_ROWS}]}
    if "files_of" in entry:
        other = entry["files_of"]
        if "files" not in looked_up("data set", other, datasets, "(files_of)"):
            raise LingprobError(
                f"files_of: the data set {other!r} has no files of its own. Name the one that has."
            )
        return {**entry, "files": complete_dataset(datasets[other], datasets)["files"]}
    if "files" not in entry:
        return entry
    completed = {**entry}
    prefixes = {"url": completed.pop("base_url", ""), "mirror": completed.pop("mirror_folder", "")}
    completed["files"] = [
        {key: f"{prefix}/{file['name']}" for key, prefix in prefixes.items() if prefix} | file
        for file in entry["files"]
    ]
    return completed


def surprisal_file(entry: Entry, texts: str) -> str | None:
    """Return the path of the file with a model's imported word surprisals of a text, if any."""
    return entry.get("paths", {}).get(texts, entry.get("path"))


def texts_in_file(entry: Entry, texts: str) -> list[str]:
    """Return all texts whose imported word surprisals are in the same file as those of `texts`."""
    path = surprisal_file(entry, texts)
    return [name for name in entry["texts"] if surprisal_file(entry, name) == path]


def complete_model(name: str, entry: Entry, families: dict[str, Entry]) -> Entry:
    """Return a model's entry with the missing keys of its family, or else of an unknown family."""
    fallback: Entry = {
        "family_title": entry["family"],
        "language": "en",
        "parameters": None,
        "tokenizer": name,
        "context_window": None,
        "bos_policies": ["none"],
        "unigrams": [f"unigrahams_{name}"],
        "dtype": {"cpu": "float32", "cuda": "float32", "bulk": "float16"},
    }
    if entry["source"] == "scores":
        fallback |= {"bos_policies": ["imported"], "unigrams": ["imported"]}
        if "paths" in entry:
            fallback["texts"] = list(entry["paths"])
        return {**fallback, **entry}
    if entry["source"] == "local" and "kind" not in entry and is_masked(entry["path"]):
        entry = {**entry, "kind": "masked"}
    if entry.get("kind") == "masked":
        fallback["bos_policies"] = ["within_word_l2r", "whole_word", "uncorrected"]
        fallback |= {"unigrams": ["corpus_gutenberg"], "note": PSEUDO.format(**entry)}
    if entry["source"] == "ngram":
        # Unigrams are of the same text, so that the model differs from them only by longer n-grams.
        fallback |= {"unigrams": [f"corpus_{entry['corpus']}"], "least_count": 2}
    return {**fallback, **families.get(entry["family"], {}), **entry}
