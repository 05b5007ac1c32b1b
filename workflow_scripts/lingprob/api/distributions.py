"""Whole next-token distributions of a causal model: a token's rank and entropy, the likeliest next.

One plain forward pass a text, without batches: scores of many sentences are `scoring`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel


def log_distributions(lm: LanguageModel, ids: Sequence[int]) -> torch.Tensor:
    """Return ln p of every next token after each of n ids, float32 of shape (n, vocabulary).

    Raises LingprobError if the ids do not fit the context window.
    """
    if len(ids) > lm.context_window:
        raise LingprobError(
            f"a text of {len(ids)} tokens does not fit the context window of {lm.context_window}. "
            "Shorten it, or take `score` or `surprisal`, which read long texts in windows."
        )
    with torch.no_grad():
        logits = lm.model(torch.tensor([list(ids)], device=lm.device)).logits[0]
    return logits.float().log_softmax(-1).cpu()


def describe_tokens(
    lm: LanguageModel, contexts: list[str], texts: list[str], start_token: str, separator: str
) -> pd.DataFrame:
    """Return a row a token of each text after its context; `Model.tokens` says what it holds."""
    start_id = lm.start_id(start_token)
    before = [] if start_id is None else [start_id]
    tables = []
    for number, (context, text) in enumerate(zip(contexts, texts, strict=True), start=1):
        whole = f"{context}{separator}{text}" if context else text
        tokens = lm.tokenize([whole])[0]
        ids, begin = tokens.ids.astype(np.int64), len(whole) - len(text)
        logprobs = log_distributions(lm, [*before, *ids])
        # Row k predicts token k + 1: nothing predicts a first token without a start token.
        predicting = logprobs[: len(ids)] if before else logprobs[:-1]
        own = predicting.gather(1, torch.from_numpy(ids[len(ids) - len(predicting) :])[:, None])
        bits = {
            "logprob": own[:, 0],
            "surprisal": -own[:, 0] / np.log(2),
            "rank": (predicting > own).sum(1) + 1,
            "entropy": -(predicting.exp() * predicting).nansum(1) / np.log(2),
        }
        unknown = np.full(len(ids) - len(predicting), np.nan)
        table = pd.DataFrame(
            {
                "sentence_id": number,
                "token_index": np.arange(len(ids)),
                "token": [
                    whole[start:end]
                    for start, end in zip(tokens.char_start, tokens.char_end, strict=True)
                ],
                "token_id": ids,
                "char_start": np.maximum(tokens.char_start - begin, 0),
                "char_end": np.maximum(tokens.char_end - begin, 0),
                **{name: np.append(unknown, value.numpy()) for name, value in bits.items()},
            }
        )
        first = int((tokens.char_end <= len(context)).sum()) if context else 0
        tables.append(table.iloc[first:].assign(token_index=np.arange(len(ids) - first)))
    return pd.concat(tables, ignore_index=True).astype({"rank": "Int64"})


def likeliest_tokens(lm: LanguageModel, context: str, start_token: str, top: int) -> pd.DataFrame:
    """Return the `top` likeliest tokens after a context; see `Model.next_tokens`."""
    start_id = lm.start_id(start_token)
    ids = lm.tokenize([context])[0].ids.tolist() if context else []
    ids = [*([] if start_id is None else [start_id]), *ids]
    if not ids or top < 1:
        raise LingprobError("next_tokens: give a context or a start token, and a top of 1 or more.")
    logprobs, chosen = log_distributions(lm, ids)[-1].topk(min(top, lm.vocabulary_size))
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(chosen) + 1),
            "token": [lm.tokenizer.decode([number]) for number in chosen.tolist()],
            "token_id": chosen.numpy(),
            "probability": logprobs.exp().numpy(),
            "logprob": logprobs.numpy(),
        }
    )
