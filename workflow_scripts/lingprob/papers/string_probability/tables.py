"""Count the pairs and sentences of data sets (Hu et al. 2026), and choose rows for pages."""

from collections.abc import Mapping
from dataclasses import asdict
from itertools import product

import pandas as pd

from lingprob.papers.run import Run, Tables, make_each
from lingprob.stimuli.distances import (
    COMPARISONS,
    PAPER_FILTER,
    POPULATIONS,
    EditFilter,
    different_pairs,
    edit_threshold,
    near_pairs,
    pair_texts,
)

Frames = Mapping[str, pd.DataFrame]
UNITS = ("characters", "words")


def tabulate(tables: Tables, run: Run, distances: Frames) -> dict[str, pd.DataFrame]:
    """Return the tables `datasets` and `filters`.

    Tables: the analysed `stimuli`, and `whole`, from which they were sampled. `distances` are
    `minimalness` tables of the rated data sets.
    """
    whole, used = (
        dict(tuple(tables[name].groupby("dataset", sort=False))) for name in ("whole", "stimuli")
    )
    return make_each(
        {
            "datasets": lambda: count_datasets(whole, used, distances, run),
            "filters": lambda: count_filters(used, distances, run),
        }
    )


def count_datasets(whole: Frames, used: Frames, distances: Frames, run: Run) -> pd.DataFrame:
    """Return one row per data set: its counts, omissions, and the paper's count.

    `counted` has the units of the paper: pairs of different sentences, rated pairs that pass the
    filter (those of Prediction 2), or sentences if there are no pairs. `used_pairs` and
    `used_sentences` count scored ones (`used`, samples of `whole`). `distances` are `minimalness`
    tables of rated data sets.
    """
    rows = []
    for name, stimuli in whole.items():
        texts = pair_texts(stimuli, name)
        identical = int((texts["good"] == texts["bad"]).sum())
        paired = stimuli["pair_id"].notna().any()
        unrated = stimuli["rating"].isna()
        pairs = len(different_pairs(used[name], name))
        counted, quantity = len(texts) - identical if paired else len(stimuli), "counted"
        if name in distances:
            counted, quantity = len(near_pairs(used[name], name, distances[name])), "kept"
        rows.append(
            {
                "dataset": name,
                "title": run.titles[name],
                "sentences": len(stimuli),
                "pairs": len(texts),
                "identical_pairs": identical,
                "duplicated_sentences": int(stimuli["text"].duplicated().sum()),
                # In a data set without any rating, none counts as omitted.
                "missing_ratings": 0 if unrated.all() else int(unrated.sum()),
                "counted": counted,
                "counted_published": run.printed(f"{name}/{quantity}"),
                "used_pairs": pairs,
                "used_sentences": 2 * pairs + int(used[name]["pair_id"].isna().sum()),
                "rating_source": stimuli["rating_source"].fillna("").max(),
                "scale": run.scale,
            }
        )
    return pd.DataFrame(rows)


def count_filters(stimuli: Frames, distances: Frames, run: Run) -> pd.DataFrame:
    """Return one row per rated data set and reading of the filter: how many pairs it keeps (§5.1).

    `used` marks the reading of the analyses. `distances` are `minimalness` tables.
    """
    readings = [
        EditFilter(unit, PAPER_FILTER.quantile, comparison, population)
        for unit, comparison, population in product(UNITS, COMPARISONS, POPULATIONS)
    ]
    rows = [
        {
            "dataset": name,
            **asdict(reading),
            "edits": edit_threshold(stimuli[name], table, reading),
            "pairs": len(table),
            "kept": len(near_pairs(stimuli[name], name, table, reading)),
            "kept_published": run.printed(f"{name}/kept"),
            "used": reading == PAPER_FILTER,
            "scale": run.scale,
        }
        for name, table in distances.items()
        for reading in readings
    ]
    columns = ["dataset", "unit", "quantile", "comparison", "population", "edits", "pairs", "kept"]
    return pd.DataFrame(rows, columns=[*columns, "kept_published", "used", "scale"])


def page(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the table `name` that its page shows. The CSV file has all rows."""
    if name != "confounds":
        return table
    chosen = table[table["subset"] == "change"].drop(columns=["subset", "name"])
    return chosen.assign(note=chosen["simulated"].map({True: "simulated ratings", False: ""}))
