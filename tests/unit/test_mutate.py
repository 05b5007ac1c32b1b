"""Mutants of a small module, and the tests that are run for one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mutants import Mutant, mutants_of
from mutate import Checkout, callers_of, nearest_tests

SOURCE = """\
def f(a: int | None, b, é=1.5):
    if a < b or not b:
        raise ValueError(f"{a + b} are too many, {1 + 1}")
    logger.info("half", a / 2)
    return g(b, a, strict=True) - é
"""


def test_each_change_is_made_at_its_place_and_nowhere_else():
    found = {mutant.change: mutant for mutant in mutants_of(Path("m.py"), SOURCE)}
    assert set(found) == {
        "1.5 -> 3.0", "a < b -> a <= b", "a < b or not b -> a < b and (not b)",
        "a < b or not b -> a < b", "a < b or not b -> not b", "not b -> b",
        "g(b, a, strict=True) -> g(a, b, strict=True)",
        "g(b, a, strict=True) - é -> g(b, a, strict=True) + é",
        "g(b, a, strict=True) - é -> g(b, a, strict=True)",
        "g(b, a, strict=True) - é -> é",
    }  # fmt: skip
    sign = found["g(b, a, strict=True) - é -> g(b, a, strict=True) + é"]
    assert sign.line == 5
    assert sign.apply(SOURCE) == SOURCE.replace(
        "g(b, a, strict=True) - é", "(g(b, a, strict=True) + é)"
    )
    assert mutants_of(Path("papers/figures.py"), SOURCE) == []


def test_mutants_know_their_function():
    source = "A = 1\nclass C:\n    b = 2\n    def f(self, x=3):\n        def g():\n            4\n"
    found = {mutant.old: mutant.function for mutant in mutants_of(Path("m.py"), source)}
    assert found == {"1": "", "2": "C.", "3": "C.f", "4": "C.f.<locals>.g"}


def test_rounding_and_what_stands_for_the_rest_are_passed_over():
    source = (
        "SMALL, LARGE_AT_ONCE = 1, 2\nEXACT = 1e-9\nROWS_AT_ONCE = 2**20\n"
        "def f(x):\n    return x.reshape(-1, 4), x < EXACT * 3, x < 0.1, np.maximum(x, f)\n"
    )
    found = {mutant.change for mutant in mutants_of(Path("m.py"), source)}
    assert found == {
        "1 -> 2", "2 -> 3", "-1 -> 1", "4 -> 5", "3 -> 4", "EXACT * 3 -> EXACT / 3",
        "EXACT * 3 -> EXACT", "EXACT * 3 -> 3", "x < 0.1 -> x <= 0.1", "0.1 -> 0.2",
    }  # fmt: skip


def test_the_nearest_tests_come_first():
    first, *_ = nearest_tests(Path("reading/times.py"), ["unit"])
    assert "tests/unit/test_reading_times.py" in first
    steps = list(nearest_tests(Path("reading/self_paced.py"), ["unit"]))
    assert "tests/unit/test_reading_times.py" not in steps[0]
    files = [file for step in steps for file in step]
    assert "tests/unit/test_reading_times.py" in files
    assert len(files) == len(set(files))


def test_a_mutant_is_tried_by_the_quickest_tests_that_call_its_function():
    known = [
        ("a.py::slow", 9.0, ["m.py:f"]), ("a.py::quick", 1.0, ["m.py:f", "m.py:g"]),
        ("b.py::other", 0.1, ["n.py:f"]), ("b.py::process", 2.0, ["*"]),
        ("b.py::unwatched", float("inf"), []),
    ]  # fmt: skip

    def tried(function, most):
        mutant = Mutant(Path("m.py"), function, 1, 0, 1, "1", "2")
        return [test for test, *_ in callers_of(mutant, known, most)]

    assert tried("f", 20) == ["a.py::quick", "b.py::process", "a.py::slow"]
    assert tried("f", 4) == ["a.py::quick", "b.py::process"]
    assert tried("f", 0.5) == ["a.py::quick"]
    assert tried("g", 20) == ["a.py::quick", "b.py::process"]
    assert tried("C.", 20) == tried("", 20) == ["a.py::quick", "a.py::slow"]
    constants = callers_of(Mutant(Path("c.py"), "", 1, 0, 1, "1", "2"), known, 20)
    assert [test for test, *_ in constants] == [
        "b.py::other", "a.py::quick", "b.py::process", "a.py::slow",
    ]  # fmt: skip


def test_calls_that_could_not_be_watched_are_not_taken_for_none(tmp_path, monkeypatch):
    (tmp_path / "test_a.py").write_text("")
    checkout = Checkout(tmp_path, 60.0, tmp_path)
    watched = iter([[], [["test_a.py::test", 0.5, ["f"]]]])
    monkeypatch.setattr(checkout, "_watch", lambda *_: next(watched))
    assert checkout.calls("test_a.py", compiled=True) == []
    for _ in range(2):  # watched again, and kept
        assert checkout.calls("test_a.py", compiled=True) == [["test_a.py::test", 0.5, ["f"]]]


def test_calls_of_shared_fixtures_count_for_all_their_tests(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "m.py").write_text("def f(): return 1\ndef g(): return 2\n")
    (tmp_path / "test_m.py").write_text(
        "import subprocess, sys, pytest, m\n"
        "@pytest.fixture(scope='module')\n"
        "def one(): return m.f()\n"
        "def test_first(one): pass\n"
        "def test_second(one): m.g()\n"
        "def test_alone(): m.g()\n"
        "def test_process(): subprocess.run([sys.executable, '-c', ''])\n"
        "def test_fails(): assert m.f() == 2\n"
    )
    run = (
        "import json, pathlib, sys, pytest, calls\n"
        "watch = calls.Watch(pathlib.Path('package').resolve(), float(sys.argv[1]))\n"
        "pytest.main(['-q', '-c', '/dev/null', '--rootdir=.', 'test_m.py'], plugins=[watch])\n"
        "pathlib.Path('said').write_text(json.dumps(watch.tests))\n"
    )
    path = f"{Path(__file__).parents[1]}:{tmp_path / 'package'}"

    def watched(limit):
        command = [sys.executable, "-c", run, limit]
        subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": path}, check=True)
        said = json.loads((tmp_path / "said").read_text())
        assert all(seconds >= 0 for _, seconds, _ in said)
        return {
            test.split("::")[1]: (seconds < float("inf"), names) for test, seconds, names in said
        }

    assert watched("inf") == {
        "test_first": (True, ["m.py:f"]), "test_second": (True, ["m.py:f", "m.py:g"]),
        "test_alone": (True, ["m.py:g"]), "test_process": (True, ["*"]),
    }  # fmt: skip
    assert watched("0") == {"test_first": (True, ["m.py:f"])} | dict.fromkeys(
        ["test_second", "test_alone", "test_process", "test_fails"], (False, [])
    )


def test_a_function_takes_its_mutant_s_code_where_nothing_was_made_of_it_before(tmp_path):
    (tmp_path / "m.py").write_text(
        "from functools import cache\nA = 1\n"
        "@cache\ndef kept(x): return x + A\n"
        "class C:\n    def inner(self):\n        def g(y=4): return y * 3\n        return g()\n"
        "def default(x=2): return x\n"
        "def early(x): return x - 5\n"
        "def unseen(x): return x / 7\n"
    )
    (tmp_path / "test_m.py").write_text(
        "import m\nEARLY = m.early(6)\n"
        "def test_kept(): assert m.kept(1) == 2\n"
        "def test_inner(): assert m.C().inner() == 12\n"
        "def test_rest(): m.unseen(m.default()), EARLY\n"
    )
    run = (
        "import pathlib, sys, pytest, mutants, swaps\n"
        "path = pathlib.Path('m.py').resolve()\n"
        "trials = [swaps.Trial(mutant, [f'test_m.py::{name}' for name in sys.argv[1:]], 60)\n"
        "          for mutant in mutants.mutants_of(path, path.read_text())]\n"
        "plugin = swaps.Swaps(path, trials, pathlib.Path('said'))\n"
        "pytest.main(['-q', '-c', '/dev/null', '--rootdir=.', 'test_m.py'], plugins=[plugin])\n"
        "for trial in trials: print(trial.mutant.change)\n"
    )
    path, source = f"{Path(__file__).parents[1]}:{tmp_path}", (tmp_path / "m.py").read_text()

    def tried(*tests):
        command = [sys.executable, "-c", run, *tests]
        done = subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": path}, check=True, capture_output=True
        )
        changes = [line for line in done.stdout.decode().splitlines() if " -> " in line]
        assert (tmp_path / "m.py").read_text() == source
        return dict(zip(changes, json.loads((tmp_path / "said").read_text()), strict=True))

    unknown = dict.fromkeys(
        ["1 -> 2", "2 -> 3", "x - 5 -> x + 5", "x - 5 -> x", "x - 5 -> 5", "5 -> 6"]
    )
    inner = ["y * 3 -> y / 3", "y * 3 -> y", "y * 3 -> 3", "3 -> 4", "4 -> 5"]
    kept = ["x + A -> x - A", "x + A -> x", "x + A -> A"]
    rest = ["x / 7 -> x * 7", "x / 7 -> x", "x / 7 -> 7", "7 -> 8"]
    found = tried("test_kept", "test_inner", "test_rest")
    assert found == unknown | dict.fromkeys(inner + kept, "caught") | dict.fromkeys(rest, "passed")
    found = tried("test_kept")
    assert found == unknown | dict.fromkeys(kept, "caught") | dict.fromkeys(inner + rest, "passed")
    assert set(tried("test_gone").values()) == {None}
