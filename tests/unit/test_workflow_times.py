"""Times that benchmarks/workflow.py reads in a log, by hand."""

from __future__ import annotations

import pytest

import workflow

LOG = """\
Provided cores: 2
Job stats:
[Sun Nov 22 10:00:00 2026]
rule fetch:
    output: a.txt
    jobid: 3
    benchmark: logs/fetch.benchmark.tsv
    threads: 2
[Sun Nov 22 10:00:00 2026]
localrule other:
    output: b.txt, c.txt
    jobid: 2
[Sun Nov 22 10:00:10 2026]
Finished jobid: 3 (Rule: fetch)
1 of 4 steps (25%) done
[Sun Nov 22 10:00:12 2026]
rule score:
    input: a.txt, c.txt
    output: d.txt
    jobid: 1
[Sun Nov 22 10:00:40 2026]
Finished jobid: 2 (Rule: other)
[Sun Nov 22 10:01:12 2026]
Finished jobid: 1 (Rule: score)
[Sun Nov 22 10:01:12 2026]
rule never_ended:
    input: d.txt
    jobid: 0
"""


@pytest.fixture
def jobs(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/fetch.benchmark.tsv").write_text("s\tmax_rss\n8.5\t100\n")
    (tmp_path / "run.log").write_text(LOG)
    found, cores = workflow.read_log(tmp_path / "run.log", tmp_path)
    assert cores == 2
    return found


def test_a_job_s_time_is_start_to_end(jobs):
    assert [(job.rule, job.began, job.seconds, job.worked, job.threads) for job in jobs] == [
        ("fetch", 0, 10, 8.5, 2), ("other", 0, 40, None, 1), ("score", 12, 60, None, 1),
    ]  # fmt: skip
    table = workflow.by_rule(jobs)
    assert table["seconds"].to_dict() == {"score": 60, "other": 40, "fetch": 10}
    assert list(table.index) == ["score", "other", "fetch"]
    assert table["worked"].isna().to_dict() == {"score": True, "other": True, "fetch": False}


def test_the_chain_follows_the_last_input_back(jobs):
    assert [job.rule for job in workflow.longest_chain(jobs)] == ["other", "score"]


def test_a_target_counts_its_own_and_shared_jobs(jobs):
    """Of 2 cores: a's minutes by hand are (2 * 10 + 40 + 60 + 6) / 2 / 60, b's (40 + 90 + 12)."""
    trained = workflow.Job("train_model", 0, 90, ["c.txt"], ["model"])
    compared = [
        workflow.Job("report_morcela", 72, 78, ["d.txt"], ["results/a/scorecard.csv"]),
        workflow.Job("report_morcela", 90, 102, ["model"], ["results/b/scorecard.csv"]),
    ]
    drawn = workflow.Job("plot", 78, 84, ["results/a/scorecard.csv"], ["results/a/more/figure.pdf"])
    found = workflow.by_target([*jobs, trained, *compared, drawn], 2)
    assert found["jobs"].to_dict() == {"a": 4, "b": 3}
    assert found["minutes"].to_dict() == pytest.approx({"a": 63 / 60, "b": 71 / 60})
    assert found["of them trainings"].to_dict() == pytest.approx({"a": 0, "b": 45 / 60})
