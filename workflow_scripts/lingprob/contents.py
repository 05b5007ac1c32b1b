"""What is where in `results/`: the page that a run leaves there.

Read by the Snakefile, so it imports nothing that only a job needs.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

from lingprob.files import write_text

ROW = re.compile(r"^\| (?P<paths>`.+?`) \| (?P<what>.+) \|$", re.MULTILINE)
# A word in capitals, or a number N, stands for a name; ... for all that is below a folder.
STANDS_FOR_A_NAME = re.compile(r"([A-Z][A-Z_]{2,}|(?<=_)N(?=\.)|\.\.\.)")
PAGE = "README.md"


def write_contents(results: Path, table: Path) -> None:
    """Write README.md into a folder of results: the rows of a table whose files are there.

    Args:
        results: the folder; where there is none, nothing is written.
        table: a page in Markdown whose table has a row for each kind of files, their paths below
            `results` first: `FOLDER/NAME.{parquet,csv}`.

    A file counts with the path that says most of its name; what no row tells of is named below.
    """
    if not results.is_dir():
        return
    found = (path.relative_to(results) for path in results.rglob("*") if path.is_file())
    files = [path for path in found if path.name != PAGE and not path.name.startswith(".")]
    text = table.read_text(encoding="utf-8")
    rows = ROW.findall(text)
    kinds = [path for paths, _ in rows for path in re.findall("`([^`]+)`", paths)]
    patterns = [(as_pattern(path), kind) for kind in kinds for path in spelled_out(kind)]
    patterns.sort(key=lambda entry: -_literal(entry[0]))
    counts: Counter[str] = Counter()
    others = set()
    for file in files:
        fitting = (kind for regex, kind in patterns if regex.fullmatch(file.as_posix()))
        if kind := next(fitting, None):
            counts[kind] += 1
        else:
            others.add(file.parts[0] + "/" * (len(file.parts) > 1))
    lines = [text.partition("\n\n| ")[0], "", "| path | files | what a row is |", "|---|---|---|"]
    for paths, what in rows:
        there = [kind for kind in re.findall("`([^`]+)`", paths) if counts[kind]]
        if there:
            named = ", ".join(f"`{kind}`" for kind in there)
            lines.append(f"| {named} | {sum(counts[kind] for kind in there)} | {what} |")
    if others:
        lines += ["", f"Beside these: {', '.join(f'`{name}`' for name in sorted(others))}."]
    write_text("\n".join(lines) + "\n", results / PAGE)


def spelled_out(path: str) -> list[str]:
    """Return the paths that one with braces stands for: `a.{pdf,png}` for `a.pdf` and `a.png`."""
    parts = [part.split(",") for part in re.split(r"[{}]", path)]
    return ["".join(chosen) for chosen in itertools.product(*parts)]


def as_pattern(path: str) -> re.Pattern[str]:
    """Return what the files match that a path stands for."""
    parts = STANDS_FOR_A_NAME.split(path)
    wild = (".+" if part == "..." else "[^/]+" for part in parts[1::2])
    literal = map(re.escape, parts[::2])
    return re.compile("".join(map("".join, itertools.zip_longest(literal, wild, fillvalue=""))))


def _literal(pattern: re.Pattern[str]) -> int:
    return len(pattern.pattern.replace("[^/]+", "").replace(".+", ""))
