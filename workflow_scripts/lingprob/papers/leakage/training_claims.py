"""What fine-tuning on the texts does to perplexity, by model size (leakage, Figure 2 and §3.2).

Models are few and fixed; what is uncertain is the texts, so the passages vary, the same ones for
all models.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats

from lingprob.papers.run import Run, Tables
from lingprob.scorecard.comparison import (
    Quantities,
    Statistic,
    compare_numbers,
    judge_claims,
    make_scorecard,
)
from lingprob.scorecard.estimates import CONFIDENCE
from lingprob.scorecard.verdicts import NOTHING, Estimate
from lingprob.training.sizes import ALL_TEXTS

KEYS = ["parameters", "fine_tuning_steps"]
FEWEST = 2  # sizes of a slope: they are fixed, and passages vary


def log_perplexity_contrast(passages: pd.DataFrame, weights: pd.Series) -> Estimate:
    """Return a weighted sum of models' log perplexities, with its interval over passages.

    Log perplexity is a ratio of sums over passages, of surprisals and of tokens, so the standard
    error is that of a ratio estimator (linearised); the interval is Student's t's.

    Args:
        passages: a `passage_logprobs` table of one corpus, or of several together.
        weights: by (parameters, fine_tuning_steps); those of a difference or a slope sum to 0.
    """
    items = ["corpus", "passage"]
    nats = passages.pivot(index=items, columns=KEYS, values="logprob")[list(weights.index)]
    values = -nats.to_numpy() @ weights.to_numpy(float)
    tokens = passages.groupby(items)["n_tokens"].first().reindex(nats.index).to_numpy(float)
    n = len(values)
    if n < 2:
        return NOTHING
    value = float(values.sum() / tokens.sum())
    error = np.sqrt(n / (n - 1) * ((values - value * tokens) ** 2).sum()) / tokens.sum()
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * error)
    return Estimate(value, value - reach, value + reach, n, f"{n} passages")


def falls_with_size(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield the slope of ln perplexity on log10 parameters before fine-tuning, by corpus."""
    for corpus, part in _corpora(tables["passage_logprobs"]):
        weights = _slope_weights(part)
        yield corpus, _contrast(part, {0: weights})


def falls_with_fine_tuning(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield what fine-tuning adds to ln perplexity: its mean over sizes, by corpus and steps."""
    for corpus, part in _corpora(tables["passage_logprobs"]):
        sizes = sorted(part["parameters"].unique())
        each = pd.Series(1 / len(sizes), index=sizes)
        for steps in _fine_tuned(part):
            yield f"{corpus}, {steps} steps", _contrast(part, {steps: each, 0: -each})


def falls_more_with_size(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield the slope after fine-tuning less that before, by corpus and steps."""
    for corpus, part in _corpora(tables["passage_logprobs"]):
        weights = _slope_weights(part)
        for steps in _fine_tuned(part):
            yield f"{corpus}, {steps} steps", _contrast(part, {steps: weights, 0: -weights})


STATISTICS: dict[str, Statistic] = {
    "larger_models_have_lower_perplexity": falls_with_size,
    "fine_tuning_lowers_perplexity": falls_with_fine_tuning,
    "fine_tuning_lowers_perplexity_of_larger_models_more": falls_more_with_size,
}


def _corpora(passages: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    if passages["corpus"].nunique() > 1:
        yield ALL_TEXTS, passages
    for corpus, part in passages.groupby("corpus", sort=False):
        yield str(corpus), part


def _fine_tuned(passages: pd.DataFrame) -> list[int]:
    return sorted(int(steps) for steps in passages["fine_tuning_steps"].unique() if steps)


def _slope_weights(passages: pd.DataFrame) -> pd.Series:
    """Return what each size counts in the slope on log10 parameters; nothing for one size."""
    sizes = sorted(passages["parameters"].unique())
    if len(sizes) < FEWEST:
        return pd.Series(dtype=float)
    x = np.log10(np.asarray(sizes, float))
    return pd.Series((x - x.mean()) / ((x - x.mean()) ** 2).sum(), index=sizes)


def _contrast(passages: pd.DataFrame, weights: dict[int, pd.Series]) -> Estimate:
    by_state = {
        (size, steps): value for steps, part in weights.items() for size, value in part.items()
    }
    return log_perplexity_contrast(passages, pd.Series(by_state)) if by_state else NOTHING


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Compare the models' sizes (Table 1), and what fine-tuning does to perplexity (§3.2).

    Takes the tables `perplexity` and `passage_logprobs`; returns a `scorecard`.
    """
    sizes = tables["perplexity"].drop_duplicates("size")
    ours: Quantities = {
        (str(row.size), "parameters"): Estimate.exact(float(row.parameters))
        for row in sizes.itertuples()
    }
    claims = judge_claims(run.published, STATISTICS, tables, run)
    return make_scorecard(claims + compare_numbers(run.published, ours, run.scale))
