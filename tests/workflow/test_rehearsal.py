"""In a folder that `lingprob rehearse` writes, the workflow of scale paper runs as it is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from checkout import copy_of_the_checkout, planned_jobs, planned_resources, snakemake
from lingprob.rehearsal.folder import write_rehearsal

ALL = ["--resources", "gpu=1000", "--", "all"]


def in_folder(checkout: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run the unchanged workflow of a checkout in a rehearsal's folder."""
    config = ["--directory", str(folder), "--configfile", str(folder / "config.yaml")]
    done = snakemake(checkout, *config, *arguments)
    assert done.returncode == 0, done.stdout[-4000:]
    return done


def written(folder: Path, mirror: Path, scale: str = "paper", short: bool = False) -> Path:
    """Write a rehearsal with the small public files of the mirror."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINGPROB_MIRROR", str(mirror))
        write_rehearsal(folder, scale, short)
    return folder


@pytest.fixture(scope="module")
def plan(checkout: Path, mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The plan of the whole rehearsal of the papers."""
    folder = written(tmp_path_factory.mktemp("paper"), mirror)
    return in_folder(checkout, folder, "-n", *ALL).stdout


@pytest.fixture(scope="module")
def short(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a rehearsal of each rule."""
    return written(tmp_path_factory.mktemp("short"), mirror, short=True)


def test_a_rehearsal_has_the_same_jobs_and_requests(checkout, plan):
    run = snakemake(checkout, "-n", "--config", "scale=paper", "missing=stop", *ALL).stdout
    assert "Left out" not in plan
    jobs, rehearsed = planned_jobs(run), planned_jobs(plan)
    differs = {rule for rule in rehearsed if rehearsed[rule] != jobs.get(rule)}
    # Sets are sampled, and the stream of a corpus is a file.
    assert differs == {"sample_stimuli", "download_dataset", "download_corpus_file", "total"}
    keys = ["rule", "wildcards"]
    asked = planned_resources(run).merge(planned_resources(plan), on=keys, suffixes=("", "_less"))
    assert len(asked) > 0.98 * jobs["total"]
    assert (asked["gpu"] == asked["gpu_less"]).all()
    less = asked[asked["mem_mb"] != asked["mem_mb_less"]]
    # Models that are trained are small.
    others = less[~less["rule"].isin(["train_model", "fine_tune_model"])]
    assert others["wildcards"].str.contains("model=trained-").all()


def test_a_short_rehearsal_has_every_rule(checkout, plan, short):
    jobs, whole = planned_jobs(in_folder(checkout, short, "-n", *ALL).stdout), planned_jobs(plan)
    # The short one does not read Natural Stories, of which the whole one fits published surprisals.
    assert whole.keys() - jobs.keys() <= {"reproduce_published_fits"}
    assert jobs["total"] <= 100 < 800 < whole["total"]


def test_one_of_each_rule_runs_to_its_end(mirror, short, tmp_path):
    checkout = copy_of_the_checkout(tmp_path / "lingprob")
    mirrored = ["--config", f"mirror={mirror}", *ALL]
    in_folder(checkout, short, *mirrored)
    assert not {"results", "resources"} & set(os.listdir(checkout))
    assert len(pd.read_csv(short / "results/scorecard.csv")) > 100
    assert "Nothing to be done" in in_folder(checkout, short, "-n", *mirrored).stdout


@pytest.mark.slow
def test_the_demo_is_rehearsed(checkout, mirror, tmp_path):
    folder = written(tmp_path / "demo", mirror, "demo")
    in_folder(checkout, folder, *ALL)
    assert (folder / "results/scorecard.csv").exists()
