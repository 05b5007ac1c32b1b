"""KenLM's programs, and whether they are at hand.

Cheap to import: Snakemake asks at every start.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PROGRAMS = ("lmplz", "build_binary")
BOOST = "libboost_program_options"
# What a linker takes; a library that programs alone run with (.so.1.74.0) has no headers beside it.
LINKED = ("*.so", "*.a", "*.dylib")
INSTALL = "pip install kenlm"
if sys.version_info >= (3, 13):
    INSTALL = f"{INSTALL} compiles with Python 3.11 or 3.12 only"


def missing_for_kenlm() -> str | None:
    """Say what the chance level lacks on this machine; None if it has all.

    That is the package kenlm, and KenLM's programs on the PATH or what they are built with.
    """
    if find_spec("kenlm") is None:
        return f"the package kenlm is not installed ({INSTALL})"
    return lmplz_missing()


def lmplz_missing() -> str | None:
    """Say what an estimate by KenLM lacks on this machine; None if it has all.

    That is KenLM's programs on the PATH, or what they are built with.
    """
    if all(shutil.which(program) for program in PROGRAMS):
        return None
    if shutil.which("cmake") is None:
        return "KenLM's lmplz is not on the PATH, and there is no cmake to build it with"
    patterns = [f"{BOOST}{ending}" for ending in LINKED]
    if not any(next(folder.glob(p), None) for folder in _library_folders() for p in patterns):
        return f"KenLM's lmplz is not on the PATH, and there is no Boost ({BOOST}) to build it with"
    return None


def _library_folders() -> Iterator[Path]:
    roots = [Path(root) for root in ("/usr", "/usr/local", "/opt/homebrew")]
    roots += [Path(os.environ[key]) for key in ("BOOST_ROOT", "CONDA_PREFIX") if key in os.environ]
    for root in roots:
        for name in ("lib", "lib64", "stage/lib"):
            yield root / name
            yield from (root / name).glob("*-linux-gnu")
