"""The longest sequences that texts share with a corpus, in one call."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from lingprob.api.inputs import as_passages, as_texts
from lingprob.api.prepared_models import cache_folder, find_model, prepared_model
from lingprob.errors import LingprobError
from lingprob.io.corpora import parser_of
from lingprob.io.files import dataset_paths
from lingprob.io.progress import Progress
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.passages import longest_matches, overlap_texts, passage_overlaps
from lingprob.overlap.streaming import merge
from lingprob.overlap.texts import index_texts, scan_file
from lingprob.workflow import sources

TEXTS = "texts"


def find_overlap(
    texts: str | Iterable[str],
    corpus: str | Path | Iterable[str | Path],
    *,
    tokenizer: str | Path = "smollm2-135m",
    min_length: int | None = None,
    cache: str | Path | None = None,
) -> pd.DataFrame:
    """Return the longest token sequence that each text shares with a corpus, exactly.

    Args:
        texts: a text, or several.
        corpus: a file, a folder or a pattern such as `books/*.txt`; several as `Path`s; or a list
            of texts. A file is one document; of .jsonl a line (its field `text`), of .parquet a row
            (column `text`).
        tokenizer: the model whose tokenizer says what a token is, as for `load`.
        min_length: shortest sequence that counts, in tokens (`overlap.min_length`).
        cache: as for `load`.

    Returns:
        A row a text and place where one of its longest overlaps ends: text_id (from 1), n_tokens of
        the text, overlap_tokens, last_token (counted from 0 in the text; -1 without overlap),
        occurrences in the corpus and overlap_text.

    Raises LingprobError for a corpus without text, and as `load` for the tokenizer.
    """
    passages = as_passages(texts)
    name, run = find_model(tokenizer)
    manifest = cache_folder(cache) / sources.model_manifest(name)
    opened = open_tokenizer(prepared_model(name, run.catalog.model(name), manifest))
    index, named = index_texts({TEXTS: passages}, opened)
    shortest = min_length or run.settings["overlap"]["min_length"]
    with corpus_files(corpus) as files, Progress(None, "scanning", "tokens") as progress:
        scans = [
            scan_file(index, opened, corpus_entry(file), [file], str(file), shortest, progress)
            for file in files
        ]
    found = passage_overlaps(index, *longest_matches(index, merge(scans)))
    return pd.DataFrame(
        {
            "text_id": named["passage_id"].to_numpy()[found["passage"]].astype(int),
            "n_tokens": found["passage_tokens"],
            "overlap_tokens": found["overlap_tokens"],
            "last_token": found["last_token"],
            "occurrences": found["frequency"],
            "overlap_text": overlap_texts(index, found, opened.decode),
        }
    )


@contextmanager
def corpus_files(corpus: str | Path | Iterable[str | Path]) -> Iterator[list[Path]]:
    """Give the files of a corpus; texts are put in one that is deleted afterwards."""
    parts = [Path(corpus)] if isinstance(corpus, str | Path) else list(corpus)
    paths = [part for part in parts if isinstance(part, Path)]
    if paths and len(paths) == len(parts):
        folders = [dataset_paths("corpus", {"path": str(path)}) for path in paths]
        yield [file for folder in folders for file in folder]
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.jsonl")
        rows = (json.dumps({"text": text}) for text in as_texts(parts, "corpus text"))
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        yield [path]


def corpus_entry(path: Path) -> dict[str, str]:
    """Return what the catalog would say of a corpus file: which parser reads it."""
    if not path.is_file():
        raise LingprobError(f"{path}: no such corpus file. Correct its path.")
    return {"parser": parser_of(path)}
