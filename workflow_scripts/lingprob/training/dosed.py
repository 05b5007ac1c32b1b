"""Catalog entries of models whose training has passages that people read: leakage by dose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lingprob.errors import looked_up
from lingprob.training.sizes import model_name

FAMILY = "dosed"


def dosed_name(size: str, copies: int) -> str:
    """Return the catalog name of a model whose training has so many copies of the passages.

    Without any it is the trained model itself.
    """
    return f"{FAMILY}-{size}-{copies}" if copies else model_name(size)


def dosed_sizes(doses: Mapping[str, Any], training: Mapping[str, Any]) -> list[str]:
    """Return the sizes of dosed models: those of the settings' section `doses`, by default all.

    Raises LingprobError for one that nothing trains.
    """
    for size in doses["sizes"] or []:
        looked_up("size", size, training["sizes"], "(doses.sizes) Sizes are in training.sizes.")
    return list(doses["sizes"] or training["sizes"])


def dosed_models(
    doses: Mapping[str, Any], training: Mapping[str, Any], trained: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return a catalog entry of source `trained` for every size and number of copies.

    Each is the entry of the trained model without passages but for its state (`copies`), and its
    unigrams, which are not of what it has met. None where no texts are named.

    Args:
        doses, training: these sections of the settings.
        trained: the entries of trained models, by name.
    """
    entries = {}
    sizes = dosed_sizes(doses, training)
    for size in sizes if doses["texts"] else []:
        base = trained[model_name(size)]
        for copies in doses["copies"]:
            entries[dosed_name(size, copies)] = {
                **base,
                "title": f"{base['title']}, {copies} {'copy' if copies == 1 else 'copies'}",
                "family": FAMILY,
                "copies": copies,
                "unigrams": [one for one in base["unigrams"] if not one.startswith("training_")],
            }
    return entries
