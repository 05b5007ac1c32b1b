"""Minimal pairs: which sentence is preferred, and what an audit of them looks at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, looked_up
from lingprob.pairs.audit import Evidence, sides_of
from lingprob.stats.resampling import accuracies, preferences
from lingprob.stimuli.distances import pair_texts
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

PAIRS = "pairs"
PAIR = "pair"
GROUPS = ("phenomenon", "paradigm", PAIR)


def only_pairs(stimuli: pd.DataFrame) -> pd.DataFrame:
    """Return the sentences that are in pairs; each pair must have one of each kind."""
    if pair_texts(stimuli, PAIRS).empty:
        raise LingprobError("no row of the table is in a pair. Give it columns `good` and `bad`.")
    return stimuli[stimuli["pair_id"].notna()]


def preference_table(
    paired: pd.DataFrame, scores: pd.DataFrame, by: str, convention: str
) -> pd.DataFrame:
    """Return accuracy by phenomenon or paradigm and over all pairs, or a row a pair.

    Args:
        paired: `stimuli` in pairs.
        scores: their `sentence_scores`.
        by: one of `GROUPS`.
        convention: the BOS policy or correction of the scores that count.

    `Model.compare` says what the columns are.
    """
    looked_up("group", by, dict.fromkeys(GROUPS), "(by)")
    sides = sides_of(Evidence(PAIRS, paired, scores, (convention, "")), convention)
    good, bad = sides["logprob_good"], sides["logprob_bad"]
    right = pd.Series(preferences(good, bad), sides.index)
    if by == PAIR:
        texts = pair_texts(paired, PAIRS).loc[sides.index, ["good", "bad"]]
        table = texts.assign(logprob_good=good, logprob_bad=bad, difference=good - bad)
        table["preferred"] = np.select([right == 1, right == 0], ["good", "bad"], "neither")
        return table.rename_axis(by).reset_index()
    groups = paired.drop_duplicates("pair_id").set_index("pair_id")[by].loc[right.index]
    of_all = accuracies(right, pd.Series("all", right.index))
    table = pd.concat([accuracies(right, groups), of_all]) if groups.notna().any() else of_all
    return table.rename_axis(by).reset_index()


def measure_distances(
    paired: pd.DataFrame, language: str, run: Run, cache: Path, device: str
) -> pd.DataFrame | None:
    """Return the `minimalness` table, or None if the language has no embedding model."""
    from lingprob.models.downloads import prepare_embedding
    from lingprob.models.folders import read_manifest
    from lingprob.pairs.embeddings import SentenceEmbedder
    from lingprob.stimuli.distances import measure_pairs

    name = run.settings["string_probability"]["embeddings"].get(language)
    if name is None:
        return None
    entry = run.catalog.embedding(name)
    manifest = cache / "resources/embeddings" / name / "manifest.json"
    if not manifest.is_file():
        prepare_embedding(name, entry, manifest)
    directory = read_manifest(manifest)["directory"]
    embed = SentenceEmbedder(directory, entry["context_window"], device)
    return measure_pairs(paired, PAIRS, embed)


def find_leakage(
    paired: pd.DataFrame, corpora: list[str | Path], model: str, run: Run, cache: Path
) -> pd.DataFrame | None:
    """Return the `audit_leakage` table of the corpora, or None without any."""
    if not corpora:
        return None
    from lingprob.api.corpora import found_corpus
    from lingprob.models.tokenizer import open_tokenizer
    from lingprob.overlap.search import find_sentences

    tokenizer = open_tokenizer(cache / sources.model_manifest(model))
    texts = {PAIRS: paired.set_index("item_id")["text"]}
    found = [found_corpus(corpus, tokenizer, run, cache) for corpus in corpora]
    searched = [replace(corpus, name=Path(corpus.name).name) for corpus in found]
    return find_sentences(texts, searched, tokenizer)
