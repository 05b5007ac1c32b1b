"""Build the `stimuli` table of a data set, and draw samples of its pairs."""

from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.parsers import parser_function
from lingprob.stimuli.tables import check_stimuli


def build_stimuli(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int, sentences_needed: int = 1
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the `stimuli` table (with other columns of a user's table) and the `ratings` table.

    The parser of the catalog entry reads the downloaded files in `directory`. `seed` is that of
    simulated ratings. `ratings` has no rows if single judgments are unknown. Raises LingprobError
    for bad input, fewer sentences than fits need, or if the number of items or pairs is not the
    catalog's.
    """
    parse = resolve_name(parser_function(dataset, entry["parser"]))
    stimuli, ratings = parse(dataset, entry, directory, seed)
    stimuli = stimuli.assign(dataset=dataset)
    check_stimuli(stimuli, dataset)
    if len(stimuli) < sentences_needed:
        raise LingprobError(
            f"data set {dataset!r} ({entry.get('path', directory)}): {len(stimuli)} sentences are "
            f"too few for the folds of its cross-validation, which need {sentences_needed}. Give "
            "more, or lower morcela.folds."
        )
    for key, found in (("items", len(stimuli)), ("pairs", stimuli["pair_id"].nunique())):
        if entry.get(key, found) != found:
            raise LingprobError(
                f"data set {dataset!r}: {found} {key}, but the catalog expects {entry[key]}. "
                "Is the downloaded file another version?"
            )
    return stimuli, ratings


def sample_pairs(stimuli: pd.DataFrame, pairs: int, seed: int) -> pd.DataFrame:
    """Return both sentences of each pair in a random sample of pairs, in the table's order.

    Every paradigm gives a number of pairs in proportion to its size. If that is no whole number,
    chance decides which paradigms give one more. A sentence without a pair is drawn alone, and
    pairs of identical sentences are not drawn.

    Raises LingprobError if the table has fewer than `pairs`.
    """
    unit = stimuli["pair_id"].fillna(stimuli["item_id"])
    differs = stimuli.groupby(unit)["text"].nunique().eq(stimuli.groupby(unit).size())
    drawable = stimuli.assign(unit=unit)[unit.map(differs).to_numpy()].drop_duplicates("unit")
    if pairs > len(drawable):
        raise LingprobError(
            f"the sample needs {pairs} pairs, and there are {len(drawable)}. Lower "
            "string_probability.pairs_per_dataset."
        )
    rng = np.random.default_rng(seed)
    groups = [units for _, units in drawable.groupby(drawable["paradigm"].fillna(""))["unit"]]
    sizes = allot(np.array([len(units) for units in groups]), pairs, rng)
    drawn = [
        rng.choice(units.to_numpy(), size=size, replace=False)
        for units, size in zip(groups, sizes, strict=True)
    ]
    return stimuli[unit.isin(np.concatenate(drawn)).to_numpy()].reset_index(drop=True)


def allot(available: np.ndarray, total: int, rng: np.random.Generator) -> np.ndarray:
    """Return the share of each group in `total`, in proportion to `available`, (n_groups,) int.

    Groups first get the whole part of their share. Then those with the largest remainders get one
    more, in random order among equal remainders.
    """
    share = total * available / available.sum()
    sizes = np.floor(share + 1e-9).astype(int)
    order = rng.permutation(len(available))
    by_remainder = order[np.argsort(-(share - sizes)[order].round(9), kind="stable")]
    sizes[by_remainder[: total - sizes.sum()]] += 1
    return sizes
