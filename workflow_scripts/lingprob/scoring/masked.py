"""Pseudo-log-likelihoods: each token of a text given all others, by a masked language model.

What else is masked with a token is the *correction*: nothing (Salazar et al. 2020, Masked Language
Model Scoring), the tokens of its word that follow it (`within_word_l2r`) or all of its word
(`whole_word`), both of Kauf & Ivanova (2023, A Better Way to Do Masked Language Model Scoring).
Without one, a word of several tokens is nearly known from its own other tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from lingprob.errors import LingprobError
from lingprob.io.files import require_identity
from lingprob.io.progress import Progress
from lingprob.models.masked import MaskableText, MaskedLanguageModel
from lingprob.scoring.texts import score_in_shards, scores_table

CORRECTIONS = ("within_word_l2r", "whole_word", "none")
# Tokens that are run at once.
TOKENS_PER_BATCH = {"cpu": 512, "cuda": 16_384}


def score_masked(
    lm: MaskedLanguageModel,
    item_ids: Sequence[str],
    texts: Sequence[str],
    correction: str,
    *,
    dataset: str,
    shard_directory: str | Path | None = None,
    identity: str = "",
    sentences_per_shard: int = 2000,
    tokens_per_batch: int | None = None,
) -> pd.DataFrame:
    """Score every text and return a `scores` table (one token a row; logprob in nats).

    A token's logprob is that given all tokens which the correction leaves; every token counts. Each
    distinct text is scored once and by itself, so that a text's numbers depend on no other; shards
    are kept and found again as by `scoring.stimuli.score_stimuli`.
    Raises LingprobError for a text without a token or one that is longer than the model can see.
    """
    require_identity(shard_directory, identity)
    unique = list(dict.fromkeys(texts))
    tokenized = dict(zip(unique, lm.tokenize(unique), strict=True))
    _check_lengths(lm, item_ids, texts, tokenized, dataset)
    budget = tokens_per_batch or TOKENS_PER_BATCH[lm.device.type]

    def score(shard: list[str], progress: Progress) -> list[np.ndarray]:
        found = []
        for text in shard:
            found.append(pseudo_logprobs(lm, tokenized[text], correction, budget))
            progress.advance(1)
        return found

    tokens = {text: one.tokens for text, one in tokenized.items()}
    logprobs = score_in_shards(
        tokens,
        score,
        [identity, correction, str(lm.dtype)],
        dataset=dataset,
        sentences_per_shard=sentences_per_shard,
        shard_directory=shard_directory,
    )
    return scores_table(item_ids, texts, tokens, logprobs)


def hidden_tokens(words: np.ndarray, correction: str) -> np.ndarray:
    """Return which tokens are masked while each one is predicted: bool of shape (n, n), a row each.

    `words` has the number of each token's word, shape (n,); the diagonal is always masked.
    """
    if correction == "none":
        return np.eye(len(words), dtype=bool)
    of_word = words[:, None] == words[None, :]
    return np.triu(of_word) if correction == "within_word_l2r" else of_word


@torch.inference_mode()
def pseudo_logprobs(
    lm: MaskedLanguageModel, text: MaskableText, correction: str, tokens_per_batch: int
) -> np.ndarray:
    """Return each token's log-probability given the tokens that are not masked with it.

    Float32 of shape (n,), nats. The text is run once for each of its tokens, with the marks of the
    model around it, `tokens_per_batch` tokens at once.
    """
    ids = text.tokens.ids
    n, skipped = len(ids), len(lm.before)
    rows = np.tile(np.array([*lm.before, *ids, *lm.after], dtype=np.int64), (n, 1))
    rows[:, skipped : skipped + n][hidden_tokens(text.words, correction)] = lm.mask_id
    inputs = torch.from_numpy(rows).to(lm.device)
    at_once = max(1, tokens_per_batch // rows.shape[1])
    found = []
    for places in torch.arange(n, device=lm.device).split(at_once):
        logits = _logits_at(lm, inputs[places], places + skipped)
        predicted = logits.float().log_softmax(-1)
        wanted = inputs.new_tensor(ids[places.cpu().numpy()], dtype=torch.int64)
        found.append(predicted.gather(1, wanted[:, None])[:, 0])
    return torch.cat(found).cpu().numpy()


def _logits_at(lm: MaskedLanguageModel, inputs: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return the logits (rows, V) at one place a row of `inputs` (rows, n): of nothing else are
    they made where a layer of their own makes them from hidden states (rows, n, width)."""
    rows = torch.arange(len(places), device=places.device)

    def choose(_: torch.nn.Module, given: tuple[torch.Tensor]) -> torch.Tensor:
        return given[0][rows, places][:, None]

    head = lm.model.get_output_embeddings()
    with head.register_forward_pre_hook(choose) if head is not None else nullcontext():
        logits = lm.model(input_ids=inputs).logits
    return logits[:, 0] if logits.shape[1] == 1 else logits[rows, places]


def _check_lengths(
    lm: MaskedLanguageModel,
    item_ids: Sequence[str],
    texts: Sequence[str],
    tokenized: dict[str, MaskableText],
    dataset: str,
) -> None:
    longest = lm.context_window - len(lm.before) - len(lm.after)
    if not texts:
        raise LingprobError(f"dataset {dataset!r} has no sentences. Check its file.")
    for item_id, text in zip(item_ids, texts, strict=True):
        n_tokens = len(tokenized[text].tokens.ids)
        if n_tokens == 0:
            raise LingprobError(
                f"dataset {dataset!r}, item_id {item_id!r}: no token in it. Fill it in or drop it."
            )
        if n_tokens > longest:
            raise LingprobError(
                f"dataset {dataset!r}, item_id {item_id!r}: {n_tokens} tokens, and {lm.directory} "
                f"sees {longest} at once, from both sides. Shorten it, or take a causal model."
            )
