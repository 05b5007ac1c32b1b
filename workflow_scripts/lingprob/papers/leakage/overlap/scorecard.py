"""What the paper on leakage states of its data and overlaps, against ours."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.referee.numbers import Quantities, claim, make_scorecard


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare what the paper on leakage states of its data and overlaps (§2, §3.1).

    `overlaps` are ours and, where the scale has them, the published ones; `chunks` those that
    models are trained on. Returns a `scorecard`.
    """
    overlaps = tables["overlaps"]
    claims = overlap_claims(published, overlaps[overlaps["origin"] == "published"], run.scale)
    ours = overlap_quantities(overlaps) | chunk_quantities(tables["chunks"])
    return make_scorecard(published, ours, claims, run.scale)


def chunk_quantities(chunks: pd.DataFrame) -> Quantities:
    """Return how many chunks there are, are leakage-free and were sampled, by corpus (§3.1)."""
    found: Quantities = {}
    for corpus, part in chunks.groupby("searched"):
        numbers = {
            "chunks": len(part),
            "leakage_free": part["leakage_free"].sum(),
            "selected": part["selected"].sum(),
            "billion_tokens": part.loc[part["selected"], "n_tokens"].sum() / 1e9,
        }
        found |= {(str(corpus), name): (float(value), "") for name, value in numbers.items()}
    return found


def overlap_quantities(overlaps: pd.DataFrame) -> Quantities:
    """Return (our value, note) by (row, column) as `published.yaml` names them."""
    found: Quantities = {}
    keys = ["corpus", "article_num"]
    lengths = {
        origin: part.drop_duplicates(keys).set_index(keys)["article_len"]
        for origin, part in overlaps.groupby("origin")
    }
    for corpus, passages in lengths["ours"].groupby("corpus"):
        found[(str(corpus), "passages")] = (float(len(passages)), "")
    if "published" not in lengths:
        return found
    theirs = lengths["published"]
    same = (lengths["ours"] == theirs.reindex(lengths["ours"].index)).groupby("corpus").sum()
    for corpus, count in same.items():
        found[(str(corpus), "same_length")] = (float(count), "")
    total = float(theirs.sum() + len(theirs) - 1)
    found[("published/fine_tuning_sequence", "tokens")] = (total, "")
    published = overlaps[overlaps["origin"] == "published"]
    for searched, part in published.groupby("searched"):
        agreeing = (part["below_threshold"] == part["below_threshold_compat"]).sum()
        note = f"{part['below_threshold_compat'].sum()} flagged as published, "
        note += f"{part['below_threshold_corrected'].sum()} with both sides in nats"
        found[(str(searched), "same_flag")] = (float(agreeing), note)
    return found


def overlap_claims(
    published: dict[str, Any], overlaps: pd.DataFrame, scale: str
) -> list[dict[str, Any]]:
    """Check the paper's statements against its own tables of longest overlaps: §2.2 and §3.1."""
    rows: list[dict[str, Any]] = []
    for searched, part in overlaps.groupby("searched", sort=False):
        others = part[part["corpus"] != "provo"]
        long = part[part["overlap_len"] > 100]
        claims: dict[tuple[str, str], tuple[float, float, float]] = {
            ("§2.2", "passages found whole outside Provo = 0"): (
                (others["overlap_len"] == others["article_len"]).sum(), 0, 0
            ),
            ("§2.2", "frequency of overlaps above 100 tokens <= 2"): (
                long["overlap_freq"].max() if len(long) else 0, 0, 2
            ),
        }  # fmt: skip
        if searched == "the_pile":
            for convention, which in (
                ("compat", "as published"),
                ("corrected", "both sides in nats"),
            ):
                flagged = part[part[f"below_threshold_{convention}"].astype(bool)]
                text = f"shortest improbable overlap > 11 tokens, {which}"
                claims["§3.1", text] = (flagged["overlap_len"].min(), 12, float("inf"))
        note = "from the published table"
        rows += [
            claim(
                published, item, searched, text, value, low <= value <= high, scale=scale, note=note
            )
            for (item, text), (value, low, high) in claims.items()
        ]
    return rows
