"""Minimal pairs under a loaded model: accuracy, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lingprob.errors import LingprobError, looked_up
from lingprob.pairs.audit import Evidence, sides_of
from lingprob.stats.proportions import accuracies, preferences
from lingprob.stimuli.distances import pair_texts
from lingprob.workflow import scope, sources

if TYPE_CHECKING:
    from lingprob.api.masked import MaskedModel
    from lingprob.api.model import Model

PAIRS = "pairs"
GROUPS = ("phenomenon", "paradigm")


def compare_pairs(
    model: Model | MaskedModel, stimuli: pd.DataFrame, by: str, policy: str
) -> pd.DataFrame:
    """Return accuracy by phenomenon or paradigm and over all pairs; see `Model.compare`."""
    looked_up("group", by, dict.fromkeys(GROUPS), "(by)")
    paired = _paired(stimuli)
    scores = model.sentence_scores(paired, [policy], PAIRS)
    sides = sides_of(Evidence(PAIRS, paired, scores, (policy, "")), policy)
    right = pd.Series(preferences(sides["logprob_good"], sides["logprob_bad"]), sides.index)
    groups = paired.drop_duplicates("pair_id").set_index("pair_id")[by].loc[right.index]
    of_all = accuracies(right, pd.Series("all", right.index))
    table = pd.concat([accuracies(right, groups), of_all]) if groups.notna().any() else of_all
    return table.rename_axis(by).reset_index()


def audit_pairs(model: Model, stimuli: pd.DataFrame, corpora: Iterable[str | Path]) -> pd.DataFrame:
    """Return the `audit` table of pairs; see `Model.audit`."""
    from lingprob.pairs.audit import audit

    paired = _paired(stimuli)
    run, entry = model.run, model.entry
    chosen = scope.string_bos(run, model.name)
    policies = [chosen, *(bos for bos in entry["bos_policies"] if bos != chosen)]
    evidence = Evidence(
        PAIRS,
        paired,
        model.sentence_scores(paired, policies, PAIRS),
        (chosen, next(iter(model.unigrams), "imported")),
        _distances(model, paired),
        _leakage(model, paired, list(corpora)),
    )
    settings = run.settings
    table, _ = audit(evidence, model.name, settings["audit"]["words_edited"], settings["scale"])
    return table


def _paired(stimuli: pd.DataFrame) -> pd.DataFrame:
    """Return the sentences that are in pairs; each pair must have one of each kind."""
    if pair_texts(stimuli, PAIRS).empty:
        raise LingprobError("no row of the table is in a pair. Give it columns `good` and `bad`.")
    return stimuli[stimuli["pair_id"].notna()]


def _distances(model: Model, paired: pd.DataFrame) -> pd.DataFrame | None:
    """Return the `minimalness` table, or None where the language has no embedding model."""
    from lingprob.models.embedding import prepare_embedding
    from lingprob.models.manifest import read_manifest
    from lingprob.pairs.embeddings import SentenceEmbedder
    from lingprob.stimuli.distances import measure_pairs

    names = model.run.settings["string_probability"]["embeddings"]
    name = names.get(model.entry["language"])
    if name is None:
        return None
    entry = model.run.catalog.embedding(name)
    manifest = model.cache / "resources/embeddings" / name / "manifest.json"
    if not manifest.is_file():
        prepare_embedding(name, entry, manifest)
    directory = read_manifest(manifest)["directory"]
    embed = SentenceEmbedder(directory, entry["context_window"], str(model.lm.device))
    return measure_pairs(paired, PAIRS, embed)


def _leakage(model: Model, paired: pd.DataFrame, corpora: list[str | Path]) -> pd.DataFrame | None:
    """Return the `audit_leakage` table of the corpora, or None without any."""
    if not corpora:
        return None
    from lingprob.api.corpora import found_corpus
    from lingprob.models.tokenizer import open_tokenizer
    from lingprob.overlap.search import find_sentences

    tokenizer = open_tokenizer(model.cache / sources.model_manifest(model.name))
    texts = {PAIRS: paired.set_index("item_id")["text"]}
    found = [found_corpus(corpus, tokenizer, model.run, model.cache) for corpus in corpora]
    searched = [replace(corpus, name=Path(corpus.name).name) for corpus in found]
    return find_sentences(texts, searched, tokenizer)
