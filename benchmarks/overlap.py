"""Speed and memory of the overlap stage against rusty-dawg, tokengrams and a suffix array.

    pip install -r benchmarks/overlap-requirements.txt
    python benchmarks/overlap.py [--quick] [--sizes 1e6 1e7 1e8]

All systems get the same corpus, rows of 2,049 tokens: `zipf`, drawn by Zipf's law, and `real`, the
mirror's books, speeches and reviews (LINGPROB_MIRROR), lengthened by random stretches of itself if
it is too short. The queries are the mirror's reading-time texts, or a draw. Each measurement is a
process. Times are CPU time, because machines are shared. A ratio is the rival's CPU time for
building its index divided by lingprob's for scanning (or building). A system that would need too
much memory, according to the previous size, is left out with a message.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from lingprob.io.corpora import iter_documents  # noqa: E402
from lingprob.overlap.automaton import build_index  # noqa: E402
from lingprob.overlap.cdawg import ARRAYS, build_cdawg  # noqa: E402
from lingprob.overlap.streaming import scan  # noqa: E402
from lingprob.overlap.token_blocks import (  # noqa: E402
    TokenBlock,
    normalise,
    read_rows,
    read_texts,
    token_ids,
)

MIRROR = Path(os.environ.get("LINGPROB_MIRROR") or ROOT.parent / "shared" / "mirror")
OUTPUT = ROOT / "results" / "benchmarks" / "overlap.csv"
ROW = 2049
MARK = 2**16 - 1  # after each row, for systems that know no rows
VOCABULARY_SIZE = 50_277
N_QUERY_TOKENS = 165_643  # of the paper's five corpora
PAPER_TOKENS = 300e9
MARGIN = 1.5  # of memory, beyond an index's own
STRETCH = 8  # mean length in tokens of stretches that lengthen the real corpus
SCANS = {"scan_5": 5, "scan_12": 12, "scan_all": 1}
OURS = [*SCANS, "cdawg"]
RIVALS = {"rusty_dawg": "rusty-dawg", "tokengrams": "tokengrams", "pydivsufsort": "pydivsufsort"}
TASKS = {
    "scan_5": "matches of 5 tokens and more", "scan_12": "matches of 12 tokens and more",
    "scan_all": "matches of every length", "cdawg": "CDAWG",
}  # fmt: skip
COLUMNS = [
    "task", "system", "rival", "size", "seconds", "cpu_seconds", "per_second", "peak_mb",
    "bytes_per_token", "ratio_to_rival", "agreement",
]  # fmt: skip


def main() -> None:
    """Measure all systems at all sizes, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1M tokens; about a minute")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--corpora", nargs="+", default=["zipf", "real"])
    parser.add_argument("--measure", nargs=2, metavar=("SYSTEM", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], Path(options.measure[1]))))
        return
    rows: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.corpora:
            sources = real_sources() if name == "real" else zipf_sources()
            if sources is None:
                print(f"no mirror at {MIRROR}: the real corpus is left out")
                continue
            bytes_per_token: dict[str, float] = {}
            for size in [1e6] if options.quick else sorted(options.sizes):
                rows += compare(name, int(size), *sources, Path(scratch), bytes_per_token)
    table = pd.DataFrame(rows, columns=COLUMNS)
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(OUTPUT, index=False)
    summarise(table)


def summarise(table: pd.DataFrame) -> None:
    """Print the table, the paper's cost, and the headline."""
    print(table.to_string(index=False, float_format=lambda number: f"{number:.4g}"))
    # The last corpus at its largest size decides.
    last = table[table.task.str.startswith("real") | (not table.task.str.startswith("real").any())]
    last = last[last["size"] == last["size"].max()]

    def row(task: str) -> pd.Series:
        found = last[last.task.str.endswith(TASKS[task])]
        return found.sort_values("rival", key=lambda names: names != RIVALS["rusty_dawg"]).iloc[0]

    for task, what in (("scan_5", "Study 1 with all 143 chunks"), ("scan_12", "chunk selection")):
        hours = PAPER_TOKENS / row(task).per_second / 3600
        print(f"{what} over 300 billion tokens: {hours:.2f} core-hours of matching")
    headline = row("scan_5")
    print(
        f"overlap ratio={headline.ratio_to_rival:.4g} agreement={table.agreement.max():.4g} "
        f"peak_mb={headline.peak_mb:.4g}"
    )


def compare(
    name: str,
    size: int,
    corpus: np.ndarray,
    queries: list[np.ndarray],
    scratch: Path,
    bytes_per_token: dict[str, float],
) -> Iterator[tuple[Any, ...]]:
    """Yield one row for each pair of systems, and note their memory for each token."""
    generator = np.random.default_rng(size)
    tokens = lengthen(corpus, size // ROW * ROW, generator)
    tokens.tofile(scratch / "corpus.bin")
    rows = tokens.reshape(-1, ROW)
    np.column_stack([rows, np.full(len(rows), MARK, np.uint16)]).tofile(scratch / "marked.bin")
    np.savez(scratch / "queries.npz", *queries)
    found = {}
    for system in [*OURS, *RIVALS]:
        if system in RIVALS and importlib.util.find_spec(system) is None:
            print(f"{RIVALS[system]} is not installed: left out")
            continue
        needed = MARGIN * size * bytes_per_token.get(system, 0.0)
        if needed > available_memory():
            print(f"{name}, {size:.0e} tokens, {system}: needs {needed / 1e9:.0f} GB, left out")
            continue
        command = [sys.executable, __file__, "--measure", system, str(scratch)]
        environment = os.environ | {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        if run.returncode:
            print(f"{name}, {size} tokens, {system} failed: {run.stderr.strip()[-300:]}")
            continue
        found[system] = json.loads(run.stdout.splitlines()[-1])
        bytes_per_token[system] = found[system]["bytes_per_token"]
        print(f"{name}, {size:.0e} tokens, {system}: {found[system]['cpu']:.4g} s", flush=True)
    rivals: list[str | None] = [rival for rival in RIVALS if rival in found] or [None]
    for system in [ours for ours in OURS if ours in found]:
        ours = found[system]
        for rival in rivals:
            theirs = found[rival] if rival else None
            rival_cpu = (
                theirs["cpu"] + (theirs["counting"] if system == "cdawg" else 0)
                if theirs
                else np.nan
            )
            yield (
                f"{name}, {TASKS[system]}", "lingprob", RIVALS[rival] if rival else "", size,
                ours["wall"], ours["cpu"], len(tokens) / ours["cpu"], ours["peak_mb"],
                ours["bytes_per_token"], rival_cpu / ours["cpu"],
                difference(ours["matches"], theirs["matches"]) if theirs else np.nan,
            )  # fmt: skip
    for rival in [rival for rival in RIVALS if rival in found]:
        theirs = found[rival]
        yield (
            f"{name}, index", RIVALS[rival], "", size, theirs["wall"], theirs["cpu"],
            len(tokens) / theirs["cpu"], theirs["peak_mb"], theirs["bytes_per_token"], np.nan,
            np.nan,
        )  # fmt: skip


def available_memory() -> int:
    """Return the bytes that new processes can take."""
    with open("/proc/meminfo") as lines:
        fields = dict(line.split(":") for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024


def difference(ours: list[list[int]], theirs: list[list[int]] | None) -> float:
    """Return the largest difference in length or frequency; -1 stands for 'not looked for'."""
    if theirs is None:
        return np.nan
    one, other = np.array(ours), np.array(theirs)
    known = (one >= 0) & (other >= 0)
    return float(np.abs(one - other)[known].max(initial=0))


def zipf_sources() -> tuple[np.ndarray, list[np.ndarray]]:
    """Return tokens drawn by Zipf's law, and queries of the paper's size."""
    generator = np.random.default_rng(0)
    weights = 1 / np.arange(1, 50_001)
    tokens = generator.choice(50_000, 10_000_000, p=weights / weights.sum()).astype(np.uint16)
    queries = generator.choice(50_000, N_QUERY_TOKENS, p=weights / weights.sum())
    return tokens, np.array_split(queries, 158)


def real_sources() -> tuple[np.ndarray, list[np.ndarray]] | None:
    """Return the mirror's texts but for the sources of the stimuli, and the stimuli."""
    if not (MIRROR / "rt_leakage").exists():
        return None
    from transformers import PreTrainedTokenizerFast

    path = MIRROR / "tokenizers" / "gpt-neox-20b" / "20B_tokenizer.json"
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
    books = sorted(p for p in (MIRROR / "gutenberg").glob("*.txt") if p.name != "863-0.txt")
    names = ("abc", "inaugural", "state_union", "webtext", "movie_reviews")
    zips = [MIRROR / "nltk_corpora" / f"{name}.zip" for name in names]
    texts = [*iter_documents("gutenberg", books), *iter_documents("nltk_zip", zips)]
    tokens = np.concatenate([block.tokens for block in read_texts(texts, tokenizer)])
    queries = token_ids(tokenizer, list(map(normalise, stimuli())))
    return tokens.astype(np.uint16), [np.array(ids) for ids in queries]


def stimuli() -> list[str]:
    """Return the reading-time texts, with articles of WikiText instead of Dundee's 67."""

    def joined(path: str, text: str, word: str, **options: Any) -> list[str]:
        table = pd.read_csv(MIRROR / path, keep_default_na=False, **options)
        key = table[text].astype(str).str.split("-").str[0]
        return [" ".join(words) for _, words in table[word].groupby(key, sort=False)]

    tab = {"sep": "\t", "quoting": 3}
    wiki = " ".join(iter_documents("lines", [MIRROR / "wikitext" / "wikitext103_test.txt"]))
    words = wiki.split()
    provo = pd.read_csv(MIRROR / "provo" / "provo_items.tsv", sep="\t")
    return [
        *joined("brown_spr/brown_words_mean_rt.derived.tsv", "docid", "word", **tab),
        *joined("natural_stories/naturalstories_RTS/all_stories.tok", "item", "word", **tab),
        *joined("geco/EnglishMaterial_corrected.csv", "WORD_ID", "WORD"),
        *provo.text.dropna().astype(str),
        *(" ".join(words[i * 750 : (i + 1) * 750]) for i in range(67)),
    ]


def lengthen(tokens: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    """Return `size` tokens: the first, and random stretches of them if there are too few."""
    parts, missing = [tokens[:size]], size - len(tokens)
    while missing > 0:
        lengths = generator.geometric(1 / STRETCH, 100_000)
        starts = generator.integers(0, len(tokens) - lengths.max(), len(lengths))
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        parts.append(tokens[np.repeat(starts, lengths) + within][:missing])
        missing -= len(parts[-1])
    return np.concatenate(parts)


def measure(system: str, folder: Path) -> dict[str, Any]:
    """Run one system in this process and return its times, memory and matches."""
    with np.load(folder / "queries.npz") as archive:
        queries = [archive[name] for name in archive.files]
    return (measure_ours if system in OURS else measure_rival)(system, folder, queries)


def timed(work: Callable[[], Any], at_least: float = 0.0) -> tuple[Any, dict[str, float]]:
    """Run once, or until a number of CPU seconds have passed, and return the times of one run."""
    Path("/proc/self/clear_refs").write_text("5")  # forget earlier peaks
    before = resident("VmRSS")
    wall, cpu, runs = time.perf_counter(), time.process_time(), 0
    while runs == 0 or time.process_time() - cpu < at_least:
        result = work()
        runs += 1
    times = {"wall": (time.perf_counter() - wall) / runs, "cpu": (time.process_time() - cpu) / runs}
    return result, times | {"peak_mb": resident("VmHWM") - before}


def resident(field: str) -> float:
    """Return a field of this process's memory in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return np.nan


def measure_ours(system: str, folder: Path, queries: list[np.ndarray]) -> dict[str, Any]:
    """Scan or build; the index of the queries counts in the memory."""
    facts: dict[str, Any] = {"tokenizer_hash": "t"}

    first = [TokenBlock(np.arange(9, dtype=np.uint16), np.array([0, 9]))]  # to compile

    def rows() -> Any:
        return read_rows(folder / "corpus.bin", row_length=ROW)

    def index() -> Any:
        return build_index(queries, vocabulary_size=VOCABULARY_SIZE, **facts)

    def graph(blocks: Any) -> Any:
        return build_cdawg(blocks, vocabulary_size=VOCABULARY_SIZE, **facts)

    if system == "cdawg":
        graph(first)
        built, times = timed(lambda: graph(block_copies(rows())))
        offsets = np.cumsum([0, *map(len, queries)])
        matches = built.longest_matches(np.concatenate(queries), offsets, **facts)
        size = sum(getattr(built, name).nbytes for name in ARRAYS) / len(built.text)
        return times | {"bytes_per_token": size, "matches": np.array(matches).tolist()}
    least = SCANS[system]

    def scanned(passages: Any, blocks: Any) -> Any:
        return scan(passages, blocks, file="all", min_length=least, **facts)

    scanned(build_index([np.arange(9)], vocabulary_size=VOCABULARY_SIZE, **facts), first)
    before = resident("VmRSS")
    passages = index()
    held = resident("VmRSS") - before
    longest, times = timed(lambda: scanned(passages, rows()), at_least=1.0)
    times["peak_mb"] += held
    found = np.array([longest.lengths, longest.frequencies], dtype=np.int64)
    matches = np.where(found[0] >= least, found, -1)
    return times | {"bytes_per_token": 0.0, "matches": matches.tolist()}


def block_copies(blocks: Any) -> Iterator[Any]:
    """Copy each block, since `read_rows` writes the next into the same memory."""
    for block in blocks:
        yield type(block)(block.tokens.copy(), block.offsets)


def measure_rival(system: str, folder: Path, queries: list[np.ndarray]) -> dict[str, Any]:
    """Build a rival's index, and look up queries to compare the matches."""
    marked = np.fromfile(folder / "marked.bin", dtype=np.uint16)
    if system == "tokengrams":
        import tokengrams

        path = str(folder / "marked.bin")
        _, times = timed(lambda: tokengrams.InMemoryIndex.from_token_file(path, vocab=2**16))
        return times | {
            "bytes_per_token": times["peak_mb"] * 2**20 / len(marked),
            "matches": None,
            "counting": 0.0,
        }
    if system == "pydivsufsort":
        import pydivsufsort

        _, times = timed(lambda: pydivsufsort.divsufsort(marked))
        return times | {
            "bytes_per_token": times["peak_mb"] * 2**20 / len(marked),
            "matches": None,
            "counting": 0.0,
        }
    import rusty_dawg

    number = list(range(2**16))  # one object an id, so that the list itself stays small
    tokens = [number[token] for token in marked]

    def build() -> Any:
        graph = rusty_dawg.Cdawg(tokens)
        graph.build()
        return graph

    graph, times = timed(build)
    start = time.process_time()
    graph.fill_counts()  # included when our CDAWG is compared, because its time includes counts
    counting = time.process_time() - start
    matches: list[tuple[int, int]] = []
    for query in queries:
        place = graph.get_initial()
        for token in query.tolist():
            place = graph.transition_and_count(place, token)
            length = place.get_length()
            matches.append((length, graph.get_suffix_count(place) if length else 0))
    facts = {"matches": np.array(matches).T.tolist(), "counting": counting}
    return times | facts | per_token(times, marked)


def per_token(times: dict[str, float], marked: np.ndarray) -> dict[str, float]:
    """Return the peak memory a token."""
    return {"bytes_per_token": times["peak_mb"] * 2**20 / len(marked)}


if __name__ == "__main__":
    main()
