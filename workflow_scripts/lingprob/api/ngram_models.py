"""Which n-gram model the chance level of overlaps with a corpus is computed with."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingprob.api.corpora import OR_A_FILE, catalog_corpus, corpus_names
from lingprob.certificate.corpora import Corpus
from lingprob.errors import unknown_name
from lingprob.ngrams.lmplz import estimate_ngrams, obtain_programs
from lingprob.overlap.chance import load_kenlm
from lingprob.overlap.kenlm_programs import PROGRAMS, missing_for_kenlm
from lingprob.workflow.sources import Run

AUTO, NO_MODEL = "auto", "none"
ORDER = 5  # of the n-gram model (leakage, §2.1)
MEMORY_MB = 2000  # that its estimate may take


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
