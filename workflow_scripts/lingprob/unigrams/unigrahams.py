"""The unigrahams estimator of a model's unigram distribution, from text that it generates."""

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
    """The options of sampling.

    The seed and the number of a batch seed the batch, so that the number of shards does not change
    the samples. With top_k 50 and a suppressed token, sampling is that of the authors' released
    code. Whole distributions are added in either case, but Theorem 1 does not apply to such texts.
    """

    samples: int  # number of responses of all shards together
    seed: int
    length: int = 34  # tokens of a response (morcela, Appendix B)
    batch_size: int = 128  # responses that are generated together
    shard: int = 0  # this shard has the batches whose number modulo `n_shards` is `shard`
    n_shards: int = 1
    top_k: int | None = None  # number of most probable tokens that may be sampled, None for all
    suppressed_id: int | None = None  # a token that is never sampled, such as the end of the text


def unigrahams_sums(
    lm: LanguageModel,
    prompt_ids: Sequence[int],
    sampling: Sampling,
    progress: Progress | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the sums of next-token distributions along sampled responses (morcela, Algorithm 1).

    The total of a sample for token w is the sum over i = 0..length-1 of P[w | x y_:i]. Here x is
    the prompt, and y is sampled from the model's whole distribution. The expected total is the
    number of times that w occurs in a response of `length` tokens (Theorem 1). An end-of-text token
    is a token like any other. The last token of a response need not be sampled.

    Returns the sum and the sum of squares of the samples' totals, float64 (V,), and the number of
    samples of this shard. Progress counts samples. Raises LingprobError if the response does not
    fit into the context window.
    """
    most = lm.context_window - len(prompt_ids) + 1
    if sampling.length > most:
        raise LingprobError(
            f"unigrahams: responses of {sampling.length} tokens outgrow the context window of "
            f"{lm.directory}. At most {most} is possible."
        )
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
    """Return the sum of next-token distributions of each response of a batch, float32 (rows, V).

    `uniforms` are draws from [0, 1), shape (length - 1, rows), that choose the tokens. Each row of
    the result sums to `length`.
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
    """Return the next-token probabilities (rows, V), float32, after `ids` (rows, n) are read.

    They follow the tokens in the cache. The softmax of torch is biased in float32, so sums are
    added in float64, on the CPU if the model's device lacks it.
    """
    output = lm.model(
        input_ids=ids.to(lm.device), past_key_values=cache, use_cache=True, logits_to_keep=1
    )
    weights = output.logits[:, -1].float()
    weights = weights if has_float64(lm.device) else weights.cpu()
    weights = weights.sub_(weights.amax(dim=1, keepdim=True)).exp_()
    return weights.div_(_block_sums(weights).sum(dim=1, keepdim=True).float())


def _block_sums(values: torch.Tensor) -> torch.Tensor:
    """Return the sums of blocks of BLOCK values of (rows, V), float64 (rows, blocks)."""
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
    """Return the token ids (rows, 1) at quantiles `uniforms` (rows,) of distributions (rows, V).

    A block is drawn first, and then a token in it, so that sums in float64 are short. `right` keeps
    blocks and tokens of probability zero from being drawn.
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
    """Return quantiles that are below their total, because a product may be rounded up to it."""
    return quantile.minimum(torch.nextafter(total, torch.zeros_like(total)))
