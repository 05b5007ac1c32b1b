"""Trends over models whose sentences are the same: models without a trend are not given one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.catalog import Catalog, read_published
from lingprob.papers.morcela.claims import STATISTICS
from lingprob.papers.morcela.tables import printed_fits
from lingprob.papers.morcela.trends import drawn_values, draws_of, points_of
from lingprob.papers.run import Run
from lingprob.scorecard.comparison import role_of
from lingprob.scorecard.estimates import slope_difference, slope_within, slopes_within, widened
from lingprob.scorecard.verdicts import NOTHING, Estimate, judge_claim
from lingprob.stats.linking import resample_linking_functions

PUBLISHED = read_published("morcela")
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
RUN = Run("demo", Catalog().models)
SIZES = {name: np.log10(RUN.models[name]["parameters"])
         for name in printed_fits(PUBLISHED)["model"].unique()}  # fmt: skip
TRENDS = ["r_rises_with_size", "beta_falls_with_size", "gamma_rises_with_size",
          "beta_falls_with_r", "gamma_rises_with_r"]  # fmt: skip


def sentences(rng: np.random.Generator, frequent: float) -> dict[str, np.ndarray]:
    """Return 400 sentences whose merit correlates with their words' frequency by `frequent`."""
    length = rng.integers(4, 16, 400).astype(float)
    frequency = rng.normal(size=400)
    merit = frequent * frequency + np.sqrt(1 - frequent**2) * rng.normal(size=400)
    unigram = length * (frequency - 8)
    rating = merit + 0.6 * rng.normal(size=400)
    return {"length": length, "unigram": unigram, "merit": merit, "rating": rating}


def sixteen_models(seed: int, *, noise: float, beta: float, frequent: float = 0.0) -> dict:
    """Tables of the paper's sixteen models over the same sentences.

    Args:
        noise: how much less noisy a model's log-probabilities are that is ten times as large.
        beta: how much of the unigram log-probability is less in them.
        frequent: as of `sentences`.
    """
    rng = np.random.default_rng(seed)
    of = sentences(rng, frequent)
    tables: tuple[list, list] = ([], [])
    for model, size in SIZES.items():
        error = 0.9 * 10 ** (-noise * (size - 8.5)) * rng.normal(size=400)
        held = 0.7 - beta * (size - 8.5)
        logprob = held * of["unigram"] - 5 + 0.4 * of["length"] * (of["merit"] + error)
        found = resample_linking_functions(
            logprob, of["unigram"], of["length"], of["rating"], seed=seed,
            linking_functions=["morcela"], repeats=1, bootstrap=100,
        )  # fmt: skip
        about = {"model": model, "dataset": "mine", "default_convention": True}
        for table, rows in zip(tables, found, strict=True):
            table.append(rows.assign(**about))
    fits, draws = (pd.concat(table, ignore_index=True) for table in tables)
    return {"linking_functions": fits, "linking_draws": draws}


def verdict(claim: str, tables: dict) -> str:
    (found,) = [one for about, one in STATISTICS[claim](tables, RUN) if about == "models/mine"]
    return judge_claim(found, CLAIMS[claim]["expected"])[0]


def verdicts(runs: int, **options: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return verdicts on trends, one row per simulation, with and without shared resamples."""
    rows: tuple[list, list] = ([], [])
    for seed in range(runs):
        tables = sixteen_models(seed, **options)
        alone = {"linking_functions": tables["linking_functions"]}
        for found, some in zip(rows, (tables, alone), strict=True):
            found.append({claim: verdict(claim, some) for claim in TRENDS})
    return pd.DataFrame(rows[0]), pd.DataFrame(rows[1])


def wrong(found: pd.DataFrame, *claims: str) -> float:
    """The largest share of simulations that one of these claims was decided for, either way."""
    return float((found[list(claims)] != "undecided").mean().max())


OF_BETA_AND_GAMMA = TRENDS[1:]


def test_chance_differences_between_models_make_no_trend():
    assert wrong(verdicts(8, noise=0, beta=0)[0], *TRENDS) <= 0.25


@pytest.mark.parametrize(
    ("runs", "most"), [(12, 0.17), pytest.param(60, 0.1, marks=pytest.mark.slow)]
)
def test_quality_alone_makes_no_trend(runs, most):
    """The chance of the sentences moves all models' beta with their quality.

    Of 150 simulations 4 to 5.3% have each of these trends. By a t over models, 40 to 50% have.
    """
    found, over_models_alone = verdicts(runs, noise=0.15, beta=0)
    assert (found["r_rises_with_size"] == "supported").all()
    assert wrong(found, *OF_BETA_AND_GAMMA) <= most
    assert wrong(over_models_alone, *OF_BETA_AND_GAMMA) >= 0.3


def test_beta_rises_if_frequent_words_are_acceptable():
    """Against the paper's trend: noise hides merit from the better of two weights on frequency."""
    found, _ = verdicts(4, noise=0.15, beta=0, frequent=0.4)
    assert (found["beta_falls_with_size"] == "contradicted").all()
    assert (found["beta_falls_with_r"] == "contradicted").all()


def test_a_beta_that_falls_is_found():
    found, _ = verdicts(5, noise=0.15, beta=0.1)
    for claim in ("r_rises_with_size", "beta_falls_with_size", "beta_falls_with_r"):
        assert (found[claim] == "supported").mean() >= 0.8


@pytest.fixture(scope="module")
def tables() -> dict:
    return sixteen_models(1, noise=0.15, beta=0)


def test_draws_are_of_the_points_themselves(tables):
    """Their mean is the estimate, but for r, of which resamples know more than they should."""
    points, draws = points_of(tables, RUN)["mine"], draws_of(tables)["mine"]
    for column, by in (("beta", 0.1), ("gamma", 1.0), ("r", 0.1)):
        means = draws[column].groupby("model").mean()
        shown = points[column].droplevel("dataset")
        assert means[shown.index].to_numpy() == pytest.approx(shown.to_numpy(), abs=by)
        assert draws[column].groupby("model").std().min() > 0


POINTS = st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from("ab")),
                  min_size=5, max_size=12)  # fmt: skip


@settings(deadline=None)
@given(POINTS, st.integers(0, 9))
def test_slopes_of_many_resamples_are_those_of_each(points, seed):
    x, y, group = (np.array(column) for column in zip(*points, strict=True))
    moved = np.random.default_rng(seed).normal(size=(3, 2, len(x)))
    xs, ys = x + moved[:, 0], y + moved[:, 1]
    one_by_one = [slope_within(*pair, group).value for pair in zip(xs, ys, strict=True)]
    assert slopes_within(xs, ys, group) == pytest.approx(one_by_one, rel=1e-6, abs=1e-9)


def test_slopes_by_hand():
    x, y = np.array([[0.0, 1, 5, 7]]), np.array([[0.0, 2, 9, 13]])
    assert slopes_within(x, y, ["a", "a", "b", "b"]) == pytest.approx([2])
    assert np.isnan(slopes_within(np.zeros((1, 4)), y, ["a", "a", "b", "b"])).all()


def test_an_interval_is_widened_by_hand():
    """Draws from 0 to 100 reach 47.5 from their median to either percentile."""
    draws = np.append(np.arange(101.0), np.nan)
    found = widened(Estimate(1.0, -2.0, 3.0, 16, "16 points"), draws)
    assert (found.value, found.n, found.note) == (1.0, 16, "16 points")
    assert found.low == pytest.approx(1 - np.hypot(3, 47.5))
    assert found.high == pytest.approx(1 + np.hypot(2, 47.5))
    skewed = widened(Estimate.exact(0.0), [0.0] * 50 + [1.0] * 40 + [9.0] * 10)
    assert (skewed.low, skewed.high) == pytest.approx((-0.5, 8.5))


def test_what_was_not_resampled_keeps_its_interval(tables):
    one = Estimate(1.0, 0.5, 1.5)
    assert widened(one, []) == widened(one, [np.nan, 3.0]) == one
    assert widened(NOTHING, [1.0, 2.0]) is NOTHING
    points = points_of(tables, RUN)["mine"]
    alone = {"linking_functions": tables["linking_functions"]}
    for claim, column in (("r_rises_with_size", "r"), ("beta_falls_with_size", "beta")):
        (found,) = [one for about, one in STATISTICS[claim](alone, RUN)]
        assert found == slope_within(points["size"], points[column], points["family"])
    # A model without beta is as if it were not there, in resamples too.
    fits, kept = tables["linking_functions"], tables["linking_functions"]["model"] != "opt-30b"
    flat = fits.assign(logprob_slope_low=fits["logprob_slope_low"].where(kept, -1.0))
    one, other = ({**tables, "linking_functions": some} for some in (fits[kept], flat))
    assert [*STATISTICS[claim](one, RUN)] == [*STATISTICS[claim](other, RUN)]


def test_models_without_resamples_repeat_their_point(tables):
    points = points_of(tables, RUN)["mine"]
    draws = tables["linking_draws"]
    draws = draws[draws["model"] != "opt-30b"].astype({"beta": float})
    draws.loc[(draws["model"] == "opt-13b") & (draws["draw"] == 5), "beta"] = np.nan
    drawn = drawn_values(draws_of({"linking_draws": draws})["mine"], points, "beta")
    names = list(points.index.get_level_values("model"))
    assert drawn.shape == (100, 16)
    assert (drawn[:, names.index("opt-30b")] == points["beta"].iloc[names.index("opt-30b")]).all()
    assert np.argwhere(np.isnan(drawn)).tolist() == [[5, names.index("opt-13b")]]


def test_own_models_leave_the_papers_trend_alone(tables):
    """Three own models and a masked one of a printed name have the opposite trend."""
    fits, run = tables["linking_functions"], Run("demo", Catalog().models, published=PUBLISHED)
    alone = {"linking_functions": fits}
    looks, added = dict(run.models), []
    names, kinds = ("a", "b", "c", "opt-1t"), (None, None, None, "masked")
    for name, size, kind in zip(names, range(8, 12), kinds, strict=True):
        looks[name] = {"family": "opt", "parameters": 10**size, "kind": kind}
        added.append(fits[:1].assign(model=name, r_cv=-size))
    more = {"linking_functions": pd.concat([fits, *added], ignore_index=True)}
    claims = {"r_rises_with_size": "models", "r_rises_less_in_opt": "opt and pythia"}
    for claim, about in claims.items():
        expected = dict(STATISTICS[claim](alone, run))
        found = dict(STATISTICS[claim](more, replace(run, models=looks)))
        assert found.pop(f"{about}/mine") == expected[f"{about}/mine"]
        ((name, of_all),) = found.items()
        assert name == f"all {about}/mine"
        assert of_all.value < 0
        assert role_of(PUBLISHED, {"datasets": ["*"]}, name, "", run) == "also"


def test_differences_of_trends_include_the_sentences(tables):
    (found,) = [one for _, one in STATISTICS["r_rises_less_in_opt"](tables, RUN)]
    points = points_of(tables, RUN)["mine"]
    plain = slope_difference(points["size"], points["r"], points["family"], "pythia", "opt")
    assert found.value == plain.value
    drawn = draws_of(tables)["mine"]["r"].unstack("model")[points.index.get_level_values("model")]
    by_hand = []
    for _, values in drawn.iterrows():
        slopes = [
            slope_within(points["size"][chosen], values.to_numpy()[chosen]).value
            for chosen in (points["family"].to_numpy() == name for name in ("pythia", "opt"))
        ]
        by_hand.append(slopes[1] - slopes[0])
    assert (found.low, found.high) == pytest.approx(
        (widened(plain, by_hand).low, widened(plain, by_hand).high)
    )
