"""Made-up files in the formats that data sets are documented in: the inverse of their parsers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lingprob.catalog import Catalog, Entry
from lingprob.io.download import RemoteFile, fetch_files
from lingprob.io.files import atomic_path, write_text
from lingprob.io.tables import write_csv
from lingprob.overlap.token_blocks import ROW_LENGTH
from lingprob.reading.texts import build_words
from lingprob.rehearsal import reading_times
from lingprob.rehearsal.prose import documents, generator

DOCUMENTS, SENTENCES = 120, 12  # of a file of text, and of a document
ROWS = 16  # of a chunk of token ids
TOKENS = 50_000  # ids that occur, of GPT-NeoX's 50,277
PASSAGES = {"dundee": 67, "brown_spr": 13}
GROUPS, JUDGES = 60, 12  # of HLL


def make_datasets(
    place: Path, catalog: Catalog, entries: Mapping[str, Entry], writers: Mapping[str, str]
) -> None:
    """Write the made-up files of data sets to DATASET/FILE in `place`, texts before their times.

    Args:
        place: the folder in which the workflow looks first (`resources/datasets`).
        catalog: has the texts that reading times are of.
        entries: of the data sets; files with a checksum are fetched.
        writers: the name of each data set's writer.
    """
    for dataset, entry in entries.items():
        folder, writer = place / dataset, writers[dataset]
        made = [file["name"] for file in entry["files"] if "sha256" not in file]
        if writer not in reading_times.WRITERS:
            for name in made:
                WRITERS[writer](dataset, folder / name)
            continue
        others = [file for file in entry["files"] if "sha256" in file]
        fetch_files(map(RemoteFile.of, others), folder, dataset=dataset)
        texts = entry["texts"]
        words = read_words(texts, entries.get(texts, catalog.dataset(texts)), place / texts)
        reading_times.WRITERS[writer](folder, made, words)


def read_words(texts: str, entry: Entry, folder: Path) -> pd.DataFrame:
    """Return the `words` table of a text; its files are made up already or fetched."""
    fetch_files(map(RemoteFile.of, entry["files"]), folder, dataset=texts)
    return build_words(texts, entry, [folder / file["name"] for file in entry["files"]])


def lines(dataset: str, path: Path) -> None:
    """Write JSON lines with a text each, compressed if the file's name says so."""
    texts = documents(f"{dataset}/{path.name}", DOCUMENTS, SENTENCES)
    content = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def parquet(dataset: str, path: Path) -> None:
    """Write a table with a column of texts."""
    texts = documents(f"{dataset}/{path.name}", DOCUMENTS, SENTENCES)
    with atomic_path(path) as temporary:
        pq.write_table(pa.table({"text": texts}), temporary)


def token_rows(dataset: str, path: Path) -> None:
    """Write rows of token ids as Pythia's training data has them: rare ids are rare."""
    rng = generator(f"{dataset}/{path.name}")
    ids = (TOKENS ** rng.random((ROWS, ROW_LENGTH)) - 1).astype(np.uint16)
    with atomic_path(path) as temporary:
        np.save(temporary, ids)


def passages(dataset: str, path: Path) -> None:
    """Write a text a line, as many as the data set has."""
    texts = documents(dataset, PASSAGES[dataset], SENTENCES)
    write_text("\n".join(texts) + "\n", path)


def brown_words(dataset: str, path: Path) -> None:
    """Write a word a row: document, sentence, place in it, word and mean reading time."""
    rng, rows = generator(dataset), []
    for document, text in enumerate(documents(dataset, PASSAGES[dataset], SENTENCES)):
        sentence, place = 0, 0
        for word in text.split():
            place += 1
            rows.append((f"d{document:02d}", sentence, place, word, rng.normal(350, 40)))
            if word[-1] in ".?!":
                sentence, place = sentence + 1, 0
    columns = ["docid", "sentid", "sentpos", "word", "mean_rt"]
    write_csv(pd.DataFrame(rows, columns=columns), path)


def judgments(dataset: str, path: Path) -> None:
    """Write judgments of Chinese sentences: groups of two acceptable ones and one that is not."""
    rng, rows = generator(dataset), []
    subjects, verbs, objects = "我你他她它", "看吃买写听", "书饭车信歌"
    for group in range(GROUPS):
        who, does, what = (str(rng.choice(list(word))) for word in (subjects, verbs, objects))
        sentences = (
            f"{who}{does}了{what}{group}",
            f"{who}把{what}{group}{does}了",
            f"{what}{does}{who}了{group}把",
        )
        for place, sentence in enumerate(sentences):
            for judge in range(JUDGES):
                rating = int(np.clip(round(rng.normal(2.5 if place == 2 else 5.5, 1)), 1, 7))
                rows.append((f"p{judge}", group, sentence, int(place < 2), rating))
    columns = ["participant", "group", "sentence", "grammatical", "rating"]
    write_csv(pd.DataFrame(rows, columns=columns), path)


WRITERS: dict[str, Callable[[str, Path], None]] = {
    "lines": lines,
    "parquet": parquet,
    "token_rows": token_rows,
    "passages": passages,
    "brown_words": brown_words,
    "judgments": judgments,
}
