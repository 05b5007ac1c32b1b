"""Log-probabilities of targets after prefixes that are cut at several places.

The prefix is one long chain of tokens. It is run once, and its keys and values are kept. The tokens
of the targets after each cut continue from them as branches. Prefix and target are tokenised as one
text.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pandas as pd
import pyarrow as pa

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.io.progress import Progress
from lingprob.io.shards import NOWHERE, Shards
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.scoring.engine import Scorer, shard_ranges, worker_map
from lingprob.scoring.key_values import KeyValues
from lingprob.scoring.trees import Branch, pack, shared_length

logger = logging.getLogger(__name__)

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

    def target_ends(self) -> Sequence[int]:
        """Return how many characters of each target are scored: `ends`, or else all of them."""
        return [len(target) for target in self.targets] if self.ends is None else self.ends


@dataclass(frozen=True)
class Continuation:
    """A target after a cut, with the tokens of the whole text (prefix, separator and target).

    The first `first` tokens are the prefix's. `begin` is the place of the target's first character
    in the text. `is_retokenized` states whether the cut changed tokens of the prefix.
    """

    cut_index: int
    target_index: int
    tokens: Tokens
    first: int
    begin: int
    is_retokenized: bool


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

    Args:
        scorer: the model's scorer.
        items: the prefixes with their cuts and targets.
        start_token: 'none', 'bos', 'eos' or a token of the vocabulary.
        separator: text between prefix and target, '' for Chinese.
        shards: store of finished items, so that a killed job can resume.
        items_per_shard: largest number of items in a shard. A kill loses one shard per worker.
        workers: number of shards that are scored at once on a CPU, with one thread of torch each if
            there are several. On two cores, two workers take 6 to 19% less time than one worker
            with two threads.

    Returns:
        One row per token of a target: item_index, cut_index and target_index (in the arguments),
        prefix_tokens (tokens before the target, without the start token), token_index, token_id,
        char_start and char_end (in the target), and logprob (nats, float32; NaN for a first token
        that nothing precedes).

    Raises LingprobError that names the item or target for a target that is empty or has no token,
    a cut outside the prefix, or a text that does not fit the context window.
    """
    for number, item in enumerate(items):
        _check(number, item)
    lm = scorer.language_model
    start_id = lm.start_id(start_token)
    settings = [start_id, separator, lm.context_window, str(lm.dtype)]
    tokenizing = Lock()  # because tokenizers refuse parallel calls
    retokenized: list[bool] = []

    def scored(shard: range) -> pd.DataFrame:
        """Return the scores of the items with these numbers."""
        some = items[shard.start : shard.stop]
        described = [
            settings,
            [[one.prefix, [*one.cuts], [*one.targets], [*one.target_ends()]] for one in some],
        ]
        if (kept := shards.read(described)) is not None:
            return kept.to_pandas()
        rows: list[tuple[int, Continuation, np.ndarray]] = []
        for number, item in enumerate(some):
            with tokenizing:
                chain, continuations = tokenize_item(lm, item, separator)
            values = _score_item(scorer, item, chain, continuations, start_id)
            rows += [(number, *one) for one in zip(continuations, values, strict=True)]
        retokenized.extend(one.is_retokenized for _, one, _ in rows)
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
    if any(retokenized):
        logger.info(
            "%d of %d times a cut changed the prefix's own tokens, which were run again from the "
            "first that differs", sum(retokenized), len(retokenized),
        )  # fmt: skip
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


def _check(number: int, item: ContextItem) -> None:
    """Raise LingprobError for an empty target or a cut outside the prefix."""
    where = f"item {number} (prefix {item.prefix[:40]!r})"
    for target in item.targets:
        if not target.strip():
            raise LingprobError(f"{where}: a target is empty. Fill it in, or delete it.")
    for cut in item.cuts:
        if not 0 <= cut <= len(item.prefix):
            raise LingprobError(
                f"{where}: a cut at {cut} is outside the prefix, which has {len(item.prefix)} "
                "characters. Give cuts from 0 to that number."
            )


def _rows(scored: list[tuple[int, Continuation, np.ndarray]]) -> pd.DataFrame:
    """Return a table with COLUMNS from (item number, continuation, log-probabilities)."""
    columns: dict[str, list[np.ndarray]] = {name: [np.empty(0)] for name in COLUMNS}
    for item_index, one, logprobs in scored:
        n = len(logprobs)
        of_target = slice(one.first, None)
        values = (
            np.full(n, item_index),
            np.full(n, one.cut_index),
            np.full(n, one.target_index),
            np.full(n, one.first),
            np.arange(n),
            one.tokens.ids[of_target],
            np.maximum(one.tokens.char_start[of_target] - one.begin, 0),
            np.maximum(one.tokens.char_end[of_target] - one.begin, 0),
            logprobs,
        )
        for name, value in zip(COLUMNS, values, strict=True):
            columns[name].append(value)
    return pd.DataFrame(
        {name: np.concatenate(columns[name]).astype(kind) for name, kind in COLUMNS.items()}
    )


def _score_item(
    scorer: Scorer,
    item: ContextItem,
    chain: np.ndarray,
    continuations: Sequence[Continuation],
    start_id: int | None,
) -> list[np.ndarray]:
    """Return the log-probabilities (nats) of the tokens of each continuation's target.

    Raises LingprobError for a text that does not fit the context window.
    """
    lm = scorer.language_model
    room = lm.context_window - (start_id is not None)
    for one in continuations:
        if (excess := len(one.tokens.ids) - room) > 0:
            raise LingprobError(
                f"{lm.directory} has a context window of {lm.context_window} tokens, {excess} "
                f"too few for {item.cuts[one.cut_index]} characters of {item.prefix[:40]!r}... "
                f"and the target {item.targets[one.target_index]!r}. Shorten the prefix."
            )
    if not continuations:
        return []
    sequences = [one.tokens.ids for one in continuations]
    return score_along(scorer, chain, sequences, [one.first for one in continuations], start_id)


def tokenize_item(
    language_model: LanguageModel, item: ContextItem, separator: str
) -> tuple[np.ndarray, list[Continuation]]:
    """Return the tokens of the prefix up to its last cut, and all continuations.

    Raises LingprobError for a target without a token.
    """
    places = [
        (cut_index, cut, target_index)
        for cut_index, cut in enumerate(item.cuts)
        for target_index in range(len(item.targets))
    ]
    befores = [item.prefix[:cut] + separator if cut else "" for _, cut, _ in places]
    texts = [before + item.targets[k] for before, (_, _, k) in zip(befores, places, strict=True)]
    chain, *tokenized = language_model.tokenize([item.prefix[: max(item.cuts, default=0)], *texts])
    continuations = []
    for before, whole, (cut_index, cut, k) in zip(befores, tokenized, places, strict=True):
        # A space at the end may be a token whose offsets are trimmed to nothing.
        tokens = whole if item.ends is None else whole.beginning_before(len(before) + item.ends[k])
        if not (tokens.char_end > len(before)).any():
            raise LingprobError(
                f"target {item.targets[k]!r}: the tokenizer has no token for any letter of it. "
                "Correct the target, leave it out, or choose another model."
            )
        first = int(np.argmax(tokens.char_end > cut)) if cut else 0
        is_retokenized = shared_length(chain.ids, tokens.ids) < first
        continuations.append(Continuation(cut_index, k, tokens, first, len(before), is_retokenized))
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
    LingprobError if a sequence exceeds the context window, does not fit into memory, or has a value
    that is not finite.
    """
    before = [] if start_id is None else [start_id]
    whole = [np.array([*before, *ids], dtype=np.int64) for ids in sequences]
    first = [at + len(before) for at in score_from]
    longest = max(map(len, whole))
    if longest > scorer.language_model.context_window:
        raise LingprobError(
            f"{longest} tokens do not fit the {scorer.language_model.context_window} of "
            f"{scorer.language_model.directory}. Shorten the prefix."
        )
    after_start = scorer.prepare(whole, start_id)
    read = 0 if after_start is None else 1
    chain = np.array([*before, *chain], dtype=np.int64)
    if not scorer.forward.takes_trees:
        chain = chain[:read]
    common = [min(shared_length(chain, ids), len(ids) - 1) for ids in whole]
    logprobs = [np.full(len(ids), np.nan, dtype=scorer.result_dtype) for ids in whole]
    if after_start is not None and after_start.logprobs is not None:
        for k, ids in enumerate(whole):
            if len(ids) > 1:
                logprobs[k][1] = after_start.logprobs[ids[1]]
    chain = chain[: max(common)]
    for k, position, values in _run(scorer, after_start, chain, _Sequences(whole, first, common)):
        logprobs[k][position:][: len(values)] = values
    return [values[at:] for values, at in zip(logprobs, first, strict=True)]


@dataclass(frozen=True)
class _Sequences:
    """Sequences (`whole`), the first wanted token of each, and the number of tokens from the chain.

    The last token of a sequence is not run, so it does not count in `common`.
    """

    whole: list[np.ndarray]
    first: list[int]
    common: list[int]

    def along(self, start: int, end: int, with_branches: bool) -> tuple[list[int], list[Branch]]:
        """Return branches for the chain's tokens from `start` to `end`, and each one's sequence.

        They predict wanted tokens in this piece and, `with_branches`, all later wanted tokens of
        sequences that leave the chain in it.
        """
        owners, branches = [], []
        for k, ids in enumerate(self.whole):
            last = min(self.common[k], end)
            if with_branches and start < self.common[k] <= end:
                last = len(ids) - 1
            if max(self.first[k], start + 1) <= last:
                owners.append(k)
                score_from = max(self.first[k] - start, 1)
                branches.append(Branch(ids[start : last + 1], score_from, start))
        return owners, branches

    def beside(self, start: int, end: int) -> tuple[list[int], list[Branch]]:
        """Return branches that leave the chain after `start` up to `end`, and their sequences."""
        owners, branches = [], []
        for k, ids in enumerate(self.whole):
            at = self.common[k]
            if start < at <= end and at < len(ids) - 1:
                owners.append(k)
                branches.append(Branch(ids[at:], max(self.first[k] - at, 1), at))
        return owners, branches


def _run(
    scorer: Scorer, prefix: KeyValues | None, chain: np.ndarray, sequences: _Sequences
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Run a chain, which begins with `prefix`, and all branches.

    Yields the number of a sequence, the position of a token in it, and log-probabilities from there
    on. Each piece of the chain is run in one pass with its branches if they fit the budget. If not,
    the branches follow in other passes.
    """
    start = 0 if prefix is None else prefix.length
    yield from _beside(scorer, prefix, sequences.beside(-1, start))
    while start < len(chain):
        size = min(TOKENS_PER_PIECE[scorer.language_model.device.type], scorer.tokens_per_batch)
        end = min(start + size, len(chain))
        piece = Branch(np.append(chain[start:end], 0), end - start + 1, start)  # no token is wanted
        for together in (True, False):
            owners, branches = sequences.along(start, end, with_branches=together)
            (row,) = pack([*branches, piece], sum(map(len, sequences.whole)))
            if len(row.ids) <= scorer.tokens_per_batch:
                break
        try:
            prefix, values = scorer.forward.extend(prefix, row, len(branches))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            scorer.shrink(len(row.ids))
            continue
        scorer.language_model.check_finite(values)
        parts = np.split(values, np.cumsum(row.wanted)[:-1])
        for number, part in zip(row.branches, parts, strict=True):
            if number < len(branches):
                yield owners[number], start + branches[number].score_from, part
        if not together:
            yield from _beside(scorer, prefix, sequences.beside(start, end))
        start = end


def _beside(
    scorer: Scorer, prefix: KeyValues | None, hanging: tuple[list[int], list[Branch]]
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Run branches that continue from `prefix`, and yield values in the form of `_run`."""
    owners, branches = hanging
    for number, values in scorer.run(branches, prefix):
        branch = branches[number]
        yield owners[number], branch.start + branch.score_from, values
