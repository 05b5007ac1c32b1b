"""The workflow through a real SLURM: submission, GPUs, clear errors, cancelled jobs."""

import re
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from checkout import environment, planned_jobs
from lingprob.io.tables import read_table

pytestmark = pytest.mark.cluster

SCORES = "results/scores/smollm2-135m/bos/demo_minimal_pairs.parquet"
SHARDS = "resources/shards/scores/smollm2-135m/bos/demo_minimal_pairs"


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
    assert len(pd.read_csv(folder / "results/morcela/smollm2-135m.csv")) == 30
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
    table = "sentence,rating\nIt rains.,1\nRains it does it.,-1\nIt snowed.,\n"
    done = run(folder, "--retries", "0", *own_data(folder, bad=table))
    assert done.returncode != 0
    assert "bad.csv, data row 3, column 'rating'" in done.stdout
    assert "logs/build_stimuli/bad.log" in done.stdout
    assert not (folder / "results/stimuli/bad.parquet").exists()


def test_a_cancelled_job_is_submitted_again_and_continues(demo, on_slurm):
    folder, _ = demo
    before = read_table(folder / SCORES, "scores")
    (folder / SCORES).unlink()
    arguments = ["--config", 'scoring={"sentences_per_shard": 40}', "--", SCORES]
    output = folder / "cancelled.txt"
    with output.open("w") as file:
        running = subprocess.Popen(
            on_slurm("-p", *arguments), cwd=folder, env=environment(), stdout=file, stderr=file
        )
    patience = time.monotonic() + 300
    while len(list((folder / SHARDS).glob("*.parquet"))) < 2:
        assert running.poll() is None, output.read_text()[-4000:]
        assert time.monotonic() < patience, output.read_text()[-4000:]
        time.sleep(0.2)
    kept = {path: path.stat().st_mtime_ns for path in (folder / SHARDS).glob("*.parquet")}
    (first,) = submitted(output.read_text())
    subprocess.run(["scancel", first], check=True)
    untouched = dict(kept)
    while running.poll() is None:
        for path in untouched:
            if path.exists():
                untouched[path] = path.stat().st_mtime_ns
        time.sleep(0.2)
    text = output.read_text()
    assert running.returncode == 0, text[-4000:]
    assert "Trying to restart job" in text
    assert len(submitted(text)) == 2
    assert untouched == kept
    # Shards of another size make other batches, which move the last digits of a float32.
    after = read_table(folder / SCORES, "scores")
    pd.testing.assert_frame_equal(after, before, rtol=0, atol=1e-4)
