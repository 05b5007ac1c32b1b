"""Estimates by KenLM's programs, and models that the package kenlm loads.

Every start of Snakemake imports this module, so it imports nothing slow.
"""

import logging
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError

PROGRAMS = ("lmplz", "build_binary")
# A word that no model knows, and its log10-probability in KenLM if a model has no <unk>.
UNKNOWN, NO_UNKNOWN = "\ufffe\uffff", -99.0

logger = logging.getLogger(__name__)


def has_kenlm() -> bool:
    """Return whether KenLM's programs are on the PATH and the package kenlm is installed."""
    return find_spec("kenlm") is not None and all(shutil.which(program) for program in PROGRAMS)


def estimate_with_kenlm(lines: Iterable[str], order: int, memory_mb: int, target: Path) -> None:
    """Write a modified Kneser-Ney model of white-space words to a binary file of KenLM.

    Lines have their newlines. KenLM sorts in `memory_mb` of memory and puts the rest into the
    target's folder. If a small corpus lacks the counts for a discount, the discounts are fixed.
    """
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        text, arpa = Path(scratch, "text"), Path(scratch, "model.arpa")
        with open(text, "w", encoding="utf-8") as stream:
            stream.writelines(lines)
        options = ["-o", str(order), "-S", f"{memory_mb}M", "-T", scratch, "--discount_fallback"]
        _run("lmplz", *options, "--skip_symbols", "--text", str(text), "--arpa", str(arpa))
        _run("build_binary", "-T", scratch, str(arpa), str(target))


def load_kenlm(path: str | Path) -> Any:
    """Return the `kenlm.Model` in an ARPA or binary file. Raises LingprobError if there is none."""
    try:
        import kenlm
    except ImportError as error:
        raise LingprobError(
            f"{path}: the package kenlm, which reads such models, is not installed. Install it "
            "(Python 3.11 or 3.12), or name a corpus instead of the file."
        ) from error
    try:
        model = kenlm.Model(str(path))
    except (OSError, RuntimeError) as error:
        raise LingprobError(
            f"{path}: kenlm cannot read it ({error}). It must be an n-gram model of order 2 or "
            "more."
        ) from error
    if model.score(UNKNOWN, bos=False, eos=False) <= NO_UNKNOWN:
        raise LingprobError(
            f"{path}: the n-gram model has no <unk>, so a text with a word that it does not know "
            "would never be a chance overlap. Estimate it with an unknown word, as lmplz does."
        )
    return model


def _run(*command: str) -> None:
    logger.info("%s", " ".join(command))
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        last = (done.stdout + done.stderr).strip().splitlines()[-8:]
        raise LingprobError(f"{command[0]} failed. Its last lines:\n  " + "\n  ".join(last))
