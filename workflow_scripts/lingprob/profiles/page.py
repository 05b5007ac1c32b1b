"""A model's profile as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment

from lingprob.profiles.quantities import Quantity, quantity_like
from lingprob.profiles.rows import KEY
from lingprob.report import PAGE, warnings_of
from lingprob.scorecard.page import title_of

STYLE = (
    PAGE
    + """
body { max-width: 64rem }
.row { display: grid; grid-template-columns: minmax(0, 1fr) 19rem 17rem; gap: .2rem 1rem;
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
.strip .chance { width: 0; height: 100%; border-left: 1.5px dashed var(--soft) }
.key > span { white-space: nowrap; margin-right: .8rem }
.key span span { display: inline-block; vertical-align: middle; margin-right: .3rem }
.key .chance { height: 1rem; border-left: 1.5px dashed var(--soft) }
dl { margin: .4rem 0 } dd { margin: 0 0 .4rem 1rem; color: var(--soft) }
details { margin-top: .4rem } summary { cursor: pointer; color: var(--soft) }
@media (max-width: 600px) { .row { grid-template-columns: minmax(0, 1fr) auto }
  .row > :last-child { grid-column: 1 / -1 } }
"""
)
OPEN = 12  # groups of one quantity that a reader sees at once: BLiMP's phenomena
TEMPLATE = """{%- macro line(row) %}
<div class="row"><div>{{ row.quantity }}{% if row.group %}
<br><span class="soft">{{ row.group }}</span>{% endif %}{% if row.undetermined %}
<br><span class="soft">{{ row.undetermined }}</span>{% endif %}</div>
<div class="value"><b>{{ row.shown }}</b><br><span class="soft">{{ row.interval }}</span></div>
<div>{% if row.ends %}<div class="strip" role="img" aria-label="{{ row.said }}">
{%- if row.nothing is not none %}<span class="chance" style="left: {{ row.nothing }}%"></span>
{%- endif %}
{%- if row.bar %}<span class="interval" style="left: {{ row.bar[0] }}%; width: {{ row.bar[1] }}%">
</span>{% endif %}
{%- for dot in row.dots %}<span class="{{ dot.kind }}" style="left: {{ dot.at }}%"
 title="{{ dot.name }}: {{ dot.shown }}"></span>{% endfor %}</div>
<div class="ends"><span>{{ row.ends[0] }}</span><span>{{ row.rank }}</span>
<span>{{ row.ends[1] }}</span></div>{% endif %}</div></div>
{%- endmacro %}<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}: profile (lingprob)</title><style>{{ style|safe }}</style></head><body>
<h1>{{ title }}</h1>
<p class="soft">{{ (facts + [made])|join(" · ") }}</p>
{{ warnings|safe }}
{%- for note in notes %}<p>{{ note }}</p>{% endfor %}
<p class="key soft"><span><span class="own"></span>this model, with its 95% interval</span>
<span><span class="chance"></span>chance, or no effect</span>
{%- if "other" in beside %}
<span><span class="other"></span>other models computed here</span>{% endif %}
{%- if "published" in beside %} <span><span class="published"></span>published</span>{% endif %}
{%- if beside %} (point at one for its name){% endif %}</p>
{%- for paper in papers %}
<section id="{{ paper.name }}"><h2>{{ paper.title }}</h2>
{%- if paper.glosses %}
<details><summary>What these quantities are</summary><dl>
{%- for quantity, gloss in paper.glosses.items() %}<dt>{{ quantity }}</dt><dd>{{ gloss }}</dd>
{%- endfor %}</dl></details>{% endif %}
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
    made: str,
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
        made: by which version, and when.
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
            "glosses": _glosses(of_paper["quantity"]),
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
        made=made,
        papers=papers,
        cost=cost,
        warnings=warnings_of(rows),
        beside=[kind for kind, table in beside.items() if _shared(table, rows)],
    )


def _parts(rows: pd.DataFrame, beside: Mapping[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one data set; one quantity of many groups is folded behind its range."""
    of_groups = rows["quantity"].where(rows["group"].ne("")).fillna("")
    run = of_groups.ne(of_groups.shift()).cumsum()
    for (_, quantity), some in rows.groupby([run, of_groups], sort=False):
        ends = f"lowest {_shown(some['value'].min())}, highest {_shown(some['value'].max())}"
        is_folded = quantity and len(some) > OPEN
        yield {
            "folded": f"{quantity} of {len(some)} groups: {ends}" if is_folded else "",
            "rows": [_row(row, beside) for row in some.to_dict("records")],
        }


def _glosses(names: Iterable[str]) -> dict[str, str]:
    """Return what quantities are, by their names; those that are alike are told together."""
    named: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        named.setdefault(quantity_like(name).gloss, []).append(name)
    return {", ".join(alike): gloss for gloss, alike in named.items() if gloss}


def _row(row: dict[Any, Any], beside: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what the page shows of one quantity: its value, interval and place among others."""
    same = {kind: table[_is_same(table, row)] for kind, table in beside.items()}
    known = pd.notna(row["value"])
    quantity = quantity_like(row["quantity"])
    # A resampled interval without a width is of too few items that all came out alike.
    bounded = known and pd.notna(row["low"]) and pd.notna(row["high"]) and row["low"] < row["high"]
    is_open = bounded and quantity.is_undetermined(row["low"], row["high"])
    unit = f" {row['unit']}" if isinstance(row["unit"], str) and row["unit"] else ""
    below = sum(table["value"].lt(row["value"]).sum() for table in same.values())
    count = sum(table["value"].notna().sum() for table in same.values())
    rank = f"above {below} of {count} others" if count and known else ""
    about = [
        f"{_shown(row['low'])} to {_shown(row['high'])}" if bounded else "",
        f"n {row['n']:,.0f} {quantity.items}".strip() if pd.notna(row["n"]) else "",
    ]
    return {
        "quantity": row["quantity"],
        "group": row["group"],
        "shown": f"{_shown(row['value'])}{unit}" if known else "not defined",
        "interval": "; ".join(filter(None, about)),
        "undetermined": quantity.undetermined if is_open else "",
        "rank": rank,
        "said": f"{row['quantity']}: {_shown(row['value'])}{unit}" + (f", {rank}" if rank else ""),
    } | _strip(row, same, quantity, bounded, is_open)


def _strip(
    row: Mapping[Any, Any],
    same: Mapping[str, pd.DataFrame],
    quantity: Quantity,
    bounded: bool,
    is_open: bool,
) -> dict[str, Any]:
    """Return where on a quantity's axis things stand, in per cent; what is open has no axis."""
    interval = (row["low"], row["high"]) if bounded else ()
    values = [row["value"], *quantity.axis, *interval]
    values += [value for table in same.values() for value in table["value"]]
    finite = np.array(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)

    def at(value: float) -> float:
        return round(100 * float((value - low) / (high - low)), 2) if high > low else 50.0

    own = pd.DataFrame({"model": ["this model"], "value": [row["value"]]})
    dots = [
        {"kind": kind, "at": at(each["value"]), "name": each["model"],
         "shown": _shown(each["value"])}
        for kind, table in [*same.items(), ("own", own)]
        for each in table.dropna(subset=["value"]).to_dict("records")
    ]  # fmt: skip
    return {
        "dots": dots,
        "bar": (at(row["low"]), round(at(row["high"]) - at(row["low"]), 2)) if bounded else None,
        "ends": (f"{low:.3g}", f"{high:.3g}") if high > low and not is_open else None,
        "nothing": None if quantity.nothing is None else at(quantity.nothing),
    }


def _is_same(table: pd.DataFrame, row: Mapping[Any, Any]) -> pd.Series:
    """Tell which rows of others are of the same quantity: conventions have names of their own."""
    key = KEY if "conventions" not in row["quantity"] else KEY[:-1]
    return pd.Series(
        np.logical_and.reduce([(table[name] == row[name]).to_numpy() for name in key]),
        index=table.index,
    )


def _shared(table: pd.DataFrame, rows: pd.DataFrame) -> bool:
    """Whether others have any of the quantities."""
    return any(_is_same(table, row).any() for row in rows.to_dict("records"))


def _shown(value: float) -> str:
    """Return a number with three places: significant ones, or of a share or r after the point."""
    if pd.isna(value):
        return ""
    if 100 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    if value == 0 or 0.001 <= abs(value) < 1:
        return f"{value:.3f}"
    return f"{value:#.3g}".replace("e+", "e")
