"""Pythia's training data in their original order, as chunks that are cut from shards on the hub.

The joined shards consist of rows of 2,049 uint16 without a header. A batch has 1,024 rows, and a
chunk has 1,000 batches. A row may begin in one shard and end in the next.
"""

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
    Transient,
    Unavailable,
    disk_error,
    fetch_files,
    patiently,
)
from lingprob.io.hub import hub_endpoint
from lingprob.io.progress import Progress
from lingprob.overlap.token_blocks import ROW_LENGTH, map_rows

ROWS_PER_CHUNK = 1_024_000
UINT16 = np.dtype("<u2")
PASSING = Path("resources/passing")  # chunks that are scanned and then deleted


def obtain_file(corpus: str, entry: Mapping[str, Any], folder: Path) -> pd.DataFrame:
    """Put a file of a corpus into `folder`, and return its manifest as `fetch_files` does.

    The file comes from the folder, the mirror, its URL or the hub's shards. `entry` has `file` (the
    file's catalog entry) and `instructions` for the user. A chunk, whose name is chunk-NUMBER.npy,
    also has `shards`: the path of a shard on the hub and its number of bytes.
    """
    shards, instructions = entry.get("shards"), entry.get("instructions")
    if not shards:
        return fetch_files([entry["file"]], folder, dataset=corpus, instructions=instructions)
    file = {"name": entry["file"]["name"]}
    try:
        return fetch_files([file], folder, dataset=corpus)
    except LingprobError:
        number = int(Path(file["name"]).stem.removeprefix("chunk-"))
        address = f"{hub_endpoint()}/{shards['path']}"
        fetch_chunk(number, folder / file["name"], address, shards["bytes"])
        return fetch_files([file], folder, dataset=corpus)


def leakage_free(
    corpus: str, chunks: Sequence[Mapping[str, Any]], table: pd.DataFrame
) -> list[Mapping[str, Any]]:
    """Return the chunks (entries for `obtain_file`) that are leakage-free in a table of chunks."""
    free = set(table.loc[table["leakage_free"], "chunk"])
    return [chunk for chunk in chunks if f"{corpus}/{chunk['file']['name']}" in free]


@contextmanager
def passing_chunk(
    corpus: str, chunk: Mapping[str, Any], kept: Path, passing: Path = PASSING
) -> Iterator[Path]:
    """Fetch a chunk to the folder `passing`, yield its path, and delete it if no error is raised.

    A chunk that is already in the folder `kept` (a user's, or fetched for training) stays there.
    """
    name = chunk["file"]["name"]
    if (kept / name).is_file():
        yield kept / name
        return
    obtain_file(corpus, chunk, passing / corpus)
    yield passing / corpus / name
    (passing / corpus / name).unlink()


def fetch_chunk(number: int, target: Path, address: str, shard_bytes: int) -> None:
    """Fetch the bytes of a chunk, and write them to a .npy file of uint16 (rows, row length).

    An interrupted download stays in NAME.part, and a later call continues it. Chunks are numbered
    from 0. `address` is the URL of a shard, with {shard} in place of its number. All shards but the
    last have `shard_bytes`. Raises LingprobError if a shard cannot be fetched.
    """
    if target.is_file():
        map_rows(target, ROW_LENGTH)
        return
    header = npy_header(ROWS_PER_CHUNK, ROW_LENGTH, UINT16)
    size = ROWS_PER_CHUNK * ROW_LENGTH * UINT16.itemsize
    part = target.with_name(target.name + ".part")

    def append_rest(progress: Progress) -> None:
        with open(part, "ab") as stream:
            while (have := stream.tell() - len(header)) < size:
                shard, start = divmod(number * size + have, shard_bytes)
                stop = min(start + size - have, shard_bytes)
                for piece in _pieces(address.format(shard=shard), start, stop):
                    stream.write(piece)
                    progress.advance(len(piece))

    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        if not part.exists() or part.stat().st_size < len(header):
            part.write_bytes(header)
        with Progress(size, target.name, "B") as progress:
            progress.resume_at(part.stat().st_size - len(header))
            patiently(partial(append_rest, progress), target.name, lambda: part.stat().st_size)
        os.replace(part, target)
    except Unavailable as error:
        raise LingprobError(
            f"{target.name} could not be fetched: {error}. The bytes that arrived are kept. Check "
            f"the network and HF_ENDPOINT, or put {ROWS_PER_CHUNK // 1024} batches from batch "
            f"{number * ROWS_PER_CHUNK // 1024} on there yourself, as a NumPy array."
        ) from error
    except OSError as error:
        raise disk_error(error, target) from error


def _pieces(url: str, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes from `start` to `stop` of a file. Raises Transient if some do not come."""
    headers = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
    left = stop - start
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            status = response.status_code
            if status >= 500 or status == 429:
                raise Transient(f"{url}: HTTP {status}", status)
            if status != 206:
                about = f"{url}: HTTP {status} to a request for bytes {start} to {stop}"
                raise Unavailable(about, status)
            for piece in response.iter_content(CHUNK):
                left -= len(piece)
                yield piece
    except requests.RequestException as error:
        raise Transient(f"{url}: {error}") from error
    if left:
        raise Transient(f"{url}: {left} of {stop - start} bytes did not come")


def npy_header(rows: int, row_length: int, dtype: np.dtype) -> bytes:
    """Return the header of a .npy file (rows, row_length). Its size does not depend on `rows`."""
    stream = BytesIO()
    described = {"descr": dtype.str, "fortran_order": False, "shape": (rows, row_length)}
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()
