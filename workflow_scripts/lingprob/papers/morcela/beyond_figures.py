"""Figures beyond the paper: transfer between data sets, curves, and single judgments."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import dataset_label, handle, legend_above, model_handles
from lingprob.figures.panels import blank, grid, whiskers, wrapped
from lingprob.papers.contract import Run, Tables
from lingprob.papers.morcela.looks import NAMES, NO_UNIGRAMS, PARAMETER_LABELS

EXPONENTS = (-1.0, 3.0)  # searched by regression.linking_shapes
METHODS = {"z-scored means": "white", "ordinal mixed model": None}


def draw_beyond(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw `transfer` and `beyond_linear`, where their tables have rows.

    Args:
        tables: `transfer`, `shapes`, `curves` and `ordinal`.
        run: titles of data sets and looks of models.
    """
    return {
        "transfer": transfer_matrices(tables["transfer"], run),
        "beyond_linear": beyond_linear(tables["shapes"], tables["curves"], tables["ordinal"], run),
    }


def transfer_matrices(transfer: pd.DataFrame, run: Run) -> Figure:
    """r of MORCELA fitted to one data set (row) with another (column), a panel a model.

    Rows name beta and gamma of the fit. The last row is SLOR, which learns nothing but its sign.
    """
    transfer = transfer.dropna(subset=["r"])
    transfer = transfer[transfer["linking_function"].isin(["morcela", "slor"])]
    models = list(dict.fromkeys(transfer["model"]))
    datasets = list(dict.fromkeys(transfer["applied_to"]))
    if not models:
        return blank(NO_UNIGRAMS)
    columns = 2 if len(models) > 1 else 1
    height = 0.9 + 0.42 * (len(datasets) + 1)
    figure, axes = wrapped(
        len(models), columns=columns, width=style.PAGE_INCHES / 2, height=height, narrowest=5.0
    )
    for ax, model in zip(axes, models, strict=True):
        of_model = transfer[transfer["model"] == model]
        _draw_matrix(ax, of_model, datasets, run)
        ax.set_title(str(run.models[model]["title"]))
    return figure


def _draw_matrix(ax: Axes, of_model: pd.DataFrame, datasets: list[str], run: Run) -> None:
    """Draw r of MORCELA by data set fitted to and applied to, and SLOR's below."""
    morcela = of_model[of_model["linking_function"] == "morcela"]
    slor = of_model[of_model["linking_function"] == "slor"]
    # SLOR has one slope, whose sign alone matters: its r is that of its own fit.
    rows = [morcela[morcela["fitted_to"] == name] for name in datasets]
    rows.append(slor[slor["fitted_to"] == slor["applied_to"]])
    shown = [row.set_index("applied_to").reindex(datasets) for row in rows]
    values = np.array([row["r"].to_numpy(float) for row in shown])
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.grid(False)
    for y, row in enumerate(shown):
        for x, (_, cell) in enumerate(row.iterrows()):
            if np.isfinite(cell["r"]):
                text = f"{cell['r']:.2f}\n({cell['r_low']:.2f} to {cell['r_high']:.2f})"
                colour = "white" if cell["r"] > 0.6 else palette.BLACK
                ax.text(x, y, text, ha="center", va="center", fontsize=5.5, color=colour)
    narrow = [fill(run.titles.get(name, name), max(44 // len(datasets), 11)) for name in datasets]
    names = [fill(run.titles.get(name, name), 18) for name in datasets]
    labels = [
        f"{name}\n" + rf"$\beta$ {row['beta'].iloc[0]:.2f}, $\gamma$ {row['gamma'].iloc[0]:.1f}"
        if len(row := morcela[morcela["fitted_to"] == dataset])
        else name
        for name, dataset in zip(names, datasets, strict=True)
    ]
    ax.set_xticks(range(len(datasets)), narrow, fontsize=5.5)
    ax.set_yticks(range(len(datasets) + 1), [*labels, NAMES["slor"]], fontsize=6)
    ax.set_xlabel("r with (of ratings, or labels)", fontsize=7)
    ax.set_ylabel("MORCELA fitted to", fontsize=7)


def beyond_linear(
    shapes: pd.DataFrame, curves: pd.DataFrame, ordinal: pd.DataFrame, run: Run
) -> Figure:
    """The power of length, splines of frequency and length, and fits to single judgments.

    All with 95% intervals: of the profile likelihood, of splines pointwise, Fieller's for beta and
    gamma. A row a data set; models in their colours. Dotted: MORCELA.
    """
    datasets = list(dict.fromkeys(shapes["dataset"])) or [""]  # none where no model has unigrams
    figure, axes = grid(
        len(datasets), 4, width=style.PAGE_INCHES / 4, height=2.3, margins=(0.0, 0.7),
        narrowest=style.PAGE_INCHES,
    )  # fmt: skip
    for row, dataset in zip(axes, datasets, strict=True):
        chosen = [table[table["dataset"] == dataset] for table in (shapes, curves, ordinal)]
        _draw_exponents(row[0], chosen[0], run)
        for ax, term, label in (
            (row[1], "u/l", "Unigram log-probability\nof a token (nats)"),
            (row[2], "l", "Length (tokens)"),
        ):
            _draw_curves(ax, chosen[1][chosen[1]["term"] == term], run)
            ax.set_xlabel(label)
        _draw_methods(row[3], chosen[2], run)
        row[0].set_ylabel(dataset_label("Models", dataset, datasets, run.titles))
        row[1].set_ylabel("Effect on rating")
    handles = model_handles(dict.fromkeys(shapes["model"]), run.models)
    handles += [
        handle("MORCELA", palette.BLACK, linestyle=":"),
        *(
            handle(name, palette.BLACK, "o", "none", markerfacecolor=face or palette.BLACK)
            for name, face in METHODS.items()
        ),
    ]
    legend_above(figure, handles, columns=4)
    return figure


def _draw_exponents(ax: Axes, shapes: pd.DataFrame, run: Run) -> None:
    powers = shapes[shapes["shape"] == "length exponent"].reset_index(drop=True)
    for place, fit in powers.iterrows():
        look = run.models[fit["model"]]
        # An open end is drawn to the edge of what was searched.
        ends = [fit["alpha_low"], fit["alpha_high"]]
        low, high = np.where(np.isnan(ends), EXPONENTS, ends)
        ax.errorbar(
            fit["alpha"],
            place,
            xerr=whiskers(fit["alpha"], low, high),
            color=look["colour"],
            marker=look["marker"],
        )
    ax.axvline(1, color=palette.GREY, linewidth=0.8, linestyle=":")
    ax.set_yticks([])
    ax.set_ylim(max(len(powers), 1) - 0.5, -0.5)
    ax.set_xlabel(r"Power of length, $\alpha$")


def _draw_curves(ax: Axes, curves: pd.DataFrame, run: Run) -> None:
    for model, curve in curves.groupby("model", sort=False):
        colour = run.models[model]["colour"]
        ax.plot(curve["value"], curve["effect"], color=colour)
        ax.plot(curve["value"], curve["linear"], color=colour, linestyle=":", linewidth=1.0)
        ax.fill_between(
            curve["value"], curve["effect_low"], curve["effect_high"], color=colour, alpha=0.2,
            linewidth=0,
        )  # fmt: skip


def _draw_methods(ax: Axes, ordinal: pd.DataFrame, run: Run) -> None:
    """Draw beta and gamma from means and from single judgments, with both intervals."""
    morcela = ordinal[ordinal["linking_function"] == "morcela"]
    for _, fit in morcela.iterrows():
        look = run.models[fit["model"]]
        face = METHODS[fit["method"]] or look["colour"]
        ax.errorbar(
            fit["beta"],
            fit["gamma"],
            xerr=whiskers(fit["beta"], fit["beta_low"], fit["beta_high"]),
            yerr=whiskers(fit["gamma"], fit["gamma_low"], fit["gamma_high"]),
            color=look["colour"],
            marker=look["marker"],
            markerfacecolor=face,
            elinewidth=0.8,
        )
    if morcela.empty:
        ax.text(0.5, 0.5, "no single judgments", transform=ax.transAxes, ha="center", fontsize=7)
        ax.set_axis_off()
        return
    ax.set_xlabel(PARAMETER_LABELS["beta"])
    ax.set_ylabel(PARAMETER_LABELS["gamma"])
