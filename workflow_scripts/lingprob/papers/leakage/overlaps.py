"""Study 1 and the choice of training data of the paper on leakage (Oh, Zhu & Schuler 2025)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import as_table
from lingprob.overlap.automaton import StimulusIndex
from lingprob.overlap.chance import (
    CONVENTIONS,
    PUBLISHED_THRESHOLDS,
    below_threshold,
    joint_log10_prob,
    logprob_threshold,
    read_published,
)
from lingprob.overlap.passages import (
    overlap_texts,
    passage_overlaps,
    select_chunks,
    summarise_chunks,
)
from lingprob.overlap.streaming import ScanResult

# The published tables' names of the corpora that have another one here.
CATALOG_NAMES = {"naturalstories": "natural_stories", "brown": "brown_spr"}


def overlap_table(
    index: StimulusIndex,
    passages: pd.DataFrame,
    matches: tuple[np.ndarray, np.ndarray],
    decode: Callable[[list[int]], str],
    searched: str,
    scale: str,
) -> pd.DataFrame:
    """Return the `overlap` table of one searched corpus: each passage's longest overlaps.

    The columns of the chance level are null: `with_chance_level` fills them.

    Args:
        index, passages: as `lingprob.overlap.texts.index_texts` gives them.
        matches: lengths and frequencies as `longest_matches` or a CDAWG's method of that name
            gives them.
        decode: token ids in, text out.
        searched: name of the corpus.
        scale: of the run.
    """
    found = passage_overlaps(index, *matches)
    named = passages.iloc[found["passage"]].reset_index(drop=True)
    table = named.assign(
        searched=searched,
        origin="ours",
        article_len=found["passage_tokens"],
        overlap_len=found["overlap_tokens"],
        overlap_last_token=found["last_token"],
        overlap_freq=found["frequency"],
        overlap_text=overlap_texts(index, found, decode),
        scale=scale,
    )
    return table.reindex(columns=SCHEMAS["overlap"].names)


def require_same_overlaps(overlaps: pd.DataFrame, scanned: pd.DataFrame, where: str | Path) -> None:
    """Raise LingprobError unless two `overlap` tables say the same, chance levels apart.

    Args:
        overlaps: by a compacted DAWG.
        scanned: by a scan of the same corpus.
        where: names the latter.
    """
    columns = [name for name in scanned.columns if "gram" not in name and "below" not in name]
    ours, theirs = (table[columns].reset_index(drop=True) for table in (overlaps, scanned))
    if ours.equals(theirs):
        return
    both = pd.concat([ours, theirs]).astype(object).drop_duplicates(keep=False)
    first = both["corpus"].iloc[0], both["passage_id"].iloc[0]
    raise LingprobError(
        f"{where}: the overlaps of the compacted DAWG are not those of the scan, first in passage "
        f"{first[1]!r} of {first[0]!r}. Delete both (results/cdawg and results/overlap) and run "
        "again; if they differ again, report it."
    )


def with_chance_level(overlaps: pd.DataFrame, ngrams: Any, n_words: float) -> pd.DataFrame:
    """Fill an `overlap` table's joint log10-probability and flags (leakage, §2.1 and footnote 3).

    `below_threshold` compares nats with nats; `below_threshold_compat` is what the convention of
    the published tables gives.

    Args:
        overlaps: as `overlap_table` gives it.
        ngrams: a model as `load_kenlm` loads it.
        n_words: white-space words of the searched corpus.
    """
    log10_prob = joint_log10_prob(ngrams, overlaps["overlap_text"].tolist())
    threshold = logprob_threshold(n_words)
    flags = {
        f"below_threshold_{convention}": below_threshold(log10_prob, threshold, convention)
        for convention in CONVENTIONS
    }
    columns = {"5gram_logprob": log10_prob, "below_threshold": flags["below_threshold_corrected"]}
    return overlaps.assign(**columns, **flags)


def published_overlaps(path: str | Path, searched: str, scale: str) -> pd.DataFrame:
    """Return a published table of longest overlaps as an `overlap` table (leakage, Figure 1).

    `below_threshold` is the published flag, `below_threshold_compat` ours from the same numbers,
    `below_threshold_corrected` the one with both sides in nats.
    """
    table = read_published(path)
    log10_prob, threshold = table["5gram_logprob"].to_numpy(), PUBLISHED_THRESHOLDS[searched]
    table["corpus"] = table["corpus"].replace(CATALOG_NAMES)
    for convention in ("compat", "corrected"):
        table[f"below_threshold_{convention}"] = below_threshold(log10_prob, threshold, convention)
    table = table.assign(searched=searched, origin="published", scale=scale)
    return table.reindex(columns=SCHEMAS["overlap"].names)


def with_published(
    overlaps: pd.DataFrame, published: Mapping[str, str | Path], scale: str
) -> pd.DataFrame:
    """Return an `overlap` table of our corpora, with the published tables of these files below."""
    theirs = [
        as_table(published_overlaps(path, searched, scale), "overlap", str(path))
        for searched, path in published.items()
    ]
    return pd.concat([overlaps, *theirs], ignore_index=True)


def one_per_passage(overlaps: pd.DataFrame) -> pd.DataFrame:
    """Keep of each passage's longest overlaps the most frequent one (leakage, Figure 1b)."""
    ranked = overlaps.sort_values("overlap_freq", ascending=False, kind="stable")
    return ranked.drop_duplicates(["searched", "corpus", "article_num"]).sort_index()


def summarise_overlaps(overlaps: pd.DataFrame) -> pd.DataFrame:
    """Return a row a searched and a reading-time corpus: how much of the latter is in the former.

    Columns searched, origin, corpus, passages, tokens, whole (passages found entirely),
    median_overlap and longest_overlap (tokens), highest_frequency (of a longest overlap), flagged
    and flagged_corrected (passages with an improbable one; null where none was computed), scale.
    """
    rows = []
    for (searched, corpus), group in overlaps.groupby(["searched", "corpus"], sort=False):
        passages = one_per_passage(group)
        flags = group[["article_num", "below_threshold_compat", "below_threshold_corrected"]]
        flagged = flags.dropna().groupby("article_num").any().sum()
        rows.append(
            {
                "searched": searched,
                "origin": passages["origin"].iloc[0],
                "corpus": corpus,
                "passages": len(passages),
                "tokens": passages["article_len"].sum(),
                "whole": (passages["overlap_len"] == passages["article_len"]).sum(),
                "median_overlap": passages["overlap_len"].median(),
                "longest_overlap": passages["overlap_len"].max(),
                "highest_frequency": passages["overlap_freq"].max(),
                "flagged": flagged.get("below_threshold_compat") if len(flags.dropna()) else None,
                "flagged_corrected": (
                    flagged.get("below_threshold_corrected") if len(flags.dropna()) else None
                ),
                "scale": passages["scale"].iloc[0],
            }
        )
    return pd.DataFrame(rows).astype({"flagged": "Int64", "flagged_corrected": "Int64"})


def passage_lengths(overlaps: pd.DataFrame) -> pd.DataFrame:
    """Return each passage's length in tokens beside the published one (leakage, Figure 1a).

    Columns corpus, article_num, tokens, published and difference, null where there is none.
    """
    keys = ["corpus", "article_num"]
    lengths = {
        origin: part.drop_duplicates(keys).set_index(keys)["article_len"].astype("Int64")
        for origin, part in overlaps.groupby("origin")
    }
    table = lengths["ours"].rename("tokens").to_frame()
    published = lengths.get("published", pd.Series(dtype="Int64"))
    table["published"] = published.reindex(table.index)
    return table.assign(difference=table["tokens"] - table["published"]).reset_index()


def leakage_free_chunks(
    index: StimulusIndex,
    passages: pd.DataFrame,
    results: Mapping[tuple[str, str], ScanResult],
    decode: Callable[[list[int]], str],
    scale: str,
    *,
    min_length: int,
    max_overlap: int,
    chunks_selected: int,
    seed: int,
) -> pd.DataFrame:
    """Return the `overlap_chunks` table: which chunks hold next to nothing of the passages (§3.1).

    Args:
        index, passages: as `lingprob.overlap.texts.index_texts` gives them.
        results: of each chunk, by searched corpus and file.
        decode: token ids in, text out.
        scale: of the run.
        min_length, max_overlap, chunks_selected, seed: as `select_chunks` has them.
    """
    named = {f"{searched}/{name}": result for (searched, name), result in results.items()}
    chunks = select_chunks(
        summarise_chunks(index, named, decode),
        min_length=min_length,
        max_overlap=max_overlap,
        chunks_selected=chunks_selected,
        seed=seed,
    )
    of_passage = passages.reindex(chunks["passage"]).reset_index(drop=True)
    table = chunks.assign(
        searched=[searched for searched, _ in results],
        corpus=of_passage["corpus"],
        passage_id=of_passage["passage_id"],
        scale=scale,
    )
    return table[SCHEMAS["overlap_chunks"].names]
