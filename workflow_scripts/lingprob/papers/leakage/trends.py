"""How ΔLogLik and perplexity change with model size (§3.2), and how they differ between models.

The paper's claim is about slopes: ΔLogLik falls as models of one family grow, and falls the more
steeply the longer they were fine-tuned on the texts. Models are few and fixed. It is uncertain whom
they were tested on, so subjects (sentences, for means over readers; passages, for perplexity) are
drawn again, the same ones for all models. Differences are on the same draws, because readers whom
one model predicts well are predicted well by the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.leakage.regressions import trend
from lingprob.stats.resampling import TAILS, resamples, swap_p_values

FEWEST = 3  # models
STATE = "fine_tuning_steps"
STEP = "training_step"  # of a model that was kept before its training was done
GROUP = [
    "dataset", "rt_source", "context", "corrected", "convention", "family", STEP, STATE, "scale"
]  # fmt: skip
SLOPES = [
    ("delta", "parameters"), ("delta", "word_perplexity"), ("log_perplexity", "parameters")
]  # fmt: skip


def size_trends(
    deltas: pd.DataFrame,
    gains: pd.DataFrame,
    published: pd.DataFrame | None,
    models: Mapping[str, Mapping[str, Any]],
    *,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Return a `reading_trends` table: a row a slope, family, state, data set and convention.

    Args:
        deltas: a `delta_log_likelihood` table.
        gains: `reading_gains` tables of its data sets, in one.
        published: a `published_delta` table, if there is one; its rows have no intervals.
        models: family, parameters and, where they were fine-tuned, fine_tuning_steps by model.
        draws: of subjects, sentences or passages.
        seed: of the draws.

    Slopes are per tenfold of what they are on: of `delta` in nats, of `log_perplexity` (the mean
    surprisal of a word) in nats a word. `change` is the slope less that of the same family before
    fine-tuning: the interaction of state and size. Groups of fewer than three models of known size
    have no row; models with other contexts or another correction for blanks are not mixed.
    """
    points = _points(deltas, published, models)
    parts = dict(iter(gains.groupby(["dataset", "of"], sort=False)))
    drawn = {key: _resampled(part, key[1], draws, seed) for key, part in parts.items()}
    rows: list[dict[str, Any]] = []
    slopes: dict[tuple[Any, ...], tuple[float, np.ndarray]] = {}
    for names, of, on, part in _groups(points):
        row = {**names, "of": of, "on": on, "models": len(part), **trend(part, on, of)}
        key = (names["dataset"], of)
        if key in drawn and set(part["model"]) <= set(drawn[key]):
            draw = drawn[key][part["model"].tolist()].to_numpy() @ slope_weights(part[on])
            before = {**names, STATE: 0, "of": of, "on": on}
            slopes[tuple(row[name] for name in before)] = row["slope"], draw
            items = parts[key].drop_duplicates("item")["item_kind"]
            row |= {"resampled": items.iloc[0], "items": len(items)}
            row |= _interval("slope", draw)
            base = slopes.get(tuple(before.values()))
            if names[STATE] and base is not None:
                row |= {"change": row["slope"] - base[0]}
                row |= _interval("change", draw - base[1])
        rows.append(row)
    return pd.DataFrame(rows, columns=SCHEMAS["reading_trends"].names)


def slope_weights(sizes: pd.Series) -> np.ndarray:
    """Return what each model's value counts in the slope on log10 of `sizes`, (n,)."""
    x = np.log10(sizes.to_numpy(float))
    x = x - x.mean()
    return x / (x**2).sum()


def _points(
    deltas: pd.DataFrame, published: pd.DataFrame | None, models: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Return a row a fit, with its model's family, state and size, base models first."""
    parts = [deltas.assign(convention="")]
    if published is not None:
        both = published["model"].isin(published.loc[published["convention"] == "compat", "model"])
        means = published[both].assign(dataset="natural_stories, published means")
        parts.append(means.assign(rt_source="human", context="imported", corrected=None))
    columns = ["dataset", "rt_source", "context", "corrected", "convention", "scale"]
    columns += ["model", "delta", "word_perplexity"]
    table = pd.concat([part[columns] for part in parts], ignore_index=True)
    entries = [models[name] for name in table["model"]]
    table["family"] = [entry["family"] for entry in entries]
    table[STATE] = [entry.get(STATE, 0) for entry in entries]
    table[STEP] = pd.array([entry.get(STEP) for entry in entries], dtype="Int64")
    table["parameters"] = pd.Series([entry["parameters"] for entry in entries], dtype=float)
    table["log_perplexity"] = np.log(table["word_perplexity"].astype(float))
    return table.sort_values(STATE, kind="stable")


def _groups(
    points: pd.DataFrame,
) -> Iterator[tuple[dict[str, Any], str, str, pd.DataFrame]]:
    """Yield the names of each group with enough models, what is regressed on what, and its rows."""
    for key, part in points.groupby(GROUP, sort=False, dropna=False):
        names = {name: None if pd.isna(v) else v for name, v in zip(GROUP, key, strict=True)}
        for of, on in SLOPES:
            known = part[part[on].notna()]
            if known[on].nunique() >= FEWEST:
                yield names, of, on, known


def _resampled(gains: pd.DataFrame, of: str, draws: int, seed: int) -> pd.DataFrame:
    """Return each model's value (a column) in every draw of items, the same ones for all models."""
    sums, counts = (
        gains.pivot(index="item", columns="model", values=column).sort_index()
        for column in ("nats", "n")
    )
    random = np.random.default_rng(seed)
    times = random.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=draws)
    values = times @ sums.to_numpy(float)
    if of == "log_perplexity":
        values = values / (times @ counts.to_numpy(float))
    return pd.DataFrame(values, columns=sums.columns)


def _interval(name: str, drawn: np.ndarray) -> dict[str, float]:
    low, high = np.quantile(drawn, TAILS)
    return {f"{name}_low": float(low), f"{name}_high": float(high)}


def model_differences(
    gains: pd.DataFrame, deltas: pd.DataFrame, *, draws: int, seed: int
) -> pd.DataFrame:
    """Return a `model_differences` table: a row a data set and two models.

    Args:
        gains: `reading_gains` tables of the data sets, in one.
        deltas: a `delta_log_likelihood` table of the same.
        draws: of subjects (of sentences, for means over readers) behind the intervals.
        seed: of the draws and of the permutations.

    `difference` is the first model's log-likelihood (nats) of the evaluated times less that of the
    second, with the percentiles of draws that both share; `p` is the permutation test's in which
    the models change places within subjects or sentences (`swap_p_values`), and `p_holm` the same
    corrected for all differences of the data set (Holm 1979).

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
    models = fits["model"].tolist()
    by_item = gains.pivot(index="item", columns="model", values="nats")[models].to_numpy()
    if np.isnan(by_item).any() or fits["n_evaluated"].nunique() > 1:
        raise LingprobError(
            f"data set {dataset!r}: models were evaluated on different reading times. Delete "
            f"results/reading/{dataset}.parquet and run again."
        )
    first, second = np.array(list(combinations(range(len(models)), 2))).T
    drawn = np.vstack([times @ by_item for times in resamples(len(by_item), draws, seed)])
    low, high = np.quantile(drawn[:, first] - drawn[:, second], TAILS, axis=0)
    p = swap_p_values(by_item, first, second, seed)
    totals = by_item.sum(axis=0)
    return pd.DataFrame(
        {
            "model": np.array(models)[first],
            "other": np.array(models)[second],
            "difference": totals[first] - totals[second],
            "difference_low": low,
            "difference_high": high,
            "p": p,
            "p_holm": multipletests(p, method="holm")[1],
            "item_kind": gains["item_kind"].iloc[0],
            "items": len(by_item),
        }
    )
