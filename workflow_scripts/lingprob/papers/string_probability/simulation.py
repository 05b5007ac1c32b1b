"""The predictions derived by simulation: their statistics over the theory's parameters.

Each sweep varies one parameter, on several curves another; the last four break an assumption each
(Hu et al. 2026, §3 and Appendix A).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from lingprob.papers.string_probability.generator import Parameters, closed_forms, draw_pairs
from lingprob.regression.resampling import correlation
from lingprob.regression.roc import area_under_roc
from lingprob.schemas import SCHEMAS

Array = NDArray[np.float64]
WORLDS = 5
# Statistics of the predictions, and what each assumption bounds as a part of its bound.
PREDICTIONS = (
    "r_pairs", "r_ratings", "gap", "accuracy", "auc", "auc_mean_logprob", "spread_of_difference",
)  # fmt: skip
ASSUMPTIONS = ("assumption_3", "assumption_4", "assumption_5", "assumption_6")


@dataclass(frozen=True)
class Sweep:
    """One parameter's values, on curves of another's; what else differs from the defaults."""

    parameter: str
    values: tuple[float, ...]
    curve: str = ""
    curves: tuple[float, ...] = (0.0,)
    others: Mapping[str, Any] = field(default_factory=dict)

    def points(self) -> Iterator[tuple[float, float, Parameters]]:
        """Yield (value on the curve's parameter, value, all parameters)."""
        for curve in self.curves:
            chosen = {**self.others, **({self.curve: curve} if self.curve else {})}
            for value in self.values:
                yield curve, value, replace(Parameters(), **{**chosen, self.parameter: value})


# Errors rare enough that their odds can follow log P(m) over the whole spread.
FOLLOWING = {"spread": 3.0, "severity": 1.0, "error": 1e-4}
LURED = {"lure_distance": 1}
SWEEPS = {
    "spread": Sweep("spread", (1, 2, 4, 8, 12, 18, 25), "severity", (1.0, 2.0, 4.0)),
    "distance": Sweep("distance", (1, 2, 3, 4, 6, 8), "words", (3, 8, 50)),
    "error": Sweep("error", (0.0001, 0.001, 0.01, 0.1), "words", (8, 50, 400)),
    "length": Sweep("length_range", (0, 1, 2, 3, 4, 6), "per_word", (3.0, 6.0)),
    "assumption_3": Sweep("error_slope", (0, -0.4, -0.8, -1.2, -1.6), others=FOLLOWING),
    "assumption_4": Sweep("lure_excess", (-10, -5, 0, 5, 10, 15, 20), others=LURED),
    "assumption_5": Sweep(
        "lure_excess",
        (-10, 0, 10, 20, 30, 40),
        others={"lure_distance": 3, "lure_of_pair": False},
    ),
    "assumption_6": Sweep("lure_spread", (0, 5, 10, 15, 20, 30), others=LURED),
}


def simulate(scale: str, seed: int) -> pd.DataFrame:
    """Return the `string_simulations` table: a row a sweep, point and statistic."""
    rows: list[dict[str, Any]] = []
    for name, sweep in SWEEPS.items():
        for curve, value, parameters in sweep.points():
            about = {"sweep": name, "curve": curve, "value": value}
            rows += [{**about, **row} for row in point_rows(parameters, seed)]
    names = SCHEMAS["string_simulations"].names
    return pd.DataFrame(rows).assign(scale=scale)[names]


def point_rows(parameters: Parameters, seed: int) -> list[dict[str, Any]]:
    """Return a row a statistic: its mean over worlds, the mean's 95% interval, the closed form."""
    drawn = pd.DataFrame(
        [statistics(draw_pairs(parameters, seed + world), parameters) for world in range(WORLDS)]
    )
    # Few worlds: an interval by the normal distribution would hold the mean 88 times of 100.
    reach = stdtrit(WORLDS - 1, 0.975)
    mean, error = drawn.mean(), reach * drawn.std(ddof=1) / np.sqrt(WORLDS)
    closed = closed_forms(parameters)
    return [
        {
            "statistic": name,
            "estimate": mean[name],
            "estimate_low": mean[name] - error[name],
            "estimate_high": mean[name] + error[name],
            "closed_form": closed.get(name, np.nan),
        }
        for name in drawn
    ]


def statistics(pairs: pd.DataFrame, parameters: Parameters) -> dict[str, float]:
    """Return PREDICTIONS and ASSUMPTIONS of simulated pairs.

    An assumption's value is a part of its bound, and above 1 it is broken. 3: |cov(log P(G = 0 |
    m), log P(m))| of var(log P(m)); 4: the median share of other messages than the pair's in P(s')
    of 1/2; 5: the median growth of P(M_d) / K^d of 1 / e; 6: the standard deviation of log P(M_1) /
    P(m) of that of log P(m).
    """
    good, bad = (pairs[f"logprob_{side}"].to_numpy() for side in ("good", "bad"))
    rated = (pairs["rating_good"] - pairs["rating_bad"]).to_numpy()
    positive = np.repeat([True, False], len(pairs))
    both, words = np.concatenate([good, bad]), np.tile(pairs["n_words"].to_numpy(), 2)
    message = pairs["message"].to_numpy()
    near = pairs["near"].to_numpy()
    near, spread = near[np.isfinite(near)], message.std()
    log_error = -np.logaddexp(0, -pairs["log_odds"].to_numpy())
    return {
        "r_pairs": correlation(good, bad),
        "r_ratings": correlation(rated, good - bad),
        "gap": float((good - bad).mean()),
        "accuracy": float((good > bad).mean()),
        "auc": area_under_roc(both, positive),
        "auc_mean_logprob": area_under_roc(both / words, positive),
        "spread_of_difference": float(np.hypot(good.std(), bad.std())),
        "assumption_3": abs(float(np.cov(log_error, message, ddof=0)[0, 1])) / spread**2,
        "assumption_4": 2 * float(pairs["others"].median()),
        "assumption_5": float(np.exp(pairs["growth"].median())) * parameters.error,
        "assumption_6": float(near.std() / spread) if len(near) > 1 else np.nan,
    }
