"""Archives are unpacked into their folder, whatever they contain."""

import io
import tarfile
from pathlib import Path

import pytest

from lingprob.errors import LingprobError
from lingprob.io.archives import unpack_tar


def archive(path: Path, files: dict[str, bytes], links: dict[str, str]) -> tarfile.TarFile:
    """Write a tar archive of some files and symbolic links, and open it."""
    with tarfile.open(path, "w:gz") as made:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
        for name, where in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, where
            made.addfile(entry)
    return tarfile.open(path)


def test_files_are_unchanged_and_links_left_out(tmp_path):
    folder = tmp_path / "folder"
    files = {"a.txt": b"one", "deep/er/b.txt": "zwei ü".encode()}
    with archive(tmp_path / "a.tar.gz", files, {"deep/link": "/etc"}) as opened:
        unpack_tar(opened, folder)
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == files
    assert not (folder / "deep/link").exists()


@pytest.mark.parametrize("name", ["../out.txt", "deep/../../out.txt", "/tmp/out-of-the-folder.txt"])
def test_a_file_outside_the_folder_is_named(tmp_path, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    with (
        archive(tmp_path / "a.tar.gz", {name: b"bad"}, {}) as opened,
        pytest.raises(LingprobError, match="out"),
    ):
        unpack_tar(opened, folder)
    assert not (tmp_path / "out.txt").exists()
    assert not Path("/tmp/out-of-the-folder.txt").exists()
