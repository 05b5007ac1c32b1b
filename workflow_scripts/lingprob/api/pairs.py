"""Preferences between the sentences of minimal pairs, and audits of minimal pairs."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.api.prepared_models import is_current
from lingprob.errors import looked_up
from lingprob.pairs.audit import Evidence, sides_of
from lingprob.stats.resampling import accuracies, preferences
from lingprob.stimuli.distances import pair_texts
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

logger = logging.getLogger(__name__)

PAIRS = "pairs"
PAIR = "pair"
GROUPS = ("phenomenon", "paradigm", PAIR)


def preference_table(
    paired: pd.DataFrame, scores: pd.DataFrame, by: str, convention: str
) -> pd.DataFrame:
    """Return accuracy by phenomenon or paradigm and over all pairs, or one row per pair.

    `paired` is a `stimuli` table of pairs, with `scores` under the BOS policy or correction
    `convention`. `by` is one of GROUPS. `Model.compare` describes the columns.
    """
    looked_up("group", by, dict.fromkeys(GROUPS), "(by)")
    sides = sides_of(Evidence(PAIRS, paired, scores, (convention, "")), convention)
    good, bad = sides["logprob_good"], sides["logprob_bad"]
    right = pd.Series(preferences(good, bad), sides.index)
    texts = pair_texts(paired, PAIRS).loc[sides.index, ["good", "bad"]]
    alike = (texts["good"] != texts["bad"]) & (good == bad)
    if alike.any():
        logger.warning(
            "%d of %d pairs, such as %r and %r, have different sentences of the same "
            "log-probability. The tokenizer may give both the same tokens. Each counts as a half.",
            alike.sum(), len(alike), *texts[alike].iloc[0],
        )  # fmt: skip
    if by == PAIR:
        table = texts.assign(logprob_good=good, logprob_bad=bad, difference=good - bad)
        table["preferred"] = np.select([right == 1, right == 0], ["good", "bad"], "neither")
        return table.rename_axis(by).reset_index()
    groups = paired.drop_duplicates("pair_id").set_index("pair_id")[by].loc[right.index]
    of_all = accuracies(right, pd.Series("all", right.index))
    table = pd.concat([accuracies(right, groups), of_all]) if groups.notna().any() else of_all
    return table.rename_axis(by).reset_index()


def measure_distances(
    paired: pd.DataFrame, language: str, run: Run, cache: Path, device: object
) -> pd.DataFrame | None:
    """Return the `minimalness` table of pairs, or None if the language has no embedding model."""
    from lingprob.models.folders import read_manifest
    from lingprob.models.prepare import prepare_embedding
    from lingprob.pairs.embeddings import SentenceEmbedder
    from lingprob.stimuli.distances import measure_pairs

    name = run.settings["string_probability"]["embeddings"].get(language)
    if name is None:
        return None
    entry = run.catalog.embedding(name)
    manifest = cache / "resources/embeddings" / name / "manifest.json"
    if not is_current(manifest, entry):
        prepare_embedding(name, entry, manifest)
    directory = read_manifest(manifest)["directory"]
    embed = SentenceEmbedder(directory, entry["context_window"], str(device))
    return measure_pairs(paired, PAIRS, embed)


def find_leakage(
    paired: pd.DataFrame, corpora: list[str | Path], model: str, run: Run, cache: Path
) -> pd.DataFrame | None:
    """Return the `audit_leakage` table: each sentence's longest overlap with each corpus."""
    if not corpora:
        return None
    from lingprob.api.corpora import find_corpus
    from lingprob.models.tokenizer import open_tokenizer
    from lingprob.overlap.search import find_sentences

    tokenizer = open_tokenizer(cache / sources.model_manifest(model))
    texts = {PAIRS: paired.set_index("item_id")["text"]}
    found = (find_corpus(corpus, tokenizer, run, cache) for corpus in corpora)
    searched = [replace(corpus, name=Path(corpus.name).name) for corpus in found]
    return find_sentences(texts, searched, tokenizer)
