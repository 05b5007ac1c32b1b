"""Which colour and marker a model has, the same in every figure of every paper.

A group (a family, or what of it was fine-tuned for so many steps) has a colour and a marker; a
model has its group's marker and a shade of its colour, the darker the larger the model. Rules
ask for looks, so nothing here imports a plotting library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

# Okabe & Ito's palette, safe for colour-blind readers.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#7F7F7F"
# Of Tol's muted palette, what is far enough from the former.
WINE, OLIVE, INDIGO, TEAL, SAND = "#882255", "#999933", "#332288", "#44AA99", "#DDCC77"
BROWN = "#661100"

Models = Mapping[str, Mapping[str, Any]]
FAMILIES = {
    "pythia": (BLUE, "o"),
    "opt": (RED, "s"),
    "smollm2": (GREEN, "D"),
    "gpt2": (PURPLE, "^"),
    "trained": (ORANGE, "v"),
    "llama-3": (SKY, "P"),
    "bert": (GREY, "h"),
    "gpt2-chinese": (INDIGO, "<"),
    "ngram": (BLACK, "X"),
}
# For families of the user's own and fine-tuned models, in the catalog's order: neighbours
# differ in colour and in marker, and none is a known family's.
SPARE = tuple(
    (colour, markers[place])
    for markers, (place, colour) in product(
        ("pd*H8", "d*H8p", "*H8pd", "H8pd*", "8pd*H"), enumerate((TEAL, WINE, OLIVE, SAND, BROWN))
    )
)
# How far the smallest and the largest model of a group are from its colour, to white and black.
LIGHTEST, DARKEST = 0.45, 0.35
# How much farther from black its lightest shade is, for the eye to tell it from black.
BLACK_REACH = 1.6
# In place of its steps, of a model that was trained to the end.
LAST = 10**12


def describe_models(catalog: Models, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what figures and tables show of each model, by name.

    Args:
        catalog: the entries of all models, which settle every model's look.
        names: the models wanted, in the catalog's order whatever theirs; all of them if None.

    Returns:
        `title`, `family`, `family_title`, `parameters`, `group` (title of the family and, where
        there was any, of the fine-tuning), `group_colour`, `colour`, `marker`, `note` and `source`
        of each; `causal`, whether its scores are of text read from left to right; `place`, what of
        a family is sorted by: parameters, order of n-grams, steps of training; and `series`
        (`series_of`).
    """
    groups: dict[str, list[str]] = {}
    for name, entry in catalog.items():
        groups.setdefault(group_of(entry), []).append(name)
    spare = [group for group in groups if group not in FAMILIES]
    looks = FAMILIES | {group: SPARE[n % len(SPARE)] for n, group in enumerate(spare)}
    described = {}
    for group, members in groups.items():
        colour, marker = looks[group]
        sizes = sorted({size_of(catalog[name]) for name in members} - {0})
        for name in members:
            entry = catalog[name]
            size, shaded_by = entry.get("parameters"), size_of(entry)
            described[name] = {
                "title": entry["title"],
                "family": entry["family"],
                "family_title": entry["family_title"],
                "parameters": size,
                "group": group_title(entry),
                "group_colour": colour,
                "colour": (
                    shade(colour, sizes.index(shaded_by), len(sizes)) if shaded_by else colour
                ),
                "marker": marker,
                "note": entry.get("note", ""),
                "source": entry.get("source"),
                "causal": entry.get("source") != "scores" and entry.get("kind") != "masked",
                "series": series_of(name, entry),
                "place": [size or 0, entry.get("order", 0), entry.get("training_step", LAST)],
            }
    return {name: described[name] for name in catalog if names is None or name in names}


def by_size(names: Iterable[str], models: Models) -> list[str]:
    """Return models by size, n-grams by their order and states of a training by its steps."""

    def place(name: str) -> list[int]:
        return models[name].get("place") or [models[name].get("parameters") or 0, 0, LAST]

    return sorted(names, key=place)


def in_families(names: Iterable[str], models: Models) -> list[str]:
    """Return models by size within their families, which stay in the order of the first of each."""
    names = list(dict.fromkeys(names))
    families = list(dict.fromkeys(models[name]["family"] for name in names))
    return sorted(by_size(names, models), key=lambda name: families.index(models[name]["family"]))


def size_of(entry: Mapping[str, Any]) -> int:
    """Return a model's parameters, of n-grams their order; 0 where neither is known."""
    return int(entry.get("parameters") or entry.get("order") or 0)


def series_of(name: str, entry: Mapping[str, Any]) -> str:
    """Return what a model is one of several of; its own name if it is for itself.

    The states of a training share its final model's name, and the orders of n-grams over one corpus
    a name of their own.
    """
    if entry.get("source") == "ngram":
        return f"{entry['tokenizer']}/{entry['corpus']}"
    return f"trained-{entry['size']}" if "training_step" in entry else name


def group_of(entry: Mapping[str, Any]) -> str:
    """Return what models of one look have in common: the family and its state of (fine-)tuning."""
    return entry["family"] + _state(entry)


def group_title(entry: Mapping[str, Any]) -> str:
    """Return the name of a model's group in a legend."""
    return entry["family_title"] + _state(entry)


def _state(entry: Mapping[str, Any]) -> str:
    if step := entry.get("training_step"):
        return f", after step {step:,}"
    steps = entry.get("fine_tuning_steps", 0)
    return f", {steps} FT steps" if steps else ""


def shade(colour: str, place: int, count: int) -> str:
    """Return the shade of the model at a place (0 the smallest) among `count` sizes of a group.

    Shades go from light to dark in even steps; one model alone has the colour itself. Nothing is
    darker than black, whose darkest shade is itself.
    """
    if count < 2:
        return colour
    step = 2 * place / (count - 1) - 1
    if colour == BLACK:
        step = (step - 1) / 2 * BLACK_REACH
    end, part = (255, -LIGHTEST * step) if step < 0 else (0, DARKEST * step)
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    mixed = [round(channel + part * (end - channel)) for channel in channels]
    return "#" + "".join(f"{channel:02X}" for channel in mixed)
