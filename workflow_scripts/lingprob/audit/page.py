"""An audit as one page that needs nothing else: what is wrong, and the worst pairs."""

from __future__ import annotations

import math
from difflib import SequenceMatcher
from typing import Any

import pandas as pd
from jinja2 import Environment
from markupsafe import Markup, escape

from lingprob.audit.problems import PROBLEMS
from lingprob.regression.proportions import accuracies
from lingprob.report import PAGE, warnings_of

SHOWN = 100
STYLE = (
    PAGE
    + """
body { max-width: 62rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .5rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
td:first-child { overflow-wrap: anywhere }
.pair { margin: .7rem 0; padding: .6rem .8rem; background: var(--panel);
  border: 1px solid var(--line); border-radius: .4rem; overflow-wrap: anywhere }
.pair p { margin: .25rem 0 }
.problem { display: inline-block; margin: 0 .3rem .2rem 0; padding: .05em .55em;
  border-radius: 1em; font-weight: 600; font-size: .85rem; white-space: nowrap }
.severe { color: var(--no); background: var(--no-ground) }
.mild { color: var(--open); background: var(--open-ground) }
.yes { color: var(--yes); font-weight: 600 } .no { color: var(--no); font-weight: 600 }
mark { color: inherit; background: var(--open-ground); border-radius: .2em; padding: 0 .15em }
"""
)
# From this weight on a problem alone makes a pair unfit.
SEVERE = 4
TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title><style>{{ style|safe }}</style></head><body>
<h1>{{ title }}</h1>
{{ warnings|safe }}
<p class="soft">{{ n }} pairs, scored by {{ model }} (scale {{ scale }}). {{ clean }} have no
problem. All pairs and measures: <a href="{{ csv }}">{{ csv }}</a>.</p>
<h2>Which sentence is preferred</h2>
<p class="soft">Accuracy: the share of pairs whose grammatical sentence is preferred. Flips:
verdicts other than those of the first row.</p>
<table><thead><tr><th>convention</th><th class="number">accuracy</th>
<th class="number">95% interval</th><th class="number">flips</th></tr></thead><tbody>
{%- for row in conventions %}
<tr><td>{{ row.name }}</td><td class="number">{{ row.accuracy }}</td>
<td class="number">{{ row.interval }}</td><td class="number">{{ row.flips }}</td></tr>
{%- endfor %}
</tbody></table>
<h2>Problems</h2>
<table><thead><tr><th>problem</th><th class="number">pairs</th></tr></thead><tbody>
{%- for row in problems %}
<tr><td><span class="problem {{ row.tone }}">{{ row.name }}</span> {{ row.meaning }}</td>
<td class="number">{{ row.count }}</td></tr>
{%- endfor %}
</tbody></table>
{%- if worst %}
<h2>The {{ worst|length }} worst pairs</h2>
{%- for pair in worst %}
<article class="pair">
<p>{% for name, tone in pair.problems %}<span class="problem {{ tone }}">{{ name }}</span>
{% endfor %}<span class="soft">{{ pair.id }}</span></p>
<p>{{ pair.good }}</p>
<p>*{{ pair.bad }}</p>
<p class="soft">{% if pair.preferred %}<span class="yes">grammatical one preferred</span>
{%- else %}<span class="no">ungrammatical one preferred</span>{% endif %} {{ pair.facts }}</p>
</article>
{%- endfor %}
{%- endif %}
</body></html>
"""


def audit_page(table: pd.DataFrame, preferred: pd.DataFrame, title: str, model: str) -> str:
    """Return the audit of one data set as a complete HTML page.

    Args:
        table: the `audit` table.
        preferred: of each pair under each convention, as `audit` gives it.
        title, model: of the data set and of the model, for people.
    """
    flagged = table[table["problems"] != ""]
    return (
        Environment(autoescape=True)
        .from_string(TEMPLATE)
        .render(
            title=f"Audit: {title}",
            style=STYLE,
            warnings=warnings_of(table),
            n=f"{len(table):,}",
            clean=f"{len(table) - len(flagged):,}",
            model=model,
            scale=table["scale"].iloc[0],
            csv=f"{table['dataset'].iloc[0]}.csv",
            conventions=[_convention(preferred, name) for name in preferred],
            problems=_problems(table),
            worst=[_pair(row) for row in flagged.head(SHOWN).to_dict("records")],
        )
    )


def _convention(preferred: pd.DataFrame, name: str) -> dict[str, str]:
    """Return how often a convention prefers the grammatical sentence, and how often it flips."""
    known = preferred[name].notna()
    right = preferred.loc[known, name].astype(bool)
    found = accuracies(right, pd.Series(name, right.index)).loc[name]
    default = preferred.columns[0]
    flips = int((known & (preferred[name] != preferred[default])).sum())
    return {
        "name": name,
        "accuracy": f"{found['accuracy']:.1%}",
        "interval": f"{found['accuracy_low']:.1%} to {found['accuracy_high']:.1%}",
        "flips": "" if name == default else f"{flips:,}",
    }


def _problems(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return each problem that some pair has, with the number of pairs."""
    counts = table["problems"].str.split("; ").explode().value_counts()
    return [
        {
            "name": name,
            "tone": _tone(name),
            "meaning": problem.meaning,
            "count": f"{counts[name]:,}",
        }
        for name, problem in PROBLEMS.items()
        if name in counts
    ]


def _tone(name: str) -> str:
    return "severe" if PROBLEMS[name].weight >= SEVERE else "mild"


def _pair(row: dict[str, Any]) -> dict[str, Any]:
    """Return a pair as text, with the words marked in which its sentences differ."""
    good, bad = marked(row["good"], row["bad"])
    place = [row["paradigm"] or row["phenomenon"], row["pair_id"]]
    return {
        "id": ", ".join(str(part) for part in place if isinstance(part, str)),
        "good": good,
        "bad": bad,
        "preferred": row["preferred"],
        "problems": [(name, _tone(name)) for name in row["problems"].split("; ")],
        "facts": _facts(row),
    }


def _facts(row: dict[str, Any]) -> str:
    """Return the measures that a reader wants beside a pair, in words."""
    facts = [f"by {row['logprob_difference']:+.1f} nats"]
    if row["flips"]:
        facts.append(f"not so by {row['flips']}")
    facts.append(f"words edited: {row['levenshtein_words']}")
    for key, said in (
        ("cosine_distance", "cosine distance {:.3f}"),
        ("mismatch", "{:+.1f} SD from the line of the others"),
        ("unigram_difference", "frequency {:+.1f} nats"),
    ):
        if row[key] is not None and not math.isnan(row[key]):
            facts.append(said.format(row[key]))
    if row["n_tokens_good"] != row["n_tokens_bad"]:
        facts.append(f"{row['n_tokens_good']:.0f} and {row['n_tokens_bad']:.0f} tokens")
    if isinstance(row["corpus"], str):
        shares = f"{row['leaked_good']:.0%} and {row['leaked_bad']:.0%}"
        facts.append(f"longest overlaps with {row['corpus']}: {shares}")
    if isinstance(row["repeats"], str):
        facts.append(f"as pair {row['repeats']}")
    return "; ".join(facts).replace("-", "\N{MINUS SIGN}") + "."


def marked(good: str, bad: str) -> tuple[Markup, Markup]:
    """Return two sentences as HTML, with the words marked that only one of them has."""
    words = good.split(), bad.split()
    found: tuple[list[Markup], list[Markup]] = ([], [])
    for kind, *ends in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate((ends[:2], ends[2:])):
            text = escape(" ".join(words[side][start:end]))
            if text:
                found[side].append(
                    text if kind == "equal" else Markup("<mark>{}</mark>").format(text)
                )
    return Markup(" ").join(found[0]), Markup(" ").join(found[1])
