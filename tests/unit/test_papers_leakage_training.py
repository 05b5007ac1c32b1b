"""Figures of training show what the tables hold."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.figures.palette import describe_models
from lingprob.papers.contract import Run, read_tables
from lingprob.papers.leakage.training.figures import draw
from lingprob.papers.leakage.training.scorecard import compare

NOTE = "trained on leakage-free text"
SIZES = {"small": 1_000_000, "large": 4_000_000}
RUN = Run(
    "laptop",
    describe_models(
        {
            f"trained-{size}" + (f"-ft{steps}" if steps else ""): {
                "title": size, "family": "trained", "family_title": "Trained here",
                "parameters": parameters, "fine_tuning_steps": steps,
            }
            for size, parameters in SIZES.items()
            for steps in (0, 5, 10)
        }
    ),
    titles={"provo": "Provo"},
    options={"note": NOTE},
)  # fmt: skip


@pytest.fixture
def tables(tmp_path):
    """Logs of two sizes, read as the room declares them, and a perplexity table."""
    paths = {}
    for size, offset in (("small", 1.0), ("large", 0.0)):
        records = [{"step": n, "tokens": 1000 * n, "loss": 6 + offset - n / 50} for n in range(40)]
        records[-1]["validation_loss"] = 5.5 + offset
        paths[size] = tmp_path / f"{size}.jsonl"
        paths[size].write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = [
        (model, entry["parameters"], steps, corpus, 300 / (1 + steps) + entry["parameters"] / 1e6)
        for model, entry in RUN.models.items()
        for steps in [int(model.partition("-ft")[2] or 0)]
        for corpus in ("provo", "all")
    ]
    columns = ["model", "parameters", "fine_tuning_steps", "corpus", "perplexity"]
    logs = read_tables("training", {"logs": list(map(str, paths.values()))}, {"logs": list(paths)})
    return {**logs, "perplexity": pd.DataFrame(rows, columns=columns)}


def test_a_curve_a_size_and_its_validation(tables):
    figure = draw(tables, RUN)["loss"]
    (ax,) = figure.axes
    assert ax.get_xlabel() == "Tokens seen (thousands)"
    lines = {line.get_label(): line for line in ax.lines}
    assert {"Small", "Large"} <= set(lines)
    assert lines["Large"].get_xdata().tolist()[-1] == 39
    assert lines["Large"].get_color() == RUN.models["trained-large"]["colour"]
    held_out = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [line.get_ydata().tolist() for line in held_out] == [[6.5], [5.5]]
    assert figure._supxlabel.get_text() == f"{NOTE}\nscale: laptop"


def test_a_panel_a_corpus_and_a_line_a_number_of_steps(tables):
    figure = draw(tables, RUN)["figure_2_perplexity"]
    assert [ax.get_title() for ax in figure.axes] == ["Provo", "All texts"]
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    assert [line.get_xdata().tolist() for line in lines] == [[1.0, 4.0]] * 3
    assert lines[2].get_ydata().tolist() == [300 / 11 + 1, 300 / 11 + 4]
    assert lines[2].get_color() == RUN.models["trained-large-ft10"]["group_colour"]
    assert figure.axes[0].get_yscale() == "log"


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
    scorecard = compare({"perplexity": table}, read_published("training"), Run("paper"))
    rows = scorecard.set_index(["row", "column"])
    assert rows.loc[("small", "parameters"), "verdict"] == "agrees"
    assert rows.loc[("medium", "parameters"), "verdict"] == "not computed at this scale"
    assert rows.loc[("large", "ln perplexity less that of small < 0"), "verdict"] == "agrees"
    fall = rows.loc[("small", "fall of ln perplexity in 5 fine-tuning steps > 0")]
    assert fall["ours"] == pytest.approx(math.log(100 / 90))
    more = rows.loc[("large", "that fall less that of small > 0, 5 steps")]
    assert more["verdict"] == "differs"
    assert more["ours"] == pytest.approx(math.log(60 / 58) - math.log(100 / 90))
