"""ln p(target | prefix) for prefixes that grow: each is run once, with targets at every cut."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from lingprob.errors import LingprobError
from lingprob.io.files import require_identity
from lingprob.io.progress import Progress
from lingprob.io.shards import read_shard, shard_path, write_shard
from lingprob.models.loading import LanguageModel
from lingprob.scoring.continuations import ContextItem, Continuation, score_along, tokenize_item
from lingprob.scoring.engine import Scorer, worker_map

logger = logging.getLogger(__name__)
T = TypeVar("T")

COLUMNS = {
    "item_index": np.int32,
    "cut_index": np.int32,
    "target_index": np.int32,
    "prefix_tokens": np.int32,
    "token_index": np.int32,
    "token_id": np.int32,
    "char_start": np.int32,
    "char_end": np.int32,
    "logprob": np.float32,
}
# What tells a target after a cut of its prefix from any other.
TARGET = ("item_index", "cut_index", "target_index")


_Scored = list[tuple[Continuation, np.ndarray]]


def score_in_context(
    language_model: LanguageModel,
    items: Sequence[ContextItem],
    *,
    start_token: str,
    separator: str = " ",
    shard_directory: str | Path | None = None,
    identity: str = "",
    items_per_shard: int = 20,
    tokens_per_batch: int | None = None,
    workers: int = 1,
    scorer: Scorer | None = None,
) -> pd.DataFrame:
    """Score every target after every cut of its item's prefix, given all that precedes.

    The text is `prefix[:cut] + separator + target` (the target alone for a cut of 0), tokenised
    as a whole, after `start_token` (as in `LanguageModel.start_id`). The target's tokens are
    those that end after the prefix: one that begins before it does is the target's too. Where a
    cut changes the prefix's own tokens, those are run again from the first that differs.

    Args:
        language_model: the model.
        items: the prefixes with their cuts and targets.
        start_token: 'none', 'bos', 'eos' or a token of the vocabulary.
        separator: what stands between prefix and target; '' for Chinese.
        shard_directory: where finished items are kept, so that a later call with the same items
            and settings goes on after them; nowhere if None.
        identity: what tells these weights and this code from any other, for those shards.
        items_per_shard: how many items a shard has; those of two are lost at most.
        tokens_per_batch: token budget; the engine's own if None.
        workers: on a CPU, how many items are scored at once, with a thread of torch each if more
            than one: on two cores, 6 to 19% less time than one item at once with two threads. A
            model whose rotary frequencies depend on the pass before has one worker.
        scorer: one of this model that worked before, if any: it need not check the model again.

    Returns:
        One row a token of a target: item_index, cut_index and target_index into the arguments,
        prefix_tokens (how many precede the target, the start token aside), token_index,
        token_id, char_start and char_end (in the target), logprob (nats, float32; NaN for a
        first token that nothing precedes).

    Raises LingprobError that names the item for an empty target, a cut outside the prefix, or a
    text that does not fit the context window.
    """
    require_identity(shard_directory, identity)
    for number, item in enumerate(items):
        _check(number, item)
    work = _Work(
        scorer or Scorer(language_model, tokens_per_batch),
        language_model.start_id(start_token),
        separator,
    )
    settings = [identity, work.start_id, separator, language_model.context_window]
    settings.append(str(language_model.dtype))
    tables = []
    retokenized: list[bool] = []
    with (
        Progress(len(items), "scoring in context", "prefixes") as progress,
        worker_map(language_model, workers) as mapping,
    ):

        def begun(first: int) -> tuple[int, Path | None, pa.Table | None, Iterator[_Scored]]:
            some = items[first : first + items_per_shard]
            if shard_directory is None:
                return first, None, None, mapping(work.score, some)
            described = [
                [one.prefix, [*one.cuts], [*one.targets], [*one.target_ends()]] for one in some
            ]
            path = shard_path(shard_directory, [settings, described])
            kept = read_shard(path)
            return first, path, kept, iter(()) if kept is not None else mapping(work.score, some)

        for first, path, kept, scored in _one_ahead(
            map(begun, range(0, len(items), items_per_shard))
        ):
            if kept is not None:
                table = kept.to_pandas()
                progress.resume_at(min(first + items_per_shard, len(items)))
            else:
                table = _table(scored, progress, retokenized)
                if path is not None:
                    write_shard(path, pa.Table.from_pandas(table, preserve_index=False))
            tables.append(table.assign(item_index=table["item_index"] + np.int32(first)))
    if any(retokenized):
        logger.info(
            "%d of %d times a cut changed the prefix's own tokens, which were run again from the "
            "first that differs", sum(retokenized), len(retokenized),
        )  # fmt: skip
    return pd.concat([_rows([]), *tables], ignore_index=True)


def sum_tokens(tokens: pd.DataFrame, by: Sequence[str] = TARGET) -> pd.DataFrame:
    """Return a row a target (or what else the columns `by` tell apart) of `score_in_context`.

    The columns of `by`, in the order of the tokens, prefix_tokens, logprob (nats, the sum in
    float64 of the tokens that were scored) and n_tokens (how many those are).
    """
    counted = tokens[tokens["logprob"].notna()].astype({"logprob": "float64"})
    return (
        counted.groupby(list(by), sort=False)
        .agg(
            prefix_tokens=("prefix_tokens", "first"),
            logprob=("logprob", "sum"),
            n_tokens=("logprob", "size"),
        )
        .reset_index()
    )


def _check(number: int, item: ContextItem) -> None:
    where = f"item {number} (prefix {item.prefix[:40]!r})"
    for target in item.targets:
        if not target.strip():
            raise LingprobError(f"{where}: an empty target. Fill it in or drop it.")
    for cut in item.cuts:
        if not 0 <= cut <= len(item.prefix):
            raise LingprobError(
                f"{where}: a cut at {cut} lies outside the prefix, which has {len(item.prefix)} "
                "characters. Cuts count characters from 0 to the whole prefix."
            )


def _one_ahead(begun: Iterable[T]) -> Iterator[T]:
    """Yield each after the next has begun: no thread waits for the end of another's shard."""
    waiting: list[T] = []
    for one in begun:
        yield from waiting
        waiting = [one]
    yield from waiting


def _table(scored: Iterator[_Scored], progress: Progress, retokenized: list[bool]) -> pd.DataFrame:
    rows = []
    for number, item in enumerate(scored):
        rows += [(number, *row) for row in item]
        retokenized += [one.is_retokenized for one, _ in item]
        progress.advance()
    return _rows(rows)


def _rows(scored: list[tuple[int, Continuation, np.ndarray]]) -> pd.DataFrame:
    """Lay out one row a token."""
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


@dataclass
class _Work:
    """Settings of a call; `score` may be called from several threads."""

    scorer: Scorer
    start_id: int | None
    separator: str
    tokenizing: Lock = field(default_factory=Lock)  # tokenizers refuse to be called twice at once

    def score(self, item: ContextItem) -> _Scored:
        """Return the targets after each cut with their log-probabilities."""
        with self.tokenizing:
            chain, continuations = tokenize_item(self.scorer.language_model, item, self.separator)
        self._check_room(item, continuations)
        if not continuations:
            return []
        values = score_along(
            self.scorer,
            chain,
            [one.tokens.ids for one in continuations],
            [one.first for one in continuations],
            self.start_id,
        )
        return list(zip(continuations, values, strict=True))

    def _check_room(self, item: ContextItem, continuations: list[Continuation]) -> None:
        """Raise LingprobError where a text does not fit the context window."""
        lm = self.scorer.language_model
        room = lm.context_window - (self.start_id is not None)
        for one in continuations:
            if (excess := len(one.tokens.ids) - room) > 0:
                raise LingprobError(
                    f"{lm.directory} reads {lm.context_window} tokens at once, {excess} too few "
                    f"for the {item.cuts[one.cut_index]} characters {item.prefix[:40]!r}... and "
                    f"the target {item.targets[one.target_index]!r}. Shorten the prefix "
                    "(context.lengths)."
                )
