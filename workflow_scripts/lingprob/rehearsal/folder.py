"""The folder of a rehearsal, with tiny models, made-up data and a configuration."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from transformers.utils import logging as progress

from lingprob.catalog import Catalog, Entry, parse_yaml, read_yaml
from lingprob.errors import LingprobError
from lingprob.io.download import fetch_files
from lingprob.io.files import atomic_path, write_text
from lingprob.io.tables import write_csv
from lingprob.overlap.token_blocks import ROW_LENGTH
from lingprob.reading.texts import build_words
from lingprob.rehearsal.models import documents, generator, make_model, make_tokenizer
from lingprob.workflow.configuration import merged, read_settings

HERE = Path(__file__).parent
HEAD = (
    "# Written by `lingprob rehearse`. The models are random and most data are made up: nothing\n"
    "# that a run with this configuration computes is a result.\n"
)
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
# Keys of a model's entry about files that are fetched.
FETCHED = {
    "repository", "revision", "gated", "package", "version", "sha256", "member", "member_sha256",
    "folder", "wheels", "note",
}  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run the command `lingprob rehearse`, and print the command that starts the rehearsal."""
    folder = options.folder
    write_rehearsal(folder, options.scale, options.short)
    print(f"snakemake all --directory {folder} --configfile {folder / 'config.yaml'} --cores 2")


def write_rehearsal(folder: Path, scale: str, short: bool = False) -> None:
    """Write the files of a rehearsal of a scale to a folder, with `config.yaml` as the last one.

    The rehearsal has the jobs of the scale, with fewer steps, samples and draws. Texts whose
    reading times are made up come from the mirror or their public addresses.

    Args:
        folder: a folder without a configuration, for Snakemake's option `--directory`.
        scale: demo, laptop or paper.
        short: whether to configure one or two jobs of each rule of scale paper.

    Raises LingprobError for an unknown scale, a folder with a configuration, or a text or tokenizer
    that cannot be fetched.
    """
    if (folder / "config.yaml").exists():
        raise LingprobError(f"{folder}: a config.yaml is there. Name another folder.")
    less = parse_yaml(HERE / "less.yaml")
    settings, _ = read_settings({"scale": scale})
    config: dict[str, Any] = {"scale": scale, **lowered(settings, less["settings"])}
    named = enumerate(settings["training"]["sizes"], 1)
    sizes = {name: {"layers": layers, **less["trained_size"]} for layers, name in named}
    config = merged(config, {"training": {"sizes": sizes}})
    if short:
        config = merged(config, parse_yaml(HERE / "short.yaml"))
    settings, catalog = read_settings(config)
    models, embeddings = read_yaml("models.yaml")["models"], read_yaml("embeddings.yaml")
    config["models"] = write_models(folder, catalog.models, models, less)
    config["embeddings"] = write_models(folder, embeddings, embeddings, less)
    read = settings["reading"]["datasets"]
    entries = {
        name: dataset_entry(name, catalog.dataset(name), less["made_up"][name])
        for name in less["made_up"]
        if catalog.dataset(name)["kind"] != "reading_times" or name in read
    }
    make_datasets(folder / "resources/datasets", catalog, entries, less["made_up"])
    config["datasets"] = entries
    text = yaml.safe_dump(config, sort_keys=False, default_flow_style=None, allow_unicode=True)
    write_text(HEAD + text, folder / "config.yaml")


def lowered(settings: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits, with the value of the settings for each number that is lower there."""
    result: dict[str, Any] = {}
    for key, limit in limits.items():
        value = settings.get(key)
        if isinstance(limit, dict):
            result[key] = lowered(value or {}, limit)
        elif isinstance(value, int) and isinstance(limit, int):
            result[key] = min(value, limit)
        else:
            result[key] = limit
    return result


def write_models(
    folder: Path, complete: dict[str, Entry], shipped: dict[str, Entry], less: dict[str, Any]
) -> dict[str, Entry]:
    """Write a tiny model to `models/NAME` for each one that is fetched, and return new entries.

    `complete` are entries with the defaults of their families, `shipped` those in the catalog's
    files, and `less` is the content of less.yaml.
    """
    progress.disable_progress_bar()
    entries, tokenizers = {}, {}
    for name, entry in complete.items():
        if entry["source"] not in ("hub", "package"):
            continue
        kind = entry.get("kind", "causal") if "family" in entry else "embedding"
        key = str(entry.get("tokenizer", kind))
        if key not in tokenizers:
            files, there = less["tokenizers"].get(key, []), folder / "resources/tokenizers" / key
            fetch_files(files, there, dataset="tokenizers")
            file = there / files[0]["name"] if files else None
            tokenizers[key] = make_tokenizer(kind == "causal", file)
        place = folder / "models" / name
        make_model(name, kind, entry.get("context_window"), tokenizers[key], place)
        entries[name] = model_entry(name, shipped[name])
    return entries


def model_entry(name: str, shipped: Entry) -> Entry:
    """Return the entry of a (sentence-embedding) model for the tiny model in `models/NAME`."""
    entry = {key: value for key, value in shipped.items() if key not in FETCHED}
    entry |= {"title": f"{entry['title']} (random)", "source": "local", "path": f"models/{name}"}
    return entry | ({"kind": entry.get("kind", "causal")} if "family" in entry else {})


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
    """Write the made-up files of data sets to DATASET/FILE in `place`, by the writer of each.

    `entries` has texts before their reading times. `catalog` has other texts that were read.
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


def texts(dataset: str, path: Path) -> None:
    """Write random texts as a Parquet file or as JSON lines, by the suffix of the file's name."""
    table = pd.DataFrame({"text": documents(f"{dataset}/{path.name}", DOCUMENTS, SENTENCES)})
    with atomic_path(path) as temporary:
        if path.suffix == ".parquet":
            table.to_parquet(temporary)
        else:
            compression = "gzip" if path.suffix == ".gz" else None
            table.to_json(temporary, orient="records", lines=True, compression=compression)


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
    "texts": texts,
    "token_rows": token_rows,
    "passages": passages,
    "ratings": ratings,
}
