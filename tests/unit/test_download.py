"""Downloads against a real server on the loopback whose faults are scripted."""

import hashlib
import logging
import os
import random
from pathlib import Path

import pytest

from lingprob.errors import LingprobError
from lingprob.io import download
from lingprob.io.download import fetch_files
from lingprob.workflow.missing import may_be_had
from loopback import Fault, FileServer
from small_disk import on_small_disk

CONTENT = random.Random(1).randbytes(500_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
WRONG = bytes(reversed(CONTENT))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wait no seconds between two tries, and know no mirror but a test's own."""
    monkeypatch.setattr(download, "RETRY_SECONDS", (0.01,) * 4)
    monkeypatch.setattr(os, "environ", {**os.environ, "LINGPROB_MIRROR": "", "HOME": str(tmp_path)})


@pytest.fixture
def server():
    with FileServer({"set/data.bin": CONTENT}) as running:
        yield running


@pytest.fixture
def dead_url():
    """The URL of a server that has just been stopped: connections are refused."""
    with FileServer() as stopped:
        pass
    return f"{stopped.url}/set/data.bin"


def remote(url: str | None = None, **changes) -> dict:
    described = {
        "name": "data.bin", "sha256": SHA256, "bytes": len(CONTENT), "mirror": "set/data.bin",
        "url": url,
    }  # fmt: skip
    return {**described, **changes}


def fetch(file: dict, directory: Path, mirror: Path | str | None = None, **options) -> Path:
    os.environ["LINGPROB_MIRROR"] = str(mirror or "")
    fetch_files([file], directory, dataset="set", **options)
    return directory / file["name"]


def mirror_with(content: bytes, folder: Path) -> Path:
    (folder / "set").mkdir(parents=True)
    (folder / "set" / "data.bin").write_bytes(content)
    return folder


def failure(file: dict, directory: Path, mirror: Path | str | None = None, **options) -> str:
    """Return the message of the error that fetching must raise. No file may be left."""
    with pytest.raises(LingprobError) as raised:
        fetch(file, directory, mirror, **options)
    assert not (directory / file["name"]).exists()
    return str(raised.value)


def test_right_cached_files_are_left_alone(tmp_path, server):
    path = tmp_path / "data.bin"
    path.write_bytes(CONTENT)
    changed = path.stat().st_mtime_ns
    assert fetch(remote(f"{server.url}/set/data.bin"), tmp_path, server.url) == path
    assert path.stat().st_mtime_ns == changed
    assert server.requests == []


def test_a_file_from_another_place_is_replaced(tmp_path, server):
    """It has no checksum. Without a note on its place, somebody put it there."""
    first, second = (mirror_with(one, tmp_path / name) for name, one in (("a", b"1"), ("b", b"2")))
    (second / "set/other.bin").write_bytes(b"3")
    file = {"name": "data.bin", "mirror": "set/data.bin"}
    assert fetch(file, tmp_path / "cache", first).read_bytes() == b"1"
    assert fetch(file, tmp_path / "cache", second).read_bytes() == b"1"
    other = {**file, "mirror": "set/other.bin"}
    assert fetch(other, tmp_path / "cache", second).read_bytes() == b"3"
    moved = {**other, "url": f"{server.url}/set/data.bin"}
    assert fetch(moved, tmp_path / "cache").read_bytes() == CONTENT
    assert fetch(other, tmp_path / "cache", second).read_bytes() == b"3"
    (tmp_path / "cache/.data.bin.source").unlink()
    for one in (file, moved):
        assert fetch(one, tmp_path / "cache").read_bytes() == b"3"


@pytest.mark.parametrize(
    ("content", "sha256", "problem"),
    [(WRONG, SHA256, "its sha256 is"), (b"short", None, "it has 5 bytes, the catalog says 500000")],
)
def test_a_wrong_file_in_the_cache_is_replaced(tmp_path, server, caplog, content, sha256, problem):
    (tmp_path / "data.bin").write_bytes(content)
    fetch(remote(f"{server.url}/set/data.bin", sha256=sha256), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert f"wrong content: {problem}" in caplog.text


@pytest.mark.parametrize("mirror_path", ["set/data.bin", None])
def test_the_mirror_comes_before_the_url(tmp_path, server, mirror_path):
    """A mirror is a folder or a base URL."""
    file = remote(f"{server.url}/set/data.bin", mirror=mirror_path, sha256=SHA256.upper())
    first = mirror_with(CONTENT, tmp_path / "first")
    path = fetch(file, tmp_path / "cache", first)
    os.environ["LINGPROB_MIRROR"] = str(mirror_with(WRONG, tmp_path / "second"))
    fetch_files([file], tmp_path / "other", mirror="~/first", dataset="set")
    assert path.read_bytes() == CONTENT
    with FileServer({"base/set/data #1.bin": CONTENT}) as base:
        file = remote(f"{server.url}/set/data.bin", mirror="set/data #1.bin")
        assert fetch(file, tmp_path / "third", f"{base.url}/base/").read_bytes() == CONTENT
    assert server.requests == []


def test_availability_is_asked_without_fetching(tmp_path, server, dead_url, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = {"name": "a/data.bin", "mirror": "set/data.bin"}
    assert not may_be_had("data", file)
    assert may_be_had("data", {**file, "url": dead_url})  # its download says whether it answers
    dead_mirror = dead_url.removesuffix("/set/data.bin")
    for mirror, there in ((server.url, True), (f"{server.url}/none", False), (dead_mirror, False)):
        monkeypatch.setenv("LINGPROB_MIRROR", mirror)
        assert may_be_had("data", file) == there
    monkeypatch.setenv("LINGPROB_MIRROR", str(mirror_with(WRONG, tmp_path / "mirror")))
    assert may_be_had("data", file)  # there, if wrong
    assert may_be_had("set", {"name": "data.bin"})
    assert not may_be_had("set", {"name": "other"})
    assert not (tmp_path / "resources").exists()
    (tmp_path / "resources/datasets/set").mkdir(parents=True)
    (tmp_path / "resources/datasets/set/other").touch()
    assert may_be_had("set", {"name": "other"})


def test_the_manifest_tells_where_each_file_came_from(tmp_path, server, caplog):
    mirror = mirror_with(CONTENT, tmp_path / "mirror")
    (tmp_path / "in_cache.bin").write_bytes(CONTENT)
    url = f"{server.url}/set/data.bin"
    files = [
        remote(name="in_cache.bin"),
        remote(name="folder/from_mirror.bin"),
        remote(url, name="from_url.bin", mirror="set/absent.bin", sha256=None),
    ]
    os.environ["LINGPROB_MIRROR"] = str(mirror)
    manifest = fetch_files(files, tmp_path, dataset="set")
    expected = [
        ("in_cache.bin", f"cache: {tmp_path}/in_cache.bin"),
        ("folder/from_mirror.bin", f"mirror: {mirror}/set/data.bin"),
        ("from_url.bin", f"url: {url}"),
    ]
    assert manifest[["name", "source"]].to_numpy().tolist() == [[*row] for row in expected]
    assert manifest[["sha256", "bytes"]].to_numpy().tolist() == [[SHA256, len(CONTENT)]] * 3
    assert all((tmp_path / name).read_bytes() == CONTENT for name, _ in expected)
    assert "no checksum for from_url.bin" in caplog.text
    assert SHA256 in caplog.text


BREAK = 200_000 // download.CHUNK * download.CHUNK


@pytest.mark.parametrize(
    ("part", "faults", "changes", "ranges"),
    [
        (b"", [Fault(break_after=200_000)], {}, [None, f"bytes={BREAK}-"]),
        (b"", [Fault(break_after=200_000, no_length=True)], {}, [None, "bytes=200000-"]),
        (b"", [Fault(status=code) for code in (500, 503, 429, 408)], {}, [None] * 5),
        (b"", [Fault(content=WRONG)], {}, [None] * 2),
        # The part of an earlier run is continued, unless it is of another version.
        (CONTENT[:123_456], [], {}, ["bytes=123456-"]),
        (CONTENT, [], {}, []),
        (CONTENT[:1000], [Fault(ignore_range=True)], {}, ["bytes=1000-"]),
        (CONTENT[:1000], [Fault(late_range=10)], {}, ["bytes=1000-", None]),
        (WRONG[:1000], [], {}, ["bytes=1000-", None]),
        (WRONG, [], {}, [None]),
        (WRONG + b"!", [], {}, [None]),
        (WRONG + b"!", [], {"bytes": None}, ["bytes=500001-", None]),
        # Without a checksum, nothing is continued.
        (WRONG[:1000], [], {"sha256": None, "bytes": None}, [None]),
    ],
)
def test_a_download_ends_whole_whatever_came_before(
    tmp_path, server, part, faults, changes, ranges
):
    if part:
        (tmp_path / "data.bin.part").write_bytes(part)
    server.faults["set/data.bin"] = faults
    fetch(remote(f"{server.url}/set/data.bin", **changes), tmp_path)
    found = {path.name: path.read_bytes() for path in tmp_path.glob("[!.]*")}
    assert found == {"data.bin": CONTENT}
    assert server.ranges("set/data.bin") == ranges
    assert all(request.headers["accept-encoding"] == "identity" for request in server.requests)


def test_breaks_are_survived_while_bytes_arrive(tmp_path, server):
    server.faults["set/data.bin"] = [Fault(break_after=download.CHUNK, reset=True)]
    server.always["set/data.bin"] = Fault(break_after=download.CHUNK)
    fetch(remote(f"{server.url}/set/data.bin"), tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert len(server.gets("set/data.bin")) >= len(CONTENT) // download.CHUNK + 1 == 8


TOO_LONG = Fault(extra_length=10, ignore_range=True)


@pytest.mark.parametrize(
    ("fault", "changes", "said", "gets", "kept"),
    [
        (Fault(break_after=200_000, ignore_range=True), {}, "IncompleteRead", 5, ["data.bin.part"]),
        (Fault(content=WRONG), {}, hashlib.sha256(WRONG).hexdigest(), 2, []),
        (TOO_LONG, {"bytes": None}, "10 more expected", 5, ["data.bin.part"]),
        (TOO_LONG, {"bytes": None, "sha256": None}, "10 more expected", 5, ["data.bin.part"]),
        (Fault(), {"bytes": 7}, "the server has 500000 bytes, not 7", 1, []),
    ],
)
def test_failed_downloads_keep_only_their_part(tmp_path, server, fault, changes, said, gets, kept):
    server.always["set/data.bin"] = fault
    assert said in failure(remote(f"{server.url}/set/data.bin", **changes), tmp_path)
    assert len(server.gets("set/data.bin")) == gets
    assert [path.name for path in tmp_path.iterdir()] == kept
    assert all(CONTENT.startswith(path.read_bytes()) for path in tmp_path.iterdir())


def test_not_found_names_places_reasons_and_remedies(tmp_path, server):
    url = f"{server.url}/absent.bin"
    message = failure(remote(url), tmp_path, tmp_path / "mirror", instructions="Ask the authors.")
    assert len(server.requests) == 1
    for part in (
        "set: data.bin could not be fetched",
        f"cache: {tmp_path}/data.bin: no such file",
        f"mirror: {tmp_path}/mirror/set/data.bin: no such file",
        f"url: {url}: HTTP 404 Not Found",
        "Ask the authors.",
        "`mirror:` or LINGPROB_MIRROR",
        f"put the file at {tmp_path}/data.bin by hand (sha256 {SHA256})",
        "--config scale=demo",
    ):
        assert part in message


def test_what_was_not_there_to_try_is_said(tmp_path):
    _, cache, mirror, url, *_ = failure(remote(), tmp_path).splitlines()
    assert cache.startswith("  cache: ")
    assert (mirror, url) == ("  mirror: none is set", "  url: the catalog has no public one")


def test_no_network(tmp_path, dead_url):
    for url in (dead_url, "https://lingprob.invalid/set/data.bin"):
        message = failure(remote(url), tmp_path, url.removesuffix("/set/data.bin"))
        assert message.count(f": {url}: ") == 2
        assert url != dead_url or message.count("Connection refused") == 2


@pytest.mark.parametrize("url", ["no-scheme/x", "http://", "ftp://lingprob.invalid/x"])
def test_a_url_that_is_none(tmp_path, url, caplog):
    assert f"url: {url}: " in failure(remote(url), tmp_path)
    assert "Trying again" not in caplog.text


def test_corrupt_mirrors_are_named_and_passed_over(tmp_path, server, caplog):
    mirror = mirror_with(WRONG, tmp_path / "mirror")
    fetch(remote(f"{server.url}/set/data.bin"), tmp_path, mirror)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT
    assert f"mirror: {mirror}/set/data.bin: wrong content" in caplog.text
    message = failure(remote(), tmp_path / "elsewhere", mirror)
    assert f"mirror: {mirror}/set/data.bin: wrong content" in message
    with FileServer({"set/data.bin": WRONG}) as base:
        path = fetch(remote(f"{server.url}/set/data.bin"), tmp_path / "third", base.url)
        assert len(base.requests) == 2
    assert path.read_bytes() == CONTENT


ESCAPING = ["../data.bin", "a/../../data.bin", "/data.bin", "."]


@pytest.mark.parametrize(
    ("field", "name"),
    [("name", name) for name in [*ESCAPING, ""]] + [("mirror", name) for name in ESCAPING],
)
def test_no_name_leads_out_of_the_directory(tmp_path, server, field, name):
    file = remote(f"{server.url}/set/data.bin", **{field: name})
    with pytest.raises(LingprobError, match="leads out of the data set's directory"):
        fetch(file, tmp_path / "cache", tmp_path / "mirror")
    assert server.requests == []
    assert not (tmp_path / "data.bin").exists()


def test_the_first_failed_file_stops_the_rest(tmp_path, caplog):
    mirror = mirror_with(CONTENT, tmp_path / "mirror")
    files = [remote(), remote(name="b.bin", mirror="set/b.bin"), remote(name="c.bin")]
    caplog.set_level(logging.INFO)
    os.environ["LINGPROB_MIRROR"] = str(mirror)
    with pytest.raises(LingprobError, match=r"set: b\.bin could not be fetched"):
        fetch_files(files, tmp_path / "cache", dataset="set")
    assert (tmp_path / "cache" / "data.bin").exists()
    assert "files of set: 1/3 files" in caplog.text


PREAMBLE = """
import os, sys
from pathlib import Path
disk = Path(sys.argv[1])
os.environ["LINGPROB_MIRROR"] = ""
sys.path.insert(0, sys.argv[2])
from lingprob.io.download import fetch_files
from lingprob.errors import LingprobError

def fetch(file, mirror=""):
    os.environ["LINGPROB_MIRROR"] = mirror
    try:
        fetch_files([file], disk / "set", dataset="set")
        return (disk / "set" / file["name"]).read_bytes()
    except LingprobError as error:
        print(error, [path.name for path in disk.rglob("*")])

"""


def test_full_disks_keep_the_part(tmp_path, server):
    file = remote(f"{server.url}/set/data.bin")
    script = f"""
(disk / "ballast").write_bytes(bytes(200_000))
assert fetch({file}) is None
(disk / "ballast").unlink()
print(len(fetch({file})), [path.name for path in disk.rglob("*.bin*")])
"""
    first, second = on_small_disk(tmp_path, "size=600k", PREAMBLE + script).splitlines()
    assert f"{tmp_path}/disk/set/data.bin could not be written: no space left on the disk" in first
    assert "data.bin.part) is kept." in first
    assert "'data.bin'" not in first
    assert second == "500000 ['data.bin']"
    ranges = server.ranges("set/data.bin")
    assert ranges[0] is None
    assert ranges[1] is not None


def test_full_disks_leave_no_half_copy(tmp_path):
    mirror = mirror_with(CONTENT, tmp_path / "mirror")
    printed = on_small_disk(tmp_path, "size=300k", PREAMBLE + f"fetch({remote()}, {str(mirror)!r})")
    assert "no space left" in printed.lower()
    assert printed.endswith("['set']\n")


def test_a_read_only_directory(tmp_path, server):
    file = remote(f"{server.url}/set/data.bin")
    printed = on_small_disk(tmp_path, "size=1m,ro", PREAMBLE + f"fetch({file})")
    assert "data.bin could not be written: the disk is read-only. Make it writable" in printed


def test_a_directory_whose_name_a_file_has(tmp_path, server):
    (tmp_path / "file").touch()
    message = failure(remote(f"{server.url}/set/data.bin"), tmp_path / "file" / "cache")
    assert "could not be written: Not a directory" in message
