"""Compute log-probabilities of the tokens of sequences under a causal language model.

Each distinct sequence is scored once, and each beginning that several sequences share is run once.
Sequences are merged into trees, which are packed into rows and batches. The number of tokens in a
batch has a limit ("budget"), which shrinks if memory runs out. Long sequences are cut into windows.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import torch

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.io.progress import Progress
from lingprob.models.loading import LanguageModel
from lingprob.scoring.forward import PROBE_TOKENS, Forward, lay_out, order_of
from lingprob.scoring.key_values import KeyValues, rotation_of
from lingprob.scoring.trees import Branch, Row, batches, pack

logger = logging.getLogger(__name__)

# On a CPU, larger batches exceed its cache and are no faster.
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 16_384, "mps": 4096}
# In a longer row, more sequences share beginnings, but more tokens do not see each other.
TOKENS_PER_ROW = {"cpu": 128, "cuda": 512, "mps": 512}
SHARD_MULTIPLE = 4  # so that 2 or 4 workers have as many shards each


class Segment(NamedTuple):
    """A branch, the part of an array for its log-probabilities, and if it ends its sequence."""

    target: np.ndarray
    branch: Branch
    is_last: bool = False


@contextmanager
def worker_map(
    language_model: LanguageModel, workers: int
) -> Iterator[Callable[..., Iterator[Any]]]:
    """Yield a function like `map` that runs in `workers` threads, each with one thread of torch.

    After an error, calls that have not begun are dropped. With one worker, or if the model's rotary
    frequencies depend on earlier forward passes, all calls run in the caller's thread.
    """
    if workers == 1 or rotation_of(language_model.model.config) is not None:
        yield map
        return
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def shard_ranges(items: int, most: int) -> list[range]:
    """Cut item numbers into ranges of similar size, so that all workers end at about the same time.

    A range has at most `most` items. The number of ranges is a multiple of SHARD_MULTIPLE for any
    number of workers, unless they would have less than a twentieth of `most`, which is slow.
    """
    multiple = -(-items // (most * SHARD_MULTIPLE)) * SHARD_MULTIPLE
    shards = min(multiple, max(1, items // max(1, most // 20)))
    ends = [items * shard // shards for shard in range(shards + 1)] if shards else []
    return list(map(range, ends, ends[1:]))


class Scorer:
    """A language model, the fastest exact way to run it, and the number of tokens in a batch.

    `tokens_per_batch` shrinks if memory runs out. `result_dtype` is that of log-probabilities. The
    `forward` of another scorer of the same model can be reused without new checks.
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
        self.preparing = Lock()  # because threads may share a scorer, and preparing alters it
        self.result_dtype = np.float64 if self.forward.dtype == torch.float64 else np.float32

    def score(
        self,
        sequences: Sequence[np.ndarray],
        start_id: int | None,
        *,
        window: int | None = None,
        stride: int | None = None,
        members: np.ndarray | None = None,
        progress: Progress | None = None,
        alone: bool = False,
    ) -> list[np.ndarray]:
        """Return the log-probability (nats) of every token given those before it.

        The values do not depend on the batches or on the order of sequences (to 1e-5 nats).

        Args:
            sequences: token ids, arrays (n,).
            start_id: token id before each sequence. If it is None, the value of a first token is
                NaN.
            window, stride: arguments of `sliding_windows`. Default: the context window, and half a
                window. The last token of a window is not run.
            members: token ids. If given, results have shape (n, 2), and the second column is the
                log-probability that the token at this place is any of them.
            progress: advanced by the number of finished sequences.
            alone: take no shortcut that saves less in one sequence than its check costs.

        Returns one array (n,) per sequence, of `result_dtype`. Raises LingprobError if a single
        sequence does not fit into memory, or a value is not finite.
        """
        window = window or self.language_model.context_window
        prefix = [] if start_id is None else [start_id]
        whole = [np.array([*prefix, *ids], dtype=np.int64) for ids in sequences]
        numbers: dict[bytes, int] = {}
        unique_of = [numbers.setdefault(ids.tobytes(), len(numbers)) for ids in whole]
        unique = [np.frombuffer(key, dtype=np.int64) for key in numbers]
        width = () if members is None else (2,)
        logprobs = [np.full((len(ids), *width), np.nan, dtype=self.result_dtype) for ids in unique]
        after_start = self.prepare(unique, start_id, alone)
        if members is not None:
            after_start = None  # its log-probabilities lack those of the members
        segments: list[Segment] = []
        for target, ids in zip(logprobs, unique, strict=True):
            segments += _segments(target, ids, window, stride, after_start is not None)
            if after_start is not None and after_start.logprobs is not None and len(ids) > 1:
                target[1] = after_start.logprobs[ids[1]]
        if progress is not None:
            progress.advance(len(whole) - sum(segment.is_last for segment in segments))
        for start, before in ((1, after_start), (0, None)):
            todo = [segment for segment in segments if segment.branch.start == start]
            self.run(todo, before, members, progress)
        return [logprobs[number][len(prefix) :].copy() for number in unique_of]

    def prepare(
        self, sequences: Sequence[np.ndarray], start_id: int | None, alone: bool = False
    ) -> KeyValues | None:
        """Return the start token's keys and values, or None if it is run with each sequence.

        The first call checks the model on its longest and shortest sequence (which include the
        start token).
        """
        by_length = sorted((ids for ids in sequences if len(ids) > 1), key=len)
        if not by_length:
            return None
        long = by_length[-1][: PROBE_TOKENS + 1].copy()
        probes = [long, by_length[0][: max(2, len(long) // 2)].copy()]
        with self.preparing:
            self.forward.prepare(probes)
            if alone:
                return None
            self.forward.try_trees(long)
            return None if start_id is None else self.forward.after_start(start_id, probes)

    def run(
        self,
        segments: Sequence[Segment],
        prefix: KeyValues | None,
        members: np.ndarray | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write the log-probabilities of the wanted tokens of segments to their targets.

        Branches continue from `prefix`. Those that share a beginning are run together. `members`
        and `progress` are arguments of `score`.
        """
        left = dict(enumerate(segments))
        while left:
            numbers = list(left)
            for batch in self._batches([segment.branch for segment in left.values()], prefix):
                values = self._try(batch, prefix, members)
                if values is None:
                    alone = sum(len(row.branches) for row in batch) == 1
                    self.shrink(len(batch) * len(batch[0].ids), alone)
                    break
                finished = [left.pop(numbers[place]) for place in order_of(batch)]
                for segment, logprobs in zip(finished, values, strict=True):
                    segment.target[:] = logprobs
                if progress is not None:
                    progress.advance(sum(segment.is_last for segment in finished))

    def _batches(self, branches: list[Branch], prefix: KeyValues | None) -> Iterator[list[Row]]:
        """Yield batches of rows with all branches.

        After a long prefix each batch is one row, so that the prefix is not copied.
        """
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
        """Return log-probabilities by branch, in the order of rows, or None if out of memory."""
        start = max(max(row.start) for row in rows)
        try:
            before = None if prefix is None else prefix.part(slice(start))
            chosen = None if members is None else torch.from_numpy(members)
            values = self.forward.logprobs(lay_out(rows, start), before, chosen).numpy()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return None
        self.language_model.check_finite(values)
        return np.split(values, np.cumsum([n for row in rows for n in row.wanted])[:-1])

    def shrink(self, tokens: int, whole: bool = False) -> None:
        """Halve the budget after `tokens` exceeded memory. Raise LingprobError if `whole`."""
        if whole or tokens < 2:
            raise LingprobError(
                f"{self.language_model.directory}: out of memory with one sequence of {tokens} "
                "tokens. Set a smaller context_window in its entry, `scoring.dtype: bfloat16` or "
                "`scoring.device_map: auto` (several GPUs), or choose a smaller model."
            )
        self.tokens_per_batch = tokens // 2
        logger.warning("out of memory: continuing with %d tokens per batch", self.tokens_per_batch)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _segments(
    logprobs: np.ndarray, ids: np.ndarray, window: int, stride: int | None, start_is_read: bool
) -> Iterator[Segment]:
    """Yield the windows of a sequence (with its start token) that have a token to score.

    If `start_is_read`, the start token is not run again.
    """
    for start, end, score_from in sliding_windows(len(ids), window, stride):
        after_start = start_is_read and start == 0
        begin = 1 if after_start else start
        position = max(score_from, begin + 1)
        if position < end:
            branch = Branch(ids[begin:end], position - begin, int(after_start))
            yield Segment(logprobs[position:end], branch, end == len(ids))


def sliding_windows(
    n_tokens: int, window: int, stride: int | None = None
) -> list[tuple[int, int, int]]:
    """Return windows of at most `window` tokens that score each of `n_tokens` tokens once.

    A window (start, end, score_from) runs the tokens from start to end (exclusive), and scores
    those from score_from. Each starts `stride` tokens (default: half a window) after the last, so
    tokens after the first window have at least `window - stride` tokens of context. Raises
    LingprobError unless `window` is at least 2 and `stride` from 1 to `window - 1`.
    """
    stride = window // 2 if stride is None else stride
    if not 1 <= stride < window:
        raise LingprobError(
            f"windows of {window} tokens that advance by {stride}: the window must be at least "
            "2 tokens and the stride from 1 to window - 1, so that each new token has context."
        )
    windows = []
    start = scored = 0
    while scored < n_tokens:
        end = min(start + window, n_tokens)
        windows.append((start, end, scored))
        start, scored = start + stride, end
    return windows
