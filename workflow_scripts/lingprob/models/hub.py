"""Models from the Hugging Face Hub: the files of a pinned revision that are needed to load it."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import requests
from huggingface_hub import DatasetInfo, ModelInfo, get_token, hf_hub_url

from lingprob.errors import LingprobError
from lingprob.io.download import Unavailable, disk_error, receive
from lingprob.io.files import atomic_path, sha256_of
from lingprob.io.hub import HubRepository, hub_endpoint
from lingprob.models.safe_files import convert_pickles

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
# In order of preference: safetensors holds numbers alone, the other is a pickle.
WEIGHTS = (("model", "safetensors"), ("pytorch_model", "bin"))
ANY_WEIGHTS = re.compile(r"(model|pytorch_model)(-\d+-of-\d+)?\.(safetensors|bin)(\.index\.json)?")
RECORD = ".snapshot.json"

logger = logging.getLogger(__name__)
# Name -> (bytes, checksum); a checksum is `sha256:HEX`, `git:HEX` (a blob's id) or unknown.
Listing = dict[str, tuple[int | None, str | None]]


class BearerToken(requests.auth.AuthBase):
    """Sends an access token; as `auth` it is dropped when a server redirects to another host."""

    def __init__(self, token: str) -> None:
        self.token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header to a request."""
        request.headers["Authorization"] = f"Bearer {self.token}"
        return request


def fetch_snapshot(repository: str, revision: str, directory: Path) -> None:
    """Put the files of a model repository at a revision that loading it needs into `directory`.

    These are configuration, tokenizer and weights: safetensors where the repository has them,
    else PyTorch's own format (the log says so), whose tensors are written as safetensors. The
    environment variables HF_ENDPOINT and HF_TOKEN count as they are at the time of the call. Every
    file is checked against the hub's checksum; a download that breaks goes on where it stopped,
    also in a later run. Once complete, the directory is recognised without a network.

    Raises LingprobError if the repository or revision does not exist, needs a licence or token,
    has no such weights, or if the hub cannot be reached or the directory not be written.
    """
    directory = Path(directory)
    if _is_complete(directory, repository, revision):
        logger.info("%s at %s is in %s already", repository, revision, directory)
        return
    source = HubRepository("model", repository, revision, endpoint := hub_endpoint())
    info = source.ask()
    commit = info.sha or revision
    listing = _listing(info, repository)
    logger.info("%s at %s from %s: %s", repository, commit, endpoint, ", ".join(listing))
    auth = BearerToken(token) if (token := get_token()) else None
    for name, (size, checksum) in listing.items():
        _fetch(
            hf_hub_url(repository, name, revision=commit, endpoint=endpoint),
            directory / name, size, checksum, auth, source,
        )  # fmt: skip
    _delete_other_weights(directory, listing)
    if pickles := [name for name in listing if name.startswith("pytorch_model")]:
        made = convert_pickles(directory, pickles)
        listing = {name: entry for name, entry in listing.items() if name not in pickles}
        for path in (directory / name for name in made):
            listing[path.name] = path.stat().st_size, f"sha256:{sha256_of(path)}"
    record = {"repository": repository, "revision": revision, "commit": commit, "files": listing}
    with atomic_path(directory / RECORD) as temporary:
        temporary.write_text(json.dumps(record, indent=1))


def choose_files(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the description (configuration, tokenizer) and weights files of a repository.

    Only files at its top count: folders hold duplicates (`original/`, `onnx/`). The weights are
    one file or an index and its parts, safetensors if there are any; empty if there are none.
    """
    top = sorted(name for name in names if "/" not in name)
    description = [name for name in top if any(fnmatch(name, like) for like in DESCRIPTION)]
    for stem, suffix in WEIGHTS:
        single, index = f"{stem}.{suffix}", f"{stem}.{suffix}.index.json"
        if single in top:
            return description, [single]
        if index in top:
            part = re.compile(rf"{stem}-\d+-of-\d+\.{suffix}")
            return description, [index, *filter(part.fullmatch, top)]
    return description, []


def _listing(info: ModelInfo | DatasetInfo, repository: str) -> Listing:
    siblings = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    description, weights = choose_files(siblings)
    if not weights:
        raise LingprobError(
            f"model repository {repository!r} has no weights as safetensors or pytorch_model.bin; "
            f"it has {', '.join(sorted(siblings)) or 'no files'}."
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
    url: str,
    target: Path,
    size: int | None,
    checksum: str | None,
    auth: BearerToken | None,
    source: HubRepository,
) -> None:
    verify = partial(_mismatch, size, checksum)
    try:
        if target.is_file() and verify(target) is None and checksum is not None:
            return
        receive(url, target, verify, size=size, resumable=checksum is not None, auth=auth)
    except Unavailable as error:
        if error.status in (401, 403):
            raise source.gated() from error
        raise source.unreachable(f"{target.name}: {error}") from error
    except OSError as error:
        raise disk_error(error, target) from error


def _mismatch(size: int | None, checksum: str | None, path: Path) -> str | None:
    """Return what is wrong with a file, or None; `checksum` as in a Listing."""
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
    try:
        record = json.loads((directory / RECORD).read_text())
    except (OSError, ValueError):
        return False
    return (record["repository"], record["revision"]) == (repository, revision) and all(
        (directory / name).is_file() and _mismatch(size, checksum, directory / name) is None
        for name, (size, checksum) in record["files"].items()
    )


def _delete_other_weights(directory: Path, listing: Listing) -> None:
    """Delete weights of another revision, which a loader might prefer to the new ones."""
    for path in directory.iterdir():
        if ANY_WEIGHTS.fullmatch(path.name) and path.name not in listing:
            logger.warning("%s belongs to another revision; deleted", path)
            path.unlink()
