"""A model's profile as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment

from lingprob.profiles.rows import KEY
from lingprob.referee.page import title_of
from lingprob.report import PAGE, warnings_of

STYLE = (
    PAGE
    + """
body { max-width: 64rem }
.row { display: grid; grid-template-columns: minmax(0, 1fr) 15rem 18rem; gap: .2rem 1rem;
  align-items: center; padding: .3rem 0; border-bottom: 1px solid var(--line) }
.value { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap }
.strip { position: relative; height: 1.4rem; background: var(--panel); border-radius: .3rem;
  margin: 0 .5rem }
.strip span { position: absolute; top: 50%; transform: translate(-50%, -50%) }
.other, .published { width: .6rem; height: .6rem; border-radius: 50% }
.other { background: var(--soft); opacity: .6 }
.published { border: 1.5px solid var(--soft); background: var(--page) }
.own { width: .8rem; height: .8rem; border-radius: 50%; background: var(--link) }
.strip .interval { height: 3px; background: var(--link); opacity: .5; transform: translateY(-50%) }
.ends { display: flex; justify-content: space-between; font-size: .75rem; color: var(--soft);
  margin: 0 .5rem }
.key span { display: inline-block; vertical-align: middle; margin: 0 .3rem 0 .8rem }
details { margin-top: .4rem } summary { cursor: pointer; color: var(--soft) }
@media (max-width: 600px) { .row { grid-template-columns: minmax(0, 1fr) auto }
  .row > :last-child { grid-column: 1 / -1 } }
"""
)
OPEN = 12  # groups of one quantity that a reader sees at once: BLiMP's phenomena
TEMPLATE = """{%- macro line(row) %}
<div class="row"><div>{{ row.quantity }}{% if row.group %}
<br><span class="soft">{{ row.group }}</span>{% endif %}</div>
<div class="value"><b>{{ row.shown }}</b><br><span class="soft">{{ row.interval }}</span></div>
<div><div class="strip" role="img" aria-label="{{ row.said }}">
{%- if row.bar %}<span class="interval" style="left: {{ row.bar[0] }}%; width: {{ row.bar[1] }}%">
</span>{% endif %}
{%- for dot in row.dots %}<span class="{{ dot.kind }}" style="left: {{ dot.at }}%"
 title="{{ dot.name }}: {{ dot.shown }}"></span>{% endfor %}</div>
<div class="ends"><span>{{ row.ends[0] }}</span><span>{{ row.rank }}</span>
<span>{{ row.ends[1] }}</span></div></div></div>
{%- endmacro %}<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title><style>{{ style|safe }}</style></head><body>
<h1>{{ title }}</h1>
<p class="soft">{{ facts|join(" · ") }}</p>
{{ warnings|safe }}
{%- for note in notes %}<p>{{ note }}</p>{% endfor %}
<p class="key soft"><span class="own"></span>this model, with its 95% interval
<span class="other"></span>other models computed here <span class="published"></span>published;
point at one for its name</p>
{%- for paper in papers %}
<section id="{{ paper.name }}"><h2>{{ paper.title }}</h2>
{%- for dataset in paper.datasets %}
<h3>{{ dataset.title }} <span class="soft">scale {{ dataset.scale }}</span></h3>
{%- for part in dataset.parts %}
{%- if part.folded %}
<details><summary>{{ part.folded }}</summary>{% for row in part.rows %}{{ line(row) }}{% endfor %}
</details>
{%- else %}{% for row in part.rows %}{{ line(row) }}{% endfor %}{% endif %}
{%- endfor %}{% endfor %}
</section>
{%- endfor %}
{%- if cost %}<section id="cost"><h2>Cost</h2><p>{{ cost }}</p></section>{% endif %}
</body></html>
"""


def profile_page(
    model: Mapping[str, Any],
    rows: pd.DataFrame,
    others: Mapping[str, pd.DataFrame],
    published: Mapping[str, pd.DataFrame],
    *,
    titles: Mapping[str, str],
    facts: list[str],
    notes: list[str],
    cost: str = "",
) -> str:
    """Return a model's profile as a complete HTML page.

    Args:
        model: its entry, of which `title` is shown.
        rows: what `profile_rows` gives of it.
        others, published: the same of other models, by their titles, computed and in print.
        titles: of data sets, by name.
        facts: about the model, each a few words.
        notes: sentences under the title: what was not run and how to run it.
        cost: of the jobs that made it.
    """
    beside = {
        kind: pd.concat([table.assign(model=name) for name, table in tables.items()])
        if tables
        else rows.iloc[:0].assign(model="")
        for kind, tables in (("other", others), ("published", published))
    }
    papers = [
        {
            "name": paper,
            "title": title_of(paper),
            "datasets": [
                {
                    "title": titles.get(str(dataset), str(dataset)),
                    "scale": of_dataset["scale"].iloc[0],
                    "parts": list(_parts(of_dataset, beside)),
                }
                for dataset, of_dataset in of_paper.groupby("dataset", sort=False)
            ],
        }
        for paper, of_paper in rows.groupby("paper", sort=False)
    ]
    page = Environment(autoescape=True).from_string(TEMPLATE)
    return page.render(
        title=model["title"],
        style=STYLE,
        facts=facts,
        notes=notes,
        papers=papers,
        cost=cost,
        warnings=warnings_of(rows),
    )


def _parts(rows: pd.DataFrame, beside: Mapping[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one data set; one quantity of many groups is folded behind its range."""
    of_groups = rows["quantity"].where(rows["group"].ne("")).fillna("")
    run = of_groups.ne(of_groups.shift()).cumsum()
    for (_, quantity), some in rows.groupby([run, of_groups], sort=False):
        ends = f"{_shown(some['value'].min())} to {_shown(some['value'].max())}"
        is_folded = quantity and len(some) > OPEN
        yield {
            "folded": f"{quantity}, {len(some)} groups: {ends}" if is_folded else "",
            "rows": [_row(row, beside) for row in some.to_dict("records")],
        }


def _row(row: dict[Any, Any], beside: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what the page shows of one quantity: its value, interval and place among others."""
    same = {kind: table[_is_same(table, row)] for kind, table in beside.items()}
    values = [
        row["value"],
        row["low"],
        row["high"],
        *(v for t in same.values() for v in t["value"]),
    ]
    finite = np.array(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)

    def at(value: float) -> float:
        return round(100 * float((value - low) / (high - low)), 2) if high > low else 50.0

    dots = [
        {
            "kind": kind,
            "at": at(each["value"]),
            "name": each["model"],
            "shown": _shown(each["value"]),
        }
        for kind, table in same.items()
        for each in table.dropna(subset=["value"]).to_dict("records")
    ]
    known = pd.notna(row["value"])
    if known:
        dots.append({"kind": "own", "at": at(row["value"]), "name": "this model",
                     "shown": _shown(row["value"])})  # fmt: skip
    bounded = known and pd.notna(row["low"]) and pd.notna(row["high"])
    unit = f" {row['unit']}" if isinstance(row["unit"], str) and row["unit"] else ""
    below = sum(table["value"].lt(row["value"]).sum() for table in same.values())
    count = sum(table["value"].notna().sum() for table in same.values())
    rank = f"above {below} of {count} others" if count and known else ""
    return {
        "quantity": row["quantity"],
        "group": row["group"],
        "shown": f"{_shown(row['value'])}{unit}" if known else "not defined",
        "interval": "; ".join(
            filter(
                None,
                [
                    f"{_shown(row['low'])} to {_shown(row['high'])}" if bounded else "",
                    f"n {row['n']:,.0f}" if pd.notna(row["n"]) else "",
                ],
            )
        ),
        "bar": (at(row["low"]), round(at(row["high"]) - at(row["low"]), 2)) if bounded else None,
        "dots": dots,
        "ends": (_shown(low), _shown(high)),
        "rank": rank,
        "said": f"{row['quantity']}: {_shown(row['value'])}{unit}" + (f", {rank}" if rank else ""),
    }


def _is_same(table: pd.DataFrame, row: Mapping[Any, Any]) -> pd.Series:
    """Tell which rows of others are of the same quantity: conventions have names of their own."""
    key = KEY if "conventions" not in row["quantity"] else KEY[:-1]
    return pd.Series(
        np.logical_and.reduce([(table[name] == row[name]).to_numpy() for name in key]),
        index=table.index,
    )


def _shown(value: float) -> str:
    """Return a number in three significant places."""
    if pd.isna(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
