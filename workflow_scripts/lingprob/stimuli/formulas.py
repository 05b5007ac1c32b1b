"""The prediction formulas of SyntaxGym's suites.

A formula compares sums and differences of region surprisals, joined by `&` and `|`, as
`[(6;%match_sing%) < (6;%mismatch_sing%)] & [(6;%match_plural%) < (6;%mismatch_plural%)]`. There,
`(6;%match_sing%)` is the surprisal of region 6 of a condition, and `(*;%match_sing%)` that of its
sentence. Comparisons bind tighter than `&` and `|`, sums tighter than comparisons, and operators
of one level group from the left.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lingprob.errors import LingprobError

WHOLE_SENTENCE = 0
# SyntaxGym's own tool calls values equal within these tolerances (bits).
nearly_equal = partial(np.isclose, rtol=1e-5, atol=1e-3)

RegionName = tuple[str, int]  # condition and region number
Surprisals = Mapping[RegionName, Any]  # a float or an array of floats each, bits
Operators = dict[str, Callable[[Any, Any], Any]]

NUMERIC: Operators = {"+": operator.add, "-": operator.sub}
COMPARING: Operators = {"<": operator.lt, ">": operator.gt, "=": nearly_equal}
LOGICAL: Operators = {"&": np.logical_and, "|": np.logical_or}
LEVELS = (LOGICAL, COMPARING, NUMERIC)  # loosest first
CLOSING = {"(": ")", "[": "]"}
TOKEN = re.compile(
    r"\s*(?:(?P<region>\(\s*(?P<number>\d+|\*)\s*;\s*%(?P<condition>[^%]+)%\s*\))"
    r"|(?P<literal>\d+(?:\.\d+)?)|(?P<symbol>[()\[\]+\-<>=&|]))"
)


@dataclass(frozen=True)
class Operation:
    """Two operands and the operator between them."""

    symbol: str
    left: Expression
    right: Expression


Expression = RegionName | float | Operation


def evaluate(node: Expression, surprisals: Surprisals) -> Any:
    """Return the value of an expression. Raises KeyError with a region that is missing."""
    if isinstance(node, Operation):
        function = {**NUMERIC, **COMPARING, **LOGICAL}[node.symbol]
        return function(evaluate(node.left, surprisals), evaluate(node.right, surprisals))
    return surprisals[node] if isinstance(node, tuple) else node


def is_truth(node: Expression) -> bool:
    """Say whether an expression is true or false, and not a number."""
    return isinstance(node, Operation) and node.symbol not in NUMERIC


@dataclass(frozen=True)
class Formula:
    """A parsed prediction."""

    expression: Operation

    def holds(self, surprisals: Surprisals) -> Any:
        """Say whether the prediction is met, elementwise for arrays of surprisals."""
        return evaluate(self.expression, surprisals)

    def regions(self) -> list[RegionName]:
        """Return the regions that the formula names, in order, each once."""
        return list(dict.fromkeys(n for n in walk(self.expression) if isinstance(n, tuple)))

    def preferences(self) -> list[tuple[RegionName, RegionName]]:
        """Return (expected, unexpected) regions of every comparison of two single regions.

        The formula predicts the lower surprisal for the first of each.
        """
        found = []
        for node in walk(self.expression):
            if isinstance(node, Operation) and node.symbol in "<>":
                left, right = node.left, node.right
                if isinstance(left, tuple) and isinstance(right, tuple):
                    found.append((left, right) if node.symbol == "<" else (right, left))
        return found


def walk(node: Expression) -> Iterator[Expression]:
    """Yield a node and all below it, left to right."""
    yield node
    if isinstance(node, Operation):
        yield from walk(node.left)
        yield from walk(node.right)


def parse_formula(text: str, where: str) -> Formula:
    """Parse a formula. `where` names its suite for errors.

    Raises LingprobError that shows the formula and the place at fault.
    """
    return _Parser(text, where).parse()


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.tokens: list[re.Match[str]] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = TOKEN.match(text, position)
            if match is None:
                raise self.error(position, "an unknown symbol")
            self.tokens.append(match)
            position = match.end()
        self.index = 0

    def error(self, position: int, problem: str) -> LingprobError:
        position += len(self.text[position:]) - len(self.text[position:].lstrip())
        return LingprobError(
            f"{self.where}: the formula does not parse at character {position + 1}: {problem}.\n"
            f"  {self.text}\n  {' ' * position}^\n"
            "A formula reads like [(6;%condition_1%) < (6;%condition_2%)] & [...]. Correct the "
            "suite's file, or leave the suite out."
        )

    @property
    def start(self) -> int:
        """The start of the current token, or the end of the text."""
        more = self.index < len(self.tokens)
        return self.tokens[self.index].start() if more else len(self.text)

    @property
    def symbol(self) -> str:
        """The current token if it is a symbol, else nothing."""
        return (self.index < len(self.tokens) and self.tokens[self.index]["symbol"]) or ""

    def parse(self) -> Formula:
        expression = self.level(0)
        if self.index < len(self.tokens):
            raise self.error(self.start, "nothing may follow here")
        if not (isinstance(expression, Operation) and is_truth(expression)):
            raise self.error(0, "it has no comparison (<, > or =)")
        return Formula(expression)

    def level(self, depth: int) -> Expression:
        """Parse operators of one precedence, left to right, and atoms below the last."""
        if depth == len(LEVELS):
            return self.atom()
        left_start = self.start
        left = self.level(depth + 1)
        while (symbol := self.symbol) in LEVELS[depth]:
            self.index += 1
            right_start = self.start
            right = self.level(depth + 1)
            kinds = {True: "a comparison", False: "a surprisal"}
            needed = symbol in LOGICAL
            for start, operand in ((left_start, left), (right_start, right)):
                if is_truth(operand) != needed:
                    problem = f"{symbol!r} needs {kinds[needed]} here, not {kinds[not needed]}"
                    raise self.error(start, problem)
            left = Operation(symbol, left, right)
        return left

    def atom(self) -> Expression:
        start = self.start
        if self.index == len(self.tokens):
            raise self.error(start, "it ends before an expected region")
        token = self.tokens[self.index]
        self.index += 1
        if token["region"]:
            number = WHOLE_SENTENCE if token["number"] == "*" else int(token["number"])
            return token["condition"], number
        if token["literal"]:
            return float(token["literal"])
        if token["symbol"] not in CLOSING:
            raise self.error(start, "a region like (6;%condition%) or a bracket is expected")
        inside = self.level(0)
        if self.symbol != CLOSING[token["symbol"]]:
            raise self.error(self.start, f"{CLOSING[token['symbol']]!r} is missing")
        self.index += 1
        return inside
