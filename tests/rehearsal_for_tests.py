"""Writing a rehearsal, and running the unchanged workflow of a checkout in its folder."""

from pathlib import Path

import pytest

from checkout import snakemake
from lingprob.rehearsal.folder import write_rehearsal

ALL = ["--resources", "gpu=1000", "--", "all"]
# Rules of a rehearsal of scale paper that the demo does not run.
NOT_IN_THE_DEMO = {"count_tokens", "download_corpus_file", "download_dataset", "estimate_ngrams",
                   "fetch_leakage_free_chunks", "import_published_unigrams", "sample_stimuli",
                   "scan_corpus", "sum_frequency_moments"}  # fmt: skip


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
