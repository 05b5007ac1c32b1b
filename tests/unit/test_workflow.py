"""The job wrapper, progress lines and near names."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from lingprob.errors import LingprobError, nearest
from lingprob.io.progress import Progress
from lingprob.workflow import job


def ended(tmp_path: Path, error: Exception) -> Path:
    """The log of a rule that an error ends."""
    snakemake = SimpleNamespace(log=[str(tmp_path / "log.txt")], rule="some_rule")
    with pytest.raises(SystemExit) as end, job(snakemake):
        raise error
    assert end.value.code == 1
    return tmp_path / "log.txt"


@pytest.mark.parametrize("said", ["ratings.csv, row 3: no rating.", "two lines:\n  a, b"])
def test_a_log_ends_with_what_the_user_can_fix_after_the_traceback(tmp_path, capfd, said):
    log = ended(tmp_path, LingprobError(said)).read_text()
    assert log.endswith(f" ERROR lingprob: {said}\n")
    assert "Traceback" in log
    assert capfd.readouterr() == ("", "")


def test_any_other_error_has_its_traceback_in_the_log(tmp_path):
    log = ended(tmp_path, ZeroDivisionError("never by nothing"))
    assert "Traceback" in log.read_text()
    assert "ZeroDivisionError: never by nothing" in log.read_text()


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
