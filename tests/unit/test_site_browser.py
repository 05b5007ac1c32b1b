"""The site in a real browser, from disk: figures answer, tables sort, no network is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import browser
import devtools
from lingprob.profiles.rows import COLUMNS, SOURCES
from lingprob.schemas import SCHEMAS
from lingprob.site.pages import Made, shared_files, site_pages
from lingprob.site.papers import PAPERS
from lingprob.site.rows import titled
from site_for_tests import FACTS, png, row

pytestmark = pytest.mark.skipif(browser.BROWSER is None, reason=browser.MISSING)
MODELS = {
    name: {"title": name.title(), "group": group, "parameters": size, "group_colour": colour}
    for name, group, size, colour in (
        ("little", "Pythia", 14e6, "#0072B2"),
        ("middle", "Pythia", 1e9, "#0072B2"),
        ("large", "OPT", 30e9, "#D55E00"),
    )
}
DRAWN = "[...document.querySelectorAll('.chart')].every(chart => chart.dataset.drawn)"

FACTS_OF_ALL = {
    **FACTS,
    "models": {"little": {"source": "hub", "repository": "a/b", "revision": 40 * "0"}},
    "datasets": {"d": {"title": "Data", "kind": "stimuli", "files": [("a_b.csv", 64 * "0")]}},
    "conventions": [("morcela.folds", "5", "folds of the cross-validation")],
    "own": {"models": ["little"], "datasets": []},
}


def cards() -> dict[str, pd.DataFrame]:
    """A scorecard of every room, with numbers enough for a search."""
    found = {}
    for paper in PAPERS:
        for room in paper.rooms:
            drawn = {"figure": f"{room}/figure_2"}
            numbers = [
                row("number", verdict, row=f"model-{n}/morcela", ours=n / 10, item="Table 2",
                    low=n / 10 - 0.1, high=n / 10 + 0.1, difference=n / 10 - 0.5, **drawn)
                for n, verdict in enumerate(["reproduced", "differs", "undecided"] * 4)
            ]  # fmt: skip
            claims = [row("claim", "supported", **drawn), row("claim", "not run", column="c")]
            frame = pd.DataFrame([*claims, *numbers], columns=SCHEMAS["scorecard"].names)
            found[room] = frame.assign(paper=paper.name, note="simulated ratings")
    return found


def rows_of(paper: str, quantity: str, dataset: str) -> list[dict[str, Any]]:
    """A quantity of three models, ours and in print."""
    return [
        {"paper": paper, "dataset": dataset, "quantity": quantity, "group": "", "model": name,
         "value": value, "low": value - 0.1, "high": value + 0.1, "n": 40,
         "kind": kind, "scale": "demo"}
        for name, value in zip(MODELS, (-0.2, 0.0, 0.2), strict=True)
        for kind in ("ours", "published")
    ]  # fmt: skip


def points() -> dict[str, pd.DataFrame]:
    """Sentences, pairs and prefixes of two models."""
    names = ["little", "large"]
    sentences = [
        {"model": name, "dataset": "d", "rating": n / 5, "predicted": n / 9,
         "text": f"Sentence {n}. As long as one of a data set may be."}
        for name in names for n in range(9)
    ]  # fmt: skip
    pairs = [
        {"model": name, "dataset": "d", "good": f"Good {n}.", "bad": f"Bad {n}.",
         "logprob_good": -9.0 - n, "logprob_bad": -12.0 - n + 4 * (n % 2)}
        for name in names for n in range(9)
    ]  # fmt: skip
    accuracy = [
        {"model": name, "dataset": "d", "level": "all", "perturbation": None, "kind": kind,
         "prefix_tokens": 30.0 * n, "delta": n / 50, "delta_low": 0.0, "delta_high": n / 20,
         "n_pairs": 8}
        for name in names for kind in ("matched_acceptable", "unrelated") for n in range(4)
    ]  # fmt: skip
    tables = {"sentences": sentences, "pairs": pairs, "prefixes": accuracy}
    return {
        name: titled(pd.DataFrame(table), MODELS, {"d": "Data"}) for name, table in tables.items()
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """A folder of results with the site of all four papers in it."""
    folder = tmp_path_factory.mktemp("site")
    found = cards()
    files = {f"{room}/figure_2.png": f"plot_{room}" for room in found}
    for path in files:
        png(folder / path, 600, 400)
    rows = [
        *rows_of("morcela", "r of MORCELA with ratings", "d"),
        *rows_of("morcela", "optimal beta", "d"),
        *rows_of("string_probability", "accuracy on minimal pairs", "d"),
        *rows_of("reading", "ΔLogLik", "t"),
        *rows_of("context", "change of accuracy after a prefix", "d"),
    ]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *SOURCES, "model", "kind"])
    made = Made(
        results=folder,
        scale="demo",
        cards=found,
        rows=titled(frame, MODELS, {"d": "Data", "t": "Times"}),
        points=points(),
        facts=FACTS_OF_ALL,
        made_by=files,
        figures={room: ["figure_2"] for room in found},
        tables={room: [] for room in found},
        captions={f"{room}/figure_2": f"What {room} finds. And more." for room in found},
    )
    write_site(made)
    return folder


def write_site(made: Made) -> None:
    for path, text in {**site_pages(made), **shared_files()}.items():
        (made.results / path).parent.mkdir(exist_ok=True)
        (made.results / path).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Iterator[devtools.Page]:
    with devtools.opened(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def pages_of(results: Path) -> list[Path]:
    return [results / "index.html", *sorted((results / "site").glob("*.html"))]


def test_every_page_opens_from_disk_without_an_error_or_a_request(results, page, tmp_path):
    page.errors.clear()
    page.requests.clear()
    for path in pages_of(results):
        page.open(path)
        page.wait_for(DRAWN)
        page.picture(tmp_path / f"{path.stem}.png")
        assert (tmp_path / f"{path.stem}.png").stat().st_size > 5_000
        broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.run(broken) == []
    assert page.errors == []
    assert {address.partition(":")[0] for address in page.requests} <= {"file", "data"}
    assert len(page.requests) > 20


@pytest.mark.parametrize(
    ("width", "dark"), [(390, False), (390, True), (1366, False), (1920, True)]
)
def test_no_page_is_wider_than_the_window_and_every_text_can_be_read(results, page, width, dark):
    for path in pages_of(results):
        page.open(path, width, dark)
        page.wait_for(DRAWN)
        page.run("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert page.run("document.documentElement.scrollWidth") <= width, path.name
        assert page.run(FAINT) == [], path.name


# Texts whose contrast with what is behind them is less than 4.5 to 1 (WCAG 2, level AA).
FAINT = """(() => {
  const parts = colour => (colour.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = colour => parts(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = element => { for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if ((parts(colour)[3] ?? 1) > 0) return colour; } return "rgb(255, 255, 255)" };
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (words.nextNode()) {
    const element = words.currentNode.parentElement, text = words.currentNode.textContent.trim();
    if (!text || element.closest("script, option") || !element.getClientRects().length) continue;
    const svg = element.closest("svg"), style = getComputedStyle(element);
    const [a, b] = [light(svg ? style.fill : style.color), light(ground(svg ?? element))];
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) found.push(text);
  }
  return found })()"""
# What axe does not look at and would trouble a reader who does not see a page.
STUMBLES = """(() => {
  const found = [...document.images].filter(image => image.alt.length < 8).map(image => image.src);
  for (const table of document.querySelectorAll("table.sorted")) {
    if (!table.caption) found.push("a table without a caption");
    if ([...table.querySelectorAll("thead th")].some(head => head.scope !== "col"))
      found.push("a head without a scope"); }
  for (const figure of document.querySelectorAll(".plot svg"))
    if (!figure.querySelector("[aria-label]") && !figure.ariaLabel) found.push("a mute figure");
  return found })()"""
VIOLATIONS = """axe.run().then(found => found.violations
  .map(rule => `${rule.id}: ${rule.nodes.map(node => node.html)}`))"""


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1366, False)])
def test_no_page_shuts_out_who_cannot_see_it_or_has_no_pointer(results, page, width, dark):
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    for path in pages_of(results):
        page.open(path, width, dark)
        page.wait_for(DRAWN)
        page.run("document.querySelectorAll('details').forEach(part => part.open = true)")
        page.run(f"{axe}; 0")
        assert page.run(VIOLATIONS) == [], path.name
        assert page.run(STUMBLES) == [], path.name


def choose(page: devtools.Page, chart: str, place: int, value: str) -> None:
    """Choose a value in one of a figure's filters."""
    page.run(
        f"(() => {{ const field = document.querySelectorAll('#{chart} select')[{place}];"
        f" field.value = {value!r}; field.dispatchEvent(new Event('change')) }})()"
    )


def test_a_figure_is_filtered_by_model_and_by_quantity(results, page):
    page.open(results / "site" / "morcela.html")
    page.wait_for(DRAWN)
    points = "[...document.querySelectorAll('#models .mark-symbol.role-mark path')]"
    labels = "[...document.querySelectorAll('#models .role-axis-label text')]"
    assert page.run(f"{points}.length") == 6
    choose(page, "models", 2, "Large")
    page.wait_for(f"{points}.length === 2")
    shown = page.run(f"{labels}.map(label => label.textContent)")
    assert "Large" in shown
    assert "Little" not in shown
    choose(page, "models", 2, "")
    choose(page, "models", 0, "optimal beta")
    page.wait_for(f"{points}.length === 6")
    fills = page.run(f"{points}.map(point => point.getAttribute('fill'))")
    assert fills.count("transparent") == 3  # published


@pytest.mark.parametrize(
    ("paper", "chart", "words"),
    [
        ("morcela", "sentences", ["Sentence ", "rating"]),
        ("morcela", "forest", ["95% interval of ours", "published", "verdict"]),
        ("string_probability", "pairs", ["Good ", "Bad ", "difference (nats)"]),
        ("leakage", "sizes", ["ΔLogLik (nats)", "95% interval", "n:40"]),
        ("context", "prefixes", ["change (points)", "pairs:8"]),
    ],
)
def test_a_point_tells_what_it_is(results, page, paper, chart, words):
    page.open(results / "site" / f"{paper}.html")
    page.wait_for(DRAWN)
    last = f"[...document.querySelectorAll('#{chart} .mark-symbol.role-mark path')].pop()"
    page.run(f"document.querySelector('#{chart}').scrollIntoView()")
    x, y = page.run(
        f"(() => {{ const box = {last}.getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2] })()"
    )
    page.point_at(x, y)
    page.wait_for("!!document.querySelector('#vg-tooltip-element.visible')")
    told = page.run("document.querySelector('#vg-tooltip-element').textContent")
    assert all(word in told for word in words), told


def test_keys_lead_from_point_to_point_and_each_tells_what_it_is(results, page):
    page.open(results / "site" / "morcela.html")
    page.wait_for(DRAWN)
    points = "[...document.querySelectorAll('#sentences .mark-symbol.role-mark path')]"
    told = "document.querySelector('#vg-tooltip-element.visible')?.textContent ?? ''"
    in_order = f"{points}.filter(point => point.tabIndex === 0)"
    assert page.run(f"{in_order}.length") == 1
    page.run(f"{in_order}[0].focus()")
    page.wait_for(f"({told}).includes('Sentence 0.')")
    for key, text in [
        ("ArrowRight", "Sentence 1."),
        ("ArrowDown", "Sentence 2."),
        ("ArrowLeft", "Sentence 1."),
        ("Home", "Sentence 0."),
        ("ArrowUp", "Sentence 8."),
        ("ArrowRight", "Sentence 0."),
        ("End", "Sentence 8."),
    ]:
        page.press(key)
        page.wait_for(f"({told}).includes({text!r})")
    page.press("Escape")
    page.wait_for(f"({told}) === ''")


@pytest.mark.parametrize("width", [390, 1366])
def test_what_a_point_tells_is_within_the_window(results, page, width):
    page.open(results / "site" / "morcela.html", width)
    page.wait_for(DRAWN)
    points = "[...document.querySelectorAll('#sentences .mark-symbol.role-mark path')]"
    for place in (0, 4, 8):
        page.run(f"{points}[{place}].focus()")
        page.wait_for("!!document.querySelector('#vg-tooltip-element.visible')")
        box = "document.querySelector('#vg-tooltip-element').getBoundingClientRect()"
        left, right = page.run(f"[{box}.left, {box}.right]")
        assert 0 <= left < right <= width, place


def test_a_table_sorts_searches_and_keeps_its_first_column(results, page):
    page.open(results / "site" / "morcela.html", 390)
    page.wait_for(DRAWN)
    table = "[...document.querySelectorAll('table.sorted')].pop()"
    ours = f"[...{table}.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[3].textContent)"
    numbers = [float(text) for text in page.run(ours)]
    assert numbers == [n / 10 for n in range(12)]
    head = f"{table}.tHead.rows[0].cells[3]"
    page.run(f"{head}.querySelector('button').click()")
    assert page.run(f"{head}.getAttribute('aria-sort')") == "ascending"
    page.run(f"{head}.querySelector('button').click()")
    assert [float(text) for text in page.run(ours)] == sorted(numbers, reverse=True)
    assert page.run(f"{head}.getAttribute('aria-sort')") == "descending"
    page.run(
        f"(() => {{ const field = {table}.closest('.wide').previousElementSibling"
        ".querySelector('input'); field.value = 'model-11 undecided';"
        " field.dispatchEvent(new Event('input')) })()"
    )
    assert page.run(ours) == ["1.1"]
    place = f"{table}.tBodies[0].rows[0].cells[0].getBoundingClientRect().left"
    wide = f"{table}.closest('.wide')"
    before = page.run(f"{wide}.scrollLeft = 0, {place}")
    assert page.run(f"{wide}.scrollWidth > {wide}.clientWidth")
    assert abs(page.run(f"{wide}.scrollLeft = 200, {place}") - before) < 2


def test_models_are_sorted_by_values_whatever_stands_below_them(results, page):
    page.open(results / "site" / "models.html")
    page.wait_for(DRAWN)
    first = "document.querySelector('table.sorted tbody th').textContent"
    button = "document.querySelectorAll('table.sorted thead th')[3].querySelector('button')"
    page.run(f"{button}.click()")
    assert page.run(first) == "Little"  # a number below 0
    page.run(f"{button}.click()")
    assert page.run(first) == "Large"


def test_a_page_without_scripts_still_shows_figures_claims_and_numbers(results, page):
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(results / "site" / "context.html")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)
    words = page.run("document.body.innerText")
    assert "What context finds. And more." in words
    assert "model-3/morcela" in words


def test_words_that_look_like_a_page_stay_words(results, page, tmp_path):
    found = points()
    found["sentences"]["text"] = "</script><b>bold</b>"
    card = cards()["morcela"].assign(sentence="<img src=x>", row="<i>a</i>")
    png(tmp_path / "morcela/figure_2.png", 60, 40)
    made = Made(
        results=tmp_path, scale="demo", cards={"morcela": card}, points=found, facts=FACTS,
        rows=titled(pd.DataFrame(columns=[*COLUMNS, *SOURCES, "model", "kind"]), {}, {}),
        made_by={"morcela/figure_2.png": "plot"}, figures={"morcela": ["figure_2"]},
        tables={"morcela": []}, captions={"morcela/figure_2": "<u>One</u>."},
    )  # fmt: skip
    write_site(replace(made))
    page.open(tmp_path / "site" / "morcela.html")
    page.wait_for(DRAWN)
    assert page.run("document.querySelectorAll('b, i, u').length") == 0
    assert page.run("document.images.length") == 1
