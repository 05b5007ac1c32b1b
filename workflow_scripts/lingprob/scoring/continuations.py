"""Log-probabilities of targets after prefixes that are cut at several places.

The prefix is one long chain of tokens. It is run once, and its keys and values are kept. The tokens
of the targets after each cut continue from them as branches. Prefix and target are tokenised as one
text.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import product
from threading import Lock
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.io.progress import Progress
from lingprob.io.shards import NOWHERE, Shards
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.scoring.engine import Scorer, Segment, shard_ranges, worker_map
from lingprob.scoring.key_values import KeyValues
from lingprob.scoring.trees import Branch, pack, shared_length

# Tokens of a chain that are run at a time. Longer pieces waste more of the attention.
TOKENS_PER_PIECE = {"cpu": 256, "cuda": 4096, "mps": 2048}
# Columns that identify a target after a cut of its prefix.
TARGET = ("item_index", "cut_index", "target_index")
COUNTS = (*TARGET, "prefix_tokens", "token_index", "token_id", "char_start", "char_end")
COLUMNS = {**dict.fromkeys(COUNTS, np.int32), "logprob": np.float32}


@dataclass(frozen=True)
class ContextItem:
    """A prefix, and targets that follow its first `cut` characters for each of the `cuts`.

    After a cut of 0 the targets have no prefix. If `ends` are given, one per target in characters,
    tokens that begin there or later are left out.
    """

    prefix: str
    cuts: Sequence[int]
    targets: Sequence[str]
    ends: Sequence[int] | None = None


class Continuation(NamedTuple):
    """A target after a cut, with the tokens of the whole text (prefix, separator and target).

    The first `first` tokens are the prefix's. `begin` is the place of the target's first character
    in the text.
    """

    cut_index: int
    target_index: int
    tokens: Tokens
    first: int
    begin: int


def score_in_context(
    scorer: Scorer,
    items: Sequence[ContextItem],
    *,
    start_token: str,
    separator: str = " ",
    shards: Shards = NOWHERE,
    items_per_shard: int = 20,
    workers: int = 1,
) -> pd.DataFrame:
    """Return the log-probability of each token of every target after every cut of its prefix.

    The text is `prefix[:cut] + separator + target` (the target alone for a cut of 0), tokenised as
    a whole, after `start_token` (as in `LanguageModel.start_id`). A target's tokens are those that
    end after the prefix, including one that begins within the prefix. If a cut changes tokens of
    the prefix, these are run again from the first that differs.

    Items are scored in shards of at most `items_per_shard`, of which a kill loses one per worker.
    On a CPU, `workers` shards are scored at once, with one thread of torch each if there are
    several. On two cores, two workers take 6 to 19% less time than one with two threads.

    Returns:
        One row per token of a target: item_index, cut_index and target_index (in the arguments),
        prefix_tokens (tokens before the target, without the start token), token_index, token_id,
        char_start and char_end (in the target), and logprob (nats, float32; NaN for a first token
        that nothing precedes).

    Raises LingprobError that names the target for a target that has no token, or a text that does
    not fit the context window.
    """
    lm = scorer.language_model
    start_id = lm.start_id(start_token)
    settings = [start_id, separator, lm.context_window, str(lm.dtype)]
    tokenizing = Lock()  # because tokenizers refuse parallel calls

    def scored(shard: range) -> pd.DataFrame:
        """Return the scores of the items with these numbers."""
        some = items[shard.start : shard.stop]
        described = [settings, [astuple(one) for one in some]]
        if (kept := shards.read(described)) is not None:
            return kept.to_pandas()
        rows: list[tuple[int, Continuation, np.ndarray]] = []
        for number, item in enumerate(some):
            with tokenizing:
                chain, continuations = tokenize_item(lm, item, separator)
            _refuse_long(lm, item, continuations, start_id)
            ids = [one.tokens.ids for one in continuations]
            first = [one.first for one in continuations]
            values = score_along(scorer, chain, ids, first, start_id)
            rows += [(number, *one) for one in zip(continuations, values, strict=True)]
        table = _rows(rows)
        shards.write(described, pa.Table.from_pandas(table, preserve_index=False))
        return table

    found = []
    ranges = shard_ranges(len(items), items_per_shard)
    with (
        Progress(len(items), "scoring in context", "prefixes") as progress,
        worker_map(lm, workers) as mapping,
    ):
        for shard, table in zip(ranges, mapping(scored, ranges), strict=True):
            found.append(table.assign(item_index=table["item_index"] + np.int32(shard.start)))
            progress.advance(len(shard))
    return pd.concat(found, ignore_index=True)


def sum_tokens(tokens: pd.DataFrame, by: Sequence[str] = TARGET) -> pd.DataFrame:
    """Return sums over the tokens of `score_in_context`, one row per combination of `by`.

    Columns are those of `by`, prefix_tokens, logprob (nats, summed in float64 over the scored
    tokens) and n_tokens (their number). Rows are in the order of the tokens.
    """
    counted = tokens[tokens["logprob"].notna()].astype({"logprob": "float64"})
    sums = {"logprob": ("logprob", "sum"), "n_tokens": ("logprob", "size")}
    by_target = counted.groupby(list(by), sort=False)
    return by_target.agg(prefix_tokens=("prefix_tokens", "first"), **sums).reset_index()


def _rows(scored: list[tuple[int, Continuation, np.ndarray]]) -> pd.DataFrame:
    """Return a table with COLUMNS from (item number, continuation, log-probabilities)."""
    parts = []
    for item_index, one, logprobs in scored:
        tokens, n = one.tokens, len(logprobs)
        constant = np.repeat([[item_index], [one.cut_index], [one.target_index], [one.first]], n, 1)
        offsets = np.maximum([tokens.char_start - one.begin, tokens.char_end - one.begin], 0)
        parts.append(
            (*constant, np.arange(n), tokens.ids[one.first :], *offsets[:, one.first :], logprobs)
        )
    columns = map(np.concatenate, zip(*parts, strict=True))
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))).astype(COLUMNS)


def _refuse_long(
    lm: LanguageModel, item: ContextItem, continuations: list[Continuation], start_id: int | None
) -> None:
    """Raise LingprobError for the first text that does not fit the context window."""
    room = lm.context_window - (start_id is not None)
    for one in continuations:
        if (excess := len(one.tokens.ids) - room) > 0:
            raise LingprobError(
                f"{lm.directory} has a context window of {lm.context_window} tokens, {excess} too "
                f"few for {item.cuts[one.cut_index]} characters of {item.prefix[:40]!r}... and the "
                f"target {item.targets[one.target_index]!r}. Shorten the prefix."
            )


def tokenize_item(
    lm: LanguageModel, item: ContextItem, separator: str
) -> tuple[np.ndarray, list[Continuation]]:
    """Return the tokens of the prefix up to its last cut, and all continuations.

    Raises LingprobError for a target without a token.
    """
    places = list(product(enumerate(item.cuts), enumerate(item.targets)))
    befores = [item.prefix[:cut] + separator if cut else "" for (_, cut), _ in places]
    texts = [before + target for before, (_, (_, target)) in zip(befores, places, strict=True)]
    chain, *tokenized = lm.tokenize([item.prefix[: max(item.cuts)], *texts])
    continuations = []
    for before, whole, place in zip(befores, tokenized, places, strict=True):
        (cut_index, cut), (k, target) = place
        # A space at the end may be a token whose offsets are trimmed to nothing.
        tokens = whole if item.ends is None else whole.beginning_before(len(before) + item.ends[k])
        if not (tokens.char_end > len(before)).any():
            raise LingprobError(
                f"target {target!r}: the tokenizer has no token for any letter of it. "
                "Correct the target, leave it out, or choose another model."
            )
        first = int(np.argmax(tokens.char_end > cut)) if cut else 0
        continuations.append(Continuation(cut_index, k, tokens, first, len(before)))
    return chain.ids, continuations


def score_along(
    scorer: Scorer,
    chain: np.ndarray,
    sequences: Sequence[np.ndarray],
    score_from: Sequence[int],
    start_id: int | None,
) -> list[np.ndarray]:
    """Return the log-probability of each token of `sequences[k][score_from[k]:]`, one array per k.

    Each token is given those before it. `chain` (n,) has token ids that begin the sequences and are
    run once. A sequence uses them up to the first that differs. `start_id` precedes all sequences.
    If it is None, the value of a first token is NaN. Results are float32, or float64 for a float64
    model. A model that cannot run trees reads every sequence from its beginning. Raises
    LingprobError if a sequence does not fit into memory, or has a value that is not finite.
    """
    before = [] if start_id is None else [start_id]
    whole = [np.array([*before, *ids], dtype=np.int64) for ids in sequences]
    after_start = scorer.prepare(whole, start_id)
    read = 0 if after_start is None else 1
    chain = np.array([*before, *chain], dtype=np.int64)
    if not scorer.forward.takes_trees:
        chain = chain[:read]
    texts = []
    for ids, at in zip(whole, score_from, strict=True):
        logprobs = np.full(len(ids), np.nan, dtype=scorer.result_dtype)
        if after_start is not None and after_start.logprobs is not None and len(ids) > 1:
            logprobs[1] = after_start.logprobs[ids[1]]
        common = min(shared_length(chain, ids), len(ids) - 1)
        texts.append(_Text(ids, at + len(before), common, logprobs))
    _run(scorer, after_start, chain[: max(text.common for text in texts)], texts)
    return [text.logprobs[text.first :] for text in texts]


class _Text(NamedTuple):
    """A sequence, its first wanted token, and the number of tokens that it takes from the chain.

    The last token of a sequence is not run, so it does not count in `common`.
    """

    ids: np.ndarray
    first: int
    common: int
    logprobs: np.ndarray

    def segments(self, start: int, last: int) -> list[Segment]:
        """Return the segment of tokens from `start` on, if it predicts wanted ones up to `last`."""
        begin = max(self.first, start + 1)
        branch = Branch(self.ids[start : last + 1], begin - start, start)
        return [Segment(self.logprobs[begin : last + 1], branch)] if begin <= last else []


def _along(texts: list[_Text], start: int, end: int, with_branches: bool) -> list[Segment]:
    """Return segments for the chain's tokens from `start` to `end`.

    They predict wanted tokens in this piece and, `with_branches`, all later wanted tokens of
    texts that leave the chain in it.
    """
    found = []
    for text in texts:
        leaves = with_branches and start < text.common <= end
        found += text.segments(start, len(text.ids) - 1 if leaves else min(text.common, end))
    return found


def _beside(texts: list[_Text], start: int, end: int) -> list[Segment]:
    """Return segments that leave the chain after `start` up to `end`."""
    found = []
    for text in texts:
        if start < text.common <= end:
            found += text.segments(text.common, len(text.ids) - 1)
    return found


def _run(scorer: Scorer, prefix: KeyValues | None, chain: np.ndarray, texts: list[_Text]) -> None:
    """Run a chain, which begins with `prefix`, and all branches, and fill in log-probabilities.

    Each piece of the chain is run in one pass with its branches if they fit the budget. If not, the
    branches follow in other passes.
    """
    start = 0 if prefix is None else prefix.length
    scorer.run(_beside(texts, -1, start), prefix)
    while start < len(chain):
        size = min(TOKENS_PER_PIECE[scorer.language_model.device.type], scorer.tokens_per_batch)
        end = min(start + size, len(chain))
        piece = Branch(np.append(chain[start:end], 0), end - start + 1, start)  # no token is wanted
        for together in (True, False):
            segments = _along(texts, start, end, with_branches=together)
            branches = [*(segment.branch for segment in segments), piece]
            (row,) = pack(branches, sum(len(text.ids) for text in texts))
            if len(row.ids) <= scorer.tokens_per_batch:
                break
        try:
            prefix, values = scorer.forward.extend(prefix, row, len(segments))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            scorer.shrink(len(row.ids))
            continue
        scorer.language_model.check_finite(values)
        parts = np.split(values, np.cumsum(row.wanted)[:-1])
        for number, part in zip(row.branches, parts, strict=True):
            if number < len(segments):
                segments[number].target[:] = part
        if not together:
            scorer.run(_beside(texts, start, end), prefix)
        start = end
