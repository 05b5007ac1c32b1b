"""Count the pairs and sentences of data sets (Hu et al. 2026), and choose rows for pages."""

from collections.abc import Mapping
from dataclasses import asdict
from itertools import product
from typing import Any

import pandas as pd

from lingprob.papers.run import Run, Tables, make_each
from lingprob.stimuli.distances import (
    COMPARISONS,
    POPULATIONS,
    EditFilter,
    edit_threshold,
    pair_texts,
    pairs_in_use,
)

Frames = Mapping[str, pd.DataFrame]
UNITS = ("characters", "words")
COUNTS, FILTER = "Table 1a", "§5.1"


def tabulate(tables: Tables, run: Run, distances: Frames) -> dict[str, pd.DataFrame]:
    """Return the tables `datasets` and `filters`.

    Args:
        tables: the analysed `stimuli`, and `whole`, from which they were sampled.
        run: its `titles` are those of data sets.
        distances: `minimalness` of the rated data sets.
    """
    whole, used = (
        {
            str(name): part.reset_index(drop=True)
            for name, part in tables[table].groupby("dataset", sort=False)
        }
        for table in ("whole", "stimuli")
    )
    reading = EditFilter()
    return make_each(
        {
            "datasets": lambda: count_datasets(whole, used, distances, reading, run),
            "filters": lambda: count_filters(used, distances, reading, run),
        }
    )


def published_value(published: Mapping[str, Any], item: str, row: str) -> float | None:
    """Return the number in a row of an item of the paper's numbers, or None if there is none."""
    rows = [entry["rows"] for entry in published["items"] if entry["item"] == item]
    return next((float(one[row][0]) for one in rows if row in one), None)


def count_datasets(
    whole: Frames, used: Frames, distances: Frames, reading: EditFilter, run: Run
) -> pd.DataFrame:
    """Return one row per data set: its counts, omissions, and the paper's count.

    `counted` has the units of the paper: pairs of different sentences, rated pairs that pass the
    filter (those of Prediction 2), or sentences if there are no pairs. `used_pairs` and
    `used_sentences` count scored ones. Prediction 1 uses all of them. `data.string_scores` defines
    which of them other predictions use.

    Args:
        whole, used: `stimuli` tables by data set. `used` has samples of `whole`, or equals it.
        distances: `minimalness` tables of rated data sets.
        reading: interpretation of the filter.
        run: the paper's run.
    """
    rows = []
    for name, stimuli in whole.items():
        texts = pair_texts(stimuli, name)
        identical = int((texts["good"] == texts["bad"]).sum())
        paired = stimuli["pair_id"].notna().any()
        unrated = stimuli["rating"].isna()
        pairs = len(pairs_in_use(used[name], name, None, reading))
        if name in distances:
            counted = len(pairs_in_use(used[name], name, distances[name], reading))
        else:
            counted = len(texts) - identical if paired else len(stimuli)
        section, quantity = (FILTER, "kept") if name in distances else (COUNTS, "counted")
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
                "counted_published": published_value(run.published, section, f"{name}/{quantity}"),
                "used_pairs": pairs,
                "used_sentences": 2 * pairs + int(used[name]["pair_id"].isna().sum()),
                "rating_source": stimuli["rating_source"].fillna("").max(),
                "scale": run.scale,
            }
        )
    return pd.DataFrame(rows)


def count_filters(stimuli: Frames, distances: Frames, chosen: EditFilter, run: Run) -> pd.DataFrame:
    """Return one row per rated data set and reading of the filter: how many pairs it keeps (§5.1).

    `used` marks the reading `chosen`. `distances` are `minimalness` tables.
    """
    readings = [
        EditFilter(unit, chosen.quantile, comparison, population)
        for unit, comparison, population in product(UNITS, COMPARISONS, POPULATIONS)
    ]
    rows = [
        {
            "dataset": name,
            **asdict(reading),
            "edits": edit_threshold(stimuli[name], table, reading),
            "pairs": len(table),
            "kept": len(pairs_in_use(stimuli[name], name, table, reading)),
            "kept_published": published_value(run.published, FILTER, f"{name}/kept"),
            "used": reading == chosen,
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
