"""Batches in the order in which Pythia saw them, cut from the shards that the hub has.

The shards joined are rows of 2,049 uint16 without any header (their index, document.idx, only says
so row by row), 1,024 rows a batch; a chunk is 1,000 batches. A row may begin in one shard and end
in the next.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import requests

from lingprob.errors import LingprobError
from lingprob.io.download import (
    CHUNK,
    TIMEOUT,
    RemoteFile,
    Transient,
    Unavailable,
    disk_error,
    fetch_files,
    patiently,
)
from lingprob.io.hub import hub_endpoint
from lingprob.io.progress import Progress
from lingprob.overlap.token_blocks import ROW_LENGTH, count_rows

ROWS_PER_CHUNK = 1_024_000
ITEM_BYTES = 2
PASSING = Path("resources/passing")  # chunks that are scanned and let go of


def obtain_file(corpus: str, entry: Mapping[str, Any], folder: Path) -> pd.DataFrame:
    """Put a file of a corpus into `folder`, from there, the mirror, its URL or the hub's shards.

    Args:
        corpus: its name.
        entry: `file`, the catalog's entry of it; of a chunk, whose name is chunk-NUMBER.npy,
            `shards`, the path of a shard on the hub and a shard's bytes; `instructions`.
        folder: where it is to lie.

    Returns:
        A manifest of one row, as `fetch_files` gives it.

    Raises LingprobError if it can be had nowhere.
    """
    if "shards" in entry:
        return obtain_chunk(corpus, entry, folder)
    instructions = entry.get("instructions")
    file = RemoteFile.of(entry["file"])
    return fetch_files([file], folder, dataset=corpus, instructions=instructions)


def obtain_chunk(corpus: str, chunk: Mapping[str, Any], folder: Path) -> pd.DataFrame:
    """Put a chunk into `folder`, from there, the mirror or the hub's shards, as `obtain_file`."""
    file = RemoteFile.of({"name": chunk["file"]["name"]})
    try:
        return fetch_files([file], folder, dataset=corpus)
    except LingprobError:
        number = int(Path(file.name).stem.removeprefix("chunk-"))
        address = f"{hub_endpoint()}/{chunk['shards']['path']}"
        fetch_chunk(number, folder / file.name, address, chunk["shards"]["bytes"])
        return fetch_files([file], folder, dataset=corpus)


def leakage_free(
    corpus: str, chunks: Sequence[Mapping[str, Any]], table: pd.DataFrame
) -> list[Mapping[str, Any]]:
    """Return those chunks that models are trained or validated on (leakage, §3.1).

    Args:
        corpus: its name.
        chunks: as `obtain_chunk` has each.
        table: an `overlap_chunks` table.
    """
    free = set(table.loc[table["leakage_free"], "chunk"])
    return [chunk for chunk in chunks if f"{corpus}/{chunk['file']['name']}" in free]


@contextmanager
def passing_chunk(
    corpus: str, chunk: Mapping[str, Any], kept: Path, passing: Path = PASSING
) -> Iterator[Path]:
    """Give the path of a chunk that is fetched, and deleted once what is done with it is done.

    One that lies in `kept` (a user's, or fetched to be trained on) is read there and stays. What
    came of one stays until it is needed again if the job is killed or fails.

    Args:
        corpus, chunk: as `obtain_chunk` has them.
        kept: folder of the chunks that stay.
        passing: folder of those that do not.
    """
    name = chunk["file"]["name"]
    if (kept / name).is_file():
        yield kept / name
        return
    obtain_chunk(corpus, chunk, passing / corpus)
    yield passing / corpus / name
    (passing / corpus / name).unlink()


def fetch_chunk(
    number: int,
    target: Path,
    address: str,
    shard_bytes: int,
    *,
    rows: int = ROWS_PER_CHUNK,
    row_length: int = ROW_LENGTH,
) -> None:
    """Write a chunk as a .npy file of uint16 (rows, row_length), fetching no more than its bytes.

    A file that is there and whole is left alone; a download that breaks goes on where it stopped,
    also in a later run.

    Args:
        number: of the chunk, from 0.
        target: the file; what has arrived lies beside it as NAME.part.
        address: of a shard, with {shard} in place of its number.
        shard_bytes: size of every shard but the last.
        rows, row_length: of a chunk.

    Raises LingprobError if a shard cannot be had or the file not be written.
    """
    if target.is_file():
        count_rows(target, row_length=row_length)
        return
    header = npy_header(rows, row_length)
    size = rows * row_length * ITEM_BYTES
    part = target.with_name(target.name + ".part")
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        if not part.exists() or part.stat().st_size < len(header):
            part.write_bytes(header)
        with Progress(size, target.name, "B") as progress:
            progress.resume_at(part.stat().st_size - len(header))
            while (have := part.stat().st_size - len(header)) < size:
                place = number * size + have
                shard, start, stop = next(byte_ranges(place, size - have, shard_bytes))
                url = address.format(shard=shard)
                end = part.stat().st_size + stop - start
                rest = partial(_append_range, url, part, end, stop, progress)
                patiently(rest, url, lambda: part.stat().st_size)
        os.replace(part, target)
    except Unavailable as error:
        raise LingprobError(
            f"{target.name} could not be fetched: {url}: {error}. What has arrived is kept. Check "
            "the network and HF_ENDPOINT, or put the file there by hand: the first "
            f"{rows // 1024} batches from batch {number * rows // 1024} on, as a NumPy array."
        ) from error
    except OSError as error:
        raise disk_error(error, target) from error


def byte_ranges(first: int, count: int, shard_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Yield shard, start and stop (exclusive) in it for `count` bytes from `first` on of all."""
    while count > 0:
        shard, start = divmod(first, shard_bytes)
        length = min(count, shard_bytes - start)
        yield shard, start, start + length
        first, count = first + length, count - length


def npy_header(rows: int, row_length: int) -> bytes:
    """Return the header of a .npy file of uint16 (rows, row_length)."""
    stream = BytesIO()
    described = {"descr": "<u2", "fortran_order": False, "shape": (rows, row_length)}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()


def _append_range(url: str, part: Path, end: int, stop: int, progress: Progress) -> None:
    """Append what `part` lacks of `end` bytes: the bytes before `stop` of the file at `url`."""
    start = stop - (end - part.stat().st_size)
    headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if response.status_code >= 500 or response.status_code == 429:
                raise Transient(f"HTTP {response.status_code}", response.status_code)
            if response.status_code != 206:
                raise Unavailable(
                    f"HTTP {response.status_code} to a request for bytes {start} to {stop}",
                    response.status_code,
                )
            with open(part, "ab") as stream:
                for piece in response.iter_content(CHUNK):
                    stream.write(piece)
                    progress.advance(len(piece))
    except requests.RequestException as error:
        raise Transient(str(error)) from error
    if part.stat().st_size != end:
        raise Transient(f"{part.stat().st_size} bytes of {end} came")
