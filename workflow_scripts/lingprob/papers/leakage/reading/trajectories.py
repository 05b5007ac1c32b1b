"""ΔLogLik by what a model had seen of its training, and after which of its steps it is highest.

Oh & Schuler (2023a, whom the paper cites) found that surprisal predicts reading times best after
about two billion training tokens. Here the steps are those that a run keeps of its trainings; what
is uncertain is whom the models were tested on, so subjects (sentences, for means over readers) are
drawn again, the same ones for all steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.papers.leakage.reading.few_items import widening
from lingprob.regression.resampling import TAILS, resamples
from lingprob.schemas import SCHEMAS

Models = Mapping[str, Mapping[str, Any]]


def trajectories(
    deltas: pd.DataFrame, gains: pd.DataFrame, models: Models, *, draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a `trajectories` and a `trajectory_peaks` table of all data sets.

    Args:
        deltas: a `delta_log_likelihood` table; other models than these are passed over.
        gains: `reading_gains` tables of the same data sets, in one.
        models: as `lingprob.training.trajectories` describes them.
        draws: of subjects (of sentences, for means over readers).
        seed: of the draws.

    Raises LingprobError if models were evaluated on different times.
    """
    described = pd.DataFrame.from_dict(dict(models), orient="index").rename_axis("model")
    points = deltas.merge(described.reset_index(), on="model")
    gains = gains[gains["of"] == "delta"]
    rows, peaks = [], []
    for (dataset, _), part in points.groupby(["dataset", "size"], sort=False):
        part = part.sort_values("training_step")
        own = gains[(gains["dataset"] == dataset) & gains["model"].isin(part["model"])]
        by_item = own.pivot(index="item", columns="model", values="nats")[part["model"]].to_numpy()
        if np.isnan(by_item).any() or part["n_evaluated"].nunique() > 1:
            raise LingprobError(
                f"data set {dataset!r}: models were evaluated on different reading times. Delete "
                f"results/reading/{dataset}.parquet and run again."
            )
        drawn = np.vstack([times @ by_item for times in resamples(len(by_item), draws, seed)])
        highest = np.bincount(drawn.argmax(axis=1), minlength=len(part)) / draws
        rows.append(part.assign(highest=highest))
        items = {"item_kind": own["item_kind"].iloc[0], "items": len(by_item)}
        peaks.append({**peak(part, leads(by_item, drawn)), **items})
    return (
        pd.concat(rows, ignore_index=True)[SCHEMAS["trajectories"].names],
        pd.DataFrame(peaks)[SCHEMAS["trajectory_peaks"].names],
    )


def leads(by_item: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return how far the best other step is ahead of each step: value, low, high (n_steps, 3).

    The best of several is ahead by chance, too. So the lower end is the highest of the others'
    lower ends that hold together (their largest studentised error in the draws has the quantile
    .975), and the upper end the highest of upper ends that each hold alone: that of the best one is
    among these. Both are widened for few items (`widening`); NaN for one item.

    Args:
        by_item: what an item adds to ΔLogLik after each step, nats (n_items, n_steps).
        drawn: ΔLogLik in draws of items, the same ones for all steps, nats (draws, n_steps).
    """
    totals = by_item.sum(axis=0)
    errors = (drawn - totals) * widening(len(by_item))
    found = []
    for step in range(len(totals)):
        ahead = np.delete(totals - totals[step], step)
        error = np.delete(errors - errors[:, [step]], step, axis=1)
        spread = error.std(axis=0)
        # Where no item tells two steps from each other, no draw does.
        studentised = np.divide(error, spread, out=np.zeros_like(error), where=spread != 0)
        together = max(0.0, float(np.quantile(studentised.max(axis=1), TAILS[1])))
        below = np.minimum(0.0, np.quantile(error, TAILS[0], axis=0))
        found.append((ahead.max(), (ahead - together * spread).max(), (ahead - below).max()))
    return np.array(found)


def peak(steps: pd.DataFrame, ahead: np.ndarray) -> dict[str, Any]:
    """Return one size's row of a `trajectory_peaks` table, but for its items.

    The peak's interval goes from the first to the last step that no other one is surely ahead of
    (the lower end of its `leads` above 0), and is the last step alone where that is surely ahead of
    each other one. So it tells of the end of a training what `lead` does.

    Args:
        steps: the size's rows of `trajectories`, in order.
        ahead: the `leads` of other steps over each, (n_steps, 3).
    """
    tokens = steps["tokens"].to_numpy()
    best = int(steps["delta"].to_numpy().argmax())
    known = math.isfinite(ahead[0, 1])
    possible = tokens[-1:] if ahead[-1, 2] < 0 else tokens[~(ahead[:, 1] > 0)]
    lead = ahead[-1] if steps["finished"].iloc[-1] else [None] * 3
    return {
        **steps[["dataset", "rt_source", "size", "parameters", "scale"]].iloc[0],
        "models": len(steps),
        "peak_step": int(steps["training_step"].iloc[best]),
        "peak_tokens": int(tokens[best]),
        "peak_tokens_low": int(possible.min()) if known else None,
        "peak_tokens_high": int(possible.max()) if known else None,
        **dict(zip(("lead", "lead_low", "lead_high"), lead, strict=True)),
    }
