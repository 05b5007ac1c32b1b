"""A rehearsal has the jobs of the run that it stands for, and what they ask for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from checkout import copy_of_the_checkout, planned_jobs, snakemake

ALL = ["--", "all"]
FLAGS = ["--resources", "gpu=8", "--config", "scale=paper"]
# Without a cluster, tiny models wait for no GPU.
ONE_OF_EACH = ["--resources", "gpu=1000", "--configfile", "profiles/one_of_each.yaml"]
# What nobody can fetch, and what is measured on it.
NOT_THERE = ["brown_spr", "dundee", "hll", "llama-3-70b", "pile_test"]


def asked(plan: str) -> dict[str, set[str]]:
    """The resources that every job asks for, by what it makes."""
    jobs = re.findall(r"output: (.*)\n(?:(?! +resources:).*\n)+ +resources: (.*)", plan)
    assert len(jobs) > 1000
    return {made: set(resources.split(", ")) for made, resources in jobs}


@pytest.fixture(scope="module")
def rehearsal(checkout: Path) -> subprocess.CompletedProcess:
    """The plan of the whole rehearsal of the papers."""
    plan = snakemake(checkout, "-n", *FLAGS, "rehearse=true", *ALL)
    assert plan.returncode == 0, plan.stdout[-2000:]
    return plan


def test_a_rehearsal_of_the_papers_has_their_jobs_with_their_resources(checkout, rehearsal):
    run = snakemake(checkout, "-n", *FLAGS, "missing=stop", *ALL)
    assert "Left out" not in rehearsal.stdout
    assert planned_jobs(rehearsal.stdout) == planned_jobs(run.stdout)
    jobs, rehearsed = asked(run.stdout), asked(rehearsal.stdout)
    differs = {key.partition("=")[0] for job in jobs for key in jobs[job] ^ rehearsed[job]}
    # How a training goes is handed to it as a resource.
    assert differs == {"micro_batch_size", "validation_steps", "checkpoint_steps"}


def test_the_small_rehearsal_has_every_rule_of_the_whole_one(checkout, rehearsal):
    plan = snakemake(checkout, "-n", *ONE_OF_EACH, *ALL)
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs, whole = planned_jobs(plan.stdout), planned_jobs(rehearsal.stdout)
    assert whole.keys() <= jobs.keys()
    assert jobs["total"] <= 180 < 1000 < whole["total"]


def test_a_rehearsal_of_what_is_available_leaves_out_what_the_run_would(checkout):
    plan = snakemake(checkout, "-n", "--config", "scale=paper", "rehearse=available", *ALL)
    assert plan.returncode == 0, plan.stdout[-2000:]
    for name in NOT_THERE:
        assert len(re.findall(rf"^Left out: {name} .*\(", plan.stdout, re.M)) == 1
        assert f"={name}\n" not in plan.stdout
    jobs = planned_jobs(plan.stdout)
    assert (jobs["analyse_strings"], jobs["count_strings"]) == (3, 1)
    assert (jobs["train_model"], jobs["fit_reading_times"]) == (3, 3)
    assert jobs["fit_linking_functions"] == 16
    assert "regress_on_frequency" not in jobs
    # Nothing of it lies where results do.
    assert not (checkout / "results").exists()
    found = {path.name for path in (checkout / "rehearsal").iterdir()}
    assert found == {"REHEARSAL", ".snakemake"}


def has_ended(folder: Path, *arguments: str) -> None:
    """Run a rehearsal, which then has nothing to do and has stamped what it made."""
    done = snakemake(folder, *arguments)
    assert done.returncode == 0, done.stdout[-4000:]
    assert not (folder / "results").exists()
    assert not (folder / "resources").exists()
    pages = list((folder / "rehearsal").glob("results/**/*.html"))
    assert folder / "rehearsal/results/morcela/scorecard.html" in pages
    assert all("REHEARSAL: " in page.read_text() for page in pages)
    assert "Nothing to be done" in snakemake(folder, "-n", *arguments).stdout


def test_one_of_each_rule_ends_in_a_folder_of_its_own_and_has_then_nothing_to_do(mirror, tmp_path):
    folder = copy_of_the_checkout(tmp_path / "lingprob")
    has_ended(folder, *ONE_OF_EACH, "--config", f"mirror={mirror}", *ALL)
    card = (folder / "rehearsal/results/scorecard.csv").read_text().splitlines()
    assert len(card) > 100
    assert all("paper, REHEARSAL" in row for row in card[1:])


@pytest.mark.slow
def test_the_demo_is_rehearsed(tmp_path):
    folder = copy_of_the_checkout(tmp_path / "lingprob")
    has_ended(folder, "--config", "scale=demo", "rehearse=true", *ALL)
    assert "demo, REHEARSAL" in (folder / "rehearsal/results/morcela/scorecard.csv").read_text()
