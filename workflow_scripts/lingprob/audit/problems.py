"""What is wrong with a pair, how badly, and which pairs are worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lingprob.audit.measures import Evidence, measure
from lingprob.io.schemas import SCHEMAS

# Beyond this many interquartile ranges from the quartiles a value is far out (Tukey's fences).
FENCE = 1.5
FAR = 3.0
FLIP = "verdict flips"


@dataclass(frozen=True)
class Problem:
    """A kind of problem: how much it counts in the order of pairs, and what it means."""

    weight: int
    meaning: str


PROBLEMS = {
    "identical": Problem(8, "The two sentences are the same: nothing can be preferred."),
    "called both": Problem(
        8, "Another pair has one of the sentences on the other side, grammatical or not."
    ),
    "repeated": Problem(4, "An earlier pair has the same two sentences: it counts twice."),
    "in the corpus": Problem(
        4, "A corpus has one of the two sentences whole: its probability may be remembered."
    ),
    FLIP: Problem(
        3, "Which sentence is preferred hangs on the start token, the first token, length or "
        "frequency.",
    ),
    "never preferred": Problem(
        2, "No convention prefers the grammatical sentence: are the two swapped, or does the model "
        "lack the contrast?"
    ),
    "words": Problem(2, "More words are edited than a minimal pair needs."),
    "meaning": Problem(
        2, "The embeddings of the two are farther apart than those of nearly all pairs here."
    ),
    "message": Problem(
        2, "By the model's log p the two differ far more, or less, than those of other pairs here "
        "of their length: they may not share a message.",
    ),
    "frequency": Problem(
        2, "The words' frequencies alone differ by more than the model's log p does."
    ),
    "first word": Problem(
        1, "The sentences differ in their first word, which a model without start token cannot "
        "judge.",
    ),
    "length": Problem(1, "The two have different numbers of tokens: sums of log p are unlike."),
    "implausible": Problem(
        1, "The grammatical sentence is far less probable, per token, than the others here."
    ),
}  # fmt: skip


def audit(
    evidence: Evidence, model: str, words_edited: int, scale: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the `audit` table, the worst pair first, and the verdicts under each convention.

    `words_edited` is how many words a minimal pair may differ in; a word put in another place is
    two. Pairs are in the order of the weights of their problems, then of their mismatch.
    """
    table, preferred = measure(evidence)
    default = preferred.columns[0]
    flipped = preferred.apply(lambda column: column.notna() & (column != preferred[default]))
    never = ~preferred.fillna(False).astype(bool).any(axis=1) & ~table["identical"]
    found = {**flags(table, words_edited), FLIP: flipped.any(axis=1), "never preferred": never}
    table = table.assign(
        dataset=evidence.dataset,
        model=model,
        scale=scale,
        pair_id=table.index,
        preferred=preferred[default].astype(bool),
        flips=named(flipped, ", "),
        problems=named(pd.DataFrame({name: found[name] for name in PROBLEMS}), "; "),
        weight=sum(found[name] * problem.weight for name, problem in PROBLEMS.items()),
        words=found["words"],
    )
    worst = table["mismatch"].abs().fillna(0)
    order = np.lexsort([-worst, -table["weight"]])
    table = table.iloc[order].reset_index(drop=True)
    return table[SCHEMAS["audit"].names], preferred


def flags(table: pd.DataFrame, words_edited: int) -> dict[str, Any]:
    """Return which pairs have each problem but those of verdicts, boolean columns by pair id."""
    per_token = table["logprob_good"] / table["n_tokens_good"]
    unigrams, logprob = table["unigram_difference"].abs(), table["logprob_difference"].abs()
    return {
        "identical": table["identical"],
        "called both": table["both_ways"].notna(),
        "repeated": table["repeats"].notna(),
        "in the corpus": table[["leaked_good", "leaked_bad"]].max(axis=1) >= 1,
        "words": table["levenshtein_words"] > words_edited,
        "meaning": beyond(table["cosine_distance"]),
        "message": table["mismatch"].abs() > FAR,
        "frequency": unigrams > logprob,
        "first word": table["first_word_differs"],
        "length": table["n_tokens_good"] != table["n_tokens_bad"],
        "implausible": beyond(-per_token),
    }


def beyond(values: pd.Series) -> pd.Series:
    """Tell which values are far above the upper quartile; none where all are unknown."""
    low, high = values.quantile(0.25), values.quantile(0.75)
    return values > high + FENCE * (high - low)


def named(flags: pd.DataFrame, between: str) -> list[str]:
    """Return the names of the columns that are true in each row, joined."""
    columns = np.array(flags.columns)
    return [between.join(columns[row]) for row in flags.to_numpy(dtype=bool)]
