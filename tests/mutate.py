"""Break the code on purpose, one change at a time, and list the changes that no test notices.

    python tests/mutate.py reading/times.py overlap/chance.py --sample 20 --seed 1

A seeded sample of each module's mutants (`mutants.py`) is tried in a copy of the checkout, by the
test files that import the module and then by those that import its users. Tests run in forks of
this process, which has the libraries loaded. Mutants of `equivalent_mutants.yaml`, which change no
number, are counted apart.
"""

import argparse
import ast
import importlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import yaml

from mutants import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("workflow_scripts/lingprob")
JUDGED = Path(__file__).with_name("equivalent_mutants.yaml")
LIBRARIES = (
    "_hypothesis_pytestplugin", "hypothesis", "matplotlib.pyplot", "numba", "numpy", "pandas",
    "pyarrow.parquet", "pytest", "scipy.optimize", "scipy.sparse.linalg", "scipy.stats", "torch",
    "transformers",
)  # fmt: skip


@cache
def imports(path: Path) -> set[str]:
    """Return the dotted names that a file imports or, in text, names, and their packages."""
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
    """Yield the test files that import a module, those that import its users, and so on.

    Files with words of the module's path in their name come first.
    """
    users = {
        _dotted(path.relative_to(root / PACKAGE)): imports(path)
        for path in (root / PACKAGE).rglob("*.py")
    }
    tests = {
        path.relative_to(root).as_posix(): imports(path)
        for folder in folders
        for path in sorted((root / "tests" / folder).glob("test_*.py"))
    }
    words = set(re.findall("[a-z]+", str(module))) - {"papers", "py"}
    known = near = {_dotted(module)}
    while near:
        found = [test for test, names in tests.items() if names & near]
        yield sorted(found, key=lambda test: -len(words & set(re.findall("[a-z]+", test))))
        for test in found:
            del tests[test]
        near = {user for user, names in users.items() if names & near} - known
        known = known | near


def _dotted(path: Path) -> str:
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    return ".".join(["lingprob", *parts])


def run_tests(tree: Path, tests: Sequence[str], compiled: bool, limit: float) -> str:
    """Run test files in a fork; return passed, caught or, over `limit` CPU seconds, too slow."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.setpgrp()
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
            status = _pytest(tree, tests, compiled)
        finally:
            os._exit(status)
    began = time.monotonic()
    while time.monotonic() < began + 60 + 8 * limit:  # tests may sleep or wait
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "passed" if os.waitstatus_to_exitcode(status) == 0 else "caught"
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow"


def _pytest(tree: Path, tests: Sequence[str], compiled: bool) -> int:
    import numba
    import pytest

    os.chdir(tree)
    output = os.open("pytest.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(tree.parent / "numba")
    numba.config.DISABLE_JIT = not compiled
    os.environ["NUMBA_DISABLE_JIT"] = str(int(not compiled))
    os.environ["PYTHONPATH"] = str(tree / "workflow_scripts")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != ROOT / "tests"]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
    options += [f"--rootdir={tree}", f"--basetemp={tree.parent / 'tests'}"]
    return int(pytest.main([*options, *tests]))


def judged() -> set[tuple[str, str, str]]:
    """Return (module, its line, change) of mutants that were judged to be equivalent."""
    entries = yaml.safe_load(JUDGED.read_text()) or []
    return {(entry["module"], entry["line"], entry["change"]) for entry in entries}


def is_caught(mutant: Mutant, tree: Path, steps: list[list[str]], limit: float) -> bool:
    """Tell whether a test file notices a mutant."""
    path = tree / PACKAGE / mutant.module
    source = path.read_text()
    try:
        path.write_text(mutant.apply(source))
        compiled = "njit" not in source
        return any(
            run_tests(tree, [file], compiled, limit) != "passed" for step in steps for file in step
        )
    finally:
        path.write_text(source)


def copy_to(tree: Path) -> None:
    """Copy the files of the checkout that git does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def main() -> None:
    """Try mutants of the modules named and say how many were caught; fail if any survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", help=f"files or folders below {PACKAGE}")
    parser.add_argument("--sample", type=int, default=10, help="mutants per module; 0: all (10)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--distance", type=int, default=1, help="imports from test to module (1)")
    parser.add_argument("--folders", default="unit,property", help="of tests (unit,property)")
    parser.add_argument("--limit", type=float, default=300, help="CPU seconds per test file (300)")
    options = parser.parse_args()
    paths = [ROOT / PACKAGE / name for name in options.modules]
    if missing := [str(path) for path in paths if not path.exists()]:
        parser.error(f"no such file or folder: {', '.join(missing)}")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for library in LIBRARIES:
        importlib.import_module(library)
    tried = equivalent = 0
    survivors: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "checkout"
        copy_to(tree)
        files = [f for path in paths for f in (sorted(path.rglob("*.py")) or [path])]
        for module in (file.relative_to(ROOT / PACKAGE) for file in files):
            source = (tree / PACKAGE / module).read_text()
            found, lines = mutants_of(module, source), source.splitlines()
            # Seeded by the module's name too, so that its sample does not depend on others.
            drawn = random.Random(f"{options.seed} {module}").sample(
                found, min(options.sample or len(found), len(found))
            )
            folders = options.folders.split(",")
            steps = list(nearest_tests(module, folders, tree))[: options.distance + 1]
            for mutant in sorted(drawn, key=lambda mutant: mutant.start):
                if (str(module), lines[mutant.line - 1].strip(), mutant.change) in judged():
                    equivalent += 1
                    continue
                tried += 1
                if not is_caught(mutant, tree, steps, options.limit):
                    survivors.append(f"{PACKAGE / module}:{mutant.line}: {mutant.change}")
                    print(f"survived: {survivors[-1]}", flush=True)
    print(f"caught {tried - len(survivors)} of {tried} mutants; {equivalent} more are equivalent")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
