"""Make the pages of the site from the results of a run."""

import platform
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

import lingprob
from lingprob.site.cards import claims_in, counts_of, numbers_in
from lingprob.site.models import model_table, own_rows
from lingprob.site.page import heading_of, render_page, simulated_in
from lingprob.site.papers import Paper, papers_of, sentences
from lingprob.site.study import HEADINGS, own_claims, tables_of

FOLDER = "site"  # folder below the results of all pages but the front page
BENCHMARK = ".benchmark.tsv"
PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "statsmodels", "numba", "torch", "transformers",
            "tokenizers", "spacy", "matplotlib", "snakemake")  # fmt: skip
# Description of a run without data or models of the user, by scale.
ABOUT = {
    "demo": "This run is a first look (scale demo). It has a small language model, two tiny ones, "
    "hand-written sentence pairs, and simulated ratings and reading times.",
    "laptop": "This run (scale laptop) has real data, samples of the large data sets, and models "
    "that a laptop can run.",
    "paper": "This run (scale paper) has all models and data of the papers that were available.",
}


@dataclass(frozen=True)
class Made:
    """Results of a run that the site shows. A room is a folder of results, such as reading.

    Args:
        results: the folder of results.
        scale: scale of the run.
        cards: the `scorecard` table of each room.
        rows: `models.rows_by_model`, `titled`.
        facts: `facts.run_facts`.
        files: paths below `results` that pages may link to.
        figures: names of each room's figures, in the order of its page.
        tables: names of the tables that each room's paper has, in the order of its page.
        captions: of figures and tables (ROOM/NAME), as in the report. Other tables with a caption
            follow those of the paper.
        linked: paths below `results` of pages about models and audits.
    """

    results: Path
    scale: str
    cards: Mapping[str, pd.DataFrame]
    rows: pd.DataFrame
    facts: Mapping[str, Any]
    files: Collection[str]
    figures: Mapping[str, Sequence[str]]
    tables: Mapping[str, Sequence[str]]
    captions: Mapping[str, str] = field(default_factory=dict)
    linked: Sequence[str] = ()


def site_pages(made: Made) -> dict[str, str]:
    """Return the HTML of each page of the site by its path below the folder of results."""
    is_study = set(made.cards) <= {*made.facts["own"]["rooms"]}
    papers = [] if is_study else papers_of(made.cards)
    front = ("index", f"lingprob: scale {made.scale}", _front(papers, made))
    pages: dict[str, tuple[str, str, dict[str, Any]]] = {
        "index.html": ("paper", "Your study", _study(made)) if is_study else front
    }
    for paper in papers:
        pages[f"{FOLDER}/{paper.name}.html"] = ("paper", paper.title, _paper(paper, made))
    pages[f"{FOLDER}/models.html"] = ("models", "Models", _models(made))
    pages[f"{FOLDER}/methods.html"] = ("methods", "Methods", _methods(made))
    menu = [(path, heading_of(Path(path).stem)) for path in pages if path != "index.html"]
    common = {"menu": menu, "scale": made.scale}
    return {
        path: render_page(
            template, title, here=path, root="" if "/" not in path else "../", **common, **values
        )
        for path, (template, title, values) in pages.items()
    }


def _front(papers: Sequence[Paper], made: Made) -> dict[str, Any]:
    """Return the template's values of the front page: the user's results, and each paper's card."""
    own = made.facts["own"]
    return {
        "about": "" if own["models"] or own["datasets"] else ABOUT.get(made.scale, ""),
        "cards": [_at_a_glance(paper, made) for paper in papers],
        "own": own_rows(made.rows, own),
        "own_links": _own_links(made),
    }


def _own_links(made: Made) -> list[tuple[str, str]]:
    """Return path and title of each page about a model or an audit of the user's."""
    own = made.facts["own"]
    links = [(f"{FOLDER}/models/{name}.html", f"Model: {name}") for name in own["models"]]
    links += [(f"audit/{name}.html", f"Audit: {name}") for name in own["datasets"]]
    return [link for link in links if link[0] in made.linked]


def _study(made: Made) -> dict[str, Any]:
    """Return the template's values of the front page of a run on the user's data alone."""
    cards = {room: own_claims(card) for room, card in made.cards.items()}
    own, facts = replace(made, cards=cards), made.facts
    entries = facts["models"] | facts["datasets"]
    titles = {name: str(entry["title"]) for name, entry in entries.items()}
    rooms = []
    for room in cards:
        rows = own_rows(made.rows[made.rows["paper"] == room], facts["own"])
        found = tables_of(room, made.results, made.files, titles)
        if rows and "What surprisal adds" not in found:
            found = {"Results of the models": rows} | found
        rooms.append({**_room(room, HEADINGS[room], own), "tables": found})
    return {
        "paper": None,
        "own_links": _own_links(made),
        "rooms": rooms,
        "simulated": simulated_in([made.rows, *made.cards.values()]),
    }


def _at_a_glance(paper: Paper, made: Made) -> dict[str, Any]:
    """Return the template's values of one paper's card on the front page."""
    cards = [made.cards[room] for room in paper.rooms if room in made.cards]
    drawn = (_figure(name, made) for name in paper.answers)
    return {
        "paper": paper,
        "counts": counts_of(cards),
        "simulated": _simulated(paper, made),
        "figure": next(filter(None, drawn), None),
    }


def _models(made: Made) -> dict[str, Any]:
    """Return the template's values of the page of models."""
    return {
        "table_of": model_table(made.rows),
        "linked": [Path(path).stem for path in made.linked if path.startswith(f"{FOLDER}/models/")],
        "simulated": simulated_in([made.rows]),
    }


def _methods(made: Made) -> dict[str, Any]:
    """Return the template's values of the page of methods: the inputs and the cost of a run."""
    known = made.facts["models"]
    return {
        **{key: made.facts[key] for key in ("seed", "datasets", "conventions")},
        "models": {name: known[name] for name in made.rows["model"].unique() if name in known},
        "versions": {"lingprob": lingprob.__version__, "Python": platform.python_version(),
                     **{name: version(name) for name in PACKAGES}},
        "cost": cost_by_rule(made.results.parent / "logs").to_dict("records"),
    }  # fmt: skip


def cost_by_rule(logs: Path) -> pd.DataFrame:
    """Return the cost of each rule's jobs from Snakemake's benchmarks in a folder of logs.

    Columns: rule, jobs (their number), minutes (of wall time, the longest first), cpu_minutes and
    memory_mb (of the largest job).
    """
    jobs = []
    for path in sorted(logs.rglob(f"*{BENCHMARK}")):
        rule = path.relative_to(logs).parts[0].removesuffix(BENCHMARK)
        last = pd.read_csv(path, sep="\t", na_values="-").tail(1)
        jobs.append(last.assign(rule=rule))
    if not jobs:
        return pd.DataFrame(columns=["rule", "jobs", "minutes", "cpu_minutes", "memory_mb"])
    grouped = pd.concat(jobs).groupby("rule")
    minutes = {"minutes": grouped["s"].sum() / 60, "cpu_minutes": grouped["cpu_time"].sum() / 60}
    table = pd.DataFrame({"jobs": grouped.size(), **minutes, "memory_mb": grouped["max_rss"].max()})
    return table.sort_values("minutes", ascending=False, kind="stable").reset_index()


def _paper(paper: Paper, made: Made) -> dict[str, Any]:
    """Return the template's values of a paper's page: its rooms, with their figures and tables."""
    rooms = {room: heading for room, heading in paper.rooms.items() if room in made.cards}
    return {
        "paper": paper,
        "simulated": _simulated(paper, made),
        "rooms": [{**_room(room, heading, made), "tables": {}} for room, heading in rooms.items()],
    }


def _room(room: str, heading: str, made: Made) -> dict[str, Any]:
    """Return the template's values of a room: figures and tables, with their claims and numbers."""
    card = made.cards[room]
    parts = [*made.figures[room], *_tables(room, made)]
    shown, claims = [f"{room}/{name}" for name in parts], claims_in(card)
    elsewhere = card[~card["figure"].isin(shown)]
    return {
        "name": room,
        "heading": heading,
        "counts": counts_of([card]),
        "parts": [_part(f"{room}/{name}", card, claims, made) for name in parts],
        "claims": [claim for claim in claims if claim["of"] not in shown],
        "numbers": numbers_in(elsewhere),
    }


def _tables(room: str, made: Made) -> list[str]:
    """Return the names of a room's existing tables: the paper's, then others with a caption."""
    told = (name.partition("/") for name in made.captions)
    captioned = [name for of, _, name in told if of == room]
    return [
        name
        for name in dict.fromkeys([*made.tables[room], *captioned])
        if name not in made.figures[room]
        and any(f"{room}/{name}.{suffix}" in made.files for suffix in ("csv", "html"))
    ]


def _part(
    name: str, card: pd.DataFrame, claims: Sequence[dict[str, Any]], made: Made
) -> dict[str, Any]:
    """Return the template's values of a figure or table (ROOM/NAME)."""
    stem = name.partition("/")[2]
    told, of_part = sentences(made.captions.get(name, "")), card[card["figure"] == name]
    links = {suffix: f"{name}.{suffix}" for suffix in ("pdf", "png", "html", "csv")}
    return {
        "name": stem,
        "title": heading_of(stem),
        "figure": _figure(name, made),
        "told": " ".join(told[:2]),
        "more": " ".join(told[2:]),
        "claims": [claim for claim in claims if claim["of"] == name],
        "numbers": numbers_in(of_part),
        "links": {suffix: path for suffix, path in links.items() if path in made.files},
    }


def _figure(name: str, made: Made) -> dict[str, Any] | None:
    """Return the path, size in pixels and alternative text of a figure's image, or None."""
    image = f"{name}.png"
    if image not in made.files:
        return None
    size = zip(("width", "height"), png_size(made.results / image), strict=True)
    told = sentences(made.captions.get(name, ""))
    alt = told[0] if told else heading_of(name.rpartition("/")[2])
    return {"src": image, "alt": alt, **dict(size)}


def _simulated(paper: Paper, made: Made) -> list[str]:
    """Return the keys of SIMULATED whose data are simulated in a paper's results."""
    of_paper = made.rows[made.rows["paper"].isin([paper.name, *paper.rooms])]
    return simulated_in([of_paper, *(made.cards[room] for room in paper.rooms
                                     if room in made.cards)])  # fmt: skip


def png_size(path: Path) -> tuple[int, int]:
    """Return width and height (pixels) of a PNG file, by its header."""
    with path.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return width, height
