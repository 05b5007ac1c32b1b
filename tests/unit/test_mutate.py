"""Mutants of a small module, and the tests that are run for one."""

from __future__ import annotations

from pathlib import Path

from mutate import mutants_of, nearest_tests

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


def test_the_nearest_tests_come_first():
    near = nearest_tests(Path("reading/exclusions.py"), 0, ["unit"])
    assert near == ["tests/unit/test_reading_times.py"]
    further = nearest_tests(Path("reading/alignment.py"), 3, ["unit"])
    assert further[0] == "tests/unit/test_reading_times.py"
    assert len(further) > 1
