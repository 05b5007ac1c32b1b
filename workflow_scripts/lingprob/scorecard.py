"""Our numbers against the published ones: what agrees, what differs, what we cannot compute."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lingprob.tables import SCHEMAS

PAPER_DATASET = "linguistic_inquiry"
NOT_COMPUTED = "not computed at this scale"
# Our value and a note, by row and column as `published.yaml` names them.
Quantities = dict[tuple[str, str], tuple[float, str]]


def compare_morcela(
    published: dict[str, Any],
    linking_functions: pd.DataFrame,
    intergroup_correlation: pd.DataFrame,
    stimuli: dict[str, pd.DataFrame],
    scale: str,
) -> pd.DataFrame:
    """Compare every number of MORCELA's text and Tables 2 to 4; return a `scorecard` table.

    A verdict is `agrees` (within the tolerance), `differs`, or `not computed at this scale`.
    Claims that need no published number (one linking function above another) are rows too.
    """
    ours = morcela_quantities(linking_functions, intergroup_correlation, stimuli)
    numbers = compare_numbers("morcela", published, ours, scale)
    claims = morcela_claims(linking_functions, scale)
    parts = [part for part in (numbers, claims) if not part.empty]
    return pd.concat(parts, ignore_index=True)[SCHEMAS["scorecard"].names]


def compare_leakage(published: dict[str, Any], overlaps: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Compare what the paper on leakage states of its data and overlaps; as `compare_morcela`.

    Args:
        published: the paper's part of `published.yaml`.
        overlaps: an `overlap` table with our overlaps and, where the scale has them, the published.
        scale: of the run.
    """
    numbers = compare_numbers("leakage", published, leakage_quantities(overlaps), scale)
    claims = leakage_claims(overlaps[overlaps["origin"] == "published"], scale)
    parts = [part for part in (numbers, claims) if not part.empty]
    return pd.concat(parts, ignore_index=True)[SCHEMAS["scorecard"].names]


def compare_numbers(
    paper: str, published: dict[str, Any], ours: Quantities, scale: str
) -> pd.DataFrame:
    """Return a `scorecard` table with a row for every number of `published`."""
    rows = []
    for item in published["items"]:
        for row, values in item["rows"].items():
            for column, value, tolerance in zip(
                item["columns"], values, item["tolerance"], strict=True
            ):
                found, note = ours.get((row, column), (None, ""))
                rows.append(
                    {
                        "paper": paper,
                        "item": item["item"],
                        "row": row,
                        "column": column,
                        "published": float(value),
                        "ours": found,
                        "tolerance": float(tolerance),
                        "scale": scale,
                        "note": "; ".join(text for text in (note, item["note"]) if text),
                    }
                )
    numbers = pd.DataFrame(rows)
    numbers["difference"] = numbers["ours"].astype(float) - numbers["published"]
    numbers["verdict"] = [verdict(row) for row in numbers.itertuples()]
    return numbers[SCHEMAS["scorecard"].names]


def verdict(row: Any) -> str:
    """Say whether a number agrees with the published one within its tolerance."""
    if pd.isna(row.ours):
        return NOT_COMPUTED
    return "agrees" if abs(row.difference) <= row.tolerance else "differs"


def morcela_quantities(
    linking_functions: pd.DataFrame,
    intergroup_correlation: pd.DataFrame,
    stimuli: dict[str, pd.DataFrame],
) -> Quantities:
    """Return (our value, note) by (row, column) as `published.yaml` names them.

    Only the paper's data set and each model's default conventions count.
    """
    paper = PAPER_DATASET
    found: Quantities = {}
    if paper in stimuli:
        found[(f"{paper}/sentences", "value")] = (float(len(stimuli[paper])), "")
    fits = linking_functions[
        linking_functions["default_convention"] & (linking_functions["dataset"] == paper)
    ]
    for fit in fits.itertuples():
        row = f"{fit.model}/{fit.linking_function}"
        for column in ("beta", "gamma", "r_cv", "aic", "bic", "sse"):
            found[(row, column)] = (float(getattr(fit, column)), f"{fit.bos}, {fit.unigrams}")
    halves = intergroup_correlation[
        (intergroup_correlation["dataset"] == paper)
        & (intergroup_correlation["definition"] == "equal_halves")
    ]
    for half in halves.itertuples():
        found[(f"{paper}/intergroup_correlation", "r")] = (float(half.r), str(half.description))
    return found


def morcela_claims(linking_functions: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Check the paper's orderings for every model of ours: §4.1, §4.2 and §4.3."""
    fits = linking_functions[linking_functions["default_convention"]]
    rows = []
    for (model, dataset), group in fits.groupby(["model", "dataset"], sort=False):
        by_name = group.set_index("linking_function")
        if "morcela" not in by_name.index:
            continue
        r, morcela = by_name["r_cv"], by_name.loc["morcela"]
        claims = {
            ("§4.1", "r(MORCELA) - r(SLOR) > 0"): r["morcela"] - r["slor"],
            ("§4.1", "r(SLOR) - r(log-probability) > 0"): r["slor"] - r["logprob"],
            ("§4.2", "BIC(MORCELA, beta = 1) - BIC(MORCELA) > 0"): (
                by_name.loc["morcela_beta_1", "bic"] - morcela["bic"]
            ),
            ("§4.3", "gamma > 0"): morcela["gamma"],
            ("§4.3", "1 - beta > 0"): 1 - morcela["beta"],
        }
        simulated = group["rating_source"].iloc[0] == "simulated"
        for (item, claim), value in claims.items():
            rows.append(
                {
                    "paper": "morcela",
                    "item": item,
                    "row": f"{model}/{dataset}",
                    "column": claim,
                    "published": None,
                    "ours": float(value),
                    "difference": None,
                    "tolerance": None,
                    "verdict": "agrees" if value > 0 else "differs",
                    "scale": scale,
                    "note": "simulated ratings" if simulated else "",
                }
            )
    return pd.DataFrame(rows, columns=SCHEMAS["scorecard"].names)


def leakage_quantities(overlaps: pd.DataFrame) -> Quantities:
    """Return (our value, note) by (row, column) as `published.yaml` names them."""
    found: Quantities = {}
    keys = ["corpus", "article_num"]
    lengths = {
        origin: part.drop_duplicates(keys).set_index(keys)["article_len"]
        for origin, part in overlaps.groupby("origin")
    }
    for corpus, passages in lengths["ours"].groupby("corpus"):
        note = "the parts of the material; chapters are not marked" if corpus == "geco" else ""
        found[(str(corpus), "passages")] = (float(len(passages)), note)
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


def leakage_claims(published: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Check the paper's statements against its own tables of longest overlaps: §2.2 and §3.1."""
    rows = []
    for searched, part in published.groupby("searched", sort=False):
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
                claim = f"shortest improbable overlap > 11 tokens, {which}"
                claims["§3.1", claim] = (flagged["overlap_len"].min(), 12, float("inf"))
        for (item, claim), (value, low, high) in claims.items():
            rows.append(
                {
                    "paper": "leakage",
                    "item": item,
                    "row": searched,
                    "column": claim,
                    "published": None,
                    "ours": float(value),
                    "difference": None,
                    "tolerance": None,
                    "verdict": "agrees" if low <= value <= high else "differs",
                    "scale": scale,
                    "note": "from the published table",
                }
            )
    return pd.DataFrame(rows, columns=SCHEMAS["scorecard"].names)
