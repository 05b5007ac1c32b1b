"""A model's log-probabilities of targets after their prefixes, and its judgments of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.context.judgments import DESCRIBED, judge
from lingprob.context.names import FROM_SUITE, NO_PREFIX
from lingprob.context.prefixes import Tokenize, count_tokens, cuts
from lingprob.errors import LingprobError
from lingprob.io.tables import iterate_table, read_table
from lingprob.models.loading import LanguageModel
from lingprob.scoring.continuations import TARGET, ContextItem, score_in_context, sum_tokens
from lingprob.stimuli.formulas import WHOLE_SENTENCE
from lingprob.stimuli.syntaxgym import Region, Suite, item_id, suites_of

# Sentences whose tokens are in memory before they are summed.
SENTENCES_AT_ONCE = 250_000
# Pairs without a prefix that are scored together.
PAIRS_ALONE = 64
PREFIXES_AT_ONCE = 5000
# The regions of each sentence that formulas name, by item id. Number 0 is the whole sentence.
Regions = Mapping[str, Sequence[Region]]


@dataclass(frozen=True)
class Task:
    """The pairs of a data set and the prefixes before them.

    Args:
        dataset: its name.
        entry: its catalog entry: parser and files.
        stimuli, prefixes: files of its `stimuli` and `context_prefixes` tables.
        lengths: lengths of prefixes (tokens).
        alone: whether the pairs are also judged without a prefix.
    """

    dataset: str
    entry: Mapping[str, Any]
    stimuli: str | Path
    prefixes: str | Path
    lengths: Sequence[int]
    alone: bool


def judge_contexts(
    language_model: LanguageModel,
    name: str,
    tokenize: Tokenize,
    tasks: Iterable[Task],
    **scoring: Any,
) -> Iterator[pd.DataFrame]:
    """Yield a `context_judgments` table in pieces, task by task.

    Args:
        language_model: the model.
        name: its name.
        tokenize: its tokenizer, which counts the tokens of prefixes.
        tasks: data sets with their prefixes.
        scoring: start_token, separator, shard_directory, identity, tokens_per_batch and workers
            of `score_prefixes`, which raises the errors.
    """
    columns = ["prefix_id", "kind", "pair_ids", "text", "char_ends"]
    for task in tasks:
        stimuli = read_table(task.stimuli, "stimuli")
        described = read_table(task.prefixes, "context_prefixes", ["prefix_id", *DESCRIBED])
        suites = suites_of(task.dataset, dict(task.entry))
        prefixes = iterate_table(
            task.prefixes, "context_prefixes", "prefix_id", PREFIXES_AT_ONCE, columns
        )
        pieces = score_prefixes(
            language_model,
            stimuli,
            (piece.assign(n_tokens=count_tokens(piece, tokenize)) for piece in prefixes),
            task.lengths,
            regions=formula_regions(suites),
            baselines=task.alone,
            dataset=task.dataset,
            **scoring,
        )
        for scores in pieces:
            yield judge(name, task.dataset, stimuli, described, scores, suites)


class _Work(NamedTuple):
    """A prefix with its cuts, the last sentence before each, and the items after it."""

    prefix_id: str
    item: ContextItem
    lengths: list[int]
    sentences: list[int]
    targets: pd.DataFrame


@dataclass
class _Pairs:
    """Pairs (or items with more conditions) of a `stimuli` table, by id.

    Tokens are counted only for the pairs that are judged, because a data set has many more.
    """

    stimuli: pd.DataFrame
    language_model: LanguageModel
    separator: str
    # Tokens of the longest member of each pair.
    n_tokens: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = self.stimuli.groupby("pair_id", sort=False).indices

    def members(self, pairs: Iterable[str]) -> pd.DataFrame:
        """Return the rows of the pairs, in their order."""
        return self.stimuli.iloc[np.concatenate([self.places[pair] for pair in pairs])]

    def count_tokens(self, pairs: Iterable[str]) -> None:
        """Count the tokens of pairs that have not been counted."""
        new = [pair for pair in pairs if pair not in self.n_tokens]
        if new:
            rows = self.members(new)
            texts = [self.separator + text for text in rows["text"]]
            counts = [len(tokens.ids) for tokens in self.language_model.tokenize(texts)]
            longest = pd.Series(counts).groupby(rows["pair_id"].to_numpy(), sort=False).max()
            self.n_tokens |= longest.to_dict()


def score_prefixes(
    language_model: LanguageModel,
    stimuli: pd.DataFrame,
    prefixes: Iterable[pd.DataFrame],
    lengths: Sequence[int],
    *,
    start_token: str,
    regions: Regions,
    baselines: bool,
    dataset: str,
    separator: str = " ",
    **scoring: Any,
) -> Iterator[pd.DataFrame]:
    """Score the members of every pair after its prefixes at each length, and after none.

    Args:
        language_model: the model.
        stimuli: `stimuli` table of the pairs.
        prefixes: `context_prefixes` table, in pieces. Kind `from_suite` is scored at its longest,
            others at each length. Column `n_tokens` is `prefixes.count_tokens` by the model's
            tokenizer.
        lengths: lengths of the growing prefixes (tokens). A prefix ends earlier if the context
            window has no room for it and its longest target.
        start_token: precedes everything, as in `score_in_context`. Every token of a target counts,
            with a prefix and without, so that their difference is due to the prefix. With `none`,
            nothing predicts the first token without a prefix, so it does not count.
        regions: regions of sentences that formulas name; empty for plain pairs.
        baselines: whether pairs are also scored after no prefix.
        dataset: its name, for errors.
        separator: text between a prefix and a target, as in `score_in_context`.
        scoring: shard_directory, identity, tokens_per_batch and workers of `score_in_context`.

    Yields:
        A table in pieces, one row per sentence (region 0) of plain pairs, or per region that a
        formula names, after one prefix at one length: prefix_id, length (tokens), prefix_tokens,
        n_sentences, pair_id, item_id, region, logprob (summed, nats) and n_tokens. Tokens after
        the last named region are not run. All rows after a prefix are in one piece.

    Raises LingprobError for a target longer than the context window, lengths or a window too
    short for every prefix, or a region that no token belongs to.
    """
    pairs = _Pairs(stimuli, language_model, separator)
    window = language_model.context_window - (start_token != "none")
    # All items of suites are judged without a prefix, because that costs little.
    judged = set(pairs.places) if regions else set[str]()
    _refuse_long(pairs, judged, window, dataset)
    found = False

    def work() -> Iterator[_Work]:
        nonlocal found
        for piece in prefixes:
            new = {pair for ids in piece["pair_ids"] for pair in ids} - judged
            _refuse_long(pairs, new, window, dataset)
            judged.update(new)
            for one in _after_prefixes(pairs, regions, piece, lengths, window):
                found = True
                yield one
        if baselines and found:
            yield from _alone(pairs, [pair for pair in pairs.places if pair in judged], regions)

    for some in _batches(work()):
        tokens = score_in_context(
            language_model,
            [one.item for one in some],
            start_token=start_token,
            separator=separator,
            **scoring,
        )
        yield _sums(tokens, some, regions, dataset)
    if not found:
        raise LingprobError(
            f"data set {dataset!r}: no prefix has a whole sentence within {max(lengths)} tokens "
            f"and the context window of {language_model.directory}. Raise context.lengths, or "
            "choose a model with a longer window."
        )


def _batches(work: Iterable[_Work]) -> Iterator[list[_Work]]:
    """Group prefixes until enough sentences follow them. Pairs without one are apart."""
    some: list[_Work] = []
    sentences = 0
    for one in work:
        apart = bool(some) and (one.prefix_id == NO_PREFIX) != (some[-1].prefix_id == NO_PREFIX)
        if apart or sentences > SENTENCES_AT_ONCE:
            yield some
            some, sentences = [], 0
        some.append(one)
        sentences += len(one.lengths) * len(one.targets)
    if some:
        yield some


def formula_regions(suites: Sequence[Suite]) -> dict[str, list[Region]]:
    """Return by item id the regions that the predictions of its suite name."""
    found = {}
    for suite in suites:
        named = {region for formula in suite.predictions for region in formula.regions()}
        for item in suite.items:
            for condition, sentence in item.sentences.items():
                whole = Region(WHOLE_SENTENCE, 0, len(sentence.text))
                found[item_id(suite.name, item.number, condition)] = [
                    region
                    for region in (whole, *sentence.regions)
                    if (condition, region.number) in named
                ]
    return found


def _alone(pairs: _Pairs, judged: Sequence[str], regions: Regions) -> Iterator[_Work]:
    """Yield the targets without a prefix, many pairs together."""
    for first in range(0, len(judged), PAIRS_ALONE):
        rows = pairs.members(judged[first : first + PAIRS_ALONE])
        yield _Work(NO_PREFIX, _item("", [0], rows, regions), [0], [-1], rows)


def _item(prefix: str, cuts: list[int], targets: pd.DataFrame, regions: Regions) -> ContextItem:
    """Return what to score: targets up to the last region that a formula names, or all of them."""
    texts = targets["text"].tolist()
    if not regions:
        return ContextItem(prefix, cuts, texts)
    ends = [
        max((region.end for region in regions[item]), default=len(text))
        for item, text in zip(targets["item_id"], texts, strict=True)
    ]
    return ContextItem(prefix, cuts, texts, ends)


def _after_prefixes(
    pairs: _Pairs,
    regions: Regions,
    prefixes: pd.DataFrame,
    lengths: Sequence[int],
    window: int,
) -> Iterator[_Work]:
    """Yield each prefix with its cuts, unless even its first sentence is too long."""
    for row in prefixes.itertuples():
        counted = row.n_tokens
        asked = [min(counted[-1], max(lengths))] if row.kind == FROM_SUITE else lengths
        longest = max(pairs.n_tokens[pair] for pair in row.pair_ids)
        ends = cuts(counted, asked, window - longest)
        if ends:
            last = list(ends.values())
            targets = pairs.members(row.pair_ids)
            places = [int(row.char_ends[one]) for one in last]
            item = _item(row.text, places, targets, regions)
            yield _Work(row.prefix_id, item, list(ends), last, targets)


def _refuse_long(pairs: _Pairs, new: set[str], window: int, dataset: str) -> None:
    """Count the tokens of new pairs. Raise LingprobError for a pair that exceeds the window."""
    pairs.count_tokens(new)
    pair = max(new, key=lambda pair: (pairs.n_tokens[pair], pair), default=None)
    if pair is not None and pairs.n_tokens[pair] >= window:
        raise LingprobError(
            f"data set {dataset!r}, pair {pair!r}: {pairs.n_tokens[pair]} tokens in a sentence; "
            f"the context window of {pairs.language_model.directory} has room for {window}. Choose "
            "a model with a longer window, or delete the pair."
        )


def _sums(
    tokens: pd.DataFrame,
    work: Sequence[_Work],
    regions: Regions,
    dataset: str,
) -> pd.DataFrame:
    """Sum tokens over sentences, or over the regions that formulas name."""
    placed = _named(tokens, work, regions) if regions else tokens.assign(region=WHOLE_SENTENCE)
    sums = sum_tokens(placed, [*TARGET, "region"])
    places = [work[index] for index in sums["item_index"]]
    cut, target = sums["cut_index"], sums["target_index"]
    table = pd.DataFrame(
        {
            "prefix_id": [one.prefix_id for one in places],
            "length": [one.lengths[k] for one, k in zip(places, cut, strict=True)],
            "prefix_tokens": sums["prefix_tokens"],
            "n_sentences": [one.sentences[k] + 1 for one, k in zip(places, cut, strict=True)],
            "pair_id": [
                one.targets["pair_id"].iat[k] for one, k in zip(places, target, strict=True)
            ],
            "item_id": [
                one.targets["item_id"].iat[k] for one, k in zip(places, target, strict=True)
            ],
            "region": sums["region"],
            "logprob": sums["logprob"],
            "n_tokens": sums["n_tokens"],
        }
    )
    _refuse_missing(table, work, regions, dataset)
    return table


def _named(tokens: pd.DataFrame, work: Sequence[_Work], regions: Regions) -> pd.DataFrame:
    """Return the tokens with the `region` in which each starts, once for each named region."""
    starts = tokens["char_start"].to_numpy()
    places, numbers = [], []
    by_target = tokens.groupby(["item_index", "target_index"], sort=False).indices
    for (index, target), rows in by_target.items():
        for region in regions[work[index].targets["item_id"].iat[target]]:
            inside = rows[(starts[rows] >= region.start) & (starts[rows] < region.end)]
            places.append(inside)
            numbers.append(np.full(len(inside), region.number, dtype=np.int32))
    named = tokens.iloc[np.concatenate([*places, np.empty(0, dtype=np.int64)])]
    return named.assign(region=np.concatenate([*numbers, np.empty(0, dtype=np.int32)]))


def _refuse_missing(
    table: pd.DataFrame, work: Sequence[_Work], regions: Regions, dataset: str
) -> None:
    """Raise LingprobError for a sentence or a region without a scored token."""
    whole = [Region(WHOLE_SENTENCE, 0, 0)]
    wanted = sum(
        len(one.lengths) * len(regions.get(item, whole))
        for one in work
        for item in one.targets["item_id"]
    )
    if len(table) == wanted:
        return
    for one in work:
        scored = table[(table["prefix_id"] == one.prefix_id)]
        for item in one.targets["item_id"]:
            numbers = {region.number for region in regions.get(item, whole)}
            if missing := numbers - set(scored.loc[scored["item_id"] == item, "region"]):
                what = f"region {min(missing)}" if min(missing) else "the sentence"
                raise LingprobError(
                    f"data set {dataset!r}, item {item!r}: no scored token starts in {what}. "
                    "Choose a BOS policy with a start token, split the region elsewhere, or leave "
                    "the suite out."
                )
