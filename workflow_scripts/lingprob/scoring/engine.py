"""Exact token log-probabilities of token sequences under a causal language model.

Each distinct sequence is scored once; long ones in windows; all sorted by length, in padded
batches under a token budget that shrinks when memory runs out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel
from lingprob.progress import Progress
from lingprob.scoring.forward import PROBE_TOKENS, Context, Forward, pad
from lingprob.scoring.windows import sliding_windows

logger = logging.getLogger(__name__)

# On a CPU, larger batches fall out of the cache and gain nothing.
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 16_384}
OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")


@dataclass(frozen=True)
class Segment:
    """One window of one sequence: `ids` (n,) int64, of which `ids[score_from:]` are scored.

    `score_from` is at least 1. `sequence` and `position` say where `ids[score_from]` belongs.
    `after_context`: the context token precedes `ids` and is not among them.
    """

    sequence: int
    position: int
    ids: np.ndarray
    score_from: int
    after_context: bool


def score_sequences(
    language_model: LanguageModel,
    sequences: Sequence[np.ndarray],
    context_id: int | None,
    *,
    tokens_per_batch: int | None = None,
    window: int | None = None,
    stride: int | None = None,
    progress: Progress | None = None,
) -> list[np.ndarray]:
    """Return the natural-log probability of every token given those before it.

    `sequences` are integer arrays of token ids, each preceded by `context_id` unless that is
    None, in which case a first token's value is NaN. Each result has its sequence's length and
    is float32 (float64 for a float64 model). Sequences longer than `window` (default: the
    context window) are scored in windows that advance by `stride`. The values do not depend on
    `tokens_per_batch` or on the order (to 1e-5); running out of memory halves the budget.
    Raises LingprobError if a single sequence does not fit into memory, or a value is not finite.
    """
    scorer = Scorer(language_model, tokens_per_batch)
    return scorer.score(sequences, context_id, window=window, stride=stride, progress=progress)


class Scorer:
    """A language model with the fastest exact way to score it and a budget that fits memory."""

    def __init__(self, language_model: LanguageModel, tokens_per_batch: int | None = None) -> None:
        self.language_model = language_model
        self.tokens_per_batch = tokens_per_batch or TOKENS_PER_BATCH[language_model.device.type]
        self.forward = Forward(language_model)

    def score(
        self,
        sequences: Sequence[np.ndarray],
        context_id: int | None,
        *,
        window: int | None = None,
        stride: int | None = None,
        progress: Progress | None = None,
        members: np.ndarray | None = None,
    ) -> list[np.ndarray]:
        """Score sequences as `score_sequences` does; the memory budget learnt is kept.

        With `members`, token ids, a result has shape (n, 2): the second column is the
        log-probability that the token at this place is any of them.
        """
        window = self._check_window(window)
        prefix = [] if context_id is None else [context_id]
        whole = [np.array([*prefix, *ids], dtype=np.int64) for ids in sequences]
        numbers: dict[bytes, int] = {}
        unique_of = [numbers.setdefault(ids.tobytes(), len(numbers)) for ids in whole]
        unique = [np.frombuffer(key, dtype=np.int64) for key in numbers]
        dtype = np.float64 if self.forward.dtype == torch.float64 else np.float32
        width = () if members is None else (2,)
        logprobs = [np.full((len(ids), *width), np.nan, dtype=dtype) for ids in unique]
        context = self._prepare(unique, context_id)
        if members is not None:
            context = None  # what it leaves behind holds no mass of the members
        segments: list[Segment] = []
        for number, ids in enumerate(unique):
            segments += _segments(number, ids, window, stride, context is not None)
            if context is not None and len(ids) > 1:
                logprobs[number][1] = context.logprobs[ids[1]]
        tally = _Tally(unique_of, segments, progress)
        for scored, values in self._run(segments, context, members):
            for segment, value in zip(scored, values, strict=True):
                logprobs[segment.sequence][segment.position :][: len(value)] = value
            tally.finish(scored)
        return [logprobs[number][len(prefix) :].copy() for number in unique_of]

    def _check_window(self, window: int | None) -> int:
        limit = self.language_model.context_window
        if window is not None and window > limit:
            raise LingprobError(
                f"scoring.window is {window}, more than the {limit} tokens of "
                f"{self.language_model.directory}: lower it, or leave it out."
            )
        return window or limit

    def _prepare(self, unique: list[np.ndarray], context_id: int | None) -> Context | None:
        """Check the model on the longest and the shortest sequence; run the context token."""
        by_length = sorted((ids for ids in unique if len(ids) > 1), key=len)
        if not by_length:
            return None
        long = by_length[-1][: PROBE_TOKENS + 1].copy()
        probes = [long, by_length[0][: max(2, len(long) // 2)].copy()]
        self.forward.prepare(probes)
        return None if context_id is None else self.forward.context(context_id, probes)

    def _run(
        self, segments: list[Segment], context: Context | None, members: np.ndarray | None
    ) -> Iterator[tuple[list[Segment], list[np.ndarray]]]:
        """Yield batches of segments with their log-probabilities, longest first."""
        for after_context in (True, False):
            todo = [segment for segment in segments if segment.after_context == after_context]
            todo.sort(key=lambda segment: len(segment.ids), reverse=True)
            done = 0
            while done < len(todo):
                count = max(1, self.tokens_per_batch // (len(todo[done].ids) - 1))
                batch = todo[done : done + count]
                values = self._try(batch, context if after_context else None, members)
                if values is None:
                    self._halve(batch)
                    continue
                yield batch, values
                done += len(batch)

    def _try(
        self, segments: list[Segment], context: Context | None, members: np.ndarray | None
    ) -> list[np.ndarray] | None:
        """Return the segments' log-probabilities, or None if memory ran out."""
        score_from = [segment.score_from for segment in segments]
        batch = pad([segment.ids for segment in segments], score_from)
        try:
            chosen = None if members is None else torch.from_numpy(members)
            values = self.forward.logprobs(batch, context, chosen).cpu().numpy()
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            return None
        if not np.isfinite(values).all():
            raise LingprobError(
                f"{self.language_model.directory}: a log-probability is not finite in "
                f"{self.language_model.dtype}. Set `scoring.dtype: float32`; if it stays, the "
                "weights are damaged: fetch the model again."
            )
        ends = np.cumsum([len(segment.ids) - segment.score_from for segment in segments])
        return np.split(values, ends[:-1])

    def _halve(self, segments: list[Segment]) -> None:
        length = len(segments[0].ids) - 1
        if len(segments) == 1:
            raise LingprobError(
                f"{self.language_model.directory}: out of memory on {self.language_model.device} "
                f"with one sequence of {length} tokens. Set a smaller scoring.window, "
                "`scoring.dtype: bfloat16` (GPU), `scoring.device_map: auto` over several GPUs, "
                "or choose a smaller model."
            )
        self.tokens_per_batch = len(segments) * length // 2
        logger.warning("out of memory: going on with %d tokens a batch", self.tokens_per_batch)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


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

    def finish(self, segments: list[Segment]) -> None:
        for segment in segments:
            self.pending[segment.sequence] -= 1
        touched = np.unique([segment.sequence for segment in segments])
        self._advance(self.copies[touched[self.pending[touched] == 0]].sum())

    def _advance(self, count: int) -> None:
        if self.progress is not None:
            self.progress.advance(int(count))


def _segments(
    number: int, ids: np.ndarray, window: int, stride: int | None, context_is_read: bool
) -> Iterator[Segment]:
    """Cut a sequence, its context token included, into windows with something to score."""
    for start, end, score_from in sliding_windows(len(ids), window, stride):
        after_context = context_is_read and start == 0
        begin = 1 if after_context else start
        position = max(score_from, begin + 1)  # nothing, or a context read before, precedes it
        if position < end:
            yield Segment(number, position, ids[begin:end], position - begin, after_context)


def _is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(
        text in str(error) for text in OUT_OF_MEMORY
    )
