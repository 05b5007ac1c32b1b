"""The unigrahams estimator: a model's unigram distribution from the text that it generates."""

from __future__ import annotations

import json
import logging
import time
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import DynamicCache

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path, require_identity
from lingprob.io.progress import Progress
from lingprob.models.devices import has_float64
from lingprob.models.loading import LanguageModel
from lingprob.scoring.key_values import make_room

logger = logging.getLogger(__name__)

CHECKPOINT_SECONDS = 60.0
BLOCK = 256  # tokens whose probabilities are summed up in float32


LENGTH = 34  # tokens a sample (morcela, Appendix B)
BATCH_SIZE = 128


@dataclass(frozen=True)
class Sampling:
    """What fixes the samples; a checkpoint is taken up only by a run with the same."""

    identity: str
    prompt_ids: tuple[int, ...]
    samples: int
    length: int
    batch_size: int
    seed: int
    shard: int
    n_shards: int
    top_k: int | None = None
    suppressed_id: int | None = None

    def batches(self) -> list[int]:
        """The numbers of this shard's batches."""
        n_batches = -(-self.samples // self.batch_size)
        return list(range(self.shard, n_batches, self.n_shards))

    def rows(self, batch: int) -> int:
        """The number of samples in a batch: the last one may be smaller."""
        return min(self.batch_size, self.samples - batch * self.batch_size)


@dataclass
class Sums:
    """Sums over samples, float64 of shape (V,), and how many batches and samples they hold."""

    sums: np.ndarray
    sums_of_squares: np.ndarray
    batches: int = 0
    samples: int = 0


def unigrahams_sums(
    lm: LanguageModel,
    prompt_ids: Sequence[int],
    *,
    samples: int,
    seed: int,
    length: int = LENGTH,
    batch_size: int = BATCH_SIZE,
    shard: int = 0,
    n_shards: int = 1,
    top_k: int | None = None,
    suppressed_id: int | None = None,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    identity: str = "",
) -> tuple[np.ndarray, np.ndarray, int]:
    """Sum up the next-token distributions along sampled responses (morcela, Algorithm 1).

    A sample's total for token w is the sum over i = 0..length-1 of P[w | x y_:i], where x is the
    prompt and y is sampled from the model's whole distribution; its expectation is the number of
    times that w occurs in a response of `length` tokens (Theorem 1). An end-of-text token is a
    token like any other. The last token of a response need not be sampled.

    Args:
        lm: the language model.
        prompt_ids: token ids of x; at least one.
        samples: responses over all shards together.
        length: tokens of a response.
        batch_size: responses generated side by side.
        seed: with a batch's number it seeds that batch, so neither shards nor an interruption
            change the samples.
        shard: take the batches whose number leaves this remainder modulo `n_shards`.
        n_shards: number of shards; their sums add up to those of one run.
        top_k: let a token be sampled from the so many most probable ones alone.
        suppressed_id: a token that is never sampled, such as the end of the text. With top_k 50
            this is how the authors' released code samples: what is summed up are whole
            distributions in either case, but of other texts, so that Theorem 1 does not hold.
        progress: advanced by the number of samples.
        checkpoint: file that keeps the sums of finished batches once a minute. A run that finds
            it goes on from there, if all of the above is the same; the end deletes it.
        identity: what tells these weights and this code from any other, for the checkpoint.

    Returns:
        The sum and the sum of squares of the samples' totals, float64 of shape (V,), and the
        number of samples behind them.

    Raises LingprobError if an option is out of range or the response outgrows the context window.
    """
    prompt = tuple(map(int, prompt_ids))
    sampling = Sampling(
        identity, prompt, samples, length, batch_size, seed, shard, n_shards, top_k, suppressed_id
    )
    require_identity(checkpoint, identity)
    _check(lm, sampling)
    done = _load(checkpoint, sampling, lm.vocabulary_size)
    if progress is not None and done.samples:
        progress.resume_at(done.samples)
    saved = time.monotonic()
    for batch in sampling.batches()[done.batches :]:
        rows = sampling.rows(batch)
        uniforms = np.random.default_rng([seed, batch]).random((length - 1, rows))
        totals = sample_totals(lm, prompt, uniforms, top_k, suppressed_id)
        done.sums += totals.sum(dim=0, dtype=torch.float64).cpu().numpy()
        done.sums_of_squares += totals.square_().sum(dim=0, dtype=torch.float64).cpu().numpy()
        done.batches += 1
        done.samples += rows
        if progress is not None:
            progress.advance(rows)
        if checkpoint is not None and time.monotonic() - saved >= CHECKPOINT_SECONDS:
            _save(checkpoint, sampling, done)
            saved = time.monotonic()
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return done.sums, done.sums_of_squares, done.samples


@torch.no_grad()
def sample_totals(
    lm: LanguageModel,
    prompt_ids: Sequence[int],
    uniforms: np.ndarray,
    top_k: int | None = None,
    suppressed_id: int | None = None,
) -> torch.Tensor:
    """Generate a batch of responses and add up each one's next-token distributions.

    Args:
        lm: the language model.
        prompt_ids: token ids of the prompt; at least one.
        uniforms: draws from [0, 1), shape (length - 1, rows), that choose the tokens.
        top_k, suppressed_id: what tokens may be chosen, as of `unigrahams_sums`.

    Returns:
        A float32 tensor of shape (rows, V) whose rows each sum to `length`.
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
    """Read `ids` (rows, n) after what is cached; return the softmax (rows, V) in float32.

    Normalised by a sum in float64 of short sums, as torch's own softmax is biased in float32; on
    the CPU where the model's device has no float64.
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
    """Return probabilities (rows, V), unnormalised, with 0 for what may not be sampled.

    The suppressed token goes first, as in the released code: top_k others are left.
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

    The block first, then the token in it: what is summed up in float64 is short. `right` keeps
    a block or token of probability zero from ever being drawn.
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
    # A share of the block's own sum, which float32 has rounded, taken of the exact one.
    quantile = _below(inside * ends[:, -1:], ends[:, -1:])
    return block * BLOCK + torch.searchsorted(ends, quantile, right=True)


def _below(quantile: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """Return quantiles less than their total, which a product may be rounded to."""
    return quantile.minimum(torch.nextafter(total, torch.zeros_like(total)))


def _check(lm: LanguageModel, sampling: Sampling) -> None:
    for name in ("samples", "length", "batch_size"):
        if getattr(sampling, name) < 1:
            raise LingprobError(f"unigrahams: {name} is {getattr(sampling, name)}: at least 1.")
    if sampling.top_k is not None and sampling.top_k < 1:
        raise LingprobError(f"unigrahams: top_k is {sampling.top_k}: at least 1, or None for all.")
    if not 0 <= sampling.shard < sampling.n_shards:
        raise LingprobError(
            f"shard {sampling.shard} of {sampling.n_shards}: shards are numbered from 0."
        )
    if not sampling.prompt_ids:
        raise LingprobError(
            f"{lm.directory}: text is generated from a prompt of at least one token. Name a "
            "special token of the tokenizer, such as 'bos', as the context."
        )
    fed = len(sampling.prompt_ids) + sampling.length - 1
    if fed > lm.context_window:
        raise LingprobError(
            f"unigrahams: length {sampling.length} with a prompt of {len(sampling.prompt_ids)} "
            f"tokens outgrows the context window of {lm.context_window} of {lm.directory}; "
            f"at most {lm.context_window - len(sampling.prompt_ids) + 1} is possible."
        )


def _load(checkpoint: Path | None, sampling: Sampling, vocabulary_size: int) -> Sums:
    """Take up a checkpoint of the same run, or start from nothing, saying so."""
    nothing = Sums(np.zeros(vocabulary_size), np.zeros(vocabulary_size))
    if checkpoint is None or not checkpoint.exists():
        return nothing
    try:
        with np.load(checkpoint) as kept:
            same = kept["sampling"].item() == _fingerprint(sampling)
            done = Sums(
                kept["sums"], kept["sums_of_squares"], int(kept["batches"]), int(kept["samples"])
            )
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        logger.warning("%s: not a checkpoint (%s); starting again", checkpoint, error)
        return nothing
    if not same or done.sums.shape != (vocabulary_size,):
        logger.warning("%s: the checkpoint of other settings; starting again", checkpoint)
        return nothing
    logger.info("%s: going on after %d samples", checkpoint, done.samples)
    return done


def _save(checkpoint: Path, sampling: Sampling, done: Sums) -> None:
    with atomic_path(checkpoint) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, allow_pickle=False, sampling=_fingerprint(sampling), **vars(done))


def _fingerprint(sampling: Sampling) -> str:
    return json.dumps(asdict(sampling))
