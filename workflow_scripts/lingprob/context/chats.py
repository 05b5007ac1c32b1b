"""Judgments in chats: context as turns, labelled examples, and the question which is better.

Beyond context, §5: beside log-probability after plain text, on the same pairs and prefixes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.context.conditions import ACCEPTABLE, DOSE, UNACCEPTABLE, level_of
from lingprob.context.names import NO_PREFIX
from lingprob.context.sentences import joined
from lingprob.context.suites import with_suites
from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel
from lingprob.schemas import SCHEMAS
from lingprob.scoring.chats import (
    ASSISTANT,
    USER,
    Continuation,
    Turns,
    chat_continuation,
    score_continuations,
    text_continuation,
)
from lingprob.scoring.engine import Scorer

# How a judgment is asked for: ln p of the sentences after plain text, or as the assistant's turn
# after others; the answer that a sentence is acceptable; the answer which of two is better.
METHODS = TEXT, TURNS, LABELS, CHOICE = "text", "turns", "labels", "choice"
# Contexts, and the dose of composed prefixes that each is; mixed ones have half of either.
MIXED = "mixed"
CONTEXTS = {ACCEPTABLE: level_of(0.0), MIXED: level_of(0.5), UNACCEPTABLE: level_of(1.0)}

WRITE = "Write a sentence."
LABEL = "Is this sentence acceptable English? Answer Yes or No.\n\n{sentence}"
CHOOSE = "Which of these two sentences is better English? Answer 1 or 2.\n\n1. {first}\n2. {second}"
YES, NO = "Yes", "No"
FIRST, SECOND = "1", "2"


class Example(NamedTuple):
    """A sentence of a context, and whether it is acceptable."""

    text: str
    acceptable: bool


# What is scored, and with which weights its ln p add up to what speaks for the acceptable sentence.
Asked = list[tuple[float, Continuation]]


def written(examples: Sequence[Example]) -> list[tuple[str, str]]:
    """Return a chat in which the assistant has written these sentences."""
    return [turn for example in examples for turn in ((USER, WRITE), (ASSISTANT, example.text))]


def labelled(examples: Sequence[Example]) -> list[tuple[str, str]]:
    """Return a chat in which the assistant has said of these sentences if they are acceptable."""
    return [
        turn
        for text, acceptable in examples
        for turn in ((USER, LABEL.format(sentence=text)), (ASSISTANT, YES if acceptable else NO))
    ]


def asked(
    language_model: LanguageModel,
    method: str,
    examples: Sequence[Example],
    good: str,
    bad: str,
    start_token: str,
) -> Asked:
    """Return what a method scores of one pair after a context.

    `text` and `turns`: the acceptable sentence less the unacceptable one. `labels`: the log odds of
    Yes, of the one less of the other. `choice`: the log odds of the acceptable one's number, the
    mean over both orders, so that a liking for one number falls out.
    """

    def chat(turns: Turns, target: str) -> Continuation:
        return chat_continuation(language_model, turns, target)

    sides = ((1.0, good), (-1.0, bad))
    if method == TEXT:
        before, _ = joined([example.text for example in examples])
        return [
            (sign, text_continuation(language_model, start_token, before, text))
            for sign, text in sides
        ]
    if method == TURNS:
        turns = [*written(examples), (USER, WRITE)]
        return [(sign, chat(turns, text)) for sign, text in sides]
    if method == LABELS:
        return [
            (sign * odds, chat([*labelled(examples), (USER, LABEL.format(sentence=text))], answer))
            for sign, text in sides
            for odds, answer in ((1.0, YES), (-1.0, NO))
        ]
    questions = (
        (0.5, CHOOSE.format(first=good, second=bad)),
        (-0.5, CHOOSE.format(first=bad, second=good)),
    )
    return [
        (half * odds, chat([*written(examples), (USER, question)], answer))
        for half, question in questions
        for odds, answer in ((1.0, FIRST), (-1.0, SECOND))
    ]


def judge_chats(
    language_model: LanguageModel,
    stimuli: pd.DataFrame,
    prefixes: pd.DataFrame,
    *,
    sentences: int,
    start_token: str,
    model: str,
    dataset: str,
    tokens_per_batch: int | None = None,
) -> Iterator[pd.DataFrame]:
    """Judge pairs by every method after every context; yield the rows of some pairs.

    Args:
        language_model: a model whose tokenizer has a chat template.
        stimuli: `stimuli` table.
        prefixes: composed ones; those of half and all dose and of none are the contexts.
        sentences: of a context, its first ones.
        start_token: what precedes plain text; templates have their own.
        model, dataset: their names.
        tokens_per_batch: token budget; the engine's own if None.

    Yields:
        Pieces of a `context_chat_judgments` table; `margin` is in nats.

    Raises LingprobError as `chat_continuation` does.
    """
    scorer = Scorer(language_model, tokens_per_batch)
    stimuli = with_suites(stimuli, dataset)
    of_item = stimuli.set_index("item_id")[["text", "grammatical"]]
    doses = prefixes[(prefixes["kind"] == DOSE) & prefixes["perturbation"].isin(CONTEXTS.values())]
    if doses.empty:
        raise LingprobError(
            f"data set {dataset!r}: no composed prefixes, which are the contexts of chats. Raise "
            "context.composed_suites."
        )
    doses = doses.assign(pairs=doses["pair_ids"].map(tuple))
    for pair_ids, group in doses.groupby("pairs", sort=False):
        levels = group.set_index("perturbation")["source_ids"]
        count = min(sentences, *map(len, levels))
        contexts = {
            name: [Example(*of_item.loc[one]) for one in levels[level][:count]]
            for name, level in CONTEXTS.items()
        }
        rows = stimuli[stimuli["pair_id"].isin(pair_ids)]
        yield _judged(scorer, rows, {NO_PREFIX: [], **contexts}, start_token).assign(
            model=model, dataset=dataset
        )[SCHEMAS["context_chat_judgments"].names]


def _judged(
    scorer: Scorer,
    members: pd.DataFrame,
    contexts: dict[str, list[Example]],
    start_token: str,
) -> pd.DataFrame:
    """Judge some pairs that share their contexts."""
    acceptable = members["grammatical"].astype(bool)
    good = members[acceptable].set_index("pair_id")
    bad = members[~acceptable].set_index("pair_id")["text"]
    rows: list[dict[str, Any]] = []
    for context, examples in contexts.items():
        for method in METHODS:
            lists = [
                asked(scorer.language_model, method, examples, text, bad[pair], start_token)
                for pair, text in good["text"].items()
            ]
            weights, continuations = zip(*(one for some in lists for one in some), strict=True)
            logprobs = score_continuations(scorer, continuations)
            # As many of each pair.
            margins = (np.array(weights) * logprobs).reshape(len(lists), -1).sum(axis=1)
            rows += [
                {
                    "suite": pair.paradigm,
                    "phenomenon": pair.phenomenon,
                    "pair_id": pair.Index,
                    "method": method,
                    "context": context,
                    "n_sentences": len(examples),
                    "correct": bool(margin > 0),
                    "margin": float(margin),
                }
                for pair, margin in zip(good.itertuples(), margins, strict=True)
            ]
    return pd.DataFrame(rows)
