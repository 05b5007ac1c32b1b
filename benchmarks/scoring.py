"""Sentences a second and peak memory of scoring, against minicons, in one run.

    python benchmarks/scoring.py [--quick] [--model DIRECTORY] [--rival-python PYTHON]

The work: total ln p of the 1,450 Linguistic Inquiry sentences (--quick: 200 of them) under
SmolLM2-135M in float32 on a CPU, after <|endoftext|>. Each system runs in a process of its own
with its threads fixed. minicons runs at its best batch size, found on a sample; the second
minicons row sorts its input by length, which it does not do by itself. A ratio of systems on
one thread compares CPU time, since machines are shared; on two cores, wall time (minicons on
one thread or on two, whichever was faster). Mapped weights count in each process's memory.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MIRROR = Path(os.environ.get("LINGPROB_MIRROR", ROOT.parent / "shared" / "mirror"))
MODEL = os.environ.get("LINGPROB_TEST_MODEL", str(ROOT / "resources/models/smollm2-135m"))
OUTPUT = ROOT / "results" / "benchmarks" / "scoring.csv"
CONTEXT = "<|endoftext|>"
BATCH_SIZES = (1, 2, 4, 8, 16, 32)
COLUMNS = (
    "task", "system", "size", "seconds", "cpu_seconds", "per_second", "peak_mb",
    "ratio_to_rival", "agreement",
)  # fmt: skip


def measure_ours(model: str, texts: list[str], _options: dict[str, Any]) -> dict[str, Any]:
    """Score with lingprob as the workflow does; model loading is not counted."""
    sys.path.insert(0, str(ROOT / "workflow_scripts"))
    import numpy as np

    from lingprob.models.loading import load_language_model
    from lingprob.scoring.engine import score_sequences

    language_model = load_language_model(model, device="cpu", dtype="float32")
    clock = Clock()
    sequences = [tokens.ids for tokens in language_model.tokenize(texts)]
    scored = score_sequences(language_model, sequences, language_model.context_id(CONTEXT))
    totals = [float(logprobs.sum(dtype=np.float64)) for logprobs in scored]
    return {"totals": totals, **clock.read()}


def measure_minicons(model: str, texts: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Score with minicons in batches of the first or the fastest of `options['batch_sizes']`."""
    import torch
    from minicons.scorer import IncrementalLMScorer
    from transformers import AutoModelForCausalLM, AutoTokenizer

    scorer = IncrementalLMScorer(
        AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval(),
        "cpu",
        tokenizer=AutoTokenizer.from_pretrained(model),
    )
    scorer.tokenizer.bos_token = CONTEXT
    order = list(range(len(texts)))
    if options.get("sort"):
        order.sort(key=lambda i: len(scorer.tokenizer(texts[i]).input_ids), reverse=True)
    best: dict[str, Any] = {}
    for size in options["batch_sizes"]:
        clock = Clock()
        totals = [0.0] * len(texts)
        for first in range(0, len(texts), size):
            places = order[first : first + size]
            scores = scorer.sequence_score(
                [texts[i] for i in places],
                reduction=lambda x: x.double().sum().item(),
                bos_token=True,
            )
            for i, score in zip(places, scores, strict=True):
                totals[i] = score
        result = {"totals": totals, "batch_size": size, **clock.read()}
        if not best or result["cpu_seconds"] < best["cpu_seconds"]:
            best = result
    return best


class Clock:
    """Wall and CPU seconds since it was made, and the process's peak memory (MB)."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """Return seconds, cpu_seconds and peak_mb."""
        return {
            "seconds": time.perf_counter() - self.wall,
            "cpu_seconds": time.process_time() - self.cpu,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


WORKERS = {"ours": measure_ours, "minicons": measure_minicons}


def start(
    system: str, python: str, model: str, texts: list[str], threads: int, **options: Any
) -> Any:
    """Start a worker process; give what this returns to `finish`."""
    job = Path(tempfile.mkdtemp()) / "job.json"
    job.write_text(json.dumps([system, model, texts, options]))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = str(threads)
    command = [python, __file__, "--worker", str(job)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    return process, job


def finish(started: Any) -> dict[str, Any]:
    """Wait for a worker and return its measurements."""
    process, job = started
    _, errors = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(process.args)} failed:\n{errors}")
    return json.loads(job.with_suffix(".out").read_text())


def work(job: Path) -> None:
    """Be the worker: do the job and leave the measurements beside its description."""
    system, model, texts, options = json.loads(job.read_text())
    job.with_suffix(".out").write_text(json.dumps(WORKERS[system](model, texts, options)))


def read_texts(quick: bool) -> list[str]:
    """Return the sentences, pairs together; every seventh pair or so if `quick`."""
    path = MIRROR / "linguistic_inquiry" / "linguistic_inquiry_data.csv"
    if not path.exists():
        raise SystemExit(f"{path}: not found. Set LINGPROB_MIRROR to the data mirror.")
    with open(path, newline="", encoding="utf-8") as stream:
        pairs = [(row["Good Sentence"], row["Bad Sentence"]) for row in csv.DictReader(stream)]
    pairs = pairs[:: len(pairs) // 100][:100] if quick else pairs
    return [text for pair in pairs for text in pair]


def measure_all(
    model: str, texts: list[str], rival_python: str, quick: bool
) -> list[dict[str, Any]]:
    """Run every system and return a row each, with ratios and agreement filled in."""
    task, ours_python = "total_logprob_of_linguistic_inquiry", sys.executable
    rows: list[dict[str, Any]] = []

    def add(system: str, result: dict[str, Any]) -> dict[str, Any]:
        rows.append({"task": task, "system": system, "size": len(texts), **result})
        rows[-1]["per_second"] = len(texts) / result["seconds"]
        print(f"  {system}: {rows[-1]['per_second']:.1f} sentences/s", flush=True)
        return rows[-1]

    one = add(
        "lingprob, 1 process of 1 thread", finish(start("ours", ours_python, model, texts, 1))
    )
    halves = [start("ours", ours_python, model, texts[half::2], 1) for half in (0, 1)]
    results = [finish(half) for half in halves]
    two = add(
        "lingprob, 2 processes of 1 thread",
        {
            "seconds": max(result["seconds"] for result in results),
            "cpu_seconds": sum(result["cpu_seconds"] for result in results),
            "peak_mb": sum(result["peak_mb"] for result in results),
        },
    )
    if subprocess.run([rival_python, "-c", "import minicons"], capture_output=True).returncode:
        print(f"minicons is missing in {rival_python}: pip install -r benchmarks/requirements.txt")
        return rows
    sample = texts[:: max(1, len(texts) // (30 if quick else 100))]
    tuned = finish(start("minicons", rival_python, model, sample, 1, batch_sizes=BATCH_SIZES))
    size = tuned["batch_size"]

    def rival(name: str, threads: int, **options: Any) -> dict[str, Any]:
        return add(name, finish(start("minicons", rival_python, model, texts, threads, **options)))

    theirs = rival(f"minicons, batch size {size}, 1 thread", 1, batch_sizes=[size])
    one["ratio_to_rival"] = theirs["cpu_seconds"] / one["cpu_seconds"]
    if not quick:
        both = rival(f"minicons, batch size {size}, 2 threads", 2, batch_sizes=[size])
        two["ratio_to_rival"] = min(both["seconds"], theirs["seconds"]) / two["seconds"]
        rival("minicons, input sorted by length, batch size 32, 1 thread", 1,
              batch_sizes=[32], sort=True)  # fmt: skip
    pairs = zip(one["totals"], theirs["totals"], strict=True)
    one["agreement"] = max(abs(ours - rivals) for ours, rivals in pairs)
    return rows


def write(rows: list[dict[str, Any]]) -> None:
    """Write the CSV and print its table."""
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with open(OUTPUT, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)
    print(f"\n{'system':60}{'per s':>8}{'CPU s':>8}{'MB':>7}{'ratio':>7}")
    for row in rows:
        ratio = f"{row['ratio_to_rival']:.2f}" if "ratio_to_rival" in row else ""
        print(
            f"{row['system']:60}{row['per_second']:8.1f}{row['cpu_seconds']:8.1f}"
            f"{row['peak_mb']:7.0f}{ratio:>7}"
        )


def main() -> None:
    """Parse the command line and run the benchmark or a worker of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="200 sentences, about a minute")
    parser.add_argument("--model", default=MODEL, help="directory of the model")
    parser.add_argument("--rival-python", default=sys.executable, help="where minicons is")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker)
        return
    if not (Path(options.model) / "config.json").exists():
        raise SystemExit(f"{options.model}: no model there. Run the demo first, or pass --model.")
    texts = read_texts(options.quick)
    rows = measure_all(options.model, texts, options.rival_python, options.quick)
    write(rows)
    ratio = rows[0].get("ratio_to_rival", float("nan"))
    agreement = rows[0].get("agreement", float("nan"))
    print(f"scoring ratio={ratio:.2f} agreement={agreement:.1e} peak_mb={rows[0]['peak_mb']:.0f}")


if __name__ == "__main__":
    main()
