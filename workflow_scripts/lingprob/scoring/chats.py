"""ln p of an assistant's words in a chat, as the tokenizer's own chat template lays it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel
from lingprob.scoring.engine import Scorer
from lingprob.scoring.trunk import score_along

USER, ASSISTANT = "user", "assistant"
# Who says what, in order.
Turns = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Continuation:
    """Token ids up to the end of a target, (n,) int, and the index of the target's first."""

    ids: np.ndarray
    first: int


def chat_continuation(language_model: LanguageModel, turns: Turns, target: str) -> Continuation:
    """Return a chat's tokens up to the end of the assistant's next words, the target.

    They are those that `apply_chat_template` makes of all turns with the target as the last one;
    the target's are those that any of its characters is in. What the template puts after it (the
    end of the turn) is left out. A template is rendered in a sandbox, as transformers does it.

    Raises LingprobError for a tokenizer without a template, a template that cannot have such
    turns or does not show the target as it is, and a chat beyond the context window.
    """
    tokenizer, where = language_model.tokenizer, language_model.directory
    if not tokenizer.chat_template:
        raise LingprobError(
            f"{where}: its tokenizer has no chat template. Leave the model out of "
            "context.chat_models, or put the template beside its tokenizer (chat_template.jinja)."
        )
    messages = [
        {"role": role, "content": content} for role, content in [*turns, (ASSISTANT, target)]
    ]
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False)
    except Exception as error:  # whatever a stranger's template raises
        raise LingprobError(
            f"{where}: its chat template refuses {len(messages)} turns of user and assistant "
            f"({error}). Leave the model out of context.chat_models, or mend the template."
        ) from error
    begin = text.rfind(target)
    if begin < 0 or not target:
        raise LingprobError(
            f"{where}: its chat template does not show what the assistant says ({target!r}). Leave "
            "the model out of context.chat_models, or mend the template."
        )
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    spans = np.asarray(encoded["offset_mapping"]).reshape(-1, 2)
    inside = np.flatnonzero((spans[:, 1] > begin) & (spans[:, 0] < begin + len(target)))
    ids = np.asarray(encoded["input_ids"], dtype=np.int64)[: inside[-1] + 1]
    if len(ids) > language_model.context_window:
        raise LingprobError(
            f"{where} reads {language_model.context_window} tokens at once, and a chat of "
            f"{len(messages)} turns that ends with {target!r} has {len(ids)}. Lower "
            "context.chat_sentences."
        )
    return Continuation(ids, int(inside[0]))


def text_continuation(
    language_model: LanguageModel, start_token: str, before: str, target: str
) -> Continuation:
    """Return the tokens of a target after plain text and a blank, as `score_in_context` has them.

    `start_token` is as in `LanguageModel.start_id`.
    """
    start_id = language_model.start_id(start_token)
    (tokens,) = language_model.tokenize([f"{before} {target}" if before else target])
    started = [] if start_id is None else [start_id]
    first = int(np.argmax(tokens.char_end > len(before))) if before else 0
    return Continuation(np.array([*started, *tokens.ids], dtype=np.int64), first + len(started))


def score_continuations(scorer: Scorer, continuations: Sequence[Continuation]) -> np.ndarray:
    """Return ln p (nats) of each target given all that precedes it, (n,) float64.

    What all have in common with the first one is run once. A first token that nothing precedes
    has no probability and does not count.
    """
    ids = [one.ids for one in continuations]
    firsts = [one.first for one in continuations]
    values = score_along(scorer, ids[0], ids, firsts, None)
    return np.array([np.nansum(value.astype(np.float64)) for value in values])
