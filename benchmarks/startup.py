"""What a job costs before it does any work: Python, imports, and loading the model.

    python benchmarks/startup.py [--quick] [--model DIRECTORY]

Each stage runs in fresh processes (the fastest of three counts; --quick: of two). Plotting and
fitting jobs are to start in under 2 s. There is no rival, so the ratio and agreement are nan.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODEL = os.environ.get("LINGPROB_TEST_MODEL", str(ROOT / "resources/models/smollm2-135m/float32"))
OUTPUT = ROOT / "results" / "benchmarks" / "startup.csv"
COLUMNS = (
    "task", "system", "size", "seconds", "cpu_seconds", "per_second", "peak_mb",
    "ratio_to_rival", "agreement",
)  # fmt: skip
STAGES = {
    "python alone": "pass",
    "plotting job": "import lingprob.workflow, lingprob.io.tables, lingprob.papers.morcela.figures",
    "fitting job": "import lingprob.workflow, lingprob.io.tables, lingprob.stats.linking",
    "scoring job": "import lingprob.workflow, lingprob.io.tables, lingprob.scoring.stimuli",
}
LOAD = "from lingprob.models.loading import load_language_model as load; load({!r}, device='cpu')"


def measure(statement: str) -> dict[str, float]:
    """Run one statement in a fresh process: wall and CPU seconds, peak memory (MB)."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow_scripts")}
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", statement], env=environment,
                               stderr=subprocess.DEVNULL)  # fmt: skip
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"failed: {sys.executable} -c {statement!r}")
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "per_second": 1 / seconds,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def main() -> None:
    """Measure every stage, write the CSV and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two runs a stage instead of three")
    parser.add_argument("--model", default=MODEL, help="directory of the model")
    options = parser.parse_args()
    stages = dict(STAGES)
    if (Path(options.model) / "config.json").exists():
        stages["scoring job, model loaded"] = LOAD.format(options.model)
    else:
        print(f"{options.model}: no model there, so loading one is not measured")
    rows: list[dict[str, Any]] = []
    for system, statement in stages.items():
        runs = [measure(statement) for _ in range(2 if options.quick else 3)]
        best = min(runs, key=lambda run: run["seconds"])
        rows.append({"task": "startup", "system": system, "size": 1, **best})
        print(
            f"{system:28}{best['seconds']:7.2f} s {best['cpu_seconds']:7.2f} CPU s "
            f"{best['peak_mb']:7.0f} MB",
            flush=True,
        )
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with open(OUTPUT, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)
    print(f"startup ratio=nan agreement=nan peak_mb={max(row['peak_mb'] for row in rows):.0f}")


if __name__ == "__main__":
    main()
