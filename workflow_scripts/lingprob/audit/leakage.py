"""Whether a corpus has the sentences of pairs, whole or in part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.io.progress import Progress
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.passages import longest_matches, passage_overlaps
from lingprob.overlap.streaming import merge
from lingprob.overlap.texts import index_texts, scan_file

# A sentence within a text follows a blank, and its first token is another one then.
PLACES = {"first": "", "within": " "}


def find_sentences(
    texts: Mapping[str, pd.Series],
    corpus: str,
    entry: Mapping[str, Any],
    files: Iterable[Path | None],
    tokenizer: Tokenizer,
) -> pd.DataFrame:
    """Return the `audit_leakage` table: each sentence's longest overlap with a corpus.

    Args:
        texts: sentences of each data set by item id.
        corpus: its name.
        entry: its catalog entry: `parser`, and `separator` where it has one.
        files: of the corpus; None for one of the package.
        tokenizer: of texts and corpus.

    A sentence is looked for as the first of a document and after a blank; the longer overlap
    counts.
    """
    variants = {
        f"{dataset}/{place}": blank + sentences.astype(str)
        for dataset, sentences in texts.items()
        for place, blank in PLACES.items()
    }
    index, passages = index_texts(variants, tokenizer)
    with Progress(None, f"scanning {corpus}", "tokens") as progress:
        scans = [
            scan_file(
                index, tokenizer, entry, [file] if file else [], f"{corpus}/{number}", 1, progress
            )
            for number, file in enumerate(files)
        ]
    found = passage_overlaps(index, *longest_matches(index, merge(scans)))
    found = found.drop_duplicates("passage").join(passages, on="passage")
    found["share"] = found["overlap_tokens"] / found["passage_tokens"]
    found["dataset"] = found["corpus"].str.rsplit("/", n=1).str[0]
    best = found.sort_values("share", ascending=False, kind="stable")
    best = best.drop_duplicates(["dataset", "passage_id"]).sort_values("passage")
    return pd.DataFrame(
        {
            "dataset": best["dataset"],
            "item_id": best["passage_id"],
            "corpus": corpus,
            "overlap_tokens": best["overlap_tokens"],
            "n_tokens": best["passage_tokens"],
            "occurrences": best["frequency"],
        }
    ).reset_index(drop=True)
