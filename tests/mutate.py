"""Break the code on purpose, one change at a time, and list the changes that no test notices.

    python tests/mutate.py reading/times.py overlap/chance.py --sample 20 --seed 1

A seeded sample of each module's mutants (`mutants.py`) is tried in a copy of the checkout. The
tests that import the module (where none calls it, or with `--distance`, what imports it) are run
once unbroken, to see which functions each of them calls (`calls.py`); a mutant is tried by those
that call its function, the quickest first, up to `--seconds` of a file's. What survives these is
tried by the slow ones, too, and by those that `--limit` kept from being watched at first. Whatever
`equivalent_mutants.yaml` judges to change no number is counted apart. Tests run in forks of a
process that has them collected (`swaps.py`) or, where that could miss the change, of this one,
which has the libraries loaded; where the mutant is in a module that numba compiles, they run
without its compiler.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path

import yaml

from calls import Watch
from mutants import Mutant, mutants_of
from swaps import Swaps, Trial, in_fork

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("workflow_scripts/lingprob")
JUDGED = Path(__file__).with_name("equivalent_mutants.yaml")
LIBRARIES = (
    "_hypothesis_pytestplugin", "hypothesis", "matplotlib.pyplot", "numba", "numpy", "pandas",
    "pyarrow.parquet", "pytest", "scipy.optimize", "scipy.sparse.linalg", "scipy.stats", "torch",
    "transformers",
)  # fmt: skip
LONGEST = 600.0  # CPU seconds of a file's tests
FURTHEST = 2  # imports from a test to a module whose functions nearer tests do not call
Call = tuple[str, float, list[str]]  # a test, its CPU seconds, the functions that it calls


@cache
def imports(path: Path) -> set[str]:
    """Return the dotted names that a file imports or, in text, says how to, and their packages."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"lingprob\.[\w.:]+", str(node.value)):
            names.add(str(node.value).partition(":")[0])
    return names


def nearest_tests(module: Path, folders: list[str], root: Path = ROOT) -> Iterator[list[str]]:
    """Yield the test files that import a module, those that import what imports it, and so on."""
    users = {
        _dotted(path.relative_to(root / PACKAGE)): imports(path)
        for path in (root / PACKAGE).rglob("*.py")
    }
    tests = {
        path.relative_to(root).as_posix(): imports(path)
        for folder in folders
        for path in sorted((root / "tests" / folder).glob("test_*.py"))
    }
    known = near = {_dotted(module)}
    while near:
        found = [test for test, names in tests.items() if names & near]
        yield found
        for test in found:
            del tests[test]
        near = {user for user, names in users.items() if names & near} - known
        known = known | near


def likeness(module: Path, test: str) -> int:
    """Return how many words of a module's path are in the name of a test file."""
    return len((_words(module) & _words(Path(test).stem)) - {"papers"})


def _words(name: Path | str) -> set[str]:
    return set(re.findall("[a-z]+", str(name)))


def _dotted(path: Path) -> str:
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    return ".".join(["lingprob", *parts])


@dataclass
class Checkout:
    """A copy of the repository in which tests are run; `kept` holds what they call, by file."""

    tree: Path
    limit: float  # CPU seconds of a file's tests that are watched
    kept: Path

    def calls(self, file: str, compiled: bool, whole: bool = False) -> list[Call]:
        """Return (test, seconds, functions called) of the tests of a file that pass unbroken.

        What the limit kept from being watched has an infinite time, or, with `whole`, is watched.
        """
        kept, known = self._kept(file, compiled), list[Call]()
        if kept.exists():
            known = json.loads(kept.read_text())
        elif known := self._watch([file], compiled, self.limit):
            _keep(kept, known)  # nothing is known of tests that the system ended
        left = [test for test, seconds, _ in known if seconds == float("inf")]
        if whole and left:
            known = [row for row in known if row[0] not in left]
            known += self._watch(left, compiled, float("inf"))
            _keep(kept, known)
        return known

    def _watch(self, tests: list[str], compiled: bool, limit: float) -> list[Call]:
        said = self.tree.parent / "said.json"
        said.unlink(missing_ok=True)
        if self.run(tests, compiled, LONGEST, said, limit) != "passed":
            print(f"  {tests[0]}: not all tests pass in time; the others count", flush=True)
        return json.loads(said.read_text()) if said.exists() else []

    def passing(self, trials: list[Trial], compiled: bool) -> list[Mutant]:
        """Return the mutants of one module whose tests, of one file, pass in a time like theirs."""
        path = self.tree / PACKAGE / trials[0].mutant.module
        source, said = path.read_text(), self.tree.parent / "said.json"
        said.unlink(missing_ok=True)
        tests = sorted({test for trial in trials for test in trial.tests})

        def swap() -> int:
            return self._pytest(tests, compiled, Swaps(path, trials, said))

        in_fork(swap, sum(trial.limit for trial in trials))
        path.write_text(source)
        known = json.loads(said.read_text()) if said.exists() else []
        left = []
        for trial, outcome in zip_longest(trials, known):
            try:
                path.write_text(trial.mutant.apply(source))
                outcome = outcome or self.run(trial.tests, compiled, trial.limit)
            finally:
                path.write_text(source)
            if outcome == "passed":
                left.append(trial.mutant)
        return left

    def is_known(self, file: str, compiled: bool) -> bool:
        """Tell whether it has been seen what the tests of a file call."""
        return self._kept(file, compiled).exists()

    def _kept(self, file: str, compiled: bool) -> Path:
        digest = hashlib.sha256((self.tree / file).read_bytes()).hexdigest()[:16]
        return self.kept / f"{Path(file).stem}-{digest}-{compiled}.json"

    def run(
        self,
        tests: Sequence[str],
        compiled: bool,
        limit: float,
        said: Path | None = None,
        watched: float = 0.0,
    ) -> str:
        """Run tests in a fork; return passed, caught or, over `limit` CPU seconds, too slow.

        With `said`, what they call is written there, `watched` seconds long.
        """

        def work() -> int:
            if said is None:
                return self._pytest(tests, compiled, None)
            watch = Watch(self.tree / PACKAGE, watched)
            status = self._pytest(tests, compiled, watch)
            said.write_text(json.dumps(watch.tests, indent=0))
            return status

        return in_fork(work, limit)

    def _pytest(self, tests: Sequence[str], compiled: bool, plugin: Watch | Swaps | None) -> int:
        import numba
        import pytest

        os.chdir(self.tree)
        output = os.open("pytest.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(self.tree.parent / "numba")
        numba.config.DISABLE_JIT = not compiled
        os.environ["NUMBA_DISABLE_JIT"] = str(int(not compiled))
        os.environ["PYTHONPATH"] = str(self.tree / "workflow_scripts")
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        sys.dont_write_bytecode = True
        sys.path[:] = [path for path in sys.path if Path(path).resolve() != ROOT / "tests"]
        options = ["-q", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
        options += [f"--rootdir={self.tree}", f"--basetemp={self.tree.parent / 'tests'}"]
        options += [] if isinstance(plugin, Watch) else ["-x"]
        return int(pytest.main([*options, *tests], plugins=[plugin] if plugin else []))


def _keep(path: Path, calls: list[Call]) -> None:
    """Write a file that other runs may be reading."""
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(calls, indent=0))
    new.replace(path)


@dataclass
class Outcome:
    """What became of a module's sample."""

    module: Path
    tried: int = 0
    equivalent: int = 0
    survivors: list[Mutant] = field(default_factory=list)


def judged() -> set[tuple[str, str, str]]:
    """Return (module, its line, change) of mutants that were judged to be equivalent."""
    entries = yaml.safe_load(JUDGED.read_text()) or []
    return {(entry["module"], entry["line"], entry["change"]) for entry in entries}


def callers_of(mutant: Mutant, known: list[Call], most: float) -> list[Call]:
    """Return the tests that call a mutant's function, the quickest ones of `most` seconds or one.

    A test that starts a process may call anything. What is outside functions is anybody's who
    calls one of the module; where nobody does (a table of constants), everybody's.
    """
    within = f"{mutant.module.as_posix()}:"
    if mutant.function and not mutant.function.endswith("."):
        callers = [row for row in known if f"{within}{mutant.function}" in row[2] or "*" in row[2]]
    else:
        callers = [row for row in known if any(name.startswith(within) for name in row[2])]
        callers = callers or known
    chosen: list[Call] = []
    for row in sorted(callers, key=lambda row: row[1]):
        if sum(row[1] for row in chosen) + row[1] <= (most if chosen else LONGEST):
            chosen.append(row)
    return chosen


def try_module(module: Path, checkout: Checkout, options: argparse.Namespace) -> Outcome:
    """Try a sample of a module's mutants."""
    source, began = (checkout.tree / PACKAGE / module).read_text(), time.monotonic()
    found = mutants_of(module, source)
    # By the module's name too, so that a module's sample does not hang on those before it.
    drawn = random.Random(f"{options.seed} {module}").sample(
        found, min(options.sample or len(found), len(found))
    )
    lines, known = source.splitlines(), judged()
    left = [
        mutant
        for mutant in sorted(drawn, key=lambda mutant: mutant.start)
        if (str(module), lines[mutant.line - 1].strip(), mutant.change) not in known
    ]
    outcome = Outcome(module, len(left), len(drawn) - len(left), left)
    outcome.survivors = survivors(left, source, checkout, options) if left else []
    for mutant in outcome.survivors:
        print(f"  survived: {_place(mutant)}", flush=True)
    print(
        f"{module}: caught {outcome.tried - len(outcome.survivors)} of {outcome.tried}, "
        f"{len(found)} in all, {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return outcome


def survivors(
    mutants: list[Mutant], source: str, checkout: Checkout, options: argparse.Namespace
) -> list[Mutant]:
    """Return which of a module's mutants no test catches.

    Goes from the nearest test files to those `options.distance` imports away that share a word
    with the module's path, and to all up to `FURTHEST` while a mutant's function was not called.
    """
    compiled, passed = "njit" not in source, set[tuple[Mutant, str]]()

    def passing(mutants: list[Mutant], file: str, slow: bool) -> list[Mutant]:
        calls, trials = checkout.calls(file, compiled, whole=slow), []
        for mutant in mutants:
            callers = callers_of(mutant, calls, LONGEST if slow else options.seconds)
            tests = [row for row in callers if (mutant, row[0]) not in passed]
            passed.update((mutant, test) for test, *_ in tests)
            if tests:
                limit = 20 + 3 * sum(seconds for _, seconds, _ in tests)
                trials.append(Trial(mutant, [test for test, *_ in tests], limit))
        caught = {trial.mutant for trial in trials}
        caught -= {*checkout.passing(trials, compiled)} if trials else set()
        return [mutant for mutant in mutants if mutant not in caught]

    nearest = nearest_tests(mutants[0].module, options.folders.split(","), checkout.tree)
    for step, files in enumerate(nearest):
        if not mutants or step > max(options.distance, FURTHEST):
            break
        likely = partial(likeness, mutants[0].module)
        if step and {mutant for mutant, _ in passed} >= set(mutants):
            files = [file for file in files if step <= options.distance and likely(file)]
        known = partial(checkout.is_known, compiled=compiled)
        files.sort(key=lambda file: (known(file), likely(file)), reverse=True)
        for slow in (False, True):
            for file in files:
                mutants = passing(mutants, file, slow) if mutants else []
    return mutants


def _place(mutant: Mutant) -> str:
    return f"{PACKAGE / mutant.module}:{mutant.line}: {mutant.change}"


def report(outcomes: list[Outcome]) -> None:
    """Print a line a folder, and all survivors."""
    folders: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        for name in (outcome.module.parent.as_posix(), "all"):
            folders.setdefault(name, Counter()).update(
                modules=1, tried=outcome.tried, equivalent=outcome.equivalent,
                caught=outcome.tried - len(outcome.survivors),
            )  # fmt: skip
    for name in [*(name for name in folders if name != "all"), "all"]:
        counts = folders[name]
        print(
            f"{name}: caught {counts['caught']} of {counts['tried']} mutants of "
            f"{counts['modules']} modules; {counts['equivalent']} more are equivalent"
        )
    for outcome in outcomes:
        for mutant in outcome.survivors:
            print(_place(mutant))


def main() -> None:
    """Try mutants of the modules named and say how many were caught; fails if any survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", help=f"files or folders below {PACKAGE}")
    parser.add_argument("--sample", type=int, default=10, help="mutants a module; 0: all (10)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--distance", type=int, default=1, help="imports from test to module (1)")
    parser.add_argument("--folders", default="unit,property", help="of tests (unit,property)")
    parser.add_argument("--seconds", type=float, default=30, help="of CPU time, a mutant (30)")
    parser.add_argument("--calls", help="folder to keep what unchanged tests call (none)")
    parser.add_argument("--limit", type=float, default=60, help="of a file's unbroken tests (60)")
    options = parser.parse_args()
    paths = [ROOT / PACKAGE / name for name in options.modules]
    if missing := [str(path) for path in paths if not path.exists()]:
        parser.error(f"no such file or folder: {', '.join(missing)}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.freeze()
    modules = [
        file.relative_to(ROOT / PACKAGE)
        for path in paths
        for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
        if mutants_of(file.relative_to(ROOT / PACKAGE), file.read_text())
    ]
    with tempfile.TemporaryDirectory() as scratch:
        checkout = Checkout(
            Path(scratch) / "checkout", options.limit, Path(options.calls or scratch).resolve()
        )
        checkout.kept.mkdir(parents=True, exist_ok=True)
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (checkout.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, checkout.tree / name)
        outcomes = [try_module(module, checkout, options) for module in modules]
    report(outcomes)
    sys.exit(any(outcome.survivors for outcome in outcomes))


if __name__ == "__main__":
    main()
