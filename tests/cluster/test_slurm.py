"""The workflow through a real SLURM: submission, GPUs and clear errors."""

import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from checkout import planned_jobs

pytestmark = pytest.mark.cluster


def submitted(text: str) -> dict[str, Path]:
    """SLURM's job ids in Snakemake's output, each with the job's log file."""
    found = re.findall(r"submitted with SLURM jobid (\d+) \(log: (.+)\)\.", text)
    return {job: Path(log) for job, log in found}


def shown(job: str) -> str:
    """Return the facts that SLURM keeps about a job that ended recently."""
    return subprocess.check_output(["scontrol", "show", "job", job], text=True)


def own_data(folder: Path, **tables: str) -> list[str]:
    """Write data sets of a user, and return the arguments that name them."""
    entries = []
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
        entries.append(
            f"  {name}: {{title: {name}, kind: stimuli, parser: table, path: {name}.csv}}\n"
        )
    (folder / "own.yaml").write_text("datasets:\n" + "".join(entries))
    return [
        "--configfile", "own.yaml", "--", *(f"results/stimuli/{name}.parquet" for name in tables),
    ]  # fmt: skip


def test_every_job_of_the_demo_goes_through_slurm(demo):
    folder, text = demo
    jobs = submitted(text)
    planned = planned_jobs(text)
    assert len(jobs) == planned["total"] - planned["demo"] > 10
    assert re.findall(r"^localrule (\w+):", text, re.M) == ["demo"]
    for job, log in jobs.items():
        assert log.is_relative_to(folder / ".snakemake/slurm_logs")
        assert log.stem == job
        assert "slurm-jobstep" in log.read_text()


def test_the_demo_leaves_its_results(demo):
    folder, _ = demo
    assert len(pd.read_csv(folder / "results/morcela/smollm2-135m.csv")) == 18
    for name in ["morcela/figure_2.pdf", "morcela/table_2.html", "scorecard.csv"]:
        assert (folder / "results" / name).stat().st_size > 500


def test_a_second_run_has_nothing_to_do(demo, run):
    folder, _ = demo
    assert "Nothing to be done" in run(folder, "-n", "demo").stdout


def test_gpu_jobs_request_a_gpu_and_run_together(demo, run):
    if "gpu" not in subprocess.check_output(["sinfo", "--noheader", "--format", "%G"], text=True):
        pytest.skip("the cluster has no GPUs")
    folder, _ = demo
    table = "sentence,rating\nIt rains.,1\nRains it does it.,-1\nIt snowed.,0.9\nSnow it.,-0.8\n"
    gpu = "build_stimuli:gpu=0 if wildcards.dataset == 'none' else 1"
    arguments = own_data(folder, one=table, two=table, none=table)
    text = run(folder, "-p", "--set-resources", gpu, *arguments).stdout
    asks = {
        log.parent.name: bool(re.search(r"gres[:/]gpu[:=]1", shown(job)))
        for job, log in submitted(text).items()
    }
    assert asks == {"one": True, "two": True, "none": False}
    assert text.rindex("submitted with SLURM jobid") < text.index("Finished jobid")


def test_a_failed_job_says_how_to_fix_it(demo, run):
    folder, _ = demo
    table = "sentence,rating\nIt rains.,1\nRains it does it.,-1\nIt snowed.,high\n"
    done = run(folder, "--retries", "0", *own_data(folder, bad=table))
    assert done.returncode != 0
    assert "bad.csv, data row 3, column 'rating'" in done.stdout
    assert "logs/build_stimuli/bad.log" in done.stdout
    assert not (folder / "results/stimuli/bad.parquet").exists()
