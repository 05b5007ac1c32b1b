"""Judgments without a prefix under every BOS policy: what the start token alone does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from lingprob.context.judgments import judge
from lingprob.context.scores import formula_regions, score_alone
from lingprob.models.loading import LanguageModel
from lingprob.schemas import SCHEMAS
from lingprob.stimuli.suites import Suite


def judge_unprefixed(
    language_model: LanguageModel,
    stimuli: pd.DataFrame,
    sampled: Collection[str],
    policies: Mapping[str, Mapping[str, str]],
    suites: Sequence[Suite],
    *,
    model: str,
    dataset: str,
    **scoring: Any,
) -> pd.DataFrame:
    """Return a `context_unprefixed_judgments` table: a row a pair (or item) and BOS policy.

    Args:
        language_model: the model.
        stimuli: `stimuli` table.
        sampled: ids of the pairs (or items of suites) that are judged.
        policies: by name, `start_token` (what precedes a sentence) and `first_token`: scored, or
            excluded from its log-probability. Tokens are scored once for each start token.
        suites: those of the data set whose formulas judge its items; none for plain pairs.
        model, dataset: their names.
        scoring: shard_directory, identity, tokens_per_batch and workers of `score_in_context`.

    Raises LingprobError where a region of a formula has no scored token under a policy.
    """
    regions = formula_regions(suites)
    judged = stimuli[stimuli["pair_id"].isin(sampled)]
    none_at_all = SCHEMAS["context_prefixes"].empty_table().to_pandas()
    scores = {
        token: score_alone(
            language_model, judged, regions, start_token=token, dataset=dataset, **scoring
        )
        for token in dict.fromkeys(policy["start_token"] for policy in policies.values())
    }
    tables = []
    for name, policy in policies.items():
        counted = scores[policy["start_token"]][policy["first_token"]]
        judgments = judge(model, dataset, stimuli, none_at_all, counted, suites)
        tables.append(judgments.assign(bos_policy=name))
    return pd.concat(tables, ignore_index=True)[SCHEMAS["context_unprefixed_judgments"].names]
