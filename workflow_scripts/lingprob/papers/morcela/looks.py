"""How MORCELA's figures show linking functions."""

from __future__ import annotations

from matplotlib.lines import Line2D

from lingprob.figures import palette
from lingprob.figures.labels import handle, published_handle

R_LABEL = "Pearson r with ratings"
NO_UNIGRAMS = "no model has unigrams, without which MORCELA and SLOR cannot be fitted"
PARAMETER_LABELS = {"gamma": r"Optimal $\gamma$ (nats)", "beta": r"Optimal $\beta$"}
SHORT_LABELS = {"r_cv": "Pearson r", "beta": r"$\beta$", "gamma": r"$\gamma$ (nats)"}
NAMES = {
    "logprob": "Log-probability",
    "mean_logprob": "Mean log-probability",
    "slor": "SLOR",
    "morcela_gamma_0": r"MORCELA$_{\gamma=0}$",
    "morcela_beta_1": r"MORCELA$_{\beta=1}$",
    "morcela": "MORCELA",
}
LOOKS = {
    "logprob": (palette.GREY, "v"),
    "mean_logprob": (palette.SKY, "^"),
    "slor": (palette.ORANGE, "s"),
    "morcela_gamma_0": (palette.PURPLE, "P"),
    "morcela_beta_1": (palette.GREEN, "D"),
    "morcela": (palette.BLUE, "o"),
}


def linking_function_handles(
    linking_functions: list[str], published: bool = False, ceiling: bool = False
) -> list[Line2D]:
    """Return legend entries for linking functions, published values and the ceiling."""
    handles = [handle(NAMES[name], *LOOKS[name]) for name in linking_functions]
    if published:
        handles.append(published_handle(":"))
    if ceiling:
        handles.append(handle("highest possible", palette.BLACK, linestyle="--"))
        label = "halves of a sentence's judgments"
        handles.append(handle(label, palette.GREY, linestyle="-."))
    if published and ceiling:
        handles.append(handle("two groups of them, published", palette.GREY, linestyle=":"))
    return handles
