"""Colours and markers of models, the same in every figure of every paper.

A group (a family, or its models after a number of fine-tuning steps) has a colour and a marker. A
model has the marker of its group and a shade of its colour, darker for larger models. Rules use
this module, so it imports no plotting library.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

# Okabe & Ito's palette, safe for colour-blind readers.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
GREY, DARK_GREY = "#7F7F7F", "#404040"
# The colours of Tol's muted palette that differ enough from Okabe & Ito's.
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
    "ngram": (DARK_GREY, "X"),
}
# Colours and markers of the user's families and of fine-tuned models, in the catalog's order.
# Neighbours differ in both, and no combination is that of a known family.
SPARE = tuple(
    (colour, markers[place])
    for markers, (place, colour) in product(
        ("pd*H8", "d*H8p", "*H8pd", "H8pd*", "8pd*H"), enumerate((TEAL, WINE, OLIVE, SAND, BROWN))
    )
)
# How far shades of a group's smallest and largest model go from its colour to white and black.
LIGHTEST, DARKEST = 0.45, 0.35
# The training step of a fully trained model.
LAST = 10**12


def describe_models(catalog: Models, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the titles, colours and markers of models for figures and tables, by name.

    All models of the catalog determine the colours. `names` are the models to return, in the
    catalog's order. A model has `title`, `family`, `family_title`, `parameters`, `group` (title of
    the family with its fine-tuning), `group_colour`, `colour`, `marker`, `note`, `source`, `kind`
    (`masked`, or None for other models), `causal` (it scores text from left to right), `place` (the
    sort key in a family: parameters, order of n-grams, training step) and `series` (`series_of`).
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
            entry, size = catalog[name], catalog[name].get("parameters")
            rank = sizes.index(size_of(entry)) if size_of(entry) else None
            described[name] = {
                **{key: entry[key] for key in ("title", "family", "family_title")},
                "parameters": size,
                "group": entry["family_title"] + _state(entry),
                "group_colour": colour,
                "colour": colour if rank is None else shade(colour, rank, len(sizes)),
                "marker": marker,
                "note": entry.get("note", ""),
                "source": entry.get("source"),
                "kind": "masked" if entry.get("kind") == "masked" else None,
                "causal": entry.get("source") != "scores" and entry.get("kind") != "masked",
                "series": series_of(name, entry),
                "place": [size or 0, entry.get("order", 0), entry.get("training_step", LAST)],
            }
    return {name: described[name] for name in catalog if names is None or name in names}


def by_size(names: Iterable[str], models: Models) -> list[str]:
    """Sort models by size, n-gram models by order, and checkpoints of one training by step."""
    return sorted(names, key=lambda name: models[name]["place"])


def in_families(names: Iterable[str], models: Models) -> list[str]:
    """Sort models by size within families. Families keep the order of their first models."""
    names = list(dict.fromkeys(names))
    families = list(dict.fromkeys(models[name]["family"] for name in names))
    return sorted(by_size(names, models), key=lambda name: families.index(models[name]["family"]))


def size_of(entry: Mapping[str, Any]) -> int:
    """Return a model's number of parameters, or an n-gram model's order, or 0 if unknown."""
    return int(entry.get("parameters") or entry.get("order") or 0)


def series_of(name: str, entry: Mapping[str, Any]) -> str:
    """Return the name of the series of models that figures join by a line, else the model's name.

    The checkpoints of a training share the name of its final model, and the n-gram models of a
    tokenizer and corpus share a name.
    """
    if entry.get("source") == "ngram":
        return f"{entry['tokenizer']}/{entry['corpus']}"
    return f"trained-{entry['size']}" if "training_step" in entry else name


def group_of(entry: Mapping[str, Any]) -> str:
    """Return the name of a model's group: the family and its state of training."""
    return entry["family"] + _state(entry)


def _state(entry: Mapping[str, Any]) -> str:
    """Return the state of training that a group's name ends in, or '' for a finished model."""
    if step := entry.get("training_step"):
        return f", after step {step:,}"
    steps = entry.get("fine_tuning_steps", 0)
    return f", {steps} FT steps" if steps else ""


def shade(colour: str, place: int, count: int) -> str:
    """Return the colour of the model at rank `place` (0: smallest) of `count` sizes in a group.

    Shades go from light to dark in even steps. A single model has the colour itself.
    """
    if count < 2:
        return colour
    step = 2 * place / (count - 1) - 1
    end, part = (255, -LIGHTEST * step) if step < 0 else (0, DARKEST * step)
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    mixed = [round(channel + part * (end - channel)) for channel in channels]
    return "#" + "".join(f"{channel:02X}" for channel in mixed)
