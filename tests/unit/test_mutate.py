"""Mutants of a small module, and the tests that are run for one."""

from pathlib import Path

from mutants import mutants_of
from mutate import PACKAGE, is_caught, nearest_tests

SOURCE = """\
def f(a: int | None, b, é=1.5):
    if a < b or not b:
        raise ValueError(f"{a + b} are too many, {1 + 1}")
    logger.info("half", a / 2)
    return g(b, a, strict=True) - é
"""


def test_each_change_is_made_only_at_its_place():
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


def test_the_nearest_tests_come_first():
    first, *_ = nearest_tests(Path("reading/times.py"), ["unit"])
    assert "tests/unit/test_reading_times.py" in first
    steps = list(nearest_tests(Path("reading/printed.py"), ["unit"]))
    assert "tests/unit/test_reading_times.py" not in steps[0]
    files = [file for step in steps for file in step]
    assert "tests/unit/test_reading_times.py" in files
    assert len(files) == len(set(files))


def test_a_failing_test_catches_a_mutant(tmp_path):
    module = tmp_path / PACKAGE / "m.py"
    module.parent.mkdir(parents=True)
    module.write_text(source := "def f(x):\n    return x + 1\n")
    (tmp_path / "test_m.py").write_text(
        "import importlib.util\n"
        f"spec = importlib.util.spec_from_file_location('m', {str(module)!r})\n"
        "m = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(m)\n"
        "def test_f(): assert m.f(1) == 2\n"
        "def test_any(): assert m.f(0) > -2\n"
    )
    mutants = {mutant.change: mutant for mutant in mutants_of(Path("m.py"), source)}
    for test, caught in (("test_f", True), ("test_any", False)):
        assert is_caught(mutants["1 -> 2"], tmp_path, [[f"test_m.py::{test}"]], 60) == caught
    assert module.read_text() == source
