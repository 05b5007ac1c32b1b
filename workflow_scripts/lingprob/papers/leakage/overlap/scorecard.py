"""What the paper on leakage states of its data and overlaps, against ours."""

from __future__ import annotations

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.papers.leakage.overlap.analysis import one_per_passage
from lingprob.papers.leakage.overlap.claims import PUBLISHED_NAMES, STATISTICS
from lingprob.scorecard.comparison import Quantities, compare_numbers, judge_claims, make_scorecard
from lingprob.scorecard.verdicts import Estimate

WINDOW = 2048  # tokens of an example


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare what the paper on leakage states of its data and overlaps (§2, §3.1).

    `overlaps` are ours and, where the scale has them, the published ones; `chunks` those that
    models are trained on. Returns a `scorecard`.
    """
    claims = judge_claims(published, STATISTICS, tables, run)
    ours = overlap_quantities(tables["overlaps"]) | chunk_quantities(tables["chunks"])
    return make_scorecard(claims + compare_numbers(published, ours, run.scale))


def chunk_quantities(chunks: pd.DataFrame) -> Quantities:
    """Return how many chunks there are, are leakage-free and were sampled, by corpus (§3.1)."""
    found: Quantities = {}
    for corpus, part in chunks.groupby("searched"):
        numbers = {
            "chunks": len(part),
            "all_billion_tokens": part["n_tokens"].sum() / 1e9,
            "leakage_free": part["leakage_free"].sum(),
            "selected": part["selected"].sum(),
            "billion_tokens": part.loc[part["selected"], "n_tokens"].sum() / 1e9,
        }
        found |= {(str(corpus), key): Estimate.exact(float(n)) for key, n in numbers.items()}
    return found


def overlap_quantities(overlaps: pd.DataFrame) -> Quantities:
    """Return our numbers, all exact, by (row, column) as `published/overlap.yaml` names them."""
    keys = ["corpus", "article_num"]
    lengths = {
        origin: part.drop_duplicates(keys).set_index(keys)["article_len"]
        for origin, part in overlaps.groupby("origin")
    }
    found = {}
    for corpus, passages in lengths["ours"].groupby("corpus"):
        found[(str(corpus), "passages")] = float(len(passages))
        found[(str(corpus), "tokens")] = float(passages.sum())
    found |= _longest(overlaps)
    if "published" in lengths:
        theirs = lengths["published"]
        same = (lengths["ours"] == theirs.reindex(lengths["ours"].index)).groupby("corpus").sum()
        found |= {(str(corpus), "same_length"): float(count) for corpus, count in same.items()}
        total = float(theirs.sum() + len(theirs) - 1)
        found[("published/fine_tuning_sequence", "tokens")] = total
        found[("published/fine_tuning_sequence", "examples")] = total // WINDOW
    exact = {place: Estimate.exact(value) for place, value in found.items()}
    return exact | _flags(overlaps[overlaps["origin"] == "published"])


def _longest(overlaps: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the longest overlaps with the paper's own corpora, where a run searched them."""
    ours = overlaps[overlaps["origin"] == "ours"]
    found = {}
    for searched, name in PUBLISHED_NAMES.items():
        passages = one_per_passage(ours[ours["searched"] == searched])
        for corpus, part in passages.groupby("corpus"):
            row = f"{name}/{corpus}"
            found[(row, "median_overlap")] = float(part["overlap_len"].median())
            found[(row, "longest_overlap")] = float(part["overlap_len"].max())
            found[(row, "highest_frequency")] = float(part["overlap_freq"].max())
    return found


def _flags(published: pd.DataFrame) -> Quantities:
    found: Quantities = {}
    for searched, part in published.groupby("searched"):
        agreeing = (part["below_threshold"] == part["below_threshold_compat"]).sum()
        flagged = float(part["below_threshold_compat"].sum())
        note = f"{part['below_threshold_corrected'].sum()} with both sides in nats"
        found[(str(searched), "same_flag")] = Estimate.exact(float(agreeing))
        found[(str(searched), "flagged")] = Estimate.exact(flagged, note)
    return found
