"""Whole next-token distributions of a causal model, by plain forward passes without batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel
from lingprob.scoring.stimuli import scores_table

CAUSAL = 1e-3  # nats by which a later token may move the mean log-probability before it


def log_distributions(lm: LanguageModel, ids: Sequence[int]) -> torch.Tensor:
    """Return ln p of every next token after each of n ids, float32 of shape (n, vocabulary).

    Raises LingprobError if the ids do not fit the context window.
    """
    if len(ids) > lm.context_window:
        raise LingprobError(
            f"a text of {len(ids)} tokens does not fit the context window of {lm.context_window}. "
            "Shorten it, or use `score` or `surprisal`, which read long texts in windows."
        )
    with torch.no_grad():
        logits = lm.model(torch.tensor([list(ids)], device=lm.device)).logits[0]
    return logits.float().log_softmax(-1).cpu()


def start_ids(lm: LanguageModel, start_token: str) -> list[int]:
    """Return the id of a start token in a list, which is empty for 'none'."""
    start_id = lm.start_id(start_token)
    return [] if start_id is None else [start_id]


def score_alone(lm: LanguageModel, item: str, text: str, start_token: str) -> pd.DataFrame | None:
    """Return the `scores` table of one text by a plain pass, or None if it needs the engine.

    The engine has longer texts, texts without a token to score, models that give no logits, and
    models whose log-probabilities depend on a later token.
    """
    tokens = lm.tokenize([text])[0]
    ids = [*start_ids(lm, start_token), *tokens.ids.tolist()]
    if hasattr(lm.model, "logprobs_at") or not 1 < len(ids) < lm.context_window:
        return None
    if len(tokens.ids) == 0:
        return None
    own = torch.tensor(ids[1:])[:, None]
    found, longer = (
        log_distributions(lm, fed)[: len(own)].gather(1, own)[:, 0]
        for fed in (ids, [*ids, ids[-1]])
    )
    if not (found - longer).abs().mean() < CAUSAL:
        return None
    logprob = np.append(np.full(len(tokens.ids) - len(own), np.nan), found.numpy())
    return scores_table([item], [text], {text: tokens}, {text: logprob})


def describe_tokens(
    lm: LanguageModel, contexts: list[str], texts: list[str], start_token: str, separator: str
) -> pd.DataFrame:
    """Return one row per token of each text after its context, as `Model.tokens` describes it."""
    before = start_ids(lm, start_token)
    tables = []
    for number, (context, text) in enumerate(zip(contexts, texts, strict=True), start=1):
        whole = f"{context}{separator}{text}" if context else text
        tokens = lm.tokenize([whole])[0]
        ids, begin = tokens.ids.astype(np.int64), len(whole) - len(text)
        logprobs = log_distributions(lm, [*before, *ids])
        # Row k predicts token k + 1. Without a start token nothing predicts the first one.
        predicting = logprobs[: len(ids)] if before else logprobs[:-1]
        own = predicting.gather(1, torch.from_numpy(ids[len(ids) - len(predicting) :])[:, None])
        bits = {
            "logprob": own[:, 0],
            "surprisal": -own[:, 0] / np.log(2),
            "rank": (predicting > own).sum(1) + 1,
            "entropy": -(predicting.exp() * predicting).nansum(1) / np.log(2),
        }
        unknown = np.full(len(ids) - len(predicting), np.nan)
        spans = zip(tokens.char_start, tokens.char_end, strict=True)
        table = pd.DataFrame(
            {
                "sentence_id": number,
                "token_index": np.arange(len(ids)),
                "token": [whole[start:end] for start, end in spans],
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
    """Return the `top` likeliest tokens after a context, as `Model.next_tokens` describes them."""
    ids = [*start_ids(lm, start_token), *(lm.tokenize([context])[0].ids if context else [])]
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
