"""Facts about a run for a paper's figures, tables and scorecard."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.scorecard.comparison import MADE_HERE, Quantities, Statistic
from lingprob.scorecard.verdicts import Estimate

logger = logging.getLogger(__name__)
Arguments = ParamSpec("Arguments")
# The estimates that judge a claim, each with the name of its population ("MODEL/DATASET").
Found = Iterator[tuple[str, Estimate]]
Convention = tuple[str, str]  # BOS policy and unigram source
FAILED = "failed"  # the only column of a table whose function raised an error
# The tables of a run by the names of their schemas (`io.tables.read_tables`).
Tables = Mapping[str, pd.DataFrame]
# A paper's part of the catalog (`catalog.read_published`).
Published = Mapping[str, Any]
# The units in which papers print numbers of parameters.
SIZES = {"millions": 1e6, "billions": 1e9}


@dataclass(frozen=True)
class Run:
    """Facts about a run that its tables do not have.

    Args:
        models: title, family, size and colour of each model shown (`palette.describe_models`).
        titles: titles of data sets, by name.
        published: the paper's numbers and claims.
        note: remark for the footer of each figure.
    """

    scale: str
    models: Mapping[str, Any] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    published: Published = field(default_factory=dict)
    note: str = ""

    def model_notes(self, models: Iterable[str]) -> str:
        """Return the notes on models and on the run, each once."""
        notes = [self.models[name].get("note") for name in dict.fromkeys(models)]
        return " ".join(filter(None, dict.fromkeys([*notes, self.note])))

    def printed(self, row: str) -> float | None:
        """Return the first number that the paper prints in a row, or None if it prints none."""
        rows = [item["rows"] for item in self.published.get("items", []) if row in item["rows"]]
        return float(rows[0][row][0]) if rows else None


def statistic(
    estimate: Callable[Concatenate[Tables, Run, Arguments], Found],
) -> Callable[Arguments, Statistic]:
    """Turn a function of tables, run and options into one of the options that returns a Statistic.

    A Statistic is a function of tables and run.
    """

    @wraps(estimate)
    def with_arguments(*args: Arguments.args, **options: Arguments.kwargs) -> Statistic:
        return lambda tables, run: estimate(tables, run, *args, **options)

    return with_arguments


def judged(table: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Return the rows of a table whose models test a paper's claims.

    Models that the run trains, and n-gram models, are left out unless the table has no others.
    Their sizes and training are outside the papers' range, and checkpoints of one training are not
    independent.
    """
    made = {name for name, look in run.models.items() if look.get("source") in MADE_HERE}
    return table if made >= set(table["model"]) else table[~table["model"].isin(made)]


def parameter_counts(models: Iterable[str], run: Run) -> Quantities:
    """Return the number of parameters of each of the run's models, in both SIZES."""
    known = {name: run.models.get(name, {}).get("parameters") for name in models}
    return {
        (f"{name}/parameters", unit): Estimate.exact(parameters / one)
        for name, parameters in known.items()
        if parameters
        for unit, one in SIZES.items()
    }


def make_each(makers: Mapping[str, Callable[[], pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Return the table that each function makes, by name.

    If a function raises an error, its table has only the message, in a column FAILED. The log has
    the traceback.
    """
    tables = {}
    for name, make in makers.items():
        try:
            tables[name] = make()
        except Exception as error:
            logger.exception("table %s was not made", name)
            text = f"{name} was not made. {type(error).__name__}: {error}"
            tables[name] = pd.DataFrame({FAILED: [text]})
    return tables


def failures(tables: Tables) -> dict[str, str]:
    """Return the message of the error of each table that `make_each` could not make, by name."""
    failed = {name: table for name, table in tables.items() if list(table) == [FAILED]}
    return {name: table[FAILED].iloc[0] for name, table in failed.items()}


def scores_under(scores: pd.DataFrame, dataset: str, convention: Convention) -> pd.DataFrame:
    """Return the rows of `sentence_scores` under a convention. LingprobError if there are none."""
    bos, unigrams = convention
    found = scores[(scores["bos"] == bos) & (scores["unigrams"] == unigrams)]
    if found.empty:
        there = sorted(set(zip(scores["bos"], scores["unigrams"], strict=True)))
        raise LingprobError(
            f"data set {dataset!r}: scored under {there}, and not under BOS policy {bos!r} with "
            f"unigrams {unigrams!r}. List it among a paper's data sets, such as morcela.predicted."
        )
    return found.reset_index(drop=True)
