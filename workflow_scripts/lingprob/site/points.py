"""Single sentences and pairs that a figure shows when pointed at: a few of each data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.schemas import SCHEMAS
from lingprob.tables import read_table

MOST_POINTS = 100  # of one model and data set: enough to see how they lie


def read_points(
    files: Mapping[str, Sequence[str | Path]], datasets: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Return what figures show point by point, by name; none of what there is nothing of.

    Args:
        files: `sentences` (`predicted_ratings`), `pairs` (`string_scores`), `stimuli` of their data
            sets, and `accuracy` (`context_accuracy`); any may be absent.
        datasets: those of pairs, in the order of their `stimuli`.
    """
    stimuli = dict(zip(datasets, files.get("stimuli", []), strict=True))
    found = {
        "sentences": rated_sentences(files.get("sentences", [])),
        "pairs": scored_pairs(files.get("pairs", []), stimuli),
        "prefixes": prefix_changes(files.get("accuracy", [])),
    }
    return {name: table for name, table in found.items() if len(table)}


def rated_sentences(paths: Sequence[str | Path], most: int = MOST_POINTS) -> pd.DataFrame:
    """Return sentences with their ratings and what MORCELA predicts, left out where it was.

    Args:
        paths: of `predicted_ratings` tables.
        most: sentences of a data set, evenly spaced over its ratings, the same for all models.

    Returns:
        Columns model, dataset, text, rating and predicted (z).
    """
    columns = ["model", "dataset", "item_id", "text", "rating", "predicted", "held_out"]
    shown = {"linking_function": ["morcela"]}
    found = []
    for path in paths:
        table = read_table(path, "predicted_ratings", columns=[*columns, *shown], where=shown)
        rated = table.dropna(subset=["rating"]).sort_values(["rating", "item_id"])
        some = rated.iloc[spaced(len(rated), most)]
        found.append(some.assign(predicted=some["held_out"].fillna(some["predicted"])))
    every = pd.concat(found) if found else pd.DataFrame(columns=columns)
    return every[["model", "dataset", "text", "rating", "predicted"]].reset_index(drop=True)


def scored_pairs(
    paths: Sequence[str | Path], stimuli: Mapping[str, str | Path], most: int = MOST_POINTS
) -> pd.DataFrame:
    """Return minimal pairs with the log-probabilities of their sentences.

    Args:
        paths: of `string_scores` tables.
        stimuli: the `stimuli` table of each data set of pairs.
        most: pairs of a data set, evenly spaced over the log-probabilities of its grammatical
            sentences.

    Returns:
        Columns model, dataset, good, bad (the sentences), logprob_good and logprob_bad (nats).
    """
    columns = ["model", "dataset", "pair_id", "item_id", "grammatical", "logprob"]
    found = []
    for path in paths:
        where = {"dataset": list(stimuli)}
        table = read_table(path, "string_scores", columns=columns, where=where)
        for (_, name), scores in table.dropna(subset=["pair_id"]).groupby(["model", "dataset"]):
            good, bad = (scores[scores["grammatical"].eq(side)] for side in (True, False))
            pairs = good.merge(bad, on=["model", "dataset", "pair_id"], suffixes=("_good", "_bad"))
            pairs = pairs.sort_values(["logprob_good", "pair_id"])
            found.append(_with_texts(pairs.iloc[spaced(len(pairs), most)], stimuli[str(name)]))
    shown = ["model", "dataset", "good", "bad", "logprob_good", "logprob_bad"]
    return pd.concat(found, ignore_index=True)[shown] if found else pd.DataFrame(columns=shown)


def prefix_changes(paths: Sequence[str | Path]) -> pd.DataFrame:
    """Return changes of accuracy after prefixes that nothing perturbs, over all pairs.

    Args:
        paths: of `context_accuracy` tables, whose columns the rows have.
    """
    of_all = {"level": ["all"]}
    found = [read_table(path, "context_accuracy", where=of_all) for path in paths]
    every = pd.concat(found) if found else pd.DataFrame(columns=SCHEMAS["context_accuracy"].names)
    return every[every["perturbation"].isna()].reset_index(drop=True)


def spaced(count: int, most: int) -> list[int]:
    """Return at most so many places among `count`, evenly spaced, the first and last included."""
    places = np.linspace(0, max(count - 1, 0), min(count, most)).round()
    return [int(place) for place in places]


def _with_texts(pairs: pd.DataFrame, stimuli: str | Path) -> pd.DataFrame:
    """Return pairs with their sentences, `good` and `bad`, out of a table of stimuli."""
    ids = {"item_id": [*pairs["item_id_good"], *pairs["item_id_bad"]]}
    table = read_table(stimuli, "stimuli", columns=["item_id", "text"], where=ids)
    text = table.set_index("item_id")["text"]
    sides = {side: pairs[f"item_id_{side}"].map(text) for side in ("good", "bad")}
    return pairs.assign(**sides)
