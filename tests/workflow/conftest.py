"""Running the workflow as a user would, in a copy of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["Snakefile", "config.yaml", "config.schema.yaml", "rules", "profiles", "report", "envs",
         "workflow_scripts"]  # fmt: skip
Run = Callable[..., subprocess.CompletedProcess]


def copy_of_the_checkout(folder: Path) -> Path:
    """Copy what the workflow consists of, so that a test may edit it."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Snakemake in `folder`; output and errors come back as one text."""
    return subprocess.run(command(*arguments), cwd=folder, text=True, env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip


def command(*arguments: str) -> list[str]:
    """The command line that runs this environment's Snakemake on two cores."""
    return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]


def environment() -> dict[str, str]:
    """This environment, with no mirror and no hub in it."""
    hidden = ("LINGPROB_MIRROR", "HF_ENDPOINT", "HF_TOKEN")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, "PATH": path}


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout for tests that only plan."""
    return copy_of_the_checkout(tmp_path_factory.mktemp("plan") / "lingprob")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which the README's first command ran to its end."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("demo") / "lingprob")
    done = snakemake(folder, "demo", "--report", "results/report.html", "--report-after-run")
    assert done.returncode == 0, done.stdout[-4000:]
    return folder
