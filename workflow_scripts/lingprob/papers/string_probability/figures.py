"""Draw Figures 1 to 8 of the paper on string probability (Hu et al. 2026)."""

from collections.abc import Callable, Collection
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import (
    few_handles,
    group_handles,
    handle,
    label_provenance,
    legend_above,
    wrapped_title,
)
from lingprob.figures.panels import (
    BITS_LABEL,
    bits_a_byte,
    draw_models,
    frame,
    grid,
    name_axes,
    wrapped,
)
from lingprob.figures.style import draw_each
from lingprob.papers.run import Run, Tables, judged
from lingprob.papers.string_probability.data import pairs_of, variables
from lingprob.papers.string_probability.separation_figures import (
    GRAMMATICAL,
    accuracies,
    areas,
    curves,
    distributions,
    grammatical_handles,
    panel_title,
)
from lingprob.stimuli.sentences import TOY_GRAMMATICAL, TOY_WORDS

POINTS_SHOWN = 2000
MOST_BANDS = 6
CONFOUND_LINES = {
    "r": ("r", palette.BLACK, "-"),
    "r_common_spread": ("r at a common spread", palette.BLUE, "--"),
    "r_without_length": ("r without length", palette.ORANGE, ":"),
}
# Values at chance.
NOTHING_TOLD = {"auc": 0.5, "accuracy": 0.5, "r": 0.0}


def draw(tables: Tables, run: Run, pooled: Collection[str] = ()) -> dict[str, Figure]:
    """Draw every figure, by name.

    Args:
        tables: `string_scores`, `string_correlations` and `string_separation` of all models,
            `string_roc` and `string_confounds` of those with panels, `stimuli`, `toy_surprisals`.
        pooled: names of the data sets that Figure 4 pools.
    """
    scores, own, correlations = (
        judged(tables[f"string_{name}"], run) for name in ("scores", "separation", "correlations")
    )
    every_r, separation = tables["string_correlations"], tables["string_separation"]
    keys = separation[["model", "dataset"]].drop_duplicates()
    third = scores.merge(keys, on=["model", "dataset"])
    is_pooled = third["dataset"].isin(pooled)
    together = third[is_pooled | ~is_pooled.groupby(third["model"]).transform("any")]
    toy, confounds = tables["toy_surprisals"], tables["string_confounds"]
    makers: dict[str, Callable[[], Figure]] = {
        "figure_1a": toy_cube,
        "figure_1b": lambda: toy_strings(toy, run),
        "figure_2a": lambda: pairs_by_prediction(scores, correlations, run, 1),
        "figure_2b": lambda: correlation_by_bin(every_r, run, 1),
        "figure_3a": lambda: pairs_by_prediction(scores, correlations, run, 2),
        "figure_3b": lambda: correlation_by_bin(every_r, run, 2),
        "figure_4a": lambda: distributions(together, run, by_dataset=False),
        "figure_4b": lambda: areas(separation, run),
        "figure_5": lambda: distributions(third, run, by_dataset=True),
        "figure_6": lambda: curves(tables["string_roc"], own, run),
        "figure_8": lambda: accuracies(separation, run),
        "deconfounded": lambda: deconfounded(confounds, run),
        "quality": lambda: quality(tables, run),
    }
    figures = draw_each(makers)
    second = correlations[correlations["prediction"] == 2]
    notes = {"figure_1a": run.note, "figure_1b": run.model_notes(toy["model"])}
    for name, figure in figures.items():
        note = notes.get(name, run.model_notes(separation["model"]))
        rated = name.startswith("figure_3") or name == "deconfounded"
        if rated and second["simulated"].any():
            label_provenance(figure, [run.scale], ["simulated"])
        else:
            label_provenance(figure, [run.scale], note=note)
    return figures


def toy_cube() -> Figure:
    """Draw Figure 1a: the eight toy strings at the corners of a cube, whose edges are edits."""
    figure, ((ax,),) = grid(1, 1, width=3.4, height=2.6, margins=(0.0, 0.0))
    corners = list(product((0, 1), repeat=3))
    x, y = (np.array(corners) @ [[1.0, 0.0], [0.0, 1.0], [0.42, 0.38]]).T
    for place, corner in enumerate(corners):
        words = tuple(options[at] for options, at in zip(TOY_WORDS, corner, strict=True))
        for other in range(place):
            if np.abs(np.subtract(corner, corners[other])).sum() == 1:
                ends = [place, other]
                ax.plot(x[ends], y[ends], color=palette.GREY, linewidth=0.8, zorder=1)
        colour = GRAMMATICAL[words in TOY_GRAMMATICAL][0]
        ax.plot(x[place], y[place], "o", color=colour)
        star = "" if words in TOY_GRAMMATICAL else "*"
        ax.annotate(f"{star}{' '.join(words)}", (x[place], y[place]), (0, 5), fontsize=6,
                    textcoords="offset points", ha="center",
                    bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"})  # fmt: skip
    ax.set_axis_off()
    ax.margins(0.25, 0.15)
    legend_above(figure, grammatical_handles())
    return figure


def toy_strings(toy: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 1b: surprisal of the eight toy strings, one panel per model."""
    names = list(dict.fromkeys(toy["model"]))
    figure, axes = wrapped(len(names), width=2.9, height=2.8, narrowest=3.6)
    for ax, name in zip(axes, names, strict=True):
        strings = toy[toy["model"] == name].sort_values("surprisal", ascending=False)
        colours = [GRAMMATICAL[bool(flag)][0] for flag in strings["grammatical"]]
        stars = ["" if flag else "*" for flag in strings["grammatical"]]
        labels = [star + text for star, text in zip(stars, strings["text"], strict=True)]
        ax.barh(range(len(strings)), strings["surprisal"], color=colours, height=0.7)
        ax.set_yticks(range(len(strings)), labels, fontsize=7)
        ax.grid(axis="y", visible=False)
        ax.set_title(run.models[name]["title"])
        ax.set_xlabel("Surprisal (bits)")
    legend_above(figure, grammatical_handles())
    return figure


def pairs_by_prediction(
    scores: pd.DataFrame, correlations: pd.DataFrame, run: Run, prediction: int
) -> Figure:
    """Draw Figures 2a and 3a: the pairs behind each correlation.

    At most 2,000 pairs are drawn. r and its interval are of all pairs.
    """
    overall = correlations[
        (correlations["prediction"] == prediction) & (correlations["subset"] == "overall")
    ]
    figure, axes = wrapped(len(overall), height=1.75)
    for ax, row in zip(axes, overall.itertuples(), strict=True):
        chosen = (scores["model"] == row.model) & (scores["dataset"] == row.dataset)
        pairs = variables(pairs_of(scores[chosen]), prediction)
        x, y = pairs["x"].to_numpy(), pairs["y"].to_numpy()
        shown = np.random.default_rng(0).permutation(len(x))[:POINTS_SHOWN]
        ax.plot(
            x[shown], y[shown], ".", color=palette.BLUE, alpha=0.25, markersize=2.5, rasterized=True
        )
        if prediction == 1 and len(x):
            ends = [min(x.min(), y.min()), max(x.max(), y.max())]
            ax.plot(ends, ends, color=palette.GREY, linewidth=0.8)
        else:
            ax.axhline(0, color=palette.GREY, linewidth=0.8)
            ax.axvline(0, color=palette.GREY, linewidth=0.8)
        ax.set_title(panel_title(row, run, overall), fontsize=7)
        said = f"r undefined, n = {row.n:,}"
        if pd.notna(row.r):
            said = f"r = {row.r:.2f} [{row.r_low:.2f}, {row.r_high:.2f}]\nn = {row.n:,}"
        ax.text(0.03, 0.97, said, transform=ax.transAxes, va="top", fontsize=6)
    labels = {
        1: ("log p, grammatical (nats)", "log p, ungrammatical (nats)"),
        2: ("Rating difference", "log p difference (nats)"),
    }[prediction]
    name_axes(axes, *labels)
    return figure


def correlation_by_bin(correlations: pd.DataFrame, run: Run, prediction: int) -> Figure:
    """Draw Figures 2b and 3b: r within bins of cosine distance, one panel per data set.

    Bands are 95% bootstrap intervals, drawn for at most MOST_BANDS models. A bin in which nothing
    varies has no point.
    """
    bins = correlations[
        (correlations["prediction"] == prediction) & (correlations["subset"] == "bin")
    ]
    datasets = list(dict.fromkeys(bins["dataset"]))
    names = palette.in_families(bins["model"], run.models)
    # A legend of several models needs more than two panels' width.
    figure, axes = wrapped(len(datasets), height=1.7, sharey=True, narrowest=5.0)
    for ax, dataset in zip(axes, datasets, strict=True):
        for name in names:
            line = bins[(bins["dataset"] == dataset) & (bins["model"] == name)]
            x = line["name"].astype(int)
            colour, marker = run.models[name]["colour"], run.models[name]["marker"]
            ax.plot(x, line["r"], marker=marker, markersize=3, color=colour)
            if len(names) <= MOST_BANDS:
                ends = line["r_low"], line["r_high"]
                ax.fill_between(x, *ends, color=colour, alpha=0.2, linewidth=0)
        if prediction == 2:  # r of Prediction 1 is far above 0
            ax.axhline(0, color=palette.GREY, linewidth=0.8)
        ax.set_title(wrapped_title(dataset, run.titles), fontsize=7)
        third = bins[bins["dataset"] == dataset].drop_duplicates("name")[::3]
        means = [f"{mean:.2g}" for mean in third["cosine_mean"]]
        ax.set_xticks(third["name"].astype(int), means, fontsize=6)
    name_axes(axes, "Bins, mean cosine distance", "Pearson r")
    legend_above(figure, few_handles(names, run.models), columns=3)
    return figure


def deconfounded(confounds: pd.DataFrame, run: Run) -> Figure:
    """Draw r in each bin: as it is, at a common spread and without length, by model and data set.

    Bands are 95% bootstrap intervals. Below each title: the change of r and of r at a common spread
    from the first to the last bin.
    """
    groups = list(confounds.groupby(["prediction", "model", "dataset"], sort=False))
    figure, axes = wrapped(len(groups), height=1.9)
    for ax, ((prediction, _, _), group) in zip(axes, groups, strict=True):
        lines = group[group["subset"] == "bin"]
        for quantity, (_, colour, linestyle) in CONFOUND_LINES.items():
            line = lines[lines["quantity"] == quantity]
            x = line["name"].astype(int)
            ax.plot(x, line["value"], linestyle, color=colour, linewidth=1.1)
            bounds = line["value_low"], line["value_high"]
            ax.fill_between(x, *bounds, color=colour, alpha=0.12, linewidth=0)
        changes = group[group["subset"] == "change"].set_index("quantity")
        said = [
            f"{short} {changes.loc[key, 'value']:+.3f} "
            f"[{changes.loc[key, 'value_low']:+.3f}, {changes.loc[key, 'value_high']:+.3f}]"
            for key, short in (("r", "r"), ("r_common_spread", "common"))
        ]
        ax.text(0.03, 0.03, "\n".join(said), transform=ax.transAxes, fontsize=4.8)
        title = panel_title(next(group.itertuples()), run, confounds)
        ax.set_title(f"{title}\nPrediction {prediction}b", fontsize=6.5)
    name_axes(axes, "Bin by cosine distance", "Pearson r")
    legend_above(
        figure, [handle(label, colour, "", line) for label, colour, line in CONFOUND_LINES.values()]
    )
    return figure


def quality(tables: Tables, run: Run) -> Figure:
    """Draw r, area under the ROC curve and accuracy of log p against bits per byte, by data set.

    Bits per byte are of grammatical sentences. Lines join the states of one training, and the
    orders of n-grams. Intervals are 95% of the bootstrap.

    Only models that read from left to right (`causal`) have bits per byte. Imported scores and
    pseudo-log-likelihoods are no code lengths of a text.
    """
    points = points_of(tables)
    points = points[[run.models[name]["causal"] for name in points["model"]]]
    points = points.merge(quality_of(tables), on=["model", "dataset"])
    points = points.dropna(subset=["bits", "value"])
    panels = list(points.groupby(["label", "dataset"], sort=False))
    figure, axes = wrapped(len(panels), height=1.8)
    for ax, ((label, dataset), panel) in zip(axes, panels, strict=True):
        draw_models(ax, panel, "bits", "value", run.models, joined="series")
        frame(ax, panel, "value")
        ax.axhline(NOTHING_TOLD[panel["quantity"].iloc[0]], color=palette.GREY, linewidth=0.8)
        ax.set_title(f"{wrapped_title(str(dataset), run.titles)}\n{label}", fontsize=7)
    name_axes(axes, BITS_LABEL.format("its\ngrammatical sentences"), "")
    legend_above(figure, group_handles(points["model"], run.models, "none"), columns=4)
    return figure


def points_of(tables: Tables) -> pd.DataFrame:
    """Return one row per model, data set and quantity: label, value, value_low and value_high."""
    overall, separation = tables["string_correlations"], tables["string_separation"]
    overall = overall[overall["subset"] == "overall"]
    whole = separation[(separation["phenomenon"] == "") & (separation["metric"] == "logprob")]
    whole = whole[whole["dataset"].isin(tables["string_scores"]["dataset"])]
    parts = [
        (overall[overall["prediction"] == 1], "r", "r of Prediction 1"),
        (overall[overall["prediction"] == 2], "r", "r of Prediction 2"),
        (whole, "auc", "Area under ROC curve"),
        (whole[whole["n_pairs"] > 0], "accuracy", "Accuracy on pairs"),
    ]
    found = []
    for table, quantity, label in parts:
        ends = {f"{quantity}{end}": f"value{end}" for end in ("", "_low", "_high")}
        named = table[["model", "dataset", *ends]].rename(columns=ends)
        found.append(named.assign(label=label, quantity=quantity))
    return pd.concat(found, ignore_index=True)


def quality_of(tables: Tables) -> pd.DataFrame:
    """Return the bits per byte of grammatical sentences by model and data set: column `bits`."""
    scores, keys = tables["string_scores"], ["dataset", "item_id"]
    good = scores[scores["grammatical"]].merge(tables["stimuli"][[*keys, "text"]], on=keys)
    rows = [
        (*key, bits_a_byte(part["logprob"], part["text"]))
        for key, part in good.groupby(["model", "dataset"], sort=False)
    ]
    return pd.DataFrame(rows, columns=["model", "dataset", "bits"])
