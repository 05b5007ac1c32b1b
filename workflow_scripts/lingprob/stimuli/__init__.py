"""Raw data sets to stimulus tables, a module a data set; `build_stimuli` picks the parser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError, unknown_name
from lingprob.stimuli import (
    blimp,
    cola,
    crows_pairs,
    hll,
    li_adger,
    li_large,
    linguistic_inquiry,
    minimal_pairs,
    scamp,
    sling,
    suites,
    syntaxgym_pairs,
    toy_strings,
    user_table,
    zhoblimp,
)
from lingprob.stimuli.checks import check_stimuli

Parser = Callable[[str, dict[str, Any], Path, int], tuple[pd.DataFrame, pd.DataFrame]]

PARSERS: dict[str, Parser] = {
    "blimp": blimp.parse,
    "cola": cola.parse,
    "crows_pairs": crows_pairs.parse,
    "hll": hll.parse,
    "li_adger": li_adger.parse,
    "li_large": li_large.parse,
    "linguistic_inquiry": linguistic_inquiry.parse,
    "minimal_pairs": minimal_pairs.parse,
    "scamp": scamp.parse,
    "sling": sling.parse,
    "syntaxgym": suites.parse,
    "syntaxgym_pairs": syntaxgym_pairs.parse,
    "table": user_table.parse,
    "toy_strings": toy_strings.parse,
    "zhoblimp": zhoblimp.parse,
}


def build_stimuli(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int, sentences_needed: int = 1
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Parse a data set with the parser that its catalog entry names, and check the result.

    Args:
        dataset: name in the catalog or in config.yaml.
        entry: its entry.
        directory: folder of the downloaded files.
        seed: seed of simulated ratings; of no effect elsewhere.
        sentences_needed: for what will be fitted to the ratings.

    Returns:
        The `stimuli` table and the `ratings` table (no rows where single judgments are unknown).

    Raises LingprobError that names the file, row and remedy for bad input, or if the number of
    items or pairs is not what the catalog expects.
    """
    if entry["parser"] not in PARSERS:
        raise unknown_name("parser", entry["parser"], PARSERS, f"(datasets.{dataset}.parser)")
    stimuli, ratings = PARSERS[entry["parser"]](dataset, entry, directory, seed)
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
    return stimuli, ratings
