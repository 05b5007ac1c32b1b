"""Contexts of Chinese pairs: drawn as English ones are, joined as Chinese (beyond the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.context import sentences
from lingprob.context.chinese_text import joined, unrelated_sentences
from lingprob.context.prefixes import Tokenize
from lingprob.context.sampling import control_ids, sample_contexts
from lingprob.corpora import iter_documents
from lingprob.errors import LingprobError
from lingprob.files import dataset_paths
from lingprob.tables import read_table


def control_sentences(control: str, entry: dict[str, Any], stimuli: str | Path) -> list[str]:
    """Return the unrelated sentences of a control: a corpus's, or a data set's acceptable ones.

    Args:
        control: its name.
        entry: its catalog entry.
        stimuli: the `stimuli` table of a data set of pairs; not read for a corpus.

    Raises LingprobError where there are none.
    """
    if entry["kind"] == "stimuli":
        table = read_table(stimuli, "stimuli", ["text", "grammatical"])
        found = table.loc[table["grammatical"] == True, "text"].unique().tolist()  # noqa: E712
    else:
        documents = iter_documents(entry["parser"], dataset_paths(control, entry))
        found = unrelated_sentences(documents)
    if not found:
        raise LingprobError(
            f"{control!r} has no whole Chinese sentence to stand before other ones. Name another "
            "corpus, or data set of pairs, in context.control_of."
        )
    return found


def sample_chinese_contexts(
    dataset: str,
    stimuli: pd.DataFrame,
    control: Sequence[str],
    tokenize: Tokenize,
    **drawn: Any,
) -> Iterator[pd.DataFrame]:
    """Draw all prefixes of a Chinese data set: yield a `context_prefixes` table in pieces.

    Arguments and errors as of `sampling.sample_contexts`, by which they are drawn: only their text,
    and what of it is tokenised to reckon lengths, is Chinese.
    """
    texts = [*stimuli["text"], *control]
    ids = [*stimuli["item_id"], *control_ids(len(control))]
    written = {f" {sentences.joined([text])[0]}": joined([text])[0] for text in texts}

    def tokenize_chinese(asked: Sequence[str]) -> list[Any]:
        return tokenize([written[one] for one in asked])

    text_of = dict(zip(ids, texts, strict=True))
    for prefixes in sample_contexts(dataset, stimuli, control, tokenize_chinese, **drawn):
        both = [joined([text_of[one] for one in made_of]) for made_of in prefixes["source_ids"]]
        yield prefixes.assign(text=[text for text, _ in both], char_ends=[ends for _, ends in both])
