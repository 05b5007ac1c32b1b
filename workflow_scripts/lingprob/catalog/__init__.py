"""What exists: models, data sets, conventions and published numbers, read from this folder's YAML.

A user's own model or data set is an entry of the same shape in config.yaml.
"""

from __future__ import annotations

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
    """Return the parsed content of one YAML file of the catalog."""
    return parse_yaml(FOLDER / name)


def parse_yaml(path: Path) -> Any:
    """Return the content of a YAML file, by PyYAML's loader in C where it is there."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


@cache
def read_datasets() -> dict[str, Entry]:
    """Return the entries of all files of the folder `datasets`, in the order of the file names.

    An entry has its files (mirror path, public URL, checksum, size), a licence and a citation,
    a parser, and the expected counts, which the parsers check.
    """
    entries: dict[str, Entry] = {}
    for path in sorted((FOLDER / "datasets").glob("*.yaml")):
        found = read_yaml(f"datasets/{path.name}")
        if twice := sorted(entries.keys() & found.keys()):
            raise LingprobError(f"{path}: the data set {twice[0]!r} is in another file too")
        entries |= found
    return entries


def read_published(target: str) -> Entry:
    """Return the numbers that a paper states and that a target computes (`published/TARGET.yaml`).

    A row of an item is a catalog model (with its linking function after a slash) or a quantity;
    `columns` are column names of our own tables; `places` and `decides` are per column. `claims`
    are sentences that are tested (both: `scorecard.comparison`). `not_computed` says why all else
    that the paper states is not computed.
    """
    entry: Entry = read_yaml(f"published/{target}.yaml")
    return entry


class Catalog:
    """The catalog with a user's entries laid over it.

    `models`, `datasets`, `embeddings`, `start_tokens` and `bos_policies` map a name to its complete
    entry.
    """

    def __init__(
        self,
        models: dict[str, Entry] | None = None,
        datasets: dict[str, Entry] | None = None,
        bos_policies: dict[str, Entry] | None = None,
        start_tokens: dict[str, str] | None = None,
        embeddings: dict[str, Entry] | None = None,
    ) -> None:
        shipped = read_yaml("models.yaml")
        conventions = read_yaml("conventions.yaml")
        families = shipped["families"]
        self.samplings: dict[str, Entry] = conventions["samplings"]
        self.corrections: dict[str, str] = conventions["corrections"]
        self.start_tokens: dict[str, str] = {
            **conventions["start_tokens"],
            **self.corrections,
            **(start_tokens or {}),
        }
        self.bos_policies: dict[str, Entry] = {
            **conventions["bos_policies"],
            **(bos_policies or {}),
        }
        given = {**read_datasets(), **(datasets or {})}
        self.datasets: dict[str, Entry] = {
            name: complete_dataset(entry, given) for name, entry in given.items()
        }
        self.models: dict[str, Entry] = {
            name: complete_model(name, entry, families)
            for name, entry in {**shipped["models"], **(models or {})}.items()
        }
        self.embeddings: dict[str, Entry] = {
            **read_yaml("embeddings.yaml"),
            **(embeddings or {}),
        }

    def check_references(self) -> None:
        """Raise LingprobError for a name in an entry that nothing answers to."""
        for name, policy in self.bos_policies.items():
            where = f"(bos_policies.{name})"
            looked_up("start token", policy["start_token"], self.start_tokens, where)
        for name, model in self.models.items():
            for policy in model["bos_policies"]:
                where = f"(models.{name}.bos_policies)"
                looked_up("BOS policy", policy, self.bos_policies, where)
                self._check_correction(name, policy)
            if model["source"] == "ngram":
                corpora = {n: e for n, e in self.datasets.items() if e["kind"] == "corpus"}
                looked_up("corpus", model["corpus"], corpora, f"(models.{name}.corpus)")
                self.tokenizer_provider(model["tokenizer"])
            for source in model["unigrams"]:
                kind, of = self.unigram_source(source)
                if kind in self.samplings and self.models[of]["source"] == "ngram":
                    raise LingprobError(
                        f"models.{name}.unigrams: {source!r}, and n-gram models do not generate. "
                        f"Name their corpus: corpus_{self.models[of]['corpus']}."
                    )
                if kind in self.samplings and self.is_masked(of):
                    raise LingprobError(
                        f"models.{name}.unigrams: {source!r}, and masked models do not generate. "
                        "Name a corpus, such as corpus_gutenberg."
                    )
            for dataset in model.get("datasets", []):
                self.dataset(dataset)
            for texts in model.get("texts", []):
                if self.dataset(texts)["kind"] != "reading_texts":
                    known = [n for n, e in self.datasets.items() if e["kind"] == "reading_texts"]
                    raise unknown_name("reading text", texts, known, f"(models.{name}.texts)")
                if surprisal_file(model, texts) is None:
                    raise LingprobError(
                        f"models.{name}.paths: no file for {texts!r}, one of its texts. Name one."
                    )

    def model(self, name: str) -> Entry:
        """Return a model's entry."""
        return looked_up("model", name, self.models, OWN_ENTRY.format("models"))

    def is_masked(self, model: str) -> bool:
        """Tell whether a model is a masked one, which sees both sides of what it predicts."""
        return bool(self.model(model).get("kind") == "masked")

    def _check_correction(self, model: str, policy: str) -> None:
        """Raise LingprobError for a start token of a masked model, a correction of another one."""
        own = {name for name in self.bos_policies if self.start_token_of(name) in self.corrections}
        if (policy in own) != self.is_masked(model):
            fault = (
                f"says what a masked model masks, and {model!r} reads from left to right (`kind`). "
                f"Choose among {', '.join(repr(n) for n in self.bos_policies if n not in own)}."
                if policy in own
                else f"puts a start token before a sentence, and {model!r} is a masked model with "
                f"marks of its own. Choose among {', '.join(map(repr, sorted(own)))}."
            )
            raise LingprobError(f"models.{model}.bos_policies: {policy!r} {fault}")

    def dataset(self, name: str) -> Entry:
        """Return a data set's entry."""
        return looked_up("data set", name, self.datasets, OWN_ENTRY.format("datasets"))

    def embedding(self, name: str) -> Entry:
        """Return the entry of a sentence-embedding model."""
        own = OWN_ENTRY.format("embeddings")
        return looked_up("embedding model", name, self.embeddings, own)

    def start_token_of(self, bos: str) -> str:
        """Return the name of the start token that a BOS policy puts before a sentence."""
        return str(self.bos_policies[bos]["start_token"])

    def bos_policy(self, model: str, convention: str) -> str:
        """Return the BOS policy under which a convention reads a model's scores.

        `scored` and `excluded` stand for the first of the model's policies that does so with a
        sentence's first token; any other convention is the name of one of its policies. Imported
        scores have theirs alone, and in masked models a first token is as others: their first
        policy stands. Raises LingprobError if the model has no such policy.
        """
        entry = self.model(model)
        policies = entry["bos_policies"]
        if entry["source"] == "scores" or (self.is_masked(model) and convention not in policies):
            return str(policies[0])
        if convention not in ("scored", "excluded"):
            looked_up("BOS policy", convention, self.bos_policies)
            found = [policy for policy in policies if policy == convention]
        else:
            first_token = {name: entry["first_token"] for name, entry in self.bos_policies.items()}
            found = [policy for policy in policies if first_token[policy] == convention]
        if not found:
            raise LingprobError(
                f"models.{model}.bos_policies: {policies}, none of them {convention!r}, which "
                "string_probability.bos asks for. Add one, such as `bos` (a start token, first "
                "token scored), or choose another convention."
            )
        return str(found[0])

    def unigram_source(self, source: str) -> tuple[str, str]:
        """Split a unigram source into its kind and what it is made of.

        `unigrahams_MODEL` is estimated from a model's own samples (drawn as the entry of
        `samplings` with that name says), `corpus_DATASET` counted over a corpus, `training_STEPS`
        over what a training here has met, and any other name is a published table, a data set of
        kind `unigrams`; `imported` stands for unigram log-probabilities that came with imported
        scores.
        """
        kind, _, of = source.partition("_")
        if kind in self.samplings:
            self.model(of) if of not in self.models else None
            return kind, of
        if kind == "corpus":
            self.dataset(of)
            return kind, of
        if kind == "training" and of.isdecimal():
            return kind, of
        if source == "imported":
            return source, ""
        if self.dataset(source)["kind"] != "unigrams":
            raise unknown_name(
                "unigram source",
                source,
                [name for name, entry in self.datasets.items() if entry["kind"] == "unigrams"],
                "Counts over a corpus are called corpus_NAME, a model's own unigrahams_NAME.",
            )
        return "published", source

    def tokenizer_provider(self, tokenizer: str) -> str:
        """Return the first model that has this tokenizer and brings it as files."""
        for name, entry in self.models.items():
            borrowed = entry["source"] == "ngram" and name != tokenizer
            if entry["tokenizer"] == tokenizer and entry["source"] != "scores" and not borrowed:
                return name
        raise unknown_name(
            "tokenizer", tokenizer, {entry["tokenizer"] for entry in self.models.values()}
        )


# Where the rows of a data set on the hub lie in its folder.
HUB_ROWS = "rows.parquet"
# What figures say of a masked model.
PSEUDO = (
    "{title} is a masked model: its pseudo-log-likelihood, each token given those on both sides, "
    "stands where log p does."
)
OWN_ENTRY = "One of your own is an entry under `{}:` in config.yaml."


def complete_dataset(entry: Entry, datasets: dict[str, Entry]) -> Entry:
    """Give each file of an entry with `base_url` or `mirror_folder` its own URL or mirror path.

    An entry with `files_of` gets the files of that data set, one of source `hub` the file that its
    rows are put into and the parser that reads it.
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
    completed = {key: entry[key] for key in entry if key not in ("base_url", "mirror_folder")}
    prefixes = {"url": entry.get("base_url"), "mirror": entry.get("mirror_folder")}
    completed["files"] = [
        {key: f"{prefix}/{file['name']}" for key, prefix in prefixes.items() if prefix} | file
        for file in entry["files"]
    ]
    return completed


def surprisal_file(entry: Entry, texts: str) -> str | None:
    """Return the file that has a model's imported word surprisals of a text."""
    return entry.get("paths", {}).get(texts, entry.get("path"))


def texts_in_file(entry: Entry, texts: str) -> list[str]:
    """Return the texts whose imported word surprisals are in the same file as those of `texts`."""
    path = surprisal_file(entry, texts)
    return [name for name in entry["texts"] if surprisal_file(entry, name) == path]


def complete_model(name: str, entry: Entry, families: dict[str, Entry]) -> Entry:
    """Lay a model's entry over its family's defaults and over those of an unknown family.

    `parameters` is None where the entry does not state it.
    """
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
        # The very text that it is of, so that what it adds to unigrams is known.
        fallback |= {"unigrams": [f"corpus_{entry['corpus']}"], "least_count": 2}
    return {**fallback, **families.get(entry["family"], {}), **entry}
