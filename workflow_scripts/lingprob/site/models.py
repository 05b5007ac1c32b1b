"""What the page of models shows: each model's main numbers side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.site.cards import interval, shown
from lingprob.site.rows import PUBLISHED_FITS

# A column of the table for each data set that they were computed for.
MAIN = (
    "r of MORCELA with ratings",
    "accuracy on minimal pairs",
    "ΔLogLik",
    "accuracy without a prefix",
)


def model_table(rows: pd.DataFrame, results: Path) -> dict[str, Any]:
    """Return the table of models: `columns` (quantity and data set), and a row a model.

    Args:
        rows: `rows.titled` of every model.
        results: the folder of results, whose profiles of models are linked where they are there.

    Returns:
        Each row has the model's name, title, family, parameters, its profile's path or "", and its
        `values` in the order of the columns: text and interval, None where there is none.
    """
    ours = rows[(rows["kind"] == "ours") & rows["quantity"].isin(MAIN) & rows["value"].notna()]
    ours = ours[ours["dataset"] != PUBLISHED_FITS]
    # Of several groups of a quantity (BOS policies, phenomena) the first is the default or whole.
    first = ours.drop_duplicates(["model", "quantity", "data"])
    columns = [
        (quantity, data)
        for quantity in MAIN
        for data in first.loc[first["quantity"] == quantity, "data"].unique()
    ]
    return {"columns": columns, "rows": [_row(of, columns, results) for _, of in
                                         first.groupby("model", sort=False)]}  # fmt: skip


def own_rows(rows: pd.DataFrame, own: dict[str, list[str]]) -> list[dict[Any, Any]]:
    """Return the rows that are of the user's own models or data sets.

    Args:
        rows: `rows.titled` of every model.
        own: names of the user's `models` and `datasets`.
    """
    is_own = rows["model"].isin(own["models"]) | rows["dataset"].isin(own["datasets"])
    return rows[is_own & (rows["kind"] == "ours") & rows["value"].notna()].to_dict("records")


def _row(of_model: pd.DataFrame, columns: list[tuple[str, str]], results: Path) -> dict[str, Any]:
    first = of_model.iloc[0]
    by_column = of_model.set_index(["quantity", "data"])
    profile = f"profiles/{first['model']}.html"
    values = (by_column.loc[[column]].iloc[0] if column in by_column.index else None
              for column in columns)  # fmt: skip
    return {
        **{name: first[name] for name in ("model", "title", "family", "parameters")},
        "profile": profile if (results / profile).is_file() else "",
        "values": [
            None if row is None else (shown(float(row["value"])), interval(row.to_dict()))
            for row in values
        ],
    }
