"""Chunks cut from shards: byte ranges by hand, faults of the server, files that are there."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.io import download
from lingprob.io.progress import Progress
from lingprob.training import preshuffled
from lingprob.training.preshuffled import (
    byte_ranges,
    fetch_chunk,
    leakage_free,
    obtain_chunk,
    passing_chunk,
)
from lingprob.training.rows import TokenRows
from loopback import Fault, FileServer

ROWS, ROW_LENGTH, SHARD_BYTES = 6, 5, 70  # a chunk has 60 bytes; rows cross the shards' ends
TOKENS = np.arange(4 * ROWS * ROW_LENGTH, dtype=np.uint16)


def test_ranges_by_hand():
    """Bytes 60 to 180 of shards of 70: the last 10 of the first, the second, 40 of the third."""
    assert list(byte_ranges(60, 120, 70)) == [(0, 60, 70), (1, 0, 70), (2, 0, 40)]
    assert list(byte_ranges(70, 5, 70)) == [(1, 0, 5)]
    assert list(byte_ranges(60, 11, 70)) == [(0, 60, 70), (1, 0, 1)]


def test_pythia_s_chunks_in_the_hub_s_shards():
    """Chunk 7 is bytes 29,374,464,000 to 33,570,816,000: in shards of 30 GB, the first two."""
    size = preshuffled.ROWS_PER_CHUNK * 2049 * 2
    assert size == 4_196_352_000  # 1,000 batches of 1,024 rows
    assert list(byte_ranges(7 * size, size, 30_000_000_000)) == [
        (0, 29_374_464_000, 30_000_000_000),
        (1, 0, 3_570_816_000),
    ]


@pytest.fixture
def server():
    data = TOKENS.tobytes()
    shards = {f"{n}.bin": data[n * SHARD_BYTES : (n + 1) * SHARD_BYTES] for n in range(4)}
    with FileServer(shards) as running:
        yield running


def fetch(server: FileServer, number: int, folder) -> np.ndarray:
    path = folder / f"chunk-{number}.npy"
    fetch_chunk(
        number, path, f"{server.url}/{{shard}}.bin", SHARD_BYTES, rows=ROWS, row_length=ROW_LENGTH
    )
    assert len(TokenRows([path], ROW_LENGTH)) == ROWS
    return np.load(path)


def test_every_chunk_has_its_rows_and_no_other_byte_is_fetched(server, tmp_path):
    for number in range(4):
        expected = TOKENS[number * 30 : (number + 1) * 30].reshape(ROWS, ROW_LENGTH)
        assert (fetch(server, number, tmp_path) == expected).all()
    assert server.ranges("1.bin") == ["bytes=0-49", "bytes=50-69"]
    assert server.ranges("2.bin") == ["bytes=0-39", "bytes=40-69"]
    before = len(server.requests)
    fetch(server, 2, tmp_path)
    assert len(server.requests) == before


def test_a_broken_download_goes_on_where_it_stopped(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "RETRY_SECONDS", (0.0,) * 3)
    monkeypatch.setattr(preshuffled, "CHUNK", 5)
    server.faults["1.bin"] = [Fault(break_after=20), Fault(status=503), Fault(break_after=7)]
    assert (fetch(server, 1, tmp_path) == TOKENS[30:60].reshape(ROWS, ROW_LENGTH)).all()
    assert server.ranges("1.bin")[:4] == [
        "bytes=0-49",
        "bytes=20-49",
        "bytes=20-49",
        "bytes=25-49",
    ]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(server, tmp_path, monkeypatch, status):
    monkeypatch.setattr(download, "RETRY_SECONDS", (0.0,))
    server.faults["0.bin"] = [Fault(status=status)]
    assert (fetch(server, 0, tmp_path / "new" / "folder") == TOKENS[:30].reshape(6, 5)).all()
    assert server.ranges("0.bin") == ["bytes=0-59", "bytes=0-59"]


@pytest.mark.parametrize("rows", [0, 2])
def test_what_has_arrived_is_not_fetched_again(server, tmp_path, monkeypatch, rows):
    """Two rows, or half a header; the bytes go on from there, as their count does."""
    counted: list[int] = []

    class Noted(Progress):
        def resume_at(self, done: int) -> None:
            counted.append(done)

    monkeypatch.setattr(preshuffled, "Progress", Noted)
    header = preshuffled.npy_header(ROWS, ROW_LENGTH)
    there = TOKENS[: 5 * rows].tobytes()
    (tmp_path / "chunk-0.npy.part").write_bytes(header + there if rows else header[:50])
    assert (fetch(server, 0, tmp_path) == TOKENS[:30].reshape(ROWS, ROW_LENGTH)).all()
    assert counted == [10 * rows]
    assert server.ranges("0.bin") == [f"bytes={10 * rows}-59"]


def test_a_shard_that_cannot_be_had_is_one_clear_message(server, tmp_path):
    server.always["2.bin"] = Fault(status=404)
    with pytest.raises(LingprobError, match=r"chunk-2\.npy could not be fetched.*HTTP 404"):
        fetch(server, 2, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["chunk-2.npy.part"]
    server.always.clear()
    assert (fetch(server, 2, tmp_path) == TOKENS[60:90].reshape(ROWS, ROW_LENGTH)).all()


def test_a_server_without_ranges_is_refused(server, tmp_path):
    server.always["0.bin"] = Fault(ignore_range=True)
    with pytest.raises(LingprobError, match="HTTP 200 to a request for bytes"):
        fetch(server, 0, tmp_path)


CHUNK_1 = {
    "file": {"name": "chunk-001.npy"},
    "shards": {"path": "{shard}.bin", "bytes": SHARD_BYTES},
}


@pytest.fixture
def hub(server, monkeypatch):
    """The server of shards as the hub, and chunks of six rows."""
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.delenv("LINGPROB_MIRROR", raising=False)
    small = partial(fetch_chunk, rows=ROWS, row_length=ROW_LENGTH)
    monkeypatch.setattr(preshuffled, "fetch_chunk", small)
    return server


def test_a_chunk_that_passes_is_gone_when_it_has_been_read(hub, tmp_path):
    with passing_chunk("pile", CHUNK_1, tmp_path / "kept", tmp_path / "passing") as path:
        assert (np.load(path) == TOKENS[30:60].reshape(ROWS, ROW_LENGTH)).all()
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_a_chunk_whose_scan_failed_is_not_fetched_twice(hub, tmp_path):
    where = ("pile", CHUNK_1, tmp_path / "kept", tmp_path / "passing")
    with pytest.raises(ZeroDivisionError), passing_chunk(*where):
        raise ZeroDivisionError
    asked = len(hub.requests)
    with passing_chunk(*where) as path:
        assert np.load(path)[0, 0] == 30
    assert len(hub.requests) == asked
    assert not path.exists()


def test_a_chunk_of_the_user_s_is_read_where_it_lies_and_stays(hub, tmp_path):
    obtain_chunk("pile", CHUNK_1, tmp_path / "kept")
    asked = len(hub.requests)
    with passing_chunk("pile", CHUNK_1, tmp_path / "kept", tmp_path / "passing") as path:
        assert path == tmp_path / "kept/chunk-001.npy"
    assert path.is_file()
    assert len(hub.requests) == asked


def test_a_chunk_of_the_mirror_is_not_asked_of_the_hub(hub, tmp_path, monkeypatch):
    (tmp_path / "mirror/pile").mkdir(parents=True)
    np.save(tmp_path / "mirror/pile/chunk-001.npy", np.ones((ROWS, ROW_LENGTH), np.uint16))
    monkeypatch.setenv("LINGPROB_MIRROR", str(tmp_path / "mirror"))
    with passing_chunk("pile", CHUNK_1, tmp_path / "kept", tmp_path / "passing") as path:
        assert (np.load(path) == 1).all()
    assert hub.requests == []
    assert (tmp_path / "mirror/pile/chunk-001.npy").is_file()


def test_the_chunks_that_are_fetched_again_are_the_leakage_free_ones_of_their_corpus():
    chunks = [{"file": {"name": f"chunk-00{number}.npy"}, "shards": {}} for number in range(3)]
    names = ["pile/chunk-000.npy", "pile/chunk-001.npy", "pile/chunk-002.npy", "web/chunk-001.npy"]
    free = [True, False, True, True]
    table = pd.DataFrame({"chunk": names, "leakage_free": free})
    assert leakage_free("pile", chunks, table) == [chunks[0], chunks[2]]
    assert leakage_free("web", chunks, table) == [chunks[1]]
