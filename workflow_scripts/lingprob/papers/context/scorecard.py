"""The context paper's numbers and claims against ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from lingprob.context.names import MATCHED, SYNTAXGYM
from lingprob.papers.context.analysis import PAPER_DATASET, extreme_suites
from lingprob.papers.contract import Published, Run, Tables
from lingprob.referee.numbers import Quantities, claim, make_scorecard

Claim = tuple[str, str, float, bool]


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare Tables 1 and 2, Figure 14 and the paper's claims with ours: a `scorecard` table.

    `tables` are accuracy, regression, matrix and correlations, by name.
    """
    claims = [
        claim(published, item, f"{model}/{dataset}", text, value, holds, scale=run.scale)
        for (model, dataset), rows in tables["accuracy"].groupby(["model", "dataset"], sort=False)
        for item, text, value, holds in [
            *accuracy_claims(rows),
            *regression_claims(of(tables["regression"], model, dataset)),
            *correlation_claims(of(tables["correlations"], model, dataset)),
        ]
    ]
    return make_scorecard(published, context_quantities(tables, published), claims, run.scale)


def of(table: pd.DataFrame, model: str, dataset: str) -> pd.DataFrame:
    """Return the rows of one model and data set."""
    return table[(table["model"] == model) & (table["dataset"] == dataset)]


def context_quantities(tables: Tables, published: dict[str, Any]) -> Quantities:
    """Return our values of Tables 1 and 2 and of Figure 14, from the paper's data sets alone.

    Means over models are those over the paper's, where all of them ran.
    """
    found: Quantities = {}
    accuracy = tables["accuracy"]
    theirs = models_of_tables(published)
    all_ran = theirs <= set(accuracy.loc[accuracy["dataset"] == PAPER_DATASET, "model"])
    for kind in MATCHED:
        side = kind.removeprefix("matched_")
        table = extreme_suites(accuracy, PAPER_DATASET, kind).set_index("suite")
        for column in table.columns:
            model, _, what = column.rpartition("/")
            if model:
                for suite, value in table[column].items():
                    found[(f"{model}/{suite}", f"{what}_{side}")] = (float(value), "")
        if all_ran:
            of_theirs = accuracy[accuracy["model"].isin(theirs)]
            for row in extreme_suites(of_theirs, PAPER_DATASET, kind).itertuples():
                found[(f"mean/{row.suite}", f"delta_{side}")] = (float(row.mean_delta), "")
                found[(f"mean/{row.suite}", f"sd_{side}")] = (float(row.mean_sd), "")
    matrix = tables["matrix"]
    matrix = matrix[(matrix["dataset"] == SYNTAXGYM) & matrix["relative_improvement"].notna()]
    for row in matrix.itertuples():
        key = (f"{row.model}/{row.target_suite}", str(row.prefix_suite))
        found[key] = (float(row.relative_improvement), f"{row.n_pairs} items")
    return found


def models_of_tables(published: dict[str, Any]) -> set[str]:
    """Return the models of Tables 1 and 2, whose rows are MODEL/SUITE or mean/SUITE."""
    rows = [row for item in published["items"] if "Table" in item["item"] for row in item["rows"]]
    return {row.partition("/")[0] for row in rows} - {"mean"}


def accuracy_claims(accuracy: pd.DataFrame) -> Iterator[Claim]:
    """Check what §4 says of accuracies after the longest prefixes."""
    rows = accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].isna()]
    longest = rows.sort_values("length").drop_duplicates("kind", keep="last").set_index("kind")
    delta = longest["delta"]
    up = delta["matched_acceptable"]
    down = delta["matched_unacceptable"]
    unrelated = longest.loc["unrelated"]
    yield "§4", "delta(matched acceptable) > 0", up, up > 0
    yield "§4", "delta(matched unacceptable) < 0", down, down < 0
    more = up - delta["mismatched_acceptable"]
    yield "§4", "delta: matched - mismatched > 0, acceptable", more, more > 0
    less = down - delta["mismatched_unacceptable"]
    yield "§4", "delta: matched - mismatched < 0, unacceptable", less, less < 0
    holds = unrelated["delta_low"] <= 0 <= unrelated["delta_high"]
    yield "§4", "0 within the interval of delta(unrelated)", unrelated["delta"], holds


def regression_claims(regression: pd.DataFrame) -> Iterator[Claim]:
    """Check the interactions that §4 reports; with p by pairs where there is one."""
    fits = regression[regression["estimate"].notna()]
    p = fits["pair_p"].fillna(fits["p"])
    by_term = fits.assign(used=p).set_index(["prefixes", "term"])
    wanted = [
        ("related", "log_length:acceptable", "p(length x acceptable) < .002, positive", 0.002),
        ("related", "log_length:matched:acceptable", "p(three-way) < .007, positive", 0.007),
    ]
    for prefixes, term, text, most in wanted:
        if (prefixes, term) in by_term.index:
            row = by_term.loc[(prefixes, term)]
            yield "§4", text, float(row["used"]), row["used"] < most and row["estimate"] > 0
    if ("unrelated", "log_length") in by_term.index:
        value = float(by_term.loc[("unrelated", "log_length"), "used"])
        yield "§4", "p(length) > .2, unrelated prefixes", value, value > 0.2


def correlation_claims(correlations: pd.DataFrame) -> Iterator[Claim]:
    """Check the signs and sizes of correlations: §5 and Appendix D."""
    known = correlations[correlations["value"].notna()]
    for row in known.itertuples():
        value = float(row.value)
        if row.analysis == "perturbations":
            sign = 1 if row.y.endswith("_acceptable") and "un" not in row.y else -1
            text = f"rho(similarity, {row.y}) {'>' if sign > 0 else '<'} 0"
            yield "§5", text, value, value * sign > 0
        elif row.analysis == "pairs":
            yield "Appendix D", f"|r({row.x}, correct)| small, p > .1", value, row.p > 0.1
        elif row.analysis == "suites" and row.y == "accuracy":
            yield "Appendix D", f"0 < rho({row.x}, accuracy) < .5", value, 0 < value < 0.5
