"""What a run's tables and the papers say of every model, a quantity a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.papers.contract import Published
from lingprob.profiles.rows import COLUMNS, SOURCES, TABLES, profile_rows, published_rows
from lingprob.tables import read_table

Models = Mapping[str, Mapping[str, Any]]
PUBLISHED_FITS = "Natural Stories, mean times (published surprisals)"


def rows_by_model(files: Mapping[str, Sequence[str | Path]]) -> pd.DataFrame:
    """Return `profiles.rows.COLUMNS` of every model that the tables have, with its name as `model`.

    Args:
        files: of each of `profiles.rows.TABLES`' names, those that are there.

    Raises LingprobError for a file that is no such table.
    """
    named = [
        read_table(path, TABLES[name][0], columns=["model"])["model"]
        for name, paths in files.items()
        for path in paths
    ]
    models = pd.concat(named).unique() if named else []
    found = [profile_rows(str(model), files).assign(model=model) for model in models]
    nothing = pd.DataFrame(columns=[*COLUMNS, *SOURCES, "model"])
    return pd.concat(found, ignore_index=True) if found else nothing


def every_row(
    files: Mapping[str, Sequence[str | Path]], fits: Sequence[str | Path], published: Published
) -> pd.DataFrame:
    """Return rows of models, those that MORCELA prints below them; `kind` is ours or published.

    Args:
        files: as for `rows_by_model`.
        fits: `published_delta` tables, whose rows are added (`published_fits`).
        published: MORCELA's numbers.
    """
    printed = [table.assign(model=name) for name, table in published_rows(published).items()]
    theirs = [table.assign(kind="published") for table in printed]
    more = [published_fits(read_table(path, "published_delta")) for path in fits]
    ours = rows_by_model(files).assign(kind="ours")
    return pd.concat([ours, *theirs, *more], ignore_index=True)


def published_fits(fits: pd.DataFrame) -> pd.DataFrame:
    """Return fits to Natural Stories of models with published surprisals, ours and in print.

    Args:
        fits: a `published_delta` table.

    Returns:
        Rows as of `every_row`, the convention of the fit as their group.
    """
    common = {"paper": "reading", "dataset": PUBLISHED_FITS, "quantity": "ΔLogLik", "unit": "nats"}
    shared = {name: fits[name] for name in ("model", "n", "scale")} | {"group": fits["description"]}
    ours = {"value": fits["delta"], "low": fits["delta_low"], "high": fits["delta_high"]}
    frames = [
        pd.DataFrame({**shared, **ours}).assign(kind="ours"),
        pd.DataFrame({**shared, "value": fits["published_delta"]}).assign(kind="published"),
    ]
    return pd.concat(frames, ignore_index=True).assign(**common).dropna(subset=["value"])


def titled(frame: pd.DataFrame, models: Models, titles: Mapping[str, str]) -> pd.DataFrame:
    """Return rows with what people call their model and data set, models in families and by size.

    Args:
        frame: with columns model and dataset.
        models: `title`, `group`, `parameters` and `group_colour` of each model
            (`palette.describe_models`).
        titles: of data sets, by name.

    Returns:
        The rows with `title`, `family` (with its fine-tuning), `colour` and `parameters` (NaN where
        nobody knows) of the model and `data`, the data set's title.
    """
    entries = [models.get(name, {"title": name}) for name in frame["model"]]
    named = frame.assign(
        title=[entry["title"] for entry in entries],
        family=[entry.get("group", "") for entry in entries],
        colour=[entry.get("group_colour", "#666666") for entry in entries],
        parameters=np.array([entry.get("parameters") or np.nan for entry in entries], dtype=float),
        data=[titles.get(name, name) for name in frame["dataset"]],
    )
    families = {family: place for place, family in enumerate(named["family"].unique())}
    order = named.assign(place=named["family"].map(families))
    return order.sort_values(["place", "parameters"], kind="stable").drop(columns="place")
