"""The site's pages, from what a run has made."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lingprob.rehearsal import STAMP
from lingprob.rehearsal.folder import in_rehearsal_folder
from lingprob.scorecard.page import STYLE, TONES
from lingprob.scorecard.page import title_of as name_of
from lingprob.scorecard.verdicts import order_verdicts
from lingprob.site.cards import claims_of, interval, numbers_of, shown, simulated_in
from lingprob.site.charts import Chart, forest_chart, quantities_chart
from lingprob.site.library import SCRIPTS, library_files
from lingprob.site.methods import methods
from lingprob.site.models import model_table, own_rows
from lingprob.site.paper_charts import (
    both_chart,
    pair_chart,
    prefix_chart,
    sentence_chart,
    size_chart,
)
from lingprob.site.papers import Paper, papers_of
from lingprob.site.sources import TEMPLATES, sentences

OTHERS = ("models", "methods")  # pages beside those of papers
FOLDER = "site"  # of all but the front page, below the results

Points = Mapping[str, pd.DataFrame]
# What is drawn point by point of a paper, and the figure of it.
POINTS: dict[str, tuple[str, Callable[[pd.DataFrame], Chart | None]]] = {
    "morcela": ("sentences", sentence_chart),
    "string_probability": ("pairs", pair_chart),
    "context": ("prefixes", prefix_chart),
}

# What a run was that has nothing of the user's own, by scale.
ABOUT = {
    "demo": "A first look (scale demo): a small language model and two tiny ones, hand-written "
    "pairs, and ratings and reading times that are simulated.",
    "laptop": "Real data, the large sets in samples, and models that a laptop runs (scale laptop).",
    "paper": "All models and data of the papers (scale paper).",
}


@dataclass(frozen=True)
class Made:
    """What a run has made and the site shows.

    Args:
        results: the folder of results.
        scale: of the run.
        cards: the scorecard of each room (folder of results) that there is.
        rows: `rows.titled` of every model, ours and in print.
        points: `rows.titled` of `points.read_points`.
        facts: of `facts.run_facts`.
        made_by: the rule of each file below `results` that pages may link to.
        figures: of each room, in its order.
        tables: the paper's own tables of each room, in its order.
        captions: of figures and tables (ROOM/NAME), as the report has them; tables that have one
            are shown after the paper's own.
    """

    results: Path
    scale: str
    cards: Mapping[str, pd.DataFrame]
    rows: pd.DataFrame
    points: Points
    facts: Mapping[str, Any]
    made_by: Mapping[str, str]
    figures: Mapping[str, Sequence[str]]
    tables: Mapping[str, Sequence[str]]
    captions: Mapping[str, str] = field(default_factory=dict)


def site_pages(made: Made) -> dict[str, str]:
    """Return the text of every page by its path below the results; a page a paper that was run."""
    papers = papers_of(made.cards)
    pages: dict[str, tuple[str, dict[str, Any]]] = {
        "index.html": ("index", _front(papers, made)),
        **{f"{FOLDER}/{paper.name}.html": ("paper", _paper(paper, made)) for paper in papers},
        f"{FOLDER}/models.html": ("models", _models(made)),
        f"{FOLDER}/methods.html": ("methods", _methods(made)),
    }
    menu = [(f"{FOLDER}/{paper.name}.html", name_of(paper.name)) for paper in papers]
    menu += [(f"{FOLDER}/{name}.html", title_of(name)) for name in OTHERS]
    environment = _environment()
    common = {"menu": menu, "scale": made.scale, "rehearsed": in_rehearsal_folder()}
    return {
        path: environment.get_template(f"{name}.html").render(
            **common, **values, here=path, root="" if name == "index" else "../"
        )
        for path, (name, values) in pages.items()
    }


def shared_files() -> dict[str, str]:
    """Return the text of what all pages share by its path below the results."""
    own = {name: (TEMPLATES / name).read_text(encoding="utf-8") for name in ("site.css", "site.js")}
    own["site.css"] = STYLE + own["site.css"]
    return {f"{FOLDER}/{name}": text for name, text in {**own, **library_files()}.items()}


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"shown": shown, "interval": interval, "broken": _breakable}
    environment.globals |= {"tones": TONES, "stamp": STAMP, "library": SCRIPTS}
    return environment


def _front(papers: Sequence[Paper], made: Made) -> dict[str, Any]:
    """Return what the front page shows: the user's own rows, and each paper at a glance."""
    own = made.facts["own"]
    links = [(f"profiles/{name}.html", f"Profile: {name}") for name in own["models"]]
    links += [(f"audit/{name}.html", f"Audit: {name}") for name in own["datasets"]]
    return {
        "about": "" if own["models"] or own["datasets"] else ABOUT.get(made.scale, ""),
        "cards": [_at_a_glance(paper, made) for paper in papers],
        "own": own_rows(made.rows, own),
        "own_links": [link for link in links if (made.results / link[0]).is_file()],
    }


def _at_a_glance(paper: Paper, made: Made) -> dict[str, Any]:
    """Return what the front page shows of a paper."""
    cards = [made.cards[room] for room in paper.rooms if room in made.cards]
    drawn = (_figure(name, made) for name in paper.answers)
    return {
        "paper": paper,
        "counts": order_verdicts(pd.concat(cards)["verdict"]),
        "simulated": _simulated(paper, made),
        "figure": next(filter(None, drawn), None),
    }


def _models(made: Made) -> dict[str, Any]:
    """Return what the page of models shows."""
    chart = both_chart(made.rows)
    return {
        "charts": [chart] if chart else [],
        "table": model_table(made.rows, made.results),
        "simulated": simulated_in([made.rows]),
    }


def _methods(made: Made) -> dict[str, Any]:
    """Return what the page of methods shows."""
    names = made.rows.loc[made.rows["kind"] == "ours", "model"].unique()
    return methods(made.facts, list(names), made.results.parent / "logs")


def _paper(paper: Paper, made: Made) -> dict[str, Any]:
    """Return what a paper's page shows: sections of its rooms, and in each its figures."""
    cards = pd.concat([made.cards[room] for room in paper.rooms if room in made.cards])
    rows = made.rows[made.rows["paper"].isin([paper.name, *paper.rooms])]
    charts = [*_own_charts(paper, rows, made.points), quantities_chart(rows), forest_chart(cards)]
    return {
        "paper": paper,
        "simulated": _simulated(paper, made),
        "charts": [chart for chart in charts if chart],
        "rooms": [
            _room(room, heading, made)
            for room, heading in paper.rooms.items()
            if room in made.cards
        ],
    }


def _own_charts(paper: Paper, rows: pd.DataFrame, points: Points) -> Iterator[Chart | None]:
    """Yield the figures of one paper alone, of what there is."""
    if paper.name == "leakage":
        yield size_chart(rows)
    name, draw = POINTS.get(paper.name, ("", None))
    if draw and name in points:
        yield draw(points[name])


def _room(room: str, heading: str, made: Made) -> dict[str, Any]:
    """Return a room's figures and tables, each with the claims and numbers that it shows."""
    card = made.cards[room]
    parts = [*made.figures[room], *_tables(room, made)]
    drawn = {f"{room}/{name}" for name in parts}
    elsewhere = [name for name in card["figure"].dropna().unique() if name not in drawn]
    sections = [_part(f"{room}/{name}", card, made) for name in parts]
    alone = {
        "claims": [claim for name in (None, *elsewhere) for claim in claims_of(card, name)],
        "numbers": [number for name in (None, *elsewhere) for number in numbers_of(card, name)],
    }
    return {
        "name": room,
        "heading": heading,
        "counts": order_verdicts(card["verdict"]),
        "parts": sections,
        **alone,
    }


def _tables(room: str, made: Made) -> list[str]:
    """Return a room's tables that were made: the paper's own, then others that have a caption."""
    told = (name.partition("/") for name in made.captions)
    captioned = [name for of, _, name in told if of == room]
    return [
        name
        for name in dict.fromkeys([*made.tables[room], *captioned])
        if name not in made.figures[room]
        and any(f"{room}/{name}.{suffix}" in made.made_by for suffix in ("csv", "html"))
    ]


def _part(name: str, card: pd.DataFrame, made: Made) -> dict[str, Any]:
    """Return what stands under the heading of a figure or table (ROOM/NAME)."""
    stem = name.partition("/")[2]
    told = sentences(made.captions.get(name, ""))
    links = {suffix: f"{name}.{suffix}" for suffix in ("pdf", "png", "html", "csv")}
    return {
        "name": stem,
        "title": title_of(stem),
        "figure": _figure(name, made),
        "told": " ".join(told[:2]),
        "more": " ".join(told[2:]),
        "claims": claims_of(card, name),
        "numbers": numbers_of(card, name),
        "links": {suffix: path for suffix, path in links.items() if path in made.made_by},
        "rules": sorted({made.made_by[path] for path in links.values() if path in made.made_by}),
    }


def _figure(name: str, made: Made) -> dict[str, Any] | None:
    """Return a figure's image, its size in pixels and its claim in words; None where it is not."""
    image = f"{name}.png"
    if image not in made.made_by:
        return None
    width, height = png_size(made.results / image)
    told = sentences(made.captions.get(name, ""))
    return {
        "src": image,
        "width": width,
        "height": height,
        "alt": told[0] if told else title_of(name.rpartition("/")[2]),
    }


def _simulated(paper: Paper, made: Made) -> list[str]:
    """Return what of a paper's data is simulated."""
    of_paper = made.rows[made.rows["paper"].isin([paper.name, *paper.rooms])]
    cards = (made.cards[room] for room in paper.rooms if room in made.cards)
    return simulated_in([of_paper, *cards])


def title_of(stem: str) -> str:
    """Return the name of a figure or table as a heading: figure_2b for "Figure 2b"."""
    return stem.replace("_", " ").capitalize()


def png_size(path: Path) -> tuple[int, int]:
    """Return width and height (pixels) of a PNG file, by its header."""
    with path.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return width, height


def _breakable(name: str) -> list[str]:
    """Return the parts of a name that a line may be broken between."""
    return re.findall(r"[^/_]+[/_]?|[/_]", name)
