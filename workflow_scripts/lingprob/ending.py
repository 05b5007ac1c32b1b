"""What a run ends with: the page on what is where, and the last lines in the terminal.

Read by the Snakefile, so it imports nothing that only a job needs.
"""

from __future__ import annotations

from pathlib import Path

from lingprob.console import report_file
from lingprob.contents import PAGE, write_contents
from lingprob.scorecard.summary import summarise_cards

RESULTS = Path("results")
FRONT = RESULTS / "index.html"


def list_contents(checkout: str | Path) -> None:
    """Say in results/README.md what is where, by the table in the checkout's `report/`."""
    write_contents(RESULTS, Path(checkout) / "report" / "results.md")


def what_to_open(since: float) -> list[str]:
    """Return the last lines in the terminal: verdicts by paper, and what to open.

    Args:
        since: when the run began (seconds since the epoch); what is older is another run's.
    """
    places = report_file(since)
    pages = [FRONT, *sorted((RESULTS / "profiles").glob("*.html"))]
    if new := [str(page) for page in pages if page.is_file() and page.stat().st_mtime >= since]:
        places.insert(0, f"open in a browser: {', '.join(new)}")
    if RESULTS.is_dir():
        places.append(f"what is where: {RESULTS / PAGE}")
    where = "; ".join(places)
    return [*summarise_cards(RESULTS, since), *([where[0].upper() + where[1:]] if where else [])]
