"""Sum token log-probabilities into sentence scores, under each convention."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lingprob.errors import refuse_rows


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
            `first_token` of a sentence is `scored` or `excluded` (morcela, footnote 2).
        unigram_logprobs: by source, log-probability (nats) by token id. It can be empty.

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
        sums = sums.reindex(stimuli["item_id"]).assign(bos=bos, n_words=words)
        refuse_rows(
            sums["n_tokens"].isna().to_numpy(),
            "item {item_id!r}: no scored token under BOS policy {bos!r} (such items: {count}). "
            "Take a policy that scores the first token, or delete the item.",
            stimuli,
            bos=bos,
        )
        if not unigram_logprobs:
            tables.append(sums.assign(unigrams="imported", unigram_logprob=np.nan))
        for source, by_token in unigram_logprobs.items():
            values = by_token.reindex(tokens["token_id"]).to_numpy(dtype=float)
            refuse_rows(
                np.isnan(values),
                "unigram source {source!r} has no log-probability for token id {token_id}: it was "
                "made for another tokenizer. Check `tokenizer` and `unigrams` in its entry.",
                tokens,
                source=source,
            )
            summed = pd.Series(values).groupby(tokens["item_id"].to_numpy(), sort=False).sum()
            tables.append(sums.assign(unigrams=source, unigram_logprob=summed))
    return pd.concat(tables).reset_index()
