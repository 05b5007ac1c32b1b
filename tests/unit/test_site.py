"""The site: which pages there are, what they say and what they link to, by hand."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from lingprob.profiles.rows import COLUMNS, SOURCES
from lingprob.site.rows import titled
from lingprob.site.sources import read_captions, rules_of, sentences, template_files

from checkout import ROOT
from lingprob.schemas import SCHEMAS
from lingprob.site.cards import interval, shown, simulated_in
from lingprob.site.pages import Made, png_size, shared_files, site_pages
from lingprob.site.papers import PAPERS, papers_of
from site_for_tests import FACTS, png, row

ROOMS = ["morcela", "string_probability", "overlap", "training", "reading", "context"]


def card(*rows: dict[str, object], paper: str = "morcela") -> pd.DataFrame:
    """Return a scorecard."""
    frame = pd.DataFrame(rows, columns=SCHEMAS["scorecard"].names)
    return frame.assign(paper=paper)


@pytest.fixture
def made(tmp_path) -> Made:
    """Two papers of four: one with a figure, a table and text, one with a study alone."""
    figure = {"figure": "morcela/figure_2"}
    cards = {
        "morcela": card(
            row("claim", "supported", **figure),
            row("claim", "undecided", row="opt-13b/wh_island", note="simulated ratings", **figure),
            row("claim", "not run", sentence="It <falls>.", column="falls", **figure),
            row("claim", "supported", sentence="It stays.", column="s", figure="morcela/undrawn"),
            row("number", "differs", figure="morcela/table_2", row="opt-1.3b/morcela"),
            row("number", "reproduced", item="§3.3", row="sentences", difference=0.0),
            row("number", "not run", item="§3.3", row="never"),
        ),
        "overlap": card(row("claim", "not run"), paper="leakage"),
    }
    results = tmp_path / "results"
    for name in ("morcela/figure_2", "morcela/conventions"):
        png(results / f"{name}.png", 30, 20)
    files = {"morcela/figure_2.png": "plot_morcela", "morcela/figure_2.pdf": "plot_morcela",
             "morcela/conventions.png": "plot_morcela", "morcela/table_2.csv": "tabulate_morcela",
             "morcela/loose.csv": "combine_loose"}  # fmt: skip
    for path in files:
        (results / path).touch()
    captions = {
        "morcela/figure_2": "r of `SLOR` <ours>, i.e. the old one. It grows. It stops. It <ends>.",
        "morcela/loose": "A table that the report has, too.",
        "morcela/gone": "One that no rule makes here.",
    }
    return Made(
        results=results,
        scale="demo",
        cards=cards,
        rows=titled(pd.DataFrame(columns=[*COLUMNS, *SOURCES, "model", "kind"]), {}, {}),
        points={},
        facts=FACTS,
        made_by=files,
        figures={"morcela": ["figure_2", "conventions"], "overlap": ["figure_1a"]},
        tables={"morcela": ["table_2", "table_9"], "overlap": []},
        captions=captions,
    )


def text_of(page: str) -> str:
    """Return the words of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def section(page: str, name: str) -> str:
    """Return the part of a page with an id, up to the next section."""
    return page.partition(f'<section id="{name}"')[2].partition("<section")[0]


def test_a_page_a_paper_that_was_run_and_none_of_others(made):
    pages = site_pages(made)
    papers = {"site/morcela.html", "site/leakage.html"}
    assert set(pages) == {"index.html", "site/models.html", "site/methods.html"} | papers
    front = pages["index.html"]
    assert re.findall(r"<article aria-labelledby=\"(\w+)\"", front) == ["morcela", "leakage"]
    assert "String probability" not in front
    assert "Claims of the papers are supported where" in text_of(front)
    first, second = front.split("<article")[1:]
    assert "2 supported 1 reproduced 1 differs 1 undecided 2 not run" in text_of(first)
    assert "1 not run" in text_of(second)
    assert 'src="morcela/figure_2.png" width="30" height="20"' in first
    assert "<img" not in second


def test_simulated_data_have_a_badge_where_they_are_and_nowhere_else(made):
    front = site_pages(made)["index.html"]
    badges = [re.findall(r'class="badge">([^<]+)', part) for part in front.split("<article")[1:]]
    assert badges == [["simulated ratings"], []]
    times = pd.DataFrame({"rt_source": ["human", "simulated"], "rating_source": ["human", None]})
    assert simulated_in([times]) == ["reading times"]
    assert simulated_in([times.head(1)]) == []


def test_a_figure_has_its_claims_caption_numbers_and_links(made):
    page = site_pages(made)["site/morcela.html"]
    figure = section(page, "morcela-figure_2")
    words = text_of(figure)
    assert words.startswith('class="part"> Figure 2 It rises & rises. §1 1 supported 1 undecided')
    assert figure.count("<summary>It rises") == 1
    assert "It stays." not in figure
    assert figure.count('<th scope="row">') == 2  # the two populations that were tested
    assert '<p class="claim">It &lt;falls&gt;.' in figure
    assert 'alt="r of SLOR &lt;ours&gt;, i.e. the old one."' in figure
    assert "<figcaption>r of SLOR &lt;ours&gt;, i.e. the old one. It grows.</figcaption>" in figure
    assert "<p>It stops. It &lt;ends&gt;.</p>" in figure
    assert re.findall(r'href="\.\./(\S+)">([A-Z]+)<', figure) == [
        ("morcela/figure_2.pdf", "PDF"), ("morcela/figure_2.png", "PNG"),
    ]  # fmt: skip
    assert "made by plot_morcela" in words
    table = section(page, "morcela-table_2")
    said = "opt-1.3b/morcela rises, §1 0.5 0.25 -0.5 to 1 -0.25 differs"
    assert said.replace("-0", "\N{MINUS SIGN}0") in joined(table)
    assert "made by tabulate_morcela" in text_of(table)


def joined(part: str) -> str:
    """Return the words of a table whose names may be broken between lines."""
    return text_of(part.replace("<wbr>", ""))


def test_what_no_figure_shows_and_what_a_run_did_not_make(made):
    page = site_pages(made)["site/morcela.html"]
    rest = section(page, "morcela-text")
    assert "It stays." in rest  # of a figure that this run did not draw
    assert ">sentences<" in rest.replace("<wbr>", "")
    assert ">never<" not in rest.replace("<wbr>", "")
    headings = re.findall(r"<h3>(.+?)</h3>", page)
    assert headings == ["Figure 2", "Conventions", "Table 2", "Loose",
                        "In the text and tables of the paper"]  # fmt: skip


def test_every_link_leads_to_a_file_of_the_run_or_a_page(made):
    pages = {**site_pages(made), **shared_files()}
    for room in made.cards:  # which the rule requires
        for suffix in ("html", "csv"):
            path = made.results / room / f"scorecard.{suffix}"
            path.parent.mkdir(exist_ok=True)
            path.touch()
    for path, text in pages.items():
        (made.results / path).parent.mkdir(exist_ok=True)
        (made.results / path).write_text(text)
    count = 0
    for path in filter(lambda path: path.endswith(".html"), pages):
        page = (made.results / path).read_text()
        for link in re.findall(r'(?:href|src)="([^"]+)"', page):
            assert not re.match(r"\w+://|/", link), link
            file, _, part = link.partition("#")
            if link.startswith("data:"):
                continue
            count += 1
            assert not file or (made.results / path).parent.joinpath(file).is_file(), link
            assert not part or f'id="{part}"' in page, link
    assert count > 20


def test_nothing_of_the_place_or_time_of_a_run_is_in_its_pages(made, tmp_path):
    pages = site_pages(made)
    assert str(tmp_path) not in "".join(pages.values())
    assert pages == site_pages(made)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123456, "0.1235"), (-2.0, "\N{MINUS SIGN}2"), (12345.6, "12,346"), (float("nan"), ""),
     (None, ""), ("word", "word"), (7, "7")],
)  # fmt: skip
def test_values_are_shown_in_four_places(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"), [(1.0, 2.0, "1 to 2"), (1.0, 1.0, ""), (float("nan"), 2.0, "")]
)
def test_an_interval_is_shown_where_there_is_one(low, high, text):
    assert interval({"low": low, "high": high}) == text


def test_sentences_end_before_a_capital_alone():
    caption = "Of `r` (e.g. at .05 nats). The paper finds, cf. §2, more! What of it? nothing."
    assert sentences(caption) == [
        "Of r (e.g. at .05 nats).", "The paper finds, cf. §2, more!", "What of it? nothing.",
    ]  # fmt: skip


def test_the_rule_of_a_result_is_the_one_that_makes_it():
    rules: list[Any] = [
        SimpleNamespace(name="plot", output=["results/a/x.png", "results/{paper}/x.pdf"]),
        SimpleNamespace(name="compare", output=["results/a/y.csv"]),
    ]
    files = ["results/a/y.csv", "results/a/x.png", "results/a/x.pdf"]
    assert rules_of(rules, files) == {"a/y.csv": "compare", "a/x.png": "plot"}


def test_captions_are_those_of_the_report_by_room():
    captions = read_captions(ROOT / "report", ROOMS)
    assert "reading/figure_2" in captions
    assert captions["training/loss"].startswith("Loss of each model size")
    assert all(len(sentences(text)[0]) > 15 for text in captions.values())
    assert read_captions(ROOT / "report", ["reading"]).keys() < captions.keys()


def test_every_room_is_a_paper_s_and_every_answer_of_its_rooms():
    assert [room for paper in PAPERS for room in paper.rooms] == ROOMS
    for paper in PAPERS:
        assert {name.partition("/")[0] for name in paper.answers} <= paper.rooms.keys()
    assert [paper.name for paper in papers_of(["reading", "context"])] == ["leakage", "context"]
    assert papers_of([]) == []


def test_the_size_of_an_image_is_read_from_its_head(tmp_path):
    png(tmp_path / "a.png", 123, 45)
    assert png_size(tmp_path / "a.png") == (123, 45)


def test_the_templates_are_shipped_and_count_as_code():
    names = {path.name for path in template_files()}
    assert {"base.html", "index.html", "paper.html", "site.css"} <= names
    assert "site/templates/*" in (ROOT / "pyproject.toml").read_text()
