"""Safe unpacking of downloaded archives."""

import shutil
import tarfile
from pathlib import Path

from lingprob.errors import LingprobError


def unpack_tar(archive: tarfile.TarFile, folder: str | Path) -> None:
    """Write the regular files of a tar archive into a folder, with the permissions of new files.

    It replaces Python's `extractall`, which cannot check names before Python 3.11.4.

    Raises LingprobError for a file whose name leads out of the folder.
    """
    root = Path(folder).resolve()
    for member in filter(tarfile.TarInfo.isfile, archive):
        path = (root / member.name).resolve()
        if not path.is_relative_to(root):
            raise LingprobError(
                f"{archive.name!s}: its file {member.name!r} would be outside of {folder}. "
                "The archive is not the published one: check its origin."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        source = archive.extractfile(member)
        assert source is not None  # a regular file
        with source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
