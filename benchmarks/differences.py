"""Comparison of all tables of two runs.

    python benchmarks/differences.py BEFORE AFTER

BEFORE and AFTER are folders of runs (each has `results/`), such as checkouts before and after a
change for speed. Tables that are equal to the bit are counted. For each other table, one line gives
the largest difference of a column as a share of that column's largest value (1e-7 is rounding in
float32), and both digests. The share is `inf` if anything except finite numbers differs, or if rows
or columns differ. The exit status is 1 for such a table, or for one that only one run has.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def digest_of(table: pa.Table) -> str:
    """Return ten digits that stand for the values of a table, to the bit."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()[:10]


def difference_of(before: pa.ChunkedArray, after: pa.ChunkedArray) -> float:
    """Return the largest difference of two columns as a share of the first's largest value.

    It is 0 for equal columns, and inf if anything except finite real numbers differs.
    """
    if before.equals(after):
        return 0.0
    if not pa.types.is_floating(before.type) or before.type != after.type:
        return np.inf
    if not before.is_null().equals(after.is_null()):
        return np.inf
    old, new = (np.asarray(column.drop_null(), dtype=float) for column in (before, after))
    largest = np.abs(old).max()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.abs(old - new).max() / largest
    return float(share) if np.isfinite(share) else np.inf


def compare(before: pa.Table, after: pa.Table) -> tuple[float, str]:
    """Return the largest difference over the columns, and the name of that column."""
    if before.column_names != after.column_names:
        return np.inf, f"columns {before.column_names} and {after.column_names}"
    if len(before) != len(after):
        return np.inf, f"{len(before):,} and {len(after):,} rows"
    return max((difference_of(before[name], after[name]), name) for name in before.column_names)


def tables_of(folder: Path) -> dict[str, Path]:
    """Return a run's tables by their paths below its `results/`."""
    results = folder / "results"
    return {path.relative_to(results).as_posix(): path for path in results.rglob("*.parquet")}


def read(path: Path) -> pa.Table:
    """Return a table as its values alone: no provenance, in one piece."""
    return pq.read_table(path).replace_schema_metadata().combine_chunks()


def main() -> None:
    """Print the differences, and exit with 1 if more than real numbers differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("before", type=Path, help="a folder that has results/")
    parser.add_argument("after", type=Path, help="another")
    options = parser.parse_args()
    before, after = tables_of(options.before), tables_of(options.after)
    for folder, tables in ((options.before, before), (options.after, after)):
        if not tables:
            parser.error(f"{folder}: no Parquet file below results/. Name a folder with a run.")
    rows = [(np.inf, name, "only before") for name in before.keys() - after.keys()]
    rows += [(np.inf, name, "only after") for name in after.keys() - before.keys()]
    equal = 0
    for name in sorted(before.keys() & after.keys()):
        old, new = read(before[name]), read(after[name])
        if old.equals(new):
            equal += 1
            continue
        share, what = compare(old, new)
        rows.append((share, name, f"{what}  {digest_of(old)} {digest_of(new)}"))
    print(f"{equal} of {equal + len(rows)} tables are equal to the bit")
    for share, name, what in sorted(rows, reverse=True):
        print(f"{share:7.1e}  {name}  {what}")
    sys.exit(any(np.isinf(share) for share, *_ in rows))


if __name__ == "__main__":
    main()
