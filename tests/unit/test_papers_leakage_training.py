"""Figures of training show what the tables hold."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.figures.palette import describe_models
from lingprob.papers.leakage.training_claims import compare, log_perplexity_contrast
from lingprob.papers.leakage.training_figures import draw, read_logs
from lingprob.papers.run import Run

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
    note=NOTE,
)  # fmt: skip


@pytest.fixture
def tables(tmp_path):
    """Logs of two sizes, and a perplexity table."""
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
    logs = {"logs": read_logs(paths.values())}
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
    assert figure._supxlabel.get_text() == f"scale: laptop\n{NOTE}"


def test_a_panel_a_corpus_and_a_line_a_number_of_steps(tables):
    figure = draw(tables, RUN)["figure_2_perplexity"]
    assert [ax.get_title() for ax in figure.axes] == ["Provo", "All texts"]
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    assert [line.get_xdata().tolist() for line in lines] == [[1.0, 4.0]] * 3
    assert lines[2].get_ydata().tolist() == [300 / 11 + 1, 300 / 11 + 4]
    assert lines[2].get_color() == RUN.models["trained-large-ft10"]["group_colour"]
    assert figure.axes[0].get_yscale() == "log"


def passages(falls: dict[int, float]) -> pd.DataFrame:
    """Log-probabilities of three passages: 4 nats a token less the model's own fall and noise."""
    rows = [
        (f"m{size}", f"{size}", size, steps, corpus, passage, n,
         -n * (4 - (fall if steps else 0) - 0.5 * np.log10(size / 1e7) + 0.01 * passage))
        for size, fall in falls.items()
        for steps in (0, 5)
        for corpus, passage, n in (("provo", 0, 40), ("provo", 1, 60), ("geco", 0, 900))
    ]  # fmt: skip
    columns = ["model", "size", "parameters", "fine_tuning_steps", "corpus", "passage", "n_tokens"]
    return pd.DataFrame(rows, columns=[*columns, "logprob"]).assign(scale="paper")


def test_the_scorecard_says_what_fine_tuning_did():
    """Falls of .1, .2 and .3 nats a token in all passages: -.1 a tenfold, without any noise."""
    parts = passages({10**7: 0.1, 10**8: 0.2, 10**9: 0.3})
    sizes = pd.DataFrame({"size": ["small", "large"], "parameters": [28_125_440, 162_322_945]})
    tables = {"perplexity": sizes, "passage_logprobs": parts}
    scorecard = compare(tables, Run("paper", published=read_published("training")))
    rows = scorecard.set_index(["row", "column"])
    verdicts = rows["verdict"]
    assert verdicts["small", "parameters"] == "reproduced"
    assert verdicts["large", "parameters"] == "differs"
    assert verdicts["medium", "parameters"] == "not run"
    more = rows.loc[("all, 5 steps", "fine_tuning_lowers_perplexity_of_larger_models_more")]
    assert (more["ours"], more["verdict"]) == (pytest.approx(-0.1), "supported")
    fall = rows.loc[("provo, 5 steps", "fine_tuning_lowers_perplexity")]
    assert (fall["ours"], fall["verdict"]) == (pytest.approx(-0.2), "supported")
    # One passage has no interval.
    assert verdicts["geco, 5 steps", "fine_tuning_lowers_perplexity"] == "not run"
    assert rows.loc[("all", "larger_models_have_lower_perplexity"), "ours"] == pytest.approx(-0.5)


def test_perplexities_that_fall_the_less_the_larger_the_model_contradict_the_paper():
    tables = {"perplexity": pd.DataFrame({"size": [], "parameters": []}),
              "passage_logprobs": passages({10**7: 0.3, 10**8: 0.2, 10**9: 0.1})}  # fmt: skip
    card = compare(tables, Run("paper", published=read_published("training"))).set_index(
        ["row", "column"]
    )
    more = card.loc[("all, 5 steps", "fine_tuning_lowers_perplexity_of_larger_models_more")]
    assert more["verdict"] == "contradicted"


@pytest.mark.parametrize(
    ("sizes", "verdict"), [([10**7], "not run"), ([10**7, 10**8], "supported")]
)
def test_one_size_has_no_slope(sizes, verdict):
    tables = {"perplexity": pd.DataFrame({"size": [], "parameters": []}),
              "passage_logprobs": passages(dict.fromkeys(sizes, 0.1))}  # fmt: skip
    card = compare(tables, Run("paper", published=read_published("training"))).set_index(
        ["column", "row"]
    )
    assert card.loc[("larger_models_have_lower_perplexity", "all"), "verdict"] == verdict


def test_a_contrast_is_the_ratio_of_sums_and_its_error_that_of_resampled_passages():
    """Against 4,000 draws of 40 passages of different lengths."""
    random = np.random.default_rng(0)
    tokens = random.integers(50, 400, 40)
    falls = random.normal(0.2, 0.1, 40)
    table = pd.DataFrame(
        [(size, 0, "c", place, tokens[place], -tokens[place] * (4 - fall * (size == 10)))
         for size in (1, 10) for place, fall in enumerate(falls)],
        columns=["parameters", "fine_tuning_steps", "corpus", "passage", "n_tokens", "logprob"],
    )  # fmt: skip
    weights = pd.Series({(10, 0): 1.0, (1, 0): -1.0})
    found = log_perplexity_contrast(table, weights)
    assert found.value == pytest.approx(-(tokens * falls).sum() / tokens.sum())
    drawn = random.integers(40, size=(4000, 40))
    ratios = -(tokens * falls)[drawn].sum(1) / tokens[drawn].sum(1)
    assert found.half_width == pytest.approx(2.02 * ratios.std(), rel=0.1)


def test_the_error_over_two_passages_of_one_length_is_that_of_a_mean():
    """Log perplexities of 4 and 3: their mean, give or take Student's t of one freedom by .5."""
    table = pd.DataFrame(
        [(1, 0, "c", place, 100, -100.0 * nats) for place, nats in enumerate((4, 3))],
        columns=["parameters", "fine_tuning_steps", "corpus", "passage", "n_tokens", "logprob"],
    )
    found = log_perplexity_contrast(table, pd.Series({(1, 0): 1.0}))
    assert found.value == pytest.approx(3.5)
    assert found.half_width == pytest.approx(12.7062 * 0.5, rel=1e-4)
