"""Writing a rehearsal, and running the unchanged workflow of a checkout in its folder."""

from pathlib import Path

import pytest

from checkout import snakemake
from lingprob.rehearsal.folder import write_rehearsal

ALL = ["--resources", "gpu=1000", "--", "all"]


def in_folder(checkout: Path, folder: Path, *arguments: str) -> str:
    """Run the workflow in a rehearsal's folder; return its output."""
    config = ["--directory", str(folder), "--configfile", str(folder / "config.yaml")]
    done = snakemake(checkout, *config, *arguments)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def written(folder: Path, mirror: Path, scale: str = "paper", short: bool = False) -> Path:
    """Write a rehearsal with the small public files of the mirror."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINGPROB_MIRROR", str(mirror))
        write_rehearsal(folder, scale, short)
    return folder
