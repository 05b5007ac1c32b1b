"""One way to get a file: the cache, a mirror, its public URL; checked, resumed, whole or absent."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import requests

import lingprob
from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path, sha256_of
from lingprob.io.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)
LONGEST_WAIT = 120.0
TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two chunks
CHUNK = 1 << 16
MIRROR_VARIABLE = "LINGPROB_MIRROR"

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
# What is wrong with the file at a path, or None if it is what the catalog describes.
Verify = Callable[[Path], str | None]


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set; `name` is its path relative to the data set's directory.

    `mirror_path` is its path in the mirror (DATASET/NAME if None). `sha256` (hexadecimal) and
    `size` (bytes) are None where the catalog cannot know them, `url` where no public one exists.
    """

    name: str
    sha256: str | None
    size: int | None
    mirror_path: str | None
    url: str | None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> RemoteFile:
        """Return the file that an entry under `files` of the catalog describes."""
        return cls(entry["name"], *map(entry.get, ("sha256", "bytes", "mirror", "url")))


class Unavailable(Exception):
    """One place cannot give a file; the text says why, `status` is the HTTP status if one came."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class Absent(Unavailable):
    """Nothing is there at all: no reason to worry, only to look elsewhere."""


class Transient(Unavailable):
    """The same, but a later try may succeed; the server asks for `wait` seconds of patience."""

    def __init__(self, reason: str, status: int | None = None, wait: float = 0.0) -> None:
        super().__init__(reason, status)
        self.wait = min(wait, LONGEST_WAIT)


def fetch_files(
    files: Iterable[RemoteFile],
    directory: Path,
    *,
    dataset: str,
    mirror: str | None = None,
    instructions: str | None = None,
) -> pd.DataFrame:
    """Put files into `directory`, and return a manifest, a row a file.

    A file is looked for in `directory` itself, in the mirror (a directory or base URL: `mirror`,
    else the environment variable LINGPROB_MIRROR), then at its public URL. Nothing comes to lie at
    its path unless its checksum is right; a download that breaks stays beside it as NAME.part.

    A row has `name`, `sha256` (of what is there), `bytes` and `source`: `cache: PATH`,
    `mirror: PATH OR URL` or `url: URL`.

    Raises LingprobError that names the file, each place tried with the reason why it failed, and
    the ways out; `instructions` (data sets with manual or gated access) are part of it.
    """
    files = list(files)
    rows: list[dict[str, str | int]] = []
    with Progress(len(files), f"files of {dataset}", "files") as progress:
        for file in files:
            path, source = _obtain(file, directory, mirror, dataset, instructions)
            rows.append(
                {
                    "name": file.name,
                    "sha256": file.sha256 or sha256_of(path),
                    "bytes": path.stat().st_size,
                    "source": source,
                }
            )
            progress.advance()
    import pandas as pd  # the Snakefile imports this module

    return pd.DataFrame(rows)


def receive(
    url: str,
    target: Path,
    verify: Verify,
    *,
    size: int | None = None,
    resumable: bool = True,
    auth: requests.auth.AuthBase | None = None,
) -> None:
    """Download `url` to `target`, continuing from TARGET.part where that exists.

    The file is moved to `target` once `verify` finds nothing wrong with it; if it does, the part
    is deleted and the download done once more from the start. `size` is in bytes. Without a
    checksum to catch a mixture of two versions a part must not be continued: `resumable=False`.
    `auth` is not passed on to another host that the server redirects to.

    Raises Unavailable if the server cannot give the file, OSError if it cannot be written.
    """
    part = _part(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    problem = None
    for _ in range(2):
        rest = partial(_receive_rest, url, part, size, resumable, auth)
        patiently(rest, url, partial(_size, part))
        problem = verify(part)
        if problem is None:
            os.replace(part, target)
            return
        part.unlink()
        logger.warning("%s: %s; the partial file was deleted", url, problem)
    raise Unavailable(f"wrong content, twice: {problem}")


def patiently(
    attempt: Callable[[], Result], what: str, measure: Callable[[], int] = lambda: 0
) -> Result:
    """Call `attempt` until it raises nothing Transient, waiting longer after each failure.

    `what` names it in the log. Gives up with the last error once RETRY_SECONDS has no more waits;
    they begin afresh whenever `measure` (bytes on disk) has grown beyond its former maximum.
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
            logger.warning("%s: %s; trying again", what, error)
            time.sleep(max(wait, error.wait))


def disk_error(error: OSError, target: Path) -> LingprobError:
    """Word an error met while writing `target`: no space left, or no permission to write."""
    remedy = f"Make {target.parent} a directory that can be written to, or use --directory."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "Free some space, or run with --directory on a larger disk."
        if _size(part := _part(target)):
            remedy += f" What has arrived ({part}, {_size(part)} bytes) is kept and continued."
    return LingprobError(f"{target} could not be written: {error.strerror or error}. {remedy}")


def _obtain(
    file: RemoteFile,
    directory: Path,
    mirror: str | None,
    dataset: str,
    instructions: str | None,
) -> tuple[Path, str]:
    in_mirror = file.mirror_path or f"{dataset}/{file.name}"
    for name in (file.name, in_mirror):
        _check_inside(name, dataset)
    target = Path(directory) / file.name
    mirror = mirror or os.environ.get(MIRROR_VARIABLE) or None
    failures = []
    for source, get in _places(file, target, mirror, in_mirror):
        try:
            get()
        except Unavailable as failure:
            failures.append(f"{source}: {failure}")
            level = logging.INFO if isinstance(failure, Absent) else logging.WARNING
            logger.log(level, "%s, %s, %s", dataset, file.name, failures[-1])
        except OSError as error:
            raise disk_error(error, target) from error
        else:
            if file.sha256 is None:
                logger.warning(
                    "%s: the catalog has no checksum for %s; the sha256 of what came from %s is %s",
                    dataset, file.name, source, sha256_of(target),
                )  # fmt: skip
            return target, source
    raise LingprobError(_nowhere(file, target, dataset, in_mirror, failures, instructions))


def _places(
    file: RemoteFile, target: Path, mirror: str | None, in_mirror: str
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield each place to look in, in order, and the call that gets the file from there."""
    verify = partial(_mismatch, file)
    download = partial(
        receive, target=target, verify=verify, size=file.size, resumable=file.sha256 is not None
    )
    yield f"cache: {target}", partial(_check, target, verify)
    if mirror is None:
        yield "mirror", partial(_absent, "none is set")
    elif mirror.startswith(("http://", "https://")):
        url = f"{mirror.rstrip('/')}/{quote(in_mirror)}"
        yield f"mirror: {url}", partial(download, url)
    else:
        source = Path(mirror).expanduser() / in_mirror
        yield f"mirror: {source}", partial(_copy, source, target, verify)
    if file.url is None:
        yield "url", partial(_absent, "the catalog has no public one")
    else:
        yield f"url: {file.url}", partial(download, file.url)


def _nowhere(
    file: RemoteFile,
    target: Path,
    dataset: str,
    in_mirror: str,
    failures: list[str],
    instructions: str | None,
) -> str:
    checksum = f" (sha256 {file.sha256})" if file.sha256 else ""
    lines = [f"{dataset}: {file.name} could not be had. Tried:"]
    lines += [f"  {failure}" for failure in failures]
    if instructions:
        lines += ["How to get this data set:", f"  {instructions.strip()}"]
    lines += [
        "Ways out:",
        f"  set `mirror:` in config.yaml or {MIRROR_VARIABLE} to a directory or base URL that "
        f"holds {in_mirror};",
        f"  or put the file at {target} by hand{checksum};",
        "  or run with `--config scale=demo`, which needs no downloaded data.",
    ]
    return "\n".join(lines)


def _check_inside(name: str, dataset: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise LingprobError(
            f"{dataset}: the file name {name!r} leads out of the data set's directory. Give a "
            "path relative to it, without '..', under `files:` of the catalog entry."
        )


def _mismatch(file: RemoteFile, path: Path) -> str | None:
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"it has {size} bytes, the catalog says {file.size}"
    if file.sha256 is not None and (digest := sha256_of(path)) != file.sha256.lower():
        return f"its sha256 is {digest}, the catalog says {file.sha256}"
    return None


@contextmanager
def _reading() -> Iterator[None]:
    """Turn errors of a file that is looked for, or read, into reasons to look elsewhere."""
    try:
        yield
    except FileNotFoundError as error:
        raise Absent("no such file") from error
    except OSError as error:
        raise Unavailable(error.strerror or str(error)) from error


def _check(path: Path, verify: Verify) -> None:
    with _reading():
        problem = verify(path)
    if problem is not None:
        raise Unavailable(f"wrong content: {problem}")


def _absent(reason: str) -> None:
    raise Absent(reason)


def _copy(source: Path, target: Path, verify: Verify) -> None:
    with _reading(), open(source, "rb"):
        pass  # it is there and may be read: what fails from here on is the target's fault
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
        _check(temporary, verify)


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _receive_rest(
    url: str,
    part: Path,
    size: int | None,
    resumable: bool,
    auth: requests.auth.AuthBase | None,
) -> None:
    """Make one request for what `part` lacks; raises Transient if less than all of it came."""
    have = _size(part) if resumable else 0
    if size is not None and have == size:
        return
    if size is not None and have > size:
        have = 0
    # Compressed transfer would make lengths and ranges refer to other bytes than the file's.
    headers = {"Accept-Encoding": "identity", "User-Agent": f"lingprob/{lingprob.__version__}"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with requests.get(
            url, headers=headers, auth=auth, stream=True, timeout=TIMEOUT
        ) as response:
            start = _start(response, part, have)
            length = response.headers.get("Content-Length")
            if length is None or "Content-Encoding" in response.headers:
                end = size
            else:
                end = start + int(length)
            if size is not None and end != size:
                raise Unavailable(f"the server has {end} bytes, not {size}")
            _write(response, part, start, end)
    except requests.exceptions.SSLError as error:
        raise Unavailable(_innermost(error)) from error
    except (
        requests.ConnectionError,
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
    ) as error:
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
    """Return at which byte of the file a response begins; raises if it is not a good one."""
    status, codes = response.status_code, requests.codes
    reason = f"HTTP {status} {response.reason}"
    if status == codes.ok:
        return 0
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    if status == codes.partial_content and begins:
        return have
    if status in (codes.partial_content, codes.requested_range_not_satisfiable):
        part.unlink(missing_ok=True)
        raise Transient(f"{reason}; the partial file does not fit and was deleted")
    if status >= 500 or status in (codes.request_timeout, codes.too_many_requests):
        wait = response.headers.get("Retry-After", "")
        raise Transient(reason, status, float(wait) if wait.isdigit() else 0.0)
    raise Unavailable(reason, status)


def _innermost(error: BaseException) -> str:
    """Word the cause at the bottom of a chain of wrapped network errors."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return f"{type(error).__name__}: {error}"
