"""What a dose of leakage does to ΔLogLik: passages that training had so many times.

The paper asks with fine-tuning, which ends with the texts and so is the most that leakage can do.
Here training itself has had their passages, each `copies` times, and nothing else of it differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from lingprob.papers.leakage.reading.model_differences import model_differences
from lingprob.schemas import SCHEMAS
from lingprob.scorecard.estimates import CONFIDENCE
from lingprob.training.dosed import dosed_name

COPIES, COPIES_AND_SIZE = "copies", "copies and parameters"
ITEM = ["item_kind", "items"]


class Dosed(NamedTuple):
    """Models by what they were trained with: their sizes (parameters by name) and the numbers of
    copies, 0 first."""

    sizes: Mapping[str, int]
    copies: Sequence[int]

    def rows(self) -> pd.DataFrame:
        """Return a row a model: model, size, parameters, copies."""
        rows = [
            (dosed_name(size, copies), size, parameters, copies)
            for size, parameters in self.sizes.items()
            for copies in self.copies
        ]
        return pd.DataFrame(rows, columns=["model", "size", "parameters", "copies"])


def dose_effects(
    deltas: pd.DataFrame, gains: pd.DataFrame, dosed: Dosed, *, draws: int, seed: int
) -> pd.DataFrame:
    """Return a `dose_effects` table: a row a data set and model.

    Args:
        deltas: a `delta_log_likelihood` table of the models.
        gains: `reading_gains` tables of the same.
        dosed: which models they are.
        draws: of subjects (of sentences, for means over readers) behind the intervals.
        seed: of the draws and of the permutations.

    `difference` is ΔLogLik (nats) less that of the same size without copies, as `model_differences`
    has it.

    Raises LingprobError if models were evaluated on different times.
    """
    pairs = model_differences(gains, deltas, draws=draws, seed=seed)
    swapped = pairs.rename(columns={"model": "other", "other": "model"}).assign(
        difference=-pairs["difference"],
        difference_low=-pairs["difference_high"],
        difference_high=-pairs["difference_low"],
    )
    without = {size: dosed_name(size, 0) for size in dosed.sizes}
    rows = dosed.rows().assign(other=lambda table: table["size"].map(without))
    keys = ["dataset", "model", "other"]
    found = ["difference", "difference_low", "difference_high", "p"]
    table = deltas.merge(rows, on="model").merge(
        pd.concat([pairs, swapped])[[*keys, *found]], on=keys, how="left"
    )
    items = pairs.drop_duplicates("dataset")[["dataset", *ITEM]]
    table = table.merge(items, on="dataset")
    return table[SCHEMAS["dose_effects"].names]


def dose_slopes(deltas: pd.DataFrame, gains: pd.DataFrame, dosed: Dosed) -> pd.DataFrame:
    """Return a `dose_slopes` table: how ΔLogLik and log perplexity go with the copies.

    Arguments as for `dose_effects`. A slope is on log2(1 + copies), a size a row (`over` copies);
    where there are several sizes, one row (`over` copies and parameters) has the slope of these
    slopes on log10 parameters. Of `delta` slopes are in nats, of `log_perplexity` in nats a word.

    Two things are uncertain: who was tested (`items_error`), and what each training happens to
    come to, which the models' distances from the lines of all sizes tell (`trainings_error`). The
    95% interval is Student's t's of both together, by the degrees of freedom of Welch &
    Satterthwaite; without it where two models are all that a line has, or one item.
    """
    rows = []
    for (dataset, of), part in gains.groupby(["dataset", "of"], sort=False):
        same = deltas.loc[deltas["dataset"] == dataset, ["rt_source", "scale"]].iloc[0]
        for names, found in _slopes(part, str(of), dosed):
            kind = part["item_kind"].iloc[0]
            rows.append({"dataset": dataset, "of": of, **names, **found, **same, "item_kind": kind})
    return pd.DataFrame(rows, columns=SCHEMAS["dose_slopes"].names)


def _slopes(
    gains: pd.DataFrame, of: str, dosed: Dosed
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield what each slope is over and its columns, from one data set's gains of one kind."""
    models = dosed.rows()
    nats, counts = (
        gains.pivot(index="item", columns="model", values=values)[models["model"]].to_numpy(float)
        for values in ("nats", "n")
    )
    n_items = len(nats)
    # Log perplexity is a ratio of sums over items, ΔLogLik a sum: with shares of the items, alike.
    shares = np.full(n_items, 1 / n_items)
    if of == "log_perplexity":
        words = counts.mean(axis=1)  # the same for all models
        nats, shares = nats / words.sum(), words / words.sum()
    x = np.log2(1 + np.asarray(dosed.copies, float))
    on_copies = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    lines = np.kron(np.eye(len(dosed.sizes)), on_copies)
    noise, degrees = _scatter(nats.sum(axis=0).reshape(len(dosed.sizes), -1), x)
    for size, weights in zip(dosed.sizes, lines, strict=True):
        names = {"over": COPIES, "size": size, "models": len(x)}
        yield names, _contrast(nats, shares, weights, noise, degrees)
    if len(dosed.sizes) > 1:
        log_size = np.log10(np.asarray([*dosed.sizes.values()], float))
        on_size = (log_size - log_size.mean()) / ((log_size - log_size.mean()) ** 2).sum()
        names = {"over": COPIES_AND_SIZE, "size": None, "models": len(models)}
        yield names, _contrast(nats, shares, on_size @ lines, noise, degrees)


def _scatter(values: np.ndarray, x: np.ndarray) -> tuple[float, int]:
    """Return the variance about a line for each row of values, pooled, and its degrees of freedom.

    NaN where two points are all that a line has.
    """
    degrees = len(values) * (len(x) - 2)
    if degrees < 1:
        return math.nan, 0
    design = np.column_stack([np.ones_like(x), x])
    residuals = values.T - design @ np.linalg.lstsq(design, values.T, rcond=None)[0]
    return float((residuals**2).sum() / degrees), degrees


def _contrast(
    nats: np.ndarray, shares: np.ndarray, weights: np.ndarray, noise: float, degrees: int
) -> dict[str, Any]:
    """Return a weighted sum of the models' values with its two errors and its interval.

    Args:
        nats: what an item contributes to a model's value, (n_items, n_models).
        shares: of the items in a value, (n_items,).
        weights: of the models, (n_models,).
        noise, degrees: variance of a model's value by its training, and its degrees of freedom.
    """
    by_item = nats @ weights
    value, n = float(by_item.sum()), len(by_item)
    of_items = n / (n - 1) * float(((by_item - value * shares) ** 2).sum()) if n > 1 else math.nan
    of_trainings = noise * float(weights @ weights)
    both = of_items + of_trainings
    reach = math.nan
    if math.isfinite(both):
        parts = of_items**2 / (n - 1) + of_trainings**2 / degrees
        reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, both**2 / parts)) * math.sqrt(both)
    return {
        "slope": value,
        "slope_low": value - reach,
        "slope_high": value + reach,
        "items_error": math.sqrt(of_items),
        "trainings_error": math.sqrt(of_trainings),
        "items": n,
    }
