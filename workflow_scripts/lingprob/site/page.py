"""Fill the templates of pages, and show tables and values in them."""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lingprob.errors import looked_up
from lingprob.io.files import write_text
from lingprob.io.tables import write_csv
from lingprob.site import TEMPLATES

# Data that may be simulated, and the column of a table with the source (a scorecard has notes).
SIMULATED = {"ratings": "rating_source", "reading times": "rt_source"}
MINUS = "\N{MINUS SIGN}"


def render_page(template: str, title: str, **values: Any) -> str:
    """Return an HTML page that needs no other files than its images.

    `values` are the variables of the template, which are escaped as HTML. Those of every template
    are `simulated` (keys of SIMULATED), `scale` and, for pages of the site, `menu` (path and title
    of each page), `here` (the page's path) and `root` (path from its folder to the results).
    """
    common = {"menu": [], "here": "", "root": "", "simulated": [], "scale": "", "title": title}
    return _environment().get_template(f"{template}.html").render(common | values)


def write_pages(
    tables: Mapping[str, pd.DataFrame],
    titles: Mapping[str, str],
    paths: Iterable[str | Path],
    note: str = "",
) -> None:
    """Write tables to paths as CSV or as pages with a note. A file's name is that of its table.

    Raises LingprobError if there is no table of that name.
    """
    for path in map(Path, paths):
        table = looked_up(f"table to write to {path}", path.stem, tables)
        if path.suffix == ".csv":
            write_csv(table, path)
        else:
            write_text(table_as_html(table, titles[path.stem], note), path)


def table_as_html(table: pd.DataFrame, title: str, note: str = "") -> str:
    """Return a table as an HTML page with a note. Numbers have four significant digits."""
    return render_page(
        "table", title, note=note, simulated=simulated_in([table]), cells=cells(table)
    )


def cells(table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a table, and the text of each cell and whether it is a number."""
    return {
        "columns": list(table),
        "rows": [[(shown(value), isinstance(value, int | float) and not isinstance(value, bool))
                  for value in row] for row in table.astype(object).to_numpy().tolist()],
    }  # fmt: skip


def simulated_in(tables: Iterable[pd.DataFrame]) -> list[str]:
    """Return the keys of SIMULATED whose data are simulated in any of the tables or scorecards."""
    found = set()
    for table in tables:
        notes = table["note"].dropna().astype(str) if "note" in table else pd.Series(dtype=str)
        for data, column in SIMULATED.items():
            in_column = column in table and (table[column] == "simulated").any()
            if in_column or notes.str.contains(f"simulated {data}").any():
                found.add(data)
    return [data for data in SIMULATED if data in found]


def shown(value: object) -> str:
    """Return a value as text: numbers to four significant places, "" if there is none."""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        text = f"{value:,.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"
        return text.replace("-", MINUS)
    return "" if value is None or value is pd.NA else str(value)


def interval(row: Mapping[Any, Any]) -> str:
    """Return the 95% interval of a row as text, or "" if there is none or it is a point."""
    low, high = row["low"], row["high"]
    known = pd.notna(low) and pd.notna(high) and low != high
    return f"{shown(low)} to {shown(high)}" if known else ""


def heading_of(name: str) -> str:
    """Return the name of a paper, figure or table as a heading: figure_2b becomes "Figure 2b"."""
    return "MORCELA" if name == "morcela" else name.replace("_", " ").capitalize()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"shown": shown, "interval": interval, "heading": heading_of}
    return environment
