"""Make the page of an audit of minimal pairs: its problems, and the worst pairs."""

from difflib import SequenceMatcher
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from lingprob.pairs.audit import PROBLEMS
from lingprob.site.page import render_page, shown
from lingprob.stats.resampling import accuracies

SHOWN = 100
# Columns with the measures of a pair that the page has.
MEASURES = ("logprob_difference", "flips", "levenshtein_words", "cosine_distance", "mismatch",
            "unigram_difference", "n_tokens_good", "n_tokens_bad", "corpus", "leaked_good",
            "leaked_bad", "repeats")  # fmt: skip
# One problem of this weight or more makes a pair unfit.
SEVERE = 4


def audit_page(table: pd.DataFrame, preferred: pd.DataFrame, title: str, model: str) -> str:
    """Return the audit of one data set as an HTML page, with the titles of data set and model.

    `table` and `preferred` are those of `pairs.audit.audit`. The first column of `preferred` is the
    default convention.
    """
    flagged = table[table["problems"] != ""]
    return render_page(
        "audit",
        f"Audit: {title}",
        n=f"{len(table):,}",
        clean=f"{len(table) - len(flagged):,}",
        model=model,
        scale=table["scale"].iloc[0],
        csv=f"{table['dataset'].iloc[0]}.csv",
        conventions=[_convention(preferred, name) for name in preferred],
        problems=_problems(table),
        worst=[_pair(row) for row in flagged.head(SHOWN).to_dict("records")],
    )


def _convention(preferred: pd.DataFrame, name: str) -> dict[str, str]:
    """Return a convention's accuracy, and on how many pairs it differs from the default."""
    known = preferred[name].notna()
    right = preferred.loc[known, name].astype(bool)
    found = accuracies(right, pd.Series(name, right.index)).loc[name]
    default = preferred.columns[0]
    flips = int((known & (preferred[name] != preferred[default])).sum())
    return {
        "name": name,
        "accuracy": f"{found['accuracy']:.1%}",
        "interval": f"{found['accuracy_low']:.1%} to {found['accuracy_high']:.1%}",
        "flips": "" if name == default else f"{flips:,}",
    }


def _problems(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each problem that occurs, with its meaning and number of pairs."""
    counts = table["problems"].str.split("; ").explode().value_counts()
    return [
        {"name": name, "tone": _tone(name), "meaning": problem.meaning, "count": counts[name]}
        for name, problem in PROBLEMS.items()
        if name in counts
    ]


def _tone(name: str) -> str:
    return "no" if PROBLEMS[name].weight >= SEVERE else "open"


def _pair(row: dict[str, Any]) -> dict[str, Any]:
    """Return a pair for the page: its two sentences with marked words, problems and measures."""
    good, bad = marked(row["good"], row["bad"])
    named = [name for name in (row["paradigm"], row["phenomenon"]) if isinstance(name, str)]
    return {
        "id": ", ".join([*named[:1], row["pair_id"]]),
        "good": good,
        "bad": bad,
        "preferred": row["preferred"],
        "problems": [(name, _tone(name)) for name in row["problems"].split("; ")],
        "facts": _facts(row),
    }


def _facts(row: dict[str, Any]) -> str:
    """Return the values of MEASURES that a pair has, in one line."""
    told = ((name.replace("_", " "), shown(row[name])) for name in MEASURES)
    return "; ".join(f"{name} {value}" for name, value in told if value)


def marked(good: str, bad: str) -> tuple[Markup, Markup]:
    """Return two sentences as HTML, with marks around the words that only one of them has."""
    words = good.split(), bad.split()
    found: tuple[list[Markup], list[Markup]] = ([], [])
    for kind, *ends in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate((ends[:2], ends[2:])):
            text = escape(" ".join(words[side][start:end]))
            if text:
                found[side].append(
                    text if kind == "equal" else Markup("<mark>{}</mark>").format(text)
                )
    return Markup(" ").join(found[0]), Markup(" ").join(found[1])
