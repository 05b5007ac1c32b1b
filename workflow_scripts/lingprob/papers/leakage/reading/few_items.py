"""What a bootstrap over few subjects, sentences or passages falls short of."""

from __future__ import annotations

import math

from scipy import stats

from lingprob.scorecard.estimates import CONFIDENCE


def widening(items: int) -> float:
    """Return the factor by which a percentile interval over so many drawn items is to be widened.

    It is short by sqrt((n - 1) / n) and takes the normal quantile where Student's t belongs
    (Hesterberg 2015, "What teachers should know about the bootstrap"): with Dundee's ten readers,
    by 18% together. NaN below two items, which give no interval.
    """
    if items < 2:
        return math.nan
    tail = (1 + CONFIDENCE) / 2
    by_student = stats.t.ppf(tail, items - 1) / stats.norm.ppf(tail)
    return float(by_student) * math.sqrt(items / (items - 1))
