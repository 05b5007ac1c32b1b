"""Ordinary least squares, on rows of a frame and on running moments of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError

# A column that the others explain to this share of its size is none of its own.
COLLINEAR = 1e-9
# A residual below this share of the response's size is rounding.
EXACT = 1e-12


@dataclass(frozen=True)
class LeastSquaresFit:
    """A fitted linear regression with Gaussian errors.

    `coefficients` and `standard_errors` are by predictor, `Intercept` first; `sigma` is the maximum
    likelihood one (no degrees of freedom taken off), `log_likelihood` (nats) of the fitted data.
    """

    response: str
    coefficients: pd.Series
    standard_errors: pd.Series
    sigma: float
    log_likelihood: float
    n: int

    def log_likelihoods(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the log-likelihood (nats) of each row of `frame`, shape (len(frame),)."""
        design = _design(frame, list(self.coefficients.index[1:]))
        residual = frame[self.response].to_numpy(float) - design @ self.coefficients.to_numpy()
        return -0.5 * np.log(2 * np.pi * self.sigma**2) - residual**2 / (2 * self.sigma**2)


def fit_least_squares(
    frame: pd.DataFrame, response: str, predictors: Sequence[str]
) -> LeastSquaresFit:
    """Regress a column on others and an intercept.

    Args:
        frame: the data; no NaN in the columns used.
        response: the regressed column.
        predictors: the columns it is regressed on.

    Raises LingprobError that names an unknown column, one with a NaN or an infinity, a constant
    predictor, the first predictor that those before it explain, a response without any error, and
    if there are too few rows.
    """
    for column in [response, *predictors]:
        if column not in frame.columns:
            raise LingprobError(f"regression: no column {column!r}, but {list(frame.columns)}.")
        values = frame[column].to_numpy(float)
        if not np.isfinite(values).all():
            row = int((~np.isfinite(values)).argmax())
            raise LingprobError(f"regression: column {column!r}, row {row} is {values[row]}.")
    design, y = _design(frame, predictors), frame[response].to_numpy(float)
    n, width = design.shape
    if n <= width:
        raise LingprobError(f"regression: {n} rows for {width} coefficients. It needs more data.")
    _check_rank(design, predictors)
    q, r = np.linalg.qr(design)
    coefficients = np.linalg.solve(r, q.T @ y)
    residual = y - design @ coefficients
    squares = float(residual @ residual)
    sigma = float(np.sqrt(squares / n))
    if sigma <= EXACT * np.sqrt(np.mean(y**2)):
        raise LingprobError(
            f"regression: the predictors explain {response!r} without any error. Is it computed "
            "from them, or constant?"
        )
    inverse = np.linalg.inv(r)
    errors = np.sqrt(squares / (n - width) * (inverse**2).sum(axis=1))
    names = ["Intercept", *predictors]
    log_likelihood = -0.5 * n * (np.log(2 * np.pi * squares / n) + 1)
    return LeastSquaresFit(
        response, pd.Series(coefficients, names), pd.Series(errors, names), sigma,
        float(log_likelihood), n,
    )  # fmt: skip


def _design(frame: pd.DataFrame, predictors: Sequence[str]) -> np.ndarray:
    return np.column_stack([np.ones(len(frame)), *(frame[p].to_numpy(float) for p in predictors)])


def _check_rank(design: np.ndarray, predictors: Sequence[str]) -> None:
    for place, name in enumerate(predictors, start=1):
        column = design[:, place]
        if np.ptp(column) == 0:
            raise LingprobError(
                f"regression: the predictor {name!r} is {column[0]} in every row, so it has no "
                "coefficient. Leave it out."
            )
    scaled = design / np.linalg.norm(design, axis=0)
    diagonal = np.abs(np.diag(np.linalg.qr(scaled, mode="r")))
    if (diagonal < COLLINEAR).any():
        place = int((diagonal < COLLINEAR).argmax())
        raise LingprobError(
            f"regression: the predictor {predictors[place - 1]!r} is a combination of those before "
            f"it ({['Intercept', *predictors[: place - 1]]}). Leave one out."
        )


class Moments:
    """Counts, means and central second moments of pairs (x, y), in groups, one chunk at a time.

    Chan's update keeps them as accurate as two passes over all the data would.
    """

    def __init__(self, groups: int) -> None:
        self.n = np.zeros(groups, dtype=np.int64)
        self.mean_x, self.mean_y = np.zeros(groups), np.zeros(groups)
        self.sxx, self.sxy, self.syy = np.zeros(groups), np.zeros(groups), np.zeros(groups)

    def add(self, group: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Add pairs: `group` integers, `x` and `y` float64, all of shape (n,)."""
        chunk = Moments(len(self.n))
        chunk.n = np.bincount(group, minlength=len(self.n))
        divisor = np.maximum(chunk.n, 1)

        def summed(values: np.ndarray) -> np.ndarray:
            return np.bincount(group, weights=values, minlength=len(self.n))

        chunk.mean_x, chunk.mean_y = summed(x) / divisor, summed(y) / divisor
        dx, dy = x - chunk.mean_x[group], y - chunk.mean_y[group]
        chunk.sxx, chunk.sxy, chunk.syy = summed(dx * dx), summed(dx * dy), summed(dy * dy)
        self.merge(chunk)

    def merge(self, other: Moments) -> None:
        """Add the pairs of another set, group by group."""
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        dx, dy = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        weight = self.n * share
        self.sxx += other.sxx + weight * dx * dx
        self.sxy += other.sxy + weight * dx * dy
        self.syy += other.syy + weight * dy * dy
        self.mean_x += share * dx
        self.mean_y += share * dy
        self.n = n

    def pooled(self) -> Moments:
        """Return the moments of all groups taken together, as a single group."""
        whole = Moments(1)
        for group in range(len(self.n)):
            part = Moments(1)
            for name, value in vars(self).items():
                setattr(part, name, value[group : group + 1])
            whole.merge(part)
        return whole


def frequency_slopes(
    tables: Iterable[pd.DataFrame], documents: Iterable[pd.DataFrame]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Regress tokens as `frequency_slope` does, after each of several start tokens.

    Args:
        tables, documents: as of `frequency_slope`, each with a column `start_token`.

    Returns one row per start token, and the rows of bins, both with `start_token`.
    """
    tables, documents = list(tables), list(documents)
    rows, bins = [], []
    for name in tables[0]["start_token"].unique():
        slope, binned = frequency_slope(
            *(
                [one[one["start_token"] == name].drop(columns="start_token") for one in parts]
                for parts in (tables, documents)
            )
        )
        rows.append({"start_token": name, **slope})
        bins.append(binned.assign(start_token=name))
    return pd.DataFrame(rows), pd.concat(bins, ignore_index=True)


def frequency_slope(
    tables: Iterable[pd.DataFrame], documents: Iterable[pd.DataFrame]
) -> tuple[dict[str, float], pd.DataFrame]:
    """Regress tokens' log-probability in context on their unigram log-probability (morcela, §5).

    Args:
        tables: one or more that `frequency_moments` made of the same corpus and unigrams, by bin.
        documents: those that it made of the same, by document.

    Returns:
        slope, intercept (nats), r, n_tokens and n_documents; slope_std_error, which takes
        documents, whose tokens have a topic in common, as the independent observations (the
        sandwich estimator of Liang & Zeger 1986; NaN for one document), and slope_std_error_tokens,
        which takes tokens as such; and a row for each bin that holds tokens: bin_low, bin_high,
        n_tokens, mean_unigram_logprob, mean_logprob and the population standard deviation
        sd_logprob (nats).

    Raises LingprobError if there are fewer than three tokens, or only tokens of one unigram
    log-probability.
    """
    first, *others = tables
    moments = _moments(first)
    for table in others:
        moments.merge(_moments(table))
    whole = first.assign(
        n_tokens=moments.n,
        mean_unigram_logprob=moments.mean_x,
        mean_logprob=moments.mean_y,
        sd_logprob=np.sqrt(moments.syy / np.maximum(moments.n, 1)),
    ).drop(columns=["sxx", "sxy", "syy"])
    regression = _regression(moments.pooled())
    return regression | _by_document(documents, moments.pooled(), regression), whole[
        whole["n_tokens"] > 0
    ].reset_index(drop=True)


def _moments(table: pd.DataFrame) -> Moments:
    moments = Moments(len(table))
    moments.n = table["n_tokens"].to_numpy()
    moments.mean_x = table["mean_unigram_logprob"].to_numpy(copy=True)
    moments.mean_y = table["mean_logprob"].to_numpy(copy=True)
    moments.sxx, moments.sxy, moments.syy = (
        table[name].to_numpy(copy=True) for name in ("sxx", "sxy", "syy")
    )
    return moments


def _regression(whole: Moments) -> dict[str, float]:
    n, sxx, sxy, syy = int(whole.n[0]), whole.sxx[0], whole.sxy[0], whole.syy[0]
    if n < 3 or sxx <= 0:
        raise LingprobError(
            f"the token-frequency regression has {n} tokens"
            f"{'' if n < 3 else ' of one and the same unigram log-probability'}: it needs three "
            "or more that differ. Use a larger corpus (morcela.frequency_corpus) or allow more "
            "tokens (morcela.frequency_tokens)."
        )
    slope = sxy / sxx
    residual = max(syy - slope * sxy, 0.0)
    return {
        "slope": float(slope),
        "slope_std_error_tokens": float(np.sqrt(residual / (n - 2) / sxx)),
        "intercept": float(whole.mean_y[0] - slope * whole.mean_x[0]),
        "r": float(sxy / np.sqrt(sxx * syy)) if syy > 0 else 0.0,
        "n_tokens": n,
    }


def document_sums(document: np.ndarray, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Return n_tokens and the sums x, y, xx and xy by document, from arrays of shape (n,)."""
    table = pd.DataFrame(
        {"document": document, "n_tokens": 1, "x": x, "y": y, "xx": x * x, "xy": x * y}
    )
    return table.groupby("document", as_index=False).sum()


def merge_documents(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Add up what `document_sums` made of parts of documents."""
    return pd.concat(tables, ignore_index=True).groupby("document", as_index=False).sum()


def _by_document(
    documents: Iterable[pd.DataFrame], whole: Moments, regression: dict[str, float]
) -> dict[str, float]:
    """Return slope_std_error and n_documents.

    A document's score is the sum of (x - mean x)(y - intercept - slope x) over its tokens.
    """
    sums = merge_documents(documents)
    mean_x, count = whole.mean_x[0], len(sums)
    found = {"slope_std_error": np.nan, "n_documents": count}
    if count > 1:
        left = sums["y"] - regression["intercept"] * sums["n_tokens"]
        left_x = sums["xy"] - regression["intercept"] * sums["x"]
        score = left_x - mean_x * left
        score -= regression["slope"] * (sums["xx"] - mean_x * sums["x"])
        variance = float((score**2).sum()) * count / (count - 1) / whole.sxx[0] ** 2
        found["slope_std_error"] = float(np.sqrt(variance))
    return found
