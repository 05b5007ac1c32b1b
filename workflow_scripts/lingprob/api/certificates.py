"""Are these texts in these corpora? One call from names and files to the table of a certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.api.corpora import found_corpus, named_tokenizer
from lingprob.api.inputs import as_passages
from lingprob.api.ngram_models import AUTO, NgramModels
from lingprob.api.prepared_models import cache_folder, read_config, slug
from lingprob.certificate.chance import verdicts, with_chance_level
from lingprob.certificate.corpora import Corpus
from lingprob.certificate.saved import save_corpus
from lingprob.certificate.table import longest_overlaps
from lingprob.errors import LingprobError
from lingprob.workflow.configuration import read_catalog
from lingprob.workflow.sources import Run

LEVELS = ["ngram_logprob", "chance_level", "chance_level_holm"]
COLUMNS = [
    "text_id", "text", "n_tokens", "corpus", "overlap_tokens", "overlap_text", "last_token",
    "occurrences", "verdict", *LEVELS, "ngrams", "file", "document", "first_token", "before",
    "after",
]  # fmt: skip


def certify(
    texts: str | Iterable[str] | pd.Series,
    corpora: str | Path | Iterable[str | Path],
    *,
    tokenizer: str | Path = "smollm2-135m",
    ngrams: str | Path = AUTO,
    min_length: int | None = None,
    save: str | Path | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    cache: str | Path | None = None,
) -> pd.DataFrame:
    """Return what of each text is in each corpus, where, and whether that is more than chance.

    Args:
        texts: a text, or several, a Series by its ids; what is blank is left out.
        corpora: one or several: a corpus of the catalog by name, a saved one by its folder, or a
            file, a folder or a pattern as for `find_overlap`.
        tokenizer: what a token is: of a model, as for `load`, or of a data set of kind tokenizer,
            such as gpt-neox-20b.
        ngrams: what the chance level of an overlap is computed with: a corpus, over which a 5-gram
            model is estimated, an ARPA or KenLM file, or `none`. `auto`: the first of the other
            corpora; a model of the searched corpus would expect what stands there.
        min_length: shortest overlap that counts, in tokens (`overlap.min_length`).
        save: a folder in which each corpus gets one that may be named among the corpora later, and
            be published: compacted DAWGs of about 25 bytes a token.
        config: a file laid out as config.yaml, or its content, with entries of your own.
        cache: where models and data sets are kept, as for `load`.

    Returns:
        A row a text and corpus:
        text_id (from 1, or a Series' own), text, n_tokens, corpus;
        of the longest overlap overlap_tokens (0 without one), overlap_text, last_token (from 0 in
        the text; -1 without one), occurrences;
        verdict (whole, in part, by chance, absent, not judged); ngram_logprob (nats, joint),
        chance_level, chance_level_holm (corrected for the number of texts; the verdict goes by
        it), ngrams (whose they are; without any, why);
        of the first occurrence file, document (from 1; 0 without one), first_token (from 0 in the
        document; -1 without one), before and after (some words).

    Raises LingprobError for a name that is neither a corpus nor a file, a corpus without text or
    twice, and as `load` for the tokenizer.
    """
    run, folder = Run(*read_catalog(read_config(config))), cache_folder(cache)
    opened = named_tokenizer(tokenizer, config, run, folder)
    given = [corpora] if isinstance(corpora, str | Path) else list(corpora)
    searched = [found_corpus(corpus, opened, run, folder) for corpus in given]
    names = [corpus.name for corpus in searched]
    if len(set(names)) < len(names) or not names:
        raise LingprobError(f"the corpora are {names}. Name at least one, and each one once.")
    if save is not None:
        for corpus in searched:
            save_corpus(corpus, opened, Path(save) / slug(corpus.name))
    models = NgramModels(ngrams, searched, run, folder)
    shortest = min_length or run.settings["overlap"]["min_length"]
    overlaps = longest_overlaps(texts_by_id(texts), searched, opened, shortest)
    by_corpus = dict(iter(overlaps.groupby("corpus")))
    parts = [judged(by_corpus[corpus.name], corpus, models) for corpus in searched]
    table = pd.concat(parts, ignore_index=True)
    return table.assign(verdict=verdicts(table))[COLUMNS]


def texts_by_id(texts: str | Iterable[str] | pd.Series) -> pd.Series:
    """Return texts by their ids, numbers from 1 where they have none; what is blank is left out."""
    passages = as_passages(texts)
    if not isinstance(texts, pd.Series):
        return passages.set_axis(passages.index.astype(int))
    return passages.set_axis(texts.index[passages.index.astype(int) - 1])


def judged(overlaps: pd.DataFrame, corpus: Corpus, models: NgramModels) -> pd.DataFrame:
    """Return the overlaps with a corpus with their chance levels, or why there are none."""
    source, why_not = models.source_for(corpus)
    if source is not None and corpus.n_words is None:
        source, why_not = None, "no count of the words of this corpus of token ids"
    if source is None:
        return overlaps.assign(**dict.fromkeys(LEVELS, np.nan), ngrams=f"none: {why_not}")
    levels = with_chance_level(overlaps, models.load(source), float(corpus.n_words or 0))
    return levels.assign(ngrams=str(source))
