"""Memory and time of the jobs that read large tables, at paper scale's numbers of rows.

    python benchmarks/tables.py [--quick] [JOB ...]

The tables are made up in the formats of the real ones: BLiMP's 67 suites of 1,000 pairs, five kinds
of prefixes of 80 sentences before each pair at ten lengths, and a prefix of each suite before the
pairs of all others (--quick: 20 pairs per suite). Each job runs in its own process, whose peak
memory is read. There is no rival: the peak must stay below the 4 GB that the rule requests.
"""

import argparse
import csv
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "workflow_scripts"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from lingprob.context.names import FROM_SUITE, KINDS, NO_PREFIX  # noqa: E402
from lingprob.io.tables import read_table, table_writer, write_table  # noqa: E402

SUITES, SENTENCES = 67, 80
LENGTHS = (32, 64, 125, 250, 375, 500, 625, 750, 875, 1000)
WORDS = [
    f"{a}{b}"
    for a in ["some", "any", "each", "that", "this", "these"]
    for b in ("", "one", "where")
]
COLUMNS = ("job", "rows", "seconds", "peak_mb")


def main() -> None:
    """Measure the jobs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("jobs", nargs="*", metavar="JOB")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", nargs=2, metavar=("FOLDER", "PAIRS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.jobs[0], Path(options.worker[0]), int(options.worker[1]))
        return
    pairs = 20 if options.quick else 1000
    rows = []
    for name in options.jobs or JOBS:
        with tempfile.TemporaryDirectory() as folder:
            for maker in INPUTS[name]:  # in its own process, because its memory does not count
                run(maker, folder, pairs)
            rows.append([name, *run(name, folder, pairs)])
            print(*rows[-1], sep="\t", flush=True)
    path = ROOT / "results" / "benchmarks" / "tables.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    print(f"tables peak_mb={max(float(row[3]) for row in rows):.0f}")


def run(name: str, folder: str, pairs: int) -> list[str]:
    """Run a worker process; return rows, seconds and peak."""
    command = [sys.executable, __file__, name, "--worker", folder, str(pairs)]
    return subprocess.check_output(command, text=True).split()


def work(name: str, folder: Path, pairs: int) -> None:
    """Do a job and print its time and memory."""
    began = time.perf_counter()
    rows = (JOBS | MAKERS)[name](folder, pairs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(rows, f"{time.perf_counter() - began:.1f}", f"{peak:.0f}")


def suites(pairs: int) -> Iterator[tuple[str, list[str]]]:
    """Names of suites and of their pairs."""
    for suite in range(SUITES):
        name = f"a_name_of_blimp_s_length_{suite:02}"
        yield name, [f"{name}/{pair}" for pair in range(pairs)]


def make_stimuli(folder: Path, pairs: int) -> int:
    """Write BLiMP's 134,000 sentences, more or less."""
    rng = np.random.default_rng(0)
    rows = []
    for suite, names in suites(pairs):
        for name in names:
            words = rng.choice(WORDS, 8)
            for side in ("good", "bad"):
                text = " ".join([*words, side]).capitalize() + "."
                rows.append((f"{name}/{side}", name, side, text, side == "good", suite))
    columns = ["item_id", "pair_id", "condition", "text", "grammatical", "paradigm"]
    table = pd.DataFrame(rows, columns=columns).assign(dataset="blimp", phenomenon="syntax")
    from lingprob.io.schemas import SCHEMAS

    write_table(table.reindex(columns=SCHEMAS["stimuli"].names).assign(language="en"),
                "stimuli", folder / "stimuli.parquet")  # fmt: skip
    return len(table)


def make_prefixes(folder: Path, pairs: int) -> int:
    """Write the prefixes."""
    sentence = "Some people near the window have been telling stories about it."
    text = " ".join([sentence] * SENTENCES)
    ends = [(len(sentence) + 1) * (n + 1) - 1 for n in range(SENTENCES)]
    count = 0
    every = [(suite, names) for suite, names in suites(pairs)]
    with table_writer("context_prefixes", folder / "prefixes.parquet") as write:
        for suite, names in every:
            before: list[tuple[str, str, str | None, str | None, list[str]]] = [
                (f"{kind}/{name}", kind, suite, None, [name]) for name in names for kind in KINDS
            ]
            others = [name for other, of_other in every if other != suite for name in of_other]
            before.append((f"{FROM_SUITE}/{suite}/0", FROM_SUITE, None, suite, others))
            piece = pd.DataFrame(
                before, columns=["prefix_id", "kind", "suite", "source_suite", "pair_ids"]
            )
            sources = [f"{suite}/{n % pairs}/good" for n in range(SENTENCES)]
            piece["source_ids"], piece["char_ends"] = [[x] * len(piece) for x in (sources, ends)]
            write(piece.assign(dataset="blimp", perturbation=None, similarity=None, text=text))
            count += len(piece)
    return count


def scores_of(pairs: int) -> Iterator[pd.DataFrame]:
    """Yield the log-probabilities of both members after every prefix."""
    rng = np.random.default_rng(0)
    every = [(suite, names) for suite, names in suites(pairs)]

    def piece(prefix_ids: list[str], lengths: list[int], names: list[str]) -> pd.DataFrame:
        n = 2 * len(names)
        return pd.DataFrame(
            {
                "prefix_id": np.repeat(np.array(prefix_ids, object), 2),
                "length": np.repeat(lengths, 2),
                "prefix_tokens": np.repeat(lengths, 2),
                "n_sentences": 1 + np.repeat(lengths, 2) // 13,
                "pair_id": np.repeat(np.array(names, object), 2),
                "item_id": [f"{name}/{side}" for name in names for side in ("good", "bad")],
                "region": 0,
                "logprob": rng.normal(-40, 8, n),
                "n_tokens": 12,
            }
        )

    for suite, names in every:
        grid = [
            (f"{kind}/{name}", length, name)
            for name in names
            for kind in KINDS
            for length in LENGTHS
        ]
        yield piece(*map(list, zip(*grid, strict=True)))
        others = [name for other, of_other in every if other != suite for name in of_other]
        ids = [f"{FROM_SUITE}/{suite}/0"] * len(others)
        yield piece(ids, [125] * len(others), others)
    names = [name for _, of_suite in every for name in of_suite]
    yield piece([NO_PREFIX] * len(names), [0] * len(names), names)


def judge_contexts(folder: Path, pairs: int) -> int:
    """As the script of that name, without a model."""
    from lingprob.context.judgments import DESCRIBED, judge

    stimuli = read_table(folder / "stimuli.parquet", "stimuli")
    columns = ["prefix_id", *DESCRIBED]
    prefixes = read_table(folder / "prefixes.parquet", "context_prefixes", columns)
    rows = 0
    with table_writer("context_judgments", folder / "judgments.parquet") as write:
        for scores in scores_of(pairs):
            write(judge("gpt2", "blimp", stimuli, prefixes, scores, []))
            rows += len(scores)
    return rows


def measure_context_overlap(folder: Path, pairs: int) -> int:
    """Run the script of that name, with tokens between spaces."""
    from lingprob.papers.context.overlaps import COLUMNS, overlaps
    from lingprob.papers.context.overlaps import KINDS as COMPARED

    compared = {"kind": COMPARED}
    prefixes = read_table(folder / "prefixes.parquet", "context_prefixes", COLUMNS, compared)
    between, of_prefixes = overlaps(
        read_table(folder / "stimuli.parquet", "stimuli"),
        prefixes,
        lambda texts: [
            np.array([match.span() for match in re.finditer(r"\S+", text)]) for text in texts
        ],
        dataset="blimp",
        sentences=10 * pairs,
        seed=0,
        scale="benchmark",
    )
    write_table(between, "context_overlap", folder / "overlap.parquet")
    write_table(of_prefixes, "context_prefix_overlap", folder / "prefix_overlap.parquet")
    return len(prefixes)


def summarise_context(folder: Path, pairs: int) -> int:
    """As the script of that name, on BLiMP, whose pairs do without perturbed prefixes here."""
    from lingprob.context.judgments import in_categories
    from lingprob.papers.context.analysis import Settings, summarise
    from lingprob.papers.context.statistics import overlap_correlations

    settings: dict[str, Any] = {
        "fewest_pairs": 10,
        "bootstrap": 1000,
        "seed": 0,
        "scale": "benchmark",
    }
    judgments = in_categories(read_table(folder / "judgments.parquet", "context_judgments"))
    tables = summarise(judgments, Settings(**settings))
    overlaps = [read_table(folder / f"{name}.parquet", f"context_{name}")
                for name in ("overlap", "prefix_overlap")]  # fmt: skip
    overlap_correlations(
        judgments, overlaps[1], tables["context_matrix"], overlaps[0], "benchmark", 1000, 0
    )
    return len(judgments)


MAKERS: dict[str, Callable[[Path, int], int]] = {
    "make_stimuli": make_stimuli,
    "make_prefixes": make_prefixes,
}
JOBS: dict[str, Callable[[Path, int], int]] = {
    "judge_contexts": judge_contexts,
    "measure_context_overlap": measure_context_overlap,
    "summarise_context": summarise_context,
}
# The makers of the tables that a job reads, in this order.
INPUTS = {
    "judge_contexts": [*MAKERS],
    "measure_context_overlap": ["make_stimuli", "make_prefixes"],
    "summarise_context": [*MAKERS, "judge_contexts", "measure_context_overlap"],
}

if __name__ == "__main__":
    main()
