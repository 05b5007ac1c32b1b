"""How claims about chats, our own, are computed from the room's tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lingprob.papers.contract import Run, Tables
from lingprob.referee.claims import Statistic
from lingprob.referee.verdicts import Estimate

# With fewer units to resample, all fall on one side of 0 by chance in over a twentieth of cases.
FEWEST = 6


def of_chats(method: str, context: str, column: str) -> Statistic:
    """Return a column of `context_chats` at one method and context, a model and data set each.

    No interval if it is of too few units or of units all alike.
    """

    def statistic(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
        if "chats" not in tables:
            return
        rows = tables["chats"]
        for row in rows[(rows["method"] == method) & (rows["context"] == context)].itertuples():
            value, low, high = (float(getattr(row, column + end)) for end in ("", "_low", "_high"))
            several = row.n_suites > 1
            n, what = (row.n_suites, "suites") if several else (row.n_pairs, "pairs")
            if n < FEWEST or low == high:
                low = high = np.nan
            yield f"{row.model}/{row.dataset}", Estimate(value, low, high, int(n), f"{n} {what}")

    return statistic


CHAT_STATISTICS: dict[str, Statistic] = {
    "choice_below_probability": of_chats("choice", "none", "above_text"),
    "unacceptable_turns_lower": of_chats("turns", "unacceptable", "delta"),
    "labelled_examples_help": of_chats("labels", "mixed", "delta"),
}
