"""What ratings say on whatever scale they are: z-scores, labels, or means of 1 to 7."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def middle(rating: Array) -> float:
    """Return what ratings (n,) are acceptable above: 0 where some are above it and some below, as
    z-scores and labels of -1 and 1 are, and else their mean."""
    return 0.0 if rating.min() < 0 < rating.max() else float(rating.mean())
