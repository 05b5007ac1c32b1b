"""Estimate how ΔLogLik and perplexity change with model size (leakage, §3.2) and between models.

Oh et al. (2025) claim that ΔLogLik falls as models of one family grow, the more steeply the longer
they were fine-tuned on the texts. Models are few and fixed. Intervals therefore resample subjects
and sentences (passages for perplexity), with the same resamples for all models, because subjects
whom one model predicts well are predicted well by the others.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress
from statsmodels.stats.multitest import multipletests

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.leakage.regressions import with_units
from lingprob.stats.resampling import CrossedDraws, swap_p_values

FEWEST = 3  # models
STATE = "fine_tuning_steps"
STEP = "training_step"  # column with the training step of an unfinished model
GROUP = [
    "dataset", "rt_source", "context", "corrected", "convention", "family", STEP, STATE, "scale"
]  # fmt: skip
SLOPES = [
    ("delta", "parameters"), ("delta", "word_perplexity"), ("log_perplexity", "parameters")
]  # fmt: skip
PUBLISHED = "natural_stories, published means"


def size_trends(
    deltas: pd.DataFrame,
    gains: pd.DataFrame,
    published: pd.DataFrame | None,
    models: Mapping[str, Mapping[str, Any]],
    *,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Return a `reading_trends` table: a slope per family, state, data set and convention.

    Args:
        deltas, published: `delta_log_likelihood` and, if there is one, `published_delta` tables.
        gains: concatenated `reading_gains` tables of the data sets and of the published fits.
        models: family, parameters and, if they were fine-tuned, fine_tuning_steps by model.
        draws, seed: number and seed of the resamples of subjects and sentences, or of passages.

    Slopes are per tenfold of the predictor, of `delta` in nats and of `log_perplexity` (the mean
    surprisal of a word) in nats per word. `change` is the slope minus that of the same family
    before fine-tuning: the interaction of state and size. Intervals are widened if `items`, the
    smaller number of resampled units, is small. Groups of fewer than three models of known size
    have no row. A slope never mixes contexts or corrections for spaces.
    """
    by_set = ["dataset", "convention", "of"]
    drawn = {key: Drawn(part, draws, seed) for key, part in gains.groupby(by_set, sort=False)}
    rows: list[dict[str, Any]] = []
    slopes: dict[tuple[Any, ...], tuple[float, np.ndarray]] = {}
    for names, of, on, part in _groups(_points(deltas, published, models)):
        fit = linregress(np.log10(part[on].to_numpy(float)), part[of].to_numpy(float))
        row = {**names, "of": of, "on": on, "models": len(part)}
        row |= {"slope": fit.slope, "std_error": fit.stderr, "r": fit.rvalue, "p": fit.pvalue}
        row["largest"] = float(part["parameters"].max())
        found = drawn.get((names["dataset"], names["convention"], of))
        if found is not None and set(part["model"]) <= set(found.models):
            of_models = slope_weights(part.set_index("model")[on])
            weights = of_models.reindex(found.models, fill_value=0.0).to_numpy()
            before = {**names, STATE: 0, "of": of, "on": on}
            slopes[tuple(row[name] for name in before)] = row["slope"], weights
            row |= {"resampled": found.resampled, "items": found.sums.units}
            row["slope_low"], row["slope_high"] = found.sums.interval(weights)
            base = slopes.get(tuple(before.values()))
            if names[STATE] and base is not None:
                row["change"] = row["slope"] - base[0]
                row["change_low"], row["change_high"] = found.sums.interval(weights - base[1])
        rows.append(row)
    return pd.DataFrame(rows, columns=SCHEMAS["reading_trends"].names)


class Drawn:
    """Resamples of all models' values on one data set. All models share the resampled units.

    A value is ΔLogLik, a sum over subjects and sentences, or log perplexity, the mean over the
    words of passages. `sums` are their CrossedDraws, and `resampled` is the name of the units.
    """

    def __init__(self, gains: pd.DataFrame, draws: int, seed: int) -> None:
        is_mean = gains["of"].iloc[0] == "log_perplexity"
        if is_mean:  # log perplexity as a sum of the passages' parts, to first order
            by_model = gains.groupby("model")[["nats", "n"]].transform("sum")
            mean = by_model["nats"] / by_model["n"]
            parts = gains.groupby("model")["n"].transform("size")
            left = gains["nats"] - mean * gains["n"]
            gains = gains.assign(nats=left / by_model["n"] + mean / parts)
        cells = gains.set_index(["model", "subject", "item"])["nats"].unstack(fill_value=0.0)
        self.models, subjects = (list(level) for level in cells.index.levels)
        full = cells.reindex(pd.MultiIndex.from_product([self.models, subjects]), fill_value=0.0)
        values = full.to_numpy().reshape(len(self.models), len(subjects), -1)
        self.sums = CrossedDraws(values, draws, seed)
        items = "passages" if is_mean else "sentences"
        self.resampled = items if len(subjects) == 1 else f"subjects and {items}"


def slope_weights(sizes: pd.Series) -> pd.Series:
    """Return the weight of each model's value in the slope on log10 of `sizes`."""
    x = np.log10(sizes.astype(float))
    x = x - x.mean()
    return x / (x**2).sum()


def _points(
    deltas: pd.DataFrame, published: pd.DataFrame | None, models: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Return one row per fit, with its model's family, state and size. Base models come first."""
    parts = [deltas.assign(convention="")]
    if published is not None:
        both = published["model"].isin(published.loc[published["convention"] == "compat", "model"])
        about = {"dataset": PUBLISHED, "rt_source": "human", "context": "imported"}
        parts.append(published[both].assign(**about, corrected=None))
    table = pd.concat(parts, ignore_index=True)
    entries = [models[name] for name in table["model"]]
    table["family"] = [entry["family"] for entry in entries]
    table[STATE] = [entry.get(STATE, 0) for entry in entries]
    table[STEP] = pd.array([entry.get(STEP) for entry in entries], dtype="Int64")
    table["parameters"] = pd.Series([entry["parameters"] for entry in entries], dtype=float)
    table["log_perplexity"] = np.log(table["word_perplexity"].astype(float))
    return table.sort_values(STATE, kind="stable")


def _groups(points: pd.DataFrame) -> Iterator[tuple[dict[str, Any], str, str, pd.DataFrame]]:
    """Yield each group with enough models: its names, the x and y of a slope, and its rows."""
    for key, part in points.groupby(GROUP, sort=False, dropna=False):
        names = {name: None if pd.isna(v) else v for name, v in zip(GROUP, key, strict=True)}
        for of, on in SLOPES:
            known = part[part[on].notna()]
            if known[on].nunique() >= FEWEST:
                yield names, of, on, known


def model_differences(
    gains: pd.DataFrame, deltas: pd.DataFrame, *, draws: int, seed: int
) -> pd.DataFrame:
    """Return a `model_differences` table: one row per data set and two models.

    `gains` are concatenated `reading_gains` tables, and `deltas` a `delta_log_likelihood` table of
    the same data sets. `draws` is the number of resamples of subjects and sentences. `seed` is that
    of resamples and permutations.

    `difference` is the first model's log-likelihood (nats) of the evaluated times minus that of the
    second, with its interval over shared resamples. `p` is from a permutation test that swaps the
    two models within subjects, or within sentences of mean times (`swap_p_values`). `p_holm`
    corrects p for all differences of the data set (Holm 1979).

    Raises LingprobError if models were evaluated on different times.
    """
    parts = []
    for dataset, part in gains[gains["of"] == "delta"].groupby("dataset", sort=False):
        fits = deltas[deltas["dataset"] == dataset]
        if len(fits) > 1:
            found = _of_dataset(part, fits, str(dataset), draws, seed)
            same = fits[["rt_source", "n_evaluated", "scale"]].iloc[0]
            parts.append(found.assign(dataset=dataset, **same))
    names = SCHEMAS["model_differences"].names
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _of_dataset(
    gains: pd.DataFrame, fits: pd.DataFrame, dataset: str, draws: int, seed: int
) -> pd.DataFrame:
    """Return the `model_differences` rows of one data set, given its gains and fits."""
    models = fits["model"].tolist()
    by_part = gains.pivot(index=["subject", "item"], columns="model", values="nats")[models]
    if by_part.isna().any(axis=None) or fits["n_evaluated"].nunique() > 1:
        raise LingprobError(
            f"data set {dataset!r}: models were evaluated on different reading times. Delete "
            f"results/reading/{dataset}.parquet and run again."
        )
    found, of_units = Drawn(gains, draws, seed), with_units(gains)
    wide = of_units.pivot_table(index="unit", columns="model", values="nats", aggfunc="sum")
    by_unit = wide[models].to_numpy()
    first, second = np.array(list(combinations(range(len(models)), 2))).T
    p = swap_p_values(by_unit, first, second, seed)
    totals = by_unit.sum(axis=0)
    signs = pd.DataFrame(np.eye(len(models)), models, models)[found.models].to_numpy()
    ends = [found.sums.interval(weights) for weights in signs[first] - signs[second]]
    return pd.DataFrame(
        {
            "model": np.array(models)[first],
            "other": np.array(models)[second],
            "difference": totals[first] - totals[second],
            "difference_low": [low for low, _ in ends],
            "difference_high": [high for _, high in ends],
            "p": p,
            "p_holm": multipletests(p, method="holm")[1],
            "resampled": found.resampled,
            "items": len(by_unit),
        }
    )
