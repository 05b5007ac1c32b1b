"""Accuracies in chats against values by hand and a slow second way, and their figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout import layout_faults
from lingprob.context.chats import CONTEXTS as ASKED_CONTEXTS
from lingprob.context.chats import METHODS as ASKED_METHODS
from lingprob.figures.palette import describe_models
from lingprob.papers.context.chat_figures import CONTEXTS, METHODS, chats
from lingprob.papers.context.chats import chat_table
from lingprob.papers.contract import Run
from lingprob.schemas import SCHEMAS

SUITES, PAIRS = 6, 4


def judgments(right) -> pd.DataFrame:
    """Judgments; `right` says which are, by method, context and the numbers of suite and pair."""
    rows = [
        (
            f"s{suite}",
            f"s{suite}/{pair}",
            method,
            context,
            bool(right(method, context, suite, pair)),
        )
        for suite in range(SUITES)
        for pair in range(PAIRS)
        for method in METHODS
        for context in CONTEXTS
    ]
    table = pd.DataFrame(rows, columns=["suite", "pair_id", "method", "context", "correct"])
    return table.assign(model="m", dataset="d", phenomenon="p", margin=1.0,
                        n_sentences=np.where(table["context"] == "none", 0, 8))  # fmt: skip


def chosen(method: str, context: str, suite: int, pair: int) -> bool:
    """Text: three of four, none after unacceptable ones. Choice: the other one, and first two."""
    if method == "choice":
        return pair == 3 if context == "none" else pair < 2
    if context == "unacceptable":
        return method == "turns" and suite == 0
    return pair < 3


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return chat_table(judgments(chosen), 500, 1, "demo")


def test_the_figure_and_the_judgments_have_the_same_methods_and_contexts():
    assert tuple(METHODS) == ASKED_METHODS
    assert ("none", *ASKED_CONTEXTS) == CONTEXTS


@pytest.mark.parametrize(
    ("method", "context", "accuracy", "delta", "above_text", "disagreement"),
    [
        ("text", "none", 3 / 4, 0, 0, 0),
        ("text", "unacceptable", 0, -3 / 4, 0, 0),
        ("turns", "unacceptable", 1 / 6, 1 / 6 - 3 / 4, 1 / 6, 1 / 6),
        ("choice", "none", 1 / 4, 0, -1 / 2, 1),
        ("choice", "mixed", 1 / 2, 1 / 4, -1 / 4, 1 / 4),
        ("choice", "unacceptable", 1 / 2, 1 / 4, 1 / 2, 1 / 2),
    ],
)
def test_columns_by_hand(table, method, context, accuracy, delta, above_text, disagreement):
    assert list(table.columns) == SCHEMAS["context_chats"].names
    assert len(table) == 16
    row = table.set_index(["method", "context"]).loc[(method, context)]
    found = row[["accuracy", "delta", "above_text", "disagreement"]].astype(float).tolist()
    assert found == pytest.approx([accuracy, delta, above_text, disagreement])
    assert (row["n_pairs"], row["n_suites"]) == (24, 6)
    assert row["n_sentences"] == (0 if context == "none" else 8)


def test_intervals_are_of_suites(table):
    """One suite of six differs: a draw has none of it with chance (5/6)^6, a third."""
    row = table.set_index(["method", "context"]).loc[("turns", "unacceptable")]
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((0, 1 / 2), abs=0.01)
    alike = table.set_index(["method", "context"]).loc[("choice", "none")]
    assert alike["above_text_low"] == pytest.approx(alike["above_text_high"])


@given(st.integers(0, 1000))
@settings(deadline=None, max_examples=10)
def test_columns_are_those_of_a_loop_over_pairs(seed):
    random = np.random.default_rng(seed)
    rows = judgments(lambda *_: random.random() < 0.6)
    by = {(row.method, row.context, row.pair_id): row.correct for row in rows.itertuples()}
    pairs = sorted(set(rows["pair_id"]))
    for row in chat_table(rows, 5, 1, "demo").itertuples():
        each = [
            (by[row.method, row.context, pair], by[row.method, "none", pair],
             by["text", row.context, pair])
            for pair in pairs
        ]  # fmt: skip
        assert row.accuracy == pytest.approx(sum(one for one, _, _ in each) / 24)
        assert row.delta == pytest.approx(sum(one - alone for one, alone, _ in each) / 24)
        assert row.above_text == pytest.approx(sum(one - text for one, _, text in each) / 24)
        assert row.disagreement == pytest.approx(sum(one != text for one, _, text in each) / 24)


def test_the_figure_has_the_table_s_points_and_nothing_is_cut(table):
    models = describe_models({"m": {"title": "Model", "family": "f", "family_title": "F",
                                    "parameters": 10}})  # fmt: skip
    figure = chats({"chats": table}, Run("demo", models))
    accuracy, disagreement = figure.axes
    by = table.set_index(["method", "context"])
    curves = {
        line.get_color(): line.get_ydata()
        for line in accuracy.lines
        if line.get_linestyle() == "-" and len(line.get_xdata()) == len(CONTEXTS)
    }
    for method, (_, colour, _) in METHODS.items():
        expected = [by.loc[(method, context), "accuracy"] for context in CONTEXTS]
        assert curves[colour] == pytest.approx(expected)
    drawn = [line for line in disagreement.lines if line.get_linestyle() == "-"]
    assert [line.get_ydata()[0] for line in drawn] == [0, 0, 1]
    assert "n = 24 in 6 suites" in accuracy.get_title()
    assert not layout_faults(figure)
    plt.close("all")
