"""Judge effects of size and fine-tuning on perplexity (leakage, Figure 2 and §3.2).

Models are few and fixed, so intervals are over passages, which are the same for all models.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from lingprob.papers.leakage.reading_claims import joined, outside_range
from lingprob.papers.leakage.trends import slope_weights
from lingprob.papers.run import Found, Run, Tables, statistic
from lingprob.scorecard.comparison import Quantities, Statistic, score
from lingprob.scorecard.estimates import student
from lingprob.scorecard.verdicts import NOTHING, Estimate
from lingprob.training.sizes import ALL_TEXTS

FEWEST_SIZES = 3  # for a slope
FEWEST_PASSAGES = 3  # leave two degrees of freedom


def log_perplexity_contrast(passages: pd.DataFrame, weights: pd.Series) -> Estimate:
    """Return a weighted sum of models' log perplexities, with its interval over passages.

    Log perplexity is a ratio of sums over passages, of surprisals and of tokens. The standard error
    is that of a linearised ratio estimator, and the interval uses Student's t. Fewer than three
    passages give no estimate.

    Args:
        passages: a `passage_logprobs` table of one text, or of several together.
        weights: weights by (size, fine_tuning_steps). They sum to 0 for a difference or a slope.
    """
    items = ["corpus", "passage"]
    models = ["size", "fine_tuning_steps"]
    nats = passages.pivot(index=items, columns=models, values="logprob")[list(weights.index)]
    values = -nats.to_numpy() @ weights.to_numpy(float)
    tokens = passages.groupby(items)["n_tokens"].first().reindex(nats.index).to_numpy(float)
    n = len(values)
    if n < FEWEST_PASSAGES:
        return NOTHING
    value = float(values.sum() / tokens.sum())
    error = np.sqrt(n / (n - 1) * ((values - value * tokens) ** 2).sum()) / tokens.sum()
    return student(value, error, n - 1, n, f"{n} passages")


def falls_with_size(tables: Tables, run: Run) -> Found:
    """Yield the slope of ln perplexity on log10 parameters before fine-tuning, by text."""
    for text, part in _texts(tables["passage_logprobs"]):
        yield text, _contrast(part, {0: _slope_weights(part)})


@statistic
def by_fine_tuning(
    tables: Tables, run: Run, weights_of: Callable[[pd.DataFrame], pd.Series]
) -> Found:
    """Yield a weighted sum over sizes of ln perplexity after fine-tuning minus before.

    There is one value per text and number of fine-tuning steps.
    """
    for text, part in _texts(tables["passage_logprobs"]):
        weights = weights_of(part)
        for steps in sorted(int(steps) for steps in part["fine_tuning_steps"].unique() if steps):
            yield f"{text}, {steps} steps", _contrast(part, {steps: weights, 0: -weights})


def _equal_weights(passages: pd.DataFrame) -> pd.Series:
    """Return the weight of each size in the mean over sizes."""
    sizes = list(passages["size"].unique())
    return pd.Series(1 / len(sizes), index=sizes)


def _slope_weights(passages: pd.DataFrame) -> pd.Series:
    """Return the weight of each size in the slope on log10 parameters, empty for too few sizes."""
    sizes = passages.drop_duplicates("size").set_index("size")["parameters"]
    if len(sizes) < FEWEST_SIZES or sizes.nunique() < 2:
        return pd.Series(dtype=float)
    return slope_weights(sizes)


STATISTICS: dict[str, Statistic] = {
    "larger_models_have_lower_perplexity": falls_with_size,
    "fine_tuning_lowers_perplexity": by_fine_tuning(_equal_weights),
    "fine_tuning_lowers_perplexity_of_larger_models_more": by_fine_tuning(_slope_weights),
}


def _texts(passages: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (name, passages) of all texts together, if there are several, and of each text."""
    if passages["corpus"].nunique() > 1:
        yield ALL_TEXTS, passages
    for text, part in passages.groupby("corpus", sort=False):
        yield str(text), part


def _contrast(passages: pd.DataFrame, weights: dict[int, pd.Series]) -> Estimate:
    """Return `log_perplexity_contrast`, given weights by size for each number of steps."""
    by_state = {
        (size, steps): value for steps, part in weights.items() for size, value in part.items()
    }
    if not by_state:
        return NOTHING
    found = log_perplexity_contrast(passages, pd.Series(by_state))
    if found is NOTHING:
        return found
    return replace(found, note=joined(found.note, outside_range(passages["parameters"].max())))


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Return the `scorecard` of sizes (Table 1) and of the effects on perplexity (§3.2).

    Tables are `perplexity` and `passage_logprobs`.
    """
    sizes = tables["perplexity"].drop_duplicates("size")
    ours: Quantities = {
        (str(row.size), "parameters"): Estimate.exact(float(row.parameters))
        for row in sizes.itertuples()
    }
    return score(STATISTICS, tables, ours, run)
