"""The page of a certificate: the verdicts, and the gravest overlaps."""

from __future__ import annotations

from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from lingprob.certificate.chance import ABSENT, CHANCE, OPEN, PART, VERDICTS, WHOLE
from lingprob.site.page import render_page

SHOWN = 100
TONES = {WHOLE: "no", PART: "no", CHANCE: "yes", ABSENT: "yes", OPEN: "open"}


def certificate_page(table: pd.DataFrame, title: str, csv: str = "") -> str:
    """Return a certificate as a page.

    Args:
        table: as `certify` returns it.
        title: of the texts, for people.
        csv: name of the file that has the table, "" without one.
    """
    gravest, n = by_gravity(table), table["text_id"].nunique()
    return render_page(
        "certificate",
        f"Certificate: {title}",
        texts=f"each of {n:,} texts" if n > 1 else "the text",
        csv=csv,
        verdicts=[(name, meaning, TONES[name]) for name, meaning in VERDICTS.items()],
        corpora=[_corpus(name, part) for name, part in table.groupby("corpus", sort=False)],
        rows=f"{len(table):,}",
        texts_shown=[_text(row) for row in gravest.head(SHOWN).to_dict("records")],
    )


def by_gravity(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the least chance first, then those with the longest overlaps."""
    keys = table.assign(level=table["chance_level"].fillna(1.0))
    order = keys.sort_values(["level", "overlap_tokens"], ascending=[True, False], kind="stable")
    return table.loc[order.index]


def _corpus(name: str, part: pd.DataFrame) -> dict[str, Any]:
    """Return how often each verdict is, and how long the overlaps are."""
    counts = part["verdict"].value_counts()
    return {
        "corpus": name,
        "counts": [f"{counts.get(verdict, 0):,}" for verdict in VERDICTS],
        "median": f"{part['overlap_tokens'].median():g}",
        "longest": f"{part['overlap_tokens'].max():,}",
        "ngrams": part["ngrams"].iloc[0],
    }


def _text(row: dict[str, Any]) -> dict[str, Any]:
    """Return a text beside its overlap, in words."""
    facts = [f"{row['overlap_tokens']:,} of {row['n_tokens']:,} tokens"]
    if row["occurrences"]:
        facts.append("once" if row["occurrences"] == 1 else f"{row['occurrences']:,} times")
    if pd.notna(row["chance_level"]):
        facts.append(
            f"chance level {in_words(row['chance_level'])}, "
            f"{in_words(row['chance_level_holm'])} among all texts"
        )
    place = f"{row['file']}, document {row['document']:,}, from token {row['first_token']:,} on:"
    return {
        "id": row["text_id"],
        "corpus": row["corpus"],
        "verdict": row["verdict"],
        "tone": TONES[row["verdict"]],
        "text": marked(row["text"], row["overlap_text"]),
        "facts": "; ".join(facts) + ".",
        "place": place if row["document"] else "",
        "before": row["before"],
        "overlap": row["overlap_text"],
        "after": row["after"],
    }


def in_words(level: float) -> str:
    """Return a chance level with two digits, or as small as nobody needs to know exactly."""
    return "below 1e-12" if level < 1e-12 else f"{level:.2g}"


def marked(text: str, overlap: str) -> Markup:
    """Return a text as HTML with the overlap marked, where the text has it letter by letter."""
    before, found, after = text.partition(overlap.strip()) if overlap.strip() else (text, "", "")
    if not found:
        return escape(text)
    return Markup("{}<mark>{}</mark>{}").format(before, found, after)
