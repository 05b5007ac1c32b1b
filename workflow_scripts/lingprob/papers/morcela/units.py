"""Which sentences belong together: what folds keep in one piece and intervals resample."""

from __future__ import annotations

import logging

import pandas as pd

logger = logging.getLogger(__name__)

# From the finest to the coarsest, the column of a `stimuli` table that says what a sentence is of.
# An article is what Linguistic Inquiry's sentences are sampled by; other data sets have a
# phenomenon in its place.
UNITS = {
    "sentence": "item_id",
    "pair": "pair_id",
    "paradigm": "paradigm",
    "article": "phenomenon",
}
# Fewer clusters than this tell little of how much clusters differ.
FEWEST = 20


def units_of(stimuli: pd.DataFrame, wanted: str, fewest: int = FEWEST) -> tuple[str, pd.Series]:
    """Return the unit that a data set's sentences are taken by, and each sentence's.

    That is the wanted one or, where the data set does not say it of every sentence or has fewer
    than `fewest` of them, the coarsest of the finer ones that it has, which is logged.
    """
    names = list(UNITS)
    for name in reversed(names[: names.index(wanted) + 1]):
        ids = stimuli.get(UNITS[name])
        # The last, the finest, is taken whatever there is of it.
        if ids is not None and ids.notna().all() and ids.nunique() >= fewest:
            break
    if name != wanted:
        logger.warning(
            "%s: not known of every sentence, or fewer than %d; taking each %s for itself",
            wanted, fewest, name,
        )  # fmt: skip
    return name, stimuli[UNITS[name]]
