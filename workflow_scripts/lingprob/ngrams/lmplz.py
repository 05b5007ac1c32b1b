"""Backoff n-gram models by KenLM's own programs: had from the PATH or built, and run."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from lingprob.errors import LingprobError
from lingprob.io.archives import unpack_tar
from lingprob.io.files import atomic_path, sha256_of
from lingprob.overlap.kenlm_programs import PROGRAMS
from lingprob.overlap.token_blocks import normalise

logger = logging.getLogger(__name__)

KENLM = "kenlm==0.3.0"
KENLM_SHA256 = "c4628bb9fb63c8a6f9240035b8b037385cfc404cb72e933cf48878291edac1e8"
NEEDED = (
    "It needs cmake, a C++ compiler and Boost (Debian: apt install cmake g++ "
    "libboost-program-options-dev libboost-system-dev libboost-thread-dev libboost-test-dev "
    "zlib1g-dev). Or put KenLM's lmplz and build_binary on the PATH."
)


def obtain_programs(directory: Path) -> None:
    """Put KenLM's `lmplz` and `build_binary` into a directory: from the PATH, or built.

    The source comes as a Python package through pip, checked, and is built with cmake; nothing
    is installed.

    Raises LingprobError with the last lines of the program that failed.
    """
    found = {program: shutil.which(program) for program in PROGRAMS}
    if all(found.values()):
        directory.mkdir(parents=True, exist_ok=True)
        for program, path in found.items():
            with atomic_path(directory / program) as temporary:
                shutil.copy(str(path), temporary)
            os.chmod(directory / program, 0o755)
        return
    with tempfile.TemporaryDirectory() as scratch:
        _build(Path(scratch), directory)


def estimate_ngrams(
    programs: Path, documents: Iterable[str], order: int, memory_mb: int, target: Path
) -> None:
    """Estimate a modified Kneser-Ney model of white-space words and write it in KenLM's format.

    A document is one long sentence, as overlaps do not heed sentence boundaries.

    Args:
        programs: the directory of `obtain_programs`.
        documents: texts, as `lingprob.io.corpora.iter_documents` streams them.
        order: of the model; 5 in the paper (leakage, §2.1).
        memory_mb: that sorting may take; the rest goes to the disk.
        target: the model file, written atomically.

    Raises LingprobError with the last lines of the program that failed.
    """
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch, atomic_path(target) as written:
        arpa = Path(scratch, "model.arpa")
        lines = (f"{normalise(document)}\n" for document in documents)
        estimate_arpa(programs, lines, order, memory_mb, arpa)
        _run([programs / "build_binary", "-T", scratch, arpa, written])


def estimate_arpa(
    programs: Path,
    lines: Iterable[str],
    order: int,
    memory_mb: int,
    target: Path,
    vocabulary: int = 0,
) -> None:
    """Have KenLM estimate a modified Kneser-Ney model and write it as text (ARPA).

    Args:
        programs: the directory of `obtain_programs`.
        lines: sentences, each with its newline; words stand between blanks.
        order: of the model.
        memory_mb: that sorting may take; the rest goes to the disk.
        target: the file, beside which KenLM writes for a while what it sorts.
        vocabulary: words among which unigrams are smoothed, if more than occur.

    Where a small corpus lacks the counts for a discount, KenLM's fixed ones are taken.
    Raises LingprobError with the last lines of the program that failed.
    """
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        text = Path(scratch, "text")
        with open(text, "w", encoding="utf-8") as stream:
            stream.writelines(lines)
        sort: list[str | Path] = ["-S", f"{memory_mb}M", "-T", scratch]
        _run(
            [programs / "lmplz", "-o", str(order), *sort, "--discount_fallback"]
            + ["--vocab_pad", str(vocabulary), "--skip_symbols", "--text", text, "--arpa", target]
        )


def _build(scratch: Path, directory: Path) -> None:
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary=kenlm",
        "--no-input",
    ]
    _run([*pip, "--disable-pip-version-check", f"--dest={scratch}", KENLM])
    (archive,) = scratch.glob("kenlm-*.tar.gz")
    if (digest := sha256_of(archive)) != KENLM_SHA256:
        raise LingprobError(
            f"{KENLM}: the sha256 of what pip downloaded is {digest}, not {KENLM_SHA256}. Find "
            "out where pip takes packages from (`pip config list`)."
        )
    with tarfile.open(archive) as members:
        unpack_tar(members, scratch)
    (source,) = (path for path in scratch.iterdir() if path.is_dir())
    if shutil.which("cmake") is None:
        raise LingprobError(f"cmake was not found, and KenLM is built with it. {NEEDED}")
    build = scratch / "build"
    _run(["cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release"])
    _run(["cmake", "--build", build, "--parallel", "2", "--target", *PROGRAMS])
    directory.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        shutil.move(build / "bin" / program, directory / program)


def _run(command: Sequence[str | Path]) -> None:
    logger.info("%s", " ".join(map(str, command)))
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, errors="replace"
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise LingprobError(
            f"{Path(command[0]).name} failed. Its last lines:\n"
            + "".join(f"  {line}\n" for line in said[-8:])
            + NEEDED
        )
