"""Jobs that are forked from a process with the libraries loaded: what they find, what they tell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import psutil
import pytest
from snakemake.benchmark import BenchmarkRecord
from snakemake.script import PythonScript

from lingprob import warm_starts
from lingprob.warm_starts import OF_THREADS, WarmProcess, start_jobs_warm

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or any(map(os.path.exists, warm_starts.GPUS)),
    reason="jobs start warm on Linux without a GPU alone",
)
WAIT = 120  # seconds, at most


def environment(**others: str) -> dict[str, str]:
    """That of this process, with one thread."""
    return {**os.environ, **dict.fromkeys(OF_THREADS, "1"), **others}


def ready(process: WarmProcess) -> WarmProcess:
    """Wait until it has loaded everything."""
    assert process.comes_to_be_ready()
    return process


@pytest.fixture(scope="module")
def warm():
    process = ready(WarmProcess(environment(OF_THE_WARM="alone")))
    yield process
    process.close()


@pytest.fixture
def run(warm, tmp_path):
    """Run a script of this source; return its exit status and what it wrote as JSON."""

    def run(source: str, record: BenchmarkRecord | None = None, **others: str):
        script, told = tmp_path / "job.py", tmp_path / "told.json"
        head = f"import json\ndef tell(what): json.dump(what, open({str(told)!r}, 'w'))\n"
        script.write_text(head + source)
        told.unlink(missing_ok=True)
        status = warm.run(str(script), environment(**others), record)
        return status, json.loads(told.read_text()) if told.exists() else None

    return run


def test_a_job_finds_what_a_fresh_process_would_find(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = (
        "import os, sys, torch\n"
        "stdin = os.readlink('/proc/self/fd/0')\n"
        "tell([__name__, __file__, sys.argv, sys.path[0], os.getcwd(), os.environ['WORD'],"
        " 'OF_THE_WARM' in os.environ, torch.get_num_threads(), stdin])"
    )
    script = str(tmp_path / "job.py")
    status, told = run(source, WORD="given")
    assert status == 0
    assert told == [
        "__main__", script, [script], str(tmp_path), str(tmp_path), "given", False, 1, os.devnull,
    ]  # fmt: skip


def test_libraries_are_loaded_and_nothing_of_the_package(run):
    _, told = run("import sys\ntell([*sys.modules])")
    assert {"torch", "pandas", "transformers.models.llama.modeling_llama"} <= set(told)
    assert not [name for name in told if name.split(".")[0] == "lingprob"]


def test_each_job_runs_the_code_as_it_is_then(run, tmp_path):
    (tmp_path / "changing.py").write_text("VALUE = 1")
    assert run("import changing\ntell(changing.VALUE)") == (0, 1)
    (tmp_path / "changing.py").write_text("VALUE = 'another'")
    assert run("import changing\ntell(changing.VALUE)") == (0, "another")


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('a reason')", 1),
        ("1 / 0", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import os; os._exit(7)", 7),
    ],
)
def test_the_exit_status_is_the_jobs(run, source, status):
    assert run(source)[0] == status


def test_what_a_job_left_for_its_end_is_done(run, tmp_path):
    """Buffers, exit handlers, and threads that still work."""
    source = (
        "import atexit, threading, time\n"
        "atexit.register(lambda: tell('at exit'))\n"
        f"late = lambda: (time.sleep(.3), open({str(tmp_path / 'late')!r}, 'w').write('done'))\n"
        "threading.Thread(target=late).start()\n"
    )
    assert run(source) == (0, "at exit")
    assert (tmp_path / "late").read_text() == "done"


def test_jobs_run_side_by_side_and_each_hears_of_its_own_end(warm, tmp_path):
    found = {}

    def start(number: int) -> None:
        script = tmp_path / f"{number}.py"
        script.write_text(
            f"import time; time.sleep({(5 - number) / 5}); raise SystemExit({number})"
        )
        found[number] = warm.run(str(script), environment(), None)

    threads = [Thread(target=start, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert found == {number: number for number in range(5)}


def test_a_job_is_measured(run):
    record = BenchmarkRecord()
    source = "import time\nx = bytearray(300_000_000)\nx[::4096] = b'1' * len(x[::4096])\n"
    status, _ = run(source + "time.sleep(1.5)", record)
    assert status == 0
    assert record.max_rss > 300


def test_a_process_that_is_gone_begins_nothing(tmp_path):
    process = ready(WarmProcess(environment()))
    script = tmp_path / "job.py"
    script.write_text("")
    process.process.kill()
    process.process.wait()
    assert process.run(str(script), environment(), None) is None
    assert not process.is_ready()
    assert not process.comes_to_be_ready()


def test_a_process_is_waited_for_while_it_loads_and_not_for_ever(monkeypatch):
    process = WarmProcess(environment())
    assert not process.is_ready()
    monkeypatch.setattr(warm_starts, "LONGEST_LOADING", 0.2)
    assert not process.comes_to_be_ready()
    monkeypatch.undo()
    assert process.comes_to_be_ready()
    process.close()


def test_a_job_outlives_the_asking_process_and_the_warm_one_does_not(tmp_path):
    """As a job of a Snakemake that was killed, which ends by itself."""
    script, done = tmp_path / "job.py", tmp_path / "done"
    script.write_text(f"import time; time.sleep(3); open({str(done)!r}, 'w').write('done')")
    asking = (
        "import os, time\nfrom threading import Thread\n"
        "from lingprob.warm_starts import WarmProcess\n"
        "warm = WarmProcess(dict(os.environ))\n"
        "while not warm.is_ready(): time.sleep(.05)\n"
        "print(warm.process.pid, flush=True)\n"
        f"Thread(target=warm.run, args=({str(script)!r}, dict(os.environ), None)).start()\n"
        "time.sleep(1)\nos.kill(os.getpid(), 9)\n"
    )
    path = str(Path(warm_starts.__file__).parents[1])
    killed = subprocess.run(
        [sys.executable, "-c", asking], env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE, text=True, timeout=WAIT,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL
    until = time.monotonic() + WAIT
    while not done.exists() or psutil.pid_exists(int(killed.stdout)):
        assert time.monotonic() < until
        time.sleep(0.1)


def job(**others: object) -> SimpleNamespace:
    """What Snakemake's scripts know of their job."""
    plain = dict.fromkeys(("container_img", "conda_env", "env_modules", "shadow_dir"))
    return SimpleNamespace(
        **{**plain, "threads": 1, "resources": {}, "bench_record": None, **others}
    )


def test_snakemakes_scripts_start_warm_where_they_may(tmp_path, monkeypatch, caplog):
    cold = []
    monkeypatch.setattr(
        PythonScript, "execute_script", lambda _, name, edit=False: cold.append(name)
    )
    processes = start_jobs_warm([1, 1, 1, 1, 2])
    started = [*processes.values()]
    try:
        assert [*processes] == [1]  # one job of two threads is as quick by itself
        told = tmp_path / "told"
        script = tmp_path / "job.py"
        script.write_text(f"import os; open({str(told)!r}, 'w').write(os.environ['TMPDIR'])")
        assert not processes[1].is_ready()  # so that the job waits
        PythonScript.execute_script(job(resources={"tmpdir": str(tmp_path)}), str(script))
        assert (cold, told.read_text()) == ([], str(tmp_path))
        with monkeypatch.context() as short:
            short.setattr(warm_starts, "LONGEST_LOADING", -1.0)
            short.setattr(processes[1], "is_ready", lambda: False)
            PythonScript.execute_script(job(), str(script))
        assert cold == [str(script)], "a job that has waited long starts as Snakemake starts it"
        cold.clear()
        for own in (
            {"container_img": "x"},
            {"conda_env": "x"},
            {"shadow_dir": "x"},
            {"threads": 2},
        ):
            PythonScript.execute_script(job(**own), str(script))
        assert len(cold) == 4
        script.write_text("raise SystemExit(2)")
        with pytest.raises(subprocess.CalledProcessError, match="status 2"):
            PythonScript.execute_script(job(), str(script))
        processes[1].process.kill()
        processes[1].process.wait()
        for _ in range(2):
            PythonScript.execute_script(job(), str(script))
        assert len(cold) == 6
        assert [record.getMessage() for record in caplog.records if "forked" in record.msg] == [
            "Jobs of 1 threads load their libraries themselves from now on: the process that they "
            "were forked from ended with -9."
        ]
    finally:
        for process in started:
            process.close()
