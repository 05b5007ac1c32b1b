"""Formulas of linear mixed models: `rt_ms ~ length + surprisal + (1 + surprisal | subject_id)`.

formulaic parses what stands on either side of the bar; this module only finds the bar terms. Scope:
any number of grouping factors, crossed or one written as `story:sentence`; random effects that are
correlated (`|`) or not (`||`); numeric predictors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from formulaic import Formula
from formulaic.errors import FormulaicError
from numpy.typing import NDArray

from lingprob.errors import LingprobError, unknown_name

INTERCEPT = "(Intercept)"
SCOPE = (
    "A mixed model is written as 'rt_ms ~ length + surprisal + (1 + surprisal | subject_id)', "
    "with '||' for uncorrelated effects and a further '(1 | item)' for each crossed factor"
)


class RandomTerm(NamedTuple):
    """Random effects that correlate with one another, intercept first, by one grouping factor."""

    effects: tuple[str, ...]
    group: str


class MixedFormula(NamedTuple):
    """A formula taken apart: names of fixed effects, intercept first, and random terms."""

    text: str
    response: str
    fixed: tuple[str, ...]
    terms: tuple[RandomTerm, ...]

    @property
    def random(self) -> tuple[str, ...]:
        """All random effects, each once, intercept first."""
        return _in_order(name for term in self.terms for name in term.effects)

    @property
    def groups(self) -> tuple[str, ...]:
        """All grouping factors, each once."""
        return tuple(dict.fromkeys(term.group for term in self.terms))

    @property
    def predictors(self) -> tuple[str, ...]:
        """All predictors, each once, without intercepts."""
        return tuple(name for name in dict.fromkeys(self.fixed + self.random) if name != INTERCEPT)

    @property
    def n_parameters(self) -> int:
        """Fixed effects, variances and covariances of the random ones, and the residual's."""
        covariances = sum(len(effects) * (len(effects) + 1) // 2 for effects, _ in self.terms)
        return len(self.fixed) + covariances + 1

    def without_random(self, name: str) -> MixedFormula:
        """Return the formula, of one random term, with one random effect fewer."""
        ((effects, group),) = self.terms
        left = tuple(effect for effect in effects if effect != name)
        return write_formula(self.response, self.fixed, left, group)


def parse_formula(text: str) -> MixedFormula:
    """Take a formula apart; raise LingprobError where it is outside the scope."""
    rest, bars = _bar_terms(text)
    if not bars:
        raise LingprobError(f"{text!r}: no term with a bar, so no random effects. {SCOPE}.")
    if re.search(r"\boffset\s*\(", text):
        raise LingprobError(
            f"{text!r}: offsets are not fitted. Subtract it from the response and give the "
            "difference as a column."
        )
    try:
        sides = Formula(rest)
        terms = tuple(term for bar in bars for term in _random_terms(text, *bar))
    except FormulaicError:
        raise LingprobError(f"{text!r}: not a formula. {SCOPE}.") from None
    if not hasattr(sides, "lhs") or len(sides.lhs) != 1:
        raise LingprobError(f"{text!r}: needs one response on the left of '~'. {SCOPE}.")
    fixed = _names(sides.rhs)
    if not fixed or not all(term.effects for term in terms):
        raise LingprobError(f"{text!r}: needs a fixed and a random effect. {SCOPE}.")
    twice = Counter((name, term.group) for term in terms for name in term.effects)
    for (name, group), times in twice.items():
        if times > 1:
            raise LingprobError(
                f"{text!r}: {name} is random by {group} in {times} terms, whose variances cannot "
                "be told apart. Keep it in one."
            )
    return MixedFormula(text, str(next(iter(sides.lhs))), fixed, terms)


def write_formula(
    response: str, fixed: tuple[str, ...], random: tuple[str, ...], group: str
) -> MixedFormula:
    """Return the formula with these effects, the random ones correlated."""
    inside = " + ".join(_written(random))
    text = f"{response} ~ {' + '.join([*_written(fixed), f'({inside} | {group})'])}"
    return MixedFormula(text, response, fixed, (RandomTerm(random, group),))


def evaluate_terms(frame: pd.DataFrame, names: tuple[str, ...]) -> list[NDArray]:
    """Return an array (n,) for each name: a numeric column, or what a formula makes of columns.

    Raises LingprobError for unknown names, for columns that are not numeric, and for functions
    that estimate something from the rows, such as scale().
    """
    return [_evaluate(frame, name) for name in names]


def _written(names: tuple[str, ...]) -> list[str]:
    effects = [name for name in names if name != INTERCEPT]
    return (["1"] if INTERCEPT in names else ["0"]) + effects


def _names(terms: Formula) -> tuple[str, ...]:
    return _in_order(INTERCEPT if str(term) == "1" else str(term) for term in terms)


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(names), key=lambda name: name != INTERCEPT))


def _random_terms(text: str, inside: str, bar: str, group: str) -> list[RandomTerm]:
    """Return the term of one bar, or the term of each effect where the bar is double."""
    if "/" in group:
        outer, _, inner = (part.strip() for part in group.partition("/"))
        raise LingprobError(
            f"{text!r}: nested factors are written out. Instead of '| {group}' give one term "
            f"by {outer} and one by {outer}:{inner}."
        )
    factors = [factor.strip() for factor in group.split(":")]
    if not all(factor.isidentifier() for factor in factors):
        raise LingprobError(f"{text!r}: {group!r} is not a grouping factor. {SCOPE}.")
    effects = _names(Formula(inside))
    apart = [effects] if bar == "|" or not effects else [(name,) for name in effects]
    return [RandomTerm(names, ":".join(factors)) for names in apart]


def _bar_terms(text: str) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the formula without its bar terms, and each bar with what is left and right of it."""
    depth, start, bars, rest = 0, 0, [], ""
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 1 and character == "(":
            start = place
        elif depth == 0 and character == ")":
            parts = re.split(r"(\|\|?)", text[start + 1 : place], maxsplit=1)
            if len(parts) == 3:
                inside, bar, group = (part.strip() for part in parts)
                bars.append((inside, bar, group))
            rest += "|" if len(parts) == 3 else text[start : place + 1]
        elif depth == 0:
            rest += character
    if depth != 0:
        raise LingprobError(f"{text!r}: parentheses do not match. {SCOPE}.")
    for operator, left in ((r"\+\s*\|", ""), (r"~\s*\|\s*\+", "~"), (r"~\s*\|", "~ 1")):
        rest = re.sub(operator, left, rest)
    return rest, bars


def _evaluate(frame: pd.DataFrame, name: str) -> NDArray:
    if name not in frame:
        variables = Formula(f"0 + {name}").required_variables
        for variable in sorted(map(str, variables)):
            if variable not in frame:
                raise unknown_name("column", variable, map(str, frame.columns))
        matrix = Formula(f"0 + {name}").get_model_matrix(frame, na_action="ignore")
        if stateful := matrix.model_spec.transform_state:
            raise LingprobError(
                f"{name}: {', '.join(map(str, stateful))} is estimated from the rows at hand, so "
                "that other rows would get another scale. Make it a column of the data, or take "
                "MixedModelData.standardised(like=...)."
            )
        if matrix.shape[1] != 1:
            raise LingprobError(f"{name}: not numeric. Give numbers, such as +1 and -1.")
        return np.asarray(matrix, dtype=np.float64)[:, 0]
    if not pd.api.types.is_numeric_dtype(frame[name]):
        raise LingprobError(
            f"{name}: holds {frame[name].dtype}, not numbers. Code categories as numbers, such "
            "as +1 and -1."
        )
    if pd.api.types.is_extension_array_dtype(frame[name]):
        return frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return frame[name].to_numpy()
