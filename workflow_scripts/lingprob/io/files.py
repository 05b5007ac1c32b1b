"""Paths of data files, digests, and atomic writing: a file is either complete or absent."""

import errno
import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape, glob
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError

# Beginnings of the names of files that describe a folder and are no data.
DESCRIPTIONS = ("README", "LICENSE", "LICENCE", "DATASET_INFO")
ELSEWHERE = "or run with --directory on another one."
DISK_PROBLEMS = {
    errno.ENOSPC: f"no space left on the disk. Free some, {ELSEWHERE}",
    errno.EDQUOT: f"no space left of your share of the disk. Free some, {ELSEWHERE}",
    errno.EFBIG: f"a file may not be so large here. Raise the limit (`ulimit -f`), {ELSEWHERE}",
    errno.EROFS: f"the disk is read-only. Make it writable, {ELSEWHERE}",
    errno.EACCES: f"it may not be written. Change its folder's permissions, {ELSEWHERE}",
}


def disk_problem(error: Exception, path: Path) -> str | None:
    """Return the reason why `path` could not be written, with the remedy, or None if unknown."""
    file = getattr(error, "filename", None)
    if file is not None and not path.is_relative_to(Path(os.fsdecode(file)).parent):
        return None  # the error concerns another file, which was read
    named = re.search(r"os error (\d+)", str(error))  # in the messages of other libraries
    return DISK_PROBLEMS.get(int(named[1]) if named else getattr(error, "errno", 0))


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path for a new file, which becomes `path` if the body raises no error.

    After an error, it is deleted. Temporary files that killed processes left are always deleted.
    Raises LingprobError for a reason in DISK_PROBLEMS.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _delete_abandoned(path)
        with tempfile.NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix, delete=False
        ) as held:
            temporary = Path(held.name)
            try:
                with suppress(OSError):  # some network file systems have no locks
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield temporary
                give_usual_permissions(temporary)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
    except Exception as error:
        if problem := disk_problem(error, path):
            raise LingprobError(f"{path}: {problem} Nothing half-written is left.") from error
        raise


def give_usual_permissions(path: Path) -> None:
    """Set the permissions of a temporary file or folder to those of a new one (by the umask)."""
    mask = os.umask(0o077)
    os.umask(mask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


def _delete_abandoned(path: Path) -> None:
    """Delete those temporary files of a path that no running process has locked."""
    for left in path.parent.glob(f".{escape(path.stem)}-????????{escape(path.suffix)}"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def sha256_of(path: str | Path) -> str:
    """Return the hexadecimal sha256 of a file's content."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def dataset_paths(name: str, entry: dict[str, Any]) -> list[Path]:
    """Return the paths of a data set's files: downloaded files in resources/, or the user's own.

    A user's `path` is a file, a folder (all visible files in it and its subfolders, sorted) or a
    pattern such as `corpus/**/*.jsonl`. In a folder, a README or LICENSE counts only if there are
    no other files. Raises LingprobError without files, or if two have the same name.
    """
    if "path" not in entry:
        return [Path("resources/datasets", name, file["name"]) for file in entry.get("files", [])]
    path = entry["path"]
    descriptions: tuple[str, ...] = ()
    if Path(path).is_dir():
        path, descriptions = str(Path(escape(path)) / "**" / "*"), DESCRIPTIONS
    if "*" not in path:
        return [Path(path)]
    every = [Path(file) for file in sorted(glob(path, recursive=True)) if Path(file).is_file()]
    found = [file for file in every if not file.name.upper().startswith(descriptions)] or every
    if not found or len({file.name for file in found}) < len(found):
        problem = "two files have the same name" if found else "there is no file"
        raise LingprobError(f"datasets.{name}.path: {problem} at {path!r}. Correct the path.")
    return found


def identity_of(*parts: object) -> str:
    """Return a digest (16 hexadecimal digits) of values in their JSON form."""
    text = json.dumps(parts, sort_keys=True, default=vars)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write_text(text: str, path: str | Path) -> None:
    """Write a text file (UTF-8) atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
