"""Run a causal model on rows of tokens, and return the log-probabilities of wanted tokens.

Four shortcuts make this fast, and each is checked against the plain model before use. A row may
have trees, in which a token attends only to its ancestors. Only hidden states that predict a wanted
token go through the output embedding, and their logits are reduced to a log-sum-exp. Rows are
padded on the right, which earlier positions never see. Tokens before all rows are run once.
"""

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, linear
from transformers import DynamicCache

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.models.devices import has_float64, in_float64, widened
from lingprob.models.loading import LanguageModel
from lingprob.scoring.key_values import (
    KeyValues,
    forget_lengths,
    local_attention,
    rotation_of,
    states_of,
)
from lingprob.scoring.trees import Branch, Row, pack, visible

logger = logging.getLogger(__name__)

# Positions and vocabulary entries whose logits are computed at a time, to fit the cache of a CPU.
LOGITS_AT_ONCE = {"cpu": (512, 2048), "cuda": (2048, 2**16), "mps": (2048, 2**16)}
# Logits in one pass of a model without a separate head.
LOGITS_PER_PASS = {"cpu": 2**23, "cuda": 2**27, "mps": 2**26}
# Mean differences (nats per token) that rounding alone causes when a batch changes its shape.
TOLERANCE = {torch.bfloat16: 0.15, torch.float16: 0.02}
TOLERANCE_IN_FULL_PRECISION = 1e-3
PROBE_TOKENS = 8
# Errors of models that do not support the caches, masks or number formats of a shortcut.
UNSUPPORTED = (AttributeError, IndexError, KeyError, NotImplementedError, RuntimeError, TypeError,
               ValueError)  # fmt: skip


@dataclass(frozen=True)
class Batch:
    """Token ids (rows, length) to run. Column `column[k]` of row `row[k]` predicts `targets[k]`.

    `mask` (rows, length, prefix + length) has True for tokens that a token attends to, and
    `positions` (rows, length) are positions. Both are None if each token attends to all before it.
    """

    ids: torch.Tensor
    row: torch.Tensor
    column: torch.Tensor
    targets: torch.Tensor
    mask: torch.Tensor | None = None
    positions: torch.Tensor | None = None


class Forward:
    """The fastest exact way to run one language model, after a call of `prepare`.

    `takes_trees` says whether a row may have several branches, or begin inside a prefix. A model
    with a method `logprobs_at` (n-grams) computes only the targets' log-probabilities.
    """

    def __init__(self, language_model: LanguageModel) -> None:
        self.language_model = language_model
        self.dtype = torch.promote_types(language_model.dtype, torch.float32)
        self.tolerance = TOLERANCE.get(language_model.dtype, TOLERANCE_IN_FULL_PRECISION)
        self.prepared = self.tried_trees = self.takes_trees = False
        self.knows_targets = hasattr(language_model.model, "logprobs_at")
        self.head: tuple[torch.Tensor, torch.Tensor | None] | None = None
        self.after_starts: dict[int, KeyValues | None] = {}
        self.rotation = rotation_of(language_model.model.config)

    @torch.inference_mode()
    def logprobs(
        self, batch: Batch, prefix: KeyValues | None = None, members: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the log-probabilities (n,) of the batch's targets, after `prefix` if given.

        With `members` (token ids) the shape is (n, 2): the second column is the log-probability
        that the token in the target's place is any of them. Without a separate head, the model runs
        on a few rows at a time, so that its logits stay small.
        """
        if self.knows_targets and members is None:
            given = (batch.ids, batch.row, batch.column, batch.targets)
            values: torch.Tensor = self.language_model.model.logprobs_at(*given)
            return values.cpu()
        length = batch.ids.shape[1]
        cache = None if prefix is None else prefix.kept()
        device, vocabulary = self.language_model.device, self.language_model.vocabulary_size
        few = max(1, LOGITS_PER_PASS[device.type] // (vocabulary * length))
        rows = len(batch.ids) if self.head else few
        width = () if members is None else (2,)
        logprobs = torch.empty((len(batch.targets), *width), dtype=self.dtype)
        for first in range(0, len(batch.ids), rows):
            outputs = self._run(batch, cache, slice(first, first + rows))[0]
            here = torch.nonzero((batch.row >= first) & (batch.row < first + rows))[:, 0]
            wanted = (batch.row[here] - first) * length + batch.column[here]
            values = self._logprobs_at(outputs.flatten(0, 1), wanted, batch.targets[here], members)
            logprobs[here] = values.cpu()
        return logprobs

    @torch.inference_mode()
    def extend(self, prefix: KeyValues | None, row: Row, kept: int) -> tuple[KeyValues, np.ndarray]:
        """Run a row after `prefix`. Return `prefix` plus one branch, and log-probabilities.

        `kept` is the number of that branch, which begins at the end of `prefix`. The
        log-probabilities are those of the row's targets, in their order.
        """
        length = 0 if prefix is None else prefix.length
        batch = lay_out([row], length)
        cache = DynamicCache(None if prefix is None else prefix.states)
        output = self._run(batch, cache)
        values = self._logprobs_at(output[0][0], batch.column, batch.targets).cpu().numpy()
        longer = KeyValues(states_of(output.past_key_values), length + len(row.ids))
        nodes = row.paths[kept]
        if len(nodes) < len(row.ids):
            longer = longer.part([*range(length), *(length + node for node in nodes)])
        return longer, values

    @torch.inference_mode()
    def prepare(self, probes: Sequence[np.ndarray]) -> None:
        """Choose how to run the model. Check it on `probes`, arrays of at least 2 token ids.

        Raises LingprobError if padding changes earlier positions: then the model is not causal.
        """
        if self.prepared:
            return
        logits = [plain_logits(self.language_model, ids[None]) for ids in probes]
        if not self.knows_targets:
            self.head = self._separate_head(probes[0], logits[0])
        branches = [Branch(ids, 1) for ids in probes]
        # A longer row pads them all. A rotation depends on a row's length, so each is then alone.
        longer = Branch(np.append(probes[0], 0), 1)
        batches = [[one] for one in branches] if self.rotation else [[*branches, longer]]
        values = [one for some in batches for one in self._score_branches(some)][: len(probes)]
        alone = [_logprobs_of(ids, one[0]) for ids, one in zip(probes, logits, strict=True)]
        self.language_model.check_finite(torch.cat(alone).cpu().numpy())
        difference = _mean_difference(values, alone)
        if not difference <= self.tolerance:
            raise LingprobError(
                f"{self.language_model.directory}: in a padded batch a sentence differs by "
                f"{difference:.2g} nats per token from the same sentence alone, so this is not a "
                "causal model as loaded. Check its config.json, or import its scores instead."
            )
        self.prepared = True

    @torch.inference_mode()
    def try_trees(self, ids: np.ndarray) -> None:
        """Set `takes_trees`, in the first call, by a check on token ids."""
        if not self.tried_trees and not self.knows_targets:
            name, fault = self.language_model.directory, self._fault_of_trees(ids)
            self.takes_trees = not fault
            if fault:
                logger.info("%s: %s: sentences are run one by one (slower, as exact)", name, fault)
        self.tried_trees = True

    @torch.no_grad()
    def after_start(self, start_id: int, probes: Sequence[np.ndarray]) -> KeyValues | None:
        """Return the keys and values of `start_id`, or None if the model cannot continue from it.

        `probes` are sequences that begin with the start token.
        """
        if self.knows_targets:
            return None
        if start_id in self.after_starts:
            return self.after_starts[start_id]
        after_start = None if self.rotation else self._read_start(start_id)
        probes = [ids for ids in probes if len(ids) > 2]
        if after_start is not None and probes and not self._continues(after_start, probes):
            after_start = None
        if after_start is None:
            name = self.language_model.directory
            logger.info("%s: the start token is run with every sentence (slower, as exact)", name)
        if probes:  # without them, nothing shows that longer sequences may use it
            self.after_starts[start_id] = after_start
        return after_start

    def _continues(self, after_start: KeyValues, probes: Sequence[np.ndarray]) -> bool:
        """Return whether probes score the same after the stored start token as when run whole."""
        whole = [values[1:] for values in self._score_branches([Branch(ids, 1) for ids in probes])]
        rest = [Branch(ids[1:], 1, 1) for ids in probes]
        try:
            continued = self._score_branches(rest, after_start, merge=self.takes_trees)
        except UNSUPPORTED as error:
            if is_out_of_memory(error):
                raise
            return False
        return _mean_difference(continued, whole) <= self.tolerance

    def _score_branches(
        self, branches: Sequence[Branch], prefix: KeyValues | None = None, merge: bool = False
    ) -> list[torch.Tensor]:
        """Return the log-probabilities of each branch's wanted tokens, from one batch."""
        rows = pack(branches, sum(len(branch.ids) for branch in branches), merge)
        values = self.logprobs(lay_out(rows, 0 if prefix is None else prefix.length), prefix)
        order = order_of(rows)
        lengths = [len(branches[k].ids) - branches[k].score_from for k in order]
        found = dict(zip(order, values.split(lengths), strict=True))
        return [found[number] for number in range(len(branches))]

    def _fault_of_trees(self, ids: np.ndarray) -> str:
        """Return why branches cannot be merged into trees, or '' if they score as when alone."""
        model = self.language_model
        if self.rotation is not None:
            return "its rotary positions depend on the length of a pass"
        local = local_attention(model.model.config)
        if local is not None and local < model.context_window:
            return f"a sliding window of {local} tokens"
        ids = (np.resize(ids, PROBE_TOKENS) + np.arange(PROBE_TOKENS)) % model.vocabulary_size
        chain, rest = ids[:3], ids[3:]
        bent = np.array([*rest[:2], *chain])
        other = np.append(bent[::-1], rest[-1])
        branches = [Branch(rest, 1, 3), Branch(bent, 1, 3), Branch(other, 1, 2)]  # of one length
        whole = [np.concatenate([chain[: one.start], one.ids]) for one in branches]
        alone = self._score_branches(
            [Branch(ids, one.start + 1) for ids, one in zip(whole, branches, strict=True)]
        )
        try:
            (row,) = pack([Branch(np.append(chain, 0), 1), Branch(bent, 1)], len(ids))
            prefix, _ = self.extend(None, row, 0)
            found = self._score_branches(branches, prefix, merge=True)
        except UNSUPPORTED as error:
            said = str(error).split("\n")[0]
            return f"no tree masks ({said})"
        if _mean_difference(found, alone) <= self.tolerance:
            return ""
        return "its attention takes no tree mask (ALiBi, for instance)"

    def _separate_head(
        self, ids: np.ndarray, logits: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None] | None:
        """Return the output embedding's weight and bias in float32 (or float64).

        Return None if they do not give the `logits` of `ids`, which can be capped or scaled.
        """
        model = self.language_model.model
        head = model.get_output_embeddings()
        if isinstance(head, torch.nn.Linear) and not head.weight.is_meta:
            fed = torch.from_numpy(ids[None]).to(self.language_model.device)
            states = model.base_model(input_ids=fed, use_cache=False)[0]
            if states.shape[-1] == head.in_features:
                difference = (head(states.to(head.weight)) - logits).abs().mean()
                if difference <= torch.finfo(logits.dtype).eps * logits.abs().mean():
                    bias = None if head.bias is None else head.bias.to(self.dtype)
                    return head.weight.to(self.dtype), bias
        logger.info(
            "%s: the logits are not the product of the output embedding alone, so the whole "
            "model is run at every position (slower, as exact)", self.language_model.directory,
        )  # fmt: skip
        return None

    def _read_start(self, start_id: int) -> KeyValues | None:
        """Return the keys and values of the start token, or None if the model cannot keep them.

        A float32 model runs it in float64 if the device can. A first token's activations are huge,
        and their rounding errors reach all later tokens (SmolLM2-135M: 2.9e-5 nats per sentence).
        """
        device, dtype = self.language_model.device, self.language_model.dtype
        exactly = dtype == torch.float32 and has_float64(device)
        fed = torch.tensor([[start_id]]).to(device)
        try:
            with in_float64(self._body()) if exactly else nullcontext():
                output = self._body()(input_ids=fed, use_cache=True)
            cache = getattr(output, "past_key_values", None)
            if not isinstance(cache, DynamicCache):
                return None
            states = [(keys.to(dtype), values.to(dtype)) for keys, values in states_of(cache)]
        except UNSUPPORTED as error:  # kernels without float64, or states that are no keys
            if is_out_of_memory(error):
                raise
            logger.info("%s: %s", self.language_model.directory, str(error).split("\n")[0])
            return None
        logits = widened(self._logits(output[0][0]))
        logprobs = (logits - logits.logsumexp(dim=1))[0].cpu().numpy()
        return KeyValues(states, 1, logprobs)

    def _body(self) -> Any:
        """Return the model without its output embedding, or all of it without a separate head."""
        return self.language_model.model.base_model if self.head else self.language_model.model

    def _run(self, batch: Batch, cache: Any, rows: slice = slice(None)) -> Any:
        """Return the body's output for rows: hidden states, or logits without a separate head."""
        options: dict[str, Any] = {"use_cache": False}
        if cache is not None:
            options = {"use_cache": True, "past_key_values": cache}
        device, dtype = self.language_model.device, self.language_model.dtype
        if batch.mask is not None and batch.positions is not None:
            # Added to the attention: transformers' eager attention misreads a boolean mask.
            hidden = ~batch.mask[rows]
            added = torch.zeros(hidden.shape, dtype=dtype)
            added.masked_fill_(hidden, torch.finfo(dtype).min)
            options["attention_mask"] = added[:, None].to(device)
            options["position_ids"] = batch.positions[rows].to(device)
        forget_lengths(self.language_model.model, device)
        return self._body()(input_ids=batch.ids[rows].to(device), **options)

    def _logits(self, outputs: torch.Tensor, some: slice = slice(None)) -> torch.Tensor:
        """Return the logits (n, some) of the body's outputs (n, width) for part of the vocabulary.

        Without a separate head, the outputs are the logits of the whole vocabulary.
        """
        if self.head is None:
            return outputs.to(self.dtype)
        weight, bias = self.head
        return linear(outputs.to(weight), weight[some], None if bias is None else bias[some])

    def _logprobs_at(
        self,
        outputs: torch.Tensor,
        wanted: torch.Tensor,
        targets: torch.Tensor,
        members: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the log-probabilities of `targets` (n,) at `wanted` (n,) of outputs (n, width).

        `members` is an argument of `logprobs`. A position's log-sum-exp is computed once. Its error
        is below 1e-6 nats (torch's log_softmax: 8e-6).
        """
        places, row = torch.unique(wanted, return_inverse=True)
        outputs = outputs[places.to(outputs.device)]
        row, targets = row.to(outputs.device), targets.to(outputs.device)
        at_once = LOGITS_AT_ONCE[self.language_model.device.type][0]
        if len(places) == 0:
            return outputs.new_empty(0, dtype=self.dtype)
        logsumexp = torch.cat([self._logsumexp(some, members) for some in outputs.split(at_once)])
        logsumexp = logsumexp[row.to(logsumexp.device)]
        chosen = torch.cat(
            [
                self._logit(outputs, some_row, some)
                for some_row, some in zip(row.split(at_once), targets.split(at_once), strict=True)
            ]
        )
        logprobs = (chosen - logsumexp[:, 0]).to(self.dtype)
        if members is None:
            return logprobs
        of_members = (logsumexp[:, 1] - logsumexp[:, 0]).to(self.dtype)
        return torch.stack([logprobs, of_members], dim=1)

    def _logsumexp(self, outputs: torch.Tensor, members: torch.Tensor | None) -> torch.Tensor:
        """Return the log-sum-exp (n, 1) of each position's logits, in float64.

        With `members`, a second column has the log-sum-exp of their logits.
        """
        highest, total = [], []
        vocabulary, step = outputs.shape[1], outputs.shape[1]
        if self.head is not None:
            vocabulary = len(self.head[0])
            step = LOGITS_AT_ONCE[self.language_model.device.type][1]
        for first in range(0, vocabulary, step):
            logits = self._logits(outputs, slice(first, first + step))
            top = logits.amax(dim=1, keepdim=True)
            exponentials = logits.sub(top).exp_()
            sums = [exponentials.sum(dim=1)]
            if members is not None:
                inside = (members >= first) & (members < first + logits.shape[1])
                here = (members[inside] - first).to(outputs.device)
                sums.append(exponentials.index_select(1, here).sum(dim=1))
            highest.append(top)
            total.append(torch.stack(sums, dim=1))
        log_sums = widened(torch.stack(total, dim=1)).log_()
        return widened(torch.stack(highest, dim=1)).add(log_sums).logsumexp(dim=1)

    def _logit(
        self, outputs: torch.Tensor, row: torch.Tensor, targets: torch.Tensor
    ) -> torch.Tensor:
        """Return the logits (n,) of `targets` at the positions `row` of outputs, in float64."""
        if self.head is None:
            return widened(outputs[row, targets])
        weight, bias = self.head
        logits = (widened(outputs[row]) * widened(weight[targets])).sum(dim=1)
        return logits if bias is None else logits + widened(bias[targets])


@torch.no_grad()
def plain_logits(lm: LanguageModel, rows: np.ndarray | Sequence[Sequence[int]]) -> torch.Tensor:
    """Return the logits (rows, n, V) of token ids (rows, n) by a plain call of the model."""
    forget_lengths(lm.model, lm.device)
    ids = torch.as_tensor(rows, device=lm.device)
    logits: torch.Tensor = lm.model(input_ids=ids, use_cache=False).logits
    return logits


def _logprobs_of(ids: np.ndarray, logits: torch.Tensor) -> torch.Tensor:
    """Return ln p (n - 1,) of `ids[1:]` from the logits (n, V), in float64."""
    wide = widened(logits[:-1])
    targets = torch.from_numpy(ids[1:]).to(wide.device)
    return -cross_entropy(wide, targets, reduction="none")


def lay_out(rows: Sequence[Row], prefix: int) -> Batch:
    """Return the batch of rows, padded on the right, to run after `prefix` tokens."""
    length = max(len(row.ids) for row in rows)
    ids = np.zeros((len(rows), length), dtype=np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = row.ids
    owner = np.repeat(np.arange(len(rows)), [len(row.nodes) for row in rows])
    column = np.array([node for row in rows for node in row.nodes], dtype=np.int64)
    targets = np.array([target for row in rows for target in row.targets], dtype=np.int64)
    batch = Batch(*map(torch.from_numpy, (ids, owner, column, targets)))
    if all(row.is_chain() and row.start[0] == prefix for row in rows):
        return batch
    mask = np.zeros((len(rows), length, prefix + length), dtype=bool)
    positions = np.zeros((len(rows), length), dtype=np.int64)
    for number, row in enumerate(rows):
        n = len(row.ids)
        mask[number, :n, : prefix + n] = visible(row, prefix)
        positions[number, :n] = row.positions
    return replace(batch, mask=torch.from_numpy(mask), positions=torch.from_numpy(positions))


def order_of(rows: Sequence[Row]) -> list[int]:
    """Return the numbers of the branches of rows, in the order of a batch's targets."""
    return [number for row in rows for number in row.branches]


def _mean_difference(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> float:
    """Return the mean absolute difference of two lists of tensors with the same shapes."""
    return float((torch.cat(list(one)).cpu() - torch.cat(list(other)).cpu()).abs().mean())
