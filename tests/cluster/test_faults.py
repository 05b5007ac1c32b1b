"""A rehearsal of each rule, disturbed on SLURM, ends with the tables of an undisturbed one."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from checkout import copy_of_the_checkout, planned_jobs, snakemake, without_model
from lingprob.rehearsal.folder import write_rehearsal
from slurm_faults import (
    Fault,
    Faults,
    LostNode,
    cancel,
    requeue,
    run_out_of_memory,
    run_out_of_time,
    scontrol,
)

pytestmark = pytest.mark.cluster

CHECKPOINT = 2  # steps before the checkpoint of a short rehearsal
SUBMITTED = re.compile(r"SLURM jobid (\d+) \(log: \S+/slurm_logs/rule_([\w.-]+)/")


@pytest.fixture(scope="module")
def arguments(on_slurm, mirror: Path) -> list[str]:
    # A second attempt asks for twice the memory, or for all that a test node has.
    memory = re.search(r"RealMemory=(\d+)", scontrol("show", "node", "n1"))[1]
    machine = f'machine={{"memory_mb": {memory}}}'
    return ["--config", f"mirror={mirror}", machine, "--", "all"]


def rehearsal(checkout: Path, mirror: Path) -> list[str]:
    """Write a folder `rehearsal` next to a copy of the checkout, and return its options."""
    folder = copy_of_the_checkout(checkout).with_name("rehearsal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LINGPROB_MIRROR", str(mirror))
        write_rehearsal(folder, "paper", short=True)
    return ["--directory", str(folder), "--configfile", str(folder / "config.yaml")]


@pytest.fixture(scope="module")
def undisturbed(on_slurm, arguments, mirror, tmp_path_factory) -> Path:
    """The results of the same rehearsal on this machine."""
    checkout = tmp_path_factory.mktemp("local") / "lingprob"
    as_there = ["--max-threads", "1", "--resources", "gpu=2"]
    done = snakemake(checkout, *rehearsal(checkout, mirror), *as_there, *arguments)
    assert done.returncode == 0, done.stdout[-4000:]
    return checkout.with_name("rehearsal") / "results"


@pytest.fixture(scope="session")
def lost_node() -> Iterator[LostNode]:
    """A node that is lost and comes back, which the tests of other modules need as well."""
    node = LostNode()
    yield node
    node.end()


@pytest.fixture(scope="module")
def disturbed(
    run, arguments, mirror, lost_node, tmp_path_factory
) -> tuple[Path, str, dict[str, Fault]]:
    """The rehearsal's folder after a run through SLURM, the output of Snakemake, and the faults."""
    if not Path(os.environ.get("SLURM_CONF", "none")).with_name("slurmd.n2.pid").exists():
        pytest.skip("a node can be lost on the cluster of tests/cluster/start_slurm.sh alone")
    checkout = tmp_path_factory.mktemp("slurm") / "lingprob"
    options = rehearsal(checkout, mirror)
    folder = checkout.with_name("rehearsal")
    faults = [
        Fault("score_stimuli", cancel, "resources/shards/scores/*/*", 3),
        Fault("judge_contexts", run_out_of_time, "resources/shards/context/drawn/*/*", 3),
        Fault("train_model", lost_node, "resources/training/*/checkpoint.pt", 1),
        Fault("sample_unigrahams", run_out_of_memory),
        Fault("scan_corpus", requeue),
    ]
    watching = Faults(folder, faults)
    watching.start()
    patience = ["--slurm-init-seconds-before-status-checks", "3"]
    try:
        done = run(checkout, "-p", *options, *patience, *arguments)
    finally:
        watching.end()
    assert done.returncode == 0, done.stdout[-4000:]
    assert all(fault.job for fault in faults), faults  # each befell a job
    return folder, done.stdout, {fault.rule: fault for fault in faults}


def tables_of(folder: Path) -> list[Path]:
    """Tables in a folder, without the hidden files that a killed process leaves."""
    paths = (path.relative_to(folder) for path in folder.rglob("*.parquet"))
    return sorted(path for path in paths if not path.name.startswith("."))


def test_the_tables_are_those_of_an_undisturbed_run(undisturbed, disturbed):
    folder, _, _ = disturbed
    names = tables_of(undisturbed)
    assert tables_of(folder / "results") == names
    assert len(names) > 60
    for name in names:
        ours, theirs = (pd.read_parquet(at / name) for at in (folder / "results", undisturbed))
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True, obj=str(name))


def test_only_struck_jobs_ran_twice(disturbed):
    _, text, faults = disturbed
    rules = Counter(without_model(rule) for _, rule in SUBMITTED.findall(text))
    planned = planned_jobs(text)
    more = {rule: rules[rule] - planned[rule] for rule in rules if rules[rule] != planned[rule]}
    # SLURM itself starts a preempted job again, and one whose node was lost.
    assert more == {"score_stimuli": 1, "judge_contexts": 1, "sample_unigrahams": 1}
    for rule in ("train_model", "scan_corpus"):
        assert "Restarts=1" in scontrol("show", "job", faults[rule].job)


def test_finished_parts_were_not_computed_again(disturbed):
    _, _, faults = disturbed
    for rule in ("score_stimuli", "judge_contexts"):
        assert len(faults[rule].kept) >= 3
        assert not faults[rule].computed_again


def test_a_training_went_on_after_its_checkpoint(disturbed):
    folder, _, faults = disturbed
    (checkpoint,) = faults["train_model"].kept
    log = folder / f"results/training/logs/{checkpoint.parent.name}.jsonl"
    steps = [json.loads(line)["step"] for line in log.read_text().splitlines()]
    assert steps == list(range(1, 2 * CHECKPOINT + 1))
    said = (folder / f"logs/train_model/{checkpoint.parent.name}.log").read_text()
    assert f"training goes on after step {CHECKPOINT}\n" in said


def test_a_job_without_memory_requests_twice_as_much(disturbed):
    _, text, faults = disturbed
    jobs = [job for job, rule in SUBMITTED.findall(text) if rule == "sample_unigrahams"]
    asked = {job: int(re.search(r"mem=(\d+)M", scontrol("show", "job", job))[1]) for job in jobs}
    struck = asked.pop(faults["sample_unigrahams"].job)
    assert max(asked.values()) == 2 * struck
