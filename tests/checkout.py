"""Running the workflow as a user would, in a copy of the checkout."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd

from lingprob.workflow.digests import KEPT

ROOT = Path(__file__).resolve().parents[1]
PARTS = ["Snakefile", "config.yaml", "rules", "profiles", "report", "envs", "workflow_scripts",
         "studies"]  # fmt: skip


def copy_of_the_checkout(folder: Path) -> Path:
    """Copy the files of the workflow, so that a test may edit them.

    Compiled files are copied as well. They remain valid, because the sources keep their times.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=unfinished)
        elif (ROOT / part).exists():  # the workflow runs without studies
            shutil.copy(ROOT / part, folder / part)
    if (ROOT / KEPT).exists():
        (folder / KEPT.parent).mkdir()
        shutil.copy(ROOT / KEPT, folder / KEPT)
    return folder


def unfinished(folder: str, names: list[str]) -> list[str]:
    """Return files of a folder that another process may be writing or renaming."""
    compiled = (".pyc", ".nbi", ".nbc")
    cached = Path(folder).name == "__pycache__"
    return [n for n in names if cached and (n.startswith(".") or not n.endswith(compiled))]


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Snakemake in `folder` and return output and errors as one text."""
    return subprocess.run(
        command(*arguments), cwd=folder, text=True, env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip


def command(*arguments: str) -> list[str]:
    """The command line that runs this environment's Snakemake on two cores."""
    return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]


def environment() -> dict[str, str]:
    """This process's environment without mirror, hub and number of threads. Idle threads sleep."""
    hidden = ("LINGPROB_MIRROR", "HF_ENDPOINT", "HF_TOKEN", "OMP_NUM_THREADS")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, "PATH": path,
            "OMP_WAIT_POLICY": "passive"}  # fmt: skip


def planned_resources(text: str) -> pd.DataFrame:
    """Read the jobs of a dry run: the `rule`, the `wildcards` and each resource (0 for none)."""
    found = []
    for job in re.split(r"^(?:local)?rule ", text, flags=re.M)[1:]:
        details = dict(re.findall(r"^    (wildcards|resources): (.*)$", job, re.M))
        asked = re.findall(r"(\w+)=(\d+)(?:,|$)", details.get("resources", ""))
        wildcards = details.get("wildcards", "")
        rule = job.partition(":")[0]
        found.append({"rule": rule, "wildcards": wildcards, **{k: int(v) for k, v in asked}})
    return pd.DataFrame(found).fillna(0)


def without_model(rule: str) -> str:
    """Return a rule's name, or one name for all rules that score with one model each."""
    rule = re.sub(r"^score_stimuli_\w+$", "score_stimuli", rule)
    return re.sub(r"^import_.+_for_\w+$", "import_scores", rule)


def planned_jobs(text: str) -> dict[str, int]:
    """Read the job table of a dry run; the rules that score with each model count as one."""
    table = text.split("Job stats:")[-1].split("\n\n")[0]
    found: Counter[str] = Counter()
    for name, count in re.findall(r"^([\w.-]+) +(\d+)$", table, re.M):
        found[without_model(name)] += int(count)
    return dict(found)
