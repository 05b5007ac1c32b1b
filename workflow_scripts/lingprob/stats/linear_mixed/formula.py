"""Formulas of linear mixed models: `rt_ms ~ length + surprisal + (1 + surprisal | subject_id)`.

A formula has columns added up on its right, and one term of random effects by one grouping factor.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lingprob.errors import LingprobError

INTERCEPT = "(Intercept)"
SHAPE = re.compile(r"([^~|()]+)~([^~|()]*)\(([^~|()]+)\|([^~|()]+)\)\s*")
SCOPE = (
    "A mixed model is written as 'rt_ms ~ length + surprisal + (1 + surprisal | subject_id)': "
    "columns, and last one term with a bar"
)


class MixedFormula(NamedTuple):
    """A formula taken apart: names of fixed and of random effects, intercepts first."""

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
    """Take a formula apart; raise LingprobError for one that is outside the scope."""
    found = SHAPE.fullmatch(text)
    if not found:
        raise LingprobError(f"{text!r}: not a formula of this kind. {SCOPE}.")
    response, fixed, random, group = (part.strip() for part in found.groups())
    for name in (response, group):
        if not name.isidentifier():
            raise LingprobError(f"{text!r}: {name!r} is no column. {SCOPE}.")
    if fixed and not fixed.endswith("+"):
        raise LingprobError(f"{text!r}: no '+' before the parenthesis. {SCOPE}.")
    of_all, of_groups = _effects(text, fixed.removesuffix("+")), _effects(text, random)
    if not of_all or not of_groups:
        raise LingprobError(f"{text!r}: needs a fixed and a random effect. {SCOPE}.")
    return MixedFormula(text, response, of_all, of_groups, group)


def write_formula(
    response: str, fixed: tuple[str, ...], random: tuple[str, ...], group: str
) -> MixedFormula:
    """Return the formula with these effects."""
    inside = " + ".join(_written(random))
    text = f"{response} ~ {' + '.join([*_written(fixed), f'({inside} | {group})'])}"
    return MixedFormula(text, response, fixed, random, group)


def _written(names: tuple[str, ...]) -> list[str]:
    effects = [name for name in names if name != INTERCEPT]
    return (["1"] if INTERCEPT in names else ["0"]) + effects


def _effects(text: str, part: str) -> tuple[str, ...]:
    """Return the effects of one side of the bar, each once: an intercept unless there is a 0."""
    names = [name.strip() for name in part.split("+")] if part else []
    columns = [name for name in names if name not in ("0", "1")]
    for name in columns:
        if not name.isidentifier():
            raise LingprobError(f"{text!r}: {name!r} is no column. {SCOPE}.")
    return tuple(dict.fromkeys([*([] if "0" in names else [INTERCEPT]), *columns]))
