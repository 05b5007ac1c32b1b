"""Figures of training show what the tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.figures.palette import describe_models
from lingprob.papers.leakage.training_claims import compare, log_perplexity_contrast
from lingprob.papers.leakage.training_figures import draw
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
def tables():
    """Perplexities of two texts."""
    rows = [
        (model, entry["parameters"], steps, corpus, 300 / (1 + steps) + entry["parameters"] / 1e6)
        for model, entry in RUN.models.items()
        for steps in [int(model.partition("-ft")[2] or 0)]
        for corpus in ("provo", "all")
    ]
    columns = ["model", "parameters", "fine_tuning_steps", "corpus", "perplexity"]
    return {"perplexity": pd.DataFrame(rows, columns=columns)}


def test_a_panel_a_corpus_and_a_line_a_number_of_steps(tables):
    figure = draw(tables, RUN)["figure_2_perplexity"]
    assert [ax.get_title() for ax in figure.axes] == ["Provo", "All texts"]
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    assert [line.get_xdata().tolist() for line in lines] == [[1.0, 4.0]] * 3
    assert lines[2].get_ydata().tolist() == [300 / 11 + 1, 300 / 11 + 4]
    assert lines[2].get_color() == RUN.models["trained-large-ft10"]["group_colour"]
    assert figure.axes[0].get_yscale() == "log"


def passages(falls: dict[str, float], sizes: dict[str, int] | None = None) -> pd.DataFrame:
    """Log-probabilities of shuffled passages: 4 nats per token minus the model's fall, and noise.

    Three passages of Provo and two of GECO. Larger models have lower perplexity, 0.5 per tenfold.
    """
    parameters = sizes or {size: 10 ** (7 + n) for n, size in enumerate(falls)}
    rows = [
        (size, parameters[size], steps, corpus, passage, n,
         -n * (4 - (fall if steps else 0) - 0.5 * np.log10(parameters[size] / 1e7)
               + 0.01 * passage))
        for size, fall in falls.items()
        for steps in (0, 5)
        for corpus, passage, n in (("provo", 0, 40), ("provo", 1, 60), ("provo", 3, 50),
                                   ("geco", 0, 900), ("geco", 2, 700))
    ]  # fmt: skip
    columns = ["size", "parameters", "fine_tuning_steps", "corpus", "passage", "n_tokens"]
    table = pd.DataFrame(rows, columns=[*columns, "logprob"]).assign(scale="paper")
    return table.sample(frac=1, random_state=2)


def judged(parts: pd.DataFrame, sizes: pd.DataFrame | None = None) -> pd.DataFrame:
    nothing = pd.DataFrame({"size": [], "parameters": []})
    tables = {"perplexity": nothing if sizes is None else sizes, "passage_logprobs": parts}
    card = compare(tables, Run("paper", published=read_published("training")))
    return card.set_index(["column", "row"]).sort_index()


MORE = "fine_tuning_lowers_perplexity_of_larger_models_more"
FALLS = {"small": 0.1, "medium": 0.2, "large": 0.3}


def test_the_scorecard_has_effects_of_fine_tuning():
    """Falls of .1, .2 and .3 nats per token in all passages: -.1 per tenfold, without noise."""
    sizes = pd.DataFrame({"size": ["small", "large"], "parameters": [28_125_440, 162_322_945]})
    card = judged(passages(FALLS), sizes)
    verdicts = card["verdict"]
    assert verdicts["parameters", "small"] == "reproduced"
    assert verdicts["parameters", "large"] == "differs"
    assert verdicts["parameters", "medium"] == "not run"
    more = card.loc[MORE, "all, 5 steps"]
    assert (more["ours"], more["verdict"]) == (pytest.approx(-0.1), "supported")
    fall = card.loc["fine_tuning_lowers_perplexity", "provo, 5 steps"]
    assert (fall["ours"], fall["verdict"]) == (pytest.approx(-0.2), "supported")
    # Two passages leave one degree of freedom.
    assert verdicts["fine_tuning_lowers_perplexity", "geco, 5 steps"] == "not run"
    assert card.loc[("larger_models_have_lower_perplexity", "all"), "ours"] == pytest.approx(-0.5)
    reversed_falls = dict(zip(FALLS, (0.3, 0.2, 0.1), strict=True))
    assert judged(passages(reversed_falls)).loc[(MORE, "all, 5 steps"), "verdict"] == "contradicted"


@pytest.mark.parametrize(
    ("sizes", "slope"),
    [
        ({"a": 10**7, "b": 10**8}, None),
        ({"a": 10**7, "b": 10**7, "c": 10**7}, None),
        ({"a": 10**7, "b": 10**7, "c": 10**8}, -0.5),
    ],
)
def test_slopes_need_three_sizes_that_vary(sizes, slope):
    """Two sizes with equal parameters are two models."""
    card = judged(passages(dict.fromkeys(sizes, 0.1), sizes))
    row = card.loc["larger_models_have_lower_perplexity", "all"]
    assert row["verdict"] == ("not run" if slope is None else "supported")
    assert slope is None or row["ours"] == pytest.approx(slope)
    fall = card.loc["fine_tuning_lowers_perplexity", "all, 5 steps"]
    assert (fall["ours"], fall["verdict"]) == (pytest.approx(-0.1), "supported")


def test_models_below_the_papers_range_say_so():
    small = dict(zip(FALLS, (10**5, 10**6, 10**7), strict=True))
    notes = [judged(passages(FALLS, sizes)).loc[(MORE, "all, 5 steps"), "note"]
             for sizes in (small, None)]  # fmt: skip
    assert "outside the paper's range: at most 10,000,000 parameters" in notes[0]
    assert "outside" not in notes[1]


def test_contrast_errors_are_those_of_resampled_passages():
    """Against 4,000 draws of 40 passages of different lengths."""
    random = np.random.default_rng(0)
    tokens = random.integers(50, 400, 40)
    falls = random.normal(0.2, 0.1, 40)
    table = pd.DataFrame(
        [(size, 0, "c", place, tokens[place], -tokens[place] * (4 - fall * (size == "b")))
         for size in "ab" for place, fall in enumerate(falls)],
        columns=["size", "fine_tuning_steps", "corpus", "passage", "n_tokens", "logprob"],
    )  # fmt: skip
    weights = pd.Series({("b", 0): 1.0, ("a", 0): -1.0})
    found = log_perplexity_contrast(table, weights)
    assert found.value == pytest.approx(-(tokens * falls).sum() / tokens.sum())
    drawn = random.integers(40, size=(4000, 40))
    ratios = -(tokens * falls)[drawn].sum(1) / tokens[drawn].sum(1)
    assert found.half_width == pytest.approx(2.02 * ratios.std(), rel=0.1)


def test_contrast_errors_over_equal_passages_are_of_a_mean():
    """Log perplexities of 4, 3 and 2: their mean, and Student's t of two freedoms."""
    table = pd.DataFrame(
        [("a", 0, "c", place, 100, -100.0 * nats) for place, nats in enumerate((4, 3, 2))],
        columns=["size", "fine_tuning_steps", "corpus", "passage", "n_tokens", "logprob"],
    )
    found = log_perplexity_contrast(table, pd.Series({("a", 0): 1.0}))
    assert found.value == pytest.approx(3)
    assert found.half_width == pytest.approx(4.3027 / np.sqrt(3), rel=1e-4)
