"""What pages show of a scorecard: claims with their verdicts, numbers beside published ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.io.files import write_text
from lingprob.io.tables import write_csv
from lingprob.scorecard.verdicts import FAILED, NOT_RUN, order_verdicts
from lingprob.site.page import heading_of, render_page, simulated_in


def scorecard_page(card: pd.DataFrame, title: str, results: str = "", note: str = "") -> str:
    """Return a scorecard as a page: claims, numbers, and behind a line what was not run.

    Args:
        card: a `scorecard` table of one paper's target.
        title: the page's.
        results: from the page's folder to the folder of all results, for links to figures.
        note: stands under the title.
    """
    failed = card.loc[card["verdict"] == FAILED, "note"]
    waiting = card[(card["kind"] == "number") & (card["verdict"] == NOT_RUN)]
    return render_page(
        "scorecard",
        title,
        note=" ".join([*failed, *filter(None, [note])]),
        root=results,
        scale=card["scale"].iloc[0] if len(card) else "",
        simulated=simulated_in([card]),
        counted=order_verdicts(card["verdict"]),
        claims=claims_in(card),
        numbered=numbers_in(card),
        waiting=waiting.to_dict("records"),
    )


def write_scorecard_pages(card: pd.DataFrame, paths: Iterable[str | Path], note: str = "") -> None:
    """Write a scorecard to results/PAPER/ as CSV and as a page with a note."""
    for path in map(Path, paths):
        if path.suffix == ".csv":
            write_csv(card, path)
        else:
            title = f"Scorecard: {heading_of(path.parent.name)}"
            write_text(scorecard_page(card, title, "../", note), path)


def claims_in(card: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the claims of a scorecard in its order.

    Each has its `sentence`, `item` of the paper, `figure` (ROOM/NAME, or "" if none was drawn for
    it), `counts` of verdicts, `note`, and `rows`: the populations that it was tested in.
    """
    found = []
    claims = card[card["kind"] == "claim"]
    for _, rows in claims.groupby(["item", "column"], sort=False):
        first, run = rows.iloc[0], rows[rows["verdict"] != NOT_RUN]
        found.append(
            {
                "sentence": first["sentence"],
                "item": first["item"],
                "figure": first["figure"] if len(run) and isinstance(first["figure"], str) else "",
                "counts": order_verdicts(rows["verdict"]),
                "note": "" if len(run) else first["note"],
                "rows": run.to_dict("records"),
            }
        )
    return found


def numbers_in(card: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the numbers of a scorecard that were computed."""
    return card[(card["kind"] == "number") & (card["verdict"] != NOT_RUN)].to_dict("records")
