"""Reading times: the published fits, Table 2's counts, and the inverse scaling effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.papers.leakage.reading.analysis import trend
from lingprob.referee.numbers import Quantities, claim, make_scorecard


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare what the literature states of surprisal and reading times with ours.

    Takes `deltas`, `counts` and, where the scale reproduces the published fits, `published`;
    returns a `scorecard`.
    """
    fits = tables.get("published")
    parameters = {name: model["parameters"] for name, model in run.models.items()}
    claims = reading_claims(published, tables["deltas"], fits, parameters, run.scale)
    return make_scorecard(published, reading_quantities(tables["counts"], fits), claims, run.scale)


def reading_quantities(counts: pd.DataFrame, fits: pd.DataFrame | None) -> Quantities:
    """Return (our value, note) by (row, column) as `published/reading.yaml` names them."""
    found: Quantities = {}
    for row in counts.itertuples():
        found[(str(row.dataset), str(row.fate))] = (float(row.rows), "")
    if fits is None:
        return found
    for fit in fits[fits["convention"] == "compat"].itertuples():
        found[(str(fit.model), "delta")] = (float(fit.delta), str(fit.description))
        found[(str(fit.model), "perplexity")] = (float(fit.word_perplexity), "")
        found[(str(fit.model), "n")] = (float(fit.n), "")
    return found


def reading_claims(
    published: dict[str, Any],
    deltas: pd.DataFrame,
    fits: pd.DataFrame | None,
    parameters: Mapping[str, int | None],
    scale: str,
) -> list[dict[str, Any]]:
    """Check that ΔLogLik is positive, and falls as models grow, where there are three or more."""
    rows: list[dict[str, Any]] = []
    for (dataset, source), part in deltas.groupby(["dataset", "rt_source"], sort=False):
        note = "simulated reading times" if source == "simulated" else ""
        for row in part.itertuples():
            text = "ΔLogLik of surprisal > 0"
            rows.append(
                claim(
                    published, "§3.1", f"{row.model}/{dataset}", text, row.delta, row.delta > 0,
                    scale=scale, note=note,
                )
            )  # fmt: skip
        groups = part.groupby(["context", "corrected"], sort=False, dropna=False)
        for (context, corrected), alike in groups:
            name = f"{dataset}, {context} context"
            kinds = part.loc[part["context"] == context, "corrected"].nunique(dropna=False)
            if pd.notna(corrected) and (context == "imported" or kinds > 1):
                name += ", corrected" if corrected else ", uncorrected"
            rows += _falls(published, name, alike, parameters, scale)
    if fits is not None:
        own = fits.groupby("model")["convention"].transform(lambda names: "compat" in set(names))
        for convention, part in fits[own].groupby("convention", sort=False):
            name = f"natural_stories means, {convention}"
            rows += _falls(published, name, part, parameters, scale)
    return rows


def _falls(
    published: dict[str, Any],
    name: str,
    part: pd.DataFrame,
    parameters: Mapping[str, int | None],
    scale: str,
) -> list[dict[str, Any]]:
    sized = part.assign(parameters=part["model"].map(parameters).astype(float))
    found, unknown = trend(sized, "parameters"), int(sized["parameters"].isna().sum())
    slope = found["slope"]
    if pd.isna(slope):
        return []
    text = "slope of ΔLogLik on log10 parameters < 0"
    note = f"{len(part) - unknown} models, r = {found['r']:.2f}, p = {found['p']:.2g}"
    note += f"; {unknown} of unknown size left out" if unknown else ""
    return [claim(published, "§3.2", name, text, slope, slope < 0, scale=scale, note=note)]
