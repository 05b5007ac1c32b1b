"""Made-up files in place of data sets that are large or that are not public."""

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lingprob.catalog import Catalog, Entry
from lingprob.io.download import fetch_files
from lingprob.io.files import atomic_path, write_text
from lingprob.io.tables import write_csv
from lingprob.overlap.token_blocks import ROW_LENGTH
from lingprob.reading.texts import build_words
from lingprob.rehearsal.models import documents, generator

DOCUMENTS, SENTENCES = 120, 12  # documents of a file of text, and sentences of a document
ROWS = 16  # rows of a chunk of token ids
TOKENS = 50_000  # number of token ids that occur, of GPT-NeoX's 50,277
PASSAGES = {"dundee": 67, "brown_spr": 13}
GROUPS = 120  # number of pairs of rated sentences
READERS = 6
SKIPPED = 0.3  # share of words that are not fixated

# Keys of an entry about fetched rows, and about the content of the real files.
STREAMED = {"source", "repository", "revision", "configuration", "split", "column", "rows"}
COUNTS = {"items", "pairs", "subjects"}
# Parsers of made-up files that have the format of a user's file and not that of their authors.
PARSERS = {"times": "reading_times_table", "ratings": "table", "passages": "passages"}


def dataset_entry(name: str, entry: Entry, writer: str) -> Entry:
    """Return the entry of a data set whose files are made up by `writer` (of WRITERS or `times`).

    Expected counts of the real files are left out, but a corpus keeps its number of words, which
    determines the limit in Figure 1 (leakage, §2.1).
    """
    gone = COUNTS | ({"words"} if entry["kind"] != "corpus" else set()) | STREAMED
    kept = {key: value for key, value in entry.items() if key not in gone}
    files = [{"name": file["name"]} for file in entry["files"]]
    if writer in PARSERS:
        kept["parser"] = PARSERS[writer]
        files = [{"name": f"{name}.{'txt' if writer == 'passages' else 'csv'}"}]
    return kept | {"title": f"{entry['title']} (made up)", "files": files}


def make_datasets(
    place: Path, catalog: Catalog, entries: Mapping[str, Entry], writers: Mapping[str, str]
) -> None:
    """Write the made-up files of data sets to DATASET/FILE in `place`.

    Args:
        place: the folder in which the workflow looks for files first (`resources/datasets`).
        catalog: the catalog, with the texts of the reading times.
        entries: the entries of the data sets, with texts before their reading times.
        writers: the name of the writer of each data set.
    """
    for dataset, entry in entries.items():
        for file in entry["files"]:
            path = place / dataset / file["name"]
            if writers[dataset] == "times":
                texts = entry["texts"]
                text_entry = entries.get(texts, catalog.dataset(texts))
                words = read_words(texts, text_entry, place / texts)
                write_csv(reading_times(dataset, words, entry["method"]), path)
            else:
                WRITERS[writers[dataset]](dataset, path)


def read_words(texts: str, entry: Entry, folder: Path) -> pd.DataFrame:
    """Return the `words` table of texts, whose files are in `folder` or are fetched."""
    fetch_files(entry["files"], folder, dataset=texts)
    return build_words(texts, entry, [folder / file["name"] for file in entry["files"]])


def reading_times(dataset: str, words: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return random reading times in the form of a user's table: one row per reader and word.

    Longer words take longer, readers differ, and eye tracking skips words (rt_ms is missing).
    """
    rng = generator(dataset)
    readers = pd.DataFrame({"subject_id": [f"reader-{n}" for n in range(READERS)]})
    table = readers.merge(words[["passage_id", "word_index", "word"]], how="cross")
    speed = rng.normal(180, 20, READERS).repeat(len(words))
    mean = speed + 12 * table["word"].str.len().to_numpy()
    times = (mean * rng.gamma(9, 1 / 9, len(table))).round()
    skipped = (method == "eye_tracking") & (rng.random(len(table)) < SKIPPED)
    return table.assign(rt_ms=np.where(skipped, np.nan, times))


def lines(dataset: str, path: Path) -> None:
    """Write random texts as JSON lines, compressed if the file's name ends in .gz."""
    texts = documents(f"{dataset}/{path.name}", DOCUMENTS, SENTENCES)
    content = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def parquet(dataset: str, path: Path) -> None:
    """Write random texts as the column `text` of a Parquet file."""
    texts = documents(f"{dataset}/{path.name}", DOCUMENTS, SENTENCES)
    with atomic_path(path) as temporary:
        pq.write_table(pa.table({"text": texts}), temporary)


def token_rows(dataset: str, path: Path) -> None:
    """Write random rows of token ids in the layout of Pythia's training data, with few high ids."""
    rng = generator(f"{dataset}/{path.name}")
    ids = (TOKENS ** rng.random((ROWS, ROW_LENGTH)) - 1).astype(np.uint16)
    with atomic_path(path) as temporary:
        np.save(temporary, ids)


def passages(dataset: str, path: Path) -> None:
    """Write random texts, one per line, as many as the real data set has."""
    write_text("\n".join(documents(dataset, PASSAGES[dataset], SENTENCES)) + "\n", path)


def ratings(dataset: str, path: Path) -> None:
    """Write a table of pairs of Chinese sentences with random ratings, one of them acceptable."""
    rng, rows = generator(dataset), []
    words = ("我你他她它", "看吃买写听", "书饭车信歌")
    for group in range(GROUPS):
        who, does, what = (str(rng.choice([*word])) for word in words)
        sentences = {0: f"{what}{does}{who}了{group}", 1: f"{who}{does}了{what}{group}"}
        for good, sentence in sentences.items():
            rows.append((sentence, group, good, rng.normal(2.5 + 3 * good, 1)))
    columns = ["sentence", "pair", "grammatical", "rating"]
    write_csv(pd.DataFrame(rows, columns=columns), path)


WRITERS: dict[str, Callable[[str, Path], None]] = {
    "lines": lines,
    "parquet": parquet,
    "token_rows": token_rows,
    "passages": passages,
    "ratings": ratings,
}
