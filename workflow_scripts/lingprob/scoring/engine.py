"""Exact token log-probabilities of token sequences under a causal language model.

Each distinct sequence is scored once, and each beginning that several share is run once: they
are merged into trees, and those packed into rows and batches under a token budget that shrinks
when memory runs out. Long sequences are cut into windows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import torch

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.io.progress import Progress
from lingprob.models.loading import LanguageModel
from lingprob.scoring.forward import PROBE_TOKENS, Forward, KeyValues, lay_out, order_of
from lingprob.scoring.trees import Branch, Row, batches, pack

logger = logging.getLogger(__name__)

# On a CPU, larger batches fall out of the cache and gain nothing.
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 16_384, "mps": 4096}
# In a longer row there is more to share, and more that its tokens do not see.
TOKENS_PER_ROW = {"cpu": 128, "cuda": 512, "mps": 512}


@dataclass(frozen=True)
class Segment:
    """One window of one sequence, and where the first token to score belongs in the latter."""

    sequence: int
    position: int
    branch: Branch


def score_sequences(
    language_model: LanguageModel,
    sequences: Sequence[np.ndarray],
    start_id: int | None,
    *,
    tokens_per_batch: int | None = None,
    window: int | None = None,
    stride: int | None = None,
    progress: Progress | None = None,
) -> list[np.ndarray]:
    """Return the natural-log probability of every token given those before it.

    `sequences` are integer arrays of token ids, each preceded by `start_id` unless that is
    None, in which case a first token's value is NaN. Each result has its sequence's length and
    is float32 (float64 for a float64 model). Sequences longer than `window` (default: the
    context window) are scored in windows that advance by `stride`. The values do not depend on
    `tokens_per_batch` or on the order (to 1e-5); running out of memory halves the budget.
    Raises LingprobError if a single sequence does not fit into memory, or a value is not finite.
    """
    scorer = Scorer(language_model, tokens_per_batch)
    return scorer.score(sequences, start_id, window=window, stride=stride, progress=progress)


@contextmanager
def worker_map(
    language_model: LanguageModel, workers: int
) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a `map` that works in so many threads of one torch thread each.

    On an error what has not begun is dropped. One worker works in the caller's own thread; a model
    whose rotary frequencies depend on the pass before has one.
    """
    if workers == 1 or _changes_as_it_runs(language_model):
        yield map
        return
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


class Scorer:
    """A language model with the fastest exact way to score it and a budget that fits memory.

    `forward` is that of another scorer of the model, if any: what it has checked holds here, too.
    """

    def __init__(
        self,
        language_model: LanguageModel,
        tokens_per_batch: int | None = None,
        forward: Forward | None = None,
    ) -> None:
        self.language_model = language_model
        self.tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[language_model.device.type]
        self.forward = forward or Forward(language_model)
        self.preparing = Lock()  # threads may share a scorer, but preparing alters the model

    @property
    def result_dtype(self) -> type[np.floating]:
        """The type of log-probabilities: float32, or float64 for a float64 model."""
        return np.float64 if self.forward.dtype == torch.float64 else np.float32

    def score(
        self,
        sequences: Sequence[np.ndarray],
        start_id: int | None,
        *,
        window: int | None = None,
        stride: int | None = None,
        members: np.ndarray | None = None,
        progress: Progress | None = None,
    ) -> list[np.ndarray]:
        """Score sequences as `score_sequences` does; the memory budget learnt is kept.

        With `members`, token ids, a result has shape (n, 2): the second column is the
        log-probability that the token at this place is any of them.
        """
        window = self._check_window(window)
        prefix = [] if start_id is None else [start_id]
        whole = [np.array([*prefix, *ids], dtype=np.int64) for ids in sequences]
        numbers: dict[bytes, int] = {}
        unique_of = [numbers.setdefault(ids.tobytes(), len(numbers)) for ids in whole]
        unique = [np.frombuffer(key, dtype=np.int64) for key in numbers]
        width = () if members is None else (2,)
        logprobs = [np.full((len(ids), *width), np.nan, dtype=self.result_dtype) for ids in unique]
        after_start = self.prepare(unique, start_id)
        if members is not None:
            after_start = None  # what it leaves behind holds no mass of the members
        segments: list[Segment] = []
        for number, ids in enumerate(unique):
            segments += _segments(number, ids, window, stride, after_start is not None)
            if after_start is not None and after_start.logprobs is not None and len(ids) > 1:
                logprobs[number][1] = after_start.logprobs[ids[1]]
        tally = _Tally(unique_of, segments, progress)
        for start, before in ((1, after_start), (0, None)):
            todo = [segment for segment in segments if segment.branch.start == start]
            for number, values in self.run([segment.branch for segment in todo], before, members):
                segment = todo[number]
                logprobs[segment.sequence][segment.position :][: len(values)] = values
                tally.finish(segment)
        return [logprobs[number][len(prefix) :].copy() for number in unique_of]

    def prepare(self, sequences: Sequence[np.ndarray], start_id: int | None) -> KeyValues | None:
        """Check the model, once, on the longest and the shortest sequence (start token included).

        Returns what the start token leaves behind, or None if it must be run with each.
        """
        by_length = sorted((ids for ids in sequences if len(ids) > 1), key=len)
        if not by_length:
            return None
        long = by_length[-1][: PROBE_TOKENS + 1].copy()
        probes = [long, by_length[0][: max(2, len(long) // 2)].copy()]
        with self.preparing:
            self.forward.prepare(probes)
            return None if start_id is None else self.forward.after_start(start_id, probes)

    def run(
        self,
        branches: Sequence[Branch],
        prefix: KeyValues | None,
        members: np.ndarray | None = None,
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each branch's number and ln p of its wanted tokens; those that share together.

        With `members`, that of any of them is a second column.
        """
        left = set(range(len(branches)))
        while left:
            numbers = sorted(left)
            for batch in self._batches([branches[number] for number in numbers], prefix):
                values = self._try(batch, prefix, members)
                if values is None:
                    alone = sum(len(row.branches) for row in batch) == 1
                    self.shrink(len(batch) * len(batch[0].ids), alone)
                    break
                for place, logprobs in zip(order_of(batch), values, strict=True):
                    left.remove(numbers[place])
                    yield numbers[place], logprobs

    def _batches(self, branches: list[Branch], prefix: KeyValues | None) -> Iterator[list[Row]]:
        """Lay branches out; on a long prefix in one row a batch, which need not copy it."""
        budget = self.tokens_per_batch
        row_length = TOKENS_PER_ROW[self.language_model.device.type]
        if prefix is not None and prefix.length > row_length:
            row_length = budget
        rows = pack(branches, min(row_length, budget), merge=self.forward.takes_trees)
        if self.forward.rotation is None:
            return batches(rows, budget)
        alike: dict[int, list[Row]] = {}
        for row in rows:
            alike.setdefault(self.forward.rotation.length_class(len(row.ids)), []).append(row)
        return chain.from_iterable(batches(some, budget) for some in alike.values())

    def _try(
        self, rows: list[Row], prefix: KeyValues | None, members: np.ndarray | None
    ) -> list[np.ndarray] | None:
        """Return ln p by branch in the order of the rows, or None if memory ran out."""
        start = max(max(row.start) for row in rows)
        try:
            before = None if prefix is None else prefix.crop(start)
            chosen = None if members is None else torch.from_numpy(members)
            values = self.forward.logprobs(lay_out(rows, start), before, chosen).numpy()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return None
        self.check_finite(values)
        return np.split(values, np.cumsum([n for row in rows for n in row.wanted])[:-1])

    def check_finite(self, values: np.ndarray) -> None:
        """Raise LingprobError unless all log-probabilities are finite."""
        if not np.isfinite(values).all():
            raise LingprobError(
                f"{self.language_model.directory}: a log-probability is not finite in "
                f"{self.language_model.dtype}. Set `scoring.dtype: float32`; if it stays, the "
                "weights are damaged: fetch the model again."
            )

    def shrink(self, tokens: int, whole: bool = False) -> None:
        """Halve the budget after so many tokens ran out of memory; if `whole`, raise instead."""
        if whole or tokens < 2:
            raise LingprobError(
                f"{self.language_model.directory}: out of memory on {self.language_model.device} "
                f"with one sequence of {tokens} tokens. Set a smaller context_window in its "
                "entry, `scoring.dtype: bfloat16` (GPU) or `scoring.device_map: auto` (several "
                "GPUs), or choose a smaller model."
            )
        self.tokens_per_batch = tokens // 2
        logger.warning("out of memory: going on with %d tokens a batch", self.tokens_per_batch)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _check_window(self, window: int | None) -> int:
        limit = self.language_model.context_window
        # A window's last token is only predicted, so that one more than the model can be fed fits.
        if window is not None and window > limit + 1:
            raise LingprobError(
                f"a window of {window} tokens is more than the {limit} of "
                f"{self.language_model.directory}: lower it, or leave it out."
            )
        return window or limit


class _Tally:
    """Counts input sequences as finished when their last segment is, copies included."""

    def __init__(
        self, unique_of: list[int], segments: list[Segment], progress: Progress | None
    ) -> None:
        self.progress = progress
        self.copies = np.bincount(np.array(unique_of, dtype=int))
        owners = np.array([segment.sequence for segment in segments], dtype=int)
        self.pending = np.bincount(owners, minlength=len(self.copies))
        self._advance(self.copies[self.pending == 0].sum())

    def finish(self, segment: Segment) -> None:
        self.pending[segment.sequence] -= 1
        if self.pending[segment.sequence] == 0:
            self._advance(self.copies[segment.sequence])

    def _advance(self, count: int) -> None:
        if self.progress is not None:
            self.progress.advance(int(count))


def _segments(
    number: int, ids: np.ndarray, window: int, stride: int | None, start_is_read: bool
) -> Iterator[Segment]:
    """Cut a sequence, its start token included, into windows with something to score."""
    for start, end, score_from in sliding_windows(len(ids), window, stride):
        after_start = start_is_read and start == 0
        begin = 1 if after_start else start
        position = max(score_from, begin + 1)  # nothing, or a start token read before, precedes it
        if position < end:
            branch = Branch(ids[begin:end], position - begin, int(after_start))
            yield Segment(number, position, branch)


def _changes_as_it_runs(language_model: LanguageModel) -> bool:
    """Whether a pass leaves the model's rotary frequencies as its own length needs them."""
    kinds = [str(getattr(part, "rope_type", "")) for part in language_model.model.modules()]
    changes = any("dynamic" in kind or "longrope" in kind for kind in kinds)
    if changes:
        logger.info(
            "%s: its rotary frequencies change with the length, so texts are scored one by one",
            language_model.directory,
        )
    return changes


class Window(NamedTuple):
    """Tokens `start` to `end` (exclusive) are seen; `score_from` to `end` are scored here."""

    start: int
    end: int
    score_from: int


def sliding_windows(n_tokens: int, window: int, stride: int | None = None) -> list[Window]:
    """Cover `n_tokens` tokens with windows of at most `window`, each token scored exactly once.

    The first window scores all of its tokens. Later ones start `stride` tokens further on
    (default: half a window) and score only what is new, so every token after the first window
    has at least `window - stride` tokens of context. A start token before the sequence counts
    as one of the `n_tokens`.
    Raises LingprobError unless `window` is at least 2 and `stride` from 1 to `window - 1`.
    """
    stride = window // 2 if stride is None else stride
    if not 1 <= stride < window:
        raise LingprobError(
            f"windows of {window} tokens that advance by {stride}: the window must be at least "
            "2 tokens and the stride from 1 to window - 1, so that each new token has context."
        )
    windows = [Window(0, min(window, n_tokens), 0)] if n_tokens > 0 else []
    while windows and windows[-1].end < n_tokens:
        start, end, _ = windows[-1]
        windows.append(Window(start + stride, min(start + stride + window, n_tokens), end))
    return windows
