"""The cluster that answers, and the demo that ran through it."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkout import copy_of_the_checkout, environment


def answers(*command: str) -> bool:
    """Whether a SLURM command exists and ends well."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=60).returncode == 0


@pytest.fixture(scope="session")
def on_slurm() -> Callable[..., list[str]]:
    """Makes the command line that runs Snakemake with the SLURM profile."""
    if not (answers("sbatch", "--version") and answers("sinfo")):
        pytest.skip("no SLURM cluster answers; tests/cluster/README.md tells how to start one")
    arguments = ["--workflow-profile", "profiles/slurm", "--slurm-keep-successful-logs"]
    arguments += ["--max-threads", "1"]  # the CPUs of a node of start_slurm.sh
    if not answers("sacct"):
        arguments += ["--slurm-status-command", "squeue"]

    def command(*more: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", *arguments, *more]

    return command


@pytest.fixture(scope="session")
def run(on_slurm: Callable[..., list[str]]) -> Callable[..., subprocess.CompletedProcess]:
    """Runs Snakemake with the SLURM profile and returns output and errors as one text."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            on_slurm(*arguments), cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip

    return run


@pytest.fixture(scope="session")
def demo(run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy of the checkout in which the demo ran through SLURM, and all that Snakemake said."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("slurm") / "lingprob")
    done = run(folder, "-p", "demo")
    assert done.returncode == 0, done.stdout[-4000:]
    return folder, done.stdout
