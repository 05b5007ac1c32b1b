"""Snakemake can plan every command of README and docs/.

Commands of the API are run in unit/test_python_page.py, README's first ones in test_demo.py.
"""

import itertools
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from checkout import ROOT, copy_of_the_checkout, environment, planned_jobs
from models_for_tests import save_tiny_model

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Values that a reader inserts for words in capitals.
MEANT = {"MODEL": "smollm2-135m", "START_TOKEN": "none", "DATASET": "demo_minimal_pairs"}
# Programs that are no part of this project. Other tests or `.ci/run` check them.
OTHERS = {"cd", "cp", "git", "mypy", "pip", "podman", "pytest", "python", "python3.11", "ruff",
          "snakefmt", "."}  # fmt: skip
ROWS = {"sentence": ["The cat sleeps.", "The cat sleep."] * 20, "rating": [1.0, -1.0] * 20}


def commands(page: Path) -> list[tuple[str, str]]:
    """Return the commands of a page, each with the YAML that its section shows before it."""
    found = []
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M):
        shown = ""
        for kind, block in re.findall(r"```(bash|yaml)\n(.*?)```", section, re.S):
            if kind == "yaml":
                shown += block
                continue
            for line in block.replace("\\\n", " ").splitlines():
                whole = re.sub(r"\s+# .*| -n(?= |$)", "", line)
                found += [(command.strip(), shown) for command in whole.split("&&")]
    return found


ALL = {page: commands(page) for page in PAGES}


def planned() -> Iterator[tuple[str, str]]:
    """Commands that differ in their targets alone, as one with all targets; and their own.yaml."""
    by_options = defaultdict(set)
    for command, shown in itertools.chain(*ALL.values()):
        of_snakemake = re.match(r"(?:\w+=\S+ )?snakemake ((?:[^-\s]\S* )*)(-.*)", command)
        # A rehearsal's folder is written and its runs are planned in test_plans.py.
        if of_snakemake and "--lint" not in command and "../rehearsal" not in command:
            targets, options = of_snakemake.groups()
            options = re.sub(" --report.*", "", options).replace("profiles/slurm", "profiles/here")
            by_options[options, shown if "own.yaml" in options else ""].update(targets.split())
    for (options, shown), targets in sorted(by_options.items()):
        yield f"snakemake {' '.join(sorted(targets))} {options}", shown


def write_own(folder: Path, shown: str) -> None:
    """Write a section's own.yaml, and a file at each path that it names."""
    own = yaml.safe_load(shown)
    (folder / "own.yaml").write_text(shown)
    for entry in [*own.get("models", {}).values(), *own.get("datasets", {}).values()]:
        path = folder / entry.get("path", "own.yaml")
        if not path.suffix:
            save_tiny_model("gpt_neox", path)
        elif path.suffix == ".csv":
            pd.DataFrame(ROWS).to_csv(path, index=False)
        elif not path.exists():
            path.write_text("A cat sleeps.\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with the profile that docs/cluster.md makes."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("pages") / "lingprob")
    profile = (folder / "profiles/slurm/profile.yaml").read_text()
    (folder / "profiles/here").mkdir()
    (folder / "profiles/here/profile.yaml").write_text(profile)
    pd.DataFrame(ROWS).to_csv(folder / "sentences.csv", index=False)
    return folder


@pytest.mark.parametrize(("command", "shown"), [*planned()])
def test_snakemake_plans_what_a_page_asks_it_for(folder, command, shown):
    if "--sdm apptainer" in command and not shutil.which("apptainer"):
        pytest.skip("no apptainer, which the command asks for")
    if shown:
        write_own(folder, shown)
    asked = re.sub(r"\b[A-Z_]+\b(?=[/.])", lambda found: MEANT[found[0]], command)
    done = subprocess.run(
        f"{asked} -n", shell=True, cwd=folder, text=True, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert planned_jobs(done.stdout) or "Nothing to be done" in done.stdout


def test_other_commands_are_known_and_their_files_exist():
    for page, found in ALL.items():
        for command, _ in found:
            program, *words = command.split()
            assert program in OTHERS or re.search(r"\b(snakemake|lingprob)\b", command), page
            for word in words:
                if re.fullmatch(r"(envs|docs|profiles)/[\w/.]+", word):
                    assert (ROOT / word).exists() or word == "profiles/here", f"{page}: {command}"
