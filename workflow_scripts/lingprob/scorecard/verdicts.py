"""Judge a published number or a claim by an estimate with its 95% interval.

The sign of an estimate decides nothing. A number is judged by the estimate's interval and the
rounding of the number, and a claim by the interval alone.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from lingprob.errors import LingprobError

REPRODUCED, DIFFERS, UNDECIDED, NOT_RUN = "reproduced", "differs", "undecided", "not run"
SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_TESTED = "not tested"  # verdict if no model and data set of a sentence were run
FAILED = "failed"  # verdict on a figure or table after an error
ORDER = (SUPPORTED, REPRODUCED, CONTRADICTED, DIFFERS, UNDECIDED, NOT_RUN, NOT_TESTED, FAILED)
# Floating-point noise in a comparison with a limit.
NOISE = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A value (NaN if there is none) with its 95% interval, which an exact count does not have.

    `n` is the number of observations (models, pairs, sentences) behind it.
    """

    value: float
    low: float
    high: float
    n: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise LingprobError(f"an interval from {self.low} to {self.high} is upside down.")

    @classmethod
    def of(cls, row: Mapping[Any, Any], column: str, n: int = 0, note: str = "") -> Self:
        """Return the value in a column of a row, with its interval COLUMN_low to COLUMN_high."""
        value, low, high = (float(row[column + end]) for end in ("", "_low", "_high"))
        return cls(value, low, high, int(n), note)

    @classmethod
    def exact(cls, value: float, note: str = "") -> Self:
        """Return a value without uncertainty: a count."""
        return cls(value, value, value, note=note)

    @property
    def half_width(self) -> float:
        """Return half the width of the interval."""
        return (self.high - self.low) / 2


NOTHING = Estimate(math.nan, math.nan, math.nan)


def judge_number(
    ours: Estimate, published: float, rounding: float, decides: float
) -> tuple[str, str]:
    """Return the verdict on a published number, and a note.

    The verdict is `reproduced` if our value is within rounding, or if our interval overlaps the
    published one and is narrow enough: its half width is at most `decides`. It is `differs` if they
    do not overlap, else `undecided`. `rounding` is half a unit of the printed value's last place,
    or half its own interval if the paper has one.
    """
    if not math.isfinite(ours.value):
        return NOT_RUN, ""
    reach = rounding + NOISE * max(1.0, abs(published))
    if abs(ours.value - published) <= reach:
        return REPRODUCED, ""
    if ours.low > published + reach or ours.high < published - reach:
        return DIFFERS, ""
    if ours.half_width <= max(decides, rounding):
        return REPRODUCED, ""
    return UNDECIDED, _more(ours, decides)


def judge_claim(estimate: Estimate, expected: str) -> tuple[str, str]:
    """Return the verdict on a claim from the interval of its statistic, and a note.

    `expected` is an argument of `expected_range`. The verdict is `supported` if the whole interval
    is in that range, `contradicted` if no part of it is, and `undecided` otherwise.
    """
    lowest, highest = expected_range(expected)
    if not math.isfinite(estimate.value):
        return NOT_RUN, ""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return UNDECIDED, "no interval"
    bounded = math.isfinite(lowest) and math.isfinite(highest)
    inside = lowest <= estimate.low and estimate.high <= highest
    # An estimate on a limit does not exceed it. A bounded range includes its ends.
    if inside and (bounded or (estimate.low > lowest and estimate.high < highest)):
        return SUPPORTED, ""
    if estimate.high < lowest or estimate.low > highest:
        return CONTRADICTED, ""
    return UNDECIDED, _more(estimate, min(abs(estimate.value - end) for end in (lowest, highest)))


def expected_range(expected: str) -> tuple[float, float]:
    """Return the ends of the range that a claim expects: "> 0", "< -0.5" or "within -1 to 1".

    Raises LingprobError for any other form.
    """
    with suppress(ValueError):
        match expected.split():
            case [">", limit]:
                return float(limit), math.inf
            case ["<", limit]:
                return -math.inf, float(limit)
            case ["within", low, "to", high]:
                return float(low), float(high)
    raise LingprobError(
        f"a claim expects {expected!r}. Allowed are '> X', '< X' and 'within X to Y'."
    )


def order_verdicts(verdicts: Iterable[str]) -> list[tuple[str, int]]:
    """Return the verdicts that occur, each with its count, in one fixed order."""
    counts = Counter(verdicts)
    return [(word, counts[word]) for word in ORDER if counts[word]]


def _more(estimate: Estimate, wanted: float) -> str:
    """Return a note on how many observations would give the interval a half width of `wanted`."""
    if not estimate.n or wanted <= 0 or not estimate.half_width > wanted:
        return ""
    n = math.ceil(estimate.n * (estimate.half_width / wanted) ** 2 * (1 - NOISE))
    now = "" if f"n = {estimate.n:,}" in estimate.note else f"n = {estimate.n:,}; "
    return f"{now}about n = {n:,} would tell"
