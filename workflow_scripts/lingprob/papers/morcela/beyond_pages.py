"""Tables beyond the paper: residuals by phenomenon, what is left out, transfer, other shapes."""

from __future__ import annotations

import pandas as pd
from scipy.stats import t as student

from lingprob.papers.contract import Tables

# Whose residuals are shown: what the paper compares.
SHOWN = ("slor", "morcela")


def tabulate_beyond(tables: Tables) -> dict[str, pd.DataFrame]:
    """Return `residuals`, and `validation`, `transfer`, `shapes` and `ordinal` as they are."""
    return {
        "residuals": residuals_by_phenomenon(tables["predictions"], tables["stimuli"]),
        **{name: tables[name] for name in ("validation", "transfer", "shapes", "ordinal")},
    }


def residuals_by_phenomenon(predicted: pd.DataFrame, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Return mean residuals (rating less prediction) of each phenomenon, with examples.

    Args:
        predicted: `predicted_ratings` of rated data sets.
        stimuli: of them, with a column `dataset`.

    A row a model, data set, linking function and phenomenon (paradigm where there is none): n, the
    mean residual and its 95% t interval over sentences, root mean square, how many predictions lie
    outside their intervals, and the sentences that people rate highest and lowest against them.
    Those with the largest mean come first.
    """
    within = predicted[
        (predicted["dataset"] == predicted["fitted_to"]) & predicted["linking_function"].isin(SHOWN)
    ]
    named = stimuli[["dataset", "item_id"]].assign(
        phenomenon=stimuli["phenomenon"].fillna(stimuli["paradigm"]).fillna("(none)")
    )
    rows = within.merge(named, on=["dataset", "item_id"], validate="many_to_one")
    keys = ["model", "dataset", "rating_source", "linking_function", "phenomenon"]
    found = [
        dict(zip(keys, key, strict=True)) | _summary(group)
        for key, group in rows.groupby(keys, sort=False)
    ]
    columns = [*keys, "n", "mean_residual", "mean_residual_low", "mean_residual_high", "rms",
               "outside", "rated_above", "rated_below"]  # fmt: skip
    table = pd.DataFrame(found, columns=columns)
    order = table["mean_residual"].abs().sort_values(ascending=False).index
    return table.loc[order].sort_values(keys[:-1], kind="stable").reset_index(drop=True)


def _summary(group: pd.DataFrame) -> dict[str, object]:
    residual, n = group["residual"], len(group)
    half = student.ppf(0.975, n - 1) * residual.sem() if n > 1 else float("nan")
    outside = ~group["rating"].between(group["rating_low"], group["rating_high"])
    return {
        "n": n,
        "mean_residual": residual.mean(),
        "mean_residual_low": residual.mean() - half,
        "mean_residual_high": residual.mean() + half,
        "rms": float((residual**2).mean() ** 0.5),
        "outside": int(outside.sum()),
        "rated_above": _example(group.loc[residual.idxmax()]),
        "rated_below": _example(group.loc[residual.idxmin()]),
    }


def _example(row: pd.Series) -> str:
    return f"{row['text']} ({row['rating']:.2f}, predicted {row['predicted']:.2f})"
