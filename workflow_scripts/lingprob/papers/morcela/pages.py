"""MORCELA's Tables 2 to 4, ours beside the published values (Tjuatja et al. 2025)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from lingprob.papers.contract import Run, Tables
from lingprob.papers.ladder import without_ladder
from lingprob.papers.morcela.differences import parameter_differences
from lingprob.papers.morcela.fits import default_fits, published_fits

Models = Mapping[str, Mapping[str, Any]]


def tabulate(tables: Tables, run: Run) -> dict[str, pd.DataFrame]:
    """Return Tables 2 to 4 and the differences between models, by name."""
    fits = default_fits(tables["linking_functions"])
    theirs = published_fits(run.published, fits)
    return {
        "table_2": table_2(fits, theirs, run.models),
        "table_3": table_of_criteria(fits, theirs, run.models, 3),
        "table_4": table_of_criteria(fits, theirs, run.models, 4),
        "differences": parameter_differences(
            fits, without_ladder(tables["draws"], run.options.get("ladder", {}))
        ),
    }


def table_2(fits: pd.DataFrame, published: pd.DataFrame, models: Models) -> pd.DataFrame:
    """Beta, gamma and r of MORCELA for each model, ours and published (Table 2)."""
    ours = fits.loc[
        fits["linking_function"] == "morcela",
        ["dataset", "rating_source", "model", "bos", "unigrams"]
        + ["beta", "beta_low", "beta_high", "gamma", "gamma_low", "gamma_high"]
        + ["r_cv", "r_cv_low", "r_cv_high", "n", "scale"],
    ]
    theirs = published.loc[
        published["linking_function"] == "morcela", ["model", "dataset", "beta", "gamma", "r_cv"]
    ]
    return _side_by_side(ours, theirs, ["model", "dataset"], models).drop(columns="place")


def table_of_criteria(
    fits: pd.DataFrame, published: pd.DataFrame, models: Models, number: int
) -> pd.DataFrame:
    """AIC, BIC and SSE by linking function, ours and published, by BIC within a model.

    Table 3 has the OPT models, Table 4 the Pythia models; a model of ours that is neither stands
    in Table 3.
    """
    family = {3: "opt", 4: "pythia"}[number]
    shown = {"slor", "morcela", "morcela_beta_1", "morcela_gamma_0"}

    def belongs(model: str) -> bool:
        own = models[model]["family"]
        return own == family or (number == 3 and own != "pythia")

    ours = fits.loc[
        fits["linking_function"].isin(shown) & fits["model"].map(belongs),
        ["dataset", "rating_source", "model", "bos", "unigrams", "linking_function"]
        + ["aic", "bic", "sse", "predictors", "n", "scale"],
    ]
    keys = ["model", "dataset", "linking_function"]
    theirs = published.loc[published["model"].map(belongs), [*keys, "aic", "bic", "sse"]]
    table = _side_by_side(ours, theirs, keys, models)
    order = table["bic"].fillna(table["bic_published"])
    return (
        table.assign(order=order)
        .sort_values(["place", "dataset", "order"], kind="stable")
        .drop(columns=["order", "place"])
        .reset_index(drop=True)
    )


def _side_by_side(
    ours: pd.DataFrame, theirs: pd.DataFrame, keys: list[str], models: Models
) -> pd.DataFrame:
    table = ours.merge(theirs, on=keys, how="outer", suffixes=("", "_published"))
    published = [column for column in table.columns if column.endswith("_published")]
    compared = [name for column in published for name in (column[: -len("_published")], column)]
    first = [*keys, *compared]
    table = table[first + [column for column in table.columns if column not in first]]
    place = {model: number for number, model in enumerate(models)}
    table = table.assign(place=table["model"].map(place))
    return table.sort_values("place", kind="stable").reset_index(drop=True)
