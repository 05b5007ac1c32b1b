"""Tabulate overlaps of passages with corpora, and choose chunks for training (Oh et al. 2025)."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.io.table_files import need_columns
from lingprob.io.tables import as_table
from lingprob.overlap.automaton import PassageIndex
from lingprob.overlap.chance import WordModel, joint_log10_prob, logprob_threshold
from lingprob.overlap.matches import Matches, overlap_texts, passage_overlaps

# The paper's limits of the joint log-probability (leakage, Figure 1), natural logarithms.
PUBLISHED_THRESHOLDS = {"the_pile": -28.87, "owt": -25.33}
PUBLISHED_COLUMNS = [
    "corpus", "article_num", "article_len", "overlap_len", "overlap_last_token", "overlap_freq",
    "5gram_logprob", "below_threshold",
]  # fmt: skip
# Catalog names of texts that have other names in the published tables.
CATALOG_NAMES = {"naturalstories": "natural_stories", "brown": "brown_spr"}


def overlap_table(
    index: PassageIndex,
    passages: pd.DataFrame,
    matches: Matches,
    decode: Callable[[list[int]], str],
    searched: str,
    scale: str,
) -> pd.DataFrame:
    """Return the `overlap` table of one searched corpus: each passage's longest overlaps.

    `index` and `passages` are from `index_texts`, `matches` are the passages' matches with the
    corpus `searched`. The columns of the chance level are null. `with_chance_level` fills them.
    """
    found = passage_overlaps(index, matches)
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
    """Raise LingprobError unless two `overlap` tables agree, except for their chance levels.

    `scanned` is the table of the file `where`, `overlaps` that of a compacted DAWG.
    """
    columns = [name for name in scanned.columns if "gram" not in name and "below" not in name]
    ours, theirs = (table[columns].reset_index(drop=True) for table in (overlaps, scanned))
    if ours.equals(theirs):
        return
    first = pd.concat([ours, theirs]).astype(object).drop_duplicates(keep=False).iloc[0]
    raise LingprobError(
        f"{where}: the overlaps of the compacted DAWG are not those of the scan, first in passage "
        f"{first['passage_id']!r} of {first['corpus']!r}. Delete results/cdawg and "
        "results/overlap, and run again."
    )


def with_chance_level(overlaps: pd.DataFrame, ngrams: WordModel, n_words: float) -> pd.DataFrame:
    """Return an `overlap` table with its joint log10-probabilities and flags (leakage, §2.1).

    `n_words` is the number of words of the searched corpus.
    """
    log10_prob = joint_log10_prob(ngrams, overlaps["overlap_text"].tolist())
    flagged = _flagged(overlaps.assign(**{"5gram_logprob": log10_prob}), logprob_threshold(n_words))
    return flagged.assign(below_threshold=flagged["below_threshold_corrected"])


def _flagged(table: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Return an `overlap` table with flags of overlaps that are improbable by chance.

    `below_threshold_corrected` compares a joint log-probability in nats with the limit in nats.
    `below_threshold_compat` compares log10 p with the same limit, as the published tables do.
    """
    log10_prob = table["5gram_logprob"].to_numpy(np.float64)
    return table.assign(
        below_threshold_compat=log10_prob < threshold,
        below_threshold_corrected=log10_prob * np.log(10.0) < threshold,
    )


def read_published(path: str | Path) -> pd.DataFrame:
    """Return PUBLISHED_COLUMNS of a published table of longest overlaps (leakage, footnote 4).

    Raises LingprobError if a column is missing.
    """
    table = pd.read_csv(path, sep="\t")
    need_columns(path, table, PUBLISHED_COLUMNS, "Fetch the file again.")
    return table[PUBLISHED_COLUMNS].astype({"below_threshold": bool})


def published_overlaps(path: str | Path, searched: str, scale: str) -> pd.DataFrame:
    """Read a published table of longest overlaps as an `overlap` table (leakage, Figure 1).

    `below_threshold` is the published flag. The other two come from the published probabilities.
    """
    table = _flagged(read_published(path), PUBLISHED_THRESHOLDS[searched])
    table["corpus"] = table["corpus"].replace(CATALOG_NAMES)
    table = table.assign(searched=searched, origin="published", scale=scale)
    return table.reindex(columns=SCHEMAS["overlap"].names)


def with_published(
    overlaps: pd.DataFrame, published: Mapping[str, str | Path], scale: str
) -> pd.DataFrame:
    """Return an `overlap` table followed by the published ones, given their files by corpus."""
    theirs = [
        as_table(published_overlaps(path, searched, scale), "overlap", str(path))
        for searched, path in published.items()
    ]
    return pd.concat([overlaps, *theirs], ignore_index=True)


def one_per_passage(overlaps: pd.DataFrame) -> pd.DataFrame:
    """Return the most frequent of each passage's longest overlaps with a corpus (Figure 1b)."""
    ranked = overlaps.sort_values("overlap_freq", ascending=False, kind="stable")
    return ranked.drop_duplicates(["searched", "corpus", "article_num"]).sort_index()


def covered_passages(passages: pd.DataFrame, coverage: float) -> pd.Series:
    """Return which passages an overlap covers as a whole (leakage, Figure 1a), (n,) bool.

    `coverage` is the least share of a passage's tokens. The paper (§2.2) reports that several
    passages of Provo were "observed in their entirety". In its tables one passage per corpus is
    complete. With 0.9, the default of `overlap.whole_coverage`, 15 count in the Pile, and 6 in
    OpenWebText.
    """
    return passages["overlap_len"] >= coverage * passages["article_len"].clip(lower=1)


def summarise_overlaps(overlaps: pd.DataFrame, coverage: float) -> pd.DataFrame:
    """Count the passages of each text (column `corpus`) by their overlap with each searched corpus.

    Columns: searched, origin, corpus, passages, tokens, whole (passages found complete), covered
    (passages that an overlap covers to the share `coverage`), median_overlap and longest_overlap
    (tokens), highest_frequency (of a longest overlap), flagged and flagged_corrected (passages
    with an improbable overlap, null if no chance level was computed), scale.
    """
    keys, flags = ["searched", "corpus"], ["below_threshold_compat", "below_threshold_corrected"]
    passages = one_per_passage(overlaps)
    passages = passages.assign(
        whole=covered_passages(passages, 1), covered=covered_passages(passages, coverage)
    )
    summary = passages.groupby(keys, sort=False).agg(
        origin=("origin", "first"),
        passages=("article_num", "size"),
        tokens=("article_len", "sum"),
        whole=("whole", "sum"),
        covered=("covered", "sum"),
        median_overlap=("overlap_len", "median"),
        longest_overlap=("overlap_len", "max"),
        highest_frequency=("overlap_freq", "max"),
    )
    known = overlaps.dropna(subset=flags).groupby([*keys, "article_num"])[flags].any()
    flagged = known.groupby(keys).sum().astype("Int64")
    flagged.columns = pd.Index(["flagged", "flagged_corrected"])
    table = summary.join(flagged).join(passages.groupby(keys)["scale"].first()).reset_index()
    return table[["searched", "origin", "corpus", *table.columns[3:]]]


def chunk_overlaps(
    index: PassageIndex,
    passages: pd.DataFrame,
    chunks: Mapping[tuple[str, str], Matches],
    decode: Callable[[list[int]], str],
    scale: str,
) -> pd.DataFrame:
    """Return each chunk's longest overlap with any passage, for `select_chunks`.

    `last_token` ends the overlap's first occurrence in the passages, and `frequency` is the highest
    of all occurrences. Without an overlap the passage is null. `chunks` has the matches of each
    chunk by searched corpus and file. The other arguments are those of `overlap_table`.
    """
    rows = []
    for (searched, name), matches in chunks.items():
        found = passage_overlaps(index, matches)
        longest = found[found["overlap_tokens"] == found["overlap_tokens"].max()]
        first = longest.head(1).assign(frequency=longest["frequency"].max())
        is_free = not first["overlap_tokens"].item()
        place = passages.loc[first["passage"].item(), ["corpus", "passage_id"]]
        rows.append(
            {
                "searched": searched,
                "chunk": f"{searched}/{name}",
                "n_tokens": matches.n_tokens,
                **first.drop(columns=["passage", "passage_tokens"]).iloc[0],
                "overlap_text": overlap_texts(index, first, decode)[0],
                **(dict.fromkeys(place.index) if is_free else place),
                "scale": scale,
            }
        )
    return pd.DataFrame(rows)


def select_chunks(
    chunks: pd.DataFrame, *, min_length: int, max_overlap: int, chunks_selected: int, seed: int
) -> pd.DataFrame:
    """Return the `overlap_chunks` table: which chunks are leakage-free, and which are selected.

    Args:
        chunks: from `chunk_overlaps`.
        min_length: shortest match (tokens) that the scan counted, at most max_overlap + 1.
        max_overlap: longest overlap (tokens) of a leakage-free chunk (§3.1).
        chunks_selected, seed: how many are selected. Seed and names determine which.

    Raises LingprobError if `min_length` is too large or there are too few leakage-free chunks.
    """
    if min_length > max_overlap + 1:
        raise LingprobError(
            f"the scan counted matches of {min_length} tokens or more, so overlaps of "
            f"{max_overlap + 1} would go unseen. Scan with min_length {max_overlap + 1} or less."
        )
    free = (chunks["overlap_tokens"] <= max_overlap).to_numpy()
    if free.sum() < chunks_selected:
        raise LingprobError(
            f"{int(free.sum())} of {len(chunks)} chunks overlap in at most {max_overlap} tokens, "
            f"but {chunks_selected} are to be selected. Lower overlap.chunks_selected, raise "
            "overlap.max_overlap, or make the chunks smaller."
        )
    names = np.sort(chunks["chunk"][free].to_numpy(dtype=str))
    selected = np.random.default_rng(seed).choice(names, size=chunks_selected, replace=False)
    table = chunks.assign(leakage_free=free, selected=chunks["chunk"].isin(selected).to_numpy())
    return table[SCHEMAS["overlap_chunks"].names]
