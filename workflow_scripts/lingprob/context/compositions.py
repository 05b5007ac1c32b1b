"""Prefixes composed by dose and place of what is unacceptable, and their controls (beyond §5).

All prefixes before the same targets are made of the same other pairs of their suite, in the same
order: what differs is which member of a pair stands there, or how it is changed. A draw depends on
the seed, the data set and the targets alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.context.conditions import (
    COMPOSED,
    DISTANCE,
    DOSE,
    DOSES,
    EARLY,
    LATE,
    NONCE,
    OVERLAP_MATCHED,
    PLACE,
    SHUFFLED,
    SIDES,
    UNACCEPTABLE,
    level_of,
)
from lingprob.context.nonce import NonceWriter
from lingprob.context.perturbations import Perturber, split_end
from lingprob.context.prefixes import Prefix, Tokenize, prefix_table
from lingprob.context.sampling import SPARE, control_ids, generator, sample_targets
from lingprob.context.sentences import joined
from lingprob.context.similarity import Overlaps, words
from lingprob.context.suites import with_suites
from lingprob.errors import LingprobError

logger = logging.getLogger(__name__)
# Each dose is exact in so many sentences in a row, wherever a prefix is cut between them.
BLOCK = 4
# Pairs of other phenomena among which one is looked for that shares as many words with the targets.
POOL = 5000


@dataclass(frozen=True)
class Sizes:
    """Lengths in tokens of the reckoning tokenizer.

    Attributes:
        longest: of the prefixes of dose 0 and 1, and of those that end with unrelated sentences.
        varied: of all others.
        block: of what is unacceptable before unrelated sentences.
    """

    longest: int
    varied: int
    block: int


@dataclass(frozen=True)
class Pairs:
    """Pairs in one order: ids and texts of their members, acceptable (column 0) and not (1).

    Both arrays are (n, 2) of str.
    """

    ids: np.ndarray
    texts: np.ndarray

    def taken(self, rows: np.ndarray) -> Pairs:
        """Return some of the pairs, in this order."""
        return Pairs(self.ids[rows], self.texts[rows])

    def changed(self, change: Callable[[str], str]) -> Pairs:
        """Return the same pairs with every sentence changed."""
        new = [[change(text) for text in both] for both in self.texts]
        return Pairs(self.ids, np.array(new, dtype=object).reshape(-1, 2))


def spread(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return ranks from 0 to below 1, (count,): those below a dose are that share of each BLOCK.

    What is unacceptable at one dose is so at every higher one.
    """
    blocks = [rng.permutation(BLOCK) for _ in range(-(-count // BLOCK))]
    return np.concatenate([*blocks, np.empty(0)])[:count] / BLOCK


def shuffled(sentence: str, perturber: Perturber, rng: np.random.Generator) -> str:
    """Return a sentence's words in random order, with its capital and its end where they were."""
    body, end = split_end(sentence)
    order = rng.permutation(perturber.uncapitalised(body).split())
    text = " ".join(order)
    return text[0].upper() + text[1:] + end


class Composer:
    """Composes the prefixes of one data set; arguments as of `composed_prefixes`."""

    def __init__(
        self,
        dataset: str,
        stimuli: pd.DataFrame,
        control: Sequence[str],
        tokenize: Tokenize,
        *,
        sizes: Sizes,
        language: str,
        seed: int,
    ) -> None:
        self.dataset, self.seed, self.sizes = dataset, seed, sizes
        self.tokenize = tokenize
        usable = stimuli[stimuli["grammatical"].notna()].sort_values(
            ["pair_id", "grammatical"], ascending=[True, False], kind="stable"
        )
        self.pairs = Pairs(
            usable["item_id"].to_numpy(object).reshape(-1, 2),
            usable["text"].to_numpy(object).reshape(-1, 2),
        )
        self.pair_ids = usable["pair_id"].to_numpy(object)[::2]
        self.suites = usable["paradigm"].to_numpy(object)[::2]
        self.phenomena = usable["phenomenon"].astype(object).fillna("").to_numpy()[::2]
        self.control = np.array(control, dtype=object)
        self.control_ids = np.array(control_ids(len(control)), dtype=object)
        self.perturber = Perturber(stimuli["text"])
        self.counts: dict[str, int] = {}
        self.nonce = NonceWriter(stimuli["text"], seed) if language == "en" else None

    def compose(self, suite: str, pair_ids: Sequence[str]) -> pd.DataFrame:
        """Return all prefixes before some pairs of one suite: rows of `context_prefixes`.

        Raises LingprobError where the suite has too few other pairs for half a block.
        """
        rng = generator(self.seed, self.dataset, *pair_ids, COMPOSED)
        is_target = np.isin(self.pair_ids, list(pair_ids))
        targets = self.pairs.texts[is_target].ravel().tolist()
        own = self._drawn(np.flatnonzero((self.suites == suite) & ~is_target), targets, rng)
        varied = self._within(own, self.sizes.varied)
        if len(varied.ids) < 2:
            raise LingprobError(
                f"data set {self.dataset!r}, suite {suite!r}: {len(varied.ids)} other pairs fit "
                f"{self.sizes.varied} tokens, and two are needed. Raise context.composed_tokens, "
                "add pairs, or leave the suite out."
            )
        some = {
            **self._doses(own, len(varied.ids), rng),
            **self._places(varied),
            **self._distances(self._within(own, self.sizes.block), rng),
            **self._controls(suite, own, varied, targets, rng),
        }
        table = pd.concat(
            [
                prefix_table(
                    self.dataset,
                    [Prefix(f"{kind}/{'+'.join(pair_ids)}", kind, suite, None, tuple(pair_ids),
                            tuple(ids), tuple(texts))],
                    level,
                )
                for (kind, level), (ids, texts) in some.items()
            ],
            ignore_index=True,
        )  # fmt: skip
        shown = [texts[: len(varied.ids)] for _, texts in some.values()]
        return table.assign(similarity=self._similarities(shown, targets))

    def _drawn(self, rows: np.ndarray, targets: list[str], rng: np.random.Generator) -> Pairs:
        """Shuffle pairs; none has a target's words, nor twice the same."""
        found, seen = [], set(targets)
        for row in rng.permutation(rows):
            texts = set(self.pairs.texts[row])
            if len(texts) == 2 and not texts & seen:
                found.append(int(row))
                seen |= texts
        return self.pairs.taken(np.array(found, dtype=int))

    def _within(self, pairs: Pairs, tokens: float) -> Pairs:
        """Return the first pairs whose longer members have at most so many tokens together."""
        # More sentences than tokens would never fit.
        some = pairs.taken(np.arange(min(len(pairs.ids), int(tokens))))
        ends = self._sizes(some.texts.ravel().tolist()).reshape(-1, 2).max(axis=1).cumsum()
        return some.taken(np.flatnonzero(ends <= tokens))

    def _sizes(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the tokens of each sentence within others; each is tokenised once."""
        if new := [one for one in dict.fromkeys(sentences) if one not in self.counts]:
            found = self.tokenize([f" {joined([one])[0]}" for one in new])
            self.counts.update(zip(new, map(len, found), strict=True))
        return np.array([self.counts[one] for one in sentences], dtype=int)

    def _doses(self, own: Pairs, varied: int, rng: np.random.Generator) -> _Conditions:
        whole = self._within(own, SPARE * self.sizes.longest)
        ranks = spread(len(whole.ids), rng)
        found = {}
        for dose in DOSES:
            count = len(whole.ids) if dose in (DOSES[0], DOSES[-1]) else varied
            found[DOSE, level_of(dose)] = members(whole, ranks[:count] < dose)
        return found

    def _places(self, varied: Pairs) -> _Conditions:
        """Put as many unacceptable sentences first as last."""
        place, half = np.arange(len(varied.ids)), len(varied.ids) // 2
        return {
            (PLACE, EARLY): members(varied, place < half),
            (PLACE, LATE): members(varied, place >= len(place) - half),
        }

    def _distances(self, block: Pairs, rng: np.random.Generator) -> _Conditions:
        """Put unrelated sentences between a block, if any sentence fits it, and the targets."""
        if not len(block.ids):
            return {}
        order = rng.permutation(len(self.control))[: int(SPARE * self.sizes.longest)]
        texts = self.control[order].tolist()
        count = int(np.searchsorted(self._sizes(texts).cumsum(), SPARE * self.sizes.longest)) + 1
        after_ids, after = self.control_ids[order][:count].tolist(), texts[:count]
        found = {}
        for side in SIDES:
            ids, sentences = members(block, of_side(block, side))
            found[DISTANCE, side] = [*ids, *after_ids], [*sentences, *after]
        return found

    def _controls(
        self,
        suite: str,
        own: Pairs,
        varied: Pairs,
        targets: list[str],
        rng: np.random.Generator,
    ) -> _Conditions:
        tokens = self.sizes.varied
        changed = {
            SHUFFLED: varied.changed(lambda text: shuffled(text, self.perturber, rng)),
            OVERLAP_MATCHED: self._within(self._alike(suite, own, targets, rng), tokens),
        }
        if self.nonce is not None:
            changed[NONCE] = self._within(varied.changed(self.nonce.rewrite), tokens)
        return {
            (kind, side): members(pairs, of_side(pairs, side))
            for kind, pairs in changed.items()
            for side in SIDES
            if len(pairs.ids)
        }

    def _alike(self, suite: str, own: Pairs, targets: list[str], rng: np.random.Generator) -> Pairs:
        """Return pairs of other phenomena, each as like the targets in words as an own one.

        In the order of the own ones; to each the nearest in mean F1 of all its words that is left.
        Of other suites where all pairs are of one phenomenon, as far as is known.
        """
        others = ~np.isin(self.phenomena, self.phenomena[self.suites == suite])
        if not others.any():
            others = self.suites != suite
        rows = rng.permutation(np.flatnonzero(others))[:POOL]
        shown = {text for both in self.pairs.texts[self.suites == suite] for text in both}
        pool = self._drawn(rows, list(shown), rng)
        if not len(pool.ids):
            return pool
        # Shorter sentences than the suite's own need more of them.
        wanted = self._within(own, 2 * self.sizes.varied)
        likes = [self._similarities(pairs.texts.tolist(), targets) for pairs in (wanted, pool)]
        left, chosen = np.ones(len(pool.ids), dtype=bool), []
        for like in likes[0]:
            if left.any():
                nearest = int(np.argmin(np.where(left, np.abs(likes[1] - like), np.inf)))
                left[nearest] = False
                chosen.append(nearest)
        return pool.taken(np.array(chosen, dtype=int))

    def _similarities(self, groups: Sequence[Sequence[str]], targets: list[str]) -> np.ndarray:
        """Return the mean F1 of words between the sentences of each group and the targets."""
        texts = [text for group in groups for text in group]
        overlaps = Overlaps([*texts, *targets], lambda some: [words(text) for text in some])
        each = overlaps.f1(np.repeat(texts, len(targets)).tolist(), targets * len(texts))
        means = each.reshape(len(texts), -1).mean(axis=1)
        counts = [len(group) for group in groups]
        return np.array([part.mean() for part in np.split(means, np.cumsum(counts)[:-1])])


# Ids and texts of sentences in order, by kind and level.
_Conditions = dict[tuple[str, str], tuple[list[str], list[str]]]


def members(pairs: Pairs, unacceptable: np.ndarray) -> tuple[list[str], list[str]]:
    """Return ids and texts of one member of each of the first pairs; the mask says which."""
    place = np.arange(len(unacceptable)), unacceptable.astype(int)
    return pairs.ids[place].tolist(), pairs.texts[place].tolist()


def of_side(pairs: Pairs, side: str) -> np.ndarray:
    """Return the mask of acceptable, or of unacceptable, members throughout."""
    return np.full(len(pairs.ids), side == UNACCEPTABLE)


def composed_prefixes(
    dataset: str,
    stimuli: pd.DataFrame,
    control: Sequence[str],
    tokenize: Tokenize,
    *,
    suites: Sequence[str],
    suites_drawn: int,
    pairs_per_suite: int,
    pairs_per_prefix: int,
    sizes: Sizes,
    language: str,
    seed: int,
) -> Iterator[pd.DataFrame]:
    """Yield the composed prefixes of a data set of plain pairs, a suite at a time.

    Args:
        dataset: its name.
        stimuli: its `stimuli` table.
        control: unrelated sentences.
        tokenize: the tokenizer that lengths are reckoned by.
        suites: those that may be drawn; none means all.
        suites_drawn: how many are; a larger number contains a smaller one's. One of fewer than
            two pairs beside the targets that share their prefixes is left out, with a warning.
        pairs_per_suite: targets of each, the first of those that `sample_contexts` draws.
        pairs_per_prefix: targets that share their prefixes.
        sizes: lengths of prefixes.
        language: of the data set; nonce words are English.
        seed: of every draw.

    Yields:
        Pieces of a `context_prefixes` table: `kind` and `perturbation` are a condition's kind and
        level, `similarity` is the mean F1 of words between a prefix's sentences, as far as the
        varied length goes, and its targets.

    Raises LingprobError as `sample_targets` does, where no suite has enough pairs, or where two
    of a suite do not fit the varied length.
    """
    stimuli = with_suites(stimuli, dataset)
    targets = sample_targets(dataset, stimuli, suites, pairs_per_suite, seed)
    known = list(dict.fromkeys(targets["suite"]))
    order = generator(seed, dataset, COMPOSED).permutation(len(known))
    pairs = stimuli.groupby("paradigm")["pair_id"].nunique()
    enough = pairs[known].to_numpy() >= min(pairs_per_suite, pairs_per_prefix) + 2
    _tell_of_small(dataset, pairs[known].index[~enough].tolist(), of=len(known))
    composer = Composer(
        dataset, stimuli, control, tokenize, sizes=sizes, language=language, seed=seed
    )
    if composer.nonce is None:
        logger.warning("%s is in %r: no nonce words, which are English", dataset, language)
    for place in sorted(order[enough[order]][:suites_drawn]):
        pair_ids = targets.loc[targets["suite"] == known[place], "pair_id"].tolist()
        groups = [
            pair_ids[first : first + pairs_per_prefix]
            for first in range(0, len(pair_ids), pairs_per_prefix)
        ]
        tables = [composer.compose(known[place], group) for group in groups]
        yield pd.concat(tables, ignore_index=True)


def _tell_of_small(dataset: str, small: Sequence[str], of: int) -> None:
    """Log the suites of too few pairs; raise LingprobError where all are."""
    why = "fewer than two pairs beside the targets of a prefix"
    if len(small) == of:
        raise LingprobError(
            f"data set {dataset!r}: {why} in every suite, so nothing can be composed. Lower "
            "context.composed_pairs, set context.composed_suites to 0, or add pairs."
        )
    if small:
        logger.warning("%s: no composed prefixes for %s: %s", dataset, ", ".join(small), why)
