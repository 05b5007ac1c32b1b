"""Log-probabilities of texts as an assistant's turns, formatted by a model's chat template."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.models.folders import ONLY_DATA
from lingprob.models.loading import LanguageModel
from lingprob.scoring.engine import Scorer

logger = logging.getLogger(__name__)

MARK = "LINGPROB-TURN"  # marks the place of the scored turn in the conversation


def score_turns(scorer: Scorer, prompts: list[str], texts: list[str]) -> pd.DataFrame:
    """Return log-probabilities of texts as an assistant's answers to prompts, one row per token.

    Columns are item_id (number of the text, from 0), token_id and logprob (nats). Tokens of the
    template and of the prompt have no rows. For an empty prompt, the conversation has no user turn.

    Raises LingprobError if the model has no chat template, or one that refuses these turns, and for
    a text that contains a special token.
    """
    lm = scorer.language_model
    template = read_template(lm.directory)
    if "strftime_now" in template:
        logger.warning(
            "%s: its chat template can write today's date, so that log-probabilities change from "
            "day to day. Put a fixed date in chat_template.jinja for results.", lm.directory,
        )  # fmt: skip
    lm.tokenize(texts)  # only to check letters and ids
    special = [str(one) for one in lm.tokenizer.added_tokens_decoder.values() if one.special]
    for turn in (*prompts, *texts):
        if found := [token for token in special if token in turn]:
            raise LingprobError(
                f"{turn!r} contains {found[0]!r}, which would end its turn. Delete this token."
            )
    tables, sequences = [], []
    for item_id, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
        before, after = lay_out(lm, template, prompt, text)
        encoded = lm.tokenizer(
            before + text + after, add_special_tokens=False, return_offsets_mapping=True
        )
        spans, ids = np.array(encoded["offset_mapping"]), np.array(encoded["input_ids"])
        own = (spans[:, 1] > len(before)) & (spans[:, 0] < len(before) + len(text))
        tables.append(pd.DataFrame({"item_id": item_id, "token_id": ids, "own": own}))
        sequences.append(ids)
    table = pd.concat(tables, ignore_index=True)
    table["logprob"] = np.concatenate(scorer.score(sequences, None))
    return table[table.pop("own")]


def read_template(directory: Path) -> str:
    """Return the chat template in a model's folder. Raises LingprobError if there is none."""
    try:
        return str(AutoTokenizer.from_pretrained(directory, **ONLY_DATA).get_chat_template())
    except (OSError, ValueError) as error:
        raise LingprobError(
            f"{directory}: no chat template (chat_template.jinja, or `chat_template` in "
            "tokenizer_config.json). Score the text without chat=True, or choose a chat model."
        ) from error


def lay_out(lm: LanguageModel, template: str, prompt: str, text: str) -> tuple[str, str]:
    """Return a conversation before and after its last turn, which is the assistant's text.

    Raises LingprobError if the template refuses the turns, or omits or changes the last one.
    """
    user = [{"role": "user", "content": prompt}] if prompt else []
    turns = [[*user, {"role": "assistant", "content": answer}] for answer in (MARK, text)]
    try:
        marked, whole = lm.tokenizer.apply_chat_template(
            turns, chat_template=template, tokenize=False
        )
    except Exception as error:  # a template can raise any exception
        raise LingprobError(
            f"{lm.directory}: its chat template cannot lay out {'a' if prompt else 'no'} user's "
            f"turn before the assistant's ({error}). Give a context, or leave it out."
        ) from error
    before, mark, after = marked.partition(MARK)
    if not mark or before + text + after != whole:
        raise LingprobError(
            f"{lm.directory}: its chat template omits or changes the assistant's turn {text!r}. "
            "Delete spaces at its ends, or score it without chat=True."
        )
    return before, after
