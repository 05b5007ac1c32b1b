"""Judgments of contexts for tests."""

import pandas as pd


def judgments(rows) -> pd.DataFrame:
    """A judgments table of (suite, pair, kind, length, correct)."""
    table = pd.DataFrame(rows, columns=["suite", "pair_id", "kind", "length", "correct"])
    return table.assign(
        model="m", dataset="d", phenomenon=table["suite"].str[0],
        prefix_id=table["kind"] + "/" + table["pair_id"], source_suite=None, perturbation=None,
        prefix_tokens=table["length"], n_sentences=1, margin=2.0 + (table["kind"] == "none"),
        correct=table["correct"].astype(bool),
    )  # fmt: skip


ALONE = [("a1", "p", "none", 0, 1), ("a1", "q", "none", 0, 0), ("b2", "r", "none", 0, 1)]
