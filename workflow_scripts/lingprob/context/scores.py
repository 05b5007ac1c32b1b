"""Compute a model's log-probabilities of targets after their prefixes, and judge the targets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from lingprob.scoring.engine import Scorer
from lingprob.stimuli.formulas import WHOLE_SENTENCE
from lingprob.stimuli.syntaxgym import Region, Suite, item_id, suites_of

# Number of sentences whose tokens are in memory before they are summed.
SENTENCES_AT_ONCE = 250_000
# Number of pairs without a prefix that are scored together.
PAIRS_ALONE = 64
PREFIXES_AT_ONCE = 5000
# The regions of each sentence that formulas name, by item id. Number 0 is the whole sentence.
Regions = Mapping[str, Sequence[Region]]
WHOLE = [Region(WHOLE_SENTENCE, 0, 0)]
PLACE = ["prefix_id", "length", "n_sentences", "pair_id", "item_id"]


@dataclass(frozen=True)
class Task:
    """A data set whose pairs are to be judged, with its catalog entry and the paths of its tables.

    `lengths` are those of prefixes (tokens). `alone` is whether the pairs are also judged without
    a prefix.
    """

    dataset: str
    entry: Mapping[str, Any]
    stimuli: str | Path
    prefixes: str | Path
    lengths: Sequence[int]
    alone: bool


def judge_contexts(
    scorer: Scorer, name: str, tokenize: Tokenize, tasks: Iterable[Task], **scoring: Any
) -> Iterator[pd.DataFrame]:
    """Yield a `context_judgments` table of the model `name` in pieces, task by task.

    `tokenize` is its tokenizer, which counts the tokens of prefixes. `scoring` has start_token,
    separator, shards and workers of `score_prefixes`, which raises the errors.
    """
    columns = ["prefix_id", "kind", "pair_ids", "text", "char_ends"]
    for task in tasks:
        stimuli = read_table(task.stimuli, "stimuli")
        described = read_table(task.prefixes, "context_prefixes", ["prefix_id", *DESCRIBED])
        suites = suites_of(task.dataset, dict(task.entry))
        prefixes = iterate_table(task.prefixes, "context_prefixes", PREFIXES_AT_ONCE, columns)
        pieces = score_prefixes(
            scorer,
            Targets(task.dataset, stimuli, formula_regions(suites)),
            (piece.assign(n_tokens=count_tokens(piece, tokenize)) for piece in prefixes),
            task.lengths,
            alone=task.alone,
            **scoring,
        )
        for scores in pieces:
            yield judge(name, task.dataset, stimuli, described, scores, suites)


class Targets(NamedTuple):
    """The pairs (or items with more conditions) of a data set, in its `stimuli` table.

    `regions` are those that formulas name; empty for plain pairs.
    """

    dataset: str
    stimuli: pd.DataFrame
    regions: Regions


class _Work(NamedTuple):
    """A prefix and the targets after it, with the last sentence at the cut of each length."""

    prefix_id: str
    item: ContextItem
    ends: Mapping[int, int]
    pair_ids: list[str]
    item_ids: list[str]


class _Pairs:
    """The targets of a data set by pair id, and the tokens of each judged pair's longest member."""

    def __init__(
        self, targets: Targets, language_model: LanguageModel, separator: str, window: int
    ) -> None:
        self.dataset, stimuli, self.regions = targets
        # Rows are taken for every prefix, which is slow in columns of pyarrow's strings.
        self.stimuli = stimuli[["pair_id", "item_id", "text"]].astype(object)
        self.language_model, self.separator, self.window = language_model, separator, window
        self.places = self.stimuli.groupby("pair_id", sort=False).indices
        self.n_tokens: dict[str, int] = {}

    def count_tokens(self, pairs: Iterable[str]) -> None:
        """Count the tokens of more pairs. Raise LingprobError for one that exceeds the window."""
        new = sorted({*pairs} - {*self.n_tokens})
        if not new:
            return
        rows = self.members(new)
        texts = [self.separator + text for text in rows["text"]]
        counts = [len(tokens.ids) for tokens in self.language_model.tokenize(texts)]
        longest = pd.Series(counts).groupby(rows["pair_id"].to_numpy()).max()
        self.n_tokens |= longest.to_dict()
        if longest[pair := longest.idxmax()] >= self.window:
            raise LingprobError(
                f"data set {self.dataset!r}, pair {pair!r}: {longest[pair]} tokens in a sentence; "
                f"the context window of {self.language_model.directory} has room for "
                f"{self.window}. Choose a model with a longer window, or delete the pair."
            )

    def members(self, pairs: Iterable[str]) -> pd.DataFrame:
        """Return the rows of `stimuli` that belong to `pairs`, pair by pair in that order."""
        return self.stimuli.iloc[np.concatenate([self.places[pair] for pair in pairs])]

    def after(
        self, prefix_id: str, prefix: str, ends: Mapping[int, int], cuts: list[int], pairs: Any
    ) -> _Work:
        """Return the work of scoring `pairs` after a prefix, up to the last region of a formula.

        `ends` has the last sentence of the prefix by length, `cuts` its end in characters.
        """
        rows = self.members(pairs)
        texts, item_ids = rows["text"].tolist(), rows["item_id"].tolist()
        stops = [
            max((region.end for region in self.regions[item]), default=len(text))
            for item, text in zip(item_ids, texts, strict=True)
        ] if self.regions else None  # fmt: skip
        item = ContextItem(prefix, cuts, texts, stops)
        return _Work(prefix_id, item, ends, rows["pair_id"].tolist(), item_ids)


def score_prefixes(
    scorer: Scorer,
    targets: Targets,
    prefixes: Iterable[pd.DataFrame],
    lengths: Sequence[int],
    *,
    alone: bool,
    start_token: str,
    separator: str = " ",
    **scoring: Any,
) -> Iterator[pd.DataFrame]:
    """Yield summed log-probabilities of targets after their prefixes at each length, and alone.

    Args:
        prefixes: `context_prefixes` table, in pieces. Kind `from_suite` is scored at its longest
            (before regions at most the longest of `lengths`), others at each length. Column
            `n_tokens` is `prefixes.count_tokens` by the model's tokenizer.
        lengths: lengths of the growing prefixes (tokens). A prefix ends earlier if the context
            window has no room for it and its longest target.
        alone: whether pairs are also scored after no prefix.
        start_token: precedes everything. Every token of a target counts, with a prefix and
            without, so that their difference is due to the prefix. With `none`, nothing predicts
            the first token without a prefix, so it does not count.
        separator, scoring: separator, shards and workers of `score_in_context`.

    Yields:
        A table in pieces, one row per sentence (region 0) of plain pairs, or per region that a
        formula names, after one prefix at one length: prefix_id, length (tokens), n_sentences,
        pair_id, item_id, prefix_tokens, region, logprob (summed, nats) and n_tokens. Tokens after
        the last named region are not run. All rows after a prefix are in one piece.

    Raises LingprobError for a target longer than the context window, lengths or a window too
    short for every prefix, or a region that no token belongs to.
    """
    lm = scorer.language_model
    window = lm.context_window - (start_token != "none")
    pairs = _Pairs(targets, lm, separator, window)
    for some in _batches(_work(pairs, prefixes, lengths, alone)):
        items = [one.item for one in some]
        tokens = score_in_context(
            scorer, items, start_token=start_token, separator=separator, **scoring
        )
        yield _sums(tokens, some, pairs)


def _work(
    pairs: _Pairs, prefixes: Iterable[pd.DataFrame], lengths: Sequence[int], alone: bool
) -> Iterator[_Work]:
    """Yield the work of each prefix whose first sentence has room, then of targets without one."""
    if pairs.regions:  # all items of suites are judged without a prefix: that costs little
        pairs.count_tokens(pairs.places)
    found = False
    for piece in prefixes:
        pairs.count_tokens(pair for ids in piece["pair_ids"] for pair in ids)
        for row in piece.itertuples():
            counted = row.n_tokens
            asked = lengths
            if row.kind == FROM_SUITE:  # SyntaxGym's has as many sentences as fit, others a number
                asked = [min(counted[-1], max(lengths)) if pairs.regions else counted[-1]]
            longest = max(pairs.n_tokens[pair] for pair in row.pair_ids)
            if ends := cuts(counted, asked, pairs.window - longest):
                found = True
                places = [int(row.char_ends[last]) for last in ends.values()]
                yield pairs.after(row.prefix_id, row.text, ends, places, row.pair_ids)
    if not found:
        raise LingprobError(
            f"data set {pairs.dataset!r}: no prefix has a whole sentence within {max(lengths)} "
            f"tokens and the context window of {pairs.language_model.directory}. Raise "
            "context.lengths, or choose a model with a longer window."
        )
    judged = [pair for pair in pairs.places if alone and pair in pairs.n_tokens]
    for first in range(0, len(judged), PAIRS_ALONE):
        yield pairs.after(NO_PREFIX, "", {0: -1}, [0], judged[first : first + PAIRS_ALONE])


def _batches(work: Iterable[_Work]) -> Iterator[list[_Work]]:
    """Yield lists of work with about SENTENCES_AT_ONCE targets. Work without a prefix is apart."""
    some: list[_Work] = []
    sentences = 0
    for one in work:
        apart = bool(some) and (one.prefix_id == NO_PREFIX) != (some[-1].prefix_id == NO_PREFIX)
        if apart or sentences > SENTENCES_AT_ONCE:
            yield some
            some, sentences = [], 0
        some.append(one)
        sentences += len(one.ends) * len(one.item_ids)
    if some:
        yield some


def formula_regions(suites: Sequence[Suite]) -> dict[str, list[Region]]:
    """Return the regions of each sentence that its suite's predictions name, by item id."""
    found = {}
    for suite in suites:
        named = {region for formula in suite.predictions for region in formula.names}
        for item in suite.items:
            for condition, sentence in item.sentences.items():
                whole = Region(WHOLE_SENTENCE, 0, len(sentence.text))
                found[item_id(suite.name, item.number, condition)] = [
                    region
                    for region in (whole, *sentence.regions)
                    if (condition, region.number) in named
                ]
    return found


def _sums(tokens: pd.DataFrame, work: Sequence[_Work], pairs: _Pairs) -> pd.DataFrame:
    """Return the table of `score_prefixes`: tokens summed by sentence, or by named region.

    Raises LingprobError for a sentence or a region without a scored token.
    """
    regions = pairs.regions
    placed = _named(tokens, work, regions) if regions else tokens.assign(region=WHOLE_SENTENCE)
    sums = sum_tokens(placed, [*TARGET, "region"])
    places = []
    for index, cut, k in sums[list(TARGET)].itertuples(index=False):
        one = work[index]
        length, sentence = [*one.ends.items()][cut]
        places.append((one.prefix_id, length, sentence + 1, one.pair_ids[k], one.item_ids[k]))
    table = pd.DataFrame(places, columns=PLACE)
    table = table.join(sums[["prefix_tokens", "region", "logprob", "n_tokens"]])
    found = {*zip(table["prefix_id"], table["item_id"], table["region"], strict=True)}
    for prefix_id, item in [(one.prefix_id, item) for one in work for item in one.item_ids]:
        for number in sorted({region.number for region in regions.get(item, WHOLE)}):
            if (prefix_id, item, number) not in found:
                what = f"region {number}" if number else "the sentence"
                raise LingprobError(
                    f"data set {pairs.dataset!r}, item {item!r}: no scored token starts in {what}. "
                    "Score it with a start token, split the region, or leave the suite out."
                )
    return table


def _named(tokens: pd.DataFrame, work: Sequence[_Work], regions: Regions) -> pd.DataFrame:
    """Return a row for each token and named `region` (its number) in which the token starts."""
    rows = [
        (index, target, region.number, region.start, region.end)
        for index, one in enumerate(work)
        for target, item in enumerate(one.item_ids)
        for region in regions[item]
    ]
    places = ["item_index", "target_index"]
    named = tokens.merge(pd.DataFrame(rows, columns=[*places, "region", "start", "end"]), on=places)
    return named[named["char_start"].between(named["start"], named["end"], inclusive="left")]
