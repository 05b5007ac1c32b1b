"""The eight strings about the moon: their surprisals, and how these differ (§2.1.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lingprob.papers.contract import Run, Tables

TOY_COLUMNS = ["model", "text", "grammatical", "surprisal"]


def surprisal_differences(surprisals: pd.DataFrame, difference: str) -> list[tuple[str, float]]:
    """Return one difference (bits), which §2.1.1 says is above 0 in GPT-2, for each model.

    `surprisals` has model, text, grammatical and surprisal (bits). The difference is
    `ungrammatical` (mean surprisal of ungrammatical less grammatical strings), `plural` (of many
    moons less one moon) or `moons` ("The moons emerge" less "*The moon emerge").
    """
    found = []
    for model, strings in surprisals.groupby("model", sort=False):
        of = strings.set_index("text")["surprisal"]
        by_kind = strings.groupby(strings["grammatical"].astype(bool))["surprisal"].mean()
        plural = of.index.str.contains("moons ")
        values = {
            "ungrammatical": by_kind[False] - by_kind[True],
            "plural": of[plural].mean() - of[~plural].mean(),
            "moons": of["The moons emerge."] - of["The moon emerge."],
        }
        found.append((str(model), float(values[difference])))
    return found


def toy_surprisals(tables: Tables) -> pd.DataFrame:
    """Return each toy string's surprisal (bits) by model: model, text, grammatical, surprisal.

    The first convention of each model's scores counts.
    """
    if "toy_scores" not in tables:
        return pd.DataFrame(columns=TOY_COLUMNS)
    scores = tables["toy_scores"]
    first = scores.groupby("model")[["bos", "unigrams"]].transform("first")
    chosen = scores[(scores[["bos", "unigrams"]] == first).all(axis=1)]
    joined = chosen.merge(tables["toy_stimuli"], on="item_id")
    return joined.assign(surprisal=-joined["logprob"] / np.log(2))[TOY_COLUMNS]


def with_panels(table: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Return the rows of the models that have panels and whose claims are judged.

    `run.options["panels"]` names them; without it all have panels.
    """
    return table[table["model"].isin(run.options.get("panels", table["model"]))]
