"""A study is written as studies/README.md says, and the workflow runs with and without studies."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from checkout import ROOT, copy_of_the_checkout, planned_jobs, planned_resources, snakemake
from lingprob.catalog import parse_yaml

GUIDE = ROOT / "studies/README.md"
SWITCHED_ON = ("--config", "studies=[pair_lengths]", "--", "pair_lengths")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A copy of the checkout with the study that the guide shows, file by file."""
    if not GUIDE.exists():
        pytest.skip("this checkout has no studies")
    folder = copy_of_the_checkout(tmp_path / "lingprob")
    files = re.findall(r"```python\n# (studies/\S+)\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(files) == 3
    for name, text in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_study_reruns_when_its_module_changes(written, tmp_path):
    away = ("--directory", str(tmp_path / "away"))
    done = snakemake(written, *away, *SWITCHED_ON)
    assert done.returncode == 0, done.stdout[-4000:]
    made = tmp_path / "away/results/studies/pair_lengths/demo_minimal_pairs.csv"
    assert list(pd.read_csv(made)) == ["pair_id", "difference"]
    assert "Nothing to be done" in snakemake(written, "-n", *away, *SWITCHED_ON).stdout
    analysis = written / "studies/pair_lengths/analysis.py"
    analysis.write_text(analysis.read_text().replace(".mean()", ".max()"))
    plan = planned_jobs(snakemake(written, "-n", *away, *SWITCHED_ON).stdout)
    assert plan["measure_lengths"] == 1
    assert "build_stimuli" not in plan


def test_plans_have_no_study_that_is_off(written):
    assert "measure_lengths" not in snakemake(written, "-n", "--", "demo").stdout
    missing = snakemake(written, "-n", "--config", "studies=[pair_length]", "--", "all")
    assert missing.returncode != 0
    assert "unknown study 'pair_length'. Did you mean 'pair_lengths'?" in missing.stdout
    shutil.rmtree(written / "studies")
    done = snakemake(written, "-n", "--", "demo")
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("scale", ["demo", "laptop", "paper"])
def test_every_study_is_planned_at_every_scale(checkout, scale):
    names = sorted(path.parent.name for path in ROOT.glob("studies/*/study.smk"))
    if not names:
        pytest.skip("this checkout has no studies")
    config = ["--config", f"studies=[{','.join(names)}]", f"scale={scale}", "missing=stop"]
    if scale == "demo":  # whose overlaps are of another text than its reading times
        config.append('overlap={"texts": ["demo_passages", "demo_reading"]}')
    plan = snakemake(checkout, "-n", *config, "--", *names)
    assert plan.returncode == 0, plan.stdout[-2000:]
    assert {*names} <= {*planned_jobs(plan.stdout)}
    scripts = "".join(path.read_text() for path in ROOT.glob("studies/*/*.py"))
    used = re.findall(r"\bresources\.(\w+)", scripts)
    assert {*used} <= {*planned_resources(plan.stdout)}, "a script's resource has no value"


def test_the_package_names_no_study():
    names = [path.parent.name for path in ROOT.glob("studies/*/study.smk")]
    imported = re.compile(rf"\bstudies\.(\w+\.)|\bstudies/({'|'.join(names) or '(?!)'})\b")
    for path in (ROOT / "workflow_scripts/lingprob").rglob("*.py"):
        found = imported.search(path.read_text(encoding="utf-8"))
        assert found is None or path.name == "digests.py", path


def test_a_study_s_claims_are_its_own():
    """They never count with the sentences of a paper."""
    for path in ROOT.glob("studies/*/claims.yaml"):
        assert all(claim["own"] is True for claim in parse_yaml(path)["claims"]), path


def test_a_study_has_at_most_five_hundred_lines():
    for folder in ROOT.glob("studies/*/"):
        code = [*folder.rglob("*.py"), *folder.rglob("*.smk"), *folder.rglob("*.yaml")]
        lines = [len(one.read_text().splitlines()) for one in code if "test_" not in one.name]
        assert sum(lines) <= 500, folder
        assert (folder / "README.md").exists() or not lines
