"""Perturbed prefixes at equal tokens and sentences: by hand, a slow second way, their figure."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout import layout_faults
from lingprob.context.names import MATCHED
from lingprob.context.perturbations import TITLES
from lingprob.figures.palette import describe_models
from lingprob.papers.context.perturbation_figures import COMPARED, perturbations
from lingprob.papers.context.perturbations import at_sentences, perturbation_table
from lingprob.papers.contract import Run
from lingprob.schemas import SCHEMAS

SUITES, PAIRS = 3, 4
LENGTHS = (20, 40, 80)
# Sentences at these lengths, and the share of a suite's pairs that are right, by perturbation.
ORIGINALS = ((1, 2, 4), (1 / 4, 1 / 2, 1))
PERTURBED = {"quote": ((1, 2, 3), (1 / 4, 1 / 4, 3 / 4)), "all": ((1, 1, 2), (0, 1 / 4, 1 / 2))}


def judgments(name: str | None, sizes, shares, kind: str = MATCHED[0]) -> pd.DataFrame:
    """Judgments of which each suite's first pairs are right; a size of None stands for no row."""
    rows = [
        (f"s{suite}", f"s{suite}/{pair}", length, size, pair < round(PAIRS * share))
        for length, size, share in zip(LENGTHS, sizes, shares, strict=True)
        for suite in range(SUITES)
        for pair in range(PAIRS)
        if size is not None
    ]
    table = pd.DataFrame(rows, columns=["suite", "pair_id", "length", "n_sentences", "correct"])
    return table.assign(kind=kind, perturbation=name, prefix_tokens=table["length"] - 2)


def without_prefix() -> pd.DataFrame:
    """Every pair is wrong without a prefix."""
    alone = judgments(None, (0, None, None), (0, 0, 0), "none")
    return alone.assign(length=0, prefix_tokens=0)


def with_names(*tables: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(tables, ignore_index=True).assign(
        model="m", dataset="d", phenomenon="p", margin=1.0, source_suite=None, prefix_id="x"
    )


def found(own, perturbed, alone: pd.DataFrame | None = None) -> pd.DataFrame:
    similarity = pd.Series({"quote": 0.8, "all": 0.5})
    alone = without_prefix() if alone is None else alone
    return perturbation_table(
        with_names(alone, *own), with_names(alone, *perturbed), similarity,
        bootstrap=200, seed=1, scale="demo",
    )  # fmt: skip


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    own = [judgments(None, *ORIGINALS, kind) for kind in (*MATCHED, "unrelated")]
    perturbed = [judgments(name, *how, kind) for name, how in PERTURBED.items() for kind in MATCHED]
    return found(own, perturbed)


def row_of(table: pd.DataFrame, name: str, length: int) -> pd.Series:
    return table.set_index(["kind", "perturbation", "length"]).loc[(MATCHED[0], name, length)]


def test_a_row_is_a_perturbation_and_length_of_the_perturbed_kinds(table):
    assert list(table.columns) == SCHEMAS["prefix_perturbations"].names
    keys = table[["kind", "perturbation", "length"]].apply(tuple, axis=1)
    names = ("original", *PERTURBED)
    assert sorted(keys) == sorted((k, n, x) for k in MATCHED for n in names for x in LENGTHS)
    for name, (sizes, shares) in {"original": ORIGINALS, **PERTURBED}.items():
        for length, size, share in zip(LENGTHS, sizes, shares, strict=True):
            row = row_of(table, name, length)
            assert row["delta"] == pytest.approx(share)
            assert (row["n_sentences"], row["prefix_tokens"]) == (size, length - 2)
            assert (row["n_pairs"], row["n_suites"]) == (12, 3)
    similar = table.drop_duplicates("perturbation").set_index("perturbation")["similarity"]
    assert similar.to_dict() == {"original": 1.0, "quote": 0.8, "all": 0.5}
    own = table[table["perturbation"] == "original"]
    assert own.filter(like="above").isna().all(axis=None)


@pytest.mark.parametrize(
    ("name", "length", "tokens", "sentences"),
    [
        ("quote", 20, 0, 0),
        ("quote", 40, -1 / 4, -1 / 4),
        # Three sentences lie between two, of which a half is right, and four.
        ("quote", 80, -1 / 4, 0),
        ("all", 20, -1 / 4, -1 / 4),
        ("all", 40, -1 / 4, 0),
        ("all", 80, -1 / 2, 0),
    ],
)
def test_a_perturbation_is_less_of_the_original_s_effect_by_tokens_than_by_sentences(
    table, name, length, tokens, sentences
):
    row = row_of(table, name, length)
    assert row["above_tokens"] == pytest.approx(tokens)
    assert row["above_sentences"] == pytest.approx(sentences)


def test_changes_are_from_no_prefix_and_at_the_lengths_of_perturbed_prefixes_alone():
    alone = without_prefix()
    alone["correct"] = ~alone["pair_id"].str.endswith("/3")  # three of four
    perturbed = judgments("quote", (1, 2, None), (1 / 4, 1, 0))
    table = found([judgments(None, *ORIGINALS)], [perturbed], alone)
    deltas = table.set_index(["perturbation", "length"])["delta"].to_dict()
    assert deltas == {("original", 20): -1 / 2, ("original", 40): -1 / 4,
                      ("quote", 20): -1 / 2, ("quote", 40): 1 / 4}  # fmt: skip


def test_no_prefix_is_the_first_point_of_the_original_s_line():
    """Its first cut holds two sentences and changes all: one is half the way there."""
    own = judgments(None, (None, 2, 2), (0, 1, 1))
    row = row_of(found([own], [judgments("quote", (None, 1, 2), (0, 0, 1))]), "quote", 40)
    assert (row["above_tokens"], row["above_sentences"]) == pytest.approx((-1, -1 / 2))
    # At a length that no original sentence fits, there is no prefix.
    row = row_of(found([own], [judgments("quote", (1, 1, 2), (1 / 2, 0, 1))]), "quote", 20)
    assert (row["above_tokens"], row["above_sentences"]) == pytest.approx((1 / 2, 0))


def test_a_prefix_that_ends_before_a_length_stands_there_and_pairs_without_one_are_left_out():
    own = judgments(None, *ORIGINALS)
    ended = judgments("quote", (1, 2, None), (1 / 4, 1 / 2, 0))
    row = row_of(found([own], [ended, judgments("all", *PERTURBED["all"])]), "quote", 80)
    assert (row["delta"], row["n_sentences"]) == pytest.approx((1 / 2, 2))
    assert (row["above_tokens"], row["above_sentences"]) == pytest.approx((-1 / 2, 0))
    late = judgments("quote", (1, 2, 3), (0, 1 / 2, 1))
    late = late[(late["length"] > 20) | (late["suite"] != "s0")]
    table = found([own], [late])
    assert (row_of(table, "quote", 20)[["n_pairs", "n_suites"]] == [8, 2]).all()
    assert (row_of(table, "quote", 40)[["n_pairs", "n_suites"]] == [12, 3]).all()
    # One whose own prefix has no sentence at the shortest length stays.
    fewer = own[(own["length"] > 20) | (own["suite"] != "s0")]
    assert row_of(found([fewer], [late]), "quote", 40)["n_pairs"] == 12
    # A pair that has perturbed prefixes alone has nothing to be compared with.
    table = found([own[own["suite"] != "s0"]], [late])
    assert (row_of(table, "quote", 80)[["n_pairs", "n_suites"]] == [8, 2]).all()


def test_intervals_are_of_suites_or_of_the_pairs_of_one(table):
    row = row_of(table, "quote", 80)
    assert row["above_tokens_low"] == pytest.approx(row["above_tokens_high"])  # all suites alike
    perturbed = judgments("quote", (1, 2, 4), (0, 0, 0))
    perturbed["correct"] = perturbed["suite"] == "s0"
    row = row_of(found([judgments(None, (1, 2, 4), (0, 0, 0))], [perturbed]), "quote", 80)
    # A draw of three suites has the first not at all or, once in 27, alone.
    assert row["above_sentences"] == pytest.approx(1 / 3)
    assert row["above_sentences_low"] == 0
    assert row["above_sentences_high"] >= 2 / 3
    alone = [one[one["suite"] == "s0"] for one in (judgments(None, *ORIGINALS), judgments(
        "quote", *PERTURBED["quote"]))]  # fmt: skip
    row = row_of(found([alone[0]], [alone[1]]), "quote", 80)
    assert row["above_tokens_low"] < row["above_tokens"] < row["above_tokens_high"] + 1e-9


@given(st.integers(1, 6).flatmap(lambda lengths: st.lists(
    st.tuples(
        st.lists(st.integers(0, 4), min_size=lengths, max_size=lengths),  # sentences added
        st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=lengths, max_size=lengths),
        st.lists(st.integers(0, 30), min_size=3, max_size=3),
    ), min_size=1, max_size=5)))  # fmt: skip
@settings(deadline=None, max_examples=80)
def test_lines_between_cuts_are_those_of_a_pair_at_a_time(pairs):
    sentences, change, wanted = [], [], []
    for added, values, asked in pairs:
        known = 0.0
        sentences.append(np.cumsum(added).astype(float))
        change.append([])
        for more, value in zip(added, values, strict=True):
            known = value if more else known  # the same sentences are the same prefix
            change[-1].append(known)
        wanted.append(asked)
    expected = [
        np.interp(asked, [0, *size], [0, *values])
        for asked, size, values in zip(wanted, sentences, change, strict=True)
    ]
    got = at_sentences(np.array(sentences), np.array(change), np.array(wanted, float))
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_the_figure_has_the_table_s_points_and_nothing_is_cut():
    every = [judgments(name, *PERTURBED["quote"], kind) for name in TITLES for kind in MATCHED]
    own = [judgments(None, *ORIGINALS, kind) for kind in MATCHED]
    alike = dict(zip(TITLES, np.linspace(0.9, 0.5, len(TITLES)), strict=True))
    table = found(own, every).assign(
        similarity=lambda t: t["perturbation"].map({**alike, "original": 1.0})
    )
    entry = {"title": "Model", "family": "f", "family_title": "F", "parameters": 10}
    run = Run("demo", describe_models({"m": entry}))
    figure = perturbations({"perturbations": table}, run)
    above, _, below, _ = figure.axes
    assert above.lines[0].get_xdata().tolist() == [0, 1, 2, 4]
    assert above.lines[0].get_ydata() == pytest.approx([0, 1 / 4, 1 / 2, 1])
    assert above.lines[1].get_xdata().tolist() == [0, 1, 2, 3]
    assert "n = 12 in 3 suites" in above.get_title()
    # The most alike on top.
    names = [text.get_text() for text in below.get_yticklabels()]
    assert names[-1] == "Prefix adverb (0.90)"
    assert names[0] == "All (0.50)"
    points = [line for line in below.lines if line.get_marker() == "o"]
    by_filling = {
        hollow: [p.get_xdata()[0] for p in points
                 if (p.get_markerfacecolor() == "white") == hollow]
        for hollow in (True, False)
    }  # fmt: skip
    assert by_filling[True] == pytest.approx([-1 / 4] * len(TITLES))
    assert by_filling[False] == pytest.approx([0] * len(TITLES))
    assert list(COMPARED) == ["above_tokens", "above_sentences"]
    assert not layout_faults(figure)
    two = pd.concat([table, table.assign(model="n")], ignore_index=True)
    both = describe_models({name: {**entry, "title": name} for name in "mn"})
    assert len(perturbations({"perturbations": two}, replace(run, models=both)).axes) == 8
    plt.close("all")
