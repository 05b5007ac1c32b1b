"""What a run starts with: the user's own files, and the configuration files that are named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkout import ROOT
from lingprob.errors import LingprobError
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.start import check_own_paths, named_configfiles, read_run

TABLE = {"title": "T", "kind": "stimuli", "parser": "table"}
CORPUS = {"title": "C", "kind": "corpus", "parser": "text"}
MODEL = {"title": "M", "family": "mine", "source": "local"}
SCORES = {"title": "S", "family": "mine", "source": "scores", "level": "token"}
SURPRISALS = {**SCORES, "level": "word", "paths": {"provo": "p.csv"}}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("config", "option", "path"),
    [
        ({"datasets": {"own": {**TABLE, "path": "t.csv"}}}, "datasets.own.path", "t.csv"),
        ({"models": {"own": {**MODEL, "path": "model"}}}, "models.own.path", "model"),
        ({"models": {"own": {**SCORES, "path": "s.csv"}}}, "models.own.path", "s.csv"),
        ({"models": {"own": SURPRISALS}}, "models.own.paths.provo", "p.csv"),
        ({"overlap": {"ngrams": "n/5.kenlm"}}, "overlap.ngrams", "n/5.kenlm"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_its_entry_and_the_fix(
    folder, config: dict[str, Any], option: str, path: str
):
    said = rf"{option}: there is no '{path}'. Correct the path, which begins in {folder}."
    with pytest.raises(LingprobError, match=said):
        check_own_paths(*read_settings(config))
    if MODEL.items() <= config.get("models", {}).get("own", {}).items():
        Path(path).mkdir()
    else:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).touch()
    check_own_paths(*read_settings(config))


def test_a_folder_without_files_is_refused(folder):
    (folder / "corpus").mkdir()
    with pytest.raises(LingprobError, match=r"datasets\.own\.path: there is no file at 'corpus"):
        check_own_paths(*read_settings({"datasets": {"own": {**CORPUS, "path": "corpus"}}}))


def test_the_folder_of_a_prepared_model_may_be_gone(folder):
    manifest = folder / "resources/models/own/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    check_own_paths(*read_settings({"models": {"own": {**MODEL, "path": "gone"}}}))


def test_configuration_files_are_found_from_where_the_command_was_given(folder, monkeypatch):
    for name in ("a.yaml", "b.yaml"):
        (folder / name).touch()
    arguments = ["--cores", "2", "--configfile", "a.yaml", "b.yaml", "--config", "scale=demo"]
    found = [folder / "a.yaml", folder / "b.yaml"]
    assert named_configfiles(arguments) == found
    monkeypatch.setenv("PWD", str(folder))
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert named_configfiles(arguments) == found
    assert named_configfiles(["--configfiles", str(folder / "a.yaml")]) == found[:1]
    assert named_configfiles(["all"]) == []


def test_a_mistake_ends_the_process_with_one_message(folder, monkeypatch):
    (folder / "twice.yaml").write_text("models: {}\nmodels: {}\n")
    monkeypatch.setattr("sys.argv", ["snakemake", "--configfile", "twice.yaml"])
    with pytest.raises(SystemExit, match=r"^Error: .*twice\.yaml, line 2: 'models' occurs twice"):
        read_run({})


@pytest.mark.parametrize("rules", [True, False])
def test_what_the_snakefile_imports_loads_neither_pandas_nor_torch(rules):
    """What the rules import, and the whole room for them."""
    lines = (ROOT / "rules" / "common.smk").read_text(encoding="utf-8").splitlines()
    imports = [line for line in lines if line.startswith("from lingprob")]
    assert len(imports) > 5
    room = (ROOT / "workflow_scripts/lingprob/workflow").glob("[a-z]*.py")
    of_room = [f"import lingprob.workflow.{path.stem}" for path in room]
    told = "import sys\nprint({'pandas', 'torch', 'transformers'} & {*sys.modules})"
    program = "\n".join([*(imports if rules else of_room), told])
    place = {**os.environ, "PYTHONPATH": str(ROOT / "workflow_scripts")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=place, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")
