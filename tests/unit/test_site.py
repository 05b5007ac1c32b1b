"""Pages: their number, texts and links, and that no input becomes markup."""

import html
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.site.audit import audit_page
from lingprob.site.cards import counts_of, scorecard_page
from lingprob.site.facts import facts_of_model, run_facts, used
from lingprob.site.models import COLUMNS, SOURCES, model_page, titled
from lingprob.site.page import cells, interval, shown, simulated_in, table_as_html
from lingprob.site.pages import Made, own_claims, own_tables, site_pages
from lingprob.site.papers import PAPERS, papers_of, read_captions
from lingprob.workflow.checks import ROOT
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.settings import keys
from site_for_tests import FACTS, elements_of, links_of, row

PAGES = {"index.html", "site/models.html", "site/methods.html"}
ROOMS = ["morcela", "string_probability", "overlap", "training", "reading", "context"]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=y>\"' {{ 7 * 7 }}"
OWN = {"title": "Mine", "family": "mine", "source": "local", "path": "/home/me/mine"}
PAIRS = {"title": "My pairs", "kind": "stimuli", "parser": "table", "path": "/home/me/pairs.csv"}


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
            row(
                "claim", "undecided", row="opt-13b/wh_island", role="simulated",
                note="simulated ratings", **figure,
            ),
            row("claim", "not run", sentence="It <falls>.", column="falls", **figure),
            row("claim", "supported", sentence="It stays.", column="s", figure="morcela/table_9"),
            row("claim", "contradicted", sentence="Ours.", column="ours", role="own"),
            row("claim", "contradicted", row="smollm/wh_island", role="also", **figure),
            row("number", "differs", figure="morcela/table_2", row="opt-1.3b/morcela"),
            row("number", "reproduced", item="§3.3", row="sentences", difference=0.0),
            row("number", "not run", item="§3.3", row="never"),
        ),
        "overlap": card(row("claim", "not run"), paper="leakage"),
    }  # fmt: skip
    files = [f"morcela/{name}" for name in ("figure_2.png", "figure_2.pdf", "figure_2.csv",
             "conventions.png", "table_2.csv", "loose.csv")]  # fmt: skip
    captions = {
        "morcela/figure_2": "r of SLOR <ours>, i.e. the old one. It <ends>.",
        "morcela/loose": "A table that the report has, too.",
        "morcela/gone": "One that no rule makes here.",
    }
    known = {"model": "m", "dataset": "mine", "group": "", "scale": "demo"}
    fit = {"paper": "morcela", "quantity": "r of MORCELA with ratings", "value": 0.75}
    gain = {"paper": "reading", "quantity": "ΔLogLik", "value": 3.0, "rt_source": "simulated"}
    rows = pd.DataFrame([known | fit, known | gain], columns=[*COLUMNS, *SOURCES, "model"])
    return Made(
        results=tmp_path, scale="demo", cards=cards, rows=titled(rows, {}, {}), facts=FACTS,
        files=files, figures={"morcela": ["figure_2", "conventions"], "overlap": ["figure_1a"]},
        tables={"morcela": ["table_2", "table_9"], "overlap": []}, captions=captions,
    )  # fmt: skip


def text_of(page: str) -> str:
    """Return the words of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def section(page: str, name: str) -> str:
    """Return the part of a page with an id, up to the next section."""
    return page.partition(f'<section id="{name}"')[2].partition("<section")[0]


def test_only_papers_that_were_run_have_pages(made):
    pages = site_pages(made)
    papers = {"site/morcela.html", "site/leakage.html"}
    assert set(pages) == PAGES | papers
    front = pages["index.html"]
    assert re.findall(r"<article aria-labelledby=\"(\w+)\"", front) == ["morcela", "leakage"]
    assert "lingprob MORCELA Leakage Models Methods" in text_of(front)  # the menu
    assert "This run is a first look" in text_of(front)
    assert "Each sentence of a paper gets one verdict" in text_of(front)
    first, second = front.split("<article")[1:]
    assert "Sentences of the paper: 2 supported 1 not tested" in text_of(first)
    assert "Printed numbers: 1 reproduced 1 differs" in text_of(first)
    assert "Recovers the simulated effect: 1 no" in text_of(first)
    assert "Sentences of the paper: 1 not tested" in text_of(second)
    assert 'src="morcela/figure_2.png"' in first
    assert "<img" not in second


def test_a_study_has_one_page_of_its_claims(made):
    own = {"models": [], "datasets": ["mine", "b"], "rooms": ["morcela", "overlap", "context"]}
    linked = ["audit/mine.html", "audit/other.html"]
    pages = site_pages(replace(made, facts={**FACTS, "own": own}, linked=linked))
    assert set(pages) == PAGES
    page = pages["index.html"]
    assert "<h1>Your study</h1>" in page
    assert 'src="morcela/figure_2.png"' in page
    assert "scorecard" not in page
    words = text_of(page)
    assert "Sentences of the paper: 1 supported 1 undecided" in words  # by all populations
    assert "Recovers the simulated effect: 1 no" in words
    assert "It <falls>" not in words  # was not run
    assert "m mine r of MORCELA with ratings 0.75" in words
    assert "ΔLogLik" not in words  # another room's
    assert re.findall(r'"(audit\S+)">(.+)</a>', page) == [("audit/mine.html", "Audit: mine")]
    assert "Printed numbers" not in words
    assert "Each sentence of a paper" not in words


def test_tables_of_a_study_have_titles_and_intervals(made):
    """Of two data sets, with a fit that is singular and one that did not converge."""
    deltas = pd.DataFrame({
        "dataset": ["b", "a"], "model": ["m", "m"], "partition": ["fit", "subjects"],
        "n_subjects": 4, "n_fit": [3000, 10], "n_evaluated": [7, 10], "delta": [1.5, 2.0],
        "delta_low": [-1.0, 1], "delta_high": [3.0, 4], "word_perplexity": [80.0, 90],
        "converged": [True, False], "singular": True,
    })  # fmt: skip
    counts = pd.DataFrame({"dataset": ["b", "a"], "fate": ["fit", "too_long"], "rows": [6, 9]})
    named = {"delta_log_likelihood": deltas, "counts": counts}
    (made.results / "reading").mkdir()
    for name, table in named.items():
        table.to_csv(made.results / f"reading/{name}.csv", index=False)
    entries = {"models": {"m": {"title": "M"}}, "datasets": {"a": {"title": "Mine"}}}
    files = [f"reading/{name}.csv" for name in named]
    found = own_tables("reading", replace(made, facts={**FACTS, **entries}, files=files))
    gains, fates = ([[text for text, _ in row] for row in one["rows"]] for one in found.values())
    assert gains == [
        ["M", "b", "1.5 (\N{MINUS SIGN}1 to 3)", "fit", "7", "3000", "4", "80", "True", "True"],
        ["M", "Mine", "2 (1 to 4)", "subjects", "10", "10", "4", "90", "False", "True"],
    ]
    assert fates == [["b", "fit", "6"], ["Mine", "too_long", "9"]]
    assert own_tables("morcela", made) == {}


def test_only_simulated_data_have_a_badge(made):
    front = site_pages(made)["index.html"]
    badges = [re.findall(r'class="badge">([^<]+)', part) for part in front.split("<article")[1:]]
    assert badges == [["simulated ratings"], ["simulated reading times"]]
    times = pd.DataFrame({"rt_source": ["human", "simulated"], "rating_source": ["human", None]})
    assert simulated_in([times]) == ["reading times"]
    assert simulated_in([times.head(1)]) == []


def test_a_figure_has_claims_caption_numbers_and_links(made):
    page = site_pages(made)["site/morcela.html"]
    figure = section(page, "morcela-figure_2")
    words = text_of(figure)
    said = 'class="part"> Figure 2 It rises & rises. §1 supported recovers the simulated effect: no'
    assert words.startswith(said)
    assert figure.count("<summary>It rises") == 1
    assert "It stays." not in figure
    assert figure.count('<th scope="row">') == 3  # the populations that were tested
    assert '<p class="claim">It &lt;falls&gt;.' in figure
    assert 'alt="Figure 2"' in figure
    said = "r of SLOR &lt;ours&gt;, i.e. the old one. It &lt;ends&gt;."
    assert f"<figcaption>{said}</figcaption>" in figure
    links = re.findall(r'href="\.\./morcela/figure_2\.(\S+)">([A-Z]+)<', figure)
    assert links == [("pdf", "PDF"), ("png", "PNG"), ("csv", "CSV")]
    table = section(page, "morcela-table_2")
    said = "opt-1.3b/morcela rises, §1 0.5 0.25 -0.5 to 1 -0.25 differs"
    assert said.replace("-0", "\N{MINUS SIGN}0") in text_of(table)


def test_pages_list_values_without_figures_and_missing_ones(made):
    page = site_pages(made)["site/morcela.html"]
    rest = section(page, "morcela-text")
    assert "It stays." in rest  # of a figure that this run did not draw
    assert " sentences " in text_of(rest)
    assert " never " not in text_of(rest)
    headings = re.findall(r"<h3>(.+?)</h3>", page)
    assert headings == ["Figure 2", "Conventions", "Table 2", "Loose",
                        "In the text and tables of the paper"]  # fmt: skip


def test_pages_contain_no_place_or_time(made, tmp_path):
    pages = site_pages(made)
    assert str(tmp_path) not in "".join(pages.values())
    assert pages == site_pages(made)


def test_values_have_four_places_and_maybe_an_interval():
    for value, text in (
        (0.123456, "0.1235"), (-2.0, "\N{MINUS SIGN}2"), (12345.6, "12,346"), (np.nan, ""),
        (None, ""), ("word", "word"), (7, "7"), (9999.5, "10,000"), (9999.4, "9999"),
    ):  # fmt: skip
        assert shown(value) == text
    for low, high, text in ((1.0, 2.0, "1 to 2"), (1.0, 1.0, ""), (np.nan, 2, ""), (1, np.nan, "")):
        assert interval({"low": low, "high": high}) == text


def test_captions_are_those_of_the_report_by_room():
    captions = read_captions(ROOT / "report", ROOMS)
    assert "reading/figure_2" in captions
    assert captions["overlap/figure_1a"].startswith("The paper finds that most")
    assert not [text for text in captions.values() if "`" in text or "\n" in text]
    assert read_captions(ROOT / "report", ["reading"]).keys() < captions.keys()


def test_rooms_and_answers_belong_to_papers():
    assert [room for paper in PAPERS for room in paper.rooms] == ROOMS
    for paper in PAPERS:
        assert {name.partition("/")[0] for name in paper.answers} <= paper.rooms.keys()
    assert [paper.name for paper in papers_of(["reading", "context"])] == ["leakage", "context"]
    assert papers_of([]) == []


def facts(scale: str = "laptop", **config: Any) -> dict[str, Any]:
    return run_facts(*read_settings({"scale": scale, **config}))


def test_used_data_sets_have_licences_and_checksums():
    told = facts()["datasets"]
    assert {"linguistic_inquiry", "blimp", "provo", "gutenberg"} <= told.keys()
    assert "demo_minimal_pairs" not in told
    files = told["blimp"]["files"]
    assert (told["blimp"]["licence"], len(files)) == ("CC BY 4.0", 67)
    checksum = "ecc71c452516de03deeb9262b4203e45220dc52727327a08eef07c79c01eac8b"
    assert files[0] == ("adjunct_island.jsonl", checksum)
    lengths = {len(checksum) for entry in told.values() for _, checksum in entry["files"]}
    assert lengths <= {0, 64}
    demo = facts("demo")["datasets"]
    assert "demo_minimal_pairs" in demo
    assert not {"sling", "zhoblimp"} & demo.keys()  # named as controls of studies that are not run


def test_used_data_include_texts_and_counted_corpora():
    settings, catalog = read_settings({"scale": "demo", "audit": {"corpora": ["gutenberg"]},
                                       "reading": {"datasets": ["provo_first_pass"]}})  # fmt: skip
    settings["morcela"]["unigrams"] = ["corpus_abc_news", "unigrahams_*"]
    found = set(used(settings, catalog))
    assert {"provo_first_pass", "provo", "gutenberg", "abc_news"} <= found
    assert found - set(used(settings, catalog, ["reading", "audit"])) >= {"provo", "gutenberg"}


def test_every_convention_is_told_with_its_value():
    told = {key: value for key, value, _ in facts(scoring={"dtype": "float16"})["conventions"]}
    marked = sum(key.convention for key in keys())
    assert len(told) == marked > 15
    assert told["scoring.dtype"] == "float16"
    assert told["morcela.folds"] == "5"
    assert told["unigrams.normalise_published"] == "false"


def test_user_entries_are_named_without_their_paths():
    told = facts(models={"mine": OWN}, datasets={"my-pairs": PAIRS})
    assert told["own"] == {"models": ["mine"], "datasets": ["my-pairs"], "rooms": []}
    assert "/home/me" not in str(told)
    assert facts()["own"] == {"models": [], "datasets": [], "rooms": []}
    # The site shows morcela alone.
    alone = facts("demo", datasets={"my-pairs": PAIRS}, morcela={"datasets": ["my-pairs"]})
    assert set(alone["datasets"]) == {"my-pairs", "demo_sentences"}


def test_models_are_named_once_with_weight_formats():
    gpt2 = facts()["models"]["gpt2"]
    assert gpt2["dtype"] == "float32 (cpu), float32 (cuda)"
    assert len(gpt2["revision"]) == 40
    assert facts(scoring={"dtype": "bfloat16"})["models"]["gpt2"]["dtype"] == "bfloat16"
    entry = {"title": "N", "family_title": "N", "source": "hub", "parameters": 1234, "corpus": "c"}
    assert facts_of_model(entry) == ["1,234 parameters", "source: hub", "trained on c"]


def test_the_methods_page_has_the_models_of_numbers(made):
    rows = pd.DataFrame([{"model": "gpt2"}], columns=[*COLUMNS, *SOURCES, "model"])
    told = replace(made, rows=titled(rows, {}, {}), facts=facts(datasets={"my-pairs": PAIRS}),
                   linked=["audit/my-pairs.html", "site/models/gpt2.html"])  # fmt: skip
    pages = site_pages(told)
    assert "This run is" not in pages["index.html"]  # it also has the user's data
    assert 'href="../site/models/gpt2.html">' in pages["site/models.html"]
    page = pages["site/methods.html"]
    assert "openai-community/gpt2" in page
    assert "facebook/opt" not in page
    assert f"numpy {np.__version__}" in page


def test_checks_and_failures_are_counted_apart():
    rows = [row("number", "reproduced"), row("number", "differs", role="check"),
            row("number", "not run", role="check"), row("output", "failed"),
            row("claim", "supported", role="also"), row("claim", "contradicted", role="check"),
            row("claim", "supported", role="simulated", item="§2"),
            row("claim", "undecided", role="simulated", item="§2"),
            row("claim", "supported", role="simulated"),
            row("claim", "not run")]  # fmt: skip
    assert counts_of([card(*rows)]) == {
        "sentences": [("not tested", 2)], "numbers": [("reproduced", 1)], "failed": 1,
        "checks": [("contradicted", 1), ("differs", 1)], "recovered": [("yes", 1), ("no", 1)],
    }  # fmt: skip
    assert own_claims(card(*rows))["role"].tolist() == ["paper", *["simulated"] * 3]


def test_a_scorecard_page_has_each_sentence_once(made):
    claims = made.cards["morcela"]
    page = scorecard_page(claims, "Scorecard", "../", "Left out: <x>")
    assert links_of(page) == ["../morcela/figure_2.png", "../morcela/table_9.html"]
    assert "<p>Left out: &lt;x&gt;</p>" in page
    assert page.count("<summary>It rises &amp; rises.") == 1
    assert "Sentences of the paper: 2 supported 1 not tested" in text_of(page)
    assert "Also for other models or data: 1 contradicted." in text_of(page)
    assert "Ours." in section(page, "own-claims")
    assert "Simulated ratings: no human gave them." in page
    numbers = page.partition('id="numbers"')[2].partition('id="waiting"')
    assert "1 printed numbers that this run does not compute" in numbers[2]
    assert " never " in text_of(numbers[2])
    assert "not run" not in numbers[0]


def hostile_pages(made: Made, text: str) -> dict[str, str]:
    """Return every kind of page with a user's text in every possible place."""
    claim = {"sentence": text, "note": text, "row": text, "item": text}
    number = {"note": text, "row": text, "column": text, "item": text}
    cards = {"morcela": card(row("claim", "supported", **claim), row("claim", "not run", **claim),
                             row("number", "differs", **number),
                             row("number", "not run", **number))}  # fmt: skip
    known = {"paper": "morcela", "dataset": "d", "quantity": "r of MORCELA with ratings",
             "group": text, "value": 0.5, "low": 0.4, "high": 0.6, "n": 9.0, "unit": text,
             "scale": "demo", "model": "m"}  # fmt: skip
    rows = pd.DataFrame([known])
    looks = {"m": {"title": text, "group": f"{text} family", "parameters": 7}}
    entry = {"title": text, "source": text, "licence": text, "citation": text, "note": text,
             "dtype": text, "kind": text, "files": [(text, text)]}  # fmt: skip
    told = {**FACTS, "models": {"m": entry}, "datasets": {"d": entry},
            "conventions": [("key", text, text)],
            "own": {"models": ["m"], "datasets": [], "rooms": []}}  # fmt: skip
    site = replace(made, cards=cards, rows=titled(rows, looks, {"d": text}), facts=told,
                   captions={"morcela/figure_2": f"A {text}. B {text}. C {text}."},
                   linked=["site/models/m.html"])  # fmt: skip
    audited = {
        name: text if str(type_) == "string" else 1
        for name, type_ in zip(SCHEMAS["audit"].names, SCHEMAS["audit"].types, strict=True)
    }
    problems = {"problems": "identical; words", "preferred": False, "dataset": "d"}
    return {
        **site_pages(site),
        "model": model_page(text, rows, {"d": text}, [text]),
        "table": table_as_html(pd.DataFrame({text: [text, None, 0.5]}), text, text),
        "scorecard": scorecard_page(cards["morcela"], text, note=text),
        "audit": audit_page(pd.DataFrame([audited | problems]), pd.DataFrame({text: [True]}),
                            text, text),
    }  # fmt: skip


def test_text_of_others_never_becomes_markup(made):
    """A page with hostile text has the elements of the same page with a harmless one."""
    harmless, hostile = (hostile_pages(made, text) for text in ("word", HOSTILE))
    assert harmless.keys() == hostile.keys()
    assert "Pearson&#39;s r between human ratings" in harmless["model"]
    for name, page in hostile.items():
        assert elements_of(page) == elements_of(harmless[name]), name
        assert page.count("<script>") == 1, name
        assert "alert(1)" in html.unescape(page), name
        assert "49" not in page.partition("<main")[2].partition("<footer")[0]


THEIRS = {**OWN, "source": "scores", "level": "word", "paths": {"provo": "a/<b>.csv"}}


@pytest.mark.parametrize("config", [
    {"models": {"m": THEIRS}},
    {"models": {"m": {**OWN, "family_title": "<b>"}}},
    *({"datasets": {"d": {**PAIRS, key: "a/<b>.csv"}}} for key in ("title", "path", "citation")),
    {"models": {"m": {**OWN, "note": "a</SCRIPT><script>alert(1)//"}}},
    {"datasets": {"d": {**PAIRS, "columns": {"good": "<!-- <script>"}}}},
    {"start_tokens": {"mine": "</script>"}},
])  # fmt: skip
def test_snakemake_s_report_gets_no_markup(config):
    with pytest.raises(LingprobError, match="would take the text after `<` for HTML"):
        read_settings({"scale": "demo", **config})
    text = {"title": "p < .05 & more", "note": "of <s> to </s>"}
    read_settings({"scale": "demo", "models": {"m": {**OWN, **text}}, "start_tokens": {"s": "<s>"}})


def test_truth_values_are_not_numbers():
    rows = cells(pd.DataFrame({"a": [True, 2, 0.5, "x"]}, dtype=object))["rows"]
    assert rows == [[("True", False)], [("2", True)], [("0.5", True)], [("x", False)]]
