"""Make the pages of the site from the results of a run."""

import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

import lingprob
from lingprob.scorecard.comparison import ALSO, CHECK, PAPER
from lingprob.scorecard.verdicts import NOT_RUN
from lingprob.site.cards import claims_in, counts_of, numbers_in
from lingprob.site.models import main_rows, own_rows
from lingprob.site.page import cells, heading_of, render_page, shown, simulated_in
from lingprob.site.papers import Paper, papers_of

FOLDER = "site"  # folder below the results of all pages but the front page
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
# Columns of the tables on a page about the user's data, by path below the results.
OWN_TABLES = {
    "morcela/differences.csv": ["model", "other", "dataset", "r_cv", "beta", "gamma"],
    "morcela/intergroup_correlation.csv": [
        "dataset", "description", "r", "judgments", "participants",
    ],
    "reading/delta_log_likelihood.csv": [
        "model", "dataset", "delta", "partition", "n_evaluated", "n_fit", "n_subjects",
        "word_perplexity", "converged", "singular",
    ],
    "reading/model_differences.csv": ["model", "other", "dataset", "difference", "p_holm"],
    "reading/effects.csv": ["model", "dataset", "term", "ms", "converged", "singular"],
    "reading/counts.csv": ["dataset", "fate", "rows"],
}  # fmt: skip


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
    if set(made.cards) <= {*made.facts["own"]["rooms"]}:
        pages = {"index.html": ("paper", "Your study", _study(made))}
    else:
        papers = papers_of(made.cards)
        pages = {"index.html": ("index", f"lingprob: scale {made.scale}", _front(papers, made))}
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
    own = replace(made, cards={room: own_claims(card) for room, card in made.cards.items()})
    of_room = {room: made.rows[made.rows["paper"] == room] for room in own.cards}
    of_room.pop("reading", None)  # OWN_TABLES has its gains
    results = {room: own_rows(rows, made.facts["own"]) for room, rows in of_room.items()}
    return {
        "paper": None,
        "own_links": _own_links(made),
        "rooms": [
            _room(room, heading_of(room), own)
            | {"own": results.get(room), "tables": own_tables(room, made)}
            for room in own.cards
        ],
        "simulated": simulated_in([made.rows, *made.cards.values()]),
    }


def own_claims(card: pd.DataFrame) -> pd.DataFrame:
    """Return a scorecard's rows of tested claims, with role PAPER in place of ALSO."""
    tested = (card["kind"] == "claim") & (card["verdict"] != NOT_RUN) & (card["role"] != CHECK)
    return card[tested].assign(role=card["role"].replace({ALSO: PAPER}))


def own_tables(room: str, made: Made) -> dict[str, dict[str, Any]]:
    """Return the `cells` of the OWN_TABLES in a room (folder of results), by the name of the file.

    Estimates are followed by their intervals, and names are replaced by titles.
    """
    entries = made.facts["models"] | made.facts["datasets"]
    titles = {name: entry["title"] for name, entry in entries.items()}
    found = {}
    for path, columns in OWN_TABLES.items():
        if path.startswith(f"{room}/") and path in made.files:
            table = pd.read_csv(made.results / path)
            for name in {"model", "other", "dataset"} & {*table}:
                table[name] = table[name].map(lambda name: titles.get(name, name))
            for name in [name for name in columns if f"{name}_low" in table]:
                ends = table[f"{name}_low"].map(shown) + " to " + table[f"{name}_high"].map(shown)
                table[name] = table[name].map(shown) + " (" + ends + ")"
            found[Path(path).stem] = cells(table[columns])
    return found


def _at_a_glance(paper: Paper, made: Made) -> dict[str, Any]:
    """Return the template's values of one paper's card on the front page."""
    images = (f"{name}.png" for name in paper.answers)
    return {
        "paper": paper,
        "counts": counts_of([made.cards[room] for room in paper.rooms if room in made.cards]),
        "simulated": _simulated(paper, made),
        "figure": next((image for image in images if image in made.files), None),
    }


def _models(made: Made) -> dict[str, Any]:
    """Return the template's values of the page of models."""
    paths = [path for path in made.linked if path.startswith(f"{FOLDER}/models/")]
    return {
        "models": [(path, made.facts["models"][Path(path).stem]["title"]) for path in paths],
        "rows": main_rows(made.rows),
        "simulated": simulated_in([made.rows]),
    }


def _methods(made: Made) -> dict[str, Any]:
    """Return the template's values of the page of methods: the inputs and versions of a run."""
    known = made.facts["models"]
    return {
        **{key: made.facts[key] for key in ("seed", "datasets", "conventions")},
        "models": {name: known[name] for name in made.rows["model"].unique() if name in known},
        "versions": {"lingprob": lingprob.__version__, "Python": platform.python_version(),
                     **{name: version(name) for name in PACKAGES}},
    }  # fmt: skip


def _paper(paper: Paper, made: Made) -> dict[str, Any]:
    """Return the template's values of a paper's page: its rooms, with their figures and tables."""
    rooms = [(room, heading) for room, heading in paper.rooms.items() if room in made.cards]
    return {
        "paper": paper,
        "simulated": _simulated(paper, made),
        "rooms": [_room(room, heading, made) for room, heading in rooms],
    }


def _room(room: str, heading: str, made: Made) -> dict[str, Any]:
    """Return the template's values of a room: figures and tables, with their claims and numbers."""
    card = made.cards[room]
    parts = [f"{room}/{name}" for name in [*made.figures[room], *_tables(room, made)]]
    claims = claims_in(card)
    return {
        "name": room,
        "heading": heading,
        "counts": counts_of([card]),
        "parts": [_part(name, card, claims, made) for name in parts],
        "claims": [claim for claim in claims if claim["of"] not in parts],
        "numbers": numbers_in(card[~card["figure"].isin(parts)]),
        "own": None,
        "tables": {},
    }


def _tables(room: str, made: Made) -> list[str]:
    """Return the names of a room's existing tables: the paper's, then others with a caption."""
    captioned = [path.partition("/")[2] for path in made.captions if path.startswith(f"{room}/")]
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
    links = {suffix: f"{name}.{suffix}" for suffix in ("pdf", "png", "html", "csv")}
    links = {suffix: path for suffix, path in links.items() if path in made.files}
    return {
        "name": stem,
        "title": heading_of(stem),
        "figure": links.get("png"),
        "caption": made.captions.get(name, ""),
        "claims": [claim for claim in claims if claim["of"] == name],
        "numbers": numbers_in(card[card["figure"] == name]),
        "links": links,
    }


def _simulated(paper: Paper, made: Made) -> list[str]:
    """Return the keys of SIMULATED whose data are simulated in a paper's results."""
    of_paper = made.rows[made.rows["paper"].isin([paper.name, *paper.rooms])]
    cards = [made.cards[room] for room in paper.rooms if room in made.cards]
    return simulated_in([of_paper, *cards])
