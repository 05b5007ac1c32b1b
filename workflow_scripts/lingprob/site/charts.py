"""Figures that a reader can point at and filter, as Vega-Lite specifications with their rows.

Snakemake draws the figures of its own report with the same library and brings it along, so that
the site needs no other package and no network. Filled points are ours, hollow ones published.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from lingprob.scorecard.verdicts import NOT_RUN
from lingprob.site.cards import interval, shown

Spec = dict[str, Any]
# The page puts the colours of its theme in the place of these names.
YES, NO, OPEN, SOFT, LINK = "--yes", "--no", "--open", "--soft", "--link"
TONES = {"reproduced": YES, "differs": NO, "undecided": OPEN}
KINDS = {"ours": LINK, "published": SOFT}
# Of each paper, the quantity that its question is about.
FIRST = (
    "r of MORCELA with ratings",
    "accuracy on minimal pairs",
    "ΔLogLik",
    "change of accuracy after a prefix",
)
PLACES = 5  # significant ones of a number that is drawn


@dataclass(frozen=True)
class Filter:
    """A choice among the values of a field; `every` if all of them may be shown at once."""

    field: str
    label: str
    every: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure: its claim in words, what it is filtered by, its rows and how they are drawn."""

    name: str
    title: str
    said: str
    filters: Sequence[Filter]
    rows: Sequence[dict[str, Any]]
    spec: Spec

    def as_script(self) -> str:
        """Return filters, rows and specification as JSON that may stand in a page."""
        told = {"filters": [asdict(one) for one in self.filters], "rows": self.rows}
        return as_script({**told, "spec": self.spec | {"description": self.said}})


def forest_chart(card: pd.DataFrame) -> Chart | None:
    """Return ours less published of a paper's numbers, with 95% intervals; None if none was run.

    Args:
        card: the scorecards of its rooms.
    """
    found = card[(card["kind"] == "number") & (card["verdict"] != NOT_RUN)]
    found = found.dropna(subset=["ours", "published"])
    if found.empty:
        return None
    rows = found[["row", "column", "item", "published", "ours", "difference", "verdict"]].assign(
        of=found["item"] + ": " + found["column"].str.replace("_", " "),
        low=found["low"] - found["published"],
        high=found["high"] - found["published"],
        interval=[interval(row) for row in found.to_dict("records")],
    )
    # What a reader sees before any choice: numbers with intervals, and those that are many.
    rows["known"] = rows["interval"].ne("").groupby(rows["of"]).transform("sum")
    rows["many"] = rows.groupby("of")["row"].transform("size")
    rows = rows.sort_values(["known", "many"], ascending=False, kind="stable")
    rows = rows.drop(columns=["known", "many"])
    x = {"type": "quantitative", "title": "ours less published"}
    y = {"field": "row", "type": "nominal", "sort": None, "title": None}
    points = {
        "x": {"field": "difference", **x},
        "color": coloured("verdict", TONES),
        "shape": {"field": "verdict", "type": "nominal", "scale": {
            "domain": [*TONES], "range": ["circle", "diamond", "square"]}},
        "tooltip": tooltips(row="of", item="in", column="what", published="published", ours="ours",
                            interval="95% interval of ours", verdict="verdict"),
    }  # fmt: skip
    return Chart(
        "forest",
        "Ours less the published numbers",
        "Each number that this run computed less the published one, with the 95% interval of ours: "
        "where it covers the line at 0, the two cannot be told apart.",
        [Filter("of", "Numbers of"), Filter("row", "Of", every=True)],
        records(rows),
        {
            "width": "container",
            "height": {"step": 20},
            "encoding": {"y": y},
            "layer": [
                {"mark": {"type": "rule", "strokeDash": [4, 3]},
                 "encoding": {"x": {"datum": 0, **x}, "y": None, "color": {"value": SOFT}}},
                {"mark": {"type": "rule", "strokeWidth": 2, "aria": False},
                 "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"},
                              "color": points["color"]}},
                {"mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                 "encoding": points},
            ],
        },
    )  # fmt: skip


def quantities_chart(rows: pd.DataFrame) -> Chart | None:
    """Return what a paper asks of every model, a quantity at a time; None if there is no row.

    Args:
        rows: `rows.every_row` of the paper, `rows.titled`.
    """
    found = rows.dropna(subset=["value"])
    if found.empty:
        return None
    found = found.assign(
        what=[", ".join(filter(None, part)) for part in found[["quantity", "group"]].to_numpy()],
        interval=[interval(row) for row in found.to_dict("records")],
        n=[shown(float(n)) for n in found["n"].astype(float)],
        value_shown=[shown(float(value)) for value in found["value"]],
    )
    # Published alone is what no run of ours is about.
    computed = found.loc[found["kind"] == "ours", ["what", "dataset"]].drop_duplicates()
    found = found.merge(computed, on=["what", "dataset"])
    found["first"] = found["quantity"].isin(FIRST)
    found["many"] = found.groupby(["what", "dataset"])["value"].transform("size")
    found = found.sort_values(["first", "many"], ascending=False, kind="stable")
    x = {"type": "quantitative", "scale": {"zero": False}, "title": None}
    tips = tooltips(title="model", data="data", what="what", value_shown="value",
                    interval="95% interval", n="n", kind="from")  # fmt: skip
    # No legend: the words above the figure say it, and a legend has no hollow points.
    colour = coloured("kind", KINDS) | {"legend": None}
    points = {"x": {"field": "value", **x}, "tooltip": tips, "color": colour}
    return Chart(
        "models",
        "Every model at once",
        "What the paper asks of each model: filled points with 95% intervals are ours, hollow ones "
        "published.",
        [Filter("what", "Quantity"), Filter("data", "Data"), Filter("title", "Model", every=True)],
        records(found[["title", "data", "what", "value", "low", "high", "interval", "n", "kind",
                       "value_shown"]]),
        {
            "width": "container",
            "height": {"step": 22},
            "encoding": {"y": {"field": "title", "type": "nominal", "sort": None, "title": None}},
            "layer": [
                {"mark": {"type": "rule", "strokeWidth": 2, "aria": False},
                 "transform": [{"filter": "datum.low != null"}],
                 "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"},
                              "color": colour}},
                {"mark": {"type": "point", "filled": False, "size": 80, "strokeWidth": 2},
                 "transform": [{"filter": "datum.kind == 'published'"}], "encoding": points},
                {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                 "transform": [{"filter": "datum.kind == 'ours'"}], "encoding": points},
            ],
        },
    )  # fmt: skip


def in_families(rows: pd.DataFrame) -> Spec:
    """Return the encoding of models' families by the colours that all figures have for them."""
    colours = rows.drop_duplicates("family").set_index("family")["colour"]
    return coloured("family", {str(family): str(colour) for family, colour in colours.items()})


def coloured(field: str, tones: dict[str, str]) -> Spec:
    """Return the encoding of a field by named colours."""
    scale = {"domain": [*tones], "range": [*tones.values()]}
    return {"field": field, "type": "nominal", "scale": scale, "title": None}


def tooltips(**titles: str) -> list[Spec]:
    """Return what a reader who points at a mark is told: fields by their titles."""
    return [{"field": field, "type": "nominal", "title": title} for field, title in titles.items()]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values: numbers to PLACES significant ones, None where there is none."""
    plain = frame.astype(object).where(frame.notna(), None)
    return [
        {key: float(f"{value:.{PLACES}g}") if isinstance(value, float) else value
         for key, value in row.items()}
        for row in plain.to_dict("records")
    ]  # fmt: skip


def as_script(data: object) -> str:
    """Return data as JSON that may stand in a page: nothing in it ends the element around it."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
