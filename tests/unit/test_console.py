"""What the terminal shows of a run, from Snakemake's own records."""

from __future__ import annotations

import io
import logging
import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from lingprob.console import Console, one_message, take_over
from lingprob.plan.pace import ExpectedJob
from lingprob.plan.work import USUAL_SECONDS
from lingprob.progress import Progress

USUAL = dict(printshellcmds=False, verbose=False, quiet=None, debug_dag=False, dryrun=False)


def console(stream: io.StringIO, dry: bool = False) -> Console:
    """A console in the place of the handler that Snakemake would have."""
    before = ColorizingTextHandler(stream=stream, formatter=DefaultFormatter(set(), True))
    before.addFilter(DefaultFilter(None, False, False, dry, False))
    found = Console(before, dry)
    found.handleError = reraise  # which else prints a fault of the console's own and goes on
    return found


def reraise(_record: logging.LogRecord) -> None:
    raise  # called where an exception is handled


def say(handler: Console, message: str | None, level: int = logging.INFO, **extra: object) -> None:
    """Give a handler a record as Snakemake would."""
    record = logging.makeLogRecord(
        {"msg": message, "levelno": level, "levelname": logging.getLevelName(level), **extra}
    )
    handler.handle(record)


def start(handler: Console, number: int, rule: str, **wildcards: str) -> None:
    """A job begins; `local` and so on are what Snakemake's own words need."""
    usual = dict(local=False, is_checkpoint=False, input=[], output=["x"], log=["y"], indent=False)
    usual |= dict(benchmark=None, reason="", priority=0, threads=1, resources={}, rule_msg=None)
    say(handler, "", event=LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards,
        **usual)  # fmt: skip


def finish(handler: Console, number: int) -> None:
    say(handler, f"Finished jobid: {number}", event=LogEvent.JOB_FINISHED, job_id=number)
    say(handler, None, event=LogEvent.PROGRESS, done=1, total=2)


def fail(handler: Console, number: int, *logs: str, message: str | None = None) -> None:
    say(handler, "Error in rule", logging.ERROR, event=LogEvent.JOB_ERROR, jobid=number,
        rule_name="fit", rule_msg=message, log=[*logs], input=[], output=[], conda_env=None,
        shellcmd=None, aux={}, indent=False)  # fmt: skip


def test_a_finished_job_is_a_line_with_the_share_of_the_expected_work_and_the_time_left(
    monkeypatch,
):
    # A third of what was expected, two at one time.
    clock = iter([0, 0, 0, 60, 60, 60, 180, 180, 180, 180])
    monkeypatch.setattr("lingprob.console.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    handler = console(stream)
    say(handler, "a banner\nof lines", event=LogEvent.WORKFLOW_STARTED)
    say(handler, "Job stats: ...", event=LogEvent.RUN_INFO, stats={})
    handler.expect({1: ExpectedJob(180.0), 2: ExpectedJob(540.0)})
    start(handler, 1, "fit", model="gpt2", dataset="mine")
    start(handler, 2, "plot")
    say(handler, "Execute 1 jobs...", event=LogEvent.JOB_STARTED, jobs=[1])
    finish(handler, 1)
    finish(handler, 2)
    start(handler, 3, "all")  # a target, of which nothing is expected
    finish(handler, 3)
    handler.close()
    first, *lines = stream.getvalue().splitlines()
    assert first == "Jobs: 2. What each one did is in logs/, by rule."
    assert [re.sub(r"^\d\d:\d\d:\d\d", "", line) for line in lines] == [
        "  1/2  25%  01:00 left  fit gpt2 mine",
        "  2/2 100%  00:00 left  plot",
    ]


@settings(deadline=None)
@given(
    st.lists(st.just(USUAL_SECONDS) | st.floats(0.1, 1e6), min_size=1, max_size=30), st.randoms()
)
def test_in_any_order_shares_rise_to_one_and_every_job_is_told_once(seconds, random):
    stream = io.StringIO()
    handler = console(stream)
    handler.expect({n: ExpectedJob(each) for n, each in enumerate(seconds)})
    order = random.sample(range(len(seconds)), len(seconds))
    for number in order:
        start(handler, number, f"rule_{number}")
    for number in order:
        finish(handler, number)
    lines = stream.getvalue().splitlines()[1:]
    told = [[int(name) for name in re.findall(r"rule_(\d+)", line)] for line in lines]
    assert [number for numbers in told for number in numbers] == order
    end = 0
    for line, numbers in zip(lines, told, strict=True):
        end += len(numbers)
        assert int(re.search(r" (\d+)/", line)[1]) == end
        share = sum(seconds[number] for number in order[:end]) / sum(seconds)
        assert int(re.search(r"(\d+)%", line)[1]) == pytest.approx(100 * share, abs=0.51)
        # A job of some work ends its line; those of none wait for it, three at the most.
        *waited, last = [seconds[number] <= USUAL_SECONDS for number in numbers]
        assert all(waited)
        assert len(numbers) <= 3
        assert not last or len(numbers) == 3 or end == len(order)


def test_small_jobs_that_wait_for_a_line_are_told_at_the_end_of_a_run_that_failed():
    stream = io.StringIO()
    handler = console(stream)
    handler.expect(
        {1: ExpectedJob(USUAL_SECONDS), 2: ExpectedJob(USUAL_SECONDS), 3: ExpectedJob(100.0)}
    )
    for number, rule in enumerate(("count", "combine", "fit"), 1):
        start(handler, number, rule)
    finish(handler, 1)
    finish(handler, 2)
    fail(handler, 3)
    handler.close()
    lines = stream.getvalue().splitlines()[1:]
    told = next(line for line in lines if "count" in line)
    assert re.search(r" 2/3 +\d+%.* left  count, combine$", told)
    assert lines.index(told) < lines.index("Failed: 1 of the 3 jobs.")


def test_chatter_is_left_to_the_log_file_and_what_is_unknown_is_not():
    stream = io.StringIO()
    handler = console(stream)
    for chatter in (
        "Select jobs to execute...",
        "Using shell: /bin/bash",
        "Building DAG of jobs...",
    ):
        say(handler, chatter)
    say(handler, "Job 3 has been submitted with SLURM jobid 7 (log: x).")
    say(handler, "Adding scorecard.html (3 kB).")
    assert stream.getvalue() == ""
    say(handler, "Nothing to be done (all requested files are present and up to date).")
    say(handler, "Adding is hard.", logging.WARNING)
    say(handler, "Trying to restart job 3.")
    assert len(stream.getvalue().splitlines()) == 3


def test_what_the_user_can_mend_is_one_message_and_the_end_names_it_again(tmp_path):
    log = tmp_path / "fit.log"
    log.write_text(
        "2026-01-01 00:00:00,000 INFO lingprob: rule fit stopped here\n"
        "Traceback (most recent call last):\n  File x\n"
        "2026-01-01 00:00:00,001 ERROR lingprob.refused: bad.csv, row 3: no rating.\nGive one.\n"
    )
    stream = io.StringIO()
    handler = console(stream)
    handler.expect({1: ExpectedJob(1.0), 2: ExpectedJob(1.0)})
    start(handler, 1, "fit", model="gpt2")
    said = "RuleException:\nCalledProcessError in file x, line 3:\nCommand 'python' returned "
    say(handler, said + "non-zero exit status 1.", logging.ERROR, event=LogEvent.ERROR)
    fail(handler, 1, str(log), str(tmp_path / "slurm.log"))
    say(handler, "Exiting because a job execution failed. Look above", logging.ERROR)
    lost = "WorkflowError:\nAt least one job did not complete successfully."
    say(handler, lost, logging.ERROR, event=LogEvent.ERROR)
    handler.close()
    named = f"fit gpt2 ({log}, {tmp_path / 'slurm.log'})"
    assert stream.getvalue().splitlines()[1:] == [
        "",
        f"FAILED: {named}",
        "bad.csv, row 3: no rating.",
        "Give one.",
        "",
        "Failed: 1 of the 2 jobs.",
        f"  {named}",
        "    bad.csv, row 3: no rating.",
    ]


def test_any_other_failure_shows_its_logs_and_how_the_job_was_killed(tmp_path):
    log = tmp_path / "fit.log"
    log.write_text("it began\nKeyError: 'x'\n")
    stream = io.StringIO()
    handler = console(stream)
    handler.expect({1: ExpectedJob(1.0)})
    start(handler, 1, "fit")
    killed = "RuleException:\nCalledProcessError: Command 'x' died with <Signals.SIGKILL: 9>."
    say(handler, killed, logging.ERROR, event=LogEvent.ERROR)
    lost = "SLURM-job '7' failed, SLURM status is: 'OUT_OF_MEMORY'."
    fail(handler, 1, str(tmp_path / "none.log"), str(log), message=lost)
    said = stream.getvalue()
    assert "SIGKILL" in said
    assert lost in said
    assert "it began\nKeyError: 'x'" in said
    assert "none.log not found" in said


def test_a_job_that_was_tried_again_and_ended_did_not_fail(tmp_path):
    stream = io.StringIO()
    handler = console(stream)
    handler.closing = lambda: ["read this"]
    handler.expect({1: ExpectedJob(1.0)})
    for ends in (lambda: fail(handler, 1, str(tmp_path / "x.log")), lambda: finish(handler, 1)):
        start(handler, 1, "fit")
        ends()
    handler.close()
    handler.close()  # as Snakemake does
    assert stream.getvalue().splitlines()[-1] == "read this"
    assert stream.getvalue().count("read this") == 1
    assert "Failed:" not in stream.getvalue()


def test_a_dry_run_is_in_snakemake_s_own_words():
    ours, theirs = io.StringIO(), io.StringIO()
    for handler in (console(ours, dry=True), console(theirs, dry=True)):
        handler.__class__ = Console if handler.stream is ours else ColorizingTextHandler
        say(handler, "Building DAG of jobs...")
        start(handler, 1, "fit", model="gpt2")
        say(handler, "Job stats:\njob count\n", event=LogEvent.RUN_INFO, stats={})
    strip = re.compile(r"\[.*\]")
    assert strip.sub("", ours.getvalue()) == strip.sub("", theirs.getvalue())
    assert "wildcards: model=gpt2" in ours.getvalue()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'WorkflowError in file "/w/Snakefile", line 53:\nconfig: scale: no.\nMend it.\n'
            '  File "/w/Snakefile", line 53, in <module>',
            "config: scale: no.\nMend it.",
        ),
        (
            'InputFunctionException in rule x in file "/w/r.smk", line 98:\nError:\n'
            "  WorkflowError:\n    unknown model 'gtp2'.\n    Did you mean 'gpt2'?\n"
            'Wildcards:\n  unknown=gtp2\nTraceback:\n  File "/w/r.smk", line 101, in <lambda>',
            "unknown model 'gtp2'.\nDid you mean 'gpt2'?",
        ),
        ("MissingRuleException:\nNo rule to produce x", None),
        ('KeyError in file "/w/r.smk", line 3:\n\'x\'\n  File "/w/r.smk", line 3, in f', None),
        ("WorkflowError:\nFailed to open x", None),
        ("", None),
    ],
)
def test_an_error_that_the_workflow_raises_is_its_message_alone(text, said):
    assert one_message(text) == (text if said is None else said)


@pytest.mark.parametrize("asked", [*USUAL, "handler"])
def test_it_takes_over_unless_other_words_are_asked_for(asked, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    logger = logging.Logger("snakemake")
    stream = ColorizingTextHandler(stream=io.StringIO())
    stream.name = "another" if asked == "handler" else "DefaultStreamHandler"
    file = logging.NullHandler()
    logger.handlers = [file, stream]
    found = take_over(logger, SimpleNamespace(**{**USUAL, asked: True}))
    if asked == "dryrun":
        assert found.dry
        assert logger.handlers == [file, found]
    else:
        assert found is None
        assert logger.handlers == [file, stream]


def test_a_terminal_has_a_bar_below_the_lines_and_jobs_have_none(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "20")
    logger = logging.Logger("snakemake")
    before = ColorizingTextHandler(stream=Terminal(), formatter=DefaultFormatter())
    before.name = "DefaultStreamHandler"
    logger.addHandler(before)
    handler = take_over(logger, SimpleNamespace(**USUAL))
    handler.expect({1: ExpectedJob(3.0), 2: ExpectedJob(1.0)})
    start(handler, 1, "fit")
    finish(handler, 1)
    said = before.stream.getvalue()
    assert re.search(r"\r 75% .*left", said.rpartition("fit")[2])
    monkeypatch.setattr("sys.stderr", Terminal())
    assert Progress(3, "counting", "words").bar.disable
    handler.close()
