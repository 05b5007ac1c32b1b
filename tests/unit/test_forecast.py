"""What a run is expected to cost: schedules, sums, and what finished jobs used."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from checkout import ROOT
from lingprob.plan.factors import read_factors
from lingprob.plan.forecast import forecast, jobs_table
from lingprob.plan.jobs import UNSTATED, PlannedJob, behind
from lingprob.plan.schedule import Task, duration, time_left
from lingprob.plan.usage import known_factors, read_benchmark, read_usage
from lingprob.plan.wording import describe

HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def task(seconds: float, *waits_for: int, **holds: int) -> Task:
    return Task(seconds, holds, frozenset(waits_for))


def job(number: int, rule: str, *waits_for: int, **asks: Any) -> PlannedJob:
    usual = {"mem_mb": 2000, "runtime": 60, "disk_mb": 0, "gpu": 0, "download": 0}
    return PlannedJob(
        number,
        rule,
        asks.pop("wildcards", ()),
        {**usual, **{key: value for key, value in asks.items() if key in usual}},
        asks.get("threads", 1),
        asks.get("to_do", True),
        asks.get("benchmark"),
        frozenset(waits_for),
    )


def test_a_job_that_states_nothing_has_what_the_profiles_give_it():
    for name in ("default", "slurm"):
        profile = yaml.safe_load((ROOT / "profiles" / name / "profile.yaml").read_text())
        given = profile["default-resources"]
        assert {key: given[key] for key in ("mem_mb", "runtime")} == {
            key: UNSTATED[key] for key in ("mem_mb", "runtime")
        }


def test_a_schedule_by_hand():
    """Two of 3 h and one of 2 h on two GPUs, and what waits for the last: 3 + 3 + 1, not 2 + 3."""
    tasks = [task(3, gpus=1), task(3, gpus=1), task(2, gpus=1), task(1, 2), task(1, 0, 1)]
    assert time_left(tasks) == [4, 4, 3, 1, 1]
    assert duration(tasks, {"gpus": 1}) == 9  # 3 + 3 + 2 on the GPU, and what follows the last
    assert duration(tasks, {"gpus": 2}) == 6  # the 2 h wait for a GPU until hour 3
    assert duration(tasks, {"gpus": 3}) == duration(tasks, {}) == 4
    assert duration([task(1, gpus=4)], {"gpus": 2}) == math.inf
    assert duration([], {"gpus": 1}) == 0


@st.composite
def graphs(draw: st.DrawFn) -> list[Task]:
    tasks: list[Task] = []
    for number in range(draw(st.integers(1, 8))):
        before = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        seconds = draw(st.integers(0, 9))
        tasks.append(task(seconds, *before, gpus=draw(st.integers(0, 1))))
    return tasks


def chains(tasks: list[Task], last: int) -> list[list[int]]:
    """All chains of tasks that end with one."""
    before = [chain for other in tasks[last].waits_for for chain in chains(tasks, other)]
    return [[*chain, last] for chain in before] or [[last]]


@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(1, 3))
def test_a_schedule_lies_between_the_bounds_of_theory(tasks, gpus):
    """Graham's bound for lists: the critical path, and the work that waits for GPUs, shared."""
    every = [chain for last in range(len(tasks)) for chain in chains(tasks, last)]
    assert all(b not in tasks[a].waits_for for chain in every for a, b in pairwise(chain))
    critical = max(sum(tasks[number].seconds for number in chain) for chain in every)
    assert max(time_left(tasks)) == critical
    shared = sum(item.seconds * item.holds["gpus"] for item in tasks) / gpus
    assert max(critical, shared) <= duration(tasks, {"gpus": gpus}) <= critical + shared
    assert duration(tasks, {}) == critical


def whole_run() -> list[PlannedJob]:
    """Two targets that share a download; the second one's model has been scored already."""
    return [
        job(0, "fetch", download=1, disk_mb=5000, runtime=240),
        job(1, "score", 0, gpu=2, mem_mb=9000, wildcards=("large", "blimp")),
        job(2, "score", 0, gpu=1, to_do=False),
        job(3, "scan_corpus", 0, threads=4, disk_mb=3000, download=1),
        job(4, "one", 1),
        job(5, "two", 2, 3),
        job(6, "all", 4, 5),
    ]


EXPECTED = {0: 3600, 1: 7200, 2: 999_999, 3: 1800, 4: 0, 5: 0, 6: 0}


def test_sums_by_hand():
    one, two, whole = forecast(whole_run(), ["one", "two", "all"], EXPECTED)
    assert (one.jobs, two.jobs, whole.jobs) == (2, 2, 5)  # less the targets' own
    assert (one.gpu_hours, two.gpu_hours) == (4, 0)
    assert (one.core_hours, two.core_hours, whole.core_hours) == (3, 3, 5)
    assert (one.largest_memory_mb, two.largest_memory_mb) == (9000, 2000)
    assert (one.longest_job, one.longest_job_hours) == ("score large blimp", 2)
    assert (one.longest_ask_hours, one.critical_hours, two.critical_hours) == (4, 3, 1.5)
    assert (whole.download_gb, whole.disk_gb) == (8, 8)
    assert whole.hours_on == {1: math.inf, 4: 3, 16: 3, 64: 3}
    assert {"hours_on_4_gpus", "critical_hours", "jobs"} < one.row().keys()


def test_at_most_four_files_that_are_let_go_lie_on_disk():
    scans = [job(n, "scan_corpus", disk_mb=1000 * n, download=1) for n in range(1, 8)]
    (found,) = forecast([*scans, job(9, "all", *range(1, 8))], ["all"], dict.fromkeys(range(10), 1))
    assert (found.download_gb, found.disk_gb) == (28, 4 + 5 + 6 + 7)


def test_without_a_gpu_time_is_told_for_cores_and_threads_are_cut_to_them():
    """Two jobs of an hour on eight cores: 16 hours on one, four on four, at once on 16."""
    jobs = [job(0, "a", threads=8), job(1, "b", threads=8), job(2, "all", 0, 1)]
    (found,) = forecast(jobs, ["all"], {0: 3600, 1: 3600, 2: 0})
    assert (found.unit, found.hours_on) == ("cores", {1: 16, 4: 4, 16: 1, 64: 1})
    assert (found.core_hours, found.critical_hours) == (16, 1)


def test_a_finished_run_has_nothing_left():
    done = [job(0, "fetch", to_do=False), job(1, "all", 0, to_do=False)]
    (found,) = forecast(done, ["all"], {0: 5, 1: 5})
    assert (found.jobs, found.longest_job, found.hours_on[1]) == (0, "", 0)


def test_a_target_is_behind_what_it_waits_for_alone():
    assert [item.number for item in behind(whole_run(), "one")] == [0, 1]
    table = jobs_table(whole_run(), EXPECTED)
    assert table.loc[1, ["job", "gpu", "expected_seconds"]].tolist() == [
        "score large blimp",
        2,
        7200,
    ]


def benchmark(path: Path, seconds: float, peak: object, cpu: object = 0) -> Path:
    path.write_text(f"{HEAD}{seconds}\t0:00:01\t{peak}\t1\t1\t1\t0\t0\t99\t{cpu}\n")
    return path


def test_the_largest_share_of_a_rule_s_jobs_is_marked(tmp_path):
    near = job(
        0, "score", mem_mb=4000, to_do=False, benchmark=benchmark(tmp_path / "a", 1800, 3600)
    )
    far = job(1, "score", mem_mb=9000, to_do=False, benchmark=benchmark(tmp_path / "b", 120, 4000))
    short = job(2, "plot", to_do=False, benchmark=benchmark(tmp_path / "c", 2, "-"))
    again = job(3, "plot", benchmark=tmp_path / "c")  # it is to be run again
    usage = read_usage([near, far, short, again], lambda item: 600)
    plot, score = usage
    assert (score.jobs, score.asked_mb, score.used_mb) == (2, 4000, 3600)
    assert (score.asked_minutes, score.used_minutes, score.marks) == (60, 30, "memory 90%")
    assert score.factor == pytest.approx((1800 + 120) / 1200)
    assert (plot.jobs, plot.used_mb, plot.factor) == (1, 0, None)
    assert plot.marks == "memory 0%, time 0%"


def test_a_benchmark_that_is_not_there_or_empty_tells_nothing(tmp_path):
    (tmp_path / "empty").write_text(HEAD)
    assert read_benchmark(tmp_path / "empty") is None
    assert read_benchmark(tmp_path / "gone") is None
    assert read_benchmark(benchmark(tmp_path / "there", 2.5, 10.25, 4)) == (2.5, 4, 10.25)
    assert read_benchmark(benchmark(tmp_path / "short", 0.1, "-", "NA")) == (0.1, 0, 0)


def test_a_job_that_had_fewer_threads_is_compared_by_the_work_it_did(tmp_path):
    """8 threads were hoped to take 100 s; two took 500 s and 960 s of CPU time: 120 s on eight."""
    took = benchmark(tmp_path / "a", 500, 100, cpu=960)
    cpu, gpu = (job(0, "score", threads=8, gpu=n, to_do=False, benchmark=took) for n in (0, 1))
    assert read_usage([cpu], lambda item: 100)[0].factor == pytest.approx(1.2)
    assert read_usage([gpu], lambda item: 100)[0].factor == pytest.approx(5)


def test_what_a_run_took_corrects_the_next_estimate_and_stays_known(tmp_path):
    (tmp_path / "factors.csv").write_text("rule,factor\nscore,3.0\ntrain,0.5\n")
    before = read_factors(tmp_path / "factors.csv")
    usage = [SimpleNamespace(rule="score", factor=1.6), SimpleNamespace(rule="plot", factor=None)]
    assert known_factors(usage, before) == {"score": 1.6, "train": 0.5}
    assert read_factors(tmp_path / "none.csv") == {}


def test_the_text_says_what_is_assumed_missing_and_out_of_bounds(tmp_path):
    usage = read_usage(
        [job(0, "score", to_do=False, benchmark=benchmark(tmp_path / "a", 1800, 1900))],
        lambda item: 600,
    )
    text = describe(
        forecast(whole_run(), ["one", "all"], EXPECTED),
        usage,
        {"score": 3.0},
        ["gpu: ASSUMED: a guess"],
        ["dundee: ask its authors"],
        scale="paper",
    )
    for said in (
        "at scale paper",
        "never",
        "gpu: ASSUMED",
        "score x 3",
        "dundee: ask its authors",
        "score large blimp",
        "memory 95%",
    ):
        assert said in text
    table = [line for line in text.splitlines() if line.startswith(("one", "all", "     "))]
    assert len({len(line) for line in table}) == 1  # columns stand below each other
