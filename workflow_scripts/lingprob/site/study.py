"""Make the tables of the front page of a run on the user's data alone."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.scorecard.comparison import ALSO, CHECK, PAPER
from lingprob.scorecard.verdicts import NOT_RUN

HEADINGS = {
    "morcela": "Ratings",
    "string_probability": "Probability and grammaticality",
    "overlap": "Overlaps with corpora",
    "reading": "Reading times",
    "context": "Pairs after other sentences",
}
# Descriptions of partitions and reasons of exclusion of reading times.
FATES = {
    "missing": "no time",
    "comprehension": "the reader answered fewer than five questions correctly",
    "sentence_boundary": "first or last in a sentence",
    "too_short": "below 100 ms",
    "too_long": "above 3,000 ms",
    "unfixated": "not fixated",
    "saccade": "after a saccade over more than four words",
    "line_or_screen_boundary": "first or last on a line or screen",
    "fit": "fit partition (to fit regressions)",
    "exploratory": "exploratory partition (to compare models)",
    "held_out": "held-out partition (for a final test)",
}
Row = dict[Any, Any]


def own_claims(card: pd.DataFrame) -> pd.DataFrame:
    """Return a scorecard's rows of tested claims, with role PAPER in place of ALSO."""
    tested = (card["kind"] == "claim") & (card["verdict"] != NOT_RUN) & (card["role"] != CHECK)
    return card[tested].assign(role=card["role"].replace({ALSO: PAPER}))


def tables_of(
    room: str, results: Path, files: Collection[str], titles: Mapping[str, str]
) -> dict[str, list[Row]]:
    """Return the TABLES of a room (folder of results) that the run has made, by title.

    Each is a list of rows with title (of a model), data (title of a data set), quantity, value,
    low, high, n and note.

    Args:
        room: name of the folder.
        results: the folder above it.
        files: paths below `results` that the run has made.
        titles: titles of models and data sets, by name.
    """
    empty = dict.fromkeys(("title", "n", "low", "high", "note"), "")
    found = {}
    for (of, name), (title, rows_of) in TABLES.items():
        if of == room and f"{room}/{name}.csv" in files:
            table = pd.read_csv(results / room / f"{name}.csv").rename(columns={"n_evaluated": "n"})
            names = [column for column in ("dataset", "model", "other") if column in table]
            table[names] = table[names].map(lambda name: titles.get(name, name))
            rows = rows_of(table.rename(columns={"dataset": "data", "model": "title"}))
            found[title] = [empty | row for row in rows]
    return {title: rows for title, rows in found.items() if rows}


def _gains(table: pd.DataFrame) -> Iterator[Row]:
    """Yield ΔLogLik of each model, with the number of fitted reading times, and its perplexity."""
    for row in table.to_dict("records"):
        part = f"{row['partition']}, {row['n_subjects']} readers, fitted to {row['n_fit']:,} times"
        found = _estimate(row, "delta") | {"quantity": f"ΔLogLik (nats), {part}"}
        notes = [_state(row)]
        if row["partition"] != "subjects":
            notes.append("`reading.partition: subjects` uses all times")
        yield found | {"note": "; ".join(filter(None, notes))}
        names = {"title": row["title"], "data": row["data"], "quantity": "perplexity of a word"}
        yield names | {"value": row["word_perplexity"]}


def _differences(table: pd.DataFrame) -> Iterator[Row]:
    """Yield differences between models: of ΔLogLik, or of MORCELA's parameters."""
    for row in table.to_dict("records"):
        names = [name for name in ("difference", "r_cv", "beta", "gamma") if name in row]
        p = f"p = {row['p_holm']:.2g} (Holm)" if "p_holm" in row else ""
        for name in names:
            quantity = {"difference": "ΔLogLik (nats)", "r_cv": "r"}.get(name, name)
            told = {"title": f"{row['title']} minus {row['other']}", "quantity": quantity}
            yield _estimate(row, name) | told | {"note": p}


def _effects(table: pd.DataFrame) -> Iterator[Row]:
    """Yield fixed effects (ms), with a note on a singular or unconverged fit."""
    for row in table.to_dict("records"):
        yield _estimate(row, "ms") | {"quantity": row["term"], "note": _state(row)}


def _fates(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the number of reading times in each partition and for each reason of exclusion."""
    whole = table.groupby("data")["rows"].transform("sum")
    for row, total in zip(table.to_dict("records"), whole, strict=True):
        note = f"{row['rows'] / total:.1%} of {total:,}"
        quantity = FATES[row["fate"]]
        yield {"data": row["data"], "quantity": quantity, "value": row["rows"], "note": note}


def _agreement(table: pd.DataFrame) -> Iterator[Row]:
    """Yield the correlations between groups of participants, with the number of judgments."""
    for row in table.to_dict("records"):
        about = {"quantity": row["description"], "n": row["judgments"]}
        yield _estimate(row, "r") | about | {"note": f"judgments by {row['participants']} people"}


def _estimate(row: Row, name: str) -> Row:
    """Return title, data and n of a row, and value, low and high of one of its columns."""
    kept = {key: row[key] for key in ("title", "data", "n") if key in row}
    return {**kept, "value": row[name], "low": row[f"{name}_low"], "high": row[f"{name}_high"]}


def _state(row: Row) -> str:
    """Return a note on a fit that is singular or did not converge, else ''."""
    if not row["converged"]:
        return "the fit did not converge"
    return "singular fit" if row["singular"] else ""


# Titles and rows of the tables, by room and name of the CSV file.
TABLES: dict[tuple[str, str], tuple[str, Callable[[pd.DataFrame], Iterator[Row]]]] = {
    ("morcela", "differences"): ("Differences between models", _differences),
    ("morcela", "intergroup_correlation"): ("Agreement between participants (r)", _agreement),
    ("reading", "delta_log_likelihood"): ("What surprisal adds", _gains),
    ("reading", "model_differences"): ("Differences between models", _differences),
    ("reading", "effects"): ("Fixed effects (ms)", _effects),
    ("reading", "counts"): ("Reading times by exclusion and partition", _fates),
}
