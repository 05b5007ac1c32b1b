"""The perplexity part of Figure 2 of the paper on leakage (Oh, Zhu & Schuler 2025)."""

import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures.labels import handle, label_provenance, legend_above, wrapped_title
from lingprob.figures.panels import join_models, label_logarithmic, name_axes, wrapped
from lingprob.figures.style import draw_each
from lingprob.papers.run import Run, Tables
from lingprob.training.sizes import ALL_TEXTS


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw the perplexities of Figure 2 from the table `perplexity`. Returns figures by name."""
    figures = draw_each(
        {"figure_2_perplexity": lambda: perplexity_by_size(tables["perplexity"], run)}
    )
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
    perplexity = perplexity.assign(size_in_unit=perplexity["parameters"] / unit)
    perplexity = perplexity.sort_values(["fine_tuning_steps", "parameters"], kind="stable")
    for ax, corpus in zip(axes, corpora, strict=True):
        of_corpus = perplexity[perplexity["corpus"] == corpus]
        join_models(ax, of_corpus, "size_in_unit", "perplexity", run.models)
        ax.set_title("All texts" if corpus == ALL_TEXTS else wrapped_title(corpus, run.titles))
        ax.set_xscale("log")
        ax.set_yscale("log")
        label_logarithmic(ax.xaxis, sorted(of_corpus["size_in_unit"].unique()))
        label_logarithmic(ax.yaxis)
    name_axes(axes, f"Parameters ({unit_name})", "Perplexity (per token)", columns=3)
    by_steps = perplexity.drop_duplicates("fine_tuning_steps")
    handles = [
        handle(
            f"after {steps} fine-tuning steps" if steps else "before fine-tuning",
            run.models[model]["group_colour"],
            run.models[model]["marker"],
        )
        for model, steps in zip(by_steps["model"], by_steps["fine_tuning_steps"], strict=True)
    ]
    legend_above(figure, handles)
    return figure
