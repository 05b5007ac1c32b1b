"""The unigrahams estimator: a model's unigram distribution from the text that it generates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.models.devices import has_float64
from lingprob.models.loading import LanguageModel
from lingprob.scoring.key_values import make_room

BLOCK = 256  # tokens whose probabilities are added in float32


@dataclass(frozen=True)
class Sampling:
    """The choice of samples.

    Attributes:
        samples: responses over all shards together.
        seed: it seeds each batch together with the batch's number, so that shards do not change
            the samples.
        length: tokens of a response (34 in morcela, Appendix B).
        batch_size: responses generated side by side.
        shard: the batches whose number leaves this remainder modulo `n_shards`.
        n_shards: number of shards. Their sums add up to those of one run.
        top_k: number of most probable tokens from which a token is sampled, None for all.
        suppressed_id: a token that is never sampled, such as the end of the text. With top_k 50
            this is the sampling of the authors' released code. Whole distributions are added in
            either case, but Theorem 1 does not apply to such texts.
    """

    samples: int
    seed: int
    length: int = 34
    batch_size: int = 128
    shard: int = 0
    n_shards: int = 1
    top_k: int | None = None
    suppressed_id: int | None = None


def unigrahams_sums(
    lm: LanguageModel,
    prompt_ids: Sequence[int],
    sampling: Sampling,
    progress: Progress | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Sum up the next-token distributions along sampled responses (morcela, Algorithm 1).

    A sample's total for token w is the sum over i = 0..length-1 of P[w | x y_:i]. Here x is the
    prompt, and y is sampled from the model's whole distribution. The total's expectation is the
    number of times that w occurs in a response of `length` tokens (Theorem 1). An end-of-text
    token is a token like any other. The last token of a response need not be sampled. Progress is
    advanced by the number of samples.

    Returns the sum and the sum of squares of the samples' totals, float64 of shape (V,), and the
    number of samples.

    Raises LingprobError if an option is out of range or the response outgrows the context window.
    """
    _check(lm, prompt_ids, sampling)
    sums, squares = (np.zeros(lm.vocabulary_size) for _ in range(2))
    size, done = sampling.batch_size, 0
    for batch in range(sampling.shard, -(-sampling.samples // size), sampling.n_shards):
        rows = min(size, sampling.samples - batch * size)
        draws = np.random.default_rng([sampling.seed, batch])
        uniforms = draws.random((sampling.length - 1, rows))
        totals = sample_totals(lm, prompt_ids, uniforms, sampling.top_k, sampling.suppressed_id)
        sums += totals.sum(dim=0, dtype=torch.float64).cpu().numpy()
        squares += totals.square_().sum(dim=0, dtype=torch.float64).cpu().numpy()
        done += rows
        if progress is not None:
            progress.advance(rows)
    return sums, squares, done


@torch.no_grad()
def sample_totals(
    lm: LanguageModel,
    prompt_ids: Sequence[int],
    uniforms: np.ndarray,
    top_k: int | None = None,
    suppressed_id: int | None = None,
) -> torch.Tensor:
    """Generate a batch of responses and add up each one's next-token distributions.

    `uniforms` are draws from [0, 1), shape (length - 1, rows), that choose the tokens. Returns
    float32 of shape (rows, V), whose rows each sum to `length`.
    """
    steps, rows = uniforms.shape
    cache = DynamicCache(config=lm.model.config)
    # The prompt is the same for all rows: one is read, and its cache repeated.
    probabilities = _next_token(lm, torch.tensor([list(prompt_ids)]), cache).repeat(rows, 1)
    cache.batch_repeat_interleave(rows)
    make_room(cache, len(prompt_ids) + steps)
    totals = probabilities.clone()
    for step in range(steps):
        eligible = _restricted(probabilities, top_k, suppressed_id)
        probabilities = _next_token(lm, _draw(eligible, uniforms[step]), cache)
        totals += probabilities
    return totals


def _next_token(lm: LanguageModel, ids: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
    """Read `ids` (rows, n) after the cached tokens and return the softmax (rows, V) in float32.

    torch's softmax is biased in float32, so short sums are added in float64. If the model's device
    has none, that is done on the CPU.
    """
    output = lm.model(
        input_ids=ids.to(lm.device), past_key_values=cache, use_cache=True, logits_to_keep=1
    )
    weights = output.logits[:, -1].float()
    weights = weights if has_float64(lm.device) else weights.cpu()
    weights = weights.sub_(weights.amax(dim=1, keepdim=True)).exp_()
    return weights.div_(_block_sums(weights).sum(dim=1, keepdim=True).float())


def _block_sums(values: torch.Tensor) -> torch.Tensor:
    """Return the sums (rows, blocks) of BLOCK values each of (rows, V), as float64."""
    whole = values.shape[1] // BLOCK
    sums = values[:, : whole * BLOCK].unflatten(1, (whole, BLOCK)).sum(dim=2)
    return torch.cat([sums, values[:, whole * BLOCK :].sum(dim=1, keepdim=True)], dim=1).double()


def _restricted(
    probabilities: torch.Tensor, top_k: int | None, suppressed_id: int | None
) -> torch.Tensor:
    """Return unnormalised probabilities (rows, V), 0 for tokens that may not be sampled.

    As in the released code, the suppressed token goes first, so that top_k others are left.
    """
    if suppressed_id is not None:
        probabilities = probabilities.clone()
        probabilities[:, suppressed_id] = 0
    if top_k is None or top_k >= probabilities.shape[1]:
        return probabilities
    values, ids = probabilities.topk(top_k, dim=1)
    return torch.zeros_like(probabilities).scatter_(1, ids, values)


def _draw(probabilities: torch.Tensor, uniforms: np.ndarray) -> torch.Tensor:
    """Return the token ids (rows, 1) at quantiles `uniforms` (rows,) of (rows, V).

    The block is drawn first, then the token in it, so that sums in float64 are short. `right`
    keeps a block or token of probability zero from being drawn.
    """
    sums = _block_sums(probabilities)
    share = torch.from_numpy(uniforms).to(sums.device)[:, None]
    ends = sums.cumsum(dim=1)
    quantile = _below(share * ends[:, -1:], ends[:, -1:])
    block = torch.searchsorted(ends, quantile, right=True)
    inside = (quantile - (ends - sums).gather(1, block)) / sums.gather(1, block)
    places = block * BLOCK + torch.arange(BLOCK, device=sums.device)
    beyond = places >= probabilities.shape[1]
    within = probabilities.gather(1, places.masked_fill(beyond, 0)).masked_fill_(beyond, 0)
    ends = within.cumsum(dim=1, dtype=torch.float64)
    # The share of the block's rounded sum, taken of its exact sum.
    quantile = _below(inside * ends[:, -1:], ends[:, -1:])
    return block * BLOCK + torch.searchsorted(ends, quantile, right=True)


def _below(quantile: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """Return quantiles below their total, to which a product may be rounded."""
    return quantile.minimum(torch.nextafter(total, torch.zeros_like(total)))


def _check(lm: LanguageModel, prompt_ids: Sequence[int], sampling: Sampling) -> None:
    for name in ("samples", "length", "batch_size", "top_k"):
        if (value := getattr(sampling, name)) is not None and value < 1:
            raise LingprobError(f"unigrahams: {name} is {value}, and it must be at least 1.")
    if not 0 <= sampling.shard < sampling.n_shards:
        raise LingprobError(
            f"shard {sampling.shard} of {sampling.n_shards}: shards are numbered from 0."
        )
    if not len(prompt_ids):
        raise LingprobError(
            f"{lm.directory}: text is generated from a prompt of at least one token. Name a "
            "special token of the tokenizer, such as 'bos', as the context."
        )
    most = lm.context_window - len(prompt_ids) + 1
    if sampling.length > most:
        raise LingprobError(
            f"unigrahams: length {sampling.length} with a prompt of {len(prompt_ids)} tokens "
            f"outgrows the context window of {lm.context_window} of {lm.directory}. At most {most} "
            "is possible."
        )
