"""The job wrapper, progress lines and near names."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from lingprob.errors import LingprobError, nearest
from lingprob.progress import Progress
from lingprob.workflow import job


def test_a_mendable_problem_is_one_message_without_a_traceback(tmp_path, capsys):
    snakemake = SimpleNamespace(log=[str(tmp_path / "log.txt")], rule="some_rule")
    with pytest.raises(SystemExit) as ended, job(snakemake):
        raise LingprobError("ratings.csv, row 3: no rating.")
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "rule some_rule: ratings.csv, row 3: no rating." in said
    assert "Traceback" not in said
    assert "Traceback" in (tmp_path / "log.txt").read_text()


def test_any_other_error_keeps_its_traceback(tmp_path):
    snakemake = SimpleNamespace(log=[str(tmp_path / "log.txt")], rule="some_rule")
    with pytest.raises(ZeroDivisionError), job(snakemake):
        _ = 1 / 0
    assert "ZeroDivisionError" in (tmp_path / "log.txt").read_text()


def test_a_log_gets_plain_lines_with_a_rate(caplog):
    with (
        caplog.at_level(logging.INFO, logger="lingprob"),
        Progress(10, "counting", "words", log_seconds=0.0) as progress,
    ):
        progress.resume_at(4)
        progress.advance(3)
    assert "counting: 7/10 words" in caplog.text
    assert "words/s" in caplog.text


def test_nearest_names_prefers_those_that_contain_the_text():
    known = ["demo_minimal_pairs", "linguistic_inquiry", "gutenberg"]
    assert nearest("demo", known)[0] == "demo_minimal_pairs"
    assert nearest("Linguistics_Inquiry", known)[0] == "linguistic_inquiry"
