"""Reports of benchmarks/differences.py about two runs' tables, by hand."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import differences
from checkout import ROOT


def column(*values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


def run(tmp_path, before, after):
    """Write the tables of two runs, and return the report and the exit status."""
    for run_of, tables in (("before", before), ("after", after)):
        for name, table in tables.items():
            path = tmp_path / run_of / "results" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(table).replace_schema_metadata({"run": run_of}), path)
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/differences.py", "before", "after"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr, done.returncode


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        (column(1.0, None, -4.0), column(1.0, None, -4.0), 0),
        (column(1.0, None, -4.0), column(1.5, None, -4.0), 0.125),
        (column(1.0, -4.0), column(1.0, 4.0), 2),  # a sign
        (column(1.0, None), column(1.0, 0.0), np.inf),
        (column(0.0), column(1e-9), np.inf),  # no share of nothing
        (column(1.0), column(np.nan), np.inf),
        (column(1, 2), column(1, 3), np.inf),  # a count is never rounded
        (column("a"), column("b"), np.inf),
        (column([1.0]), column([2.0]), np.inf),
        (column(1.0), column(1.0, kind=pa.float32()), np.inf),
    ],
)
def test_differences_are_shares_of_the_largest_value(before, after, share):
    assert differences.difference_of(before, after) == share


def test_the_most_different_column_is_named(tmp_path):
    before = {"fits/a.parquet": {"n": [3, 3], "estimate": [2.0, 1.0], "std_error": [1.0, 1.0]}}
    after = {"fits/a.parquet": {"n": [3, 3], "estimate": [2.0, 1.5], "std_error": [1.0, 1.125]}}
    printed, status = run(tmp_path, before, after)
    first, line = printed.splitlines()
    assert first == "0 of 1 tables are equal to the bit"
    assert line.split()[:3] == ["2.5e-01", "fits/a.parquet", "estimate"]
    assert len({*line.split()[3:]}) == 2, "two digests that differ"
    assert status == 0


def test_rows_of_only_one_run_are_no_rounding(tmp_path):
    before = {"a.parquet": {"x": [1.0]}, "b.parquet": {"x": [1.0]}, "c.parquet": {"x": [1.0]}}
    after = {"a.parquet": {"x": [1.0]}, "b.parquet": {"x": [1.0, 1.0]}, "d.parquet": {"x": [1.0]}}
    printed, status = run(tmp_path, before, after)
    assert printed.startswith("1 of 4 tables are equal to the bit\n")
    assert [line.split()[:2] for line in printed.splitlines()[1:]] == [
        ["inf", "d.parquet"], ["inf", "c.parquet"], ["inf", "b.parquet"],
    ]  # fmt: skip
    assert "b.parquet  1 and 2 rows" in printed
    assert status == 1


def test_a_folder_without_a_run_is_named(tmp_path):
    printed, status = run(tmp_path, {"a.parquet": {"x": [1.0]}}, {})
    assert "after: no Parquet file below results/." in printed
    assert status == 2
