"""The scorecard's page, in text and as a browser lays it out, and a run's summary."""

from __future__ import annotations

import html
import re

import pandas as pd
import pytest

import browser
from lingprob.schemas import SCHEMAS
from lingprob.scorecard.page import TONES, scorecard_page

# Of the page: its width and, by verdict, where a badge is and its colours.
MEASURE = """(() => {
  const all = [...document.querySelectorAll("td .verdict")];
  const badges = all.filter(b => b.getClientRects().length);
  return {
  width: innerWidth, needed: document.documentElement.scrollWidth,
  frozen: [...document.querySelectorAll(".wide")].filter(w => w.scrollWidth > w.clientWidth)
    .map(w => { w.scrollLeft = 200;
      return w.querySelector("tbody td").getBoundingClientRect().left
        - w.getBoundingClientRect().left }),
  badges: badges.map(b => { const box = b.getBoundingClientRect(), style = getComputedStyle(b);
    return [b.textContent.trim(), box.left, box.right, style.color, style.backgroundColor] }),
  } })()"""


def row(verdict: str, **values: object) -> dict[str, object]:
    """Return one row of a scorecard."""
    known = verdict != "not run"
    estimate = {"ours": 0.25, "low": -0.5, "high": 1.0} if known else {}
    return {
        "paper": "mine",
        "item": "§1",
        "row": "opt-6.7b/principle_A_reconstruction",
        "column": "rises",
        "verdict": verdict,
        "scale": "demo",
        "note": "n = 12; about n = 400 would tell",
        **estimate,
        **values,
    }


@pytest.fixture
def card() -> pd.DataFrame:
    """A card of two papers with every verdict."""
    claims = [
        row(verdict, kind="claim", sentence="It rises & rises.", expected="> 0", **more)
        for verdict in ("supported", "contradicted", "undecided")
        for more in ({"figure": "mine/figure_2"},)
    ]
    claims += [
        row("not run", kind="claim", sentence=sentence, column=column, figure=figure)
        for sentence, column, figure in (
            ("It rises & rises.", "rises", "mine/figure_2"),
            ("It <falls>.", "falls", "mine/figure_3"),
        )
    ]
    numbers = [
        row(verdict, kind="number", published=0.5, difference=-0.25)
        for verdict in ("not run", "reproduced", "differs", "undecided")
    ]
    other = row("not run", kind="number", paper="other", published=3.0, note="simulated ratings")
    return pd.DataFrame([*claims, *numbers, other], columns=SCHEMAS["scorecard"].names)


def test_a_page_stands_alone_and_says_each_sentence_once(card):
    page = scorecard_page(card, "Scorecard", "../", "Left out: <x>")
    assert "<p>Left out: &lt;x&gt;</p>" in page
    assert not re.search(r"(?:src|href)=\"(?!#|\.\./mine/)|url\(|@import|<script|<link", page)
    assert page.count("It rises &amp; rises.") == 1
    assert "It &lt;falls&gt;." in page
    assert '<a href="../mine/figure_2.png">Figure 2</a>' in page
    assert "figure_3" not in page  # nothing of it was drawn for a claim that was not run
    assert "\N{MINUS SIGN}0.5 to 1" in page
    assert "Simulated ratings" in page


def test_banners_count_and_what_was_not_run_is_folded_behind_what_was(card):
    page = scorecard_page(card, "Scorecard")
    banners = [html.unescape(re.sub(r"<[^>]+>|\s+", " ", part)).split()
               for part in page.split('<div class="banner">')[1:]]  # fmt: skip
    assert " ".join(banners[0]) == (
        "Mine 1 supported 1 reproduced 1 contradicted 1 differs 2 undecided 3 not run"
    )
    assert banners[1][:4] == ["Other", "1", "not", "run"]
    mine = page.split('<section id="mine">')[1].split("</section>")[0]
    computed, folded = mine.split('<table class="numbers">')[1].split("<details>")
    assert computed.count('<span class="verdict') == 3
    assert "not run" not in computed
    assert "1 numbers not run here" in folded
    claims, waiting = mine.split('<table class="numbers">')[0].split("<details>")
    assert claims.count('<span class="verdict') == 4
    assert "1 claims not run here" in waiting
    assert "It &lt;falls&gt;." in waiting


@pytest.mark.skipif(browser.BROWSER is None, reason=browser.MISSING)
@pytest.mark.parametrize("width", [390, 1366])
@pytest.mark.parametrize("dark", [False, True])
def test_verdicts_are_on_screen_and_coloured(card, tmp_path, width, dark):
    page = scorecard_page(card, "Scorecard")
    found = browser.laid_out(page, MEASURE, width, tmp_path, dark)
    assert found["width"] == width
    assert found["needed"] <= width
    assert all(abs(left) < 2 for left in found["frozen"])
    assert width > 390 or len(found["frozen"]) > 0
    badges = found["badges"]
    assert {badge[0] for badge in badges} == set(TONES)
    assert all(left >= 0 and right <= width for _, left, right, *_ in badges)
    ground = {colour for *_, colour in badges}
    assert (min(map(luminance, ground)) < 0.1) == dark
    colours = {TONES[word]: tuple(colours) for word, _, _, *colours in badges}
    assert len(set(colours.values())) == 4
    contrasts = {tone: contrast(*pair) for tone, pair in colours.items()}
    assert min(contrasts.values()) > 4.5, contrasts


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, 1 to 21 (Web Content Accessibility Guidelines 2)."""
    darker, lighter = sorted([luminance(first), luminance(second)])
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of "rgb(R, G, B)", 0 to 1."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
