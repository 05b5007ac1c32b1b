"""The prediction formulas of SyntaxGym's suites.

A formula compares sums and differences of region surprisals, joined by `&` and `|`, as
`[(6;%match_sing%) < (6;%mismatch_sing%)] & [(6;%match_plural%) < (6;%mismatch_plural%)]`. There,
`(6;%match_sing%)` is the surprisal of region 6 of a condition, and `(*;%match_sing%)` that of its
sentence. As in Python, sums bind tighter than comparisons, these tighter than `&`, and `&` tighter
than `|`.
"""

import ast
import operator
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from lingprob.errors import LingprobError

WHOLE_SENTENCE = 0
RegionName = tuple[str, int]  # condition and region number
REGION = re.compile(r"\(\s*(\d+|\*)\s*;\s*%([^%]+)%\s*\)")
SYMBOLS = {"[": "(", "]": ")", "=": "==", "&": " and ", "|": " or "}
OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.Eq: partial(np.isclose, rtol=1e-5, atol=1e-3),  # tolerances of SyntaxGym's tool (bits)
    ast.And: np.logical_and,
    ast.Or: np.logical_or,
}


@dataclass(frozen=True)
class Formula:
    """A parsed formula: its syntax tree, in which the name `_N` is the region `names[N]`."""

    tree: ast.expr
    names: tuple[RegionName, ...]

    def holds(self, surprisals: Mapping[RegionName, Any]) -> Any:
        """Return whether the prediction is met, elementwise for arrays of surprisals (bits).

        Raises KeyError with a region that is missing.
        """
        return self._value(self.tree, surprisals)

    def _value(self, node: ast.expr, surprisals: Mapping[RegionName, Any]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return surprisals[self.region(node)]
        symbol, operands = parts(node)
        values = [self._value(operand, surprisals) for operand in operands]
        return reduce(OPERATORS[type(symbol)], values)

    def region(self, node: ast.Name) -> RegionName:
        """Return the region of a name in the tree."""
        return self.names[int(node.id[1:])]

    def preferences(self) -> list[tuple[RegionName, RegionName]]:
        """Return the two regions of each comparison of single regions, the less surprising first.

        That is the region for which the formula predicts the lower surprisal.
        """
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare) and not isinstance(node.ops[0], ast.Eq):
                sides = node.left, node.comparators[0]
                if isinstance(sides[0], ast.Name) and isinstance(sides[1], ast.Name):
                    pair = self.region(sides[0]), self.region(sides[1])
                    found.append(pair if isinstance(node.ops[0], ast.Lt) else pair[::-1])
        return found


def parts(node: ast.expr) -> tuple[ast.AST | None, list[ast.expr]]:
    """Return the operator of a node and its operands, or None for a node without an operator."""
    if isinstance(node, ast.BoolOp):
        return node.op, node.values
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return node.ops[0], [node.left, *node.comparators]
    if isinstance(node, ast.BinOp):
        return node.op, [node.left, node.right]
    return None, []


def parse_formula(text: str, where: str) -> Formula:
    """Return the parsed formula. `where` names its suite in messages.

    Raises LingprobError if the text has another form.
    """
    names = tuple(
        (m[2], WHOLE_SENTENCE if m[1] == "*" else int(m[1])) for m in REGION.finditer(text)
    )
    count = iter(range(len(names)))
    python = REGION.sub(lambda _: f"_{next(count)}", text.strip())
    for symbol, other in SYMBOLS.items():
        python = python.replace(symbol, other)
    tree: ast.expr = ast.Constant(None)
    if not re.search(r"[^\s\d.+<>=&|()\[\]-]", REGION.sub("", text)):
        with suppress(SyntaxError):
            tree = ast.parse(python, mode="eval").body
    if not _is_valid(tree, truth=True):
        raise LingprobError(
            f"{where}: the formula {text!r} does not parse. It must read like "
            "[(6;%condition_1%) < (6;%condition_2%)] & [...]. Correct the suite's file, or leave "
            "the suite out."
        )
    return Formula(tree, names)


def _is_valid(node: ast.expr, truth: bool) -> bool:
    """Return whether a tree is one or several comparisons or, if not `truth`, a number."""
    symbol, operands = parts(node)
    if symbol is None:
        is_number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        return not truth and (is_number or isinstance(node, ast.Name))
    joins = isinstance(node, ast.BoolOp)
    return (
        type(symbol) in OPERATORS
        and truth == (joins or isinstance(node, ast.Compare))
        and all(_is_valid(operand, truth=joins) for operand in operands)
    )
