"""ΔLogLik over training: which models, their tokens, the best step and what is surely below it."""

from __future__ import annotations

import runpy
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from layout import layout_faults
from lingprob.digests import SCRIPTS
from lingprob.errors import LingprobError
from lingprob.figures.labels import label_provenance
from lingprob.figures.palette import describe_models
from lingprob.papers.contract import Run
from lingprob.papers.leakage.reading.few_items import widening
from lingprob.papers.leakage.reading.figures import draw as draw_all
from lingprob.papers.leakage.reading.figures import ended
from lingprob.papers.leakage.reading.trajectories import leads, peak, trajectories
from lingprob.papers.leakage.reading.trajectories_figure import trajectories as draw
from lingprob.plan import Plan
from lingprob.schemas import SCHEMAS
from lingprob.tables import read_table, write_table
from lingprob.training.trajectories import trajectories as trained
from lingprob.workflow.configuration import read_settings

DRAWS = {"draws": 2000, "seed": 3}


# Which models.


def planned(models: list[str], **training: Any) -> dict[str, dict[str, Any]]:
    config = {"training": training, "reading": {"models": ["smollm2-135m", *models]}}
    return Plan(*read_settings(config)).trajectories()


def test_a_trajectory_has_every_step_of_a_size_and_its_end():
    found = planned(["trained-*"], keep_checkpoints=[40, 1])
    sizes = ["tiny-small", "tiny-medium"]
    states = ["-step1", "-step40", ""]
    assert list(found) == [f"trained-{size}{state}" for size in sizes for state in states]
    _, catalog = read_settings({})
    # Batches of 16 examples of 32 tokens.
    assert found["trained-tiny-small-step40"] == {
        "size": "tiny-small", "parameters": catalog.model("trained-tiny-small")["parameters"],
        "training_step": 40, "tokens": 40 * 16 * 32, "finished": False,
    }  # fmt: skip
    assert found["trained-tiny-small"]["training_step"] == 90
    assert [entry["finished"] for entry in found.values()] == [False, False, True] * 2


@pytest.mark.parametrize(
    ("models", "kept", "states"),
    [
        (["trained-*"], [], []),
        ([], [1, 40], []),
        (["trained-tiny-small"], [1, 40], []),
        (["trained-*-step40"], [1, 40], []),
        # What is kept after the last step is the finished model.
        (["trained-tiny-small*"], [90], []),
        (["trained-tiny-small*"], [1, 90], ["-step1", ""]),
        (["trained-tiny-small-step*"], [1, 90], ["-step1", "-step90"]),
        (["trained-tiny-small*", "trained-tiny-medium"], [9], ["-step9", ""]),
    ],
)
def test_there_is_none_of_a_size_with_fewer_than_two_steps(models, kept, states):
    found = planned(models, keep_checkpoints=kept)
    assert list(found) == [f"trained-tiny-small{state}" for state in states]


def test_models_trained_with_passages_are_none_of_their_size_without():
    texts = ["demo_passages", "demo_reading"]
    doses = {"overlap": {"texts": texts}, "doses": {"texts": ["demo_reading"], "copies": [2]}}
    reading = {"reading": {"models": ["trained-*", "dosed-*"]}}
    training = {"training": {"keep_checkpoints": [5]}}
    found = Plan(*read_settings({**doses, **reading, **training})).trajectories()
    assert not any(name.startswith("dosed") for name in found)
    assert len(found) == 4


ENTRIES = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["trained", "trained", "hub"]),
        "size": st.sampled_from(["a", "b"]),
        "fine_tuning_steps": st.sampled_from([0, 0, 5]),
        "parameters": st.just(10),
    },
    optional={"training_step": st.integers(1, 6), "copies": st.sampled_from([1, 4])},
)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.text("xyz", min_size=1, max_size=4), ENTRIES, max_size=8))
def test_steps_are_those_found_one_by_one(models):
    training = {"steps": 6, "batch_size": 3, "context_window": 7}
    found = trained(models, training)
    expected = {}
    for size in ("a", "b"):
        of_step = {}
        for name, entry in models.items():
            if entry["source"] != "trained" or entry["size"] != size:
                continue
            if entry["fine_tuning_steps"] > 0 or "copies" in entry:
                continue
            of_step.setdefault(entry.get("training_step", 6), name)
        if len(of_step) > 1:
            expected |= {name: step for step, name in of_step.items()}
    assert {name: entry["training_step"] for name, entry in found.items()} == expected
    assert all(entry["tokens"] == 21 * entry["training_step"] for entry in found.values())


def test_steps_of_the_scale_that_a_shorter_training_does_not_reach_are_left_out():
    kept = [
        read_settings({"scale": "laptop", "training": training})[0]["training"]["keep_checkpoints"]
        for training in ({}, {"steps": 100}, {"steps": 4}, {"keep_checkpoints": []})
    ]
    assert kept == [[64, 256, 1024, 2048], [64], [], []]
    with pytest.raises(LingprobError, match=r"no step 256 in a training of 100 steps"):
        read_settings({"scale": "laptop", "training": {"steps": 100, "keep_checkpoints": [256]}})


# The best step, and what is surely below another one.


def slow_leads(by_item: np.ndarray, drawn: np.ndarray) -> list[list[float]]:
    """The same number by number; draws in which two steps never differ tell nothing."""
    n, steps = by_item.shape
    totals = [sum(by_item[:, step]) for step in range(steps)]
    wider = stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975) * np.sqrt(n / (n - 1))
    found = []
    for one in range(steps):
        others = [step for step in range(steps) if step != one]
        ahead = {step: totals[step] - totals[one] for step in others}
        error = {
            step: [wider * (draw[step] - draw[one] - ahead[step]) for draw in drawn]
            for step in others
        }
        spread = {step: np.std(error[step]) for step in others}
        worst = [
            max(error[step][n] / spread[step] if spread[step] else 0.0 for step in others)
            for n in range(len(drawn))
        ]
        together = max(0, np.quantile(worst, 0.975))
        low = max(ahead[step] - together * spread[step] for step in others)
        high = max(ahead[step] - min(0, np.quantile(error[step], 0.025)) for step in others)
        found.append([max(ahead.values()), low, high])
    return found


def drawn_of(by_item: np.ndarray, draws: int, seed: int = 0) -> np.ndarray:
    chosen = np.random.default_rng(seed).integers(len(by_item), size=(draws, len(by_item)))
    return by_item[chosen].sum(axis=1)


@settings(deadline=None, max_examples=100)
@given(
    st.integers(2, 12), st.integers(2, 5), st.integers(0, 9999), st.booleans(),
    st.sampled_from([-9.0, 0.0, 9.0]),
)  # fmt: skip
def test_leads_are_those_found_number_by_number(items, steps, seed, tied, shift):
    """Also of draws that are all off to one side, by which no interval ends short of the value."""
    by_item = np.random.default_rng(seed).normal(1, 2, (items, steps))
    if tied:
        by_item[:, 1] = by_item[:, 0]
    drawn = drawn_of(by_item, 60, seed)
    drawn[:, 0] += 0 if tied else shift
    found = leads(by_item, drawn)
    assert found == pytest.approx(np.array(slow_leads(by_item, drawn)), abs=1e-9)
    assert (found[:, 1] <= found[:, 0]).all()
    assert (found[:, 0] <= found[:, 2]).all()
    best = by_item.sum(axis=0).argmax()
    assert found[best, 1] <= 1e-9  # the best is never surely below another one


def test_of_two_steps_the_interval_is_student_s_of_a_paired_difference():
    """Many draws of many items; with one other step there is nothing to correct for."""
    by_item = np.random.default_rng(1).normal(0, 1, (200, 2)) + np.arange(200)[:, None]
    difference = by_item[:, 1] - by_item[:, 0]
    interval = stats.ttest_1samp(difference, 0).confidence_interval(0.95)
    found = leads(by_item, drawn_of(by_item, 40_000))[0]
    expected = [difference.sum(), 200 * interval.low, 200 * interval.high]
    assert found == pytest.approx(expected, abs=0.4)


@pytest.mark.parametrize("above", [0.0, 0.3, 3.0])
def test_the_interval_has_the_true_lead_in_it(above):
    """Ten readers, steps that go up and down together; all alike (above 0), or one better."""
    random, truth = np.random.default_rng(5), np.array([-above, 0.0, above, 0.0, 0.0])
    below = covered = 0
    for run in range(400):
        readers = random.normal(5, 4, (10, 1))
        by_item = readers + truth + random.normal(0, 1, (10, 5))
        _, low, high = leads(by_item, drawn_of(by_item, 500, run))[-1]
        below += low <= 10 * above
        covered += low <= 10 * above <= high
    assert below / 400 >= 0.955  # .975, and three standard errors
    assert covered / 400 >= 0.917


def steps_of(totals: list[float], finished: bool = True) -> pd.DataFrame:
    number = np.arange(1, len(totals) + 1)
    same = {"dataset": "mine", "rt_source": "human", "size": "a", "parameters": 9, "scale": "test"}
    table = pd.DataFrame({"delta": totals, "training_step": number, "tokens": 100 * number})
    return table.assign(finished=finished & (number == len(totals)), **same)


def test_what_cannot_be_told_from_the_peak_is_every_step_that_none_is_surely_ahead_of():
    ahead = np.array([[9, 4, 15], [1, -2, 3], [-1, -3, 2], [5, -1, 8], [6, 1, 9]])
    found = peak(steps_of([1, 9, 10, 5, 4]), ahead)
    assert (found["peak_step"], found["peak_tokens"]) == (3, 300)
    assert (found["peak_tokens_low"], found["peak_tokens_high"]) == (200, 400)
    assert (found["lead"], found["lead_low"], found["lead_high"]) == (6, 1, 9)
    assert peak(steps_of([1, 9, 10, 5, 4], finished=False), ahead)["lead"] is None
    # A last step that is surely ahead of each other one is alone, though of these none is surely
    # below the best of all.
    ahead = np.array([[3, -1, 7], [2, -1, 6], [-2, -6, -1]])
    found = peak(steps_of([1, 2, 4]), ahead)
    assert (found["peak_tokens_low"], found["peak_tokens_high"]) == (300, 300)
    # Ends at 0 are not surely ahead.
    ahead = np.array([[3, 0, 7], [2, -1, 6], [-1, -2, 0]])
    found = peak(steps_of([1, 2, 4]), ahead)
    assert (found["peak_tokens_low"], found["peak_tokens_high"]) == (100, 300)


# The tables.


def tables_of(values: dict[str, list[list[float]]], dataset: str = "mine") -> tuple[Any, ...]:
    """Return deltas, gains and models: of each size a row of readers' gains a step, ten apart."""
    rows, gains, models = [], [], {}
    for size, by_step in values.items():
        for number, by_reader in enumerate(by_step, 1):
            finished = number == len(by_step)
            name = f"trained-{size}" + ("" if finished else f"-step{10 * number}")
            models[name] = {
                "size": size, "parameters": 1000 * len(size), "training_step": 10 * number,
                "tokens": 4000 * number, "finished": finished,
            }  # fmt: skip
            rows.append((name, sum(by_reader), 500 / number))
            gains += [
                (dataset, name, of, "subject", f"s{reader}", value if of == "delta" else 7.0, 1)
                for reader, value in enumerate(by_reader)
                for of in ("delta", "log_perplexity")
            ]
    deltas = pd.DataFrame(rows, columns=["model", "delta", "word_perplexity"])
    ends = {"delta_low": deltas["delta"] - 2, "delta_high": deltas["delta"] + 3}
    same = {"dataset": dataset, "rt_source": "human", "n_evaluated": 400, "scale": "test"}
    gains = pd.DataFrame(gains, columns=SCHEMAS["reading_gains"].names)
    return deltas.assign(**ends, **same), gains, models


THREE = {"small": [[0, 0], [4, 6], [5, 4]], "large": [[1, 1], [2, 2], [3, 3]]}


def test_tables_by_hand(tmp_path):
    """Two readers are drawn as 2 + 0, 1 + 1 (half of the draws) or 0 + 2 of them."""
    deltas, gains, models = tables_of(THREE)
    other = deltas.iloc[[0]].assign(model="gpt2", delta=99.0)
    more = gains.iloc[[0]].assign(model="gpt2", item="a third reader")
    given = pd.concat([other, deltas]), pd.concat([more, gains]), models
    steps, peaks = trajectories(*given, **DRAWS)
    assert steps["model"].tolist() == list(models)
    assert steps["tokens"].tolist() == [4000, 8000, 12000] * 2
    assert steps["delta"].tolist() == [0, 10, 9, 2, 4, 6]
    # Only of the first reader twice the last step is the better one: 10 to 8 nats.
    assert steps["highest"].tolist() == pytest.approx([0, 0.75, 0.25, 0, 0, 1], abs=0.04)
    assert peaks["peak_step"].tolist() == [20, 30]
    assert peaks["lead"].tolist() == [1, -2]
    # Readers of `large` do not differ: nothing of it is uncertain.
    assert peaks["lead_low"].iloc[1] == peaks["lead_high"].iloc[1] == -2
    assert peaks["peak_tokens_low"].tolist() == [4000, 12000]
    assert peaks["peak_tokens_high"].tolist() == [12000, 12000]
    assert peaks["items"].tolist() == [2, 2]
    for name, table in (("trajectories", steps), ("trajectory_peaks", peaks)):
        write_table(table, name, tmp_path / name)
        read = read_table(tmp_path / name, name)
        pd.testing.assert_frame_equal(read, table, check_dtype=False)


def test_a_result_is_the_same_in_whatever_order_tables_and_models_come():
    values = {
        "small": np.random.default_rng(2).normal(3, 2, (4, 9)).tolist(),
        "large": np.random.default_rng(3).normal(3, 2, (4, 9)).tolist(),
    }
    deltas, gains, models = tables_of(values)
    both = [
        trajectories(deltas, gains, models, **DRAWS),
        trajectories(deltas[::-1], gains[::-1], dict(reversed(models.items())), **DRAWS),
    ]
    for one, other in zip(*both, strict=True):
        key = ["size", "training_step"] if "training_step" in one else ["size"]
        one, other = (t.sort_values(key).reset_index(drop=True) for t in (one, other))
        pd.testing.assert_frame_equal(one, other)


def test_each_data_set_has_its_own_readers():
    values = {"small": [[1.0, 2, 4], [2, 5, 3]]}
    one, two = (tables_of(values, name) for name in ("mine", "yours"))
    alone = [trajectories(*given, **DRAWS) for given in (one, two)]
    both = (pd.concat([first, second], ignore_index=True)
            for first, second in zip(one[:2], two[:2], strict=True))  # fmt: skip
    for place, table in enumerate(trajectories(*both, one[2], **DRAWS)):
        expected = pd.concat([tables[place] for tables in alone], ignore_index=True)
        pd.testing.assert_frame_equal(table, expected)


def test_one_reader_gives_a_peak_and_no_interval(tmp_path):
    deltas, gains, models = tables_of({"small": [[1], [3], [2]]})
    _, peaks = trajectories(deltas, gains, models, **DRAWS)
    (row,) = peaks.itertuples()
    assert (row.peak_step, row.lead) == (20, 1)
    unknown = ["peak_tokens_low", "peak_tokens_high", "lead_low", "lead_high"]
    assert peaks[unknown].isna().all(axis=None)
    write_table(peaks, "trajectory_peaks", tmp_path / "peaks.parquet")


def test_a_training_whose_end_is_not_read_has_no_lead(tmp_path):
    deltas, gains, models = tables_of(THREE)
    models = {name: entry for name, entry in models.items() if not entry["finished"]}
    steps, peaks = trajectories(deltas, gains, models, **DRAWS)
    assert not steps["finished"].any()
    assert peaks["peak_step"].tolist() == [20, 20]
    assert peaks[["lead", "lead_low", "lead_high"]].isna().all(axis=None)
    write_table(peaks, "trajectory_peaks", tmp_path / "peaks.parquet")


@pytest.mark.parametrize("fault", ["rows", "readers"])
def test_steps_tested_on_different_times_are_refused(fault):
    deltas, gains, models = tables_of(THREE)
    if fault == "rows":
        deltas.loc[0, "n_evaluated"] = 399
    else:
        gains = gains[~((gains["model"] == "trained-small") & (gains["item"] == "s1"))]
    with pytest.raises(LingprobError, match=r"'mine': .* different .* results/reading/mine\.parq"):
        trajectories(deltas, gains, models, **DRAWS)


def test_the_rule_writes_both_tables_twice(tmp_path):
    deltas, gains, models = tables_of(THREE)
    schema = SCHEMAS["delta_log_likelihood"]
    others = [field for field in schema if field.name not in deltas]
    filled = {field.name: "-" if field.type == pa.string() else 1 for field in others}
    write_table(deltas.assign(**filled)[schema.names], "delta_log_likelihood", tmp_path / "deltas")
    halves = [tmp_path / "gains0", tmp_path / "gains1"]
    for number, half in enumerate(halves):
        write_table(gains[gains["item"] == f"s{number}"], "reading_gains", half)
    names = ["parquet", "csv", "peaks", "peaks_csv"]
    output = SimpleNamespace(**{name: str(tmp_path / name) for name in names})
    snakemake = SimpleNamespace(
        input=SimpleNamespace(deltas=str(tmp_path / "deltas"), gains=list(map(str, halves))),
        output=output, params=SimpleNamespace(models=models, bootstrap=2000, seed=3),
        log=[str(tmp_path / "log.txt")], rule="tabulate_trajectories",
    )  # fmt: skip
    script = SCRIPTS / "tabulate_trajectories.py"
    runpy.run_path(str(script), init_globals={"snakemake": snakemake})
    expected = trajectories(deltas, gains, models, **DRAWS)
    files = [(output.parquet, output.csv), (output.peaks, output.peaks_csv)]
    for name, table, (parquet, csv) in zip(
        ["trajectories", "trajectory_peaks"], expected, files, strict=True
    ):
        pd.testing.assert_frame_equal(read_table(parquet, name), table, check_dtype=False)
        assert pd.read_csv(csv).columns.tolist() == table.columns.tolist()


@pytest.mark.parametrize(("items", "factor"), [(2, 9.1681), (10, 1.2166), (1000, 1.0017)])
def test_few_items_widen_an_interval_to_student_s(items, factor):
    assert widening(items) == pytest.approx(factor, abs=1e-4)
    assert np.isnan(widening(1))


# The figure.


def figure_of(sizes: list[str], datasets: list[str], tokens: int = 1) -> tuple[Any, ...]:
    """Return the figure of made-up gains at six steps, and its tables."""
    layers = {"layers": 1, "heads": 1}
    config = {size: {**layers, "width": 16 * number} for number, size in enumerate(sizes, 1)}
    training = {"sizes": config, "keep_checkpoints": [10, 20, 30, 40, 50]}
    _, catalog = read_settings({"training": training})
    parts = []
    for number, dataset in enumerate(datasets):
        random = np.random.default_rng(number)
        shape = np.array([0, 2, 4, 5, 4.5, 4])[:, None]
        values = {size: (shape + random.normal(5, 1, (6, 12))).tolist() for size in sizes}
        deltas, gains, models = tables_of(values, dataset=dataset)
        models = {name: {**e, "tokens": tokens * e["tokens"]} for name, e in models.items()}
        parts.append(trajectories(deltas, gains, models, draws=200, seed=1))
    steps, peaks = (pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True))
    looks = describe_models(catalog.models, [f"trained-{size}" for size in sizes])
    figure = draw(steps, peaks, Run("test", models=looks))
    label_provenance(figure, ["test"], ["human"], "reading times")
    return figure, steps, peaks


FIVE = ["tiny-small", "tiny-medium", "tiny-large", "somewhat-larger", "largest"]


@pytest.mark.parametrize(
    ("sizes", "datasets"),
    [
        (FIVE[:1], ["mine"]),
        (FIVE, ["mine"]),
        (FIVE[:3], ["mine", "a data set with a rather long name"]),
        (FIVE, [f"data set {number}" for number in range(5)]),
    ],
)
def test_nothing_of_the_figure_is_cut_or_stands_on_anything(sizes, datasets):
    figure, steps, _ = figure_of(sizes, datasets)
    assert layout_faults(figure) == []
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[: len(sizes)] == [size.replace("-", " ").capitalize() for size in sizes]
    assert sum(axis.get_visible() for axis in figure.axes) == 2 * len(datasets)
    assert steps["dataset"].nunique() == len(datasets)
    plt.close(figure)


def test_the_figure_has_every_step_its_interval_its_perplexity_and_the_peak():
    figure, steps, peaks = figure_of(["tiny-small", "tiny-large"], ["mine"])
    upper, lower = figure.axes
    colours = [lower.lines[number].get_color() for number in range(2)]
    assert colours[0] != colours[1]
    for number, (size, part) in enumerate(steps.groupby("size", sort=False)):
        line, _, (whiskers,) = upper.containers[number]
        assert line.get_xdata() == pytest.approx(part["tokens"] / 1e6)
        assert line.get_ydata() == pytest.approx(part["delta"])
        ends = np.array([segment[:, 1] for segment in whiskers.get_segments()])
        assert ends == pytest.approx(part[["delta_low", "delta_high"]].to_numpy())
        assert lower.lines[number].get_ydata() == pytest.approx(part["word_perplexity"])
        found = peaks.set_index("size").loc[size]
        bar, top = (line for line in upper.lines[-4:] if line.get_color() == colours[number])
        assert top.get_xdata().item() == pytest.approx(found["peak_tokens"] / 1e6)
        ends = found[["peak_tokens_low", "peak_tokens_high"]].astype(float) / 1e6
        assert bar.get_xdata() == pytest.approx(ends)
        # A row of its own, above all intervals.
        heights = [*bar.get_ydata(), *top.get_ydata()]
        assert heights == pytest.approx([1 - 0.05 * (number + 0.5)] * 3)
        highest = upper.transData.transform((part["tokens"].iloc[0], part["delta_high"].max()))
        assert upper.transAxes.inverted().transform(highest)[1] < 0.9
    assert (upper.get_xscale(), lower.get_yscale()) == ("log", "log")
    plt.close(figure)


def test_figure_2_is_of_trainings_that_ended():
    deltas, gains, models = tables_of({"tiny-small": THREE["small"], "tiny-medium": THREE["large"]})
    deltas = deltas.assign(token_perplexity=9.0)
    steps, peaks = trajectories(deltas, gains, models, **DRAWS)
    _, catalog = read_settings({"training": {"keep_checkpoints": [10, 20]}})
    looks = describe_models(catalog.models)
    tables = {"deltas": deltas, "trajectories": steps, "peaks": peaks}
    figures = draw_all(tables, Run("test", models=looks))
    points = [line for line in figures["figure_2"].axes[0].lines if line.get_marker() == "v"]
    assert sorted(line.get_ydata().item() for line in points) == [6, 9]
    assert len(figures["trajectories"].axes) == 2
    on_the_way = deltas["model"].str.contains("step")
    alone = draw_all({**tables, "deltas": deltas[on_the_way]}, Run("test", models=looks))
    assert len(alone["figure_2"].axes[0].lines) > 1
    plt.close("all")


@pytest.mark.parametrize(("tokens", "within"), [(1, False), (100_000, True)])
def test_two_billion_tokens_are_marked_or_said_to_be_beyond(tokens, within):
    """Six times 4,000 tokens, or 2.4 billion."""
    figure, *_ = figure_of(["tiny-small"], ["mine"], tokens)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[-1].endswith("beyond") == (not within)
    marks = [list(line.get_xdata()) for axis in figure.axes for line in axis.lines]
    assert ([2000.0, 2000.0] in marks) == within
    plt.close(figure)


def test_other_figures_are_of_trainings_that_ended_where_any_did():
    deltas = pd.DataFrame({"model": ["trained-a", "trained-a-step2", "gpt2"]})
    steps = pd.DataFrame({"model": ["trained-a-step2", "trained-a"], "finished": [False, True]})
    pairs = pd.DataFrame(
        [("gpt2", "trained-a"), ("gpt2", "trained-a-step2"), ("trained-a-step2", "gpt2")],
        columns=["model", "other"],
    )
    shown = ended({"deltas": deltas, "differences": pairs, "trajectories": steps})
    assert shown["deltas"]["model"].tolist() == ["trained-a", "gpt2"]
    assert shown["differences"].to_numpy().tolist() == [["gpt2", "trained-a"]]
    early = {"deltas": deltas[1:2], "trajectories": steps[:1]}
    assert ended(early) == early  # nothing else is there
    assert ended({"deltas": deltas})["deltas"] is deltas
