"""Passages in training: which rows have them, that nothing else differs, and their effect."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from scipy import stats

from lingprob.errors import LingprobError
from lingprob.training.corpus import TrainingData, examples_of_step
from studies.doses.analysis import dose_slopes, dosed_models
from studies.doses.insertion import OF_THE_ROW, passage_rows, places_of_rows, write_dosed_corpus
from training_for_tests import CONTEXT_WINDOW, job, losses, save_corpus

STEPS, BATCH, SEED = 30, 8, 3  # of `training_for_tests.plan`; three epochs of 80 or 90 examples
PASSAGES = [np.arange(60, 79), np.arange(79, 84), np.array([84]), np.arange(85, 95)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus"))


def dosed_corpus(corpus: dict[str, Any], folder: Path, copies: int, **changes: Any) -> dict:
    options = {
        "validation_examples": 10, "steps": STEPS, "batch_size": BATCH, "seed": SEED, **changes,
    }  # fmt: skip
    passages = options.pop("passages", PASSAGES)
    return write_dosed_corpus(corpus, passages, copies, folder / f"rows{copies}", **options)


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
def test_places_are_different_and_even(n_places, data):
    n_rows = data.draw(st.integers(0, n_places))
    places = places_of_rows(n_rows, n_places)
    assert len(set(places.tolist())) == n_rows
    # Each is in the part of the training that is its own, however these are cut.
    for number, place in enumerate(places.tolist()):
        width = n_places / n_rows
        assert number * width - 1 <= place <= (number + 1) * width


def test_more_rows_than_places_are_refused():
    assert places_of_rows(5, 5).tolist() == [0, 1, 2, 3, 4]
    assert places_of_rows(1, 10).tolist() == [5]
    with pytest.raises(LingprobError, match="the passages fill 6 rows, and training sees 5"):
        places_of_rows(6, 5)


@pytest.mark.parametrize("copies", [1, 5, 16])
@pytest.mark.parametrize("held_out", [True, False])
def test_a_training_sees_passages_as_often_as_dosed(corpus, tmp_path, copies, held_out):
    """A token of a passage is in no other row, so that the copies can be counted."""
    if not held_out:
        corpus = {**corpus, "validation": []}
    corpus = {**corpus, "training": [str(tmp_path / "a.npy")]}
    rows = np.random.default_rng(0).integers(1, 60, (90, CONTEXT_WINDOW + 1)).astype(np.uint16)
    np.save(tmp_path / "a.npy", rows)
    dosed = dosed_corpus(corpus, tmp_path, copies)
    without, found = seen(corpus), seen(dosed)
    put = passage_rows(
        PASSAGES, copies, separator=0, row_length=CONTEXT_WINDOW + 1, seed=SEED
    )  # fmt: skip
    places = places_of_rows(len(put), STEPS * BATCH)
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
    assert (TrainingData(dosed, 10).validation == TrainingData(corpus, 10).validation).all()


def test_another_dose_or_text_gives_another_corpus(corpus, tmp_path):
    made = [
        dosed_corpus(corpus, tmp_path, 2),
        dosed_corpus(corpus, tmp_path, 3),
        dosed_corpus(corpus, tmp_path, 2, passages=PASSAGES[:3]),
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
    monkeypatch.setattr("studies.doses.insertion.ROWS_AT_ONCE", 100)
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


def test_a_training_without_copies_has_the_same_weights(corpus, without, tmp_path):
    described = job(dosed_corpus(corpus, tmp_path, 0), tmp_path)
    assert losses(described) == without[0]
    found = weights(described)
    assert all(torch.equal(found[name], value) for name, value in without[1].items())


def test_losses_differ_only_after_the_first_passage(corpus, without, tmp_path):
    described = job(dosed_corpus(corpus, tmp_path, 1), tmp_path)
    found = losses(described)
    # The first of four rows is at place 30, in step 4.
    assert places_of_rows(4, STEPS * BATCH)[0] == 30
    assert found[:3] == without[0][:3]
    assert found[3] != without[0][3]


# The effect of doses.

THREE = dosed_models(["small", "large"], [0, 1, 3])  # on log2(1 + copies): 0, 1 and 2


def gains_of(values: dict[str, list[float]], n: int = 1) -> pd.DataFrame:
    """Return a `reading_gains` table of one data set."""
    gains = [
        (model, kind, "mean", f"s{item}", n * value, n)
        for model, by_item in values.items()
        for item, value in enumerate(by_item)
        for kind in ("delta", "log_perplexity")
    ]
    return pd.DataFrame(gains, columns=["model", "of", "subject", "item", "nats", "n"])


def simulated(random: np.random.Generator, models: pd.DataFrame, items: int) -> dict[str, Any]:
    return {name: random.normal(4, 2, items) for name in models["model"]}


def test_slopes_by_hand():
    """Values 10, 8, 3 and 10, 4, 4 on 0, 1, 2: slopes -3.5 and -3. About the lines they are
    off by -0.5, 1, -0.5 and 1, -2, 1, so that the variance is 7.5 on two degrees."""
    totals = zip(THREE["model"], [10, 8, 3, 10, 4, 4], strict=True)
    values = {name: [total / 2 + 1, total / 2 - 1] for name, total in totals}
    table = dose_slopes(gains_of(values), THREE)
    assert list(dict.fromkeys(table["of"])) == ["delta", "log_perplexity"]
    of_delta = table[table["of"] == "delta"]
    assert of_delta["size"].tolist() == ["small", "large"]
    assert of_delta["slope"].tolist() == pytest.approx([-3.5, -3])
    error = np.sqrt(3.75 / 2)  # half a slope's weights squared
    assert of_delta["trainings_error"].to_numpy() == pytest.approx([error] * 2)
    assert of_delta["items_error"].tolist() == pytest.approx([0, 0], abs=1e-12)
    # Student's t of the trainings' two degrees alone, because readers do not differ.
    assert of_delta["slope_high"].iloc[0] == pytest.approx(-3.5 + 4.30265 * error, rel=1e-4)


def test_errors_equal_a_jackknife_and_those_of_statsmodels():
    """Items' error of ΔLogLik: the jackknife's; of log perplexity, a ratio, about the jackknife's.
    Trainings' error: least squares of all sizes, with a line each."""
    models = dosed_models(["a", "b", "c"], [0, 1, 4, 16])
    random = np.random.default_rng(4)
    values = simulated(random, models, 30)
    for of, words in (("delta", None), ("log_perplexity", random.integers(80, 120, 30))):
        gains = gains_of(values)
        gains = gains[gains["of"] == of]
        if words is not None:
            item = gains["item"].str[1:].astype(int)
            gains = gains.assign(n=words[item], nats=gains["nats"] * words[item])
        table = dose_slopes(gains, models)
        left_out = [
            dose_slopes(gains[gains["item"] != f"s{item}"], models)["slope"].to_numpy()
            for item in range(30)
        ]
        deviations = np.array(left_out) - np.mean(left_out, axis=0)
        # A sum grows with its items, a ratio does not.
        factor, near = (30 / 29, 1e-9) if of == "delta" else (29 / 30, 0.02)
        jackknife = np.sqrt(factor * (deviations**2).sum(axis=0))
        assert table["items_error"].to_numpy() == pytest.approx(jackknife, rel=near)
        totals = gains.groupby("model", sort=False)[["nats", "n"]].sum().loc[models["model"]]
        y = totals["nats"] if of == "delta" else totals["nats"] / totals["n"]
        x = np.log2(1 + np.array([0, 1, 4, 16]))
        design = np.kron(np.eye(3), np.column_stack([np.ones(4), x]))
        fit = sm.OLS(y.to_numpy(), design).fit()
        assert table["slope"].to_numpy() == pytest.approx(fit.params[1::2])
        assert table["trainings_error"].to_numpy() == pytest.approx(fit.bse[1::2])
        # Welch & Satterthwaite: 29 degrees of freedom of the items, six of the trainings.
        of_items, of_trainings = table["items_error"] ** 2, table["trainings_error"] ** 2
        both = of_items + of_trainings
        degrees = both**2 / (of_items**2 / 29 + of_trainings**2 / 6)
        reach = stats.t.ppf(0.975, degrees) * np.sqrt(both)
        assert (table["slope_high"] - table["slope"]).to_numpy() == pytest.approx(reach)
        assert (table["slope"] - table["slope_low"]).to_numpy() == pytest.approx(reach)


def test_two_points_or_one_reader_give_no_interval():
    for models, items in ((dosed_models(["small", "large"], [0, 1]), 5), (THREE, 1)):
        values = simulated(np.random.default_rng(0), models, items)
        table = dose_slopes(gains_of(values), models)
        assert table["slope"].notna().all()
        assert table[["slope_low", "slope_high"]].isna().all(axis=None)
