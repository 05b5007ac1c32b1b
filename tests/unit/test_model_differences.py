"""Models compared on the same reading times: by hand, by all swaps, and without any effect."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from layout import layout_faults
from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.figures.labels import label_provenance
from lingprob.figures.palette import describe_models
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table, write_table
from lingprob.papers.leakage.reading_figures import model_differences as matrices
from lingprob.papers.leakage.trends import model_differences
from lingprob.papers.run import Run
from lingprob.stats.resampling import swap_p_values

TIMES = 120
DRAWS = {"draws": 400, "seed": 3}
FIRST, SECOND = np.array([0]), np.array([1])


def slow_p_value(one: list[float], other: list[float]) -> float:
    """Return the share of all swaps whose difference is as far from 0 as the one found."""
    pairs = list(zip(one, other, strict=True))
    found = abs(sum(a - b for a, b in pairs))
    reached = [
        abs(sum(sign * (a - b) for sign, (a, b) in zip(signs, pairs, strict=True))) >= found - 1e-9
        for signs in product([1, -1], repeat=len(pairs))
    ]
    return sum(reached) / len(reached)


def gains_of(values: dict[str, list[float]], dataset: str = "mine") -> pd.DataFrame:
    rows = [
        (dataset, "", model, of, f"s{item}", "0", value, 1)
        for model, of_model in values.items()
        for item, value in enumerate(of_model)
        for of in ("delta", "log_perplexity")
    ]
    return pd.DataFrame(rows, columns=SCHEMAS["reading_gains"].names)


def deltas_of(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that are read of a `delta_log_likelihood` table."""
    table = gains[["dataset", "model"]].drop_duplicates()
    return table.assign(rt_source="human", scale="test", n_evaluated=TIMES)


def compared(values: dict[str, list[float]], **options: Any) -> pd.DataFrame:
    gains = gains_of(values)
    return model_differences(gains, deltas_of(gains), **{**DRAWS, **options})


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=8))
def test_p_values_are_those_of_all_swaps(values):
    p = swap_p_values(np.array(values, dtype=float), FIRST, SECOND, seed=0)
    assert p[0] == pytest.approx(slow_p_value(*map(list, zip(*values, strict=True))), abs=1e-12)


def test_sixteen_items_are_swapped_in_every_way():
    """Sums of 1, 2, 4, ... with any signs are all odd numbers from -65535 to 65535, each once."""
    found = 40_001
    signs = 2.0 * ((found + 65_535) // 2 >> np.arange(16) & 1) - 1
    values = np.column_stack([signs * 2.0 ** np.arange(16), np.zeros(16)])
    assert values.sum() == found
    as_far = 2 * ((65_535 - found) // 2 + 1)
    assert swap_p_values(values, FIRST, SECOND, seed=0)[0] == as_far / 2**16


def test_ties_are_ties_in_any_unit_and_level():
    values = np.random.default_rng(5).integers(-3, 4, (10, 2)) + [1.0, 0.0]
    expected = swap_p_values(values, FIRST, SECOND, seed=0)
    assert 0.1 < expected[0] < 0.9
    for unit in (0.1, 1e-12 / 3, 1e12 / 3):
        assert swap_p_values(unit * values, FIRST, SECOND, seed=0) == expected
    assert swap_p_values(values + 2.0**30, FIRST, SECOND, seed=0) == expected


def test_p_values_of_many_items_are_nearly_normal():
    random = np.random.default_rng(8)
    values = np.column_stack([random.normal(0.15, 1, 200), np.zeros(200)])
    z = values[:, 0].sum() / np.sqrt((values[:, 0] ** 2).sum())
    p = swap_p_values(values, FIRST, SECOND, seed=1)
    assert p[0] == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.004)
    far = swap_p_values(values + [2.0, 0.0], FIRST, SECOND, seed=1)
    assert far[0] == 2**-15  # the swap of nothing is one of them


def test_differences_intervals_and_corrected_p_values_by_hand(tmp_path):
    """`a` is 1 worse than `c` for each of six readers, and `b` is worse for most."""
    values = {"c": [3, 9, 5, 1, 7, 4], "a": [2, 8, 4, 0, 6, 3], "b": [1, 3, 4, 2, 1, 4]}
    table = compared(values)
    write_table(table, "model_differences", tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", "model_differences")
    assert list(table["model"] + table["other"]) == ["ca", "cb", "ab"]
    assert table["difference"].tolist() == [6, 14, 8]
    # Every draw has six readers, each with the same difference.
    assert table.loc[0, ["difference_low", "difference_high"]].tolist() == [6, 6]
    assert table.loc[2, "difference_low"] < 0 < table.loc[2, "difference_high"]
    p = [slow_p_value(values[one], values[other]) for one, other in ("ca", "cb", "ab")]
    assert table["p"].tolist() == p
    assert p[0] < p[1] < p[2] < 0.5
    # Holm: three times the least, twice the next, and the largest itself.
    assert 3 * p[0] < 2 * p[1] < p[2]
    assert table["p_holm"].tolist() == pytest.approx([3 * p[0], 2 * p[1], p[2]])
    assert set(table["n_evaluated"]) == {TIMES}
    assert set(table["items"]) == {6}
    # Means over readers are compared by sentence, with the same numbers.
    means = gains_of(values).rename(columns={"subject": "item", "item": "subject"})
    again = model_differences(means, deltas_of(means), **DRAWS)
    same = [name for name in table.columns if name != "resampled"]
    pd.testing.assert_frame_equal(again[same], table[same], check_dtype=False)


def test_models_of_one_data_set_share_reading_times():
    gains = pd.concat([gains_of({"a": [1, 2], "b": [2, 4]}), gains_of({"a": [1, 2]}, "other")])
    found = model_differences(gains, deltas_of(gains), **DRAWS)
    assert found["dataset"].tolist() == ["mine"]
    alone = gains[gains["dataset"] == "other"]
    assert model_differences(alone, deltas_of(alone), **DRAWS).empty
    fits = deltas_of(gains)
    fits.iloc[0, fits.columns.get_loc("n_evaluated")] += 1
    with pytest.raises(LingprobError, match=r"'mine'.*different reading times"):
        model_differences(gains, fits, **DRAWS)
    fewer = pd.concat([gains_of({"a": [1, 2]}), gains_of({"b": [2]})])
    with pytest.raises(LingprobError, match="different reading times"):
        model_differences(fewer, deltas_of(fewer), **DRAWS)


def test_the_figure_shows_corrected_differences_best_first():
    """Grey cells have no number; a p of 0.03 that Holm's correction doubles is grey."""
    models = describe_models(Catalog().models)
    names = list(models)[:3]
    values = np.random.default_rng(2).normal(0, 1, (12, 3)) + [0, 3, 0]
    values[:, 2] -= values[:, 2].mean() - values[:, 0].mean()
    gains = gains_of({name: values[:, n].tolist() for n, name in enumerate(names)})
    differences = model_differences(gains, deltas_of(gains), **DRAWS)
    assert (differences["p_holm"] < 0.05).tolist() == [True, False, True]
    figure = matrices(differences, Run("test", models))
    axis = figure.axes[0]
    order = values.sum(axis=0).argsort()[::-1]
    titles = [models[names[at]]["title"] for at in order]
    assert [label.get_text() for label in axis.get_yticklabels()] == titles
    shown = np.ma.filled(axis.images[0].get_array(), np.nan)
    per_item = values[:, order].sum(axis=0)
    expected = 1000 * (per_item[:, None] - per_item) / 120
    expected[[0, 1, 1, 2, 2], [0, 1, 2, 1, 2]] = np.nan
    np.testing.assert_allclose(shown, expected)
    grey = axis.images[0].get_cmap()(np.ma.masked)
    assert grey != axis.images[0].get_cmap()(0.5)
    corrected = differences.assign(p=0.03, p_holm=0.06)
    image = matrices(corrected, Run("test", models)).axes[0].images[0]
    assert not np.isfinite(np.ma.filled(image.get_array(), np.nan)).any()


def test_forty_models_on_three_data_sets_fit():
    models, random = describe_models(Catalog().models), np.random.default_rng(2)
    gains = pd.concat(
        gains_of({name: (at + random.normal(0, 9, 9)).tolist() for at, name in
                  enumerate([*models][:40])}, dataset)
        for dataset in ("brown", "stories", "dundee")
    )  # fmt: skip
    differences = model_differences(gains, deltas_of(gains), **DRAWS)
    figure = matrices(differences, Run("test", models))
    label_provenance(figure, ["test"], ["simulated"], "reading times")
    assert layout_faults(figure) == []
