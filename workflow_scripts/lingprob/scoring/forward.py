"""One pass of a causal model: padded token ids in, log-probabilities of wanted tokens out.

Three things make it cheap, and each is checked against the plain model before it is used. Only
the hidden states that predict a wanted token go through the output embedding, and of the
vocabulary no more than a log-sum-exp is made. Batches are padded on the right, which a causal
model's earlier positions never see, so no mask is needed. And the context token, the same
before every sentence, is run once.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel

logger = logging.getLogger(__name__)

LOGITS_PER_CHUNK = {"cpu": 2**23, "cuda": 2**27}
# Mean differences (nats a token) that rounding alone explains when a batch changes shape.
TOLERANCE = {torch.bfloat16: 0.15, torch.float16: 0.02}
TOLERANCE_IN_FULL_PRECISION = 1e-3
PROBE_TOKENS = 8


@dataclass(frozen=True)
class Batch:
    """Ids (rows, length) to feed, and the flat positions (n,) that predict `targets` (n,)."""

    ids: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor


@dataclass(frozen=True)
class Context:
    """What a context token leaves behind: keys and values, and ln p (vocabulary,) after it."""

    cache: Any
    logprobs: np.ndarray


class Forward:
    """The fastest exact way to run one language model; call `prepare` before the rest."""

    def __init__(self, language_model: LanguageModel) -> None:
        self.language_model = language_model
        self.dtype = torch.promote_types(language_model.dtype, torch.float32)
        logits = LOGITS_PER_CHUNK[language_model.device.type]
        self.chunk = max(1, logits // language_model.vocabulary_size)  # positions
        self.prepared = False
        self.head: tuple[torch.Tensor, torch.Tensor | None] | None = None
        self.contexts: dict[int, Context | None] = {}

    @torch.inference_mode()
    def logprobs(
        self,
        batch: Batch,
        context: Context | None = None,
        members: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return ln p (n,) of the batch's targets, in float32, after `context` if there is one.

        With `members`, token ids, return (n, 2): the second column is the log-probability that
        the token at the target's place is any of them. Without a head of its own, the whole
        model runs on a few rows at a time, so that its logits stay small.
        """
        length = batch.ids.shape[1]
        rows = len(batch.ids) if self.head else max(1, self.chunk // length)
        logprobs = []
        for first in range(0, len(batch.ids), rows):
            outputs = self._run(batch.ids[first : first + rows], context).flatten(0, 1)
            row = batch.positions // length
            here = (row >= first) & (row < first + rows)
            positions = (batch.positions[here] - first * length).to(outputs.device)
            targets = batch.targets[here].split(self.chunk)
            for wanted, target in zip(positions.split(self.chunk), targets, strict=True):
                logprobs.append(_logprobs_at(self._logits(outputs[wanted]), target, members))
        return torch.cat(logprobs)

    @torch.inference_mode()
    def prepare(self, probes: Sequence[np.ndarray]) -> None:
        """Settle how the head is run, and check a padded batch of `probes` (ids, at least 2).

        Raises LingprobError if the model is not causal: padding moves what comes before it.
        """
        if self.prepared:
            return
        self.head = self._separate_head(probes[0])
        alone = torch.cat([self._plain_logprobs(ids) for ids in probes])
        difference = _mean_difference(self.logprobs(pad(probes)), alone)
        if not difference <= self._tolerance():
            raise LingprobError(
                f"{self.language_model.directory}: a sentence in a padded batch scores "
                f"{difference:.2g} nats a token away from the same sentence alone, so this is not "
                "a causal model as loaded. Check its config.json, or import its scores instead "
                "(a model with source `scores`)."
            )
        self.prepared = True

    @torch.no_grad()
    def context(self, context_id: int, probes: Sequence[np.ndarray]) -> Context | None:
        """Return what `context_id` leaves behind, or None where the model can't go on from it.

        `probes` are sequences that begin with the context token.
        """
        if context_id not in self.contexts:
            context = self._read_context(context_id)
            probes = [ids[1:] for ids in probes if len(ids) > 2]
            if context is not None and probes:
                plain = [self._plain_logprobs(np.array([context_id, *ids]))[1:] for ids in probes]
                continued = self.logprobs(pad(probes), context)
                if not _mean_difference(continued, torch.cat(plain)) <= self._tolerance():
                    context = None
            if context is None:
                logger.info(
                    "%s: the context token is run with every sentence (slower, as exact)",
                    self.language_model.directory,
                )
            self.contexts[context_id] = context
        return self.contexts[context_id]

    def _tolerance(self) -> float:
        return TOLERANCE.get(self.language_model.dtype, TOLERANCE_IN_FULL_PRECISION)

    def _separate_head(self, ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor | None] | None:
        """Return the output embedding in float32, if it alone makes the model's logits.

        It does not where logits are capped or scaled, or where weights are off the device.
        """
        model = self.language_model.model
        head = model.get_output_embeddings()
        if isinstance(head, torch.nn.Linear) and not head.weight.is_meta:
            fed = torch.from_numpy(ids[None]).to(self.language_model.device)
            logits = model(input_ids=fed, use_cache=False).logits
            states = model.base_model(input_ids=fed, use_cache=False)[0]
            if states.shape[-1] == head.in_features:
                difference = (head(states.to(head.weight)) - logits).abs().mean()
                if difference <= torch.finfo(logits.dtype).eps * logits.abs().mean():
                    bias = None if head.bias is None else head.bias.to(self.dtype)
                    return head.weight.to(self.dtype), bias
        logger.info(
            "%s: the output embedding alone does not make this model's logits, so the whole "
            "model is run at every position (slower, as exact)", self.language_model.directory,
        )  # fmt: skip
        return None

    def _read_context(self, context_id: int) -> Context | None:
        """Run the context token alone, and a float32 model's in float64.

        A first token's activations are huge, and their rounding errors reach every token after
        it: SmolLM2-135M is off by 2.9e-5 nats a sentence with them, 1.0e-5 without.
        """
        fed = torch.tensor([[context_id]]).to(self.language_model.device)
        exactly = self.language_model.dtype == torch.float32
        with torch.no_grad(), _in_float64(self._body()) if exactly else nullcontext():
            output = self._body()(input_ids=fed, use_cache=True)
        cache = getattr(output, "past_key_values", None)
        if not isinstance(cache, DynamicCache):
            return None
        for layer in cache.layers:
            layer.keys = layer.keys.to(self.language_model.dtype)
            layer.values = layer.values.to(self.language_model.dtype)
        logits = self._logits(output[0][0]).double()
        return Context(cache, (logits - logits.logsumexp(dim=1))[0].cpu().numpy())

    def _body(self) -> Any:
        return self.language_model.model.base_model if self.head else self.language_model.model

    def _run(self, ids: torch.Tensor, context: Context | None) -> torch.Tensor:
        """Return hidden states, or logits where the head can't be separated."""
        ids = ids.to(self.language_model.device)
        if context is None:
            return self._body()(input_ids=ids, use_cache=False)[0]
        cache = copy.deepcopy(context.cache)
        cache.batch_repeat_interleave(len(ids))
        return self._body()(input_ids=ids, past_key_values=cache, use_cache=True)[0]

    def _logits(self, outputs: torch.Tensor) -> torch.Tensor:
        if self.head is None:
            return outputs.to(self.dtype)
        weight, bias = self.head
        return torch.nn.functional.linear(outputs.to(weight), weight, bias)

    def _plain_logprobs(self, ids: np.ndarray) -> torch.Tensor:
        """Return ln p of `ids[1:]` from the model as its authors meant it to be called."""
        fed = torch.from_numpy(ids[None]).to(self.language_model.device)
        logits = self.language_model.model(input_ids=fed).logits[0, :-1].to(self.dtype)
        return _logprobs_at(logits, fed[0, 1:])


def pad(sequences: Sequence[np.ndarray], score_from: Sequence[int] | None = None) -> Batch:
    """Lay sequences (at least 2 ids each) out as rows, padded on the right.

    The last token of each is never fed. Targets are the tokens from `score_from` on (at least
    1, the default).
    """
    length = max(len(ids) for ids in sequences) - 1
    padded = np.zeros((len(sequences), length), dtype=np.int64)
    positions, targets = [], []
    for row, ids in enumerate(sequences):
        first = 1 if score_from is None else score_from[row]
        padded[row, : len(ids) - 1] = ids[:-1]
        positions.append(np.arange(first - 1, len(ids) - 1) + row * length)
        targets.append(ids[first:])
    return Batch(
        torch.from_numpy(padded),
        torch.from_numpy(np.concatenate(positions)),
        torch.from_numpy(np.concatenate(targets)),
    )


def _logprobs_at(
    logits: torch.Tensor, targets: torch.Tensor, members: torch.Tensor | None = None
) -> torch.Tensor:
    """Logit minus log-sum-exp at `targets` (n,); overwrites `logits` (n, vocabulary).

    With `members` (token ids), their log-sum-exp minus that of all is a second column.
    torch's own log_softmax is biased by 8e-6 nats in float32; this is within 1e-6.
    """
    logits.sub_(logits.amax(dim=1, keepdim=True))
    chosen = logits.gather(1, targets.to(logits.device)[:, None])[:, 0]
    if members is not None:
        among = logits[:, members.to(logits.device)].double().logsumexp(dim=1).to(logits.dtype)
        chosen = torch.stack([chosen, among], dim=1)
    total = logits.exp_().sum(dim=1).log_()
    return chosen - (total if members is None else total[:, None])


def _mean_difference(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one.cpu() - other.cpu()).abs().mean())


@contextmanager
def _in_float64(model: Any) -> Iterator[None]:
    """Make a float32 model compute in float64, holding one module's weights so at a time."""

    def widen(module: Any, _inputs: Any) -> None:
        for parameter in module.parameters(recurse=False):
            originals[parameter] = parameter.data
            parameter.data = parameter.data.double()

    def restore(module: Any, _inputs: Any, _output: Any) -> None:
        for parameter in module.parameters(recurse=False):
            parameter.data = originals.pop(parameter)

    def widen_output(_module: Any, _inputs: Any, output: torch.Tensor) -> torch.Tensor:
        return output.double()

    originals: dict[torch.nn.Parameter, torch.Tensor] = {}
    handles = []
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            handles.append(module.register_forward_hook(widen_output))
        elif any(True for _ in module.parameters(recurse=False)):
            handles.append(module.register_forward_pre_hook(widen))
            handles.append(module.register_forward_hook(restore))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for parameter, data in originals.items():
            parameter.data = data
