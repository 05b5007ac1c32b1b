"""The ordinal mixed model against R's clmm, a plain Laplace approximation and simulated truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import norm
from scipy.stats import t as student

from judgments_for_tests import SLOPES, THRESHOLDS, judgments
from lingprob.errors import LingprobError
from lingprob.regression.ordinal_mixed.fit import OrdinalMixedFit, fit_ordinal_mixed
from lingprob.regression.ordinal_mixed.laplace import Judgments, negative_log_likelihood

# ordinal 2022.11-16: clmm(factor(rating) ~ a + b + (1 | item) + (1 | participant), data,
# link = "probit"), the terms centred, on the data of `few`.
CLMM = {
    "slopes": [0.99443145029, -0.49290055744],
    "errors": [0.1684891897, 0.1909514611],
    "thresholds": [-1.08677613275, 0.09471926505, 1.04166792551],
    "sd_items": 0.6604831859,
    "sd_shifts": 0.5844034033,
    "log_likelihood": -264.7482733,
}


def few() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Twelve participants judge 20 of 30 items each in four categories."""
    random = np.random.default_rng(7)
    terms = random.normal(size=(30, 2))
    eta = terms @ [0.9, -0.6] + 0.7 * random.normal(size=30)
    shift = 0.5 * random.normal(size=12)
    rows = [
        (int((eta[item] + random.normal() > shift[who] + np.array([-1.2, -0.2, 0.8])).sum()) + 1,
         item, who)
        for who in range(12) for item in random.permutation(30)[:20]
    ]  # fmt: skip
    given = pd.DataFrame(rows, columns=["rating", "item", "participant"])
    return given, pd.DataFrame(terms, columns=["a", "b"])


def fitted(given: pd.DataFrame, terms: pd.DataFrame, *, stretch: bool = True) -> OrdinalMixedFit:
    return fit_ordinal_mixed(
        given["rating"], given["item"], given["participant"], terms, stretch=stretch
    )


def test_without_stretches_the_fit_is_that_of_clmm():
    fit = fitted(*few(), stretch=False)
    assert fit.slopes.to_numpy() == pytest.approx(CLMM["slopes"], abs=3e-5)
    assert fit.table()["std_error"].to_numpy() == pytest.approx(CLMM["errors"], abs=3e-5)
    assert fit.thresholds.to_numpy() == pytest.approx(CLMM["thresholds"], abs=3e-5)
    assert fit.thresholds.index.tolist() == ["2", "3", "4"]
    assert (fit.sd_items, fit.sd_shifts) == pytest.approx(
        (CLMM["sd_items"], CLMM["sd_shifts"]), abs=3e-5
    )
    assert fit.log_likelihood == pytest.approx(CLMM["log_likelihood"], abs=1e-6)
    assert fit.sd_stretches == 0
    table = fit.table()
    reach = student.ppf(0.975, 30 - 2 - 1) * table["std_error"].to_numpy()
    assert (table["high"] - table["estimate"]).to_numpy() == pytest.approx(reach)
    assert (table["estimate"] - table["low"]).to_numpy() == pytest.approx(reach)


def test_acceptability_is_at_the_mode_of_all_deviations():
    given, terms = few()
    fit = fitted(given, terms, stretch=False)
    category, item, who = given["rating"].to_numpy() - 1, given["item"], given["participant"]
    bounds = np.concatenate([[-np.inf], fit.thresholds, [np.inf]])
    fixed = ((terms - terms.mean()) @ fit.slopes).to_numpy()

    def surprise(u: np.ndarray) -> float:
        eta = fixed + fit.sd_items * u[:30]
        moved = fit.sd_shifts * u[30:][who] - eta[item]
        p = ndtr(bounds[category + 1] + moved) - ndtr(bounds[category] + moved)
        return u @ u / 2 - np.log(p).sum()

    mode = minimize(surprise, np.zeros(42)).x
    expected = fixed + fit.sd_items * mode[:30]
    assert fit.acceptability.to_numpy() == pytest.approx(expected, abs=1e-4)


def test_the_likelihood_and_its_gradient_are_those_of_a_plain_laplace_approximation():
    """Dense: the mode by BFGS and Newton steps, the Hessian automatic and whole."""
    random = np.random.default_rng(3)
    i, p, k, n = 5, 4, 4, 16
    item, who = np.divmod(random.permutation(i * p)[:n], p)
    category = np.append(np.arange(k), random.integers(k, size=n - k))
    terms = random.normal(size=(i, 2))
    vector = np.array([0.7, -0.4, -1.0, 0.1, -0.2, np.log(0.8), np.log(0.6), np.log(0.4)])

    def plain(vector: np.ndarray) -> float:
        slopes, sds = vector[:2], np.exp(vector[5:])
        inner = vector[2] + np.append(0, np.cumsum(np.exp(vector[3:5])))
        tau = torch.tensor(np.concatenate([[-50], inner, [50]]))

        def joint(u: torch.Tensor) -> torch.Tensor:
            eta = torch.tensor(terms @ slopes) + sds[0] * u[:i]
            shift, stretch = sds[1] * u[i : i + p], torch.exp(sds[2] * u[i + p :])
            low, high = (
                torch.special.ndtr(shift[who] + stretch[who] * tau[category + side] - eta[item])
                for side in (0, 1)
            )
            return -torch.log(high - low).sum() + 0.5 * (u**2).sum()

        def with_slope(u: np.ndarray) -> tuple[float, np.ndarray]:
            given = torch.tensor(u, requires_grad=True)
            value = joint(given)
            value.backward()
            return float(value.detach()), given.grad.numpy()

        mode = minimize(with_slope, np.zeros(i + 2 * p), jac=True, options={"gtol": 1e-6}).x
        for _ in range(4):
            hessian = torch.autograd.functional.hessian(joint, torch.tensor(mode)).numpy()
            mode = mode - np.linalg.solve(hessian, with_slope(mode)[1])
        return with_slope(mode)[0] + 0.5 * np.linalg.slogdet(hessian)[1]

    given = Judgments(
        torch.tensor(category), torch.tensor(item), torch.tensor(who), torch.tensor(terms), k, p
    )
    start = torch.zeros(i + 2 * p, dtype=torch.float64)
    value, gradient, _ = negative_log_likelihood(vector, given, True, start)
    assert value == pytest.approx(plain(vector), abs=1e-8)
    for place, slope in enumerate(gradient):
        move = 1e-4 * (np.arange(len(vector)) == place)
        difference = (plain(vector + move) - plain(vector - move)) / 2e-4
        assert slope == pytest.approx(difference, abs=2e-6), place
    # The modes are found from afar, too, and from where the likelihood is zero.
    for seed in range(12):
        away = torch.tensor(np.random.default_rng(seed).normal(0, 1 + seed, i + 2 * p))
        assert negative_log_likelihood(vector, given, True, away)[0] == pytest.approx(value)


@pytest.mark.parametrize("side", [-1, 1])
def test_judgments_far_from_what_is_expected_lose_no_digits(side):
    """Three items, hardly any deviation, and thresholds at -1 and 1: ten from them and more."""
    terms, tiny = torch.tensor([[-12.0], [0.0], [13.0]], dtype=torch.float64), -30.0
    category, item = torch.tensor([0, 1, 2] * 3), torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2])
    given = Judgments(category, item, torch.zeros(9, dtype=torch.int64), side * terms, 3, 1)
    vector = np.array([1.0, -1.0, np.log(2.0), tiny, tiny, tiny])
    value, _, _ = negative_log_likelihood(vector, given, True, torch.zeros(5, dtype=torch.float64))
    eta = side * terms.numpy().ravel()
    # Between the thresholds by the tail that is small.
    near, far = norm.logsf(np.abs(eta) - 1), norm.logsf(np.abs(eta) + 1)
    between = near + np.log1p(-np.exp(far - near))
    expected = (norm.logcdf(-1 - eta) + between + norm.logsf(1 - eta)).sum()
    assert value == pytest.approx(-expected, rel=1e-10)


def test_a_fit_recovers_what_made_the_judgments():
    """One seed; the slow test has two hundred. Interval ends are beyond 4 standard errors."""
    given, terms = judgments(1)
    fit = fitted(given, terms)
    distance = (fit.slopes - pd.Series(SLOPES)).abs() / np.sqrt(np.diag(fit.covariance))
    assert distance.max() < 4
    assert fit.thresholds.to_numpy() == pytest.approx(THRESHOLDS, abs=0.5)
    assert fit.sd_items == pytest.approx(0.8, abs=0.2)
    assert fit.sd_shifts == pytest.approx(0.5, abs=0.2)
    assert fit.sd_stretches == pytest.approx(0.25, abs=0.12)
    assert fit.newton_decrement < 1e-6
    z = given.groupby("participant")["rating"].transform(lambda r: (r - r.mean()) / r.std())
    means = z.groupby(given["item"]).mean()
    assert np.corrcoef(means, fit.acceptability.loc[means.index])[0, 1] > 0.97
    # Stretches were there: without them the likelihood is worse by many nats.
    assert fit.log_likelihood > fitted(given, terms, stretch=False).log_likelihood + 10


def test_categories_count_and_not_their_numbers_nor_the_order_of_items():
    given, terms = few()
    fit = fitted(given, terms)
    again = fitted(given.assign(rating=given["rating"] ** 3), terms.iloc[::-1])
    assert again.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-5)


def test_three_categories_are_enough_and_participants_stretch_unless_told_otherwise():
    given, terms = judgments(1, items=60, participants=20, each=40, sds=(0.8, 0.5, 0.5))
    rating = given["rating"].clip(3, 5)
    fit = fit_ordinal_mixed(rating, given["item"], given["participant"], terms)
    assert fit.thresholds.index.tolist() == ["4", "5"]
    assert fit.sd_stretches > 0.2


def test_participants_who_do_not_stretch_get_no_stretches():
    given, terms = judgments(2, items=40, participants=15, each=25, sds=(0.8, 0.5, 0.0))
    fit, without = fitted(given, terms), fitted(given, terms, stretch=False)
    assert fit.sd_stretches < 0.12
    assert -1e-4 < fit.log_likelihood - without.log_likelihood < 2
    assert np.isfinite(fit.table()["std_error"]).all()


def test_the_interval_of_a_ratio_is_fieller_s():
    names = ["a", "b"]
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    fit = OrdinalMixedFit(
        pd.Series([1.0, 2.0], names), pd.DataFrame(covariance, names, names), pd.Series([0.0]),
        1, 1, 1, pd.Series([0.0]), -1, 1, 100, 0,
    )  # fmt: skip
    value, low, high = fit.ratio("a", "b")
    assert value == 0.5
    ratios = np.linspace(-3, 3, 600_001)
    variance = 0.04 - 2 * ratios * 0.01 + ratios**2 * 0.09
    inside = ratios[np.abs(1 - 2 * ratios) <= student.ppf(0.975, 100) * np.sqrt(variance)]
    assert (low, high) == pytest.approx((inside[0], inside[-1]), abs=2e-5)
    weak = pd.DataFrame(25 * covariance, names, names)
    unsure = OrdinalMixedFit(**{**vars(fit), "covariance": weak})
    assert unsure.ratio("a", "b") == (0.5, -np.inf, np.inf)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda g, t: (g.assign(rating=g["rating"].where(g.index != 4)), t), "row 4: .*missing"),
        (lambda g, t: (g, t.drop(index=3)), "1 have none, such as 3"),
        (lambda g, t: (g, pd.concat([t, t[:1]])), "1 rows repeat an item"),
        (lambda g, t: (g.assign(rating=g["rating"] > 2), t), "2 categories"),
        (lambda g, t: (g, t.assign(c=1.0)), "a, b, c: one is constant"),
        (lambda g, t: (g, t.assign(c=1e6 + 1e-8 * np.arange(30))), "a, b, c: one is constant"),
        (lambda g, t: (g, t.assign(c=t["a"] - t["b"])), "others determine it"),
        (lambda g, t: (g, t.assign(a=np.inf)), "missing or infinite"),
    ],
)
def test_judgments_that_cannot_be_fitted_are_refused(change, said):
    with pytest.raises(LingprobError, match=said):
        fitted(*change(*few()))


def test_ratings_that_follow_from_a_term_without_chance_are_refused():
    given, terms = few()
    rating = given["item"].map(pd.cut(terms["a"], 3, labels=False))
    with pytest.raises(LingprobError, match="follow from the terms without chance"):
        fitted(given.assign(rating=rating), terms)


def test_slopes_follow_the_unit_of_their_terms():
    ratings, terms = few()
    names, large = list(terms), fitted(ratings, terms)
    small = fitted(ratings, terms * [1e-9, 1.0])
    assert small.slopes[names[0]] == pytest.approx(1e9 * large.slopes[names[0]], rel=1e-3)
    assert small.slopes[names[1]] == pytest.approx(large.slopes[names[1]], rel=1e-3, abs=1e-4)


@pytest.mark.slow
def test_estimates_are_unbiased_and_intervals_hold_the_truth_as_often_as_they_say():
    """200 simulations of 150 items and 40 participants (seeds 0 to 199), two minutes of CPU.

    Bias below 5%; with .95 of 200 the standard error of a coverage is .015.
    """
    beta, gamma = -SLOPES["u/l"] / SLOPES["p/l"], SLOPES["1/l"] / SLOPES["p/l"]
    truth = pd.Series({**SLOPES, "beta": beta, "gamma": gamma})
    estimates, held = [], []
    for seed in range(200):
        fit = fitted(*judgments(seed))
        table = fit.table().set_index("term")
        ends = {name: (row["low"], row["high"]) for name, row in table.iterrows()}
        value, low, high = fit.ratio("u/l", "p/l")
        ends["beta"] = (-high, -low)
        found = {**fit.slopes, "beta": -value}
        found["gamma"], *ends["gamma"] = fit.ratio("1/l", "p/l")
        estimates.append(found)
        held.append({name: low < truth[name] < high for name, (low, high) in ends.items()})
    bias = pd.DataFrame(estimates).mean() / truth - 1
    coverage = pd.DataFrame(held).mean().round(3)
    print(pd.DataFrame({"bias": bias, "coverage": coverage}).round(3))
    assert (bias.abs() < 0.05).all()
    assert coverage.between(0.93, 0.97).all()
