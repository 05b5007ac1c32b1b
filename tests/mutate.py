"""Break the code on purpose, one change at a time, and list the changes that no test notices.

    python tests/mutate.py reading/exclusions.py overlap/chance.py --sample 20 --seed 1

Each module's syntax tree gives its mutants: comparisons and signs turned, constants moved by one,
terms dropped, arguments swapped. A seeded sample of each module's is tried in a copy of the
checkout, by the tests that import the module or, `--distance` imports away, what imports it.
Whatever `equivalent_mutants.yaml` judges to change no number is not tried. Tests run in forks of
this process, which has the libraries loaded.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("workflow_scripts/lingprob")
JUDGED = Path(__file__).with_name("equivalent_mutants.yaml")
LIBRARIES = (
    "hypothesis", "matplotlib.pyplot", "numba", "numpy", "pandas", "pyarrow.parquet", "pytest",
    "scipy.optimize", "scipy.stats", "torch", "transformers",
)  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.MatMult: ast.Mult,
}  # fmt: skip
# What is said to the user, types, compilation, the order and index of rows.
PASSED_OVER = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
MESSAGES = {"logger", "warnings", "refuse", "refuse_rows"}
OPTIONS = {
    "strict", "cache", "fastmath", "nogil", "inplace", "copy", "stacklevel", "observed", "sort",
    "ignore_index", "verbose",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a module: `old` at a place of its source becomes `new`."""

    module: Path  # below PACKAGE
    line: int
    start: int  # in bytes
    end: int
    old: str
    new: str

    @property
    def change(self) -> str:
        """The change in a line."""
        return f"{' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    def apply(self, source: str) -> str:
        """Return the module with the change."""
        data = source.encode()
        return (data[: self.start] + f"({self.new})".encode() + data[self.end :]).decode()


def mutants_of(module: Path, source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines."""
    starts = [0]
    for text in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    found = []
    for node in _numeric_nodes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        for new in _variants(node):
            old = source.encode()[start:end].decode()
            found.append(Mutant(module, node.lineno, start, end, old, ast.unparse(new)))
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.new))


def _numeric_nodes(node: ast.AST) -> Iterator[ast.expr]:
    """Walk the expressions that may be changed."""
    if isinstance(node, PASSED_OVER):
        return
    if isinstance(node, ast.Call):
        name = node.func
        while isinstance(name, ast.Attribute):
            name = name.value
        if isinstance(name, ast.Name) and name.id in MESSAGES:
            return
    if isinstance(node, ast.keyword) and node.arg in OPTIONS:
        return
    if isinstance(node, ast.expr):
        yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "format_spec"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _numeric_nodes(child)


def _variants(node: ast.expr) -> Iterator[ast.expr]:
    changed = copy.deepcopy(node)
    if isinstance(changed, ast.Compare):
        for place, operator in enumerate(changed.ops):
            changed.ops[place] = COMPARISONS[type(operator)]()
            yield changed
            changed.ops[place] = operator
    elif isinstance(changed, ast.BinOp) and type(changed.op) in OPERATORS:
        if not any(isinstance(side, ast.JoinedStr) for side in (changed.left, changed.right)):
            yield from (changed.left, changed.right)
            changed.op = OPERATORS[type(changed.op)]()
            yield changed
    elif isinstance(changed, ast.BoolOp):
        changed.op = ast.And() if isinstance(changed.op, ast.Or) else ast.Or()
        yield changed
        yield from changed.values
    elif isinstance(changed, ast.UnaryOp):
        yield changed.operand
    elif isinstance(changed, ast.Constant):
        if isinstance(changed.value, bool):
            yield ast.Constant(not changed.value)
        elif isinstance(changed.value, int):
            yield ast.Constant(changed.value + 1)
        elif isinstance(changed.value, float):
            yield ast.Constant(2 * changed.value or 1.0)
    elif isinstance(changed, ast.Call):
        for place, (one, other) in enumerate(zip(changed.args, changed.args[1:], strict=False)):
            if isinstance(one, ast.Name) and isinstance(other, ast.Name):
                changed.args[place : place + 2] = other, one
                yield changed
                changed.args[place : place + 2] = one, other
    elif isinstance(changed, ast.IfExp):
        yield from (changed.body, changed.orelse)


def imports(path: Path) -> set[str]:
    """Return the dotted names that a file imports, and the packages that they are in."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def nearest_tests(module: Path, distance: int, folders: list[str]) -> list[str]:
    """Return the test files that import a module, the nearest first."""
    name = _dotted(module)
    users = {
        _dotted(path.relative_to(ROOT / PACKAGE)): imports(path)
        for path in (ROOT / PACKAGE).rglob("*.py")
    }
    tests = {
        path.relative_to(ROOT).as_posix(): imports(path)
        for folder in folders
        for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))
    }
    found: list[str] = []
    known = near = {name}
    for _ in range(distance + 1):
        found += [test for test, names in tests.items() if names & near and test not in found]
        near = {user for user, names in users.items() if names & near} - known
        known = known | near
    return found


def _dotted(path: Path) -> str:
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    return ".".join(["lingprob", *parts])


def run_tests(tree: Path, tests: list[str], cache: Path, limit: float) -> tuple[str, float]:
    """Run tests of a copied checkout in a fork; return passed, caught or too slow, and seconds."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.setsid()
            status = _pytest_in(tree, tests, cache)
        finally:
            os._exit(status)
    while time.monotonic() < began + limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return ("passed" if code == 0 else "caught"), time.monotonic() - began
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow", limit


def _pytest_in(tree: Path, tests: list[str], cache: Path) -> int:
    import numba
    import pytest

    os.chdir(tree)
    said = os.open(tree / "pytest.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    numba.config.CACHE_DIR = str(cache)
    os.environ["NUMBA_CACHE_DIR"] = str(cache)
    os.environ["PYTHONPATH"] = str(tree / "workflow_scripts")
    sys.dont_write_bytecode = True
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != ROOT / "tests"]
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", f"--rootdir={tree}", *tests]))


def judged() -> set[tuple[str, str, str]]:
    """Return (module, its line, change) of mutants that were judged to be equivalent."""
    entries = yaml.safe_load(JUDGED.read_text()) or []
    return {(entry["module"], entry["line"], entry["change"]) for entry in entries}


def try_module(module: Path, tree: Path, options: argparse.Namespace) -> tuple[int, list[Mutant]]:
    """Try a sample of a module's mutants; return how many, and those that survived."""
    source, known = (ROOT / PACKAGE / module).read_text(), judged()
    lines = source.splitlines()
    tests = nearest_tests(module, options.distance, options.folders.split(","))
    if not tests:
        sys.exit(f"{module}: no test within a distance of {options.distance} imports it.")
    shared, own = tree.parent / "numba", tree.parent / "numba_of_mutant"
    outcome, seconds = run_tests(tree, tests, shared, options.limit)
    if outcome != "passed":
        sys.exit(f"{module}: {outcome} without a change; {tree}/pytest.out says why.")
    found = mutants_of(module, source)
    # By the module's name too, so that a module's sample does not hang on those before it.
    drawn = random.Random(f"{options.seed} {module}").sample(
        found, min(options.sample or len(found), len(found))
    )
    chosen = [
        mutant
        for mutant in drawn
        if (str(module), lines[mutant.line - 1].strip(), mutant.change) not in known
    ]
    print(
        f"{module}: {len(chosen)} of {len(found)} mutants, {seconds:.1f} s, {' '.join(tests)}",
        flush=True,
    )
    survivors = []
    for mutant in sorted(chosen, key=lambda mutant: mutant.start):
        shutil.rmtree(own, ignore_errors=True)
        (tree / PACKAGE / module).write_text(mutant.apply(source))
        # Compiled code of other functions may hold this module's.
        cache = own if "njit" in source else shared
        outcome, _ = run_tests(tree, tests, cache, 3 * seconds + 60)
        if outcome == "passed":
            survivors.append(mutant)
            print(f"  survived: {PACKAGE / module}:{mutant.line}: {mutant.change}", flush=True)
    (tree / PACKAGE / module).write_text(source)
    return len(chosen), survivors


def main() -> None:
    """Try mutants of the modules named and say how many were caught; fails if any survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", help=f"files or folders below {PACKAGE}")
    parser.add_argument("--sample", type=int, default=10, help="mutants a module; 0: all (10)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--distance", type=int, default=1, help="imports from test to module (1)")
    parser.add_argument("--folders", default="unit,property", help="of tests (unit,property)")
    parser.add_argument("--limit", type=float, default=600, help="seconds of unbroken tests (600)")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for library in LIBRARIES:
        importlib.import_module(library)
    paths = [ROOT / PACKAGE / name for name in options.modules]
    modules = [
        file.relative_to(ROOT / PACKAGE)
        for path in paths
        for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
        if mutants_of(file, file.read_text())
    ]
    tried, survivors = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "checkout"
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        for name in filter(None, names.split("\0")):
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        for module in modules:
            count, survived = try_module(module, tree, options)
            tried, survivors = tried + count, survivors + survived
    print(f"caught {tried - len(survivors)} of {tried} mutants")
    for mutant in survivors:
        print(f"{PACKAGE / mutant.module}:{mutant.line}: {mutant.change}")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
