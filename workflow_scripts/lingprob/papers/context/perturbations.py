"""What perturbing prefixes changes at equal numbers of tokens and of sentences (beyond §5).

The paper lays perturbed and original prefixes over each other by tokens. A perturbed sentence is
longer, so fewer fit into as many tokens, and a lesser effect may be that of fewer sentences.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lingprob.context.names import ORIGINAL
from lingprob.context.responses import with_baseline
from lingprob.papers.context.analysis import clusters
from lingprob.regression.resampling import Array, mean_intervals
from lingprob.schemas import SCHEMAS

# Of a judgment: accuracy less that without a prefix, and its prefix's size.
VALUES = ["change", "n_sentences", "prefix_tokens"]


def perturbation_table(
    judgments: pd.DataFrame,
    perturbed: pd.DataFrame,
    similarity: pd.Series,
    *,
    bootstrap: int,
    seed: int,
    scale: str,
) -> pd.DataFrame:
    """Return a `prefix_perturbations` table: a row a perturbation, kind of prefixes and length.

    `delta` is the change in accuracy from no prefix; `above_tokens` and `above_sentences` are what
    it exceeds the original prefixes' by, after as many tokens and after as many sentences, pair by
    pair. Originals are cut at a few lengths alone: what they do between two cuts is taken from the
    line between both, no prefix being the first. Intervals (95%) are of suites resampled, of pairs
    where there is one suite.

    Args:
        judgments: `context_judgments` of some models and data sets after unperturbed prefixes and
            without any.
        perturbed: of the same, after perturbed prefixes.
        similarity: mean F1 by perturbation of the perturbed prefixes to the original.
        bootstrap: draws behind each interval.
        seed: of the draws.
        scale: of the run.
    """
    own = judgments[judgments["pair_id"].isin(perturbed["pair_id"])]
    both = with_baseline(pd.concat([own.assign(perturbation=ORIGINAL), perturbed]))
    both = both[both["kind"].isin(perturbed["kind"]) & both["length"].isin(perturbed["length"])]
    both = both.assign(change=both["correct"].astype(float) - both["baseline_correct"])
    rows = [
        {"model": model, "dataset": dataset, "kind": kind, **row}
        for (model, dataset, kind), group in both.groupby(["model", "dataset", "kind"], sort=False)
        for row in compared(group, bootstrap, seed)
    ]
    table = pd.DataFrame(rows).assign(scale=scale)
    table["similarity"] = table["perturbation"].map({**similarity, ORIGINAL: 1.0})
    return table[SCHEMAS["prefix_perturbations"].names]


def compared(judged: pd.DataFrame, bootstrap: int, seed: int) -> Iterator[dict[str, object]]:
    """Yield a row a perturbation and length of one model, data set and kind of prefixes.

    A prefix that ends before a length stands there at its longest; a pair of whose perturbed prefix
    no sentence fits a length is not behind it.
    """
    names = list(dict.fromkeys(judged["perturbation"]))
    wide = judged.pivot(index=["suite", "pair_id"], columns=["perturbation", "length"],
                        values=VALUES)  # fmt: skip
    wide = wide[wide["change"][ORIGINAL].notna().any(axis=1)]
    lengths, pairs = sorted(judged["length"].unique()), wide.index.to_frame()

    def grown(name: str) -> list[Array]:
        curves = (wide[value][name].reindex(columns=lengths) for value in VALUES)
        return [curve.astype(float).ffill(axis=1).to_numpy() for curve in curves]

    # Where not one sentence fits, there is no prefix, and nothing changes.
    original, of_sentences, _ = map(np.nan_to_num, grown(ORIGINAL))
    for name in names:
        change, sentences, tokens = grown(name)
        values = {
            "delta": change,
            "above_tokens": change - original,
            "above_sentences": change - at_sentences(of_sentences, original, sentences),
        }
        for place, length in enumerate(lengths):
            there = np.isfinite(change[:, place])
            if not there.any():
                continue
            columns = np.column_stack([curve[there, place] for curve in values.values()])
            units = clusters(pairs[there])
            intervals = mean_intervals(columns, units, draws=bootstrap, seed=seed)
            row: dict[str, object] = {
                "perturbation": name,
                "length": length,
                "prefix_tokens": tokens[there, place].mean(),
                "n_sentences": sentences[there, place].mean(),
                "n_pairs": int(there.sum()),
                "n_suites": pairs.loc[there, "suite"].nunique(),
            }
            for key, mean, ends in zip(values, columns.mean(axis=0), intervals, strict=True):
                if name != ORIGINAL or key == "delta":
                    row |= {key: mean, f"{key}_low": ends[0], f"{key}_high": ends[1]}
            yield row


def at_sentences(sentences: Array, change: Array, wanted: Array) -> Array:
    """Return changes after so many sentences, on the lines between what is known of each pair.

    Args:
        sentences: (n_pairs, n_lengths), how many each pair's prefix has at growing lengths.
        change: (n_pairs, n_lengths), the change in accuracy there; 0 without a prefix.
        wanted: (n_pairs, any), numbers of sentences; beyond the last known the last change holds.
    """
    found = np.zeros_like(wanted)
    before, known = np.zeros(len(sentences)), np.zeros(len(sentences))
    for after, next_change in zip(sentences.T, change.T, strict=True):
        # Two lengths that hold the same sentences are one prefix.
        step = np.where(after > before, after - before, 1.0)
        part = np.clip((wanted - before[:, None]) / step[:, None], 0.0, 1.0)
        found += part * (next_change - known)[:, None]
        before, known = after, next_change
    return found
