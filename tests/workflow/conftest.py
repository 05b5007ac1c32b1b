"""Copies of the checkout that several tests share."""

from pathlib import Path

import pytest

from checkout import copy_of_the_checkout, snakemake


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
    (folder / "console.txt").write_text(done.stdout)
    return folder
