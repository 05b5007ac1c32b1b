"""Archives of others: what they hold, and nothing outside of the folder that it is put in."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from lingprob.errors import LingprobError


def unpack_tar(archive: tarfile.TarFile, folder: str | Path) -> None:
    """Write the files of a tar archive into a folder, with the rights of new files.

    Links and devices are left out. Not `extractall`, whose filter of what an archive may write
    Python has from 3.11.4 on.

    Raises LingprobError for a file whose name leads out of the folder.
    """
    root = Path(folder).resolve()
    for member in filter(tarfile.TarInfo.isfile, archive):
        path = (root / member.name).resolve()
        if not path.is_relative_to(root):
            raise LingprobError(
                f"{archive.name!s}: its file {member.name!r} would lie outside of {folder}. Find "
                "out where the archive comes from: it is not the published one."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        source = archive.extractfile(member)
        assert source is not None  # a regular file
        with source, open(path, "wb") as target:
            shutil.copyfileobj(source, target)
