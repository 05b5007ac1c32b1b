"""Ordinary least squares on rows of a table, and on sums over the tokens of a corpus."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_values, unknown_name

INTERCEPT = "(Intercept)"
# A column is collinear if the others leave less than this share of its norm unexplained.
COLLINEAR = 1e-9
# A residual below this share of the response's norm is rounding.
EXACT = 1e-12
SUMS = ["x", "y", "xx", "xy", "yy"]


@dataclass(frozen=True)
class LeastSquaresFit:
    """A fitted linear regression with Gaussian errors.

    Series are by predictor, with `INTERCEPT` first. `sigma` is the maximum likelihood estimate of
    the residual standard deviation. `log_likelihood` (nats) is of the fitted data.
    """

    response: str
    coefficients: pd.Series
    standard_errors: pd.Series
    sigma: float
    log_likelihood: float
    n: int

    def log_likelihoods(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the log-likelihood (nats) of each row of `frame`, shape (len(frame),)."""
        design = design_matrix(frame, self.coefficients.index[1:])
        residual = frame[self.response].to_numpy(float) - design @ self.coefficients.to_numpy()
        return -0.5 * np.log(2 * np.pi * self.sigma**2) - residual**2 / (2 * self.sigma**2)


def fit_least_squares(
    frame: pd.DataFrame, response: str, predictors: Sequence[str]
) -> LeastSquaresFit:
    """Return the regression of a column on others and an intercept.

    Raises LingprobError for bad columns (`finite_column`), constant or collinear predictors, a
    perfect fit, or too few rows.
    """
    names = [INTERCEPT, *predictors]
    design = design_matrix(frame, predictors)
    y = finite_column(frame, response).astype(float)
    n, width = design.shape
    if n <= width:
        raise LingprobError(f"regression: {n} rows for {width} coefficients. It needs more data.")
    refuse_collinear("regression", names, design)
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
    log_likelihood = -0.5 * n * (np.log(2 * np.pi * squares / n) + 1)
    return LeastSquaresFit(
        response, pd.Series(coefficients, names), pd.Series(errors, names), sigma,
        float(log_likelihood), n,
    )  # fmt: skip


def design_matrix(frame: pd.DataFrame, predictors: Iterable[str]) -> np.ndarray:
    """Return ones and the predictors as columns, (n, 1 + k), checked by `finite_column`."""
    columns = [finite_column(frame, name) for name in predictors]
    return np.column_stack([np.ones(len(frame)), *columns])


def finite_column(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column (n,). Raises LingprobError unless it is there and all values are finite."""
    if name not in frame:
        raise unknown_name("column", name, map(str, frame.columns))
    column = frame[name]
    if not pd.api.types.is_numeric_dtype(column):
        raise LingprobError(
            f"{name}: {column.dtype} and not numbers. Code categories as numbers, such as 1 and -1."
        )
    nullable = pd.api.types.is_extension_array_dtype(column)
    values = column.to_numpy(np.float64, na_value=np.nan) if nullable else column.to_numpy()
    refuse_values(name, values, ~np.isfinite(values), "drop or complete such rows first")
    return values


def refuse_collinear(about: str, names: Sequence[str], design: np.ndarray) -> None:
    """Raise LingprobError for a column of (n, k) that is a combination of those before it.

    The first column is ones, so a constant column is such a combination. `about` begins the error.
    """
    scaled = design / (np.linalg.norm(design, axis=0) + np.finfo(float).tiny)  # 0 for zeros
    at_least_k_rows = np.vstack([scaled, np.zeros((len(names), len(names)))])
    left = np.abs(np.diag(np.linalg.qr(at_least_k_rows, mode="r"))) < COLLINEAR
    if left.any():
        place = int(left.argmax())
        raise LingprobError(
            f"{about}: {names[place]} is constant, or determined by {', '.join(names[:place])}. "
            "Leave it out, or give more varied rows."
        )


def sum_tokens(by: str, group: np.ndarray, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Return n_tokens and the sums x, y, xx, xy and yy of tokens (n,) by group, in column `by`."""
    sums = {by: group, "n_tokens": 1, "x": x, "y": y, "xx": x * x, "xy": x * y, "yy": y * y}
    return merge_sums([pd.DataFrame(sums)], by)


def merge_sums(tables: Iterable[pd.DataFrame], by: str | list[str]) -> pd.DataFrame:
    """Return the sum of tables of `sum_tokens` by group."""
    return pd.concat(tables, ignore_index=True).groupby(by, as_index=False, sort=False).sum()


def frequency_slopes(
    tables: Iterable[pd.DataFrame], documents: Iterable[pd.DataFrame]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return regressions of tokens' log-probability on their unigram log-probability (morcela, §5).

    Given the two tables of `frequency_moments` for each shard of a corpus, return one row per start
    token: slope, intercept (nats), r, n_tokens, n_documents, standard errors. `slope_std_error`
    assumes independent documents (sandwich estimator of Liang & Zeger 1986, NaN for one document),
    and `slope_std_error_tokens` independent tokens. Then one row per start token and bin with
    tokens: bin_low, bin_high, n_tokens, mean_unigram_logprob, mean_logprob and its population
    standard deviation sd_logprob (nats).
    """
    bins = merge_sums(tables, ["start_token", "bin_low", "bin_high"])
    by_document = merge_sums(documents, ["start_token", "document"])
    rows = [
        {"start_token": name, **_regression(by_document[by_document["start_token"] == name])}
        for name in bins["start_token"].unique()
    ]
    bins = bins[bins["n_tokens"] > 0]
    n, x, y, yy = (bins[name] for name in ("n_tokens", "x", "y", "yy"))
    bins = bins.assign(
        mean_unigram_logprob=x / n,
        mean_logprob=y / n,
        sd_logprob=np.sqrt(np.maximum(yy / n - (y / n) ** 2, 0.0)),
    ).drop(columns=SUMS)
    return pd.DataFrame(rows), bins.reset_index(drop=True)


def _regression(documents: pd.DataFrame) -> dict[str, float]:
    """Return the columns of `frequency_slopes`, given sums over the tokens of each document.

    A document's score is the sum of (x - mean x)(y - intercept - slope x) over its tokens.
    """
    n, count = int(documents["n_tokens"].sum()), len(documents)
    x, y, xx, xy, yy = documents[SUMS].sum()
    sxx = xx - x * x / n if n else 0.0
    if n < 3 or sxx <= EXACT * xx:
        raise LingprobError(
            f"the token-frequency regression has {n} tokens. It needs three with different unigram "
            "log-probabilities: raise morcela.frequency_tokens, or use another frequency_corpus."
        )
    sxy, syy = xy - x * y / n, max(yy - y * y / n, 0.0)
    slope, mean_x = sxy / sxx, x / n
    intercept = y / n - slope * mean_x
    residual = max(syy - slope * sxy, 0.0)
    score = documents["xy"] - intercept * documents["x"] - slope * documents["xx"]
    left = documents["y"] - intercept * documents["n_tokens"] - slope * documents["x"]
    score = score - mean_x * left
    variance = (score**2).sum() * count / (count - 1) / sxx**2 if count > 1 else np.nan
    return {
        "slope": float(slope),
        "slope_std_error": float(np.sqrt(variance)),
        "slope_std_error_tokens": float(np.sqrt(residual / (n - 2) / sxx)),
        "intercept": float(intercept),
        "r": float(sxy / np.sqrt(sxx * syy)) if syy > EXACT * yy else 0.0,
        "n_tokens": n,
        "n_documents": count,
    }
