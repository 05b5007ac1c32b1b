"""Log-probabilities of targets after their prefixes, summed over sentences and critical regions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.context.names import FROM_SUITE, NO_PREFIX
from lingprob.context.prefixes import cuts
from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel
from lingprob.scoring.continuations import ContextItem
from lingprob.scoring.growing_prefixes import TARGET, score_in_context, sum_tokens
from lingprob.stimuli.formulas import WHOLE_SENTENCE
from lingprob.stimuli.syntaxgym import Region, Suite, item_id

# Sentences after prefixes between two reductions of tokens to sums: what bounds the memory.
SENTENCES_AT_ONCE = 250_000
# Pairs that are scored side by side where nothing precedes them.
PAIRS_ALONE = 64
# What formulas name of each sentence, by item id: regions, and number 0 for the whole of it.
Regions = Mapping[str, Sequence[Region]]


class _Work(NamedTuple):
    """A prefix with its cuts, the last of each in `sentences`, and the items after it."""

    prefix_id: str
    item: ContextItem
    lengths: list[int]
    sentences: list[int]
    targets: pd.DataFrame


@dataclass
class _Pairs:
    """Pairs (or items of more conditions) of a `stimuli` table, by id.

    A data set has many more than are judged, so that tokens are counted of those asked for.
    """

    stimuli: pd.DataFrame
    language_model: LanguageModel
    separator: str
    n_tokens: dict[str, int] = field(default_factory=dict)  # of a pair's longest member

    def __post_init__(self) -> None:
        self.places = self.stimuli.groupby("pair_id", sort=False).indices

    def members(self, pairs: Iterable[str]) -> pd.DataFrame:
        """Return the rows of the pairs, in their order."""
        return self.stimuli.iloc[np.concatenate([self.places[pair] for pair in pairs])]

    def count_tokens(self, pairs: Iterable[str]) -> None:
        """Count the tokens of pairs that are new."""
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
    shard_directory: str | Path | None = None,
    identity: str = "",
    tokens_per_batch: int | None = None,
    workers: int = 1,
) -> Iterator[pd.DataFrame]:
    """Score the members of every pair after its prefixes at each length, and after none.

    Args:
        language_model: the model.
        stimuli: `stimuli` table of the pairs.
        prefixes: `context_prefixes` table, in pieces; kind `from_suite` is scored at its longest,
            others at each length. Column `n_tokens` has what `prefixes.count_tokens` returns for
            the model's tokenizer.
        lengths: lengths of the growing prefixes, in tokens; where the context window leaves less
            room before a prefix's longest target, a prefix ends there.
        start_token: what precedes everything. Every token of a target counts, with a prefix and
            without, so that their difference is the prefix's doing; but the first without a prefix
            where the start token is `none`, for nothing predicts it.
        regions: what a formula needs of a sentence; empty for plain pairs.
        baselines: whether pairs are scored after no prefix, too.
        dataset: its name, for errors.
        separator: what stands between a prefix and a target, as in `score_in_context`.
        shard_directory, identity, tokens_per_batch, workers: as in `score_in_context`.

    Yields:
        A table in pieces, one row per sentence (region 0) of plain pairs or per region that a
        formula names, after one prefix cut at one length: columns prefix_id, length (tokens),
        prefix_tokens, n_sentences, pair_id, item_id, region, logprob (the sum, nats) and n_tokens.
        What follows the last region that is named is not run. All rows after a prefix are in one
        piece.

    Raises LingprobError for a target longer than the context window, lengths or a window too
    short for every prefix, or a region that no token belongs to.
    """
    pairs = _Pairs(stimuli, language_model, separator)
    window = language_model.context_window - (start_token != "none")
    # Without a prefix all items of suites are judged: that costs little.
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
            shard_directory=shard_directory,
            identity=identity,
            tokens_per_batch=tokens_per_batch,
            workers=workers,
        )
        yield _sums(tokens, some, regions, dataset)
    if not found:
        raise LingprobError(
            f"data set {dataset!r}: no prefix has a whole sentence within {max(lengths)} tokens "
            f"and the context window of {language_model.directory}. Raise context.lengths, or "
            "take a model with a longer window."
        )


def _batches(work: Iterable[_Work]) -> Iterator[list[_Work]]:
    """Put prefixes together that have so many sentences after them; what follows none, apart, so
    that its rows, too, stand together."""
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


def score_alone(
    language_model: LanguageModel,
    stimuli: pd.DataFrame,
    regions: Regions,
    *,
    start_token: str,
    dataset: str,
    **scoring: Any,
) -> dict[str, pd.DataFrame]:
    """Score the members of every pair after a start token alone, first tokens scored or excluded.

    Arguments, errors and columns as in `score_prefixes`. Returns a table for each.
    """
    pairs = _Pairs(stimuli, language_model, "")
    work = [*_alone(pairs, [*pairs.places], regions)]
    items = [one.item for one in work]
    tokens = score_in_context(language_model, items, start_token=start_token, **scoring)
    later = tokens[tokens["token_index"] > 0]
    counted = {"scored": tokens, "excluded": later}
    return {name: _sums(some, work, regions, dataset) for name, some in counted.items()}


def formula_regions(suites: Sequence[Suite]) -> dict[str, list[Region]]:
    """Return what each sentence's suite names of it in its predictions, by item id."""
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
    """Yield the targets alone, many pairs side by side."""
    for first in range(0, len(judged), PAIRS_ALONE):
        rows = pairs.members(judged[first : first + PAIRS_ALONE])
        yield _Work(NO_PREFIX, _item("", [0], rows, regions), [0], [-1], rows)


def _item(prefix: str, cuts: list[int], targets: pd.DataFrame, regions: Regions) -> ContextItem:
    """Return what is scored: of the targets as much as formulas name, of plain pairs all."""
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
    """Yield each prefix with its cuts, if any of its sentences is within a length and the room
    that the window leaves before its longest target."""
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
    """Count the tokens of new pairs; raise LingprobError for one that the context window has no
    room for."""
    pairs.count_tokens(new)
    pair = max(new, key=lambda pair: (pairs.n_tokens[pair], pair), default=None)
    if pair is not None and pairs.n_tokens[pair] >= window:
        raise LingprobError(
            f"data set {dataset!r}, pair {pair!r}: {pairs.n_tokens[pair]} tokens, and the context "
            f"window of {pairs.language_model.directory} leaves room for {window}. Take a model "
            "with a longer one, or delete the pair."
        )


def _sums(
    tokens: pd.DataFrame,
    work: Sequence[_Work],
    regions: Regions,
    dataset: str,
) -> pd.DataFrame:
    """Sum tokens to sentences, or to what formulas name of them."""
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
    """Return the tokens with the `region` in which each starts, once for each that is named."""
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
    """Raise LingprobError where a sentence or a region that needs a scored token has none."""
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
                    "Take a BOS policy with a start token, split the region elsewhere, or leave "
                    "the suite out."
                )
