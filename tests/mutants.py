"""Mutants of a module, each of which differs from it in one place.

Comparisons and signs are turned, constants are moved by one, terms are dropped, and arguments are
swapped. These are left alone: messages, types, compilation, the order of rows, the layout of
figures and pages (points and inches), and the amount of work that is done at once.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.MatMult: ast.Mult,
}  # fmt: skip
PASSED_OVER = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
MESSAGES = {"logger", "warnings", "refuse", "refuse_rows"}
OPTIONS = {
    "strict", "cache", "fastmath", "nogil", "inplace", "copy", "stacklevel", "observed", "sort",
    "ignore_index", "verbose", "quoting",  # of files read: 0 and 1 are the same
}  # fmt: skip
# How much is done at once: memory and speed. That it changes no number, tests of pieces see to.
AMOUNTS = ("_AT_ONCE", "_PER_BATCH", "_PER_PIECE", "_PER_PASS", "_PER_ROW", "BATCH_OF_PASSAGES")
# The same whichever argument comes first.
SYMMETRIC = {"max", "maximum", "min", "minimum"}
# Numbers this small separate rounding from values, so that doubling them changes nothing.
ROUNDING = 1e-6
DRAWING = ("figure.py", "figures.py", "looks.py", "page.py", "pages.py")


@dataclass(frozen=True)
class Mutant:
    """One change of a module: `old` at a place of its source becomes `new`."""

    module: Path  # below the package
    function: str  # qualified name; of a class's own lines it ends with a dot; empty: the module's
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
    if module.name.endswith(DRAWING):
        return []
    starts = [0]
    for text in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    found = []
    tree = ast.parse(source)
    tolerances = {name for name, value in _constants(tree) if _is_tolerance(value)}
    for node, function in _numeric_nodes(tree, ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        for new in _variants(node):
            if isinstance(node, ast.Compare) and _compares_rounding(node, tolerances):
                continue
            old = source.encode()[start:end].decode()
            found.append(Mutant(module, function, node.lineno, start, end, old, ast.unparse(new)))
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.new))


def _numeric_nodes(node: ast.AST, function: str) -> Iterator[tuple[ast.expr, str]]:
    """Walk the expressions that may be changed, each with the function that it is in."""
    if isinstance(node, PASSED_OVER) or _is_message(node) or _is_amount(node):
        return
    if isinstance(node, ast.keyword) and node.arg in OPTIONS:
        return
    if isinstance(node, ast.expr):
        yield node, function.removesuffix(".<locals>.")
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function += node.name + (".<locals>." if isinstance(node, ast.FunctionDef) else ".")
    if isinstance(node, ast.Call) and _name(node.func) == "reshape":
        # Any negative length means the rest.
        yield from ((length, function) for length in node.args if _is_minus_one(length))
        node.args = [length for length in node.args if not _is_minus_one(length)]
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list", "format_spec"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _numeric_nodes(child, function)


def _is_message(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func
    while isinstance(name, ast.Attribute):
        name = name.value
    return isinstance(name, ast.Name) and name.id in MESSAGES


def _is_amount(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id.endswith(AMOUNTS)
    )


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_minus_one(node: ast.expr) -> bool:
    return ast.unparse(node) == "-1"


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _is_tolerance(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and 0 < node.value <= ROUNDING
    )


def _compares_rounding(node: ast.Compare, tolerances: set[str]) -> bool:
    ordered = all(isinstance(one, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for one in node.ops)
    return ordered and any(
        _is_tolerance(part) or (isinstance(part, ast.Name) and part.id in tolerances)
        for part in ast.walk(node)
        if isinstance(part, ast.expr)
    )


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
        elif isinstance(changed.value, float) and not _is_tolerance(changed):
            yield ast.Constant(2 * changed.value or 1.0)
    elif isinstance(changed, ast.Call):
        for place, (one, other) in enumerate(zip(changed.args, changed.args[1:], strict=False)):
            both = isinstance(one, ast.Name) and isinstance(other, ast.Name)
            if both and one.id != other.id and _name(node.func) not in SYMMETRIC:
                changed.args[place : place + 2] = other, one
                yield changed
                changed.args[place : place + 2] = one, other
    elif isinstance(changed, ast.IfExp):
        yield from (changed.body, changed.orelse)
