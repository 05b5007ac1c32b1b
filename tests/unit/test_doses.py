"""Passages in training: which rows have them, that nothing else differs, and what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from scipy import stats

from layout import layout_faults
from lingprob.errors import LingprobError
from lingprob.figures.labels import label_provenance
from lingprob.figures.palette import describe_models
from lingprob.papers.contract import Run
from lingprob.papers.leakage.reading.doses import (
    COPIES,
    COPIES_AND_SIZE,
    Dosed,
    dose_effects,
    dose_slopes,
)
from lingprob.papers.leakage.reading.doses_figure import APART, doses
from lingprob.plan import Costs, Plan
from lingprob.progress import Progress
from lingprob.tables import read_table, write_table
from lingprob.training.corpus import TrainingData
from lingprob.training.dosed import dosed_sizes
from lingprob.training.insertion import (
    OF_THE_ROW,
    passage_rows,
    places_of_rows,
    write_dosed_corpus,
)
from lingprob.training.order import examples_of_step
from lingprob.workflow.configuration import read_settings
from training_for_tests import CONTEXT_WINDOW, job, losses, save_corpus

STEPS, BATCH, SEED = 30, 8, 3  # of `training_for_tests.plan`; three epochs of 80 or 90 examples
PASSAGES = [np.arange(60, 79), np.arange(79, 84), np.array([84]), np.arange(85, 95)]
QUIET = Progress(None, "rows", "rows")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus"))


def dosed_corpus(corpus: dict[str, Any], folder: Path, copies: int, **changes: Any) -> dict:
    options = {
        "validation_examples": 10, "steps": STEPS, "batch_size": BATCH, "seed": SEED,
        "period": (0, 1), "most": None, **changes,
    }  # fmt: skip
    passages = options.pop("passages", PASSAGES)
    return write_dosed_corpus(
        corpus, passages, copies, **options, folder=folder / f"rows{copies}", progress=QUIET
    )


def seen(corpus: dict[str, Any], steps: int = STEPS, validation_examples: int = 10) -> np.ndarray:
    """All rows that a training sees, step by step: (steps * BATCH, row_length)."""
    data = TrainingData(corpus, validation_examples)
    batches = [
        data.take(examples_of_step(step, BATCH, data.n_examples, SEED))
        for step in range(1, steps + 1)
    ]
    return np.concatenate(batches)


def slow_rows(passages: list[list[int]], copies: int, length: int, seed: int) -> list[list[int]]:
    """Rows token by token: each begins with the last token of the one before; -1 fills them."""
    tokens = [0]
    for copy in range(1, copies + 1):
        for number in np.random.default_rng([seed, copy]).permutation(len(passages)):
            tokens += [*passages[number], 0]
    rows: list[list[int]] = []
    for token in tokens[1:]:
        if not rows or len(rows[-1]) == length:
            rows.append([rows[-1][-1] if rows else tokens[0]])
        rows[-1].append(token)
    return [row + [-1] * (length - len(row)) for row in rows]


def test_rows_of_two_copies_by_hand():
    """Two orders of 5 6 and 7 8 9, each passage between separators; the last row is not full."""
    shuffled = [np.random.default_rng([2, copy]).permutation(2).tolist() for copy in (1, 2)]
    assert shuffled == [[0, 1], [1, 0]]
    passages = [np.array([5, 6]), np.array([7, 8, 9])]
    rows = passage_rows(passages, 2, separator=0, row_length=5, seed=2)
    # 0 5 6 0 7 8 9 0 7 8 9 0 5 6 0: the fifth token of a row is the first of the next one.
    assert rows.tolist() == [[0, 5, 6, 0, 7], [7, 8, 9, 0, 7], [7, 8, 9, 0, 5], [5, 6, 0, -1, -1]]
    first = passage_rows(passages, 2, separator=0, row_length=5, seed=2, most=2)
    assert first.tolist() == rows[:2].tolist()
    assert passage_rows(passages, 0, separator=0, row_length=5, seed=2).shape == (0, 5)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=12), min_size=1, max_size=5),
    st.integers(0, 4), st.integers(2, 9), st.integers(0, 99),
)  # fmt: skip
def test_rows_are_those_made_token_by_token(passages, copies, length, seed):
    arrays = [np.array(passage) for passage in passages]
    rows = passage_rows(arrays, copies, separator=0, row_length=length, seed=seed)
    assert rows.tolist() == slow_rows(passages, copies, length, seed)
    predicted = rows[:, 1:][rows[:, 1:] != OF_THE_ROW]
    expected = copies * np.bincount(np.concatenate([*arrays, np.zeros(len(arrays), int)]))
    found = np.bincount(predicted, minlength=len(expected))
    assert found.tolist() == expected.tolist()


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 400), st.data())
def test_places_are_different_within_the_period_and_even(n_places, data):
    share = st.floats(0, 1, allow_nan=False)
    period = sorted([data.draw(share), data.draw(share)])
    first, last = (round(end * n_places) for end in period)
    n_rows = data.draw(st.integers(0, last - first))
    places = places_of_rows(n_rows, n_places, period)
    assert len(set(places.tolist())) == n_rows
    assert all(first <= place < last for place in places)
    # Each is in the part of the period that is its own, however these are cut.
    for number, place in enumerate(places.tolist()):
        width = (last - first) / n_rows
        assert first + number * width - 1 <= place <= first + (number + 1) * width


def test_more_rows_than_places_are_refused():
    assert places_of_rows(5, 10, (0.5, 1)).tolist() == [5, 6, 7, 8, 9]
    assert places_of_rows(1, 10, (0, 1)).tolist() == [5]
    with pytest.raises(LingprobError, match=r"6 rows, and the part .* doses\.period names has 5"):
        places_of_rows(6, 10, (0.5, 1))


@pytest.mark.parametrize(("copies", "period"), [(1, (0, 1)), (5, (0, 1)), (16, (0.25, 0.75))])
@pytest.mark.parametrize("held_out", [True, False])
def test_a_training_sees_the_passages_so_many_times_and_else_what_it_would(
    corpus, tmp_path, copies, period, held_out
):
    """A token of a passage stands in no other row, so that what is put in can be counted."""
    if not held_out:
        corpus = {**corpus, "validation": []}
    corpus = {**corpus, "training": [str(tmp_path / "a.npy")]}
    rows = np.random.default_rng(0).integers(1, 60, (90, CONTEXT_WINDOW + 1)).astype(np.uint16)
    np.save(tmp_path / "a.npy", rows)
    dosed = dosed_corpus(corpus, tmp_path, copies, period=period)
    without, found = seen(corpus), seen(dosed)
    put = passage_rows(
        PASSAGES, copies, separator=0, row_length=CONTEXT_WINDOW + 1, seed=SEED
    )  # fmt: skip
    places = places_of_rows(len(put), STEPS * BATCH, period)
    expected = without.copy()
    for row, place in zip(put.tolist(), places.tolist(), strict=True):
        for column, token in enumerate(row):
            if token != -1:
                expected[place, column] = token
    assert (found == expected).all()
    others = np.setdiff1d(np.arange(len(found)), places)
    assert (found[others] == without[others]).all()
    predicted = np.bincount(found[:, 1:].ravel(), minlength=96)
    assert predicted[60:95].tolist() == [copies] * 35
    assert (TrainingData(dosed, 10).validation() == TrainingData(corpus, 10).validation()).all()


def test_a_corpus_of_another_dose_period_or_text_is_another_one(corpus, tmp_path):
    made = [
        dosed_corpus(corpus, tmp_path, 2),
        dosed_corpus(corpus, tmp_path, 3),
        dosed_corpus(corpus, tmp_path, 2, period=(0, 0.5)),
        dosed_corpus(corpus, tmp_path, 2, passages=PASSAGES[:3]),
        dosed_corpus(corpus, tmp_path, 2, most=1),
    ]
    assert len({str(sorted(described.items())) for described in made}) == len(made)


@pytest.mark.parametrize(("vocabulary", "bits"), [(2**16, 16), (80_000, 32)])
def test_rows_of_a_large_vocabulary_have_32_bits(vocabulary, bits, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(60_000, 60_024, dtype=np.uint32).reshape(8, 3))
    described = {
        "separator": 0, "vocabulary": vocabulary, "context_window": 2, "validation": [],
        "training": [str(tmp_path / "a.npy")],
    }  # fmt: skip
    found = dosed_corpus(described, tmp_path, 1, steps=1, validation_examples=0,
                         passages=[np.array([vocabulary - 1])])  # fmt: skip
    assert found["validation"] == []
    assert (seen(found, 1, 0) == vocabulary - 1).sum() == 1
    assert np.load(found["training"][0]).dtype == f"uint{bits}"


def test_rows_are_read_a_part_at_a_time(corpus, tmp_path, monkeypatch):
    whole = dosed_corpus(corpus, tmp_path / "whole", 2)
    sizes, take = [], TrainingData.take
    monkeypatch.setattr(
        TrainingData, "take", lambda data, at: sizes.append(len(at)) or take(data, at)
    )
    monkeypatch.setattr("lingprob.training.insertion.ROWS_AT_ONCE", 100)
    parts = dosed_corpus(corpus, tmp_path / "parts", 2)
    assert sizes == [80, 80, 80]
    assert (np.load(whole["training"][0]) == np.load(parts["training"][0])).all()


def weights(described: dict[str, Any]) -> dict[str, torch.Tensor]:
    return load_file(Path(described["directory"]) / "model.safetensors")


@pytest.fixture(scope="module")
def without(corpus, tmp_path_factory):
    """A training without passages: its losses and weights."""
    described = job(corpus, tmp_path_factory.mktemp("without"))
    return losses(described), weights(described)


def test_a_training_on_no_copies_ends_with_the_same_weights(corpus, without, tmp_path):
    described = job(dosed_corpus(corpus, tmp_path, 0), tmp_path)
    assert losses(described) == without[0]
    found = weights(described)
    assert all(torch.equal(found[name], value) for name, value in without[1].items())


def test_losses_are_the_same_up_to_the_first_passage_and_others_after_it(corpus, without, tmp_path):
    described = job(dosed_corpus(corpus, tmp_path, 1, period=(0.5, 1)), tmp_path)
    found = losses(described)
    # Four rows on the places from 120 on: the first of them is 135, in step 17.
    assert places_of_rows(4, STEPS * BATCH, (0.5, 1))[0] == 135
    assert found[:16] == without[0][:16]
    assert found[16] != without[0][16]


def test_a_dosed_training_that_broke_goes_on_to_the_same_weights(corpus, tmp_path, monkeypatch):
    dosed = dosed_corpus(corpus, tmp_path, 4)
    whole, broken = (job(dosed, tmp_path / name) for name in ("whole", "broken"))
    expected = losses(whole)
    with monkeypatch.context() as patched:
        take, calls = TrainingData.take, []

        def breaking(self, numbers):
            calls.append(numbers)
            if len(calls) > 3 * 14:  # a step's batch of 8 comes in three parts
                raise KeyboardInterrupt
            return take(self, numbers)

        patched.setattr(TrainingData, "take", breaking)
        with pytest.raises(KeyboardInterrupt):
            losses(broken)
    assert losses(broken) == expected
    assert all(torch.equal(weights(broken)[name], value) for name, value in weights(whole).items())


DEMO = {
    "overlap": {"texts": ["demo_passages", "demo_reading"]},
    "doses": {"texts": ["demo_reading"]},
}


def test_dosed_models_are_entries_beside_the_trained_ones_and_match_no_pattern_of_theirs():
    settings, catalog = read_settings(
        {**DEMO, "doses": {"texts": ["demo_reading"], "copies": [1, 8]}}
    )
    plan = Plan(settings, catalog)
    assert plan.dosed_models() == [
        "trained-tiny-small", "dosed-tiny-small-1", "dosed-tiny-small-8",
        "trained-tiny-medium", "dosed-tiny-medium-1", "dosed-tiny-medium-8",
    ]  # fmt: skip
    entry, base = catalog.model("dosed-tiny-small-8"), catalog.model("trained-tiny-small")
    differs = {key for key in entry if entry[key] != base.get(key)}
    assert differs == {"title", "family", "family_title", "copies", "unigrams"}
    assert (entry["copies"], entry["title"]) == (8, "Tiny small, 8 copies")
    assert entry["unigrams"] == ["corpus_demo_sentences"]
    assert plan.dosed_sizes()["tiny-small"] == base["parameters"]
    assert dosed_sizes({"sizes": ["b"]}, {"sizes": {"a": {}, "b": {}}}) == ["b"]
    looks = describe_models(catalog.models)
    _, plain = read_settings({})
    assert {name: looks[name] for name in plain.models} == describe_models(plain.models)


def test_of_a_scale_s_texts_those_that_are_searched_for_are_put_in():
    assert read_settings({"scale": "laptop"})[0]["doses"]["texts"] == ["provo"]
    changed = {"scale": "laptop", "overlap": {"texts": ["geco"]}}
    settings, catalog = read_settings(changed)
    assert settings["doses"]["texts"] == []
    assert not any("copies" in entry for entry in catalog.models.values())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"texts": ["provo"]}, r"doses\.texts: 'provo' is none of overlap\.texts"),
        ({"sizes": ["tiny-smal"]}, r"unknown size 'tiny-smal'.*'tiny-small'"),
        ({"sizes": []}, r"doses\.sizes: \[\] should be non-empty"),
        ({"copies": [0, 1]}, r"doses\.copies\.0: 0 is less than the minimum of 1"),
        ({"copies": [2, 2]}, r"doses\.copies: .* has non-unique elements"),
        ({"copies": []}, r"doses\.copies"),
        ({"period": [0.5, 0.5]}, r"doses\.period: .* ends before it begins"),
        ({"period": [0, 2]}, r"doses\.period\.1: 2 is greater than the maximum of 1"),
        ({"copy": [2]}, r"'copy' \(did you mean 'copies'"),
    ],
)
def test_odd_doses_are_refused(changes, said):
    with pytest.raises(LingprobError, match=said):
        read_settings({"doses": changes})


def test_a_dosed_training_costs_what_one_without_passages_does():
    from types import SimpleNamespace

    asked = Costs(*read_settings({"scale": "paper"}))
    of_size = SimpleNamespace(size="large", copies="64")
    assert asked.minutes("train_dosed_model", of_size) == asked.minutes("train_model", of_size)
    # 10,000 steps of 1,024 rows of 2,049 tokens of two bytes.
    assert asked.dosed_disk_mb() == 100 + 41_963
    assert asked.minutes("dose_training_corpus", of_size) > 60


# What the doses do.

SIZES = {"small": 10_000, "large": 1_000_000}
THREE = Dosed(SIZES, [0, 1, 3])  # on log2(1 + copies): 0, 1 and 2


def tables_of(values: dict[str, list[float]], of: str = "delta", n: int = 1) -> tuple:
    """Return what is read of `delta_log_likelihood`, and `reading_gains`, of one data set."""
    gains = [
        ("mine", model, kind, "subject", f"s{item}", n * value, n)
        for model, by_item in values.items()
        for item, value in enumerate(by_item)
        for kind in ("delta", "log_perplexity")
    ]
    columns = ["dataset", "model", "of", "item_kind", "item", "nats", "n"]
    deltas = pd.DataFrame({"model": list(values), "dataset": "mine", "rt_source": "human"})
    deltas["delta"] = [sum(by_item) for by_item in values.values()]
    same = {"scale": "test", "n_evaluated": 500, "word_perplexity": 90.0}
    ends = {"delta_low": deltas["delta"] - 1, "delta_high": deltas["delta"] + 1}
    return deltas.assign(**ends, **same), pd.DataFrame(gains, columns=columns)


def names(dosed: Dosed) -> list[str]:
    return dosed.rows()["model"].tolist()


def test_differences_are_from_the_same_size_without_copies():
    values = dict(zip(names(THREE), [[5, 3], [4, 1], [1, 1], [7, 7], [8, 9], [6, 6]], strict=True))
    deltas, gains = tables_of(values)
    table = dose_effects(deltas, gains, THREE, draws=400, seed=0)
    assert table["model"].tolist() == names(THREE)
    assert table["difference"].fillna(0).tolist() == [0, -3, -6, 0, 3, -2]
    assert table["difference"].isna().tolist() == [True, False, False] * 2
    # Two readers drawn of two: the lowest sums are twice the lower reader's, the highest ...
    ends = table.set_index("model").loc["dosed-small-1", ["difference_low", "difference_high"]]
    assert ends.tolist() == [-4, -2]
    assert table["copies"].tolist() == [0, 1, 3] * 2
    turned = dose_effects(deltas[::-1], gains, THREE, draws=400, seed=0)
    both = [part.set_index("model")["difference"].sort_index() for part in (table, turned)]
    pd.testing.assert_series_equal(*both)


def test_slopes_by_hand(tmp_path):
    """Values 10, 8, 3 and 10, 4, 4 on 0, 1, 2: slopes -3.5 and -3; about the lines they are
    off by -.5, 1, -.5 and 1, -2, 1, so that the variance is 7.5 on two degrees."""
    values = {
        name: [total / 2 + 1, total / 2 - 1]
        for name, total in zip(names(THREE), [10, 8, 3, 10, 4, 4], strict=True)
    }
    table = dose_slopes(*tables_of(values), THREE)
    assert list(dict.fromkeys(table["of"])) == ["delta", "log_perplexity"]
    of_delta = table[table["of"] == "delta"]
    assert of_delta["over"].tolist() == [COPIES, COPIES, COPIES_AND_SIZE]
    # Per tenfold of parameters: half a nat over two tenfolds.
    assert of_delta["slope"].tolist() == pytest.approx([-3.5, -3, 0.25])
    # Of 3.75, half a slope's weights squared; of the difference by tenfold half of that.
    errors = np.sqrt([3.75 / 2, 3.75 / 2, 3.75 / 4])
    assert of_delta["trainings_error"].to_numpy() == pytest.approx(errors)
    assert of_delta["items_error"].tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    # Student's t of the trainings' two degrees alone, for readers do not differ.
    reach = 4.30265 * errors[0]
    assert of_delta["slope_high"].iloc[0] == pytest.approx(-3.5 + reach, rel=1e-4)
    write_table(table, "dose_slopes", tmp_path / "slopes.parquet")
    pd.testing.assert_frame_equal(
        read_table(tmp_path / "slopes.parquet", "dose_slopes"), table, check_dtype=False
    )


def simulated(random: np.random.Generator, dosed: Dosed, items: int) -> dict[str, np.ndarray]:
    return {name: random.normal(4, 2, items) for name in names(dosed)}


def test_errors_are_those_of_a_jackknife_and_of_statsmodels():
    """Items' error of ΔLogLik: the jackknife's; of log perplexity, a ratio, about the jackknife's.
    Trainings' error: least squares of all sizes, with a line each."""
    import statsmodels.api as sm

    dosed = Dosed({"a": 1000, "b": 5000, "c": 90_000}, [0, 1, 4, 16])
    random = np.random.default_rng(4)
    values = simulated(random, dosed, 30)
    for of, words in (("delta", None), ("log_perplexity", random.integers(80, 120, 30))):
        deltas, gains = tables_of(values)
        gains = gains[gains["of"] == of]
        if words is not None:
            item = gains["item"].str[1:].astype(int)
            gains = gains.assign(n=words[item], nats=gains["nats"] * words[item])
        table = dose_slopes(deltas, gains, dosed)
        left_out = [
            dose_slopes(deltas, gains[gains["item"] != f"s{item}"], dosed)["slope"].to_numpy()
            for item in range(30)
        ]
        deviations = np.array(left_out) - np.mean(left_out, axis=0)
        # A sum grows with its items, a ratio does not.
        factor, near = (30 / 29, 1e-9) if of == "delta" else (29 / 30, 0.02)
        jackknife = np.sqrt(factor * (deviations**2).sum(axis=0))
        assert table["items_error"].to_numpy() == pytest.approx(jackknife, rel=near)
        totals = gains.groupby("model", sort=False)[["nats", "n"]].sum().loc[names(dosed)]
        y = totals["nats"] if of == "delta" else totals["nats"] / totals["n"]
        x = np.log2(1 + np.array(dosed.copies))
        design = np.kron(np.eye(3), np.column_stack([np.ones(4), x]))
        fit = sm.OLS(y.to_numpy(), design).fit()
        lines = table[table["over"] == COPIES]
        assert lines["slope"].to_numpy() == pytest.approx(fit.params[1::2])
        assert lines["trainings_error"].to_numpy() == pytest.approx(fit.bse[1::2])
        size = np.log10([1000, 5000, 90_000])
        contrast = np.zeros(6)
        contrast[1::2] = (size - size.mean()) / ((size - size.mean()) ** 2).sum()
        tested = fit.t_test(contrast)
        (last,) = table[table["over"] == COPIES_AND_SIZE].itertuples()
        assert (last.slope, last.trainings_error) == pytest.approx(
            (tested.effect.item(), tested.sd.item())
        )
        # Welch & Satterthwaite: 29 degrees of freedom of the items, six of the trainings.
        of_items, of_trainings = table["items_error"] ** 2, table["trainings_error"] ** 2
        both = of_items + of_trainings
        degrees = both**2 / (of_items**2 / 29 + of_trainings**2 / 6)
        reach = stats.t.ppf(0.975, degrees) * np.sqrt(both)
        assert (table["slope_high"] - table["slope"]).to_numpy() == pytest.approx(reach)
        assert (table["slope"] - table["slope_low"]).to_numpy() == pytest.approx(reach)


def test_two_points_a_line_or_one_reader_have_no_interval():
    for dosed, items in ((Dosed(SIZES, [0, 1]), 5), (THREE, 1)):
        values = simulated(np.random.default_rng(0), dosed, items)
        table = dose_slopes(*tables_of(values), dosed)
        assert table["slope"].notna().all()
        assert table[["slope_low", "slope_high"]].isna().all(axis=None)
    alone = Dosed({"small": 10_000}, [0, 1, 3])
    table = dose_slopes(*tables_of(simulated(np.random.default_rng(0), alone, 5)), alone)
    assert set(table["over"]) == {COPIES}
    assert table[["slope_low", "slope_high"]].notna().all(axis=None)  # by one degree of freedom


def test_the_figure_has_every_dose_and_nothing_stands_on_anything():
    """Two data sets: of each, the changes for 1,000 times at their places, with their whiskers."""
    dosed = Dosed({"tiny-small": 19_696, "tiny-medium": 58_240}, [0, 1, 4, 16, 64])
    _, catalog = read_settings(
        {**DEMO, "doses": {"texts": ["demo_reading"], "copies": [1, 4, 16, 64]}}
    )
    deltas, gains = tables_of(simulated(np.random.default_rng(1), dosed, 12))
    parts = [
        (table.assign(dataset="mine"), table.assign(dataset="a data set with a longer name"))
        for table in (deltas, gains)
    ]
    deltas, gains = (pd.concat(part, ignore_index=True) for part in parts)
    effects = dose_effects(deltas, gains, dosed, draws=50, seed=0)
    run = Run("test", models=describe_models(catalog.models, names(dosed)))
    figure = doses(effects, dose_slopes(deltas, gains, dosed), run)
    label_provenance(figure, ["test"], ["human"], "reading times")
    assert layout_faults(figure) == []
    expected = effects[effects["dataset"] == "mine"].groupby("size", sort=False)
    for drawn, (_, part), side in zip(figure.axes[0].containers, expected, (-1, 1), strict=True):
        line, _, (whiskers,) = drawn
        places = np.log2([1, 2, 5, 17, 65]) + side * APART / 2  # intervals side by side
        assert line.get_xdata() == pytest.approx(places)
        change = 2 * part["difference"].fillna(0).to_numpy()  # of 500 times
        assert line.get_ydata().astype(float) == pytest.approx(change)
        ends = np.array([segment[:, 1] for segment in whiskers.get_segments()][1:])
        interval = 2 * part[["difference_low", "difference_high"]].to_numpy()[1:]
        assert ends == pytest.approx(interval)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Tiny small", "Tiny medium"]
    plt.close(figure)


def test_the_figure_of_the_paper_s_five_data_sets_and_three_sizes_is_whole():
    dosed = Dosed({"small": 10**7, "medium": 10**8, "large": 10**9}, [0, 1, 4, 16, 64])
    sizes = {size: {"layers": 1, "heads": 1, "width": 8} for size in dosed.sizes}
    asked = {"texts": ["demo_reading"], "copies": [1, 4, 16, 64], "sizes": None}
    _, catalog = read_settings({**DEMO, "training": {"sizes": sizes}, "doses": asked})
    values = simulated(np.random.default_rng(1), dosed, 12)
    deltas, gains = tables_of({name: value / 1000 for name, value in values.items()})
    datasets = ["Brown SPR", "Natural Stories SPR", "Dundee FP", "GECO FP", "Provo FP"]
    deltas, gains = (
        pd.concat([table.assign(dataset=name) for name in datasets], ignore_index=True)
        for table in (deltas, gains)
    )
    effects = dose_effects(deltas, gains, dosed, draws=50, seed=0)
    run = Run("paper", models=describe_models(catalog.models, names(dosed)))
    figure = doses(effects, dose_slopes(deltas, gains, dosed), run)
    label_provenance(figure, ["paper"], ["human"], "reading times")
    assert layout_faults(figure) == []
    plt.close(figure)
