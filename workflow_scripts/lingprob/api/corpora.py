"""Corpora with their tokenizers and n-gram models, and data sets: of the catalog, or own files.

Files of the catalog lie in the cache, laid out as a workflow's: each is fetched once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.api.prepared_models import find_model, prepared_model
from lingprob.errors import LingprobError, unknown_name
from lingprob.io.corpora import parser_of
from lingprob.io.download import RemoteFile, fetch_files
from lingprob.io.files import dataset_paths
from lingprob.io.tables import write_csv
from lingprob.models.tokenizer import Tokenizer, open_tokenizer
from lingprob.ngrams.lmplz import estimate_ngrams, obtain_programs
from lingprob.overlap.chance import load_kenlm
from lingprob.overlap.corpora import Corpus, CorpusFile, corpus_of, is_saved, load_corpus
from lingprob.overlap.kenlm_programs import PROGRAMS, missing_for_kenlm
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

OR_A_FILE = "Or mend the path of the file."
TOKENIZER = "smollm2-135m"
AUTO, NO_MODEL = "auto", "none"
ORDER = 5  # of the n-gram model (leakage, §2.1)
MEMORY_MB = 2000  # that its estimate may take
# Kinds of data sets that have texts.
TEXT_KINDS = ("stimuli", "reading_texts")


def chosen_tokenizer(
    given: str | Path | None,
    corpora: Iterable[str | Path],
    config: str | Path | Mapping[str, Any] | None,
    run: Run,
    cache: Path,
) -> tuple[str, Tokenizer]:
    """Return a tokenizer and its name: as given, that of a saved corpus, or SmolLM2's."""
    saved = [load_corpus(Path(corpus)).tokenizer for corpus in corpora if is_saved(corpus)]
    name = str(given or next(filter(None, saved), TOKENIZER))
    return name, named_tokenizer(name, config, run, cache)


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
    """Return a corpus of the catalog, a saved one, or one of files.

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
    if is_saved(name):
        return load_corpus(Path(name))
    if not ("*" in name or Path(name).exists()):
        raise unknown_name("corpus", name, corpus_names(run), OR_A_FILE)
    paths = dataset_paths(name, {"path": name})
    return Corpus(name, [CorpusFile(path.name, corpus_entry(path), [path]) for path in paths])


def catalog_corpus(name: str, run: Run, cache: Path) -> Corpus:
    """Return a corpus of the catalog; its files are fetched if the cache lacks them."""
    return corpus_of(name, run.catalog.dataset(name), fetched_files(name, run, cache))


def corpus_entry(path: Path) -> dict[str, str]:
    """Return what the catalog would say of a corpus file: which parser reads it."""
    if not path.is_file():
        raise LingprobError(f"{path}: no such corpus file. Correct its path.")
    return {"parser": parser_of(path)}


class NgramModels:
    """The n-gram models that chance levels are computed with, each loaded once.

    Args:
        asked: as `ngrams` of `certify`.
        searched: the corpora.
        run, cache: of the catalog's corpora and of what is estimated over them.

    Raises LingprobError if what is asked for is neither a corpus nor a file.
    """

    def __init__(
        self, asked: str | Path, searched: Sequence[Corpus], run: Run, cache: Path
    ) -> None:
        self.asked, self.run, self.cache = str(asked), run, cache
        self.by_name = {corpus.name: corpus for corpus in searched if corpus.is_text}
        self.loaded: dict[str, Any] = {}
        if self.asked in (AUTO, NO_MODEL, *self.by_name) or Path(asked).is_file():
            return
        if self.asked not in corpus_names(run):
            raise unknown_name("n-gram model", self.asked, corpus_names(run), OR_A_FILE)
        self.by_name[self.asked] = catalog_corpus(self.asked, run, cache)

    def source_for(self, corpus: Corpus) -> tuple[str | None, str]:
        """Return the corpus or file whose model judges a corpus, and why there is none."""
        if self.asked == NO_MODEL:
            return None, "no n-gram model was wanted"
        if self.asked != AUTO:
            return self.asked, ""
        if missing := missing_for_kenlm():
            return None, missing
        others = [name for name in self.by_name if name != corpus.name]
        return (others[0], "") if others else (None, "there is no other corpus; name one (ngrams)")

    def load(self, source: str) -> Any:
        """Return the model of a corpus, estimated where the cache has none, or that of a file."""
        if source not in self.loaded:
            self.loaded[source] = self._made(source)
        return self.loaded[source]

    def _made(self, source: str) -> Any:
        if source not in self.by_name:
            return load_kenlm(source)
        programs = self.cache / "resources/tools/kenlm"
        if not all((programs / program).is_file() for program in PROGRAMS):
            obtain_programs(programs)
        corpus = self.by_name[source]
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch, "own.kenlm")
            if is_pinned(source, self.run):
                target = self.cache / f"results/ngrams/{source}.kenlm"
                target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_file():
                estimate_ngrams(programs, corpus.documents(), ORDER, MEMORY_MB, target)
            return load_kenlm(target)


def is_pinned(corpus: str, run: Run) -> bool:
    """Whether what is estimated over a corpus may be kept: one's own files may change."""
    return corpus in corpus_names(run) and "path" not in run.catalog.dataset(corpus)


def dataset_texts(name: str, run: Run, cache: Path) -> pd.Series:
    """Return the sentences of a data set of stimuli, or the passages of a text, by their ids.

    Raises LingprobError for a data set of another kind, and as `fetched_files`.
    """
    from lingprob.reading.texts import build_words, passage_texts
    from lingprob.stimuli.build import build_stimuli

    entry = run.catalog.dataset(name)
    if entry["kind"] not in TEXT_KINDS:
        raise LingprobError(
            f"data set {name!r} is of kind {entry['kind']}. Name one of kind "
            f"{' or '.join(TEXT_KINDS)}, or a file of texts."
        )
    files = fetched_files(name, run, cache)
    if entry["kind"] == "reading_texts":
        return passage_texts(build_words(name, entry, files))
    folder = dataset_folder(name, run, cache)
    stimuli, _ = build_stimuli(name, entry, folder, run.settings["seed"])
    return stimuli.set_index("item_id")["text"]


def dataset_folder(name: str, run: Run, cache: Path) -> Path:
    """Return where a data set's files lie in the cache; it may share those of another one."""
    home = run.catalog.dataset(name).get("files_of", name)
    return cache / Path(sources.dataset_manifest(home)).parent


def fetched_files(name: str, run: Run, cache: Path) -> list[Path]:
    """Return a data set's files: one's own where they are, others in the cache.

    They are fetched and checked as the workflow does, and their manifest is beside them. A data set
    of the package has none.

    Raises LingprobError as `fetch_files`, and for rows of the hub, which the workflow streams.
    """
    entry = run.catalog.dataset(name)
    if "path" in entry or not entry.get("files"):
        return dataset_paths(name, entry)
    folder = dataset_folder(name, run, cache)
    paths = [folder / file["name"] for file in entry["files"]]
    if "source" not in entry:
        manifest = fetch_files(
            map(RemoteFile.of, entry["files"]),
            folder,
            dataset=folder.name,
            mirror=run.settings["mirror"],
            instructions=entry.get("instructions"),
        )
        write_csv(manifest, folder / "manifest.tsv")
    elif missing := [path for path in paths if not path.is_file()]:
        raise LingprobError(
            f"{missing[0]}: the rows of {name!r} on the hub are not in the cache. Run `snakemake "
            f"--cores 1 --directory {cache} {sources.dataset_manifest(name)}` first."
        )
    return paths
