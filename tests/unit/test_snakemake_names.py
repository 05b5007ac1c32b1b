"""Snakemake is used by its documented names alone, because others change silently."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkout import ROOT

# What the documentation has: of the workflow, and of what may be imported.
OF_THE_WORKFLOW = ("basedir", "cores", "source_path")
MODULES = ("utils",)
FORBIDDEN = re.compile(
    "|".join(
        [
            rf"(?<![\w./])workflow\.(?!(?:{'|'.join(OF_THE_WORKFLOW)})\b)\w+",
            rf"^[ \t]*(?:from|import) +snakemake\b(?!\.(?:{'|'.join(MODULES)})\b).*",
            r"\b_(?:localrules|workflow|open_jobs)\b",
            # Classes and words of Snakemake's that code could wait for.
            r"\b(?:Missing(?:Rule|Input)Exception|PythonScript|LogEvent)\b",
            r"Building DAG|Finished jobid|non-zero exit status|Nothing to be done",
        ]
    ),
    re.M,
)
FOLDERS = ("rules", "workflow_scripts", "studies")
# Helpers of tests read a plan as a user does, by its table of jobs alone.
HELPERS = ("checkout.py", "loopback.py", "workflow/conftest.py")


def sources() -> list[Path]:
    """The files that Snakemake reads, the package and studies, and helpers of tests."""
    found = [ROOT / "Snakefile", *(ROOT / "tests" / name for name in HELPERS)]
    for folder in FOLDERS:
        found += [path for kind in ("smk", "py") for path in (ROOT / folder).rglob(f"*.{kind}")]
    return [path for path in found if "tests" not in path.relative_to(ROOT).parts[1:]]


def test_no_name_is_used_that_the_documentation_does_not_have():
    paths = sources()
    assert len(paths) > 200
    used = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        for name in FORBIDDEN.findall(path.read_text(encoding="utf-8"))
    }
    assert used == set()


def test_the_snakefile_is_read_in_ten_seconds():
    assert len((ROOT / "Snakefile").read_text(encoding="utf-8").splitlines()) <= 80


@pytest.mark.parametrize(
    "line",
    [
        "workflow.scheduler.resources['gpu'] = 1",
        "for job in workflow.dag.needrun_jobs():",
        "if workflow.is_main_process:",
        "made = rules_of(workflow.rules, files)",
        "from snakemake.logging import logger",
        "    from snakemake.script import PythonScript",
        "from snakemake import dag",
        "import snakemake.assets",
        "graph = api._workflow.dag",
        "if job.rule.name not in workflow._localrules",
        'if "Finished jobid" in line:',
    ],
)
def test_an_undocumented_name_is_found(line):
    assert FORBIDDEN.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "from snakemake.utils import min_version",
        "CHECKOUT = Path(workflow.basedir)",
        'report: "report/workflow.rst"',
        "from lingprob.workflow.start import read_run",
        "with job(snakemake):",
    ],
)
def test_a_documented_name_is_none_of_them(line):
    assert not FORBIDDEN.search(line)
