"""Names, colours and markers of linking functions and model families in every figure."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.lines import Line2D

from lingprob.figures import style

NAMES = {
    "logprob": "Log-probability",
    "mean_logprob": "Mean log-probability",
    "slor": "SLOR",
    "morcela_gamma_0": r"MORCELA$_{\gamma=0}$",
    "morcela_beta_1": r"MORCELA$_{\beta=1}$",
    "morcela": "MORCELA",
}
COLOURS = {
    "logprob": style.GREY,
    "mean_logprob": style.SKY,
    "slor": style.ORANGE,
    "morcela_gamma_0": style.PURPLE,
    "morcela_beta_1": style.GREEN,
    "morcela": style.BLUE,
}
MARKERS = {
    "logprob": "v",
    "mean_logprob": "^",
    "slor": "s",
    "morcela_gamma_0": "P",
    "morcela_beta_1": "D",
    "morcela": "o",
}
FAMILIES = {"pythia": style.BLUE, "opt": style.RED, "smollm2": style.GREEN, "gpt2": style.PURPLE}
Models = dict[str, Any]


def short_title(name: str, models: Models) -> str:
    """Return a model's title less its family's name (Pythia 70M: 70M), in lines of 14 letters."""
    title, family = str(models[name]["title"]), str(models[name]["family_title"])
    return textwrap.fill(title.removeprefix(family).strip() or title, 14)


def family_colour(model: str, models: Models) -> str:
    """Return the colour of a model's family; black for a family of the user's own."""
    return FAMILIES.get(models[model]["family"], style.BLACK)


def linking_function_handles(
    linking_functions: list[str], published: bool, ceiling: bool
) -> list[Line2D]:
    """Return legend entries for linking functions, published values and the ceiling."""
    handles = [
        Line2D([], [], color=COLOURS[name], marker=MARKERS[name], label=NAMES[name])
        for name in linking_functions
    ]
    if published:
        handles.append(_published_handle(":"))
    if ceiling:
        label = "between halves of the participants"
        handles.append(Line2D([], [], color=style.BLACK, linestyle="--", label=label))
    return handles


def family_handles(names: list[str], models: Models, published: bool) -> list[Line2D]:
    """Return legend entries for the families of these models, and for published values."""
    families = {models[name]["family"]: str(models[name]["family_title"]) for name in names}
    handles = [
        Line2D(
            [],
            [],
            color=FAMILIES.get(family, style.BLACK),
            marker="o",
            linestyle="none",
            label=title,
        )
        for family, title in families.items()
    ]
    return handles + ([_published_handle("none")] if published else [])


def _published_handle(linestyle: str) -> Line2D:
    return Line2D(
        [],
        [],
        color=style.BLACK,
        marker="o",
        markerfacecolor="white",
        linestyle=linestyle,
        label="published",
    )
