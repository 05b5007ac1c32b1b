"""ZhoBLiMP: 118 paradigms of 300 Chinese minimal pairs made from templates (Liu et al. 2024)."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.archives import unpack_tar
from lingprob.stimuli.checks import NO_RATINGS
from lingprob.stimuli.pair_files import pairs_as_stimuli, read_json_pairs


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of all JSON-lines files in the archive that the authors published."""
    path = directory / entry["files"][0]["name"]
    with tempfile.TemporaryDirectory() as folder:
        try:
            with tarfile.open(path) as archive:
                unpack_tar(archive, folder)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise LingprobError(
                f"{path}: not a whole tar archive ({error}). Delete it and fetch it again."
            ) from error
        paradigms = [
            read_json_pairs(file, phenomenon="phenomenon")
            for file in sorted(Path(folder).rglob("*.jsonl"))
        ]
    if not paradigms:
        raise LingprobError(f"{path}: holds no .jsonl file. Delete it and fetch it again.")
    return pairs_as_stimuli(paradigms, "zh"), NO_RATINGS
