"""Corpora and tokenizers by name: of the catalog, or files of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lingprob.api.datasets import fetched_files
from lingprob.api.overlap import corpus_entry
from lingprob.api.prepared_models import find_model, prepared_model
from lingprob.certificate.corpora import Corpus, CorpusFile
from lingprob.certificate.saved import CONTENTS, load_corpus
from lingprob.errors import LingprobError, unknown_name
from lingprob.io.files import dataset_paths
from lingprob.models.tokenizer import Tokenizer, open_tokenizer
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

OR_A_FILE = "Or mend the path of the file."


def named_tokenizer(
    tokenizer: str | Path,
    config: str | Path | Mapping[str, Any] | None,
    run: Run,
    cache: Path,
) -> Tokenizer:
    """Open the tokenizer of a model, or that of a data set of kind tokenizer."""
    if str(tokenizer) in sources.datasets_of(run, "tokenizer"):
        fetched_files(str(tokenizer), run, cache)
        return open_tokenizer(cache / sources.dataset_manifest(str(tokenizer)))
    name, run = find_model(tokenizer, config=config)
    manifest = cache / sources.model_manifest(name)
    return open_tokenizer(prepared_model(name, run.catalog.model(name), manifest))


def corpus_names(run: Run) -> list[str]:
    """Return the corpora of the catalog, one's own included."""
    return sources.datasets_of(run, "corpus")


def found_corpus(given: str | Path, tokenizer: Tokenizer, run: Run, cache: Path) -> Corpus:
    """Return a corpus of the catalog, one that `certify` saved, or one of files.

    Raises LingprobError if it is neither, or token ids of another tokenizer.
    """
    name = str(given)
    if isinstance(given, str) and name in corpus_names(run):
        made_by = run.catalog.dataset(name).get("tokenizer_sha256", tokenizer.sha256)
        if made_by != tokenizer.sha256:
            raise LingprobError(
                f"corpus {name!r} is token ids of another tokenizer (sha256 {made_by}). Name that "
                "one or a model that has it."
            )
        return catalog_corpus(name, run, cache)
    if Path(name, CONTENTS).is_file():
        return load_corpus(Path(name))
    if not ("*" in name or Path(name).exists()):
        raise unknown_name("corpus", name, corpus_names(run), OR_A_FILE)
    paths = dataset_paths(name, {"path": name})
    return Corpus(name, [CorpusFile(path.name, corpus_entry(path), [path]) for path in paths])


def catalog_corpus(name: str, run: Run, cache: Path) -> Corpus:
    """Return a corpus of the catalog; its files are fetched where the cache lacks them."""
    entry = run.catalog.dataset(name)
    paths = fetched_files(name, run, cache)
    files = [CorpusFile(path.name, entry, [path]) for path in paths]
    return Corpus(name, files or [CorpusFile("package", entry, [])], entry.get("words"))
