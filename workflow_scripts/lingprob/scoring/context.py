"""ln p(target | prefix) for prefixes that grow: each is run once, with targets at every cut."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.progress import Progress
from lingprob.scoring.engine import Scorer
from lingprob.scoring.shards import read_shard, shard_path, write_shard
from lingprob.scoring.trees import shared_length
from lingprob.scoring.trunk import score_along

logger = logging.getLogger(__name__)

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


@dataclass(frozen=True)
class ContextItem:
    """A prefix, and targets that follow its first `cut` characters for each of the `cuts`.

    A cut of 0 means the targets alone. Pairs that share the prefix are more targets of one item.
    """

    prefix: str
    cuts: Sequence[int]
    targets: Sequence[str]


@dataclass(frozen=True)
class _Continuation:
    """A target after a cut: all of its tokens, of which `first` precede the target's.

    `begin` is where the target begins in the text that was tokenised, in characters.
    """

    cut_index: int
    target_index: int
    tokens: Tokens
    first: int
    begin: int


def score_in_context(
    language_model: LanguageModel,
    items: Sequence[ContextItem],
    *,
    start_token: str,
    separator: str = " ",
    overflow: str = "error",
    shard_directory: str | Path | None = None,
    identity: str = "",
    items_per_shard: int = 20,
    tokens_per_batch: int | None = None,
) -> pd.DataFrame:
    """Score every target after every cut of its item's prefix, given all that precedes.

    The text is `prefix[:cut] + separator + target` (the target alone for a cut of 0), tokenised
    as a whole, after `start_token` (as in `LanguageModel.context_id`). The target's tokens are
    those that end after the prefix: one that begins before it does is the target's too. Where a
    cut changes the prefix's own tokens, those are run again from the first that differs.

    Args:
        language_model: the model.
        items: the prefixes with their cuts and targets.
        start_token: 'none', 'bos', 'eos' or a token of the vocabulary.
        separator: what stands between prefix and target; '' for Chinese.
        overflow: 'error', or 'truncate': a prefix that doesn't fit the context window with the
            longest of its targets loses its first tokens, the same for all targets of a cut.
        shard_directory: where finished items are kept, so that a later call with the same items
            and settings goes on after them; nowhere if None.
        identity: what tells this model's weights from any other's, for those shards.
        items_per_shard: how many items are lost at most.
        tokens_per_batch: token budget; the engine's own if None.

    Returns:
        One row a token of a target: item_index, cut_index and target_index into the arguments,
        prefix_tokens (how many precede the target, the start token aside), token_index,
        token_id, char_start and char_end (in the target), logprob (nats, float32; NaN for a
        first token that nothing precedes).

    Raises LingprobError that names the item for an empty target, a cut outside the prefix, or a
    text that does not fit the context window.
    """
    if overflow not in ("error", "truncate"):
        raise LingprobError(f"overflow: {overflow!r} is neither 'error' nor 'truncate'.")
    for number, item in enumerate(items):
        _check(number, item)
    work = _Work(
        Scorer(language_model, tokens_per_batch),
        language_model.context_id(start_token),
        separator,
        overflow == "truncate",
    )
    settings = [identity, work.context_id, separator, overflow, language_model.context_window]
    settings.append(str(language_model.dtype))
    tables = []
    with Progress(len(items), "scoring in context", "prefixes") as progress:
        for first in range(0, len(items), items_per_shard):
            some = items[first : first + items_per_shard]
            described = [[item.prefix, [*item.cuts], [*item.targets]] for item in some]
            path = None
            if shard_directory is not None:
                path = shard_path(shard_directory, [settings, described])
            if path is not None and path.exists():
                table = read_shard(path).to_pandas()
                progress.resume_at(progress.done + len(some))
            else:
                table = _table(work, some, progress)
                if path is not None:
                    write_shard(path, pa.Table.from_pandas(table, preserve_index=False))
            tables.append(table.assign(item_index=table["item_index"] + np.int32(first)))
    if work.retokenized:
        logger.info(
            "%d of %d times a cut changed the prefix's own tokens, which were run again from the "
            "first that differs", work.retokenized, work.continuations,
        )  # fmt: skip
    return pd.concat([_rows([]), *tables], ignore_index=True)


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


def _table(work: _Work, items: Sequence[ContextItem], progress: Progress) -> pd.DataFrame:
    rows = []
    for number, item in enumerate(items):
        rows += [(number, *row) for row in work.score(item)]
        progress.advance()
    return _rows(rows)


def _rows(scored: list[tuple[int, _Continuation, np.ndarray]]) -> pd.DataFrame:
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
    """Settings of a call, and how often a cut changed the prefix's tokens."""

    scorer: Scorer
    context_id: int | None
    separator: str
    truncate: bool
    continuations: int = 0
    retokenized: int = 0

    def score(self, item: ContextItem) -> Iterator[tuple[_Continuation, np.ndarray]]:
        """Yield the targets after each cut with their log-probabilities."""
        chain, continuations = self._tokenize(item)
        fitting, others = self._split(item, continuations)
        groups = [(chain, fitting)] if fitting else []
        groups += [(group[0].tokens.ids[: group[0].first], group) for group in others]
        for chain, group in groups:
            values = score_along(
                self.scorer,
                chain,
                [one.tokens.ids for one in group],
                [one.first for one in group],
                self.context_id,
            )
            yield from zip(group, values, strict=True)

    def _tokenize(self, item: ContextItem) -> tuple[np.ndarray, list[_Continuation]]:
        """Return the tokens of the prefix up to its last cut, and all continuations."""
        places = [
            (cut_index, cut, target_index)
            for cut_index, cut in enumerate(item.cuts)
            for target_index in range(len(item.targets))
        ]
        befores = [item.prefix[:cut] + self.separator if cut else "" for _, cut, _ in places]
        texts = [
            before + item.targets[place[2]] for before, place in zip(befores, places, strict=True)
        ]
        chain, *tokenized = self.scorer.language_model.tokenize(
            [item.prefix[: max(item.cuts, default=0)], *texts]
        )
        continuations = []
        for before, tokens, (cut_index, cut, k) in zip(befores, tokenized, places, strict=True):
            first = int(np.argmax(tokens.char_end > cut)) if cut else 0
            continuations.append(_Continuation(cut_index, k, tokens, first, len(before)))
            self.retokenized += shared_length(chain.ids, tokens.ids) < first
        self.continuations += len(continuations)
        return chain.ids, continuations

    def _split(
        self, item: ContextItem, continuations: list[_Continuation]
    ) -> tuple[list[_Continuation], list[list[_Continuation]]]:
        """Part what fits the context window from the rest, which is truncated, cut by cut."""
        lm = self.scorer.language_model
        room = lm.context_window - (self.context_id is not None)
        fitting, truncated = [], []
        for cut_index, cut in enumerate(item.cuts):
            group = [one for one in continuations if one.cut_index == cut_index]
            excess = max(len(one.tokens.ids) for one in group) - room if group else 0
            if excess <= 0:
                fitting += group
            elif self.truncate and excess <= min(one.first for one in group):
                truncated.append([_without(one, excess) for one in group])
            else:
                raise LingprobError(
                    f"{lm.directory} reads {lm.context_window} tokens at once, {excess} too few "
                    f"for the {cut} characters {item.prefix[:40]!r}... and the longest target "
                    "after them. Shorten the prefix, or set overflow to 'truncate'."
                )
        return fitting, truncated


def _without(one: _Continuation, excess: int) -> _Continuation:
    tokens = Tokens(
        one.tokens.ids[excess:], one.tokens.char_start[excess:], one.tokens.char_end[excess:]
    )
    return replace(one, tokens=tokens, first=one.first - excess)
