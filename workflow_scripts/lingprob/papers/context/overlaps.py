"""How alike a data set's suites are, and prefixes and their targets (Sinha et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lingprob.context.names import MATCHED, MISMATCHED
from lingprob.context.prefixes import Tokenize
from lingprob.context.similarity import Bags, dependency_labels, prefix_overlaps, suite_overlaps
from lingprob.context.suites import with_suites
from lingprob.schemas import SCHEMAS

# Kinds and columns of prefixes that are compared; the texts of all would take gigabytes.
KINDS = (MATCHED[0], MISMATCHED[0])
COLUMNS = ["prefix_id", "kind", "suite", "pair_ids", "source_ids"]


def overlaps(
    stimuli: pd.DataFrame,
    prefixes: pd.DataFrame,
    tokenize: Tokenize,
    *,
    dataset: str,
    sentences: int,
    seed: int,
    scale: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return overlaps of suites, and of acceptable prefixes with their targets, by measure.

    Args:
        stimuli, prefixes: tables of the data set; of prefixes COLUMNS, and KINDS alone.
        tokenize: the tokenizer whose tokens overlap.
        dataset: its name.
        sentences: of each suite that are compared with those of another.
        seed: of their draw.
        scale: of the run.

    Returns:
        A `context_overlap` and a `context_prefix_overlap` table.
    """

    def tokens(texts: Sequence[str]) -> list[list[str]]:
        return [
            [text[start:end] for start, end in spans]
            for text, spans in zip(texts, tokenize(texts), strict=True)
        ]

    generator = np.random.default_rng(seed)
    measures: dict[str, Bags] = {"token": tokens, "dependency": dependency_labels}
    stimuli = with_suites(stimuli, dataset)
    shown = stimuli[stimuli["paradigm"].isin(prefixes["suite"])]
    prefixes = prefixes[prefixes["kind"].isin(KINDS)]
    between, of_prefixes = [], []
    for name, bags in measures.items():
        between.append(suite_overlaps(shown, bags, sentences, generator).assign(measure=name))
        of_prefixes.append(prefix_overlaps(prefixes, stimuli, bags).assign(measure=name))
    table = pd.concat(between, ignore_index=True).assign(dataset=dataset, scale=scale)
    return table[SCHEMAS["context_overlap"].names], pd.concat(of_prefixes, ignore_index=True)
