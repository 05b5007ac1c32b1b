"""Figures of training show what the tables hold."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.papers.leakage.training.figures import loss_curves, perplexity_by_size, read_logs
from lingprob.papers.leakage.training.scorecard import compare_training

NOTE = "trained on leakage-free text"


@pytest.fixture
def logs(tmp_path):
    paths = {}
    for size, offset in (("tiny-small", 1.0), ("tiny-large", 0.0)):
        records = [{"step": n, "tokens": 1000 * n, "loss": 6 + offset - n / 50} for n in range(40)]
        records[-1]["validation_loss"] = 5.5 + offset
        paths[size] = tmp_path / f"{size}.jsonl"
        paths[size].write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_logs(paths)


def test_a_curve_a_size_and_its_validation(logs):
    figure = loss_curves(logs, NOTE, "laptop")
    (ax,) = figure.axes
    assert ax.get_xlabel() == "Tokens seen (thousands)"
    lines = {line.get_label(): line for line in ax.lines}
    assert {"Tiny small", "Tiny large"} <= set(lines)
    assert lines["Tiny large"].get_xdata().tolist()[-1] == 39
    held_out = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [line.get_ydata().tolist() for line in held_out] == [[6.5], [5.5]]
    assert "scale: laptop" in figure._supxlabel.get_text()
    assert NOTE in figure._supxlabel.get_text()


def test_a_panel_a_corpus_and_a_line_a_number_of_steps():
    rows = [
        ("m", size, parameters, steps, corpus, 10, 300 / (1 + steps) + parameters / 1e6, "laptop")
        for size, parameters in (("a", 1_000_000), ("b", 4_000_000))
        for steps in (0, 5, 10)
        for corpus in ("provo", "all")
    ]
    columns = ["model", "size", "parameters", "fine_tuning_steps", "corpus", "n_tokens"]
    table = pd.DataFrame(rows, columns=[*columns, "perplexity", "scale"])
    figure = perplexity_by_size(table, {"provo": "Provo"}, NOTE)
    shown = [ax for ax in figure.axes if ax.lines]
    assert [ax.get_title() for ax in shown] == ["Provo", "All texts"]
    assert [line.get_xdata().tolist() for line in shown[0].lines] == [[1.0, 4.0]] * 3
    assert shown[0].lines[2].get_ydata().tolist() == [300 / 11 + 1, 300 / 11 + 4]
    assert shown[0].get_yscale() == "log"


def test_the_scorecard_says_what_fine_tuning_did():
    columns = ["size", "parameters", "fine_tuning_steps", "perplexity"]
    table = pd.DataFrame(
        [
            ("small", 28_125_440, 0, 100.0),
            ("small", 28_125_440, 5, 90.0),
            ("large", 162_322_944, 0, 60.0),
            ("large", 162_322_944, 5, 58.0),
        ],
        columns=columns,
    ).assign(corpus="all")
    scorecard = compare_training(read_published("training"), table, "paper")
    rows = scorecard.set_index(["row", "column"])
    assert rows.loc[("small", "parameters"), "verdict"] == "agrees"
    assert rows.loc[("medium", "parameters"), "verdict"] == "not computed at this scale"
    assert rows.loc[("large", "ln perplexity less that of small < 0"), "verdict"] == "agrees"
    fall = rows.loc[("small", "fall of ln perplexity in 5 fine-tuning steps > 0")]
    assert fall["ours"] == pytest.approx(math.log(100 / 90))
    more = rows.loc[("large", "that fall less that of small > 0, 5 steps")]
    assert more["verdict"] == "differs"
    assert more["ours"] == pytest.approx(math.log(60 / 58) - math.log(100 / 90))
