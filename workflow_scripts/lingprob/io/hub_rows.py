"""Rows of a data set on the hub, streamed by the `datasets` library into one Parquet file.

They are kept in parts, each with the place in the stream after it, so that a killed job goes on
where it stopped.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from huggingface_hub.errors import HfHubHTTPError

from lingprob.errors import LingprobError, nearest
from lingprob.io.download import RemoteFile, fetch_files
from lingprob.io.files import atomic_path, identity_of, sha256_of
from lingprob.io.hub import HubRepository, hub_endpoint
from lingprob.io.progress import Progress
from lingprob.io.shards import delete_shards, read_shard, write_shard

ROWS_PER_PART = 10_000
# A part's key of metadata for the place in the stream after it.
STATE = b"lingprob.state"
# Columns of a table of stimuli that are read where the data set has them (stimuli/own_table.py).
OPTIONAL = ("rating", "item", "pair", "phenomenon", "paradigm", "grammatical")

logger = logging.getLogger(__name__)
OpenStream = Callable[[], Any]


@dataclass(frozen=True)
class HubRows:
    """Which rows of which data set: the first `rows` of a split, all where that is None.

    `named` says under which option of config.yaml each column is asked for, `optional` names
    columns that are taken where they are, `texts` are the columns that must hold text. `renamed`
    has what a column is called in our file where that is something else.
    """

    dataset: str
    repository: str
    revision: str
    split: str
    configuration: str | None
    rows: int | None
    named: dict[str, str]
    optional: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_entry(cls, dataset: str, entry: dict[str, Any]) -> HubRows:
        """Return what a data set's entry asks for: of a corpus its text, of stimuli a table."""
        stimuli = entry["kind"] == "stimuli"
        named = {
            name: f"datasets.{dataset}.columns.{key}"
            for key, name in entry.get("columns", {}).items()
        }
        column = entry.get("column", "sentence" if stimuli else "text")
        if "column" in entry or "sentence" not in entry.get("columns", {}):
            named = {column: f"datasets.{dataset}.column", **named}
        else:
            column = entry["columns"]["sentence"]
        return cls(
            dataset, entry["repository"], entry["revision"], entry["split"],
            entry.get("configuration"), entry.get("rows"), named,
            OPTIONAL if stimuli else (), (column,), {} if stimuli else {column: "text"},
        )  # fmt: skip

    @property
    def title(self) -> str:
        """What messages call it."""
        part = f", {self.configuration}" if self.configuration else ""
        return f"data set {self.dataset!r} (split {self.split} of {self.repository}{part})"


def fetch_dataset(dataset: str, entry: dict[str, Any], folder: Path, *, code: str) -> pd.DataFrame:
    """Put a data set's files into `folder`; return their manifest, as `fetch_files` gives it.

    Rows of a data set on the hub become the one file that its entry names. `code` and errors are as
    in `fetch_rows`, or those of `fetch_files`.
    """
    files = entry["files"]
    if entry.get("source") != "hub":
        remote = map(RemoteFile.of, files)
        instructions = entry.get("instructions")
        return fetch_files(remote, folder, dataset=dataset, instructions=instructions)
    target = folder / files[0]["name"]
    source = fetch_rows(HubRows.of_entry(dataset, entry), target, code=code)
    row = {"name": target.name, "sha256": sha256_of(target), "bytes": target.stat().st_size}
    return pd.DataFrame([row | {"source": source}])


def fetch_rows(wanted: HubRows, target: Path, *, code: str) -> str:
    """Put rows of a data set on the hub into the Parquet file `target`; return their source.

    The revision is resolved to a commit first, and that is read. Parts lie in a folder beside
    `target` until all is there, and a later call with the same `code` (a digest of it) goes on
    from them. No code of the repository is run.

    Raises LingprobError if the repository, revision, configuration, split or a column does not
    exist, if a column of text holds something else, or if the hub cannot be reached.
    """
    source = HubRepository("dataset", wanted.repository, wanted.revision, hub_endpoint())
    commit = str(source.ask().sha)
    pinned = replace(wanted, revision=commit)
    try:
        keep_rows(lambda: open_stream(pinned), pinned, target, code=code)
    except (OSError, httpx2.HTTPError, HfHubHTTPError) as error:
        raise source.unreachable(f"{type(error).__name__}: {error}") from error
    logger.info("%s: rows of commit %s", wanted.title, commit)
    return f"hub: {wanted.repository}@{commit}"


def open_stream(wanted: HubRows) -> Any:
    """Open the stream of a split at a commit, as the `datasets` library builds it."""
    import datasets

    try:
        return datasets.load_dataset(
            f"hf://datasets/{wanted.repository}",  # without which a folder here would do
            wanted.configuration,
            split=wanted.split,
            revision=wanted.revision,
            streaming=True,
        )
    except (ValueError, RuntimeError, FileNotFoundError) as error:
        # An unknown configuration or split, files of no known format, a script.
        raise LingprobError(
            f"{wanted.title}: {' '.join(str(error).split())} Check `configuration` and `split` of "
            f"datasets.{wanted.dataset}."
        ) from error


def keep_rows(stream: OpenStream, wanted: HubRows, target: Path, *, code: str) -> None:
    """Write a stream's first rows to the Parquet file `target`, part by part.

    `stream` opens an IterableDataset; what a former call with the same `code` has kept of these
    rows is not read again. Raises LingprobError for a missing column or too few rows.
    """
    folder = parts_folder(wanted, target, code)
    for other in target.parent.glob("parts-*"):
        if other != folder:
            shutil.rmtree(other)
    parts, rows, reached = kept_parts(folder)
    if rows:
        logger.info("%s: going on after %d rows", wanted.title, rows)
    with Progress(wanted.rows, f"streaming {wanted.dataset}", "rows") as progress:
        progress.resume_at(rows)
        for table, state in following(stream, reached, wanted, rows):
            part = folder / f"{len(parts):06d}.parquet"
            write_shard(part, table.replace_schema_metadata({STATE: json.dumps(state)}))
            parts.append(part)
            rows += len(table)
            progress.advance(len(table))
    if rows < (wanted.rows or 1):
        raise LingprobError(
            f"{wanted.title} has {rows} rows, {wanted.rows or 'some'} are wanted. Set "
            f"datasets.{wanted.dataset}.rows to fewer, or leave it out for all."
        )
    join_parts(parts, wanted.rows, target)
    delete_shards(folder)


def parts_folder(wanted: HubRows, target: Path, code: str) -> Path:
    """Return where the parts of these rows are kept; how many rows are wanted makes no odds."""
    identity = identity_of(replace(wanted, rows=None), ROWS_PER_PART, code)
    return target.parent / f"parts-{identity}"


def kept_parts(folder: Path) -> tuple[list[Path], int, Any]:
    """Return the whole parts from the first on, their rows, and the place in the stream after."""
    parts: list[Path] = []
    rows, state = 0, None
    for path in sorted(folder.glob("[0-9]*.parquet")):
        table = read_shard(path)
        if table is None or path.stem != f"{len(parts):06d}":
            break
        rows, state = rows + len(table), json.loads(table.schema.metadata[STATE])
        parts.append(path)
    return parts, rows, state


def following(
    stream: OpenStream, state: Any, wanted: HubRows, rows: int
) -> Iterator[tuple[pa.Table, Any]]:
    """Yield the next rows of a stream with the place after them, until there are enough."""
    if wanted.rows is not None and rows >= wanted.rows:
        return
    opened = stream().with_format("arrow")
    if state is not None:
        opened.load_state_dict(state)
    for table in opened.iter(ROWS_PER_PART):
        yield chosen_columns(table, wanted), opened.state_dict()
        rows += len(table)
        if wanted.rows is not None and rows >= wanted.rows:
            return


def chosen_columns(table: pa.Table, wanted: HubRows) -> pa.Table:
    """Return the columns that are wanted, with text as strings.

    Raises LingprobError for a missing column, and one of text that holds something else.
    """
    for column, option in wanted.named.items():
        if column not in table.column_names:
            close = nearest(column, table.column_names, 1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise LingprobError(
                f"{wanted.title} has no column {column!r}; it has {table.column_names}. {hint}"
                f"Set {option}."
            )
    names = [name for name in table.column_names if name in (*wanted.named, *wanted.optional)]
    table = table.select(names)
    for column in wanted.texts:
        place, kind = names.index(column), table.schema.field(column).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise LingprobError(
                f"{wanted.title}: column {column!r} is of type {kind}, not text. Set "
                f"{wanted.named[column]} to one of text."
            )
        table = table.set_column(place, column, table.column(column).cast(pa.large_string()))
    return table.rename_columns(wanted.renamed)


def join_parts(parts: list[Path], rows: int | None, target: Path) -> None:
    """Write the first rows of parts to one file, their columns in types that hold all of them."""
    schemas = [pq.read_schema(path).remove_metadata() for path in parts]
    schema = pa.unify_schemas(schemas, promote_options="default")
    left = sum(pq.read_metadata(path).num_rows for path in parts) if rows is None else rows
    with (
        atomic_path(target) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for path in parts:
            table = pq.read_table(path)[:left]
            left -= len(table)
            writer.write_table(table.select(schema.names).cast(schema))
