"""Unrelated sentences: those of a corpus (context, §3)."""

from __future__ import annotations

from typing import Any

from lingprob.context.sentences import unrelated_sentences
from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths


def control_sentences(control: str, entry: dict[str, Any]) -> list[str]:
    """Return the unrelated sentences of a corpus.

    Args:
        control: its name.
        entry: its catalog entry.

    Raises LingprobError if it has none.
    """
    documents = iter_documents(entry["parser"], dataset_paths(control, entry))
    found = unrelated_sentences(documents)
    if not found:
        raise LingprobError(
            f"{control!r} has no whole sentence to stand before the pairs. Name another corpus in "
            "context.control."
        )
    return found
