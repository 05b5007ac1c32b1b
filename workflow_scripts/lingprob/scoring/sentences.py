"""Sum token log-probabilities into sentence scores, under each convention."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows


def summarise_sentences(
    stimuli: pd.DataFrame,
    token_scores: Mapping[str, pd.DataFrame],
    bos_policies: Mapping[str, Mapping[str, str]],
    unigram_logprobs: Mapping[str, pd.Series],
) -> pd.DataFrame:
    """Return the `sentence_scores` table: one row per BOS policy, unigram source and sentence.

    `logprob` and `unigram_logprob` are sums (nats, float64) over the scored tokens of a sentence.
    Its lengths are its numbers of scored tokens and of words.

    Args:
        stimuli: `stimuli` table.
        token_scores: a `scores` table for each start token.
        bos_policies: by name, the `start_token` whose scores a policy uses, and whether the
            `first_token` of a sentence is `scored` or `excluded` (morcela, footnote 2). An
            excluded token counts in neither the sums nor the length.
        unigram_logprobs: by unigram source, log-probability (nats) indexed by token id. Empty for
            imported scores without unigrams.

    Raises LingprobError if a sentence has no scored token under a policy, is missing from the
    scores, or has a token without unigram log-probability.
    """
    words = stimuli.set_index("item_id")["text"].str.split().str.len()
    tables = []
    for bos, policy in bos_policies.items():
        tokens = token_scores[policy["start_token"]]
        counted = tokens["scored"].to_numpy(dtype=bool)
        if policy["first_token"] == "excluded":
            counted = counted & (tokens["token_index"] > 0).to_numpy()
        tokens = tokens[counted].astype({"logprob": "float64"})
        by_item = tokens.groupby("item_id", sort=False)["logprob"]
        sums = pd.DataFrame({"logprob": by_item.sum(), "n_tokens": by_item.size()})
        sums = sums.reindex(stimuli["item_id"])
        _refuse_unscored(sums["n_tokens"], bos)
        sums = sums.assign(bos=bos, n_words=words)
        if not unigram_logprobs:
            unknown = sums.assign(unigrams="imported", unigram_logprob=np.nan)
            tables.append(unknown.reset_index())
        for source, logprobs in unigram_logprobs.items():
            summed = unigram_sums(tokens, logprobs, source).reindex(sums.index)
            tables.append(sums.assign(unigrams=source, unigram_logprob=summed).reset_index())
    return pd.concat(tables, ignore_index=True)


def unigram_sums(tokens: pd.DataFrame, logprobs: pd.Series, source: str) -> pd.Series:
    """Return the sum of unigram log-probabilities (nats, float64) by item_id of `tokens`.

    `logprobs` are indexed by token id. `source` names them in messages.
    """
    values = logprobs.reindex(tokens["token_id"]).to_numpy(dtype=float)
    refuse_rows(
        np.isnan(values),
        "unigram source {source!r} has no log-probability for token id {token_id}: it was made for "
        "another tokenizer. Check `tokenizer` and `unigrams` in the model's entry.",
        tokens,
        source=source,
    )
    return pd.Series(values).groupby(tokens["item_id"].to_numpy(), sort=False).sum()


def _refuse_unscored(n_tokens: pd.Series, bos: str) -> None:
    """Raise LingprobError for the first item whose number of scored tokens is missing."""
    unscored = n_tokens.index[n_tokens.isna()]
    if len(unscored):
        scored = bos.removesuffix("_first_excluded") if bos.endswith("_first_excluded") else "bos"
        raise LingprobError(
            f"item {unscored[0]!r}: no scored token under BOS policy {bos!r} ({len(unscored)} such "
            f"items). Take a policy that scores the first token, such as {scored!r}, or delete the "
            "item."
        )
