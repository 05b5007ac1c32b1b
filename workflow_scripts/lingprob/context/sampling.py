"""Targets and the contexts before them, drawn from their own data set (context, §3).

A draw depends on the seed, the data set, the pair and the kind of prefix alone, so that a larger
sample contains a smaller one. Prefixes grow sentence by sentence, so that a longer one extends a
shorter one, and all members of a pair have the same.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lingprob.context.names import (
    CROWS_PAIRS,
    FROM_SUITE,
    KINDS,
    MATCHED,
    SYNTAXGYM,
    UNRELATED,
)
from lingprob.context.prefixes import Prefix, Tokenize, prefix_table
from lingprob.context.sentences import joined
from lingprob.errors import LingprobError

logger = logging.getLogger(__name__)


def generator(seed: int, *parts: str) -> np.random.Generator:
    """Return a random generator that depends on the seed and these names alone."""
    return np.random.default_rng([seed, zlib.crc32("/".join(parts).encode())])


def sample_targets(
    dataset: str, stimuli: pd.DataFrame, suites: Sequence[str], pairs_per_suite: int, seed: int
) -> pd.DataFrame:
    """Draw pairs (or items of more conditions) of each suite to judge.

    A suite is a paradigm of the stimulus table; no `suites` means all. Pairs of identical
    sentences cannot be judged and are left out.

    Returns suite, phenomenon and pair_id, a row a pair. Raises LingprobError for an unknown suite,
    a suite with a single pair (nothing matched could precede it), or pairs without two members.
    """
    where = f"data set {dataset!r}"
    nameless = stimuli["paradigm"].isna()
    if nameless.any():
        raise LingprobError(
            f"{where}, item {stimuli.loc[nameless, 'item_id'].iloc[0]!r}: no paradigm, and "
            "prefixes match a paradigm or not. Name one, or leave the data set out of "
            "context.datasets."
        )
    known = list(dict.fromkeys(stimuli["paradigm"]))
    if unknown := [suite for suite in suites if suite not in known]:
        raise LingprobError(f"{where} has no suite {unknown[0]!r}; it has {known}.")
    members = stimuli.groupby("pair_id", sort=False)
    single = members.size() < 2
    if stimuli["pair_id"].isna().any() or single.any():
        at_fault = single.index[single][0] if single.any() else "(none)"
        raise LingprobError(
            f"{where}, pair {at_fault!r}: a pair needs two sentences. Complete or delete it."
        )
    judged = members["text"].nunique() > 1
    drawn = []
    for suite in suites or known:
        rows = stimuli[stimuli["paradigm"] == suite].drop_duplicates("pair_id")
        if len(rows) < 2:
            raise LingprobError(
                f"{where}, suite {suite!r}: a single pair, so no other sentence of the suite could "
                "precede it. Add pairs, or leave the suite out of the stimuli."
            )
        rows = rows[judged.loc[rows["pair_id"]].to_numpy()]
        order = generator(seed, dataset, str(suite)).permutation(len(rows))[:pairs_per_suite]
        drawn.append(rows.iloc[order])
    table = pd.concat(drawn, ignore_index=True)
    return table.rename(columns={"paradigm": "suite"})[["suite", "phenomenon", "pair_id"]]


class PrefixSampler:
    """Draws prefixes for one data set.

    `suites` are those that sentences may come from (none: all), `control` the unrelated sentences;
    `tokenizers` map a tokenizer's name to a function; a prefix grows until it has `max_tokens`
    under each of them, or until no sentence is left. `min_tokens` is the shortest length asked for.
    """

    def __init__(
        self,
        dataset: str,
        stimuli: pd.DataFrame,
        suites: Sequence[str],
        control: Sequence[str],
        tokenizers: Mapping[str, Tokenize],
        *,
        max_tokens: int,
        min_tokens: int,
        seed: int,
    ) -> None:
        self.dataset, self.max_tokens, self.min_tokens = dataset, max_tokens, min_tokens
        self.seed, self.tokenizers = seed, tokenizers
        shown = stimuli[stimuli["paradigm"].isin(suites)] if len(suites) else stimuli
        places = shown[["paradigm", "text"]].drop_duplicates()
        self.in_several = set(places.loc[places["text"].duplicated(), "text"])
        usable = shown[shown["grammatical"].notna()]
        self.texts = np.array([*usable["text"], *control], dtype=object)
        self.ids = np.array(
            [*usable["item_id"], *(f"unrelated/{number}" for number in range(len(control)))],
            dtype=object,
        )
        blank = [None] * len(control)
        self.suites = np.array([*usable["paradigm"], *blank], dtype=object)
        self.pairs = np.array([*usable["pair_id"], *blank], dtype=object)
        self.acceptable = np.array([*usable["grammatical"], *blank], dtype=object)
        self.targets = stimuli.groupby("pair_id", sort=False)["text"].agg(set)
        self.counts: dict[int, int] = {}
        self.exhausted: dict[str, int] = {}

    def grow(self, suite: str, pair_ids: Sequence[str], kind: str) -> Prefix:
        """Draw the prefix of one kind for pairs of one suite, usually one pair.

        Never a sentence of these pairs, nor one with the same words.
        """
        if kind == UNRELATED:
            pool = self.suites == None  # noqa: E711 (elementwise)
        else:
            pool = (self.suites == suite) if kind in MATCHED else (self.suites != suite)
            pool &= self.acceptable == (not kind.endswith("unacceptable"))
        own = set().union(*(self.targets[pair_id] for pair_id in pair_ids))
        pool &= ~np.isin(self.pairs, list(pair_ids))
        indices = [index for index in np.flatnonzero(pool) if self.texts[index] not in own]
        rng = generator(self.seed, self.dataset, *pair_ids, kind)
        chosen = self._until_full(rng.permutation(indices), f"suite {suite!r}, {kind}", None)
        return self._prefix(f"{kind}/{'+'.join(pair_ids)}", kind, suite, None, pair_ids, chosen)

    def from_suite(
        self, suite: str, targets: Sequence[str], replicate: int, sentences: int | None
    ) -> Prefix:
        """Draw acceptable sentences of one suite to stand before targets of other suites.

        `sentences` is how many (context, Appendix D: ten); None takes as many as fit. Never one
        that another suite has too, where it would stand before itself.
        """
        pool = np.flatnonzero((self.suites == suite) & (self.acceptable == True))  # noqa: E712
        indices = [index for index in pool if self.texts[index] not in self.in_several]
        rng = generator(self.seed, self.dataset, suite, f"replicate {replicate}")
        chosen = self._until_full(rng.permutation(indices), f"suite {suite!r}", sentences)
        name = f"{FROM_SUITE}/{suite}/{replicate}"
        return self._prefix(name, FROM_SUITE, None, suite, targets, chosen)

    def _prefix(
        self,
        prefix_id: str,
        kind: str,
        suite: str | None,
        source: str | None,
        pair_ids: Sequence[str],
        chosen: Sequence[int],
    ) -> Prefix:
        return Prefix(
            prefix_id,
            kind,
            suite,
            source,
            tuple(pair_ids),
            tuple(self.ids[index] for index in chosen),
            tuple(self.texts[index] for index in chosen),
        )

    def _until_full(self, order: Iterable[int], what: str, sentences: int | None) -> list[int]:
        """Take sentences in order until they fill the longest length under every tokenizer."""
        chosen: list[int] = []
        tokens = 0
        order = [int(index) for index in order]
        for index in order:
            if len(chosen) == sentences or tokens > self.max_tokens:
                return chosen
            chosen.append(index)
            tokens += self._count(index, order)
        if len(chosen) == sentences or tokens > self.max_tokens:
            return chosen
        if not chosen or (sentences is None and tokens < self.min_tokens):
            raise LingprobError(
                f"data set {self.dataset!r}, {what}: its {len(chosen)} sentences have {tokens} "
                f"tokens, and the shortest prefix asked for has {self.min_tokens}. Add sentences, "
                "lower context.lengths, or leave the suite out."
            )
        self.exhausted[what] = tokens
        return chosen

    def _count(self, index: int, order: Sequence[int]) -> int:
        """Return the tokens of a sentence under the tokenizer that needs fewest of them."""
        if index not in self.counts:
            start = order.index(index)
            wanted = [other for other in order[start : start + 128] if other not in self.counts]
            texts = [f" {joined([self.texts[other]])[0]}" for other in wanted]
            counted = [
                [len(offsets) for offsets in tokenize(texts)]
                for tokenize in self.tokenizers.values()
            ]
            self.counts.update(zip(wanted, np.min(counted, axis=0).tolist(), strict=True))
        return self.counts[index]

    def log_exhausted(self) -> None:
        """Say which prefixes end before the longest length because their pool did."""
        for what, tokens in self.exhausted.items():
            logger.info("%s, %s: the pool ends after %d tokens", self.dataset, what, tokens)


def sample_contexts(
    dataset: str,
    stimuli: pd.DataFrame,
    control: Sequence[str],
    tokenizers: Mapping[str, Tokenize],
    *,
    suites: Sequence[str],
    pairs_factor: int,
    settings: Mapping[str, Any],
    seed: int,
    perturbation: str | None = None,
) -> pd.DataFrame:
    """Draw all prefixes of a data set: a `context_prefixes` table.

    Args:
        dataset: its name.
        stimuli: its `stimuli` table.
        control: unrelated sentences.
        tokenizers: of all models, by name.
        suites: those that stand in contexts; none means all.
        pairs_factor: pairs of a suite for each of `settings["pairs_per_suite"]`.
        settings: section `context` of the configuration.
        seed: of every draw.
        perturbation: `shared` where targets of a suite share prefixes to compare with their own.
    """
    pairs = settings["pairs_per_suite"] * pairs_factor
    targets = sample_targets(dataset, stimuli, suites, pairs, seed)
    sampler = PrefixSampler(
        dataset,
        stimuli,
        suites,
        control,
        tokenizers,
        max_tokens=max(settings["lengths"]),
        min_tokens=min(settings["lengths"]),
        seed=seed,
    )
    prefixes = [*_growing(sampler, targets, settings["pairs_per_prefix"])]
    if dataset != CROWS_PAIRS:
        # SyntaxGym's as many as fit (Figure 14), BLiMP's ten (Figure 13).
        sentences = None if dataset == SYNTAXGYM else settings["matrix_sentences"]
        prefixes += _of_suites(sampler, targets, settings["matrix_prefixes"], sentences)
    sampler.log_exhausted()
    return prefix_table(dataset, prefixes, perturbation)


def _growing(
    sampler: PrefixSampler, targets: pd.DataFrame, pairs_per_prefix: int
) -> Iterator[Prefix]:
    for suite, rows in targets.groupby("suite", sort=False):
        pair_ids = rows["pair_id"].tolist()
        for first in range(0, len(pair_ids), pairs_per_prefix):
            sharing = pair_ids[first : first + pairs_per_prefix]
            yield from (sampler.grow(str(suite), sharing, kind) for kind in KINDS)


def _of_suites(
    sampler: PrefixSampler, targets: pd.DataFrame, replicates: int, sentences: int | None
) -> Iterator[Prefix]:
    for suite in dict.fromkeys(targets["suite"]):
        others = targets.loc[targets["suite"] != suite, "pair_id"].tolist()
        for replicate in range(replicates):
            yield sampler.from_suite(suite, others, replicate, sentences)
