"""Shared parts of the scoring benchmarks: worker processes, minicons, float64, the CSV.

Each system runs in its own process with its threads fixed. A worker is a function of the
benchmark's WORKERS that takes (model directory, work, options). It returns the values of
`Clock.read` and `totals`, a sum of ln p for each text. Mapped weights count in each process's
memory.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MIRROR = Path(os.environ.get("LINGPROB_MIRROR", ROOT.parent / "shared" / "mirror"))
MODEL = os.environ.get("LINGPROB_TEST_MODEL", str(ROOT / "resources/models/smollm2-135m/float32"))
START_TOKEN = "<|endoftext|>"
COLUMNS = (
    "task", "system", "size", "seconds", "cpu_seconds", "per_second", "peak_mb",
    "ratio_to_rival", "agreement",
)  # fmt: skip

Workers = Mapping[str, Callable[..., dict[str, Any]]]


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


def start(worker: str, python: str, model: str, work: Any, threads: int = 1, **options: Any) -> Any:
    """Start a worker process of the calling benchmark, and return a handle for `finish`."""
    job = Path(tempfile.mkdtemp()) / "job.json"
    job.write_text(json.dumps([worker, model, work, options]))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = str(threads)
    command = [python, sys.argv[0], "--worker", str(job)]
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


def be_worker(job: Path, workers: Workers) -> None:
    """Do the job and write the measurements next to its description."""
    worker, model, work, options = json.loads(job.read_text())
    job.with_suffix(".out").write_text(json.dumps(workers[worker](model, work, options)))


def options_of(doc: str | None, quick: str, workers: Workers) -> argparse.Namespace | None:
    """Return a benchmark's options, or None for a worker, whose job is done then."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--model", default=MODEL, help="directory of the model")
    parser.add_argument("--rival-python", default=sys.executable, help="where minicons is")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        be_worker(options.worker, workers)
        return None
    if not (Path(options.model) / "config.json").exists():
        raise SystemExit(f"{options.model}: no model there. Run the demo first, or pass --model.")
    return options


def measure_minicons(model: str, texts: list[list[str]], options: dict[str, Any]) -> dict[str, Any]:
    """Score targets after prefixes ('' for none) at the fastest of `options['batch_sizes']`.

    They are taken in the order given. Each text is read from its beginning, as minicons does.
    """
    import torch
    from minicons.scorer import IncrementalLMScorer
    from transformers import AutoModelForCausalLM, AutoTokenizer

    scorer = IncrementalLMScorer(
        AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval(),
        "cpu",
        tokenizer=AutoTokenizer.from_pretrained(model),
    )
    scorer.tokenizer.bos_token = START_TOKEN
    best: dict[str, Any] = {}
    for size in options["batch_sizes"]:
        clock, totals = Clock(), []
        for first in range(0, len(texts), size):
            prefixes, targets = zip(*texts[first : first + size], strict=True)
            summed = {"reduction": lambda x: x.double().sum().item(), "bos_token": True}
            if any(prefixes):
                totals += scorer.conditional_score(list(prefixes), list(targets), **summed)
            else:
                totals += scorer.sequence_score(list(targets), **summed)
        result = {"totals": totals, "batch_size": size, **clock.read()}
        if not best or result["cpu_seconds"] < best["cpu_seconds"]:
            best = result
    return best


def measure_float64(model: str, texts: list[list[str]], _options: dict[str, Any]) -> dict[str, Any]:
    """Score with transformers' forward in float64, texts of one length per batch."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    exact = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float64).eval()
    tokenizer = AutoTokenizer.from_pretrained(model)
    clock, totals = Clock(), [0.0] * len(texts)
    start_id = tokenizer.convert_tokens_to_ids(START_TOKEN)
    alike: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}
    for i, (prefix, target) in enumerate(texts):
        before = len(tokenizer(prefix).input_ids) if prefix else 0
        ids = tokenizer(f"{prefix} {target}" if prefix else target).input_ids
        alike.setdefault((before, len(ids)), []).append((i, [start_id, *ids]))
    for (before, _), group in alike.items():
        for first in range(0, len(group), 32):
            places, fed = zip(*group[first : first + 32], strict=True)
            ids = torch.tensor(fed)
            with torch.no_grad():
                states = exact.base_model(ids[:, :-1])[0][:, before:]
                logprobs = exact.get_output_embeddings()(states).log_softmax(dim=-1)
            sums = logprobs.gather(2, ids[:, before + 1 :, None]).sum(dim=(1, 2))
            for place, value in zip(places, sums.tolist(), strict=True):
                totals[place] = value
    return {"totals": totals, **clock.read()}


def has_minicons(python: str) -> bool:
    """Return whether an interpreter has the rival, and print it if not."""
    there = subprocess.run([python, "-c", "import minicons"], capture_output=True).returncode == 0
    if not there:
        print(f"minicons is missing in {python}: pip install -r benchmarks/requirements.txt")
    return there


def write(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write results/benchmarks/NAME.csv and print its table."""
    output = ROOT / "results" / "benchmarks" / f"{name}.csv"
    output.parent.mkdir(parents=True, exist_ok=True)
    with open(output, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)
    print(f"\n{'task, system':68}{'per s':>8}{'CPU s':>8}{'MB':>7}{'ratio':>7}{'error':>9}")
    for row in rows:
        ratio = f"{row['ratio_to_rival']:.2f}" if "ratio_to_rival" in row else ""
        error = f"{row['agreement']:.1e}" if "agreement" in row else ""
        print(
            f"{row['task'] + ', ' + row['system']:68}{row['per_second']:8.1f}"
            f"{row['cpu_seconds']:8.1f}{row['peak_mb']:7.0f}{ratio:>7}{error:>9}"
        )
