"""Show scorecards as pages and CSV: one verdict for each sentence, and the printed numbers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.io.files import write_text
from lingprob.io.tables import write_csv
from lingprob.scorecard.comparison import ALSO, CHECK, OWN, OWN_SIMULATED, PAPER, SIMULATED
from lingprob.scorecard.sentences import count_sentences, judge_sentences
from lingprob.scorecard.verdicts import FAILED, NOT_RUN, order_verdicts
from lingprob.site.page import heading_of, render_page, simulated_in

# Names of the roles of rows, for the table of a sentence.
ROLES = {
    PAPER: "the paper's",
    ALSO: "other",
    CHECK: "published tables",
    SIMULATED: "simulated",
    OWN: "",
    OWN_SIMULATED: "simulated",
}


def scorecard_page(card: pd.DataFrame, title: str, results: str = "", note: str = "") -> str:
    """Return a scorecard as an HTML page: the paper's sentences, its numbers, and other sentences.

    `results` is the path from the page's folder to the results. `note` is shown under the title.
    """
    failed = card.loc[card["verdict"] == FAILED, "note"]
    waiting = card[(card["kind"] == "number") & (card["verdict"] == NOT_RUN)]
    claims = claims_in(card)
    return render_page(
        "scorecard",
        title,
        note=" ".join([*failed, *filter(None, [note])]),
        root=results,
        scale=card["scale"].iloc[0] if len(card) else "",
        simulated=simulated_in([card]),
        counts_of=counts_of([card]),
        claims=[claim for claim in claims if not claim["own"]],
        own=[claim for claim in claims if claim["own"]],
        numbered=numbers_in(card),
        waiting=waiting.to_dict("records"),
    )


def write_scorecard_pages(card: pd.DataFrame, paths: Iterable[str | Path], note: str = "") -> None:
    """Write a scorecard to paths in results/ROOM/: verdicts.csv, another CSV file, or a page."""
    for path in map(Path, paths):
        if path.name == "verdicts.csv":
            write_csv(judge_sentences(card), path)
        elif path.suffix == ".csv":
            write_csv(card, path)
        else:
            title = f"Scorecard: {heading_of(path.parent.name)}"
            write_text(scorecard_page(card, title, "../", note), path)


def counts_of(cards: Iterable[pd.DataFrame]) -> dict[str, Any]:
    """Return the counts over scorecards that a page shows, by name.

    `sentences` and `numbers` of the paper, and `checks` of the pipeline, are counted by verdict.
    `recovered` counts effects found in simulated data, and `failed` counts outputs with an error.
    """
    given = list(cards)
    judged = pd.concat([judge_sentences(card) for card in given])
    card = pd.concat(given)
    computed = card[(card["kind"] == "number") & (card["verdict"] != NOT_RUN)]
    checks = card[(card["role"] == CHECK) & (card["verdict"] != NOT_RUN)]
    answers = ["yes" if found == "yes" else "no" for found in judged["simulated"] if found]
    return {
        "sentences": count_sentences(judged),
        "numbers": order_verdicts(computed.loc[computed["role"] == PAPER, "verdict"]),
        "checks": order_verdicts(checks["verdict"]),
        "recovered": [(word, answers.count(word)) for word in ("yes", "no") if word in answers],
        "failed": int((card["verdict"] == FAILED).sum()),
    }


def claims_in(card: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the sentences of a scorecard (`judge_sentences`) as dictionaries, in its order.

    In addition, `rows` has the populations in which a sentence was tested, with their role in words
    as `about` if roles differ. `note` says why there are none. `of` is the figure that the sentence
    is about, and `figure` the same if it was drawn.
    """
    claims = card[card["kind"] == "claim"]
    about = claims["role"].map(ROLES) if claims["role"].nunique() > 1 else ""
    claims, found = claims.assign(about=about), []
    for sentence in judge_sentences(card).to_dict("records"):
        same = (claims["column"] == sentence["claim"]) & (claims["item"] == sentence["section"])
        first, rows = claims[same].iloc[0], claims[same & (claims["verdict"] != NOT_RUN)]
        more = {
            "of": first["figure"],
            "figure": sentence["figure"] if isinstance(sentence["figure"], str) else "",
            "note": "" if len(rows) else first["note"],
            "rows": rows.to_dict("records"),
        }
        found.append({**sentence, **more})
    return found


def numbers_in(card: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a scorecard's numbers that the run has computed, as dictionaries."""
    return card[(card["kind"] == "number") & (card["verdict"] != NOT_RUN)].to_dict("records")
