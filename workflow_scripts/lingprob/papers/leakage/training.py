"""Draw and judge perplexities by size and fine-tuning (leakage, Figure 2 and §3.2).

Models are few and fixed, so intervals are over passages, which are the same for all models.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures.labels import handle, label_provenance, legend_above, wrapped_title
from lingprob.figures.panels import draw_models, label_logarithmic, name_axes, wrapped
from lingprob.figures.style import draw_each
from lingprob.papers.leakage.reading_claims import joined, outside_range
from lingprob.papers.leakage.trends import slope_weights
from lingprob.papers.run import Found, Run, Tables, statistic
from lingprob.scorecard.comparison import Quantities, Statistic, score
from lingprob.scorecard.estimates import student
from lingprob.scorecard.verdicts import NOTHING, Estimate
from lingprob.training.sizes import ALL_TEXTS

FEWEST_SIZES = 3  # for a slope
FEWEST_PASSAGES = 3  # leave two degrees of freedom
STATE = ["fine_tuning_steps", "size"]


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw the perplexities of Figure 2 from the table `perplexity`. Returns figures by name."""
    makers = {"figure_2_perplexity": lambda: perplexity_by_size(tables["perplexity"], run)}
    figures = draw_each(makers)
    for figure in figures.values():
        label_provenance(figure, [run.scale], note=run.note)
    return figures


def perplexity_by_size(perplexity: pd.DataFrame, run: Run) -> Figure:
    """Draw perplexity by parameters before and after fine-tuning, one panel per corpus."""
    corpora = list(perplexity["corpus"].unique())
    figure, axes = wrapped(
        len(corpora), columns=3, width=2.1, height=1.7, margins=(0.6, 0.9), sharex=True
    )
    large = perplexity["parameters"].max() >= 1e6
    unit, unit_name = (1e6, "millions") if large else (1e3, "thousands")
    perplexity = perplexity.sort_values(["fine_tuning_steps", "parameters"], kind="stable")
    perplexity["size_in_unit"] = (perplexity["parameters"] / unit).map(lambda n: float(f"{n:.3g}"))
    for ax, corpus in zip(axes, corpora, strict=True):
        of_corpus = perplexity[perplexity["corpus"] == corpus]
        draw_models(ax, of_corpus, "size_in_unit", "perplexity", run.models)
        ax.set_title("All texts" if corpus == ALL_TEXTS else wrapped_title(corpus, run.titles))
        ax.set(xscale="log", yscale="log")
        label_logarithmic(ax.xaxis, sorted(of_corpus["size_in_unit"].unique()))
        label_logarithmic(ax.yaxis)
    name_axes(axes, f"Parameters ({unit_name})", "Perplexity (per token)", columns=3)
    handles = []
    for row in perplexity.drop_duplicates("fine_tuning_steps").itertuples():
        steps, look = row.fine_tuning_steps, run.models[row.model]
        label = f"after {steps} fine-tuning steps" if steps else "before fine-tuning"
        handles.append(handle(label, look["group_colour"], look["marker"]))
    legend_above(figure, handles)
    return figure


def log_perplexity_contrast(passages: pd.DataFrame, weights: pd.Series) -> Estimate:
    """Return a weighted sum of models' log perplexities, with its interval over passages.

    Log perplexity is a ratio of sums over passages, of surprisals and of tokens. The standard error
    is that of a linearised ratio estimator, and the interval uses Student's t. Fewer than three
    passages, or no weights, give no estimate.

    Args:
        passages: a `passage_logprobs` table of one text, or of several together.
        weights: weights by (fine_tuning_steps, size). They sum to 0 for a difference or a slope.
    """
    items = ["corpus", "passage"]
    tokens = passages.groupby(items)["n_tokens"].first()
    n = len(tokens)
    if n < FEWEST_PASSAGES or weights.empty:
        return NOTHING
    nats = passages.pivot(index=items, columns=STATE, values="logprob")[list(weights.index)]
    values = -nats.to_numpy() @ weights.to_numpy(float)
    of_passage = tokens.reindex(nats.index).to_numpy(float)
    value = float(values.sum() / of_passage.sum())
    squares = ((values - value * of_passage) ** 2).sum()
    error = np.sqrt(n / (n - 1) * squares) / of_passage.sum()
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


def _slope_weights(passages: pd.DataFrame) -> pd.Series:
    """Return the weight of each size in the slope on log10 parameters, empty for too few sizes."""
    sizes = passages.drop_duplicates("size").set_index("size")["parameters"]
    if len(sizes) < FEWEST_SIZES or sizes.nunique() < 2:
        return pd.Series(dtype=float)
    return slope_weights(sizes)


STATISTICS: dict[str, Statistic] = {
    "larger_models_have_lower_perplexity": falls_with_size,
    "fine_tuning_lowers_perplexity": by_fine_tuning(
        lambda passages: pd.Series(1 / passages["size"].nunique(), passages["size"].unique())
    ),
    "fine_tuning_lowers_perplexity_of_larger_models_more": by_fine_tuning(_slope_weights),
}


def _texts(passages: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (name, passages) of all texts together, if there are several, and of each text."""
    if passages["corpus"].nunique() > 1:
        yield ALL_TEXTS, passages
    for text, part in passages.groupby("corpus", sort=False):
        yield str(text), part


def _contrast(passages: pd.DataFrame, weights: Mapping[int, pd.Series]) -> Estimate:
    """Return `log_perplexity_contrast` of weights by size for each number of steps."""
    found = log_perplexity_contrast(passages, pd.concat(weights))
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
