"""Exact token log-probabilities of token sequences under a causal language model.

Sequences are deduplicated, sorted by length and run in right-padded batches under a token
budget; a causal model's earlier positions never see the padding, so no mask is needed. Only the
hidden states that predict a wanted token go through the output embedding, in float32, and a
log-sum-exp over a chunk of positions is all that is made of the vocabulary.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel
from lingprob.progress import Progress
from lingprob.scoring.windows import sliding_windows

logger = logging.getLogger(__name__)

# On a CPU, larger batches fall out of the cache and gain nothing.
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 16_384}
LOGITS_PER_CHUNK = {"cpu": 2**23, "cuda": 2**27}
# The mean difference (nats a token) between batch sizes that half precision alone explains.
PADDING_TOLERANCE = {torch.bfloat16: 0.15, torch.float16: 0.02}
PROBE_TOKENS = 16
OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")


@dataclass(frozen=True)
class Segment:
    """One window of one sequence: `ids` (n,) int64, of which `ids[score_from:]` are scored.

    `score_from` is at least 1. `sequence` and `position` say where `ids[score_from]` belongs.
    """

    sequence: int
    position: int
    ids: np.ndarray
    score_from: int


@dataclass(frozen=True)
class Batch:
    """Padded ids (rows, length), and the flat positions (n,) that predict `targets` (n,)."""

    ids: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor


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
        self.dtype = torch.promote_types(language_model.dtype, torch.float32)
        logits = LOGITS_PER_CHUNK[language_model.device.type]
        self.chunk = max(1, logits // language_model.vocabulary_size)  # positions
        self.forward: Callable[[Batch], torch.Tensor] | None = None
        self.head_weight: torch.Tensor | None = None
        self.head_bias: torch.Tensor | None = None

    def score(
        self,
        sequences: Sequence[np.ndarray],
        context_id: int | None,
        *,
        window: int | None = None,
        stride: int | None = None,
        progress: Progress | None = None,
    ) -> list[np.ndarray]:
        """Score sequences as `score_sequences` does; the memory budget learnt is kept."""
        window = self._check_window(window)
        prefix = np.array([] if context_id is None else [context_id], dtype=np.int64)
        full = [np.concatenate([prefix, np.asarray(ids, dtype=np.int64)]) for ids in sequences]
        numbers: dict[bytes, int] = {}
        unique_of = [numbers.setdefault(ids.tobytes(), len(numbers)) for ids in full]
        unique = [np.frombuffer(key, dtype=np.int64) for key in numbers]
        dtype = np.float64 if self.dtype == torch.float64 else np.float32
        logprobs = [np.full(len(ids), np.nan, dtype=dtype) for ids in unique]
        segments = [
            segment for i, ids in enumerate(unique) for segment in _segments(i, ids, window, stride)
        ]
        copies = np.bincount(np.array(unique_of, dtype=int), minlength=len(unique))
        owners = np.array([segment.sequence for segment in segments], dtype=int)
        pending = np.bincount(owners, minlength=len(unique))
        if progress is not None:
            progress.advance(int(copies[pending == 0].sum()))
        segments.sort(key=lambda segment: len(segment.ids), reverse=True)
        if segments and self.forward is None:
            self._choose_forward(segments)
        for scored, values in self._run(segments):
            for segment, value in zip(scored, values, strict=True):
                logprobs[segment.sequence][segment.position :][: len(value)] = value
                pending[segment.sequence] -= 1
            if progress is not None:
                touched = {segment.sequence for segment in scored}
                progress.advance(int(sum(copies[i] for i in touched if pending[i] == 0)))
        return [logprobs[i][len(prefix) :].copy() for i in unique_of]

    def _check_window(self, window: int | None) -> int:
        limit = self.language_model.context_window
        if window is not None and window > limit:
            raise LingprobError(
                f"scoring.window is {window}, more than the {limit} tokens of "
                f"{self.language_model.directory}: lower it, or leave it out."
            )
        return window or limit

    def _run(
        self, segments: list[Segment]
    ) -> Iterator[tuple[list[Segment], Sequence[np.ndarray]]]:
        done = 0
        while done < len(segments):
            count = max(1, self.tokens_per_batch // (len(segments[done].ids) - 1))
            batch = segments[done : done + count]
            values = self._try(batch)
            if values is None:
                self._halve(batch)
                continue
            yield batch, values
            done += len(batch)

    def _try(self, segments: list[Segment]) -> Sequence[np.ndarray] | None:
        assert self.forward is not None
        try:
            with torch.inference_mode():
                values = self.forward(_pad(segments)).cpu().numpy()
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

    def _choose_forward(self, segments: list[Segment]) -> None:
        """Use the head on wanted positions alone if that is all it does; check the padding."""
        long = segments[0].ids[: PROBE_TOKENS + 1]
        short = segments[-1].ids[: max(2, len(long) // 2)]
        probes = [Segment(0, 1, long, 1), Segment(1, 1, short, 1)]
        with torch.inference_mode():
            self.forward = self._from_logits
            if self._prepare_head(_pad(probes[:1]).ids):
                self.forward = self._from_states
            alone = torch.cat([self._from_logits(_pad([probe])) for probe in probes])
            difference = float((self.forward(_pad(probes)).cpu() - alone.cpu()).abs().mean())
        if not difference <= PADDING_TOLERANCE.get(self.language_model.dtype, 1e-4):
            raise LingprobError(
                f"{self.language_model.directory}: a sentence in a padded batch scores "
                f"{difference:.2g} nats a token away from the same sentence alone, so this is not "
                "a causal model as loaded. Check its config.json, or import its scores instead "
                "(a model with source `scores`)."
            )

    def _prepare_head(self, ids: torch.Tensor) -> bool:
        """Keep the output embedding in float32, if it makes the model's logits by itself.

        It does not where logits are capped or scaled, or where weights are off the device.
        """
        model = self.language_model.model
        head = model.get_output_embeddings()
        if isinstance(head, torch.nn.Linear) and not head.weight.is_meta:
            ids = ids.to(self.language_model.device)
            logits = model(input_ids=ids, use_cache=False).logits
            states = model.base_model(input_ids=ids, use_cache=False)[0]
            if states.shape[-1] == head.in_features:
                difference = (head(states.to(head.weight)) - logits).abs().mean()
                if difference <= torch.finfo(logits.dtype).eps * logits.abs().mean():
                    self.head_weight = head.weight.to(self.dtype)
                    self.head_bias = None if head.bias is None else head.bias.to(self.dtype)
                    return True
        logger.info(
            "%s: the output embedding alone does not make this model's logits, so the whole "
            "model is run at every position (slower, as exact)", self.language_model.directory,
        )  # fmt: skip
        return False

    def _from_states(self, batch: Batch) -> torch.Tensor:
        """Run the model without its head, then the head on the wanted positions alone."""
        weight = self.head_weight
        assert weight is not None
        ids = batch.ids.to(self.language_model.device)
        hidden = self.language_model.model.base_model(input_ids=ids, use_cache=False)[0]
        wanted = hidden.flatten(0, 1)[batch.positions.to(hidden.device)]
        logprobs = []
        for first in range(0, len(wanted), self.chunk):
            states = wanted[first : first + self.chunk].to(weight)
            logits = torch.nn.functional.linear(states, weight, self.head_bias)
            logprobs.append(_logprobs_at(logits, batch.targets[first : first + self.chunk]))
        return torch.cat(logprobs)

    def _from_logits(self, batch: Batch) -> torch.Tensor:
        """Run the whole model, a few rows at a time so that its logits stay small."""
        length = batch.ids.shape[1]
        rows = max(1, self.chunk // length)
        logprobs = []
        for first in range(0, len(batch.ids), rows):
            ids = batch.ids[first : first + rows].to(self.language_model.device)
            logits = self.language_model.model(input_ids=ids, use_cache=False).logits
            row = batch.positions // length
            here = (row >= first) & (row < first + rows)
            positions = (batch.positions[here] - first * length).to(logits.device)
            wanted = logits.flatten(0, 1)[positions].to(self.dtype)
            logprobs.append(_logprobs_at(wanted, batch.targets[here]))
        return torch.cat(logprobs)


def _segments(number: int, ids: np.ndarray, window: int, stride: int | None) -> Iterator[Segment]:
    for start, end, score_from in sliding_windows(len(ids), window, stride):
        position = max(score_from, 1)  # nothing precedes the first token
        if position < end:
            yield Segment(number, position, ids[start:end], position - start)


def _pad(segments: Sequence[Segment]) -> Batch:
    """Lay segments out as rows, padded on the right; a segment's last token is never fed."""
    length = max(len(segment.ids) for segment in segments) - 1
    ids = np.zeros((len(segments), length), dtype=np.int64)
    for row, segment in enumerate(segments):
        ids[row, : len(segment.ids) - 1] = segment.ids[:-1]
    positions = [
        np.arange(segment.score_from - 1, len(segment.ids) - 1) + row * length
        for row, segment in enumerate(segments)
    ]
    targets = [segment.ids[segment.score_from :] for segment in segments]
    return Batch(
        torch.from_numpy(ids),
        torch.from_numpy(np.concatenate(positions)),
        torch.from_numpy(np.concatenate(targets)),
    )


def _logprobs_at(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Logit minus log-sum-exp at `targets` (n,); overwrites `logits` (n, vocabulary).

    torch's own log_softmax is biased by 8e-6 nats in float32; this is within 1e-6.
    """
    logits.sub_(logits.amax(dim=1, keepdim=True))
    chosen = logits.gather(1, targets.to(logits.device)[:, None])[:, 0]
    return chosen - logits.exp_().sum(dim=1).log_()


def _is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(
        text in str(error) for text in OUT_OF_MEMORY
    )
