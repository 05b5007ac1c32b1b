"""Pseudo-log-likelihoods: each token of a text given all others, by a masked language model.

What else is masked with a token is the *correction*: nothing (Salazar et al. 2020, Masked Language
Model Scoring), the tokens of its word that follow it (`within_word_l2r`) or all of its word
(`whole_word`), both of Kauf & Ivanova (2023, A Better Way to Do Masked Language Model Scoring).
Without one, a word of several tokens is nearly known from its own other tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from lingprob.errors import LingprobError
from lingprob.models.masked import MaskableText, MaskedLanguageModel
from lingprob.progress import Progress

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
    tokens_per_batch: int | None = None,
) -> pd.DataFrame:
    """Score every text and return a `scores` table (one token a row; logprob in nats).

    A token's logprob is that given all tokens which the correction leaves; every token counts. Each
    distinct text is scored once and by itself, so that a text's numbers depend on no other.
    Raises LingprobError for a text without a token or one that is longer than the model can see.
    """
    unique = list(dict.fromkeys(texts))
    tokenized = dict(zip(unique, lm.tokenize(unique), strict=True))
    _check_lengths(lm, item_ids, texts, tokenized, dataset)
    budget = tokens_per_batch or TOKENS_PER_BATCH[lm.device.type]
    logprobs = {}
    with Progress(len(unique), f"scoring {dataset}", "sentences") as progress:
        for text in unique:
            logprobs[text] = pseudo_logprobs(lm, tokenized[text], correction, budget)
            progress.advance(1)
    tokens = [tokenized[text].tokens for text in texts]
    lengths = [len(one.ids) for one in tokens]
    return pd.DataFrame(
        {
            "item_id": np.repeat(np.array(item_ids, dtype=object), lengths),
            "token_index": np.concatenate([np.arange(n, dtype=np.int32) for n in lengths]),
            "token_id": np.concatenate([one.ids for one in tokens]),
            "char_start": np.concatenate([one.char_start for one in tokens]),
            "char_end": np.concatenate([one.char_end for one in tokens]),
            "logprob": np.concatenate([logprobs[text] for text in texts]),
            "scored": True,
        }
    )


def hidden_tokens(words: np.ndarray, correction: str) -> np.ndarray:
    """Return which tokens are masked while each one is predicted: bool of shape (n, n), a row each.

    `words` has the number of each token's word, shape (n,); the diagonal is always masked.
    """
    own = np.eye(len(words), dtype=bool)
    if correction == "none":
        return own
    of_word = words[:, None] == words[None, :]
    return own | (np.triu(of_word) if correction == "within_word_l2r" else of_word)


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
        logits = lm.model(input_ids=inputs[places]).logits
        predicted = logits[torch.arange(len(places)), places + skipped].float().log_softmax(-1)
        wanted = inputs.new_tensor(ids[places.cpu().numpy()], dtype=torch.int64)
        found.append(predicted.gather(1, wanted[:, None])[:, 0])
    return torch.cat(found).cpu().numpy()


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
