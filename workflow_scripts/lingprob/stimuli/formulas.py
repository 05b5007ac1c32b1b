"""The prediction formulas of SyntaxGym's suites, read by a parser of our own.

A formula compares sums and differences of region surprisals, joined by `&` and `|`, as
`[(6;%match_sing%) < (6;%mismatch_sing%)] & [(6;%match_plural%) < (6;%mismatch_plural%)]`;
`(6;%match_sing%)` is the surprisal of region 6 of a condition, `(*;%match_sing%)` of its sentence.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lingprob.errors import LingprobError

WHOLE_SENTENCE = 0
# What `=` calls equal (bits): the tolerances of SyntaxGym's own tool.
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-5, 1e-3

RegionName = tuple[str, int]  # condition name and region number
Surprisals = Mapping[RegionName, Any]  # a float or an array of floats each, bits


def nearly_equal(left: Any, right: Any) -> Any:
    """Compare as SyntaxGym's `=` does."""
    return np.isclose(left, right, rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE)


NUMERIC: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
COMPARING: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "=": nearly_equal,
}
LOGICAL: dict[str, Callable[[Any, Any], Any]] = {"&": np.logical_and, "|": np.logical_or}
# Loosest first.
LEVELS = (LOGICAL, COMPARING, NUMERIC)
CLOSING = {"(": ")", "[": "]"}
TOKEN = re.compile(
    r"\s*(?:(?P<region>\(\s*(?P<number>\d+|\*)\s*;\s*%(?P<condition>[^%]+)%\s*\))"
    r"|(?P<literal>\d+(?:\.\d+)?)|(?P<symbol>[()\[\]+\-<>=&|]))"
)


@dataclass(frozen=True)
class RegionValue:
    """The surprisal of one region of one condition."""

    region: RegionName

    def evaluate(self, surprisals: Surprisals) -> Any:
        return surprisals[self.region]


@dataclass(frozen=True)
class Literal:
    """A number."""

    value: float

    def evaluate(self, surprisals: Surprisals) -> Any:
        return self.value


@dataclass(frozen=True)
class Operation:
    """Two operands and what stands between them; `truth` tells a truth value from a number."""

    symbol: str
    left: Expression
    right: Expression

    @property
    def truth(self) -> bool:
        return self.symbol not in NUMERIC

    def evaluate(self, surprisals: Surprisals) -> Any:
        function = {**NUMERIC, **COMPARING, **LOGICAL}[self.symbol]
        return function(self.left.evaluate(surprisals), self.right.evaluate(surprisals))


Expression = RegionValue | Literal | Operation


@dataclass(frozen=True)
class Formula:
    """A parsed prediction; `text` is as the suite has it."""

    text: str
    expression: Operation

    def holds(self, surprisals: Surprisals) -> Any:
        """Tell whether the prediction holds, elementwise where the surprisals are arrays.

        Raises KeyError with the condition and region that is missing.
        """
        return self.expression.evaluate(surprisals)

    def regions(self) -> list[RegionName]:
        """Return the regions that the formula names, in order, each once."""
        found = [node.region for node in walk(self.expression) if isinstance(node, RegionValue)]
        return list(dict.fromkeys(found))

    def preferences(self) -> list[tuple[RegionName, RegionName]]:
        """Return (expected, unexpected) regions of every comparison of two single regions.

        The first of each is predicted to have the lower surprisal.
        """
        found = []
        for node in walk(self.expression):
            if not isinstance(node, Operation) or node.symbol not in "<>":
                continue
            if isinstance(node.left, RegionValue) and isinstance(node.right, RegionValue):
                pair = (node.left.region, node.right.region)
                found.append(pair if node.symbol == "<" else pair[::-1])
        return found


def walk(node: Expression) -> Iterator[Expression]:
    """Yield a node and all below it, left to right."""
    yield node
    if isinstance(node, Operation):
        yield from walk(node.left)
        yield from walk(node.right)


def parse_formula(text: str, where: str) -> Formula:
    """Parse a formula; `where` names its suite for errors.

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

    def error(self, position: int, what: str) -> LingprobError:
        position += len(self.text[position:]) - len(self.text[position:].lstrip())
        return LingprobError(
            f"{self.where}: the formula does not parse at character {position + 1}: {what}.\n"
            f"  {self.text}\n  {' ' * position}^\n"
            "A formula reads like [(6;%condition_1%) < (6;%condition_2%)] & [...]; correct the "
            "suite's file, or leave the suite out."
        )

    def start(self) -> int:
        """Return where the current token starts: the end of the text after the last."""
        if self.index < len(self.tokens):
            return self.tokens[self.index].start()
        return len(self.text)

    def symbol(self) -> str | None:
        if self.index < len(self.tokens):
            return self.tokens[self.index]["symbol"]
        return None

    def parse(self) -> Formula:
        expression = self.level(0)
        if self.index < len(self.tokens):
            raise self.error(self.start(), "nothing may follow here")
        if not (isinstance(expression, Operation) and expression.truth):
            raise self.error(0, "it has no comparison (<, > or =)")
        return Formula(self.text, expression)

    def level(self, depth: int) -> Expression:
        """Parse operators of one precedence, left to right; atoms below the last."""
        if depth == len(LEVELS):
            return self.atom()
        left_start = self.start()
        left = self.level(depth + 1)
        while (symbol := self.symbol()) in LEVELS[depth]:
            assert symbol is not None
            self.index += 1
            right_start = self.start()
            right = self.level(depth + 1)
            for start, operand in ((left_start, left), (right_start, right)):
                self.check_kind(symbol, start, operand)
            left = Operation(symbol, left, right)
        return left

    def check_kind(self, symbol: str, start: int, operand: Expression) -> None:
        truth = isinstance(operand, Operation) and operand.truth
        if truth != (symbol in LOGICAL):
            kinds = {True: "a comparison", False: "a surprisal"}
            raise self.error(
                start, f"{symbol!r} needs {kinds[symbol in LOGICAL]} here, not {kinds[truth]}"
            )

    def atom(self) -> Expression:
        start = self.start()
        if self.index == len(self.tokens):
            raise self.error(start, "it ends where a region is expected")
        token = self.tokens[self.index]
        self.index += 1
        if token["region"]:
            number = WHOLE_SENTENCE if token["number"] == "*" else int(token["number"])
            return RegionValue((token["condition"], number))
        if token["literal"]:
            return Literal(float(token["literal"]))
        if token["symbol"] not in CLOSING:
            raise self.error(start, "a region like (6;%condition%) or a bracket is expected")
        inside = self.level(0)
        if self.symbol() != CLOSING[token["symbol"]]:
            raise self.error(self.start(), f"{CLOSING[token['symbol']]!r} is missing")
        self.index += 1
        return inside
