"""A ladder of models: quantities of a paper against how good and how large its models are.

Quality is bits a byte of sentences that every model scored, as acceptable ones: the same for all
tokenizers, and no lower bound of anything else. A run says in `options["ladder"]` which models are
steps of one training or orders of one n-gram model (`plan.Plan.ladder_facts`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

Facts = Mapping[str, Mapping[str, Any]]
MODEL = {"kind": "model", "series": "", "ladder": False, "has_quality": True}


def facts_of(facts: Facts, model: str) -> Mapping[str, Any]:
    """Return what a model is one of several of; a paper's own models are each for itself."""
    return facts.get(model, {**MODEL, "series": model})


def of_models(
    table: pd.DataFrame, facts: Facts, kinds: Collection[str] = ("model",)
) -> pd.DataFrame:
    """Return the rows of models of these kinds: neither a step of a training nor, unless asked for,
    an order of n-grams."""
    kept = [facts_of(facts, name)["kind"] in kinds for name in table["model"]]
    return table[np.array(kept, dtype=bool)]


def without_ladder(table: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """Return the rows of the paper's models, less those that are of the ladder alone."""
    kept = [not facts_of(facts, name)["ladder"] for name in table["model"]]
    return table[np.array(kept, dtype=bool)]


def with_quality(table: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """Return the rows of models whose log-probabilities say how good they are."""
    kept = [facts_of(facts, name)["has_quality"] for name in table["model"]]
    return table[np.array(kept, dtype=bool)]
