"""A rehearsal has the jobs of the run that it stands for, and what they ask for."""

from __future__ import annotations

import re

import pytest

from checkout import copy_of_the_checkout, planned_jobs, snakemake

ALL = ["--", "all"]
# What nobody can fetch, and what is measured on it.
NOT_THERE = ["brown_spr", "dundee", "hll", "llama-3-70b", "pile_test"]


def asked(plan: str) -> dict[str, set[str]]:
    """The resources that every job asks for, by what it makes."""
    jobs = re.findall(r"output: (.*)\n(?:(?! +resources:).*\n)+ +resources: (.*)", plan)
    assert len(jobs) > 1000
    return {made: set(resources.split(", ")) for made, resources in jobs}


def test_a_rehearsal_of_the_papers_has_their_jobs_with_their_resources(checkout):
    flags = ["-n", "--resources", "gpu=8", "--config", "scale=paper"]
    run = snakemake(checkout, *flags, "missing=stop", *ALL)
    rehearsal = snakemake(checkout, *flags, "rehearse=true", *ALL)
    assert rehearsal.returncode == 0, rehearsal.stdout[-2000:]
    assert "Left out" not in rehearsal.stdout
    assert planned_jobs(rehearsal.stdout) == planned_jobs(run.stdout)
    jobs, rehearsed = asked(run.stdout), asked(rehearsal.stdout)
    differs = {key.partition("=")[0] for job in jobs for key in jobs[job] ^ rehearsed[job]}
    # How a training goes is handed to it as a resource.
    assert differs == {"micro_batch_size", "validation_steps", "checkpoint_steps"}


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


@pytest.mark.parametrize(
    "target", ["results/morcela/scorecard.html", pytest.param("all", marks=pytest.mark.slow)]
)
def test_a_rehearsal_ends_in_a_folder_of_its_own_and_has_then_nothing_to_do(target, tmp_path):
    folder = copy_of_the_checkout(tmp_path / "lingprob")
    arguments = ["--config", "scale=demo", "rehearse=true", "--", target]
    done = snakemake(folder, *arguments)
    assert done.returncode == 0, done.stdout[-4000:]
    assert not (folder / "results").exists()
    assert not (folder / "resources").exists()
    rehearsal = folder / "rehearsal"
    pages = list(rehearsal.glob("results/**/*.html"))
    assert rehearsal / "results/morcela/scorecard.html" in pages
    assert all("REHEARSAL: " in page.read_text() for page in pages)
    assert "demo, REHEARSAL" in (rehearsal / "results/morcela/scorecard.csv").read_text()
    assert "Nothing to be done" in snakemake(folder, "-n", *arguments).stdout
