"""CPU time before any work: reading the Snakefile, and scoring one sentence from a shell.

    python benchmarks/startup.py [--quick] [--model DIRECTORY]

The rivals, in the same run, are a Snakefile with one rule, and a bare transformers script that
loads the same model and scores the same sentence. Of several runs the fastest counts. The ratio is
our CPU seconds to those of transformers, and agreement the difference of the two scores in nats.
"""

import argparse
import csv
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODEL = os.environ.get("LINGPROB_TEST_MODEL", str(ROOT / "resources/models/smollm2-135m/float32"))
OUTPUT = ROOT / "results" / "benchmarks" / "startup.csv"
SENTENCE = "The cat sat on the mat."
ONE_RULE = "rule one:\n    output: 'one.txt'\n    shell: 'touch one.txt'\n"
CLI = "import sys; from lingprob.api.cli import main; sys.exit(main())"
BARE = """
import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
ids = tokenizer(tokenizer.bos_token + sys.argv[2], return_tensors="pt").input_ids
with torch.no_grad():
    logprobs = model(ids).logits[0, :-1].double().log_softmax(-1)
print(float(logprobs.gather(1, ids[0, 1:, None]).sum()))
"""


def measure(command: list[str], folder: Path, runs: int) -> tuple[dict[str, float], str]:
    """Return wall and CPU seconds of the fastest of several runs, and the output of the last."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow_scripts")}
    best = {"seconds": float("inf"), "cpu_seconds": float("inf")}
    for _ in range(runs):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"failed: {command}\n{done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if cpu < best["cpu_seconds"]:
            best = {"seconds": time.perf_counter() - began, "cpu_seconds": cpu}
    return best, done.stdout


def main() -> None:
    """Measure both tasks, write the CSV and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two runs instead of five")
    parser.add_argument("--model", default=MODEL, help="directory of the model")
    options = parser.parse_args()
    runs, model = 2 if options.quick else 5, str(Path(options.model).resolve())
    snakemake = [sys.executable, "-m", "snakemake", "-n", "-q", "all", "--cores", "1"]
    score = [sys.executable, "-c", CLI, "score", "one.csv", "--model", model, "--device", "cpu"]
    commands = {
        ("snakefile", "lingprob"): [*snakemake, "--snakefile", str(ROOT / "Snakefile")],
        ("snakefile", "one rule"): [*snakemake, "--snakefile", "one.smk"],
    }
    if (Path(model) / "config.json").exists():
        commands["score", "lingprob"] = score
        commands["score", "transformers"] = [sys.executable, "-c", BARE, model, SENTENCE]
    else:
        print(f"{model}: no model there, so scoring is not measured")
    rows: list[dict[str, Any]] = []
    printed = {}
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "one.smk").write_text(ONE_RULE)
        (Path(scratch) / "one.csv").write_text(f"sentence\n{SENTENCE}\n")
        for (task, system), command in commands.items():
            found, printed[task, system] = measure(command, Path(scratch), runs)
            rows.append({"task": task, "system": system, **found})
            print(
                f"{task:10}{system:14}{found['seconds']:7.2f} s {found['cpu_seconds']:7.2f} CPU s"
            )
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with open(OUTPUT, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["task", "system", "seconds", "cpu_seconds"])
        writer.writeheader()
        writer.writerows(rows)
    ratio = agreement = float("nan")
    if ("score", "lingprob") in printed:
        ratio = rows[2]["cpu_seconds"] / rows[3]["cpu_seconds"]
        (scored,) = csv.DictReader(io.StringIO(printed["score", "lingprob"]))
        agreement = abs(float(scored["logprob"]) - float(printed["score", "transformers"]))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"startup ratio={ratio:.2f} agreement={agreement:.1e} peak_mb={peak:.0f}")


if __name__ == "__main__":
    main()
