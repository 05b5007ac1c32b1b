"""How long a run still takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lingprob.plan.pace import ExpectedJob, Pace


def test_quick_starts_do_not_shorten_a_training():
    """Fifty downloads that were to take 15 s took one, one after the other; a training of 1,000 s
    is still to come."""
    pace = Pace(dict.fromkeys(range(50), ExpectedJob(15.0)) | {50: ExpectedJob(1000.0)}, 100.0)
    for number in range(49):
        pace.start(number, 100.0 + number)
        pace.finish(number, 101.0 + number)
    assert pace.share == pytest.approx(49 * 15 / 1750)
    assert pace.left(149.0) == pytest.approx(1001)


def test_nothing_is_left_at_the_end_and_no_less():
    seconds = (0.1, 0.7, 0.1)  # whose sum, less each, is below nothing
    pace = Pace(dict(enumerate(map(ExpectedJob, seconds))), 0.0)
    assert sum(seconds) - seconds[0] - seconds[1] - seconds[2] < 0
    for number in range(3):
        pace.start(number, float(number))
        pace.finish(number, number + 1.0)
        assert pace.left(number + 1.0) >= 0
    assert str(pace.left(3.0)) == "0.0"


def test_long_jobs_tell_of_long_ones():
    """Three of 100 s; the first took 300, the second has run for 100 of them, beside it."""
    pace = Pace(
        {1: ExpectedJob(100.0), 2: ExpectedJob(100.0), 3: ExpectedJob(100.0), 4: ExpectedJob(6.0)},
        0.0,
    )
    pace.start(1, 0.0)
    pace.start(2, 200.0)
    pace.finish(1, 300.0)
    # 200 of the second, 300 of the third and 6; 400 busy seconds were in 300.
    assert pace.left(300.0) == pytest.approx(506 * 300 / 400)
    pace.start(2, 300.0)  # again, from its beginning
    assert pace.left(300.0) == pytest.approx(606)
    pace.finish(2, 1000.0)
    assert pace.left(1000.0) == pytest.approx(500 + 6)


def test_what_runs_longer_than_expected_ends_any_moment():
    pace = Pace({1: ExpectedJob(100.0)}, 0.0)
    assert pace.left(0.0) == 100
    pace.start(1, 0.0)
    assert pace.left(30.0) == 70
    assert pace.left(130.0) == 0
    pace.start(99, 5.0)  # of which nothing is expected


def test_a_job_that_failed_keeps_no_core_busy_and_is_still_to_come():
    pace = Pace({1: ExpectedJob(100.0), 2: ExpectedJob(100.0)}, 0.0)
    pace.start(1, 0.0)
    pace.start(2, 0.0)
    pace.fail(1)
    assert pace.left(50.0) == pytest.approx(50 + 100)
    pace.start(1, 50.0)
    pace.finish(2, 100.0)
    assert pace.left(100.0) == pytest.approx(50 * 100 / 150)
    pace.fail(99)  # of which nothing is expected


@given(
    st.lists(st.floats(0.1, 1e5), min_size=1, max_size=30),
    st.floats(0.1, 10),
    st.integers(1, 4),
)
def test_where_all_take_one_factor_of_the_expected_time_the_rest_is_known(seconds, factor, cores):
    """So many equal lanes run the same jobs."""
    pace = Pace(
        {(lane, n): ExpectedJob(s) for n, s in enumerate(seconds) for lane in range(cores)}, 0.0
    )
    now = 0.0
    for number, expected in enumerate(seconds):
        for lane in range(cores):
            pace.start((lane, number), now)
        now += expected * factor
        for lane in range(cores):
            pace.finish((lane, number), now)
        kinds = {s >= 60 for s in seconds[: number + 1]}
        rest = sum(s * (factor if (s >= 60) in kinds else 1) for s in seconds[number + 1 :])
        assert pace.left(now) == pytest.approx(rest, rel=1e-6, abs=1e-6 * sum(seconds))
    assert pace.share == pytest.approx(1)


def test_a_job_of_all_cores_leaves_none_to_another():
    """Two jobs of a core each ran beside each other; two that have both cores take turns."""
    one, both = ExpectedJob(100.0, "score"), ExpectedJob(100.0, "judge", cores=2)
    pace = Pace({1: one, 2: one, 3: both, 4: both}, 0.0)
    for number in (1, 2):
        pace.start(number, 0.0)
    for number in (1, 2):
        pace.finish(number, 100.0)
    assert pace.share == pytest.approx(1 / 3)
    assert pace.left(100.0) == pytest.approx(200)
    pace.start(3, 100.0)
    assert pace.left(160.0) == pytest.approx(140)
    pace.finish(3, 200.0)
    assert pace.left(200.0) == pytest.approx(100)


def test_jobs_of_a_rule_tell_of_its_others_more_than_those_of_other_rules():
    """By hand: all took 350 for 200 s; 60 s of that are added to what each rule's took."""
    rules = ["train", "score", "train", "train", "score", "plot"]
    pace = Pace({n: ExpectedJob(100.0, rule) for n, rule in enumerate(rules)}, 0.0)
    pace.start(0, 0.0)
    pace.finish(0, 300.0)
    pace.start(1, 300.0)
    pace.finish(1, 350.0)
    train, score, usual = (300 + 60 * 1.75) / 160, (50 + 60 * 1.75) / 160, 1.75
    assert pace.left(350.0) == pytest.approx(100 * (2 * train + score + usual))
    pace.start(2, 350.0)
    assert pace.left(400.0) == pytest.approx(100 * (2 * train + score + usual) - 50)
