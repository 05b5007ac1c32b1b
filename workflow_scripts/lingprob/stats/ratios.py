"""The interval of a ratio of two estimates, such as MORCELA's beta and gamma."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

Array = NDArray[np.float64]


def fieller(
    estimates: Array, covariance: Array, freedom: float, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the ratio of the first estimate to the second and the ends of Fieller's interval.

    `estimates` is (2,), `covariance` (2, 2), `freedom` that of the t distribution. Where the
    second may be zero, no ratio can be told from others, and the ends are infinite.
    """
    (a, b), q2 = estimates, student.ppf((1 + confidence) / 2, freedom) ** 2
    lead, half, last = (
        b * b - q2 * covariance[1, 1],
        a * b - q2 * covariance[0, 1],
        a * a - q2 * covariance[0, 0],
    )
    if lead <= 0:
        return float(a / b), -np.inf, np.inf
    root = np.sqrt(max(half**2 - lead * last, 0.0))
    return float(a / b), float((half - root) / lead), float((half + root) / lead)
