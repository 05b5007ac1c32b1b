"""Tables of soft overlaps: of each passage of several texts, in one file of a corpus and in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.overlap.soft import build_soft_index, find_soft_overlaps, folded_words

PASSAGE = ["searched", "corpus", "passage_id"]


def soft_overlaps(
    texts: Mapping[str, pd.DataFrame],
    documents: Iterable[str],
    searched: str,
    *,
    min_words: int,
    gaps: int,
    scale: str,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return a `soft_overlap` table: each passage's longest soft overlap with some documents.

    Args:
        texts: a `words` table by text.
        documents: of the corpus, or of one of its files.
        searched: name of the corpus.
        min_words, gaps: as `build_soft_index` has them.
        scale: of the run.
        progress: advanced by the number of the corpus's words.

    A passage without an overlap has 0 words, 0 gaps and no place.
    """
    parts = [
        (text, passage_id, part)
        for text, words in texts.items()
        for passage_id, part in words.groupby("passage_id", sort=False)
    ]
    folded = [list(map(folded_words, part["word"])) for *_, part in parts]
    passages = [[word for words in of_passage for word in words] for of_passage in folded]
    index = build_soft_index(passages, min_words, gaps)
    found = find_soft_overlaps(index, documents, progress).set_index("passage")
    places = [
        np.repeat(part["word_index"].to_numpy(), list(map(len, of_passage)))
        for (*_, part), of_passage in zip(parts, folded, strict=True)
    ]
    table = pd.DataFrame([part[:2] for part in parts], columns=PASSAGE[1:])
    table = table.assign(searched=searched, passage_words=list(map(len, passages)), scale=scale)
    table[["overlap_words", "gaps"]] = found[["overlap_words", "gaps"]].reindex(table.index)
    table = table.fillna({"overlap_words": 0, "gaps": 0})
    for place in ("first", "last"):
        word = {number: places[number][at] for number, at in found[place].items()}
        table[f"{place}_word"] = pd.Series(word, dtype="Int64").reindex(table.index)
    table["overlap_text"] = found["overlap_text"].reindex(table.index).fillna("")
    counts = ["passage_words", "overlap_words", "gaps"]
    return table.astype(dict.fromkeys(counts, int))[SCHEMAS["soft_overlap"].names]


def longest_of_files(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return a `soft_overlap` table of whole corpora from those of their files, in their order.

    Of several longest overlaps of a passage the one with the fewest gaps stays, then the first.
    """
    table = pd.concat(tables, ignore_index=True)
    ranked = table.sort_values(["overlap_words", "gaps"], ascending=[False, True], kind="stable")
    longest = ranked.drop_duplicates(PASSAGE).set_index(PASSAGE)
    order = pd.MultiIndex.from_frame(table[PASSAGE].drop_duplicates())
    return longest.loc[order].reset_index()[SCHEMAS["soft_overlap"].names]


def summarise_soft_overlaps(overlaps: pd.DataFrame) -> pd.DataFrame:
    """Return a row a searched corpus and a text: how much of the text is in the corpus.

    Columns searched, corpus, passages, words (folded), overlapping (passages with an overlap),
    whole (passages all of whose words are one), median_overlap and longest_overlap (words), scale.
    """
    rows = [
        {
            "searched": searched,
            "corpus": text,
            "passages": len(part),
            "words": part["passage_words"].sum(),
            "overlapping": (part["overlap_words"] > 0).sum(),
            "whole": (part["overlap_words"] == part["passage_words"].clip(lower=1)).sum(),
            "median_overlap": part["overlap_words"].median(),
            "longest_overlap": part["overlap_words"].max(),
            "scale": part["scale"].iloc[0],
        }
        for (searched, text), part in overlaps.groupby(["searched", "corpus"], sort=False)
    ]
    return pd.DataFrame(rows)
