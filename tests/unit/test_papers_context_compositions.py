"""Contrasts of composed prefixes against values by hand and a slow second way, and their figure."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout import layout_faults
from lingprob.context.conditions import CONTROLS, DISTANCE, DOSE, DOSES, PLACE, SIDES, level_of
from lingprob.figures.palette import describe_models
from lingprob.papers.context.composition_figures import composition
from lingprob.papers.context.compositions import composition_tables, contrasts, kept, of_pairs
from lingprob.papers.contract import Run
from lingprob.regression.ratios import fieller
from lingprob.schemas import SCHEMAS
from lingprob.tables import as_table

LENGTHS, VARIED = (20, 40, 80), 40
SUITES, PAIRS = 8, 6
# Accuracies of pairs by condition; every one is right without a prefix.
DOSED = {0.0: 1.0, 0.25: 5 / 6, 0.5: 1 / 3, 0.75: 1 / 6, 1.0: 0.0}
TRUTH = {
    **{(DOSE, level_of(dose), VARIED): share for dose, share in DOSED.items()},
    (PLACE, "early", VARIED): 2 / 3,
    (PLACE, "late", VARIED): 1 / 3,
    ("nonce", "acceptable", VARIED): 1.0,
    ("nonce", "unacceptable", VARIED): 1 / 2,
    ("shuffled", "acceptable", VARIED): 2 / 3,
    ("shuffled", "unacceptable", VARIED): 2 / 3,
    ("overlap_matched", "acceptable", VARIED): 1.0,
    ("overlap_matched", "unacceptable", VARIED): 2 / 3,
    **{(DOSE, "0", length): 1.0 for length in (20, 80)},
    **{(DOSE, "1", length): share for length, share in ((20, 1 / 2), (80, 0.0))},
    **{(DISTANCE, "acceptable", length): 1.0 for length in LENGTHS},
    **{(DISTANCE, "unacceptable", 20): 0.0, (DISTANCE, "unacceptable", 40): 1 / 3},
    (DISTANCE, "unacceptable", 80): 1.0,
}


def judgments(truth=TRUTH, suites: int = SUITES) -> pd.DataFrame:
    """Judgments of which each suite's first pairs are right, so many that its share is true."""
    rows = [
        ("none", None, 0, f"s{suite}", pair, True)
        for suite in range(suites) for pair in range(PAIRS)
    ]  # fmt: skip
    rows += [
        (kind, level, length, f"s{suite}", pair, pair < round(PAIRS * share))
        for (kind, level, length), share in truth.items()
        for suite in range(suites)
        for pair in range(PAIRS)
    ]
    table = pd.DataFrame(
        rows, columns=["kind", "perturbation", "length", "suite", "pair", "correct"]
    )
    return table.assign(
        model="m", dataset="d", phenomenon="p", margin=1.0, source_suite=None, n_sentences=1,
        pair_id=table["suite"] + "/" + table["pair"].astype(str),
        prefix_id=table["kind"] + "/" + table["perturbation"].fillna(""),
        prefix_tokens=table["length"] - 2,
    )  # fmt: skip


def tables(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    similarity = pd.Series(0.25, index=table["prefix_id"].unique())
    return composition_tables(
        table, similarity, varied_tokens=VARIED, bootstrap=200, seed=1, scale="demo"
    )


@pytest.fixture(scope="module")
def found() -> tuple[pd.DataFrame, pd.DataFrame]:
    return tables(judgments())


def test_accuracies_are_those_of_each_condition(found):
    table, _ = found
    assert list(table.columns) == SCHEMAS["context_composition"].names
    by = table.set_index(["kind", "level", "length"])
    assert set(by.index) == set(TRUTH)
    for cell, share in TRUTH.items():
        row = by.loc[cell]
        assert row["accuracy"] == pytest.approx(share)
        assert row["delta"] == pytest.approx(share - 1)
        assert (row["baseline"], row["similarity"]) == (1, 0.25)
        assert (row["n_pairs"], row["n_suites"], row["prefix_tokens"]) == (48, 8, cell[2] - 2)


def test_a_cut_beyond_the_varied_length_counts_for_what_goes_on_alone(found):
    """Where a model's tokens are more than those that prefixes were composed by."""
    late = judgments({**TRUTH, ("nonce", "acceptable", 80): 0.0, (PLACE, "late", 80): 0.0})
    for one, other in zip(tables(late), found, strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(
    ("contrast", "kind", "length", "value"),
    [
        # Sums over doses of (dose - .5) times accuracy, over the sum of squares, .625.
        ("slope", DOSE, 40, (-0.5 - 0.25 * 5 / 6 + 0.25 / 6) / 0.625),
        ("bend", DOSE, 40, 1 - 2 / 3),
        ("recency", PLACE, 40, -1 / 3),
        ("acceptability", DOSE, 20, 1 / 2),
        ("acceptability", DOSE, 40, 1),
        ("acceptability", DISTANCE, 20, 1),
        ("acceptability", DISTANCE, 40, 2 / 3),
        ("acceptability", DISTANCE, 80, 0),
        ("growth", DOSE, 80, 0),
        ("fading", DISTANCE, 80, 1),
        ("acceptability", "nonce", 40, 1 / 2),
        ("acceptability", "shuffled", 40, 0),
        ("loss", "overlap_matched", 40, 2 / 3),
        ("kept", "nonce", 40, 1 / 2),
        ("kept", "overlap_matched", 40, 1 / 3),
    ],
)
def test_contrasts_by_hand(found, contrast, kind, length, value):
    table = found[1]
    assert list(table.columns) == SCHEMAS["context_contrasts"].names
    keys = ["contrast", "kind", "length"]
    assert not table.duplicated(keys).any()
    row = table.set_index(keys).loc[(contrast, kind, length)]
    assert row["estimate"] == pytest.approx(value)
    assert (row["n_pairs"], row["n_suites"]) == (48, 8)


def test_a_bend_is_the_first_half_of_the_dose_less_the_second():
    weights = {name: cells for name, _, _, cells in contrasts([VARIED], VARIED)}
    bend = {level: weight for (_, level, _), weight in weights["bend"].items()}
    assert bend == {"0": 1, "0.5": -2, "1": 1}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((PLACE,), {("recency", PLACE)}),
        (("nonce",), {("acceptability", "nonce")}),
        ((DOSE, "nonce"), {("acceptability", DOSE), ("acceptability", "nonce"), ("growth", DOSE),
                           ("loss", "nonce"), ("kept", "nonce")}),
    ],
)  # fmt: skip
def test_a_contrast_needs_its_own_conditions_and_no_others(kinds, expected):
    cells = {
        cell: share
        for cell, share in TRUTH.items()
        if cell[0] in kinds and cell[2] == VARIED and (cell[0] != DOSE or cell[1] in "01")
    }
    contrasted = tables(judgments(cells))[1]
    assert set(zip(contrasted["contrast"], contrasted["kind"], strict=True)) == expected


def test_intervals_are_of_suites(found):
    """Suites all alike have no spread; pairs within them do not count as more."""
    alike = found[1].set_index(["contrast", "kind"]).loc[("recency", PLACE)]
    assert alike["estimate_low"] == pytest.approx(alike["estimate_high"])
    table = judgments()
    opposite = table["suite"].isin([f"s{n}" for n in range(4)]) & (table["kind"] == PLACE)
    table.loc[opposite, "correct"] = table.loc[opposite, "perturbation"] == "late"
    row = tables(table)[1].set_index(["contrast", "kind"]).loc[("recency", PLACE)]
    assert row["estimate"] == pytest.approx((1 - 1 / 3) / 2)
    # A mean of eight draws of 1 or -1/3.
    draws = np.random.default_rng(0).choice([1, -1 / 3], size=(4000, 8)).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    assert (row["estimate_low"], row["estimate_high"]) == pytest.approx((low, high), abs=0.2)
    assert row["estimate_low"] <= 0 < row["estimate_high"]


def test_what_is_kept_of_no_effect_is_anything():
    """Acceptability between -1 and 1 by suite: nobody knows what a control keeps of it."""
    table = judgments()
    half = table["suite"].isin([f"s{n}" for n in range(4)])
    dosed = half & (table["kind"] == DOSE) & (table["length"] == VARIED)
    table.loc[dosed, "correct"] = table.loc[dosed, "perturbation"] == "1"
    some = dosed & (table["suite"] == "s0") & (table["pair"] == 0)
    table.loc[some, "correct"] = True
    found = as_table(tables(table)[1], "context_contrasts", "found")  # as it will be written
    row = found.set_index(["contrast", "kind"]).loc[("kept", "nonce")]
    assert row[["estimate_low", "estimate_high"]].isna().all()
    assert np.isfinite(row["estimate"])


def test_the_interval_of_what_is_kept_is_that_of_suites_means():
    """Where suites are of one size, the covariance of the means is that of their means."""
    random = np.random.default_rng(4)
    values = random.normal(size=(SUITES, 2))[:, None] + random.normal(size=(SUITES, PAIRS, 2))
    index = pd.MultiIndex.from_product(
        [[f"s{n}" for n in range(SUITES)], range(PAIRS)], names=["suite", "pair_id"]
    )
    both = pd.DataFrame(values.reshape(-1, 2) + [1, 5], index=index)
    means = both.groupby("suite").mean().to_numpy()
    expected = fieller(means.mean(axis=0), np.cov(means.T) / SUITES, SUITES - 1)
    assert kept(both) == pytest.approx(expected)
    assert np.isfinite(expected).all()
    assert np.isnan(kept(both * [1, 0])).all()  # no share of nothing
    two = (both * 0.01 + [1, 5]).loc[["s0", "s1"]]
    means = two.groupby("suite").mean().to_numpy()
    expected = fieller(means.mean(axis=0), np.cov(means.T) / 2, 1)
    assert kept(two) == pytest.approx(expected)
    assert np.isfinite(expected).all()
    one = two.loc[["s0"]]
    expected = fieller(one.mean().to_numpy(), np.cov(one.T) / PAIRS, PAIRS - 1)
    assert kept(one) == pytest.approx(expected)
    first = one.iloc[0]
    assert kept(one[:1]) == pytest.approx((first[0] / first[1], np.nan, np.nan), nan_ok=True)


def test_a_suite_alone_is_resampled_by_pairs_and_conditions_that_are_not_there_are_left_out():
    few = {cell: share for cell, share in TRUTH.items() if cell[0] not in ("nonce", DISTANCE)}
    table, contrasted = tables(judgments(few, suites=1))
    assert set(table["n_suites"]) == {1}
    by = contrasted.set_index(["contrast", "kind"])
    assert not {"nonce", DISTANCE} & set(contrasted["kind"])
    row = by.loc[("recency", PLACE)]
    assert row["estimate_low"] < row["estimate"] < row["estimate_high"]
    half = table.set_index(["kind", "level", "length"]).loc[(DOSE, "0.5", VARIED)]
    assert half["accuracy_low"] < half["accuracy"] < half["accuracy_high"]


@given(st.lists(st.lists(st.booleans(), min_size=14, max_size=14), min_size=1, max_size=6))
@settings(deadline=None, max_examples=25)
def test_weighted_sums_are_those_of_a_loop_over_pairs(right):
    """Over the cells at the varied length, of which some may be missing for a pair."""
    cells = [cell for cell in TRUTH if cell[2] == VARIED][:14]
    index = pd.MultiIndex.from_tuples([("s", f"p{n}") for n in range(len(right))])
    wide = pd.DataFrame(np.array(right, float), index=index,
                        columns=pd.MultiIndex.from_tuples(cells))  # fmt: skip
    wide.iloc[0, 1] = np.nan
    for _, _, _, weights in contrasts([VARIED], VARIED):
        if not set(weights) <= set(cells):
            continue
        expected = []
        for n in range(len(right)):
            each = [weight * wide.loc[("s", f"p{n}"), cell] for cell, weight in weights.items()]
            if not np.isnan(each).any():
                expected.append(sum(each))
        assert of_pairs(wide, weights).tolist() == pytest.approx(expected)


def test_the_figure_has_the_table_s_points_and_nothing_is_cut(found):
    models = describe_models({"m": {"title": "Model", "family": "f", "family_title": "F",
                                    "parameters": 10}})  # fmt: skip
    run = Run("demo", models, options={"composed_tokens": VARIED})
    figure = composition({"composition": found[0]}, run)
    dose, length, distance, controls = figure.axes
    line = dose.lines[0]
    assert line.get_xdata().tolist() == list(DOSES)
    assert line.get_ydata() == pytest.approx([share - 1 for share in DOSED.values()])
    assert [one.get_xdata().tolist() for one in length.lines[:2]] == [[18, 38, 78]] * 2
    assert length.lines[1].get_ydata() == pytest.approx([-0.5, -1, -1])
    assert distance.lines[1].get_xdata().tolist() == [0, 20, 60]
    assert distance.lines[1].get_ydata() == pytest.approx([-1, -2 / 3, 0])
    drawn = [one.get_ydata()[0] for one in controls.lines if one.get_marker() == "o"]
    names = [DOSE, "overlap_matched", "nonce", "shuffled"]
    assert set(names) == {DOSE, *CONTROLS}
    expected = [
        TRUTH[kind, level, VARIED] - 1
        for kind in names
        for level in (("0", "1") if kind == DOSE else SIDES)
    ]
    assert drawn == pytest.approx(expected)
    assert "n = 48 in 8 suites" in dose.get_title()
    assert not layout_faults(figure)
    two = pd.concat([found[0], found[0].assign(model="n")], ignore_index=True)
    both = describe_models({name: {"title": name, "family": "f", "family_title": "F",
                                   "parameters": 10} for name in "mn"})  # fmt: skip
    assert len(composition({"composition": two}, replace(run, models=both)).axes) == 8
    plt.close("all")
