"""The page that says what is where."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from checkout import ROOT
from lingprob.contents import as_pattern, spelled_out, write_contents
from lingprob.ending import what_to_open

TABLE = """# results

Made by the workflow.

| path | what a row is |
|---|---|
| `fits/MODEL.{parquet,csv}`, `fits/curves/MODEL.parquet` | a fit; a point |
| `fits/all.{parquet,csv}` | the same of all models |
| `fits/figure_N.{pdf,png}` | figures |
| `sums/SOURCE/SHARD-of-SHARDS.parquet` | a shard |
| `index/CORPUS/...` | an index |
| `never.csv` | nothing |
"""


def rows(folder: Path, *files: str) -> tuple[list[list[str]], str]:
    """The rows of the page on a folder with these files, and what stands below them."""
    for file in files:
        (folder / "results" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "results" / file).touch()
    (folder / "table.md").write_text(TABLE)
    write_contents(folder / "results", folder / "table.md")
    head, _, table = (folder / "results/README.md").read_text().partition("|---|---|---|\n")
    assert head.startswith("# results\n\nMade by the workflow.\n\n| path | files |")
    body = [row for row in table.splitlines() if row.startswith("|")]
    below = table.rpartition("|\n")[2].strip()
    return [re.split(r" ?\| ?", row)[1:-1] for row in body], below


def test_what_is_there_has_its_line_and_counts_where_most_of_its_name_is_said(tmp_path):
    found, below = rows(
        tmp_path, "fits/gpt2.parquet", "fits/gpt2.csv", "fits/all.csv", "fits/figure_12.pdf",
        "sums/pile/0-of-2.parquet", "sums/pile/1-of-2.parquet", "index/c4/a/b.bin",
        "fits/.hidden.csv",
    )  # fmt: skip
    assert found == [
        ["`fits/MODEL.{parquet,csv}`", "2", "a fit; a point"],
        ["`fits/all.{parquet,csv}`", "1", "the same of all models"],
        ["`fits/figure_N.{pdf,png}`", "1", "figures"],
        ["`sums/SOURCE/SHARD-of-SHARDS.parquet`", "2", "a shard"],
        ["`index/CORPUS/...`", "1", "an index"],
    ]
    assert below == ""
    again, below = rows(tmp_path, "fits/curves/gpt2.parquet")
    assert below == ""  # the page that was there already is no file of the run's
    assert again[0][:2] == ["`fits/MODEL.{parquet,csv}`, `fits/curves/MODEL.parquet`", "3"]


def test_what_no_row_tells_of_is_named(tmp_path):
    found, below = rows(tmp_path, "report.html", "mine/a.csv", "mine/b.csv", "fits/x/y/z.parquet")
    assert found == []
    assert below == "Beside these: `fits/`, `mine/`, `report.html`."


def test_a_run_ends_with_the_pages_that_it_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["snakemake"])
    pages = [tmp_path / "results" / "profiles" / name for name in ("old.html", "new.html")]
    pages[0].parent.mkdir(parents=True)
    for page, time in zip(pages, (100, 300), strict=True):
        page.touch()
        os.utime(page, (time, time))
    (line,) = what_to_open(200.0)
    assert line.startswith("Open in a browser: results/profiles/new.html; what is where: ")


def test_without_results_there_is_no_page(tmp_path):
    write_contents(tmp_path / "none", tmp_path / "table.md")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("path", "spelled"),
    [("a.csv", ["a.csv"]), ("{a,b}/c.{d,e}", ["a/c.d", "a/c.e", "b/c.d", "b/c.e"])],
)
def test_braces_are_spelled_out(path, spelled):
    assert spelled_out(path) == spelled


def test_every_table_in_the_workflow_s_own_list_is_a_path():
    kinds = re.findall(r"^\| (`.+?`) \|", (ROOT / "report/results.md").read_text(), re.M)
    paths = [path for kind in kinds for one in re.findall("`([^`]+)`", kind)
             for path in spelled_out(one)]  # fmt: skip
    assert len(paths) > 100
    for path in paths:
        example = re.sub(r"[A-Z][A-Z_]{2,}", "some-name", path).replace("_N.", "_7.")
        assert as_pattern(path).fullmatch(example.replace("...", "x/y.z"))
        assert "{" not in path
        assert "/" in path or "." in path
