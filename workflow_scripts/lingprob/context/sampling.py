"""Draw targets (pairs to judge) and the prefixes before them from a data set (context, §3).

A draw depends only on the seed, the data set, the pairs that share it and the kind of prefix. A
larger sample therefore contains a smaller one, if each pair has its own prefixes. Prefixes grow
sentence by sentence, so a longer prefix extends a shorter one. All members of a pair have the same
prefixes.
"""

import logging
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.context.judgments import with_suites
from lingprob.context.names import CROWS_PAIRS, FROM_SUITE, KINDS, MATCHED, SYNTAXGYM, UNRELATED
from lingprob.context.prefixes import ENGLISH, Tokenize, Writing, prefix_row
from lingprob.errors import LingprobError, refuse_rows

logger = logging.getLogger(__name__)
# Drawn length over needed length, because other tokenizers may have fewer tokens per text.
SPARE = 1.5
# Number of prefixes in memory, each with the text and ids of all its sentences.
PREFIXES_AT_ONCE = 5000


def generator(seed: int, *parts: str) -> np.random.Generator:
    """Return a random generator that depends only on the seed and these names."""
    return np.random.default_rng([seed, zlib.crc32("/".join(parts).encode())])


class Source(NamedTuple):
    """The sentences of a data set that prefixes are drawn from, and how to count and join them.

    control: unrelated sentences.
    tokenize: tokenizer that counts the tokens of prefixes. Each model cuts them later by its own.
        Prefixes are longer than needed, so that they do not depend on the models of a run.
    suites: suites of prefixes and targets. Empty means all.
    """

    dataset: str
    stimuli: pd.DataFrame
    control: Sequence[str]
    tokenize: Tokenize
    suites: Sequence[str] = ()
    writing: Writing = ENGLISH


def sample_targets(source: Source, pairs_per_suite: int | None, seed: int) -> pd.DataFrame:
    """Return suite, phenomenon and pair_id of pairs (or items with more conditions) to judge.

    `pairs_per_suite` pairs are drawn of each suite (a paradigm of the `stimuli` table), all if
    None. Pairs of identical sentences are left out, because they cannot be judged.

    Raises LingprobError for an unknown suite, a suite with a single pair (nothing matched could
    precede it), or pairs without two members.
    """
    dataset, stimuli, suites = source.dataset, source.stimuli, source.suites
    where = f"data set {dataset!r}"
    known = list(dict.fromkeys(stimuli["paradigm"]))
    if unknown := [suite for suite in suites if suite not in known]:
        raise LingprobError(f"{where} has no suite {unknown[0]!r}; it has {known}.")
    members = stimuli.groupby("pair_id", sort=False)
    single = members.size() < 2
    if stimuli["pair_id"].isna().any() or single.any():
        at_fault = single.index[single][0] if single.any() else "(none)"
        raise LingprobError(f"{where}, pair {at_fault!r}: a pair needs two sentences. Add one.")
    if dataset != SYNTAXGYM:
        _check_pairs(stimuli, where)
    judged = members["text"].nunique() > 1
    drawn = []
    for suite in suites or known:
        rows = stimuli[stimuli["paradigm"] == suite].drop_duplicates("pair_id")
        if len(rows) < 2:
            raise LingprobError(
                f"{where}, suite {suite!r}: it has a single pair, so no other sentence can precede "
                "it. Add pairs, or leave the suite out of the stimuli."
            )
        rows = rows[judged.loc[rows["pair_id"]].to_numpy()]
        order = generator(seed, dataset, str(suite)).permutation(len(rows))[:pairs_per_suite]
        drawn.append(rows.iloc[order])
    if not sum(map(len, drawn)):
        raise LingprobError(f"{where}: no pair has two different sentences. Add pairs.")
    table = pd.concat(drawn, ignore_index=True)
    return table.rename(columns={"paradigm": "suite"})[["suite", "phenomenon", "pair_id"]]


def _check_pairs(stimuli: pd.DataFrame, where: str) -> None:
    """Raise LingprobError for a pair without one acceptable and one unacceptable sentence."""
    acceptable = stimuli.astype(object).groupby("pair_id", sort=False)["grammatical"].agg(list)
    refuse_rows(
        acceptable.map(lambda members: sorted(map(str, members)) != ["False", "True"]),
        "{where}, pair {pair_id!r}: a pair needs one acceptable and one unacceptable sentence, but "
        "`grammatical` is {grammatical}. Correct it or delete the pair.",
        acceptable.reset_index(),
        where=where,
    )


class PrefixSampler:
    """Draws prefixes for one data set, each a row of a `context_prefixes` table.

    A prefix grows until it has SPARE times the longest of `lengths` in tokens, or until no
    sentence is left. No prefix may be shorter than the shortest of `lengths`.
    """

    def __init__(self, source: Source, lengths: Sequence[int], seed: int) -> None:
        self.source, self.seed, stimuli = source, seed, source.stimuli
        self.enough, self.min_tokens = SPARE * max(lengths), min(lengths)
        named = stimuli["paradigm"].isin(source.suites)
        shown = stimuli[named] if len(source.suites) else stimuli
        ids = [f"{UNRELATED}/{number}" for number in range(len(source.control))]
        control = pd.DataFrame({"text": list(source.control), "item_id": ids})
        table = pd.concat([shown[shown["grammatical"].notna()], control], ignore_index=True)
        self.texts, self.ids = table["text"].to_numpy(object), table["item_id"].to_numpy(object)
        self.unrelated = table["paradigm"].isna().to_numpy()
        self.acceptable = (table["grammatical"] == True).to_numpy()  # noqa: E712 (null is neither)
        # Suites share sentences. For each suite: its rows, and all rows with the words of one.
        self.rows_of, self.words_of = {}, {}
        for suite, rows in shown.groupby("paradigm"):
            self.rows_of[suite] = (table["paradigm"] == suite).to_numpy()
            self.words_of[suite] = table["text"].isin(set(rows["text"])).to_numpy()
        self.in_several = np.sum([*self.words_of.values()], axis=0) > 1
        self.text_number = pd.factorize(table["text"])[0]
        self.with_text = table.groupby("text").indices
        self.of_pair = table.groupby("pair_id").indices
        self.members = stimuli.astype(object).groupby("pair_id")["text"].agg(list)
        self.counts: dict[int, int] = {}

    def grow(self, suite: str, pair_ids: Sequence[str], kind: str) -> dict[str, Any]:
        """Return the row of a prefix of one kind for pairs (usually one) of one suite.

        It never has the text of a sentence of these pairs. A mismatched or unrelated prefix has no
        text of a sentence of the suite (context, §3: c not in S).
        """
        if kind == UNRELATED:
            pool = self.unrelated & ~self.words_of[suite]
        else:
            mismatched = ~self.unrelated & ~self.words_of[suite]
            pool = self.rows_of[suite] if kind in MATCHED else mismatched
            pool = pool & (self.acceptable != kind.endswith("unacceptable"))
        for pair in pair_ids:
            pool[self.of_pair.get(pair, [])] = False
            for text in self.members[pair]:
                pool[self.with_text.get(text, [])] = False
        order = self._shuffled(pool, *pair_ids, kind)
        drawn = self._until_full(order, f"suite {suite!r}, {kind}", None)
        name = f"{kind}/{'+'.join(pair_ids)}"
        return self._row(drawn, prefix_id=name, kind=kind, suite=suite, pair_ids=[*pair_ids])

    def from_suite(
        self, suite: str, targets: Sequence[str], replicate: int, sentences: int | None
    ) -> dict[str, Any]:
        """Return the row of a prefix of one suite's acceptable sentences, for `targets` of others.

        `sentences` is their number (context, Appendix D: ten), or None for as many as fit. A text
        that another suite has is never drawn, because it could precede itself.
        """
        pool = self.rows_of[suite] & self.acceptable & ~self.in_several
        order = self._shuffled(pool, suite, f"replicate {replicate}")
        drawn = self._until_full(order, f"suite {suite!r}", sentences)
        name = f"{FROM_SUITE}/{suite}/{replicate}"
        return self._row(
            drawn, prefix_id=name, kind=FROM_SUITE, source_suite=suite, pair_ids=[*targets]
        )

    def _row(self, drawn: Sequence[int], **about: Any) -> dict[str, Any]:
        """Return the `context_prefixes` row of a prefix of the sentences with these indices."""
        texts, ids = self.texts[drawn].tolist(), self.ids[drawn].tolist()
        return prefix_row(texts, ids, self.source.writing, dataset=self.source.dataset, **about)

    def _shuffled(self, pool: np.ndarray, *names: str) -> list[int]:
        """Return indices of a pool's distinct texts in a random order that `names` determine."""
        rng = generator(self.seed, self.source.dataset, *names)
        order = rng.permutation(np.flatnonzero(pool))
        _, first = np.unique(self.text_number[order], return_index=True)
        found: list[int] = order[np.sort(first)].tolist()
        return found

    def _until_full(self, order: Sequence[int], what: str, sentences: int | None) -> list[int]:
        """Return the first sentences in `order` that exceed enough tokens, or `sentences` of them.

        Raises LingprobError if they have fewer tokens than the shortest length.
        """
        drawn: list[int] = []
        tokens = 0
        for index in order:
            if len(drawn) == sentences or tokens > self.enough:
                break
            drawn.append(index)
            tokens += self._count(index, order)
        if not drawn or (sentences is None and tokens < self.min_tokens):
            raise LingprobError(
                f"data set {self.source.dataset!r}, {what}: its {len(drawn)} sentences have "
                f"{tokens} tokens, fewer than the shortest prefix ({self.min_tokens}). Add "
                "sentences, lower context.lengths, or leave the suite out."
            )
        return drawn

    def _count(self, index: int, order: Sequence[int]) -> int:
        """Return the number of tokens of a sentence. Count the next ones too, as calls are slow."""
        if index not in self.counts:
            start = order.index(index)
            wanted = [other for other in order[start : start + 128] if other not in self.counts]
            joined, separator = self.source.writing
            texts = [separator + joined([self.texts[other]])[0] for other in wanted]
            counted = map(len, self.source.tokenize(texts))
            self.counts.update(zip(wanted, counted, strict=True))
        return self.counts[index]


def sample_contexts(
    source: Source, pairs_per_suite: int | None, settings: Mapping[str, Any], seed: int
) -> Iterator[pd.DataFrame]:
    """Yield the `context_prefixes` table of all prefixes of a data set, in pieces.

    `pairs_per_suite` is the number of pairs of each suite to judge, None for all. `settings` is
    the section `context` of the configuration.
    """
    dataset = source.dataset
    source = source._replace(stimuli=with_suites(source.stimuli, dataset))
    targets = sample_targets(source, pairs_per_suite, seed)
    sampler = PrefixSampler(source, settings["lengths"], seed)
    drawn = _growing(sampler, targets, settings["pairs_per_prefix"])
    if dataset != CROWS_PAIRS:
        # SyntaxGym's prefixes have as many sentences as fit (Figure 14), BLiMP's ten (Figure 13).
        sentences = None if dataset == SYNTAXGYM else settings["matrix_sentences"]
        drawn = chain(drawn, _of_suites(sampler, targets, settings, sentences))
    while some := list(islice(drawn, PREFIXES_AT_ONCE)):
        yield pd.DataFrame(some)


def _growing(
    sampler: PrefixSampler, targets: pd.DataFrame, pairs_per_prefix: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of growing prefixes of each kind, one for every `pairs_per_prefix` pairs."""
    kinds: tuple[str, ...] = KINDS
    if len(sampler.words_of) == 1:
        logger.warning("%s has one suite, so no prefix can be mismatched", sampler.source.dataset)
        kinds = (*MATCHED, UNRELATED)
    for suite, rows in targets.groupby("suite", sort=False):
        groups = np.array_split(rows["pair_id"], math.ceil(len(rows) / pairs_per_prefix))
        for sharing in groups:
            yield from (sampler.grow(str(suite), sharing.tolist(), kind) for kind in kinds)


def _of_suites(
    sampler: PrefixSampler,
    targets: pd.DataFrame,
    settings: Mapping[str, Any],
    sentences: int | None,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of prefixes from each suite, with targets of the other suites.

    The first `matrix_targets` targets of a suite (all if None) are given to the prefixes in turn.
    So every prefix precedes some targets of every suite, and a larger sample contains a smaller
    one.
    """
    prefixes = settings["matrix_prefixes"]
    place = targets.groupby("suite", sort=False).cumcount().to_numpy()
    taken = place < (settings["matrix_targets"] or len(targets))
    for suite in dict.fromkeys(targets["suite"]):
        others = (targets["suite"] != suite).to_numpy()
        for replicate in range(prefixes):
            dealt = others & taken & (place % prefixes == replicate)
            if dealt.any():
                pair_ids = targets.loc[dealt, "pair_id"].tolist()
                yield sampler.from_suite(suite, pair_ids, replicate, sentences)
