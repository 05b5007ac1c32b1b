"""Formulas of linear mixed models: `rt_ms ~ length + surprisal + (1 + surprisal | subject_id)`.

formulaic parses what stands on either side of the bar; this module only finds the bar. Scope: one
term of correlated random effects by one grouping factor; numeric predictors.
"""

from __future__ import annotations

import re
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
    "with one term of random effects"
)


class MixedFormula(NamedTuple):
    """A formula taken apart: names of fixed and of random effects, intercept first."""

    text: str
    response: str
    fixed: tuple[str, ...]
    random: tuple[str, ...]
    group: str

    @property
    def predictors(self) -> tuple[str, ...]:
        """All predictors, each once, without intercepts."""
        return tuple(name for name in dict.fromkeys(self.fixed + self.random) if name != INTERCEPT)

    def without_random(self, name: str) -> MixedFormula:
        """Return the formula with one random effect fewer."""
        left = tuple(effect for effect in self.random if effect != name)
        return write_formula(self.response, self.fixed, left, self.group)


def parse_formula(text: str) -> MixedFormula:
    """Take a formula apart; raise LingprobError where it is outside the scope."""
    rest, bars = _bar_terms(text)
    if len(bars) != 1:
        raise LingprobError(f"{text!r}: {len(bars)} terms with a bar. {SCOPE}.")
    ((inside, group),) = bars
    if not group.isidentifier():
        raise LingprobError(f"{text!r}: {group!r} is not a grouping factor. {SCOPE}.")
    if re.search(r"\boffset\s*\(", text):
        raise LingprobError(
            f"{text!r}: offsets are not fitted. Subtract it from the response and give the "
            "difference as a column."
        )
    try:
        sides = Formula(rest)
        random = _names(Formula(inside))
    except FormulaicError:
        raise LingprobError(f"{text!r}: not a formula. {SCOPE}.") from None
    if not hasattr(sides, "lhs") or len(sides.lhs) != 1:
        raise LingprobError(f"{text!r}: needs one response on the left of '~'. {SCOPE}.")
    fixed = _names(sides.rhs)
    if not fixed or not random:
        raise LingprobError(f"{text!r}: needs a fixed and a random effect. {SCOPE}.")
    return MixedFormula(text, str(next(iter(sides.lhs))), fixed, random, group)


def write_formula(
    response: str, fixed: tuple[str, ...], random: tuple[str, ...], group: str
) -> MixedFormula:
    """Return the formula with these effects, the random ones correlated."""
    inside = " + ".join(_written(random))
    text = f"{response} ~ {' + '.join([*_written(fixed), f'({inside} | {group})'])}"
    return MixedFormula(text, response, fixed, random, group)


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
    """Return the names of effects, intercept first."""
    names = [INTERCEPT if str(term) == "1" else str(term) for term in terms]
    return tuple(sorted(names, key=lambda name: name != INTERCEPT))


def _bar_terms(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the formula without its bar terms, and what is left and right of each bar."""
    depth, start, bars, rest = 0, 0, [], ""
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 1 and character == "(":
            start = place
        elif depth == 0 and character == ")":
            inside, bar, group = text[start + 1 : place].partition("|")
            if bar:
                bars.append((inside.strip(), group.strip()))
            rest += bar or text[start : place + 1]
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
