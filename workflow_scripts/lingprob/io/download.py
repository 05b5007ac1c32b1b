"""Files from the cache, a mirror or their public URL, with checksums and resumed downloads."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import requests

import lingprob
from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path, disk_problem, sha256_of, write_text
from lingprob.io.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)
TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two chunks
CHUNK = 1 << 16
PASSING = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
MIRROR_VARIABLE = "LINGPROB_MIRROR"

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
# Returns how the file at a path differs from the catalog's description, or None if it does not.
Verify = Callable[[Path], str | None]
File = Mapping[str, Any]
Auth = Callable[[requests.PreparedRequest], requests.PreparedRequest]


class Unavailable(Exception):
    """The error if a place (mirror or URL) gives no file. It has the HTTP status, if any."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class Absent(Unavailable):
    """The error if a place does not have the file, which needs no warning."""


class Transient(Unavailable):
    """The error if another attempt at the same place may succeed."""


def fetch_files(
    files: Sequence[File],
    directory: Path,
    *,
    dataset: str,
    mirror: str | None = None,
    instructions: str | None = None,
) -> pd.DataFrame:
    """Put files into `directory`, and return a manifest with one row per file.

    A file is described as under `files` in the catalog. It is looked for in `directory`, then in
    the mirror (the directory or base URL `mirror`, or LINGPROB_MIRROR in the environment), then at
    its public URL. Only a file with the right checksum is kept. An interrupted download stays as
    NAME.part for a later call. The manifest has the columns name, sha256, bytes and source
    (`cache: PATH`, `mirror: PATH OR URL` or `url: URL`).

    Raises LingprobError with the reason for each place and the remedies, such as the `instructions`
    for data sets of manual or gated access.
    """
    mirror = mirror or os.environ.get(MIRROR_VARIABLE)
    rows: list[tuple[str, str, int, str]] = []
    with Progress(len(files), f"files of {dataset}", "files") as progress:
        for file in files:
            source = _obtain(file, directory, dataset, mirror, instructions)
            path = Path(directory) / file["name"]
            digest = file.get("sha256") or sha256_of(path)
            rows.append((file["name"], digest, path.stat().st_size, source))
            progress.advance()
    import pandas as pd  # the Snakefile imports this module

    return pd.DataFrame(rows, columns=["name", "sha256", "bytes", "source"])


def receive(
    url: str,
    target: Path,
    verify: Verify,
    *,
    size: int | None = None,
    resumable: bool = True,
    auth: Auth | None = None,
) -> None:
    """Download `url` to `target`, from the end of TARGET.part if that exists and is `resumable`.

    If `verify` finds a fault in the file, the download is repeated once from the start. Without a
    checksum, which would detect a mixture of two versions, a download is not resumable. `size` is
    in bytes. `auth` is not passed on to another host.

    Raises Unavailable if the server cannot give the file, and OSError if it cannot be written.
    """
    part = _part(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fault = None
    for _ in range(2):
        rest = partial(_receive_rest, url, part, size, resumable, auth)
        patiently(rest, url, partial(_size, part))
        fault = verify(part)
        if fault is None:
            os.replace(part, target)
            return
        part.unlink()
        logger.warning("%s: %s. The partial file was deleted.", url, fault)
    raise Unavailable(f"wrong content, twice: {fault}")


def patiently(
    attempt: Callable[[], Result], what: str, measure: Callable[[], int] = lambda: 0
) -> Result:
    """Return the result of `attempt`, which is repeated after each Transient error.

    Waiting times are RETRY_SECONDS, after which the last error is raised. They begin again whenever
    `measure` (bytes on disk) exceeds its previous maximum. `what` names the attempt in the log.
    """
    best, waits = measure(), iter(RETRY_SECONDS)
    while True:
        try:
            return attempt()
        except Transient as error:
            if (reached := measure()) > best:
                best, waits = reached, iter(RETRY_SECONDS)
            if (wait := next(waits, None)) is None:
                raise
            logger.warning("%s: %s. Trying again.", what, error)
            time.sleep(wait)


def disk_error(error: OSError, target: Path) -> LingprobError:
    """Return the LingprobError for a system error during the writing of `target`."""
    problem = disk_problem(error, target) or (
        f"{error.strerror or error}. Check {target.parent} and its disk, or use --directory."
    )
    part = _part(target)
    kept = f" The part that has arrived ({part}) is kept." if part.exists() else ""
    return LingprobError(f"{target} could not be written: {problem}{kept}")


def _obtain(
    file: File, directory: Path, dataset: str, mirror: str | None, instructions: str | None
) -> str:
    """Put a file into a directory, and return the place that it came from."""
    name, sha256 = file["name"], file.get("sha256")
    in_mirror = file.get("mirror") or f"{dataset}/{name}"
    for place in (name, in_mirror):
        path = PurePosixPath(place)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise LingprobError(
                f"{dataset}: the file name {place!r} leads out of the data set's directory. Give a "
                "path relative to it, without '..', under `files:` of the catalog entry."
            )
    target = Path(directory) / name
    failures = []
    for source, get in _places(file, target, mirror, in_mirror):
        try:
            get()
        except Unavailable as failure:
            failures.append(f"  {source}: {failure}")
            level = logging.INFO if isinstance(failure, Absent) else logging.WARNING
            logger.log(level, "%s, %s: %s: %s", dataset, name, source, failure)
        except OSError as error:
            raise disk_error(error, target) from error
        else:
            if sha256 is None:
                if not source.startswith("cache"):
                    write_text(_origin(file, in_mirror), _note(target))
                logger.warning(
                    "%s: the catalog has no checksum for %s. The sha256 of the file from %s is %s.",
                    dataset, name, source, sha256_of(target),
                )  # fmt: skip
            return source
    checksum = f" (sha256 {sha256})" if sha256 else ""
    lines = [f"{dataset}: {name} could not be fetched. Tried:", *failures]
    if instructions:
        lines += ["How to get this data set:", f"  {instructions.strip()}"]
    lines += [
        "Ways out:",
        f"  set `mirror:` or {MIRROR_VARIABLE} to a directory or base URL with {in_mirror};",
        f"  or put the file at {target} by hand{checksum};",
        "  or run with `--config scale=demo`, for which no data are downloaded.",
    ]
    raise LingprobError("\n".join(lines))


def _places(
    file: File, target: Path, mirror: str | None, in_mirror: str
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each place of a file in order, with the function that gets the file from there."""
    verify, size, url = partial(_fault, file), file.get("bytes"), file.get("url")
    resumable = file.get("sha256") is not None
    download = partial(receive, target=target, verify=verify, size=size, resumable=resumable)
    get, note = partial(_check, target, verify), _note(target)
    if not resumable and note.exists() and note.read_text() != _origin(file, in_mirror):
        get = partial(_absent, "it came from another place, and has no sha256")
    yield f"cache: {target}", get
    if not mirror:
        yield "mirror", partial(_absent, "none is set")
    elif mirror.startswith(("http://", "https://")):
        address = f"{mirror.rstrip('/')}/{quote(in_mirror)}"
        yield f"mirror: {address}", partial(download, address)
    else:
        source = Path(mirror).expanduser() / in_mirror
        yield f"mirror: {source}", partial(_copy, source, target, verify)
    if url is None:
        yield "url", partial(_absent, "the catalog has no public one")
    else:
        yield f"url: {url}", partial(download, url)


def _fault(file: File, path: Path) -> str | None:
    """Return the difference between a catalog file and the file at a path, or None."""
    size, sha256 = path.stat().st_size, file.get("sha256")
    if file.get("bytes") not in (None, size):
        return f"it has {size} bytes, the catalog says {file['bytes']}"
    if sha256 is not None and (digest := sha256_of(path)) != sha256.lower():
        return f"its sha256 is {digest}, the catalog says {sha256}"
    return None


def _check(path: Path, verify: Verify) -> None:
    """Raise Unavailable if a file cannot be read or `verify` finds a fault in it."""
    try:
        with open(path, "rb"):
            fault = verify(path)
    except FileNotFoundError as error:
        raise Absent("no such file") from error
    except OSError as error:
        raise Unavailable(error.strerror or str(error)) from error
    if fault is not None:
        raise Unavailable(f"wrong content: {fault}")


def _absent(reason: str) -> None:
    raise Absent(reason)


def _copy(source: Path, target: Path, verify: Verify) -> None:
    _check(source, lambda _: None)  # it can be read, so later errors concern the target
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
        _check(temporary, verify)


def _note(target: Path) -> Path:
    """Return the path of the note on the place that a file without a checksum came from."""
    return target.with_name(f".{target.name}.source")


def _origin(file: File, in_mirror: str) -> str:
    return json.dumps([in_mirror, file.get("url")])


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _receive_rest(
    url: str, part: Path, size: int | None, resumable: bool, auth: Auth | None
) -> None:
    """Append the rest of a file to `part` by one request. Raises Transient if it is cut short."""
    have = _size(part) if resumable else 0
    if have == size:
        return
    if size is not None and have > size:
        have = 0
    # Compressed transfer would make lengths and ranges refer to compressed bytes.
    headers = {"Accept-Encoding": "identity", "User-Agent": f"lingprob/{lingprob.__version__}"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with requests.get(
            url, headers=headers, auth=auth, stream=True, timeout=TIMEOUT
        ) as response:
            start, end = _start(response, part, have), size
            length = response.headers.get("Content-Length")
            if length is not None and "Content-Encoding" not in response.headers:
                end = start + int(length)
            if size is not None and end != size:
                raise Unavailable(f"the server has {end} bytes, not {size}")
            _write(response, part, start, end)
    except requests.exceptions.SSLError as error:
        raise Unavailable(_innermost(error)) from error
    except PASSING as error:
        raise Transient(_innermost(error)) from error
    except requests.RequestException as error:
        raise Unavailable(_innermost(error)) from error


def _write(response: requests.Response, part: Path, start: int, end: int | None) -> None:
    with (
        open(part, "ab" if start else "wb") as stream,
        Progress(end, part.stem, "B") as progress,
    ):
        progress.resume_at(start)
        for chunk in response.iter_content(CHUNK):
            stream.write(chunk)
            progress.advance(len(chunk))
    if end is not None and _size(part) != end:
        raise Transient(f"{_size(part)} of {end} bytes arrived")


def _start(response: requests.Response, part: Path, have: int) -> int:
    """Return the byte of the file at which a response begins, or raise Unavailable."""
    status, codes = response.status_code, requests.codes
    reason = f"HTTP {status} {response.reason}"
    if status == codes.ok:
        return 0
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    if status == codes.partial_content and begins:
        return have
    if status in (codes.partial_content, codes.requested_range_not_satisfiable):
        part.unlink(missing_ok=True)
        raise Transient(f"{reason}: the partial file does not fit and was deleted")
    if status >= 500 or status in (codes.request_timeout, codes.too_many_requests):
        raise Transient(reason, status)
    raise Unavailable(reason, status)


def _innermost(error: BaseException) -> str:
    """Return the type and text of the first cause in a chain of wrapped network errors."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return f"{type(error).__name__}: {error}"
