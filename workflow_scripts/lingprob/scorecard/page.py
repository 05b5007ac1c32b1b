"""A scorecard as one page that needs nothing else: what was reproduced, at a glance."""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Any

import pandas as pd
from jinja2 import Environment

from lingprob.report import PAGE, warnings_of
from lingprob.scorecard.verdicts import (
    CONTRADICTED,
    DIFFERS,
    NOT_RUN,
    REPRODUCED,
    SUPPORTED,
    UNDECIDED,
    order_verdicts,
)

TONES = {
    SUPPORTED: "yes",
    REPRODUCED: "yes",
    CONTRADICTED: "no",
    DIFFERS: "no",
    UNDECIDED: "open",
    NOT_RUN: "none",
}

STYLE = (
    PAGE
    + """
body { max-width: 84rem }
.note { color: var(--soft) }
.banners { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .6rem }
.banner { padding: .6rem .8rem; background: var(--panel); border: 1px solid var(--line);
  border-radius: .4rem }
.banner b { display: block; margin-bottom: .3rem }
.counts { display: flex; flex-wrap: wrap; gap: .3rem }
.verdict { display: inline-block; padding: .05em .55em; border-radius: 1em; font-weight: 600;
  font-size: .85rem; white-space: nowrap }
.yes { color: var(--yes); background: var(--yes-ground) }
.no { color: var(--no); background: var(--no-ground) }
.open { color: var(--open); background: var(--open-ground) }
.none { color: var(--none); background: var(--none-ground) }
.wide { overflow-x: auto; border: 1px solid var(--line); border-radius: .4rem }
table { border-collapse: separate; border-spacing: 0; width: 100%;
  font-variant-numeric: tabular-nums }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap }
td.number, td.interval { white-space: nowrap }
tr > :first-child { position: sticky; left: 0; z-index: 1; background: var(--page);
  border-right: 1px solid var(--line); overflow-wrap: anywhere; min-width: 9.5rem;
  max-width: 20rem }
tr.sentence th { background: var(--panel); max-width: none; font-weight: 400; border-right: 0;
  overflow-wrap: normal }
tr.sentence span.stays { display: block; position: sticky; left: .6rem;
  width: min(100%, calc(100vw - 3.5rem)); max-width: 70rem }
td:first-child .verdict { margin: .1rem 0 }
td.note { min-width: 15rem; font-size: .9rem }
details { margin-top: .6rem } summary { cursor: pointer; color: var(--soft); margin-bottom: .4rem }
@media (min-width: 1000px) { tr > :first-child { min-width: 17rem } }
@media (max-width: 600px) { table { font-size: .85rem }
  tr > :first-child { min-width: 8.5rem; max-width: 9.5rem }
  th, td { padding: .3rem .45rem } }
"""
)

TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title><style>{{ style|safe }}</style></head><body>
{%- macro verdict(word, count=None) -%}
<span class="verdict {{ tones[word] }}">{% if count %}{{ count }} {% endif %}{{ word }}</span>
{%- endmacro %}
{%- macro name(row) -%}
{% for part in row.row.split("/") %}{% if not loop.first %}/<wbr>{% endif %}
{%- for word in part.split("_") %}{% if not loop.first %}_<wbr>{% endif %}{{ word }}{% endfor %}
{%- endfor %}
{%- endmacro %}
{%- macro interval(row) -%}
{% if row.low or row.high %}{{ row.low }} to {{ row.high }}{% endif %}
{%- endmacro %}
<h1>{{ title }}</h1>
{{ warnings|safe }}{% if note %}<p>{{ note }}</p>{% endif %}
<div class="banners">
{%- for paper in papers %}
<div class="banner"><b><a href="#{{ paper.name }}">{{ paper.title }}</a></b>
<div class="counts">{% for word, count in paper.counts %}{{ verdict(word, count) }}
{% endfor %}</div></div>
{%- endfor %}
</div>
{%- for paper in papers %}
<section id="{{ paper.name }}"><h2>{{ paper.title }}
<small class="soft">scale {{ paper.scale }}</small></h2>
{%- if paper.claims %}
<h3>Claims</h3>
<div class="wide"><table class="claims"><thead><tr><th>of</th><th class="number">effect</th>
<th>95% interval</th><th>expected</th><th>note</th></tr></thead><tbody>
{%- for claim in paper.claims %}
<tr class="sentence"><th colspan="5"><span class="stays">{{ claim.sentence }}
<span class="soft">{{ claim.item }}</span>
{%- if claim.link %} · <a href="{{ claim.link }}">{{ claim.figure }}</a>{% endif %}</span></th></tr>
{%- for row in claim.rows %}
<tr><td>{{ verdict(row.verdict) }}<br>{{ name(row) }}</td><td class="number">{{ row.ours }}</td>
<td class="interval">{{ interval(row) }}</td><td>{{ row.expected }}</td>
<td class="note">{{ row.note }}</td></tr>
{%- endfor %}{% endfor %}
</tbody></table></div>
{%- endif %}
{%- if paper.waiting_claims %}
<details><summary>{{ paper.waiting_claims|length }} claims not run here</summary><ul>
{%- for claim in paper.waiting_claims %}
<li>{{ claim.sentence }} <span class="soft">{{ claim.item }}
{%- if claim.rows[0].note %}: {{ claim.rows[0].note }}{% endif %}</span></li>
{%- endfor %}
</ul></details>
{%- endif %}
{%- if paper.computed %}
<h3>Numbers</h3>
<div class="wide"><table class="numbers"><thead><tr><th>what</th><th class="number">published</th>
<th class="number">ours</th><th>95% interval</th><th class="number">difference</th><th>note</th>
</tr></thead><tbody>
{%- for row in paper.computed %}
<tr><td>{{ verdict(row.verdict) }}<br>{{ name(row) }}
<br><span class="soft">{{ row.column }}, {{ row.item }}</span></td>
<td class="number">{{ row.published }}</td><td class="number">{{ row.ours }}</td>
<td class="interval">{{ interval(row) }}</td><td class="number">{{ row.difference }}</td>
<td class="note">{{ row.note }}</td></tr>
{%- endfor %}
</tbody></table></div>
{%- endif %}
{%- if paper.waiting %}
<details><summary>{{ paper.waiting|length }} numbers not run here</summary>
<div class="wide"><table class="waiting"><thead><tr><th>what</th><th class="number">published</th>
<th>note</th></tr></thead><tbody>
{%- for row in paper.waiting %}
<tr><td>{{ name(row) }}<br><span class="soft">{{ row.column }}, {{ row.item }}</span></td>
<td class="number">{{ row.published }}</td><td class="note">{{ row.note }}</td></tr>
{%- endfor %}
</tbody></table></div></details>
{%- endif %}
</section>
{%- endfor %}
</body></html>
"""


def scorecard_page(card: pd.DataFrame, title: str, results: str = "", note: str = "") -> str:
    """Return a scorecard as a complete HTML page.

    A banner a paper counts verdicts; then, paper by paper, each claim's sentence with a verdict for
    every population, and the numbers; what was not run is folded behind one line.

    Args:
        card: a `scorecard` table, of one paper or of several.
        title: the page's.
        results: from the page's folder to the folder of all results, for links to figures.
        note: stands under the title.
    """
    papers = [_paper(name, rows, results) for name, rows in card.groupby("paper", sort=False)]
    page = Environment(autoescape=True).from_string(TEMPLATE)
    return page.render(
        title=title,
        style=STYLE,
        tones=TONES,
        papers=papers,
        warnings=warnings_of(card),
        note=note,
    )


def _paper(name: Any, card: pd.DataFrame, results: str) -> dict[str, Any]:
    claims, numbers = card[card["kind"] == "claim"], card[card["kind"] == "number"]
    found = [_claim(rows, results) for _, rows in claims.groupby(["item", "column"], sort=False)]
    waiting = numbers["verdict"] == NOT_RUN
    return {
        "name": name,
        "title": title_of(name),
        "scale": card["scale"].iloc[0],
        "counts": order_verdicts(card["verdict"]),
        "claims": [claim for claim in found if claim["run"]],
        "waiting_claims": [claim for claim in found if not claim["run"]],
        "computed": _shown(numbers[~waiting]),
        "waiting": _shown(numbers[waiting]),
    }


def title_of(paper: str) -> str:
    """Return a paper's name as a heading."""
    return "MORCELA" if paper == "morcela" else paper.replace("_", " ").capitalize()


def _claim(rows: pd.DataFrame, results: str) -> dict[str, Any]:
    first = rows.iloc[0]
    run = bool((rows["verdict"] != NOT_RUN).any())
    drawn = isinstance(first["figure"], str) and run
    figure = PurePosixPath(first["figure"] if drawn else "")
    return {
        "run": run,
        "sentence": first["sentence"],
        "item": first["item"],
        "figure": figure.name.replace("_", " ").capitalize(),
        "link": f"{results}{figure}.png" if drawn else "",
        "rows": _shown(rows),
    }


def _shown(rows: pd.DataFrame) -> list[dict[str, str]]:
    """Return rows as text: numbers to four significant places, nothing where there is none."""
    return [{key: _text(value) for key, value in row.items()} for row in rows.to_dict("records")]


def _text(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
    return "" if value is None or value is pd.NA else str(value)
