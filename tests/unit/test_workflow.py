"""The start of a run, the job around a rule's script, and Snakemake's documented names."""

import logging
import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lingprob
from checkout import ROOT
from lingprob.errors import LingprobError
from lingprob.io.files import write_text
from lingprob.io.progress import Progress
from lingprob.workflow import job
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.start import check_own_paths, named_configfiles, read_run
from small_disk import on_small_disk

TABLE = {"title": "T", "kind": "stimuli", "parser": "table"}
CORPUS = {"title": "C", "kind": "corpus", "parser": "text"}
MODEL = {"title": "M", "family": "mine", "source": "local"}
SCORES = {"title": "S", "family": "mine", "source": "scores", "level": "token"}
EMBEDDING = {"title": "E", "language": "en", "source": "local", "context_window": 9}
SURPRISALS = {**SCORES, "level": "word", "paths": {"provo": "p.csv"}}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("config", "option", "path"), [
    ({"datasets": {"own": {**TABLE, "path": "t.csv"}}}, "datasets.own.path", "t.csv"),
    ({"models": {"own": {**MODEL, "path": "model"}}}, "models.own.path", "model"),
    ({"embeddings": {"own": {**EMBEDDING, "path": "model"}}}, "embeddings.own.path", "model"),
    ({"models": {"own": {**SCORES, "path": "s.csv"}}}, "models.own.path", "s.csv"),
    ({"models": {"own": SURPRISALS}}, "models.own.paths.provo", "p.csv"),
    ({"overlap": {"ngrams": "n/5.kenlm"}}, "overlap.ngrams", "n/5.kenlm"),
])  # fmt: skip
def test_a_missing_file_is_named_with_its_fix(
    folder, config: dict[str, Any], option: str, path: str
):
    """And a folder in the place of a file, or a file in the place of a model's folder."""
    place = folder / path
    place.parent.mkdir(exist_ok=True)
    kinds = [(Path.mkdir, Path.rmdir), (Path.touch, Path.unlink)]
    wrong, right = reversed(kinds) if path == "model" else kinds
    said = rf"{option}: there is no (file at )?'{path}.*'"
    with pytest.raises(LingprobError, match=f"{said}. Correct the path, which begins in {folder}."):
        check_own_paths(*read_settings(config))
    wrong[0](place)
    with pytest.raises(LingprobError, match=said):
        check_own_paths(*read_settings(config))
    wrong[1](place)
    right[0](place)
    check_own_paths(*read_settings(config))


def test_an_empty_folder_is_no_corpus(folder):
    (folder / "empty").mkdir()
    config = {"datasets": {"own": {**CORPUS, "path": "empty"}}}
    with pytest.raises(LingprobError, match=r"datasets\.own\.path: there is no file at 'empty"):
        check_own_paths(*read_settings(config))


def test_a_prepared_model_s_folder_may_be_gone(folder):
    manifest = folder / "resources/models/own/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    check_own_paths(*read_settings({"models": {"own": {**MODEL, "path": "gone"}}}))


def test_configuration_files_are_relative_to_the_start_folder(folder, monkeypatch):
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
    (folder / "twice.yaml").write_text("datasets: {a: {files: [{url: b, url: c}]}}\n")
    with pytest.raises(SystemExit, match=r"'url' occurs twice"):
        read_run({})
    monkeypatch.setattr("sys.argv", ["snakemake"])
    monkeypatch.setattr("lingprob.workflow.start.ROOT", folder)
    (folder / "config.yaml").write_text("seed: 1\nseed: 2\n")
    with pytest.raises(SystemExit, match=r"config\.yaml, line 2: 'seed' occurs twice"):
        read_run({})


@pytest.mark.parametrize("rules", [True, False])
def test_the_snakefile_loads_neither_pandas_nor_torch(rules):
    """Modules that the rules import, with the whole room for them."""
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


def a_job(log: Path) -> SimpleNamespace:
    """The object that Snakemake gives a script, as far as `job` reads it."""
    memory = SimpleNamespace(mem_mb=2807)
    return SimpleNamespace(log=[str(log)], rule="some_rule", resources=memory)


def ended(log: Path, error: Exception) -> str:
    """The log of a rule that an error ends."""
    with pytest.raises(SystemExit) as end, job(a_job(log)):
        raise error
    assert end.value.code == 1
    return log.read_text()


@pytest.mark.parametrize(("error", "before"), [
    (LingprobError("ratings.csv, row 3: no rating."), " ERROR lingprob"),
    (LingprobError("two lines:\n  a, b"), " ERROR lingprob"),
    (ZeroDivisionError("never by nothing"), "\nZeroDivisionError"),
])  # fmt: skip
def test_a_log_ends_with_the_error(tmp_path, capfd, error, before):
    log = ended(tmp_path / "log.txt", error)
    assert log.endswith(f"{before}: {error}\n")
    assert "Traceback" in log
    assert capfd.readouterr() == ("", "")


def test_a_killed_job_s_log_names_its_memory(tmp_path):
    """As the system kills a job that uses more memory than its cgroup has."""
    child = os.fork()
    if child == 0:
        with job(a_job(tmp_path / "log.txt")):
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (line,) = (tmp_path / "log.txt").read_text().splitlines()
    assert "rule some_rule asked for 2807 MB of memory" in line
    assert "If this log ends without an error, the job was killed" in line
    assert "--set-resources some_rule:mem_mb=N" in line
    assert "scoring.tokens_per_batch" in line


FULL_DISK = """
import sys
from pathlib import Path
from types import SimpleNamespace

disk, scripts = map(Path, sys.argv[1:])
sys.path.insert(0, str(scripts))
from lingprob.errors import LingprobError
from lingprob.workflow import job

sys.stderr = sys.stdout
memory = SimpleNamespace(mem_mb=1)
try:
    with job(SimpleNamespace(log=[disk / "log.txt"], rule="r", resources=memory)):
        try:
            (disk / "ballast").write_bytes(bytes(10**7))
        except OSError:
            raise LingprobError("x" * 9000 + " could not be written") from None
except SystemExit:
    print("ended", (disk / "log.txt").stat().st_size > 200)
"""


def test_on_a_full_disk_the_terminal_says_so(tmp_path):
    printed = on_small_disk(tmp_path, "size=200k", FULL_DISK)
    assert "could not be written" in printed
    assert printed.endswith("ended True\n")


def test_a_log_gets_plain_lines_with_a_rate(caplog, monkeypatch):
    monkeypatch.setattr("lingprob.io.progress.LOG_SECONDS", 0)
    with caplog.at_level(logging.INFO, "lingprob"), Progress(10, "counting", "words") as progress:
        progress.resume_at(4)
        progress.advance(3)
    assert "counting: 7/10 words" in caplog.text
    assert "words/s" in caplog.text


def test_a_python_path_with_a_space_is_refused(folder, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/home/me/my env/bin/python")
    with pytest.raises(SystemExit, match=r"'/home/me/my env/bin/python', because its path has"):
        read_run({})


HANGUP = f"""
import sys
sys.path.insert(0, {str(ROOT / "workflow_scripts")!r})
from lingprob.workflow.start import end_jobs_on_hangup
end_jobs_on_hangup()
rule wait:
    output: "never"
    shell: "echo $$ > started; sleep 600; touch never"
rule all:
    default_target: True
    input: rules.wait.output
"""


@pytest.mark.parametrize("command", [[], ["nohup"]])
def test_a_hangup_ends_jobs_unless_it_is_ignored(command, tmp_path):
    (tmp_path / "Snakefile").write_text(HANGUP)
    command = [*command, sys.executable, "-m", "snakemake", "--cores", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # These tests may themselves run under nohup, whose children ignore hangups.
    heeded = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    running = subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True, preexec_fn=heeded, **quiet
    )
    try:
        started = tmp_path / "started"
        deadline = time.monotonic() + 60
        while not (started.exists() and started.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        running.send_signal(signal.SIGHUP)
        if "nohup" in command:
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(1)
        else:
            assert running.wait(30) != 0
            with pytest.raises(ProcessLookupError):
                os.kill(int(started.read_text()), 0)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


@pytest.mark.parametrize("home", ["/proc/nowhere", None])
def test_numba_has_a_cache_without_a_writable_home(home, tmp_path, monkeypatch):
    """A read-only installation, with a home that cannot be written to and with one that can."""
    monkeypatch.setattr(os, "environ", {**os.environ, "HOME": home or str(tmp_path)})
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    lingprob._give_numba_a_cache()
    found = os.environ.get("NUMBA_CACHE_DIR")
    if home is None:
        assert found is None
        assert (tmp_path / ".cache/numba").is_dir()
    else:
        assert stat.S_IMODE(Path(str(found)).stat().st_mode) == 0o700
        Path(str(found)).rmdir()


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_written_files_have_the_permissions_of_the_umask(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        write_text("a", tmp_path / "a.txt")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


# Documented names of the workflow and of importable modules.
OF_THE_WORKFLOW = ("cores", "source_path")
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


def test_only_documented_names_are_used():
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
