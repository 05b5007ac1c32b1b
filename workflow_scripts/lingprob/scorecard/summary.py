"""What a run ends with in the terminal: verdicts by paper, and where they are to be read.

Read by the Snakefile, so it imports nothing that only a job needs.
"""

from __future__ import annotations

import csv
from pathlib import Path

from lingprob.scorecard.verdicts import order_verdicts


def summarise_cards(results: str | Path, since: float) -> list[str]:
    """Return a line for every paper whose scorecard a run has made, and one that names the page.

    Args:
        results: folder with PAPER/scorecard.csv and, where all papers ran, scorecard.html.
        since: when the run began (seconds since the epoch); older cards are another run's.

    Returns no line where no card was made.
    """
    cards = [card for card in sorted(Path(results).glob("*/scorecard.csv")) if _new(card, since)]
    if not cards:
        return []
    width = max(len(card.parent.name) for card in cards)
    lines = [f"{card.parent.name:{width}}  {_counts(card)}" for card in cards]
    whole = Path(results) / "scorecard.html"
    pages = [whole] if _new(whole, since) else [card.with_suffix(".html") for card in cards]
    return [*lines, "Read more in " + ", ".join(map(str, pages))]


def _new(path: Path, since: float) -> bool:
    return path.exists() and path.stat().st_mtime >= since


def _counts(card: Path) -> str:
    with card.open(newline="", encoding="utf-8") as lines:
        verdicts = [row["verdict"] for row in csv.DictReader(lines)]
    return ", ".join(f"{count} {word}" for word, count in order_verdicts(verdicts))
