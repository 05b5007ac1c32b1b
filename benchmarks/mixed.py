"""Seconds and peak memory of linear mixed models, against lme4, glmm and statsmodels, in one run.

    python benchmarks/mixed.py [--quick] [--systems lme4 glmm statsmodels]

The first task is one fit by maximum likelihood of the paper's self-paced reading model (15 variance
parameters) to simulated reading times of the size of Natural Stories: 371,000 rows, 181 subjects
(--quick: 30,000 rows, 40 subjects). Data are in memory, in the format of each system. Our time
includes the pass over the rows. lme4 runs lmer with its bobyqa at default tolerances. The second
task has no rival: 100 fits (20 models on data of five corpora's sizes, in Parquet), loading and
held-out log-likelihoods included. Each system runs in its own process on one thread. Ratios
compare CPU time, because machines are shared. Agreement is the largest deficit of our
log-likelihood from the best rival's (0 if there is none).
"""

import argparse
import csv
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "workflow_scripts"), str(ROOT / "tests")]
OUTPUT = ROOT / "results" / "benchmarks" / "mixed.csv"
COLUMNS = (
    "task", "system", "size", "seconds", "cpu_seconds", "per_second", "peak_mb",
    "ratio_to_rival", "agreement",
)  # fmt: skip
MODELS = 20
# Rows (fit and held-out partitions) and subjects of the paper's table 2; self-paced or not.
CORPORA = {
    "natural_stories": (384_984, 192_826, 181, True),
    "brown": (59_292, 29_671, 35, True),
    "dundee": (98_115, 48_598, 10, False),
    "geco": (144_850, 72_468, 14, False),
    "provo": (52_959, 26_539, 84, False),
}
SLOPE_SD = (90.0, 3.0, 2.0, 2.0, 4.0)
R_SCRIPT = """
suppressMessages({library(lme4); library(jsonlite)})
folder <- commandArgs(TRUE)[1]
job <- fromJSON(file.path(folder, "job.json"))
values <- readBin(file.path(folder, "values.bin"), "double", job$rows * length(job$columns))
data <- as.data.frame(matrix(values, job$rows, dimnames = list(NULL, job$columns)))
spent <- system.time(fit <- lmer(as.formula(job$formula), data, REML = FALSE,
                                 control = lmerControl(optimizer = "bobyqa")))
write_json(list(log_likelihood = as.numeric(logLik(fit)), seconds = spent[["elapsed"]],
                cpu_seconds = spent[["user.self"]] + spent[["sys.self"]]),
           file.path(folder, "result.json"), digits = NA, auto_unbox = TRUE)
"""


class Clock:
    """Wall and CPU seconds since it was made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """Return seconds and cpu_seconds."""
        return {
            "seconds": time.perf_counter() - self.wall,
            "cpu_seconds": time.process_time() - self.cpu,
        }


def fit_ours(rows: int, subjects: int) -> dict[str, Any]:
    """Fit with lingprob, from a frame in memory."""
    from lingprob.stats.linear_mixed.fit import fit_mixed_models
    from mixed_data import SELF_PACED, read, simulated

    frame = simulated(rows, subjects, 1, SLOPE_SD)
    clock = Clock()
    (fit,) = fit_mixed_models(read(frame, [SELF_PACED]), [SELF_PACED])
    return {**clock.read(), "log_likelihood": fit.log_likelihood, "converged": fit.converged}


def fit_lme4(rows: int, subjects: int) -> dict[str, Any]:
    """Fit with R's lme4."""
    import numpy as np

    from mixed_data import SELF_PACED, simulated

    frame = simulated(rows, subjects, 1, SLOPE_SD).astype(float)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "values.bin").write_bytes(np.asfortranarray(frame).tobytes("F"))
        job = {"rows": rows, "columns": list(frame), "formula": SELF_PACED}
        (folder / "job.json").write_text(json.dumps(job))
        (folder / "fit.R").write_text(R_SCRIPT)
        subprocess.run(["Rscript", str(folder / "fit.R"), name], check=True)
        return json.loads((folder / "result.json").read_text())


def fit_glmm(rows: int, subjects: int) -> dict[str, Any]:
    """Fit with the package glmm."""
    import glmm

    from mixed_data import SELF_PACED, simulated

    frame = simulated(rows, subjects, 1, SLOPE_SD)
    frame["subject_id"] = "s" + frame["subject_id"].astype(str)
    clock = Clock()
    fit = glmm.fit(frame, SELF_PACED, reml=False)
    return {**clock.read(), "log_likelihood": float(fit.loglik)}


def fit_statsmodels(rows: int, subjects: int) -> dict[str, Any]:
    """Fit with statsmodels' MixedLM, which takes the random effects apart from the formula."""
    from statsmodels.formula.api import mixedlm

    from mixed_data import SELF_PACED, simulated

    frame = simulated(rows, subjects, 1, SLOPE_SD)
    fixed, _, bar = SELF_PACED.partition(" + (")
    clock = Clock()
    model = mixedlm(fixed, frame, re_formula=bar.split("|")[0], groups=frame["subject_id"])
    fit = model.fit(reml=False)
    return {**clock.read(), "log_likelihood": float(fit.llf)}


def write_corpora(folder: Path, share: float) -> None:
    """Write both partitions of each corpus, with a surprisal and a previous one of each model."""
    import numpy as np

    from mixed_data import simulated

    generator = np.random.default_rng(0)
    for name, (fitted, held_out, subjects, _) in CORPORA.items():
        for partition, rows in (("fit", fitted), ("held_out", held_out)):
            frame = simulated(int(rows * share), subjects, 1, SLOPE_SD).astype("float32")
            frame["subject_id"] = frame["subject_id"].astype(int)
            for model in range(MODELS):
                for column in ("surprisal", "previous_surprisal"):
                    noise = generator.normal(scale=0.1 + 0.05 * model, size=len(frame))
                    frame[f"{column}_{model}"] = frame[column] + noise.astype("float32")
            frame.drop(columns=["surprisal", "previous_surprisal"]).to_parquet(
                folder / f"{name}.{partition}.parquet"
            )


def fit_hundred(folder: str) -> dict[str, Any]:
    """Fit every model to every corpus and evaluate it on held-out data, loading included."""
    clock = Clock()
    import pandas as pd

    from lingprob.stats.linear_mixed.fit import fit_mixed_models
    from mixed_data import EYE_TRACKING, SELF_PACED, read

    values, converged = [], 0
    for name, (*_, self_paced) in CORPORA.items():
        text = SELF_PACED if self_paced else EYE_TRACKING
        formulas = [
            text.replace("unigram_surprisal", "unigrams")
            .replace("surprisal", f"surprisal_{model}")
            .replace("unigrams", "unigram_surprisal")
            for model in range(MODELS)
        ]
        fitted, held_out = (
            pd.read_parquet(Path(folder) / f"{name}.{partition}.parquet")
            for partition in ("fit", "held_out")
        )
        held_out = held_out.sort_values("subject_id").assign(item=0)
        for fit in fit_mixed_models(read(fitted, formulas), formulas):
            values.append(fit.held_out_log_likelihoods(held_out, "item").sum())
            converged += fit.converged
    return {**clock.read(), "fits": len(values), "converged": converged}


WORKERS: dict[str, Callable[..., dict[str, Any]]] = {
    "lingprob": fit_ours,
    "lme4": fit_lme4,
    "glmm": fit_glmm,
    "statsmodels": fit_statsmodels,
    "hundred": fit_hundred,
}


def run(system: str, *arguments: Any) -> dict[str, Any]:
    """Run a worker in a process of its own on one thread; add its peak memory (MB)."""
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    command = [sys.executable, __file__, "--worker", json.dumps([system, *arguments])]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{system} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def work(job: str) -> None:
    """Be the worker: print the measurements."""
    system, *arguments = json.loads(job)
    result = WORKERS[system](*arguments)
    who = resource.RUSAGE_CHILDREN if system == "lme4" else resource.RUSAGE_SELF
    print(json.dumps({**result, "peak_mb": resource.getrusage(who).ru_maxrss / 1024}))


def available(system: str) -> bool:
    """Return whether the rival is installed, and print it if not."""
    if system == "lme4":
        check = ["Rscript", "-e", "library(lme4); library(jsonlite)"]
        found = (
            bool(shutil.which("Rscript"))
            and not subprocess.run(check, capture_output=True).returncode
        )
    else:
        found = importlib.util.find_spec(system) is not None
    if not found:
        print(f"{system} is missing; benchmarks/mixed-requirements.txt says where it comes from")
    return found


def compare(task: str, systems: list[str], size: tuple[int, ...]) -> list[dict[str, Any]]:
    """Run one fit in each system, lingprob first, and return one row for each."""
    table = []
    for system in systems:
        result = run(system, *size)
        table.append({"task": task, "system": system, "size": size[0], **result})
        table[-1]["per_second"] = 1 / result["cpu_seconds"]
        print(f"  {system}: {result['cpu_seconds']:.3f} CPU s, "
              f"log-likelihood {result['log_likelihood']:.6f}", flush=True)  # fmt: skip
    ours, others = table[0], table[1:]
    for row in others:
        row["ratio_to_rival"] = row["cpu_seconds"] / ours["cpu_seconds"]
        row["agreement"] = row["log_likelihood"] - ours["log_likelihood"]
    if others:
        ours["ratio_to_rival"] = others[0]["ratio_to_rival"]
        ours["agreement"] = max(0.0, *(row["agreement"] for row in others))
    return table


def measure(quick: bool, rivals: list[str]) -> list[dict[str, Any]]:
    """Run all tasks and return a row for each system."""
    systems = ["lingprob", *filter(available, rivals)]
    one = (30_000, 40) if quick else (371_000, 181)
    table = compare("one_fit_of_15_variance_parameters", systems, one)
    with tempfile.TemporaryDirectory() as folder:
        write_corpora(Path(folder), 0.1 if quick else 1.0)
        result = run("hundred", folder)
    fits = result["fits"]
    table.append({"task": "fits_with_loading_and_held_out", "system": "lingprob", "size": fits,
                  **result, "per_second": fits / result["cpu_seconds"]})  # fmt: skip
    return table


def write(rows: list[dict[str, Any]]) -> None:
    """Write the CSV and print its table."""
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with open(OUTPUT, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)
    print(f"\n{'task':36}{'system':14}{'size':>8}{'CPU s':>10}{'MB':>7}{'rival/ours':>12}"
          f"{'above ours':>12}")  # fmt: skip
    for row in rows:
        ratio = f"{row['ratio_to_rival']:.0f}" if "ratio_to_rival" in row else ""
        above = f"{row['agreement']:.1e}" if "agreement" in row else ""
        print(f"{row['task']:36}{row['system']:14}{row['size']:8d}{row['cpu_seconds']:10.3f}"
              f"{row['peak_mb']:7.0f}{ratio:>12}{above:>12}")  # fmt: skip


def main() -> None:
    """Parse the command line and run the benchmark or a worker of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, a minute")
    parser.add_argument("--systems", nargs="*", default=["lme4", "glmm", "statsmodels"],
                        help="rivals, of which the first gives the headline ratio")  # fmt: skip
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker)
        return
    rows = measure(options.quick, options.systems)
    write(rows)
    ours, hundred = rows[0], rows[-1]
    print(f"{hundred['size']} fits: {hundred['seconds']:.1f} s, {hundred['cpu_seconds']:.1f} CPU s,"
          f" {hundred['peak_mb']:.0f} MB, {hundred['converged']} converged")  # fmt: skip
    ratio, agreement = (ours.get(name, float("nan")) for name in ("ratio_to_rival", "agreement"))
    print(f"mixed ratio={ratio:.0f} agreement={agreement:.1e} peak_mb={ours['peak_mb']:.0f}")


if __name__ == "__main__":
    main()
