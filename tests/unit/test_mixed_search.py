"""The search for a mixed model's optimum, on deviances whose steps are worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lingprob.stats.linear_mixed import optimise as module
from lingprob.stats.linear_mixed.likelihood import ModelMoments
from lingprob.stats.linear_mixed.moments import group_moments
from lingprob.stats.linear_mixed.optimise import Deviance, Optimum, best_optimum, optimise
from mixed_data import simulated

ALONG, ACROSS = np.array([0.6, 0.8]), np.array([-0.8, 0.6])
# Rows of one length whose product is half its square: F F' = [[2, 1], [1, 2]].
FULL = np.array([[1.0, 1.0], [(1 + 3**0.5) / 2, (1 - 3**0.5) / 2]])
RANK_ONE = np.array([[1.0, 0.0], [1.0, 0.0]])


def along_and_across(along: float, across: float) -> np.ndarray:
    """The matrix (2, 2) with these eigenvalues."""
    return along * np.outer(ALONG, ALONG) + across * np.outer(ACROSS, ACROSS)


class Objective:
    """A deviance that is sought from where a start is, without a way out of where it ends."""

    def escape(self, at: Any, factor: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.0, factor


class Promising(Objective):
    """A deviance that keeps, try by try, a share of what its derivatives promise; None: there is
    none. At each place on the path the derivatives are the next ones, in the end zero."""

    def __init__(
        self, derivatives: list[tuple], shares: Iterable[float | None] = (), deviance: float = 0.0
    ) -> None:
        self.known, self.shares, self.deviance = derivatives, iter(shares), deviance
        self.path: list[np.ndarray] = []

    def profile(self, factor: np.ndarray) -> Any:
        if not self.path:
            return SimpleNamespace(deviance=self.deviance)
        share = next(self.shares, 1.0)
        if share is None:
            raise np.linalg.LinAlgError
        (gradient, hessian), step = self._here(), factor.ravel() - self.path[-1]
        promised = -(gradient @ step + step @ hessian @ step / 2)
        return SimpleNamespace(deviance=self.deviance - share * promised)

    def derivatives(self, at: Any, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.path.append(factor.ravel())
        self.deviance = at.deviance
        return self._here()

    def _here(self) -> tuple[np.ndarray, np.ndarray]:
        size, place = self.path[-1].size, len(self.path) - 1
        return self.known[place] if place < len(self.known) else (np.zeros(size), np.eye(size))


def line(slopes: Sequence[float], *given: Any) -> Promising:
    """Downhill slopes on a line, one after another, each of curvature 1."""
    return Promising([(np.array([-slope]), np.eye(1)) for slope in slopes], *given)


@pytest.mark.parametrize(
    ("slopes", "shares", "deviance", "places"),
    [
        # The radius is 1 at first. A longer step is divided by 1 + d, d = 4, 16, 64 ...
        ([1.0], [], 0.0, [1.0]),
        ([1.2], [], 0.0, [0.24]),
        ([16.0], [], 0.0, [16 / 17]),
        # Where more than 7 tenths are kept the radius is three steps: 1.5, 4.5, 13.5.
        ([0.5, 1.5, 4.5, 14.0], [], 0.0, [0.5, 2.0, 6.5, 9.3]),
        ([0.5, 1.2], [0.71], 0.0, [0.5, 1.7]),
        ([0.5, 1.2], [0.7], 0.0, [0.5, 0.74]),
        # With more than a tenth a step is taken; else the radius is a quarter of it.
        ([1.0], [0.11], 0.0, [1.0]),
        ([1.0, 0.24], [0.1, 0.5], 0.0, [0.2, 0.44]),
        ([1.0, 0.24], [0.0, 0.5], 1.0, [0.2, 0.44]),
        ([1.0, 0.24], [None, 0.5], 0.0, [0.2, 0.44]),
        # Of a deviance of a million 1e-8 is rounding: a loss below it is none.
        ([1e-4], [-1.0], -1e6, [1e-4]),
        ([1e-4], [-3.0], -1e6, [2e-5]),
    ],
)
def test_steps_are_as_long_as_they_keep_what_they_promise(slopes, shares, deviance, places):
    objective = line(slopes, shares, deviance)
    optimise(objective, np.zeros((1, 1)))
    assert np.ravel(objective.path).tolist() == pytest.approx([0.0, *places], rel=1e-9)


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.101, -0.5 * ALONG - 0.25 * ACROSS),
        # 1 / (2 + 8) and 1 / (4 + 8): a quarter of that step's length or less.
        (0.099, -0.1 * ALONG - ACROSS / 12),
    ],
)
def test_steps_go_downhill_where_curvature_is_negative(share, expected):
    """Slopes of 1, curvatures of -2 and 4: steps of 1 / 2 and 1 / 4 promise 3 / 4 + 1 / 8."""
    objective = Promising([(ALONG + ACROSS, along_and_across(-2, 4))], [share])
    optimise(objective, np.zeros((1, 2)))
    np.testing.assert_allclose(objective.path, [[0, 0], expected], atol=1e-12)


def test_curvatures_of_nothing_are_a_billionth_of_the_largest():
    objective = Promising([(np.array([1e-7, 0.0]), np.diag([0.0, 1000.0]))])
    optimise(objective, np.zeros((1, 2)))
    np.testing.assert_allclose(objective.path, [[0, 0], [-0.1, 0]], atol=1e-12)


def test_where_no_step_gains_the_certificate_tells():
    start = np.zeros((1, 2))
    found = optimise(
        Promising([(ALONG + ACROSS, along_and_across(-2, 4))], repeat(0.0), 3.0), start
    )
    np.testing.assert_array_equal(found.factor, start)
    assert found.profile.deviance == 3
    # A slope's square over its curvature, a quarter of it of the log-likelihood.
    assert found.newton_decrement == pytest.approx((1 / 2 + 1 / 4) / 4)
    assert found.gradient_norm == pytest.approx(1.4)
    assert found.curvature == pytest.approx(-2 / 4)
    assert (found.iterations, found.converged) == (0, False)


def test_searches_end_after_two_hundred_steps():
    objective = line([1.0] * 300, repeat(0.5))
    found = optimise(objective, np.zeros((1, 1)))
    assert (found.factor.item(), found.iterations) == (200, 199)


@pytest.mark.parametrize(
    ("told", "expected"),
    [((1e-8, -1e-7, True), True), ((1e-6, 0.0, True), False), ((1e-8, -1e-5, True), False),
     ((1e-8, 0.0, False), False)],
)  # fmt: skip
def test_a_fit_converged_where_nothing_is_left_to_gain(told, expected):
    decrement, curvature, agreed = told
    found = Optimum(FULL, None, decrement, 1.0, curvature, 5, agreed)
    assert found.converged is expected
    if agreed:
        assert Optimum(FULL, None, decrement, 1.0, curvature, 5).converged is expected


class Ends(Objective):
    """Every place is an optimum: the tries end, one by one, at these deviances with these slopes.

    Starts are multiples of one.
    """

    def __init__(
        self, start: np.ndarray, deviances: Iterable[float], slopes: Iterable[float] = ()
    ) -> None:
        self.start, self.deviances, self.slopes = start, iter(deviances), iter(slopes)
        self.tried: list[np.ndarray] = []

    def starts(self, count: int) -> Iterator[np.ndarray]:
        return ((number + 1) * self.start for number in range(count))

    def profile(self, factor: np.ndarray) -> Any:
        self.tried.append(factor)
        return SimpleNamespace(deviance=next(self.deviances, 7.0))

    def derivatives(self, at: Any, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(factor.size, next(self.slopes, 0.0)), np.eye(factor.size)


def multiples(tried: list[np.ndarray], start: np.ndarray) -> list[float]:
    """How many times the start each try is."""
    times = [float((own * start).sum() / (start**2).sum()) for own in tried]
    np.testing.assert_allclose(tried, [each * start for each in times])
    return times


@pytest.mark.parametrize("starts", [1, 3])
def test_where_starts_agree_there_are_no_more(starts):
    objective = Ends(FULL, [])
    best, deviances = best_optimum(objective, starts)
    assert multiples(objective.tried, FULL) == pytest.approx([1, 2, 3][:starts])
    assert deviances == [7.0] * starts
    assert best.converged


def test_where_starts_disagree_others_follow():
    objective = Ends(FULL, [7.0, 1.0])
    best, deviances = best_optimum(objective, 3)
    np.testing.assert_allclose(best.factor, 2 * FULL)
    assert deviances == [7.0, 1.0, *[7.0] * 17]
    assert not best.converged
    little, much, less, other = objective.tried[3:7]
    np.testing.assert_allclose(little, 0.001 * np.eye(2))
    np.testing.assert_allclose(much, 5 * np.eye(2))
    # The best variance is 12 along (1, 1) / sqrt(2) and 4 along (1, -1) / sqrt(2).
    np.testing.assert_allclose(less @ less.T, [[6, 6], [6, 6]])
    np.testing.assert_allclose(other @ other.T, [[2, -2], [-2, 2]])
    # Twelve more starts, the next times 1, 3 and .1 in turn.
    expected = [number * (1, 3, 0.1)[number % 3 - 1] for number in range(4, 16)]
    assert multiples(objective.tried[7:], FULL) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("deviances", "tried", "converged"),
    [
        ([], 6, True),
        # The first, and after others the second and third time: three are enough.
        ([1.0, 7.0, 7.0, 7.0, 7.0, 7.0, 1.0, 1.0], 8, True),
        ([1.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 1.0], 18, True),
        ([1.0], 18, False),
    ],
)
def test_where_a_direction_has_no_variance_others_follow(deviances, tried, converged):
    objective = Ends(RANK_ONE, deviances)
    best, _ = best_optimum(objective, 3)
    assert len(objective.tried) == tried
    assert best.converged is converged
    np.testing.assert_allclose(objective.tried[5], 0, atol=1e-6)


def test_of_equal_optima_the_best_certified_counts():
    objective = Ends(np.eye(1), [5.0, 5.0 + 5e-10, 5.0 + 1e-7], [4e-6, 2e-6, 0.0])
    best, deviances = best_optimum(objective, 3)
    assert best.factor.item() == 2
    assert best.newton_decrement == pytest.approx(1e-12)
    assert len(deviances) == 3


class Ways(Ends):
    """From every place a way leads to the next one."""

    def escape(self, at: Any, factor: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.3, factor + 1


@pytest.mark.parametrize(
    ("deviances", "place", "left"),
    [([5.0, 4.0, 4.0, 3.0], 1, 0.3), ([5.0, 6.0], 0, 0.3), (range(50, 0, -1), 10, 0.0)],
)
def test_ways_out_are_taken_while_they_lead_down_ten_at_most(deviances, place, left):
    found = optimise(Ways(np.eye(1), deviances), np.zeros((1, 1)))
    assert (found.factor.item(), found.newton_decrement) == (place, left)


# Along a slope of -2 variance gains most at 2 / curvature, where it gains 2^2 / curvature / 2 of
# deviance, half of that of log-likelihood. A curvature below 2 counts as 2.
PARABOLAS = pytest.mark.parametrize(
    ("curvature", "variance", "gain"), [(4.0, 0.5, 0.25), (0.5, 1.0, 0.5)]
)
START = np.array([[1.0, 2.0], [0.0, 1.0]])


@PARABOLAS
def test_a_new_direction_of_one_term(monkeypatch, curvature, variance, gain):
    second = curvature * np.einsum("a,b,c,d->abcd", *[ALONG] * 4)
    given = [(along_and_across(-2, 5), second), (along_and_across(0.5, 5), second)]
    monkeypatch.setattr(module, "derivatives_by_psi", lambda *_: given.pop(0))
    objective = Deviance(ModelMoments(np.empty(0), np.empty(0), 1))
    found, factor = objective.escape(None, START)
    assert found == pytest.approx(gain)
    expected = START @ START.T + variance * np.outer(ALONG, ALONG)
    np.testing.assert_allclose(factor @ factor.T, expected)
    assert objective.escape(None, START) == (0.0, START)


def test_the_best_new_direction_is_that_of_a_parabola():
    """From no variance at all."""
    frame = simulated(300, 6, 4, (4.0, 0.0, 0.0, 0.0, 1.0))
    frame["rt_ms"] = (frame["rt_ms"] - frame["rt_ms"].mean()) / frame["rt_ms"].std()
    frame["length"] -= frame["length"].mean()
    columns = [np.ones(len(frame)), frame["length"].to_numpy(), frame["rt_ms"].to_numpy()]
    moments = group_moments(columns, frame["subject_id"].to_numpy(), 6)
    with_z = moments[:, :2, [0, 1, 0, 1, 2]]
    objective = Deviance(ModelMoments(with_z, moments.sum(axis=0), len(frame)))
    start = np.zeros((2, 2))
    gain, found = objective.escape(objective.profile(start), start)
    ((_, variance), axes) = np.linalg.eigh(found @ found.T)
    step = 1e-6
    roots = [np.sqrt(place * step) * axes[:, 1] for place in range(3)]
    ends = [objective.profile(np.column_stack([root, np.zeros(2)])).deviance for root in roots]
    slope = (4 * ends[1] - 3 * ends[0] - ends[2]) / (2 * step)
    curvature = max((ends[0] - 2 * ends[1] + ends[2]) / step**2, -slope)
    assert variance == pytest.approx(-slope / curvature, rel=3e-2)
    assert gain == pytest.approx(slope**2 / curvature / 4, rel=3e-2)


def test_searches_start_with_little_and_much_variance_and_at_random():
    objective = Deviance(ModelMoments(np.empty((1, 3, 5)), np.empty((2, 2)), 1))
    first, second, *others = objective.starts(4)
    np.testing.assert_array_equal(first, np.diag([0.3, 0.05, 0.05]))
    np.testing.assert_array_equal(second, np.eye(3))
    expected = np.random.default_rng(0).normal(scale=0.3, size=(2, 3, 3))
    np.testing.assert_array_equal(others, expected)
