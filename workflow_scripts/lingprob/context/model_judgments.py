"""A model's judgments of the pairs of data sets, after their prefixes and without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.context.judgments import DESCRIBED, judge
from lingprob.context.prefixes import Tokenize, count_tokens
from lingprob.context.scores import formula_regions, score_alone, score_prefixes
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import iterate_table, read_table
from lingprob.models.loading import LanguageModel
from lingprob.stimuli.syntaxgym import Suite, suites_of

PREFIXES_AT_ONCE = 5000
READ = ["prefix_id", "kind", "pair_ids", "text", "char_ends"]


@dataclass(frozen=True)
class Task:
    """The pairs of a data set, the prefixes before them, and the lengths that these are cut at.

    Args:
        dataset: its name.
        entry: its catalog entry: parser and files.
        stimuli, prefixes: files of its `stimuli` and `context_prefixes` tables.
        lengths: of prefixes (tokens).
        alone: whether the pairs are judged without a prefix, too.
    """

    dataset: str
    entry: Mapping[str, Any]
    stimuli: str | Path
    prefixes: str | Path
    lengths: Sequence[int]
    alone: bool


@dataclass(frozen=True)
class Judge:
    """A model that judges pairs.

    Args:
        language_model: the model.
        name: of the model.
        tokenize: its tokenizer, by whose tokens prefixes are cut.
        separator: what stands between a prefix and a target.
        scoring: shard_directory, identity, tokens_per_batch and workers of `score_in_context`.
    """

    language_model: LanguageModel
    name: str
    tokenize: Tokenize
    separator: str = " "
    scoring: Mapping[str, Any] = field(default_factory=dict)

    def after_prefixes(self, tasks: Iterable[Task], start_token: str) -> Iterator[pd.DataFrame]:
        """Yield a `context_judgments` table in pieces, task by task.

        `start_token` precedes every prefix. Raises what `score_prefixes` raises.
        """
        for task in tasks:
            stimuli = read_table(task.stimuli, "stimuli")
            described = read_table(task.prefixes, "context_prefixes", ["prefix_id", *DESCRIBED])
            suites = suites_of(task.dataset, dict(task.entry))
            pieces = score_prefixes(
                self.language_model,
                stimuli,
                self._counted(task.prefixes),
                task.lengths,
                start_token=start_token,
                regions=formula_regions(suites),
                baselines=task.alone,
                dataset=task.dataset,
                separator=self.separator,
                **self.scoring,
            )
            for scores in pieces:
                yield judge(self.name, task.dataset, stimuli, described, scores, suites)

    def unprefixed(
        self, tasks: Iterable[Task], policies: Mapping[str, Mapping[str, str]]
    ) -> Iterator[pd.DataFrame]:
        """Yield a `context_unprefixed_judgments` table in pieces: a row per pair and BOS policy.

        Args:
            tasks: those that say `alone`, with the pairs that their prefixes precede.
            policies: by name, `start_token` (what precedes a sentence) and `first_token`: scored,
                or excluded from its log-probability. Tokens are scored once for each start token.

        Raises LingprobError if a region of a formula has no scored token under a policy.
        """
        for task in tasks:
            if task.alone:
                stimuli = read_table(task.stimuli, "stimuli")
                before = read_table(task.prefixes, "context_prefixes", ["pair_ids"])
                sampled = {pair for pairs in before["pair_ids"] for pair in pairs}
                judged = stimuli[stimuli["pair_id"].isin(sampled)]
                suites = suites_of(task.dataset, dict(task.entry))
                yield from self.judge_alone(task.dataset, judged, suites, policies)

    def judge_alone(
        self,
        dataset: str,
        stimuli: pd.DataFrame,
        suites: Sequence[Suite],
        policies: Mapping[str, Mapping[str, str]],
    ) -> Iterator[pd.DataFrame]:
        """Yield judgments of a data set's stimuli without a prefix, policy by policy."""
        nothing = SCHEMAS["context_prefixes"].empty_table().to_pandas()
        scores = {
            token: score_alone(
                self.language_model,
                stimuli,
                formula_regions(suites),
                start_token=token,
                dataset=dataset,
                **self.scoring,
            )
            for token in dict.fromkeys(policy["start_token"] for policy in policies.values())
        }
        for name, policy in policies.items():
            counted = scores[policy["start_token"]][policy["first_token"]]
            table = judge(self.name, dataset, stimuli, nothing, counted, suites)
            yield table.assign(bos_policy=name)[SCHEMAS["context_unprefixed_judgments"].names]

    def _counted(self, prefixes: str | Path) -> Iterator[pd.DataFrame]:
        """Yield a table of prefixes in pieces, with the tokens up to the end of each sentence."""
        pieces = iterate_table(prefixes, "context_prefixes", "prefix_id", PREFIXES_AT_ONCE, READ)
        for piece in pieces:
            yield piece.assign(n_tokens=count_tokens(piece, self.tokenize))
