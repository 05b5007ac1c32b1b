"""A stimulus table by the parser that a data set's catalog entry names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli.checks import check_stimuli
from lingprob.stimuli.names import parser_module
from lingprob.stimuli.sample import sample_at_most


def build_stimuli(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int, sentences_needed: int = 1
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Parse a data set with the parser that its catalog entry names, and check the result.

    Args:
        dataset: name in the catalog or in config.yaml.
        entry: its entry; `rehearsed_pairs` are all that a rehearsal takes of it.
        directory: folder of the downloaded files.
        seed: seed of simulated ratings; of no effect elsewhere.
        sentences_needed: for what will be fitted to the ratings.

    Returns:
        The `stimuli` table and the `ratings` table (no rows where single judgments are unknown).

    Raises LingprobError that names the file, row and remedy for bad input, or if the number of
    items or pairs is not what the catalog expects.
    """
    parse = import_module(parser_module(dataset, entry["parser"])).parse
    stimuli, ratings = parse(dataset, entry, directory, seed)
    check_stimuli(stimuli, dataset)
    if len(stimuli) < sentences_needed:
        raise LingprobError(
            f"data set {dataset!r} ({entry.get('path', directory)}): {len(stimuli)} sentences are "
            f"too few for the folds of its cross-validation, which need {sentences_needed}. Give "
            "more, or lower morcela.folds."
        )
    for key, found in (("items", len(stimuli)), ("pairs", stimuli["pair_id"].nunique())):
        if key in entry and entry[key] != found:
            raise LingprobError(
                f"data set {dataset!r}: {found} {key}, but the catalog expects {entry[key]}. "
                "Is the downloaded file another version?"
            )
    if "rehearsed_pairs" in entry:
        return sample_at_most(stimuli, ratings, entry["rehearsed_pairs"], seed)
    return stimuli, ratings
