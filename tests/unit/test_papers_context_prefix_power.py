"""How many prefixes a claim needs: changes by hand, components of simulated truth, the figure."""

from __future__ import annotations

import itertools
import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from layout import layout_faults
from lingprob.context.names import FROM_SUITE, KINDS, MATCHED, MISMATCHED, UNRELATED
from lingprob.figures.palette import describe_models
from lingprob.papers.context.power_figures import NOT_CROSSED, prefixes_needed, recommendation
from lingprob.papers.context.prefix_numbers import (
    changes,
    components,
    prefix_tables,
    redrawn,
    some_pairs,
    some_suites,
    told_apart,
    variance_rows,
)
from lingprob.papers.context.prefix_power import (
    EFFECTS,
    NUMBERS,
    Claim,
    Sample,
    advice,
    lacking,
    samples,
    uncertainty,
)
from lingprob.papers.contract import Run
from lingprob.regression.crossed_power import Variances, detectable, fewest, power
from lingprob.tables import as_table

TRUTH = Variances(suite=0.5, target=2.0, prefix=1.0, residual=1.5)
OF_MATRIX = TRUTH._replace(source=0.8)


def grown(truth: Variances, suites: int, targets: int, sharing: int, seed: int) -> pd.DataFrame:
    """Changes after own prefixes, one for so many targets, and after one that a suite shares."""
    rows = [
        (s, f"{s}/{t}", prefix)
        for s in map(str, range(suites))
        for t in range(targets)
        for prefix in (f"{s}/own/{t // sharing}", f"{s}/shared")
    ]
    return simulated(rows, truth, seed).assign(source=lambda rows: "/" + rows["suite"])


def crossed(truth: Variances, suites: int, targets: int, replicates: int, seed: int):
    """Changes of each suite's targets after prefixes of the others, which are dealt out."""
    rows = [
        (s, f"{s}/{t}", f"{source}/{t % replicates}/{s}", f"{source}/{s}")
        for s, source in itertools.permutations(map(str, range(suites)), 2)
        for t in range(targets)
    ]
    return simulated(rows, truth, seed)


def simulated(rows: list[tuple], truth: Variances, seed: int) -> pd.DataFrame:
    columns = ["suite", "pair_id", "prefix", "source"]
    table = pd.DataFrame(rows, columns=columns[: len(rows[0])])
    random = np.random.default_rng(seed)
    total = 0.3 + random.normal(size=len(table)) * truth.residual**0.5
    named = {"suite": "suite", "pair_id": "target", "prefix": "prefix", "source": "source"}
    for column in table:
        codes, levels = pd.factorize(table[column])
        effects = random.normal(size=len(levels)) * getattr(truth, named[column]) ** 0.5
        total += effects[codes]
    return table.assign(accuracy=total, logprob_margin=2 * total)


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (lambda seed: grown(TRUTH, 67, 20, 10, seed), TRUTH),
        (lambda seed: grown(TRUTH, 50, 12, 1, seed), TRUTH),
        (lambda seed: crossed(OF_MATRIX, 12, 16, 4, seed), OF_MATRIX),
    ],
    ids=["two own prefixes a suite", "own prefixes for each", "matrix"],
)
def test_components_of_simulated_changes_are_those_they_were_made_of(draw, truth):
    found = np.array([components(draw(seed), "accuracy") for seed in range(4)])
    error = found.std(axis=0, ddof=1) / len(found) ** 0.5
    away = np.abs(found.mean(axis=0) - truth)
    # No more than their scatter lets expect, which is small beside them.
    assert (away <= 4 * error + 1e-9).all(), found.mean(axis=0)
    assert (error <= 0.2).all()
    doubled = components(draw(0), "logprob_margin")
    assert doubled == pytest.approx(4 * found[0], rel=0.01, abs=1e-3)


def test_draws_are_of_whole_suites_that_stay_apart():
    """A suite that is drawn twice counts as two, so that components keep their size."""
    rows = grown(TRUTH, 8, 6, 3, 1)
    twice = np.random.default_rng(7).integers(8, size=8)
    assert len(set(twice)) < 8
    apart = []
    for number, suite in enumerate(twice):
        for _, row in rows[rows["suite"] == str(suite)].iterrows():
            named = {key: f"draw {number}: {row[key]}" for key in ("suite", "pair_id", "prefix")}
            apart.append({**row, **named, "source": f"draw {number}"})
    expected = components(pd.DataFrame(apart), "accuracy")
    found = list(redrawn(rows, "accuracy", 2, 7))
    assert found[0] == pytest.approx(expected, rel=1e-3, abs=1e-4)
    assert found[1] != pytest.approx(expected, rel=1e-3)


def judgments() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two pairs in two suites: own, shared and matrix prefixes; log-probabilities of both sides."""
    prefixes = [
        ("none", "none", None, 0, ("a/1", "b/1")),
        ("own/a", MATCHED[0], None, 20, ("a/1",)),
        ("own/a", MATCHED[0], None, 40, ("a/1",)),
        ("own/a", MATCHED[0], None, 80, ("a/1",)),
        ("shared/a", MATCHED[0], None, 20, ("a/1",)),
        ("from/c", FROM_SUITE, "c", 80, ("a/1", "b/1")),
    ]
    rows, scores = [], []
    for number, (prefix, kind, source, length, pairs) in enumerate(prefixes):
        for pair in pairs:
            good, bad = -10.0 + number, -10.0 - number / 2 - (pair == "b/1")
            rows.append((prefix, kind, source, length, pair, pair[0], good > bad))
            scores += [(prefix, length, pair, f"{pair}/good", good)]
            scores += [(prefix, length, pair, f"{pair}/bad", bad)]
    judged = pd.DataFrame(rows, columns=["prefix_id", "kind", "source_suite", "length", "pair_id",
                                         "suite", "correct"])  # fmt: skip
    return judged, pd.DataFrame(
        scores, columns=["prefix_id", "length", "pair_id", "item_id", "logprob"]
    )


def test_changes_are_those_from_no_prefix_at_the_longest_cut_of_all():
    judged, scores = judgments()
    items = scores["item_id"].unique()
    acceptable = pd.Series([item.endswith("good") for item in items], items)
    rows = changes(judged, scores.sample(frac=1, random_state=1), acceptable, 40)
    assert len(rows) == 4
    assert list(rows) == ["kind", "suite", "pair_id", "prefix", "source", *EFFECTS]
    by = rows.set_index(["kind", "prefix"])
    # Without a prefix, a's sentences are equally probable, b's good one by a nat more.
    assert by.loc[(MATCHED[0], "own/a/a")][["accuracy", "logprob_margin"]].tolist() == [1, 3]
    assert by.loc[(MATCHED[0], "shared/a/a"), "logprob_margin"] == 6
    assert by.loc[(FROM_SUITE, "from/c/b")][["accuracy", "logprob_margin"]].tolist() == [0, 7.5]
    assert by.loc[(FROM_SUITE, "from/c/a"), "source"] == "c/a"
    # What own and shared prefixes are when all of a suite's pairs share one counts once.
    twice = pd.concat([judged, judged])
    assert len(changes(twice, scores, acceptable, 40)) == 4


def test_what_is_not_crossed_is_left_out_and_what_is_enough_is_taken():
    rows = grown(TRUTH, 3, 4, 2, 1)
    assert told_apart(rows)
    assert not told_apart(rows[rows["suite"] == "0"])
    assert told_apart(rows[rows["suite"] != "0"])
    own = rows[~rows["prefix"].str.endswith("shared")]
    assert not told_apart(own)
    assert not told_apart(rows[rows["prefix"].str.endswith("shared")])
    assert not told_apart(rows.assign(prefix=range(len(rows))))
    many = pd.DataFrame({"suite": np.repeat(list("ab"), 30), "pair_id": range(60)})
    assert len(some_pairs(pd.concat([many, many]))) == 40
    kept = some_suites(grown(TRUTH, 30, 2, 1, 1))["suite"].unique()
    assert len(kept) == 20
    assert {"0", "9"} <= set(kept)  # the first and the last by name
    assert some_suites(rows)["suite"].nunique() == 3


def test_effects_and_numbers_of_prefixes_that_are_looked_for():
    assert EFFECTS == {"accuracy": (0.05, 0.1, 0.2), "logprob_margin": (0.25, 0.5, 1.0)}
    assert NUMBERS.tolist() == list(range(1, 1001))
    variance, _ = uncertainty(TRUTH, Sample(3, 5, 2), "suite", "crossed")
    assert len(variance) == 1000
    for number in (1, 1000):  # prefixes, each before all five targets
        expected = TRUTH.prefix / number + TRUTH.target / 5 + TRUTH.residual / (5 * number)
        assert variance[number - 1] == pytest.approx(expected)


def test_a_run_s_samples_are_its_medians():
    alone = pd.DataFrame({"suite": [*"aaaaa", *"bbbbbbb", *"ccccccccc"], "pair_id": range(21)})
    found = samples(alone, 3, 10)
    assert set(found) == {*KINDS, FROM_SUITE}
    assert found[UNRELATED] == Sample(3, 7, 3)
    assert found[FROM_SUITE] == Sample(3, 7, 10)


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    small = Variances(0.001, 0.02, 0.02, 0.01)
    rows = pd.concat(
        [grown(small, 12, 8, 4, 3).assign(kind=MATCHED[0]),
         crossed(small._replace(source=0.01), 6, 8, 4, 4).assign(kind=FROM_SUITE),
         grown(small, 1, 8, 4, 3).assign(kind=UNRELATED)]
    )  # fmt: skip
    of_run = {MATCHED[0]: Sample(12, 8, 2), FROM_SUITE: Sample(6, 8, 10)}
    found = prefix_tables(rows, of_run, draws=2, seed=1)
    return tuple(table.assign(model="m", dataset="d", scale="demo") for table in found)


def test_tables_have_every_claim_of_the_kinds_that_are_crossed(tables):
    variances, needed = tables
    as_table(variances, "prefix_variances", "here")
    as_table(needed, "prefixes_needed", "here")
    assert set(needed["kind"]) == {MATCHED[0], FROM_SUITE}
    assert len(needed) == 2 * 2 * 2 * 6
    assert len(variances) == 2 * 2 * 5
    of_kind = variances[(variances["kind"] == FROM_SUITE) & (variances["measure"] == "accuracy")]
    assert of_kind["share"].sum() == pytest.approx(1)
    found = Variances(**of_kind.set_index("component")["variance"])
    for row in needed[
        (needed["kind"] == FROM_SUITE) & (needed["measure"] == "accuracy")
    ].itertuples():
        variance, freedom = uncertainty(found, Sample(6, 8, 10), row.level, row.design)
        # Ten prefixes before eight targets are eight.
        assert row.std_error == pytest.approx(variance[7] ** 0.5)
        assert row.power == pytest.approx(power(row.effect, variance[[7]], freedom[[7]])[0])
        if np.isfinite(row.needed):
            at = int(row.needed) - 1
            both = power(row.effect, variance[[at - 1, at]], freedom[[at - 1, at]])
            assert both[1] >= 0.8
            assert at == 0 or both[0] < 0.8
        if np.isfinite(row.needed_low) and np.isfinite(row.needed_high):
            assert row.needed_low <= row.needed_high
        assert (row.power >= 0.8) == (row.detectable <= row.effect)
    easy = needed.sort_values("effect").groupby(["kind", "measure", "level", "design"])["needed"]
    assert easy.apply(lambda n: n.fillna(np.inf).is_monotonic_decreasing).all()
    assert needed["needed"].notna().any()
    assert needed["needed"].isna().any()


def test_intervals_are_of_redrawn_suites_and_matrices_of_some_suites():
    """With two draws their ends are the lesser and the greater."""
    one = grown(Variances(0.001, 0.02, 0.02, 0.01), 24, 2, 1, 3)
    rows = pd.concat([one.assign(kind=kind) for kind in (MATCHED[0], FROM_SUITE)])
    sample = Sample(24, 20, 2)
    found = prefix_tables(rows, dict.fromkeys([MATCHED[0], FROM_SUITE], sample), draws=2, seed=5)
    variances, needed = (table[table["measure"] == "accuracy"].set_index("kind") for table in found)
    for kind, given in (
        (MATCHED[0], rows[rows["kind"] == MATCHED[0]]),
        (FROM_SUITE, some_suites(rows[rows["kind"] == FROM_SUITE])),
    ):
        again = list(redrawn(given, "accuracy", 2, 5))
        shown = variances.loc[kind].set_index("component")
        assert set(shown["n_rows"]) == {len(given)}
        for component, row in shown.iterrows():
            both = sorted(getattr(one, component) for one in again)
            assert [row["variance_low"], row["variance_high"]] == pytest.approx(both)
        for row in needed.loc[kind].itertuples():
            draws = [uncertainty(one, sample, row.level, row.design) for one in again]
            numbers = sorted(fewest(row.effect, NUMBERS, *draw) for draw in draws)
            expected = [number if np.isfinite(number) else np.nan for number in numbers]
            assert [row.needed_low, row.needed_high] == pytest.approx(expected, nan_ok=True)


def test_nothing_crossed_gives_tables_without_rows():
    rows = grown(TRUTH, 1, 4, 2, 1).assign(kind=UNRELATED)
    variances, needed = prefix_tables(rows, {}, draws=2, seed=1)
    assert len(variances) == len(needed) == 0
    about = {"model": "m", "dataset": "d", "scale": "demo"}
    as_table(variances.assign(**about), "prefix_variances", "here")
    empty = as_table(needed.assign(**about), "prefixes_needed", "here")
    figure = prefixes_needed({"prefix_variances": variances, "prefixes_needed": empty}, Run("demo"))
    assert figure.axes[0].texts[0].get_text() == NOT_CROSSED
    assert figure.get_supxlabel() == "scale: demo"


def test_intervals_of_variances_are_those_of_the_draws():
    again = [TRUTH._replace(prefix=float(n)) for n in range(1, 101)]
    rows = {row["component"]: row for row in variance_rows(TRUTH, again)}
    assert (rows["prefix"]["variance_low"], rows["prefix"]["variance_high"]) == (3, 98)
    assert rows["target"]["share"] == pytest.approx(2 / 5)
    assert np.isnan([row["variance_low"] for row in variance_rows(TRUTH, [])]).all()
    assert np.isnan([row["share"] for row in variance_rows(Variances(0, 0, 0, 0), [])]).all()


@pytest.mark.parametrize(
    ("claim", "needed", "between", "said"),
    [
        (
            Claim("accuracy", "suite", "dealt", 0.1), (7, 1, np.inf), 0.0,
            "To find 10 points in the mean of a suite (20 targets each, power .8): 7 prefixes a "
            "suite (95% interval 1 to none), each target after one of them.",
        ),
        (
            Claim("logprob_margin", "all", "crossed", 0.5), (1, 1, 2), 0.0,
            "To find 0.5 nats in the mean over 30 suites (20 targets each, power .8): 1 prefix a "
            "suite (95% interval 1 to 2), each target after all of them.",
        ),
        (
            Claim("accuracy", "suite", "crossed", 0.05), (np.inf, 9, np.inf), 0.0,
            "No number of prefixes finds 5 points in the mean of a suite (20 targets each, power "
            ".8): more targets.",
        ),
    ],
)  # fmt: skip
def test_advice_says_the_numbers(claim, needed, between, said):
    assert advice(claim, Sample(30, 20, 2), needed, between) == said


def test_what_is_lacking_are_suites_where_they_differ_too_much_for_any_targets():
    claim = Claim("accuracy", "all", "dealt", 0.1)
    # With 30 suites the power is .8 where the standard error is about .1 / 2.9.
    for between, expected in (
        (30 * (0.1 / 3.2) ** 2, "targets"),
        (30 * (0.1 / 2.6) ** 2, "suites"),
    ):
        assert lacking(claim, Sample(30, 20, 2), between) == expected
    # Of three suites, whose mean has two degrees of freedom and the variance 1.
    limit = detectable(1.0, 2.0)
    for effect, expected in ((1.01 * limit, "targets"), (0.99 * limit, "suites")):
        assert lacking(claim._replace(effect=effect), Sample(3, 20, 2), 3.0) == expected


def test_the_figure_has_the_table_s_components_and_powers_and_nothing_is_cut(tables):
    entry = {"title": "Model", "family": "f", "family_title": "F", "parameters": 10}
    run = Run("demo", describe_models({"m": entry}), options={"control": "Wikipedia"})
    variances, needed = tables
    both = {"prefix_variances": variances, "prefixes_needed": needed}
    figure = prefixes_needed(both, run)
    assert len(figure.axes) == 6
    shares, one, over = figure.axes[:3]
    widths = sorted(bar.get_width() for bar in shares.patches)
    expected = sorted(variances.loc[variances["measure"] == "accuracy", "share"])
    assert widths == pytest.approx(expected)
    assert "One suite, n = 8 each" in one.get_title()
    assert "10 points" in over.get_title()
    shown = needed[(needed["measure"] == "accuracy") & (needed["effect"] == EFFECTS["accuracy"][1])]
    for ax, level in ((one, "suite"), (over, "all")):
        for row in shown[shown["level"] == level].itertuples():
            of_run = min(row.n_prefixes, row.n_targets)
            drawn = [
                float(line.get_ydata()[list(line.get_xdata()).index(of_run)])
                for line in ax.lines
                if of_run in list(line.get_xdata()) and len(line.get_xdata()) > 2
            ]
            assert any(value == pytest.approx(row.power) for value in drawn)
    marks = [
        line.get_xdata()[0] for ax in (one, over) for line in ax.lines if line.get_marker() == "o"
    ]
    dealt = shown[(shown["design"] == "dealt") & shown["needed"].notna()]
    assert sorted(marks) == sorted(dealt["needed"])
    assert "scale: demo" in figure.get_supxlabel()
    assert not layout_faults(figure)
    assert re.search(r"^Model, (Matched|Of one).* which needs most: ", recommendation(needed, run))
    plt.close("all")


def test_the_recommendation_is_of_the_kind_that_may_need_most():
    rows = pd.DataFrame({
        "model": "m", "measure": "accuracy", "level": "all", "design": "dealt",
        "effect": EFFECTS["accuracy"][1], "kind": [*MATCHED, *MISMATCHED], "needed": 1.0,
        "needed_high": 1.0, "std_error": [0.02, 0.03, 0.01, 0.01], "advice": [*"abcd"],
    })  # fmt: skip
    run = Run("demo", {"m": {"title": "Model"}}, options={"control": "C"})

    def advised(**changed: Any) -> str:
        return recommendation(rows.assign(**changed), run)[-1]

    assert advised() == "b", "of most error"
    assert advised(needed_high=[1.0, 1.0, 2.0, 1.0]) == "c"
    assert advised(needed_high=[1.0, 1.0, 2.0, None]) == "d", "perhaps no number is enough"
    assert advised(needed_high=[1.0, 1.0, 2.0, None], needed=[2.0, 1.0, 1.0, 1.0]) == "a"
    assert advised(needed=[1.0, 1.0, None, 2.0]) == "c"
    other = rows.assign(level="suite", needed=9.0, advice="x")
    assert recommendation(pd.concat([rows, other], ignore_index=True), run)[-1] == "b"
