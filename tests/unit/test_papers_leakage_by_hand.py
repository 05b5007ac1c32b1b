"""Studies of reading times by hand, with stand-ins for the fits: what is made of their numbers."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from lingprob.papers.leakage import regressions as analysis
from lingprob.papers.leakage.reading_claims import reading_quantities
from lingprob.papers.leakage.trends import size_trends
from lingprob.reading.predictors import Predictors

ENTRY = {"texts": "mine", "method": "self_paced", "unit": "subject", "measure": "time"}


def test_a_study_is_its_tables(monkeypatch):
    monkeypatch.setattr(analysis, "read_table", lambda path, name: f"{name} of {path}")
    files = {"times": "t", "words": "w", "counts": ["c", "d"], "surprisals": ["s1", "s2"]}
    found = analysis.read_study("mine", ENTRY, ["one", "two"], files)
    assert (found.dataset, found.entry, found.where) == ("mine", ENTRY, "data set 'mine'")
    assert (found.times, found.words) == ("reading_times of t", "words of w")
    assert found.counts == ["word_counts of c", "word_counts of d"]
    assert found.surprisals == {"one": "surprisal of s1", "two": "surprisal of s2"}


@pytest.mark.parametrize(
    ("converged", "singular", "said"),
    [
        ((True, True), (False, False), []),
        ((False, True), (False, False), ["baseline: rt_ms ~ length did not converge"]),
        ((True, False), (True, False), ["baseline: rt_ms ~ length is singular",
                                        "m: rt_ms ~ surprisal + length did not converge"]),
        ((True, True), (False, True), ["m: rt_ms ~ surprisal + length is singular"]),
    ],
)  # fmt: skip
def test_a_comparison_is_of_two_fits(converged, singular, said, monkeypatch, caplog):
    """Of two readers; it converged where both did, and is singular where either is."""
    model = Predictors("m", "surprisal_0", ("previous_surprisal_0",), ("length",))
    fits = [
        SimpleNamespace(
            held_out_log_likelihood=lambda _, of=of: pd.Series(of, ["s1", "s2"]),
            formula=SimpleNamespace(text=text),
            fixed_effects={model.surprisal: 4.0, model.previous[0]: 3.0},
            standard_errors={model.surprisal: 0.4, model.previous[0]: 0.3},
            converged=converged[number], singular=singular[number],
        )
        for number, (text, of) in enumerate([
            ("rt_ms ~ length", [-10.0, -20.0]), ("rt_ms ~ surprisal_0 + length", [-8.0, -15.0])
        ])
    ]  # fmt: skip
    monkeypatch.setattr(analysis, "fit_mixed_models", lambda data, formulas: fits)
    (found,) = analysis._mixed("fitted", "evaluated", [model], ("surprisal", "length"))
    assert (found.gains.tolist(), found.items.tolist()) == ([2, 5], ["s1", "s2"])
    assert analysis._described(model, found) == {
        "model": "m", "regression": "mixed model",
        "baseline_formula": "rt_ms ~ length + (1 + length | subject_id)",
        "formula": "rt_ms ~ surprisal + length",
        "log_likelihood_baseline": -30, "log_likelihood": -23, "delta": 7,
        "surprisal_ms": 4, "surprisal_std_error": 0.4,
        "previous_ms": 3, "previous_std_error": 0.3,
        "converged": all(converged), "singular": any(singular),
    }  # fmt: skip
    assert caplog.messages == said


def test_table_2_has_every_fate_and_the_partitions_last():
    counts = pd.DataFrame(
        [("b", "fit", 5), ("b", "too_fast", 2), ("b", "held_out", 3), ("a", "exploratory", 4),
         ("a", "blink", 1)],
        columns=["dataset", "fate", "rows"],
    ).assign(rt_source="human")  # fmt: skip
    found = analysis.table_2(counts)
    fates = ["too_fast", "blink", "fit", "exploratory", "held_out"]
    assert found.columns.tolist() == ["dataset", "rt_source", *fates]
    assert found.to_numpy().tolist() == [
        ["b", "human", 2, 0, 5, 0, 3],
        ["a", "human", 0, 1, 0, 4, 0],
    ]


def test_table_3_has_each_formula_once():
    columns = ["dataset", "rt_source", "regression", "formula", "baseline_formula"]
    rows = [("b", "human", "r", "f", "g")] * 2 + [("a", "human", "r", "f", "g")]
    found = analysis.table_3(pd.DataFrame(rows, columns=columns).assign(model="m"))
    assert found.columns.tolist() == columns
    assert found["dataset"].to_dict() == {0: "b", 1: "a"}


TUNED = {
    f"m{n}": {"family": "trained", "parameters": 10 ** (7 + n), "fine_tuning_steps": 5}
    for n in range(3)
}


def test_a_slope_has_an_interval_where_all_its_models_have_items_and_a_change_where_there_is_one():
    """No model of these was read before fine-tuning; of `e` one lacks its readers' gains."""
    rows = [(name, dataset, 9.0 - 2 * n) for dataset in "de" for n, name in enumerate(TUNED)]
    deltas = pd.DataFrame(rows, columns=["model", "dataset", "delta"]).assign(
        rt_source="human", context="passage", corrected=None, word_perplexity=50.0, scale="test"
    )
    gains = pd.DataFrame(
        [(dataset, name, "delta", "subject", item, delta / 2, 1)
         for name, dataset, delta in rows if (name, dataset) != ("m2", "e")
         for item in ("s0", "s1")],
        columns=["dataset", "model", "of", "item_kind", "item", "nats", "n"],
    )  # fmt: skip
    found = size_trends(deltas, gains, None, TUNED, draws=50, seed=0)
    found = found[(found["of"] == "delta") & (found["on"] == "parameters")].set_index("dataset")
    assert found["slope"].tolist() == pytest.approx([-2, -2])
    assert found.loc["d", ["slope_low", "slope_high"]].tolist() == pytest.approx([-2, -2])
    assert found.loc["e", ["slope_low", "slope_high", "resampled", "items"]].isna().all()
    assert found["change"].isna().all()
    assert found["corrected"].tolist() == [None, None]


def test_numbers_of_reading_are_counts_and_the_published_fits_as_published():
    counts = pd.DataFrame({"dataset": "d", "fate": ["fit", "blink"], "rows": [30, 4]})
    fits = pd.DataFrame(
        [("m", "compat", "as published", 3.5, 20.25, 90), ("m", "realigned", "mended", 9, 9, 80)],
        columns=["model", "convention", "description", "delta", "word_perplexity", "n"],
    )
    alone = {("d", "fit"): 30, ("d", "blink"): 4}
    both = alone | {("m", "delta"): 3.5, ("m", "perplexity"): 20.25, ("m", "n"): 90}
    for given, expected in ((None, alone), (fits, both)):
        found = reading_quantities(counts, given)
        assert {place: one.value for place, one in found.items()} == expected
        assert all(one.low == one.value == one.high for one in found.values())
    assert found["m", "delta"].note == "as published"
