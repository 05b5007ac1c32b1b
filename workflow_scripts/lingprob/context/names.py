"""Names of prefixes, suites and figures that rules need before any table exists."""

from collections.abc import Mapping, Sequence
from typing import Any

MATCHED = ("matched_acceptable", "matched_unacceptable")
MISMATCHED = ("mismatched_acceptable", "mismatched_unacceptable")
UNRELATED = "unrelated"
KINDS = (*MATCHED, *MISMATCHED, UNRELATED)
# Kinds of prefixes: sentences of one suite before targets of other suites, and no sentence.
FROM_SUITE, NO_PREFIX = "from_suite", "none"

# Prefixes without a perturbation, in tables of perturbations.
ORIGINAL = "original"

SYNTAXGYM, CROWS_PAIRS = "syntaxgym", "crows_pairs"
FIGURES_OF_ALL = (2, 3, 4, 5, 9, 10, 11, 12, 13, 15)
FIGURES_OF = {CROWS_PAIRS: (6, 7, 8), SYNTAXGYM: (14, 16, 17)}


def primary_dataset(datasets: Sequence[str]) -> str | None:
    """Return the first data set of plain pairs, which replaces the paper's BLiMP, or None."""
    return next((name for name in datasets if name not in FIGURES_OF), None)


def figures_of(datasets: Sequence[str]) -> list[str]:
    """Return the paper's figures that these data sets allow."""
    of_some = [number for dataset in datasets for number in FIGURES_OF.get(dataset, ())]
    return [f"figure_{number}" for number in sorted({*FIGURES_OF_ALL, *of_some})]


def pairs_per_suite(
    context: Mapping[str, Any], dataset: str, entry: Mapping[str, Any]
) -> int | None:
    """Return how many pairs of each suite are judged; None means all, as of a user's own data.

    `context` is this section of the configuration, and `entry` the data set's catalog entry.
    """
    usual = None if entry["parser"] == "table" else context["pairs_per_suite"]
    return context["pairs_per_suite_of"].get(dataset, usual)
