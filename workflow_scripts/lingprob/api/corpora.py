"""Corpora and data sets from the catalog or a user's files, their tokenizers and n-gram models.

Files of the catalog are fetched once into the cache, which has the layout of a workflow's folder.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.api.prepared_models import find_model, prepared_model
from lingprob.errors import LingprobError, unknown_name
from lingprob.io.corpora import parser_of
from lingprob.io.download import fetch_files
from lingprob.io.files import dataset_paths, identity_of, sha256_of
from lingprob.io.tables import write_csv
from lingprob.models.tokenizer import Tokenizer, open_tokenizer
from lingprob.ngrams.words import estimate_word_model, load_word_model
from lingprob.overlap.corpora import Corpus, CorpusFile, corpus_of, is_saved, load_corpus
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

OR_A_FILE = "Or correct the path of the file."
TOKENIZER = "smollm2-135m"
AUTO, NO_MODEL = "auto", "none"
ORDER = 5  # of the n-gram model (leakage paper, §2.1)
MEMORY_MB = 2000  # of its estimation
TEXT_KINDS = ("stimuli", "reading_texts")  # kinds of data sets that have texts


def choose_tokenizer(
    given: str | Path | None,
    corpora: Iterable[str | Path],
    config: str | Path | Mapping[str, Any] | None,
    run: Run,
    cache: Path,
) -> tuple[str, Tokenizer]:
    """Return the name and the tokenizer of a model or of a data set of kind tokenizer.

    It is the given one, or else that of the first saved corpus, or else that of SmolLM2.
    """
    saved = [load_corpus(Path(corpus)).tokenizer for corpus in corpora if is_saved(corpus)]
    named = str(given or next(filter(None, saved), TOKENIZER))
    if named in run.catalog.datasets_of("tokenizer"):
        fetch_dataset_files(named, run, cache)
        return named, open_tokenizer(cache / sources.dataset_manifest(named))
    name, run = find_model(named, config=config)
    manifest = cache / sources.model_manifest(name)
    return named, open_tokenizer(prepared_model(name, run.catalog.model(name), manifest))


def find_corpus(given: str | Path, tokenizer: Tokenizer, run: Run, cache: Path) -> Corpus:
    """Return a corpus of the catalog, a saved corpus, or a corpus of the user's files.

    Raises LingprobError if it is none of these, or if it consists of token ids of another
    tokenizer.
    """
    name, known = str(given), run.catalog.datasets_of("corpus")
    if isinstance(given, str) and name in known:
        made_by = run.catalog.dataset(name).get("tokenizer_sha256", tokenizer.sha256)
        if made_by != tokenizer.sha256:
            raise LingprobError(
                f"corpus {name!r} consists of token ids of another tokenizer (sha256 {made_by}). "
                "Choose that tokenizer, or a model that has it."
            )
        return fetch_corpus(name, run, cache)
    if is_saved(name):
        return load_corpus(Path(name))
    if not ("*" in name or Path(name).exists()):
        raise unknown_name("corpus", name, known, OR_A_FILE)
    paths = dataset_paths(name, {"path": name})
    files = [CorpusFile(path.name, {"parser": parser_of(path)}, [path]) for path in paths]
    return Corpus(name, files)


def fetch_corpus(name: str, run: Run, cache: Path) -> Corpus:
    """Return a corpus of the catalog. Its files are fetched if the cache lacks them."""
    return corpus_of(name, run.catalog.dataset(name), fetch_dataset_files(name, run, cache))


class NgramModels:
    """The n-gram models that give chance levels, each of which is loaded once.

    `wanted` is the argument `ngrams` of `certify`, and `searched` has the searched corpora. Models
    of the catalog's corpora are kept in the cache. Raises LingprobError if `wanted` is neither a
    corpus nor a file.
    """

    def __init__(
        self, wanted: str | Path, searched: Sequence[Corpus], run: Run, cache: Path
    ) -> None:
        self.wanted, self.run, self.cache = str(wanted), run, cache
        self.corpora = {corpus.name: corpus for corpus in searched if corpus.is_text}
        self.loaded: dict[str, Any] = {}
        known = run.catalog.datasets_of("corpus")
        if self.wanted in (AUTO, NO_MODEL, *self.corpora) or Path(wanted).is_file():
            return
        if self.wanted not in known:
            raise unknown_name("n-gram model", self.wanted, known, OR_A_FILE)
        self.corpora[self.wanted] = fetch_corpus(self.wanted, run, cache)

    def source_for(self, corpus: Corpus) -> tuple[str | None, str]:
        """Return the corpus or file for a corpus's n-gram model, or None and the reason."""
        if self.wanted == NO_MODEL:
            return None, "no n-gram model was wanted"
        if self.wanted != AUTO:
            return self.wanted, ""
        others = [name for name in self.corpora if name != corpus.name]
        if others:
            return others[0], ""
        return None, "there is no other corpus (name one as `ngrams`)"

    def load(self, source: str) -> Any:
        """Return the n-gram model of a corpus or file. It is estimated if the cache lacks it."""
        with tempfile.TemporaryDirectory() as scratch:
            if source not in self.loaded:
                path = self._estimated(source, scratch) if source in self.corpora else source
                self.loaded[source] = load_word_model(path)
        return self.loaded[source]

    def _estimated(self, source: str, scratch: str) -> Path:
        corpus, path = self.corpora[source], Path(scratch, "own.ngrams")
        if is_pinned(source, self.run):
            path = self.cache / f"results/ngrams/{source}-{content_of(corpus)}.ngrams"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            estimate_word_model(corpus.documents(), ORDER, MEMORY_MB, path)
        return path


def content_of(corpus: Corpus) -> str:
    """Return a digest of the content of a corpus's files, their parsers and ORDER."""
    files = [file for file in corpus.files if isinstance(file, CorpusFile)]
    digests = [(file.entry["parser"], [*map(sha256_of, file.paths)]) for file in files]
    return identity_of(digests, ORDER)


def is_pinned(corpus: str, run: Run) -> bool:
    """Return whether the files of a corpus cannot change, so that its n-gram model may be kept."""
    known = run.catalog.datasets_of("corpus")
    return corpus in known and "path" not in run.catalog.dataset(corpus)


def dataset_texts(name: str, run: Run, cache: Path) -> pd.Series:
    """Return the sentences of a data set of stimuli, or the passages of reading texts, by id.

    Raises LingprobError for a data set of another kind, and as `fetch_dataset_files` does.
    """
    from lingprob.reading.texts import build_words, passage_texts
    from lingprob.stimuli.build import build_stimuli

    entry = run.catalog.dataset(name)
    if entry["kind"] not in TEXT_KINDS:
        raise LingprobError(
            f"data set {name!r} is of kind {entry['kind']} and not {' or '.join(TEXT_KINDS)}. Name "
            "another, or a file of texts."
        )
    files = fetch_dataset_files(name, run, cache)
    if entry["kind"] == "reading_texts":
        return passage_texts(build_words(name, entry, files))
    folder = dataset_folder(name, run, cache)
    stimuli, _ = build_stimuli(name, entry, folder, run.settings["seed"])
    return stimuli.set_index("item_id")["text"]


def dataset_folder(name: str, run: Run, cache: Path) -> Path:
    """Return the folder of a data set's files in the cache. Data sets may share files."""
    home = run.catalog.dataset(name).get("files_of", name)
    return cache / Path(sources.dataset_manifest(home)).parent


def fetch_dataset_files(name: str, run: Run, cache: Path) -> list[Path]:
    """Return the paths of a data set's files: a user's own files, or files in the cache.

    Files in the cache are fetched and checked as in the workflow. Package data have no files.
    Raises LingprobError as `fetch_files` does, and if rows of a hub data set are absent or of
    another entry, because only the workflow streams them.
    """
    entry = run.catalog.dataset(name)
    if "path" in entry or not entry.get("files"):
        return dataset_paths(name, entry)
    from lingprob.io.hub_rows import identity_of_rows, recorded_rows

    folder = dataset_folder(name, run, cache)
    paths = [folder / file["name"] for file in entry["files"]]
    if "source" not in entry:
        manifest = fetch_files(
            entry["files"],
            folder,
            dataset=folder.name,
            mirror=run.settings["mirror"],
            instructions=entry.get("instructions"),
        )
        write_csv(manifest, folder / "manifest.tsv")
    elif recorded_rows(paths[0]) != identity_of_rows(entry):
        raise LingprobError(
            f"{paths[0]}: the rows of {name!r} on the hub are not in the cache, or are those of "
            f"another entry. First run `snakemake --cores 1 --directory {cache} "
            f"{sources.dataset_manifest(name)}`."
        )
    return paths
