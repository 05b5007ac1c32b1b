"""A certificate as one page that needs nothing else: the verdicts, and the gravest overlaps."""

from __future__ import annotations

from typing import Any

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup, escape

from lingprob.certificate.chance import ABSENT, CHANCE, OPEN, PART, VERDICTS, WHOLE
from lingprob.report import PAGE, warnings_of

SHOWN = 100
TONES = {WHOLE: "no", PART: "no", CHANCE: "yes", ABSENT: "yes", OPEN: "open"}
STYLE = (
    PAGE
    + """
body { max-width: 62rem }
.wide { overflow-x: auto } .wide td:first-child { min-width: 8em }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .5rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
td:first-child { overflow-wrap: anywhere }
.text { margin: .7rem 0; padding: .6rem .8rem; background: var(--panel);
  border: 1px solid var(--line); border-radius: .4rem; overflow-wrap: anywhere }
.text p { margin: .25rem 0 }
.verdict { display: inline-block; margin: 0 .3rem .2rem 0; padding: .05em .55em;
  border-radius: 1em; font-weight: 600; font-size: .85rem; white-space: nowrap }
.no { color: var(--no); background: var(--no-ground) }
.yes { color: var(--yes); background: var(--yes-ground) }
.open { color: var(--open); background: var(--open-ground) }
mark { color: inherit; background: var(--open-ground); border-radius: .2em; padding: 0 .15em }
"""
)
TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title><style>{{ style|safe }}</style></head><body>
<h1>{{ title }}</h1>
{{ warnings|safe }}
<p class="soft">The longest sequence of tokens that {{ texts }} shares with each corpus,
exactly. An overlap is more than chance where a corpus of this size would have its words with a
chance below .05 under an n-gram model, corrected for the number of texts (Holm). A model of a small
corpus knows few set phrases, so that short overlaps may seem less of a chance than they are.
{%- if csv %} All texts and corpora: <a href="{{ csv }}">{{ csv }}</a>.{% endif %}</p>
<h2>By corpus</h2>
<div class="wide"><table><thead><tr><th>corpus</th>
{%- for name in verdicts %}<th class="number">{{ name }}</th>{% endfor %}
<th class="number">median overlap</th><th class="number">longest</th><th>chance by</th></tr></thead>
<tbody>
{%- for row in corpora %}
<tr><td>{{ row.corpus }}</td>
{%- for count in row.counts %}<td class="number">{{ count }}</td>{% endfor %}
<td class="number">{{ row.median }}</td><td class="number">{{ row.longest }}</td>
<td>{{ row.ngrams }}</td></tr>
{%- endfor %}
</tbody></table></div>
<p class="soft">Texts by verdict; overlaps in tokens.</p>
<table><tbody>
{%- for name, meaning, tone in meanings %}
<tr><td><span class="verdict {{ tone }}">{{ name }}</span> {{ meaning }}</td></tr>
{%- endfor %}
</tbody></table>
<h2>The {{ shown|length }} gravest of {{ rows }} overlaps</h2>
{%- for row in shown %}
<article class="text">
<p><span class="verdict {{ row.tone }}">{{ row.verdict }}</span>
<span class="soft">text {{ row.id }} in {{ row.corpus }}</span></p>
<p>{{ row.text }}</p>
<p class="soft">{{ row.facts }}</p>
{%- if row.place %}
<p class="soft">{{ row.place }}</p>
<p>&hellip; {{ row.before }}<mark>{{ row.overlap }}</mark>{{ row.after }} &hellip;</p>
{%- endif %}
</article>
{%- endfor %}
</body></html>
"""


def certificate_page(table: pd.DataFrame, title: str, csv: str = "") -> str:
    """Return a certificate as a complete HTML page.

    Args:
        table: as `certify` returns it.
        title: of the texts, for people.
        csv: name of the file that has the table, "" without one.
    """
    gravest, n = by_gravity(table), table["text_id"].nunique()
    return (
        Environment(autoescape=True)
        .from_string(TEMPLATE)
        .render(
            title=f"Certificate: {title}",
            style=STYLE,
            warnings=warnings_of(table),
            texts=f"each of {n:,} texts" if n > 1 else "the text",
            csv=csv,
            verdicts=VERDICTS,
            corpora=[_corpus(name, part) for name, part in table.groupby("corpus", sort=False)],
            meanings=[(name, meaning, TONES[name]) for name, meaning in VERDICTS.items()],
            rows=f"{len(table):,}",
            shown=[_text(row) for row in gravest.head(SHOWN).to_dict("records")],
        )
    )


def by_gravity(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the least chance first, then those with the longest overlaps."""
    keys = table.assign(level=table["chance_level"].fillna(1.0))
    order = keys.sort_values(["level", "overlap_tokens"], ascending=[True, False], kind="stable")
    return table.loc[order.index]


def _corpus(name: str, part: pd.DataFrame) -> dict[str, Any]:
    """Return how often each verdict is, and how long the overlaps are."""
    counts = part["verdict"].value_counts()
    return {
        "corpus": name,
        "counts": [f"{counts.get(verdict, 0):,}" for verdict in VERDICTS],
        "median": f"{part['overlap_tokens'].median():g}",
        "longest": f"{part['overlap_tokens'].max():,}",
        "ngrams": part["ngrams"].iloc[0],
    }


def _text(row: dict[str, Any]) -> dict[str, Any]:
    """Return a text beside its overlap, in words."""
    facts = [f"{row['overlap_tokens']:,} of {row['n_tokens']:,} tokens"]
    if row["occurrences"]:
        facts.append("once" if row["occurrences"] == 1 else f"{row['occurrences']:,} times")
    if pd.notna(row["chance_level"]):
        facts.append(
            f"chance level {in_words(row['chance_level'])}, "
            f"{in_words(row['chance_level_holm'])} among all texts"
        )
    place = f"{row['file']}, document {row['document']:,}, from token {row['first_token']:,} on:"
    return {
        "id": row["text_id"],
        "corpus": row["corpus"],
        "verdict": row["verdict"],
        "tone": TONES[row["verdict"]],
        "text": marked(row["text"], row["overlap_text"]),
        "facts": "; ".join(facts) + ".",
        "place": place if row["document"] else "",
        "before": row["before"],
        "overlap": row["overlap_text"],
        "after": row["after"],
    }


def in_words(level: float) -> str:
    """Return a chance level with two digits, or as small as nobody needs to know exactly."""
    return "below 1e-12" if level < 1e-12 else f"{level:.2g}"


def marked(text: str, overlap: str) -> Markup:
    """Return a text as HTML with the overlap marked, where the text has it letter by letter."""
    before, found, after = text.partition(overlap.strip()) if overlap.strip() else (text, "", "")
    if not found:
        return escape(text)
    return Markup("{}<mark>{}</mark>{}").format(before, found, after)
