"""Data sets of the catalog in the cache, laid out as a workflow's: each file is fetched once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.download import RemoteFile, fetch_files
from lingprob.io.files import dataset_paths
from lingprob.io.tables import write_csv
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

# Kinds of data sets that have texts.
TEXT_KINDS = ("stimuli", "reading_texts")


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
