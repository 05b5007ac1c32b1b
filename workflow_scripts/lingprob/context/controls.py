"""Unrelated sentences: those of a corpus, or of another data set of pairs (context, §3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lingprob.context.writing import Writing
from lingprob.corpora import iter_documents
from lingprob.errors import LingprobError
from lingprob.files import dataset_paths
from lingprob.tables import read_table


def control_sentences(
    control: str, entry: dict[str, Any], stimuli: str | Path, writing: Writing
) -> list[str]:
    """Return the unrelated sentences of a control: a corpus's, or a data set's acceptable ones.

    Args:
        control: its name.
        entry: its catalog entry.
        stimuli: the `stimuli` table of a data set of pairs; not read for a corpus.
        writing: that of the pairs' language.

    Raises LingprobError where there are none.
    """
    if entry["kind"] == "stimuli":
        table = read_table(stimuli, "stimuli", ["text", "grammatical"])
        found = table.loc[table["grammatical"] == True, "text"].unique().tolist()  # noqa: E712
    else:
        documents = iter_documents(entry["parser"], dataset_paths(control, entry))
        found = writing.unrelated_sentences(documents)
    if not found:
        raise LingprobError(
            f"{control!r} has no whole sentence in the language of the pairs to stand before "
            "them. Name another corpus in context.control, or another corpus or data set of pairs "
            "in context.control_of."
        )
    return found
