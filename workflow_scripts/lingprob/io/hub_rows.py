"""Rows of a data set on the hub, streamed by the `datasets` library into one Parquet file."""

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from huggingface_hub.errors import HfHubHTTPError

from lingprob.errors import LingprobError
from lingprob.io.download import fetch_files
from lingprob.io.files import atomic_path, identity_of, sha256_of
from lingprob.io.hub import HubRepository
from lingprob.io.progress import Progress
from lingprob.io.shards import delete_shards, read_shard, write_shard
from lingprob.io.table_files import need_columns

ROWS_PER_PART = 10_000
# The key in a part's metadata for the place in the stream at which the part ends.
STATE = b"lingprob.state"
# Keys of an entry that determine its rows.
OF_ROWS = ("repository", "revision", "configuration", "split", "kind", "column", "columns", "rows")
# Columns of stimuli that are read if the data set has them (stimuli/own_sentences.py).
OPTIONAL = (
    "participant", "rating", "item", "condition", "pair", "phenomenon", "paradigm", "grammatical",
)  # fmt: skip
logger = logging.getLogger(__name__)
Entry = dict[str, Any]


def fetch_dataset(dataset: str, entry: Entry, folder: Path, *, code: str) -> pd.DataFrame:
    """Put a data set's files into `folder`, and return their manifest, as `fetch_files` does.

    Rows of a hub data set become one file, whose manifest also has a column `entry`
    (`identity_of_rows`). Errors are those of `fetch_rows` or `fetch_files`.
    """
    files = entry["files"]
    if entry.get("source") != "hub":
        return fetch_files(files, folder, dataset=dataset, instructions=entry.get("instructions"))
    target = folder / files[0]["name"]
    source = fetch_rows(dataset, entry, target, code=code)
    row = {"name": target.name, "sha256": sha256_of(target), "bytes": target.stat().st_size}
    return pd.DataFrame([row | {"source": source, "entry": identity_of_rows(entry)}])


def identity_of_rows(entry: Entry) -> str:
    """Return a digest of the keys of a data set's entry that determine its rows on the hub."""
    return identity_of({key: entry.get(key) for key in OF_ROWS})


def recorded_rows(path: Path) -> str | None:
    """Return the `identity_of_rows` of a file of rows, which its manifest records, or None."""
    manifest = path.parent / "manifest.tsv"
    if not (path.is_file() and manifest.is_file()):
        return None
    recorded = pd.read_csv(manifest, sep="\t", dtype=str)
    return str(recorded["entry"][0]) if "entry" in recorded.columns else None


def fetch_rows(dataset: str, entry: Entry, target: Path, *, code: str) -> str:
    """Write rows of a data set on the hub to the Parquet file `target`, and return their source.

    The source names the repository and the commit that was read. Parts are kept in the folder of
    `target` until all rows are downloaded. Each records its end in the stream, so that a later call
    with the same `code` (a digest of this project's code) continues from there. No code from the
    repository is run. Raises LingprobError if anything that the entry names does not exist, if the
    column of text has another type, or if the hub cannot be reached.
    """
    repository = entry["repository"]
    source = HubRepository("dataset", repository, entry["revision"])
    pinned = {**entry, "revision": str(source.ask().sha)}
    try:
        keep_rows(lambda: open_stream(dataset, pinned), dataset, pinned, target, code=code)
    except (OSError, httpx2.HTTPError, HfHubHTTPError) as error:
        raise source.unreachable(f"{type(error).__name__}: {error}") from error
    return f"hub: {repository}@{pinned['revision']}"


def open_stream(dataset: str, entry: Entry) -> Any:
    """Return the stream of a split at a commit: an IterableDataset of the `datasets` library."""
    import datasets

    try:
        return datasets.load_dataset(
            f"hf://datasets/{entry['repository']}",  # a name alone could also match a local folder
            entry.get("configuration"),
            split=entry["split"],
            revision=entry["revision"],
            streaming=True,
        )
    except (ValueError, RuntimeError, FileNotFoundError) as error:
        # An unknown configuration or split, files of no known format, a script.
        raise LingprobError(
            f"{_title(dataset, entry)}: {' '.join(str(error).split())} Check `configuration` and "
            f"`split` of datasets.{dataset}."
        ) from error


def keep_rows(
    stream: Callable[[], Any], dataset: str, entry: Entry, target: Path, *, code: str
) -> None:
    """Write the first rows of a stream, or all of them, to the Parquet file `target`.

    `stream` opens an IterableDataset. Raises LingprobError for a missing column or too few rows.
    """
    wanted = entry.get("rows")
    identity = identity_of({**entry, "rows": None}, ROWS_PER_PART, code)
    folder = target.parent / f"parts-{identity}"
    for other in target.parent.glob("parts-*"):
        if other != folder:
            shutil.rmtree(other)
    parts, rows, state = _kept_parts(folder)
    if rows:
        logger.info("%s: going on after %d rows", dataset, rows)
    with Progress(wanted, f"streaming {dataset}", "rows") as progress:
        progress.resume_at(rows)
        batches = _batches(stream, state)
        while (wanted is None or rows < wanted) and (found := next(batches, None)):
            table, after = found
            part = folder / f"{len(parts):06d}.parquet"
            chosen = chosen_columns(table, dataset, entry)
            write_shard(part, chosen.replace_schema_metadata({STATE: json.dumps(after)}))
            parts.append(part)
            rows += len(table)
            progress.advance(len(table))
    if rows < (wanted or 1):
        raise LingprobError(
            f"{_title(dataset, entry)} has {rows} rows, {wanted or 'some'} are wanted. Set "
            f"datasets.{dataset}.rows to fewer, or leave it out for all."
        )
    _join(parts, min(rows, wanted or rows), target)
    delete_shards(folder)


def chosen_columns(table: pa.Table, dataset: str, entry: Entry) -> pa.Table:
    """Return the columns that the entry of a data set needs. A corpus has only the column `text`.

    Raises LingprobError for a missing column, and if the column of text has another type.
    """
    title, stimuli = _title(dataset, entry), entry["kind"] == "stimuli"
    columns, names = entry.get("columns", {}), table.column_names
    text = entry.get("column", columns.get("sentence", "sentence" if stimuli else "text"))
    sides = [columns.get(side, side) for side in ("good", "bad")]
    texts = sides if stimuli and text not in names and {*sides} <= {*names} else [text]
    needed = dict.fromkeys([*columns.values(), *texts])
    remedy = f"Set datasets.{dataset}.column or datasets.{dataset}.columns."
    need_columns(title, table.schema.empty_table().to_pandas(), needed, remedy)
    known = [*needed, *OPTIONAL] if stimuli else [text]
    table = table.select([name for name in names if name in known])
    for name in texts:
        place, kind = table.column_names.index(name), table.column(name).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise LingprobError(f"{title}: column {name!r} is of type {kind}, not text. {remedy}")
        table = table.set_column(place, name, table.column(name).cast(pa.large_string()))
    return table if stimuli else table.rename_columns(["text"])


def _title(dataset: str, entry: Entry) -> str:
    part = f", {entry['configuration']}" if "configuration" in entry else ""
    return f"data set {dataset!r} (split {entry['split']} of {entry['repository']}{part})"


def _kept_parts(folder: Path) -> tuple[list[Path], int, Any]:
    """Return undamaged parts before the first gap, their row count and stream state."""
    parts: list[Path] = []
    rows, state = 0, None
    for path in sorted(folder.glob("[0-9]*.parquet")):
        table = read_shard(path)
        if table is None or path.stem != f"{len(parts):06d}":
            break
        rows, state = rows + len(table), json.loads(table.schema.metadata[STATE])
        parts.append(path)
    return parts, rows, state


def _batches(stream: Callable[[], Any], state: Any) -> Iterator[tuple[pa.Table, Any]]:
    """Yield batches of a stream's rows after `state`, each with its end state."""
    opened = stream().with_format("arrow")
    if state is not None:
        opened.load_state_dict(state)
    for table in opened.iter(ROWS_PER_PART):
        yield table, opened.state_dict()


def _join(parts: list[Path], rows: int, target: Path) -> None:
    """Write the first rows of parts to one file, whose columns have types that fit all parts."""
    schemas = [pq.read_schema(path).remove_metadata() for path in parts]
    schema = pa.unify_schemas(schemas, promote_options="default")
    with (
        atomic_path(target) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        for path in parts:
            table = pq.read_table(path)[:rows]
            rows -= len(table)
            writer.write_table(table.select(schema.names).cast(schema))
