"""Tables as pages for the report."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from lingprob.errors import looked_up
from lingprob.files import write_text
from lingprob.rehearsal import STAMP
from lingprob.rehearsal.folder import in_rehearsal_folder
from lingprob.tables import write_csv

# What pages that are read on screens of any size, light or dark, begin with; tones of verdicts.
PAGE = """
:root { color-scheme: light dark; --page: #fff; --text: #16191d; --soft: #59616b; --line: #d8dce1;
  --panel: #f4f6f8; --link: #0b57a4; --yes: #00613a; --yes-ground: #dff3e8; --no: #9c2a00;
  --no-ground: #fde5da; --open: #6b5200; --open-ground: #fbf0c9; --none: #59616b;
  --none-ground: #e9ecef }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171a; --text: #e6e9ec; --soft: #a2abb5; --line: #363c43; --panel: #1d2126;
    --link: #7db8f5; --yes: #7fdcae; --yes-ground: #12382a; --no: #ffa98a; --no-ground: #47200f;
    --open: #ecd27a; --open-ground: #3b3110; --none: #a2abb5; --none-ground: #2a2f35 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; font: 15px/1.45 system-ui, sans-serif; color: var(--text);
  background: var(--page) }
h1 { font-size: 1.5rem; margin: .2em 0 .4em } h2 { font-size: 1.25rem; margin: 2em 0 .4em }
h3 { font-size: 1rem; margin: 1.3em 0 .3em }
a { color: var(--link) } .soft { color: var(--soft) } .number { text-align: right }
.simulated { color: var(--no); font-weight: bold }
@media (max-width: 600px) { body { padding: .7rem; font-size: 14px } }
"""
STYLE = """
body {font: 14px/1.4 system-ui, sans-serif; margin: 1.5em; color: #111; background: #fff}
table {border-collapse: collapse; font-variant-numeric: tabular-nums}
th, td {padding: .25em .7em; text-align: left; border-bottom: 1px solid #ddd; white-space: nowrap}
td.number {text-align: right}
th {position: sticky; top: 0; background: #fff; border-bottom: 2px solid #111}
.simulated {color: #b03a00; font-weight: bold}
"""
REHEARSED = (
    f'<p class="simulated">{STAMP}: random models and made-up data; no number here is a result.</p>'
)


def write_pages(
    tables: Mapping[str, pd.DataFrame],
    titles: Mapping[str, str],
    paths: Iterable[str | Path],
    note: str = "",
) -> None:
    """Write to each path, as CSV or as a page with a note, the table that the file is named after.

    Raises LingprobError if there is no table of that name.
    """
    for path in map(Path, paths):
        table = looked_up(f"table to write to {path}", path.stem, tables)
        if path.suffix == ".csv":
            write_csv(table, path)
        else:
            write_text(table_as_html(table, titles[path.stem], note), path)


def table_as_html(table: pd.DataFrame, title: str, note: str = "") -> str:
    """Return a table as a complete HTML page, under a note; numbers to four significant places."""
    banner = warnings_of(table) + (f"<p>{html.escape(note)}</p>" if note else "")
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    rows = [f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in table.to_dict("records")]
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{html.escape(title)}"
        f"</title><style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>{banner}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></body></html>"
    )


def warnings_of(table: pd.DataFrame) -> str:
    """Return lines that say that a table is a rehearsal's, and which of its data are simulated."""
    return (REHEARSED if in_rehearsal_folder() else "") + _simulated(table)


def _simulated(table: pd.DataFrame) -> str:
    notes = table["note"].str.contains if "note" in table.columns else (lambda _: pd.Series(False))
    return "".join(
        f'<p class="simulated">Simulated {what}: no human gave them.</p>'
        for what, column in (("ratings", "rating_source"), ("reading times", "rt_source"))
        if (column in table.columns and (table[column] == "simulated").any())
        or notes(f"simulated {what}").any()
    )


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and pd.isna(value)) or value is pd.NA:
        return "<td></td>"
    if isinstance(value, float):
        return f'<td class="number">{value:.4g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td class="number">{value}</td>'
    return f"<td>{html.escape(str(value))}</td>"
