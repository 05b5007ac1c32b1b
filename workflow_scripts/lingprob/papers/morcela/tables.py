"""Make MORCELA's Tables 2 to 4 with the published values, and differences between models."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lingprob.papers.run import Published, Run, Tables, make_each

Models = Mapping[str, Mapping[str, Any]]
PAPER_DATASET = "linguistic_inquiry"
# The row of the printed r between two groups of judgments.
AGREEMENT = f"{PAPER_DATASET}/intergroup_correlation"
TABLES_OF_FITS = ("Table 2", "Table 3", "Table 4")
PARAMETERS = ["beta", "gamma", "r_cv"]


def tabulate(tables: Tables, run: Run) -> dict[str, pd.DataFrame]:
    """Return Tables 2 to 4 and the differences between models, by name."""
    fits = default_fits(tables["linking_functions"])
    theirs = comparable_fits(run.published, fits)
    return make_each(
        {
            "table_2": lambda: table_2(fits, theirs, run.models),
            "table_3": lambda: table_of_criteria(fits, theirs, run.models, pythia=False),
            "table_4": lambda: table_of_criteria(fits, theirs, run.models, pythia=True),
            "differences": lambda: parameter_differences(fits, tables["linking_draws"]),
        }
    )


def table_2(fits: pd.DataFrame, published: pd.DataFrame, models: Models) -> pd.DataFrame:
    """Return beta, gamma and r of MORCELA for each model, with the published values (Table 2)."""
    ours = fits.loc[
        fits["linking_function"] == "morcela",
        ["dataset", "rating_source", "model", "bos", "unigrams"]
        + ["beta", "beta_low", "beta_high", "gamma", "gamma_low", "gamma_high"]
        + ["r_cv", "r_cv_low", "r_cv_high", "n", "scale"],
    ]
    theirs = published.loc[
        published["linking_function"] == "morcela", ["model", "dataset", "beta", "gamma", "r_cv"]
    ]
    return _side_by_side(ours, theirs, ["model", "dataset"], models)


def table_of_criteria(
    fits: pd.DataFrame, published: pd.DataFrame, models: Models, *, pythia: bool
) -> pd.DataFrame:
    """Return AIC, BIC and SSE by linking function, with the published values, sorted by BIC.

    Table 4 has the Pythia models (`pythia`), Table 3 all others.
    """
    shown = ["slor", "morcela", "morcela_beta_1", "morcela_gamma_0"]
    keys = ["model", "dataset", "linking_function"]
    ours = fits.loc[
        fits["linking_function"].isin(shown),
        ["dataset", "rating_source", "model", "bos", "unigrams", "linking_function"]
        + ["aic", "bic", "sse", "predictors", "n", "scale"],
    ]
    table = _side_by_side(ours, published[[*keys, "aic", "bic", "sse"]], keys, models)
    of_pythia = table["model"].map(lambda name: models[name]["family"] == "pythia")
    return table[of_pythia == pythia].reset_index(drop=True)


def _side_by_side(
    ours: pd.DataFrame, theirs: pd.DataFrame, keys: list[str], models: Models
) -> pd.DataFrame:
    """Join a run's rows and the published rows by their keys, in order of models, then of BIC.

    Published columns end in _published.
    """
    table = ours.merge(theirs, on=keys, how="outer", suffixes=("", "_published"))
    published = [column for column in table.columns if column.endswith("_published")]
    compared = [name for column in published for name in (column[: -len("_published")], column)]
    first = [*keys, *compared]
    table = table[first + [column for column in table.columns if column not in first]]
    order = pd.DataFrame({"model": table["model"].map(list(models).index)})
    if "bic" in table:
        order = order.assign(
            dataset=table["dataset"], bic=table["bic"].fillna(table["bic_published"])
        )
    order = order.sort_values(list(order), kind="stable")
    return table.loc[order.index].reset_index(drop=True)


def parameter_differences(fits: pd.DataFrame, draws: pd.DataFrame) -> pd.DataFrame:
    """Return MORCELA's beta, gamma and r_cv of each model minus those of each later one.

    Intervals (_low, _high) are over draws paired by number. They are narrower than the models' own
    intervals suggest, because both models fit the same ratings. Models that scored different
    sentences are not compared. `fits` are those under each model's default convention.
    """
    values, draws = (table[table["linking_function"] == "morcela"] for table in (fits, draws))
    values, rows = values.set_index(["dataset", "model"])[PARAMETERS], []
    for dataset, of_dataset in draws.groupby("dataset", sort=False):
        by_model = {
            name: table.set_index("draw").sort_index()
            for name, table in of_dataset.groupby("model", sort=False)
        }
        for (model, first), (other, second) in combinations(by_model.items(), 2):
            if not first[["n", "cluster"]].equals(second[["n", "cluster"]]):
                continue
            row = {"dataset": dataset, "model": model, "other": other}
            differences = values.loc[(dataset, model)] - values.loc[(dataset, other)]
            for name, value in differences.items():
                drawn = (first[name] - second[name]).to_numpy(float)
                low, high = np.nanquantile(drawn, (0.025, 0.975))
                shift = value - np.nanmean(drawn) if name == "r_cv" else 0.0
                row |= {name: value, f"{name}_low": low + shift, f"{name}_high": high + shift}
            rows.append(row)
    ends = [f"{name}{end}" for name in PARAMETERS for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["dataset", "model", "other", *ends])


def comparable_fits(published: Published, fits: pd.DataFrame) -> pd.DataFrame:
    """Return `printed_fits`, or no rows if `fits` lacks the paper's data set."""
    table = printed_fits(published)
    return table[table["dataset"].isin(fits["dataset"])]


def printed_fits(published: Published) -> pd.DataFrame:
    """Return Tables 2, 3 and 4 as one row per model and linking function of the paper's data set.

    Columns: dataset, those of the tables, r_cv as Table 2 prints it for MORCELA, and r, which
    follows from the SSE of each linking function: sqrt(1 - SSE / SST). For six models the two
    disagree.
    """
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for item in published["items"]:
        if item["item"] in TABLES_OF_FITS:
            for key, values in item["rows"].items():
                model, linking_function = key.split("/")
                row = rows.setdefault((model, linking_function), {})
                row.update(dict(zip(item["columns"], values, strict=True)))
    index = pd.MultiIndex.from_tuples(list(rows), names=["model", "linking_function"])
    table = pd.DataFrame(list(rows.values()), index=index).reset_index()
    r = np.sqrt(1 - table["sse"] / published["total_sum_of_squares"])
    return table.assign(dataset=PAPER_DATASET, r=r)


def with_certain_parameters(fits: pd.DataFrame) -> pd.DataFrame:
    """Return fits with NaN for beta and gamma if `slope_may_be_zero`.

    Both are ratios to the slope of log-probability. If this slope may be 0, the ratios may have any
    value and sign, and their intervals are too narrow.
    """
    ratios = [name for name in fits if name.startswith(("beta", "gamma"))]
    found = fits.copy()
    found[ratios] = found[ratios].astype(float).mask(slope_may_be_zero(fits), axis=0)
    return found


def slope_may_be_zero(fits: Any) -> Any:
    """Return whether the interval of the slope of log-probability includes 0.

    The result is bool for one fit, and (n,) bool for a table of fits.
    """
    return (fits["logprob_slope_low"] <= 0) & (fits["logprob_slope_high"] >= 0)


def default_fits(linking_functions: pd.DataFrame) -> pd.DataFrame:
    """Return the fits under each model's default BOS policy and unigram source."""
    return linking_functions[linking_functions["default_convention"]].reset_index(drop=True)
