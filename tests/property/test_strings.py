"""Areas, bins and samples against their slow definitions, on whatever hypothesis thinks of."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.stats.resampling import resamples
from lingprob.stats.roc import area_under_roc, resampled_areas, roc_curve
from lingprob.stimuli.build import sample_pairs
from lingprob.stimuli.distances import equal_bins

scored = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=40)


def counted_area(scores, positive):
    """The share of positives and negatives in the right order, every two of them compared."""
    right = [
        1.0 if good > bad else 0.5 if good == bad else 0.0
        for good in scores[positive]
        for bad in scores[~positive]
    ]
    return np.mean(right) if right else np.nan


@settings(deadline=None, max_examples=30)
@given(scored)
def test_the_area_counts_every_two(rows):
    scores, positive = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows])
    np.testing.assert_allclose(
        area_under_roc(scores, positive, np.ones(len(scores))), counted_area(scores, positive)
    )
    if positive.any() and not positive.all():
        false, true = roc_curve(scores, positive, np.ones(len(scores)))
        np.testing.assert_allclose(np.trapezoid(true, false), counted_area(scores, positive))


@settings(deadline=None, max_examples=30)
@given(scored, st.integers(1, 4), st.integers(0, 5))
def test_resampled_areas_are_those_of_repeated_rows(rows, per_unit, seed):
    scores, positive = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows])
    unit = np.arange(len(rows)) // per_unit
    drawn = []
    for counts in (row for part in resamples(int(unit.max()) + 1, 9, seed) for row in part):
        repeated = np.repeat(np.arange(len(rows)), counts[unit])
        drawn.append(counted_area(scores[repeated], positive[repeated]))
    columns = np.column_stack([scores, -scores])
    found = resampled_areas(
        columns, positive, unit, draws=9, seed=seed, weight=np.ones(len(columns))
    )
    np.testing.assert_allclose(found, [drawn, 1 - np.array(drawn)])


@given(st.lists(st.floats(0, 2), max_size=60), st.integers(1, 12))
def test_bins_are_equal_and_in_order(values, bins):
    series = pd.Series(values, dtype=float)
    found = equal_bins(series, bins)
    sizes = found.value_counts().reindex(range(1, bins + 1), fill_value=0)
    assert sizes.max() - sizes.min() <= 1
    highest = series.groupby(found).max()
    lowest = series.groupby(found).min()
    assert (highest.iloc[:-1].to_numpy() <= lowest.iloc[1:].to_numpy()).all()


@settings(deadline=None)
@given(st.lists(st.integers(1, 15), min_size=1, max_size=6), st.data())
def test_a_sample_is_whole_pairs_in_proportion(sizes, data):
    rows = [
        {
            "item_id": f"{p}.{n}.{s}", "pair_id": f"{p}.{n}", "paradigm": f"p{p}",
            "text": f"{p}{n}{s}",
        }
        for p, size in enumerate(sizes)
        for n in range(size)
        for s in "gb"
    ]  # fmt: skip
    pairs = data.draw(st.integers(1, sum(sizes)))
    sample = sample_pairs(pd.DataFrame(rows), pairs, seed=data.draw(st.integers(0, 9)))
    assert sample["pair_id"].nunique() == pairs
    assert sample.groupby("pair_id").size().eq(2).all()
    drawn = sample.groupby("paradigm")["pair_id"].nunique()
    for number, size in enumerate(sizes):
        share = pairs * size / sum(sizes)
        assert np.floor(share) <= drawn.get(f"p{number}", 0) <= np.ceil(share)
