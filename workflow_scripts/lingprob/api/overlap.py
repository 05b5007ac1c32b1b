"""The longest token sequences that texts share with corpora, and whether chance explains them."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.api.corpora import AUTO, NgramModels, choose_tokenizer, find_corpus
from lingprob.api.inputs import as_passages, as_texts
from lingprob.api.prepared_models import cache_folder, read_config, unique_slug
from lingprob.errors import LingprobError
from lingprob.overlap.chance import verdicts, with_chance_level
from lingprob.overlap.corpora import Corpus, index_texts, save_corpus, search
from lingprob.overlap.matches import merge, overlap_texts, passage_overlaps
from lingprob.overlap.search import longest_overlaps
from lingprob.workflow.configuration import read_catalog
from lingprob.workflow.sources import Run

TEXTS = "texts"
LEVELS = ["ngram_logprob", "chance_level", "chance_level_holm"]
COLUMNS = [
    "text_id", "text", "n_tokens", "corpus", "overlap_tokens", "overlap_text", "last_token",
    "occurrences", "verdict", *LEVELS, "ngrams",
]  # fmt: skip


def find_overlap(
    texts: str | Iterable[str],
    corpus: str | Path | Iterable[str | Path],
    *,
    tokenizer: str | Path | None = None,
    min_length: int | None = None,
    cache: str | Path | None = None,
) -> pd.DataFrame:
    """Return the longest token sequence that each text shares exactly with a corpus.

    Args:
        texts: one text or several texts.
        corpus: a list of texts, a file, a folder or a pattern such as `books/*.txt`. Several files
            or folders are given as `Path` objects. A file is one document, except that each line of
            a .jsonl file (field `text`) and each row of a .parquet file (column `text`) is one. A
            saved corpus (the workflow's `results/cdawg/NAME`, or a folder that `certify` saved) is
            searched without reading the texts again.
        tokenizer: a model, as for `load`, whose tokenizer splits the texts, or a data set of kind
            tokenizer. Default: the tokenizer of a saved corpus, else that of smollm2-135m.
        min_length: length of the shortest sequence that counts, in tokens. Default: the setting
            `overlap.min_length`.
        cache: as for `load`.

    Returns:
        One row per text and place at which one of its longest overlaps ends. The columns are
        text_id (from 1), n_tokens (of the text), overlap_tokens, last_token (from 0 in the text,
        or -1), occurrences (in the corpus) and overlap_text.

    Raises LingprobError if the corpus has no text or a saved corpus has another tokenizer, and for
    the tokenizer as `load`.
    """
    passages = as_passages(texts)
    if isinstance(corpus, pd.DataFrame | Mapping):
        as_texts(corpus, "corpus text")  # which raises
    run, folder = Run(*read_catalog({})), cache_folder(cache)
    given = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    _, opened = choose_tokenizer(tokenizer, given, None, run, folder)
    index, named = index_texts({TEXTS: passages}, opened)
    with files_or_texts(corpus, given) as paths:
        parts = [find_corpus(path, opened, run, folder) for path in paths]
        searched = Corpus(TEXTS, [file for part in parts for file in part.files])
        shortest = run.settings["overlap"]["min_length"] if min_length is None else min_length
        matches = merge(search(searched, index, opened, shortest))
    found = passage_overlaps(index, matches)
    found.insert(0, "text_id", named["passage_id"].to_numpy()[found["passage"]].astype(int))
    found["overlap_text"] = overlap_texts(index, found, opened.decode)
    names = {"passage_tokens": "n_tokens", "frequency": "occurrences"}
    return found.drop(columns="passage").rename(columns=names)


@contextmanager
def files_or_texts(corpus: object, given: list[str | Path]) -> Iterator[list[str | Path]]:
    """Yield a corpus as names or paths. Texts go to a file that is deleted at the end."""
    if isinstance(corpus, str) or (given and all(isinstance(part, Path) for part in given)):
        yield given
        return
    names = [part for part in given if isinstance(part, str) and os.path.exists(part)]
    # A single text may be the name of a folder by chance.
    if names and (len(names) == len(given) or any(map(os.path.isfile, names))):
        raise LingprobError(
            f"corpus text {names[0]!r} is also the name of a file or folder. For that, give "
            f"Path({names[0]!r})."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.jsonl")
        rows = (json.dumps({"text": text}) for text in as_texts(given, "corpus text"))
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        yield [path]


def certify(
    texts: str | Iterable[str] | pd.Series,
    corpora: str | Path | Iterable[str | Path],
    *,
    tokenizer: str | Path | None = None,
    ngrams: str | Path = AUTO,
    min_length: int | None = None,
    save: str | Path | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    cache: str | Path | None = None,
) -> pd.DataFrame:
    """Return each text's longest overlap with each corpus, and whether chance explains it.

    Args:
        texts: one text or several texts. A Series keeps its ids. Empty texts are left out.
        corpora: one corpus or several. Each is the name of a corpus of the catalog, the folder of a
            saved corpus, or a file, folder or pattern as for `find_overlap`.
        tokenizer: as for `find_overlap`.
        ngrams: source of the n-gram model that gives the chance level. It is a corpus for a 5-gram
            model, an ARPA or KenLM file, or `none`. `auto` takes the first of the other corpora,
            because a model of the searched corpus would expect the corpus's own text.
        min_length: length of the shortest overlap that counts, in tokens. Default: the setting
            `overlap.min_length`.
        save: a folder in which each corpus is saved as compacted directed acyclic word graphs
            (CDAWGs), with about 25 bytes per token. Later calls can search a saved corpus.
        config: a configuration file like config.yaml, or its content, with your own entries.
        cache: the folder of models and data sets, as for `load`.

    Returns:
        One row per text and corpus, with text_id (from 1, or that of the Series), text, n_tokens
        and corpus. The longest overlap has overlap_tokens (0 without an overlap), overlap_text,
        last_token (from 0 in the text, or -1) and occurrences. Its judgment has verdict (whole, in
        part, by chance, absent, not judged), ngram_logprob (nats, joint), chance_level,
        chance_level_holm (corrected for the number of texts, and the basis of the verdict) and
        ngrams (the source, or why there is none).

    Raises LingprobError for a name that is neither a corpus nor a file, for a corpus that has no
    text or is named twice, for texts of the same id, and for the tokenizer as `load`.
    """
    passages = as_passages(texts)
    numbers = passages.index.astype(int)
    ids = texts.index[numbers - 1] if isinstance(texts, pd.Series) else numbers
    if ids.has_duplicates:
        raise LingprobError(
            f"the texts have the id {ids[ids.duplicated()][0]!r} twice. Give each text its own id "
            "(index of the Series)."
        )
    run, folder = Run(*read_catalog(read_config(config))), cache_folder(cache)
    given = [corpora] if isinstance(corpora, str | Path) else list(corpora)
    name, opened = choose_tokenizer(tokenizer, given, config, run, folder)
    searched = [find_corpus(corpus, opened, run, folder) for corpus in given]
    names = [corpus.name for corpus in searched]
    if len(set(names)) < len(names) or not names:
        raise LingprobError(f"the corpora are {names}. Name at least one, and each one once.")
    if save is not None:
        for corpus in searched:
            save_corpus(corpus, opened, name, Path(save) / unique_slug(corpus.name))
    models = NgramModels(ngrams, searched, run, folder)
    shortest = run.settings["overlap"]["min_length"] if min_length is None else min_length
    overlaps = longest_overlaps(passages.set_axis(ids), searched, opened, shortest)
    by_corpus = dict(iter(overlaps.groupby("corpus")))
    parts = [with_levels(by_corpus[corpus.name], corpus, models) for corpus in searched]
    table = pd.concat(parts, ignore_index=True)
    return table.assign(verdict=verdicts(table))[COLUMNS]


def with_levels(overlaps: pd.DataFrame, corpus: Corpus, models: NgramModels) -> pd.DataFrame:
    """Add the columns LEVELS (chance levels) and `ngrams` to the overlaps with a corpus.

    `ngrams` names the source of the n-gram model, or the reason why there is none.
    """
    source, why_not = models.source_for(corpus)
    n_words = overlaps["corpus_words"].iloc[0]
    if source is not None and pd.isna(n_words):
        source, why_not = None, "no count of the words of this corpus of token ids"
    if source is None:
        return overlaps.assign(**dict.fromkeys(LEVELS, np.nan), ngrams=f"none: {why_not}")
    levels = with_chance_level(overlaps, models.load(source), float(n_words))
    return levels.assign(ngrams=str(source))
