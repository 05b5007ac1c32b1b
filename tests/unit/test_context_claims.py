"""Each claim of Sinha et al. (2023): with the paper's effect, without it, and reversed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.context.names import SYNTAXGYM
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.context.effects import STATISTICS
from lingprob.papers.run import Run
from lingprob.scorecard.verdicts import expected_range, judge_claim

PUBLISHED = read_published("context")
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
RUNS = 200
Z = 1.959964
SIZES = {"gpt2": 1.24e8, "opt-125m": 1.25e8, "opt-350m": 3.5e8, "opt-1.3b": 1.3e9,
         "opt-2.7b": 2.7e9, "opt-6.7b": 6.7e9}  # fmt: skip
RUN = Run("paper", {name: {"parameters": size, "family": name.split("-")[0]}
                    for name, size in SIZES.items()})  # fmt: skip
DATASETS = (("blimp", 67), ("syntaxgym", 23), ("crows_pairs", 9))

# Simulated tables of a room: a run is a model if a claim is about each model, else a data set.
Simulated = dict[str, pd.DataFrame]
Simulate = Callable[[np.random.Generator, float, int], Simulated]


def names(prefix: str, n: int) -> np.ndarray:
    """Return n different names."""
    return np.array([f"{prefix}{number}" for number in range(n)])


def accuracy_rows(kind: str, values: np.ndarray, error: float, **columns: object) -> pd.DataFrame:
    """Return rows of `context_accuracy`, the same in all columns that a claim may be about."""
    ends = {
        f"{column}{end}": values + sign * Z * error
        for column in ("delta", "accuracy", "margin")
        for end, sign in (("_low", -1), ("", 0), ("_high", 1))
    }
    described = {
        "level": "all", "group": "all", "perturbation": None, "length": 1000, "n_pairs": 67000,
        "n_suites": 67,
    }  # fmt: skip
    return pd.DataFrame({**ends, **described, "kind": kind, **columns})


def kinds(truths: Callable[[float], dict[str, tuple[float, float]]], **columns: object) -> Simulate:
    """Simulate models whose kinds of prefixes have a true value and a standard error each."""

    def simulate(rng: np.random.Generator, effect: float, n: int) -> Simulated:
        tables = [
            accuracy_rows(kind, rng.normal(truth, error, n), error,
                          **{"model": names("m", n), "dataset": "blimp", **columns})
            for kind, (truth, error) in truths(effect).items()
        ]  # fmt: skip
        return {"context_accuracy": pd.concat(tables, ignore_index=True)}

    return simulate


def one_kind(kind: str, error: float, **columns: object) -> Simulate:
    """Simulate models with one kind of prefixes."""
    return kinds(lambda effect: {kind: (effect, error)}, **columns)


def two_kinds(first: str, second: str, errors: tuple[float, float], base: float) -> Simulate:
    """Simulate models of which one kind exceeds another by the effect."""
    return kinds(lambda effect: {first: (base + effect, errors[0]), second: (base, errors[1])})


def two_rows(kind: str, error: float, first: dict, second: dict, **about: str) -> Simulate:
    """Simulate an effect between rows that differ in some columns, of many models or data sets."""

    def simulate(rng: np.random.Generator, effect: float, n: int) -> Simulated:
        many = {"dataset": names("d", n)} if "dataset" not in about else {"model": names("m", n)}
        tables = [
            accuracy_rows(kind, rng.normal(truth, error, n), error, **{**many, **about, **own})
            for truth, own in ((0.0, first), (effect, second))
        ]
        return {"context_accuracy": pd.concat(tables, ignore_index=True)}

    return simulate


def all_models(kind: str, noise: float, suites: int = 12, sd: float = 0.0157) -> Simulate:
    """Simulate a slope on log10 parameters among the paper's models, families far apart.

    Slopes differ between suites. The mean of the twelve is as uncertain as that of BLiMP's 67 with
    Table 2's standard deviation of 0.037.
    """

    def simulate(rng: np.random.Generator, effect: float, n: int) -> Simulated:
        tables = []
        slopes = rng.normal(effect, sd, (n, suites))
        for model, size in SIZES.items():
            of_model = rng.normal(model == "gpt2", noise, (n, 1))
            values = slopes * np.log10(size) + of_model
            about = {"model": model, "dataset": names("d", n)}
            tables.append(accuracy_rows(kind, values.mean(axis=1), noise, **about))
            tables += [
                accuracy_rows(kind, column, noise, **about, level="suite", group=f"s{number}")
                for number, column in enumerate(values.T)
            ]
        return {"context_accuracy": pd.concat(tables, ignore_index=True)}

    return simulate


def regression(prefixes: str, term: str, error: float) -> Simulate:
    """Simulate coefficients of the mixed regressions with errors by suites."""

    def simulate(rng: np.random.Generator, effect: float, n: int) -> Simulated:
        table = {"model": names("m", n), "dataset": "blimp", "prefixes": prefixes, "term": term,
                 "estimate": rng.normal(effect, error, n), "suite_std_error": error,
                 "suite_df": np.inf, "n": 1000}  # fmt: skip
        return {"context_regression": pd.DataFrame(table)}

    return simulate


def correlation_rows(r: np.ndarray | float, n: int, **columns: object) -> pd.DataFrame:
    """Return rows of `context_correlations`."""
    described = {"dataset": "blimp", "statistic": "pearson", "x": "x"}
    return pd.DataFrame({**described, "value": r, "n": n, **columns})


def drawn(rng: np.random.Generator, r: float, n: int, runs: int) -> np.ndarray:
    """Return correlations of n points with a true r."""
    return np.tanh(rng.normal(np.arctanh(r), 1 / np.sqrt(n - 3), runs))


# Standard deviation of rho if suites are permuted, and of r if they are resampled.
PERMUTED, RESAMPLED = 0.066, 0.015


def with_interval(rows: pd.DataFrame, sd: float) -> pd.DataFrame:
    """Return correlations with intervals of Fisher's z of a given width in deviations."""
    z = np.arctanh(rows["value"].astype(float))
    return rows.assign(value_low=np.tanh(z - Z * sd), value_high=np.tanh(z + Z * sd))


def overlaps(*measures: str, analysis: str = "suites", sd: float = PERMUTED, base: float = 0.0,
             ) -> Simulate:  # fmt: skip
    """Simulate correlations of overlaps, of which the first exceeds the others."""

    def simulate(rng: np.random.Generator, effect: float, runs: int) -> Simulated:
        tables = [
            correlation_rows(np.tanh(rng.normal(np.arctanh(r), sd, runs)), 4422, y="accuracy",
                             model=names("m", runs), analysis=analysis,
                             x=f"{measure} overlap of suites", statistic="spearman")
            for measure, r in zip(measures, [base + effect, base], strict=False)
        ]  # fmt: skip
        return {"context_correlations": with_interval(pd.concat(tables, ignore_index=True), sd)}

    return simulate


def perturbations(kind: str) -> Simulate:
    """Simulate rank correlations of nine points with a true Pearson's r."""

    def simulate(rng: np.random.Generator, effect: float, n: int) -> Simulated:
        x = rng.normal(size=(n, 9))
        y = effect * x + np.sqrt(1 - effect**2) * rng.normal(size=x.shape)
        ranks = [values.argsort(axis=1).argsort(axis=1) - 4.0 for values in (x, y)]
        rho = (ranks[0] * ranks[1]).sum(axis=1) / 60
        return {"context_correlations": correlation_rows(
            rho, 9, model=names("m", n), analysis="perturbations", y=f"delta, {kind}",
            statistic="spearman")}  # fmt: skip

    return simulate


def predictability(kind: str, gpt2: Sequence[float], opt: Sequence[float]) -> Simulated:
    """Return Appendix C's correlations of two models, with the suites of three data sets."""
    return {"context_correlations": pd.concat([
        correlation_rows(r, n, model=[model], dataset=dataset, analysis="metric", y=kind)
        for model, values in (("gpt2", gpt2), ("opt-2.7b", opt))
        for (dataset, n), r in zip(DATASETS, values, strict=True)
    ])}  # fmt: skip


def matrix(suites: dict[str, Sequence[str]], truth: Callable[[str, float], float], sd: float,
           ) -> Simulate:  # fmt: skip
    """Simulate Figure 14: target suites after prefix suites. The same items follow all prefixes,
    so their errors are equal, except between masculine and feminine prefixes."""

    def simulate(rng: np.random.Generator, effect: float, n: int) -> Simulated:
        errors = {end: rng.normal(0, sd, n) for end in (True, False)}
        tables = [
            matrix_rows(truth(prefix, effect) + errors[prefix.endswith("fem")], Z * sd,
                        model=names("m", n), target_suite=target, prefix_suite=prefix)
            for target, prefixes in suites.items() for prefix in prefixes
        ]  # fmt: skip
        return {"context_matrix": pd.concat(tables, ignore_index=True)}

    return simulate


def matrix_rows(values: np.ndarray | float, reach: float, **columns: object) -> pd.DataFrame:
    """Return rows of `context_matrix` whose intervals reach so far either way."""
    signs = (("_low", -1), ("", 0), ("_high", 1))
    ends = {f"relative_improvement{end}": values + sign * reach for end, sign in signs}
    return pd.DataFrame({"dataset": SYNTAXGYM, "n_pairs": 20, **ends, **columns})


def dependency_overlaps(rng: np.random.Generator, effect: float, n: int) -> Simulated:
    """Simulate twenty target suites' overlaps with one other, of many data sets."""
    datasets, suites = np.repeat(names("d", n), 20), np.tile(names("s", 20), n)
    token = rng.normal(0.2, 0.1, 20 * n)
    label = rng.normal(token + effect, 0.1)
    described = {"dataset": datasets, "target_suite": suites, "prefix_suite": "other"}
    return {"context_overlap": pd.concat([
        pd.DataFrame({**described, "measure": measure, "f1": f1})
        for measure, f1 in (("token", token), ("dependency", label))
    ])}  # fmt: skip


WITHOUT_SUITES = {
    name: SCHEMAS[name].empty_table().to_pandas() for name in ("context_accuracy", "context_matrix")
} | {"context_overlap": pd.DataFrame({"dataset": "d", "target_suite": "a", "prefix_suite": "b",
                                      "measure": ["token", "dependency"], "f1": 0.5})}  # fmt: skip
UP, DOWN = "matched_acceptable", "matched_unacceptable"
OTHER_UP, OTHER_DOWN = "mismatched_acceptable", "mismatched_unacceptable"
CROWS = {"dataset": "crows_pairs"}
SMALL_AND_LARGE = ({"model": "gpt2"}, {"model": "opt-6.7b"})
MASCULINE, FEMININE = ([f"reflexive_{where}_{gender}" for where in ("orc", "prep", "src")]
                       for gender in ("masc", "fem"))  # fmt: skip


@dataclass(frozen=True)
class Case:
    """The paper's effect, in the statistic's units, and tables simulated with an effect.

    If the paper prints no effect, one that agrees with its text is taken. Standard errors are those
    of 67 suites of BLiMP whose changes have a standard deviation of 0.3 (matched) or 0.1.
    """

    effect: float
    simulate: Simulate | str


CASES = {
    "matched_acceptable_raises": Case(0.2, one_kind(UP, 0.037)),
    "matched_unacceptable_lowers": Case(-0.65, one_kind(DOWN, 0.037)),
    "matched_exceeds_mismatched_acceptable": Case(
        0.17, two_kinds(UP, OTHER_UP, (0.037, 0.012), 0.03)
    ),
    "matched_exceeds_mismatched_unacceptable": Case(
        -0.5, two_kinds(DOWN, OTHER_DOWN, (0.037, 0.012), -0.15)
    ),
    "unacceptable_exceeds_acceptable": Case(
        -0.25, kinds(lambda e: {"acceptable": (0.1, 0.02), "unacceptable": (e - 0.1, 0.025)})
    ),
    "below_chance": Case(0.2, one_kind(DOWN, 0.037)),
    "unrelated_changes_nothing": Case(0, one_kind("unrelated", 0.012)),
    "unrelated_length_changes_nothing": Case(0, regression("unrelated", "log_length", 0.02)),
    # The least z at which p is still below the paper's bound.
    "length_by_acceptability": Case(3.09, regression("related", "log_length:acceptable", 1)),
    "length_by_match_by_acceptability": Case(
        2.70, regression("related", "log_length:matched:acceptable", 1)
    ),
    "matched_acceptable_raise_by_up_to_20": Case(0.15, one_kind(UP, 0.037)),
    "acceptable_raise_by_at_most_12": Case(0.1, one_kind("acceptable", 0.02)),
    "matched_acceptable_raise_by_15": Case(0.2, one_kind(UP, 0.037)),
    "mismatched_acceptable_raise_by_at_most_5": Case(0.03, one_kind(OTHER_UP, 0.012)),
    "unacceptable_lower_by_30_to_40": Case(-0.35, one_kind("unacceptable", 0.025)),
    "matched_unacceptable_lower_by_50_to_80": Case(-0.65, one_kind(DOWN, 0.037)),
    "mismatched_unacceptable_lower_by_at_most_20": Case(-0.15, one_kind(OTHER_DOWN, 0.012)),
    # Table 2's slope and the part of it that remains.
    "scale_amplifies_unacceptable": Case(-0.04, all_models("unacceptable", 0.01)),
    "scale_spares_acceptable": Case(0, all_models("acceptable", 0.01)),
    "opt_falls_below_gpt2": Case(-0.13, two_rows("unacceptable", 0.025, *SMALL_AND_LARGE)),
    "opt_gains_above_gpt2": Case(0.05, two_rows(UP, 0.037, *SMALL_AND_LARGE)),
    "gpt2_recovers": Case(0.05, two_rows("unacceptable", 0.025, {"length": 500}, {}, model="gpt2")),
    "perturbed_acceptable_still_raise": Case(0.3, one_kind(UP, 0.067, perturbation="all")),
    "perturbed_unacceptable_still_lower": Case(-0.6, one_kind(DOWN, 0.067, perturbation="all")),
    "similarity_raises_acceptable": Case(0.93, perturbations(UP)),
    "similarity_lowers_unacceptable": Case(-0.7, perturbations(DOWN)),
    "mismatched_stereotypes_change_nothing": Case(0, one_kind(OTHER_DOWN, 0.015, **CROWS)),
    "stereotypes_lower": Case(-0.1, one_kind(DOWN, 0.03, **CROWS)),
    "antistereotypes_raise": Case(0.1, one_kind(UP, 0.03, **CROWS)),
    "antistereotypes_reach_balance": Case(0.6, one_kind(UP, 0.03, **CROWS)),
    "gpt2_predictable_acceptable": Case(0.26, UP),
    "gpt2_predictable_unacceptable": Case(0.27, DOWN),
    "prefix_overlap_tells_nothing": Case(0, overlaps("token", analysis="pairs", sd=RESAMPLED)),
    "suite_overlap_raises": Case(0.11, overlaps("dependency")),
    "suite_overlap_is_weak": Case(0.18, overlaps("token")),
    "tokens_above_dependencies": Case(0.07, overlaps("token", "dependency", base=0.11)),
    "dependencies_overlap_more": Case(0.2, dependency_overlaps),
    "any_prefix_helps": Case(
        50, matrix({"fgd_subject": names("s", 22)}, lambda prefix, e: e, 25)
    ),
    "masculine_spoils_feminine": Case(
        -52.6, matrix({"reflexive_orc_fem": MASCULINE}, lambda prefix, e: e, 20)
    ),
    "feminine_helps_feminine": Case(
        270, matrix({name: [*MASCULINE, *FEMININE] for name in FEMININE},
                    lambda prefix, e: e * prefix.endswith("fem"), 100)
    ),
    # No margin is printed: five standard errors.
    "margin_falls_with_length": Case(-1, two_rows(DOWN, 0.2, {"length": 32}, {}, dataset="blimp")),
    "margin_unacceptable_below_acceptable": Case(-1, two_kinds(DOWN, UP, (0.2, 0.2), 1)),
    "margin_related_below_unrelated": Case(-1, two_kinds(UP, "unrelated", (0.2, 0.2), 1)),
}  # fmt: skip


# A correlation cannot go as far beyond 0 as low power demands.
REVERSED = {
    "gpt2_predictable_acceptable": -0.5,
    "gpt2_predictable_unacceptable": -0.5,
    "similarity_lowers_unacceptable": 0.95,
}


def verdicts(name: str, rng: np.random.Generator, effect: float, runs: int) -> pd.Series:
    """Return the share of each verdict on a claim over simulated runs."""
    case = CASES[name]
    if isinstance(case.simulate, str):
        # Each data set's r of the models, half the difference either side of their mean.
        middle = 0.72 if case.simulate == UP else 0.655
        gpt2, opt = (
            np.column_stack([drawn(rng, middle + side * effect / 2, n, runs) for _, n in DATASETS])
            for side in (1, -1)
        )
        frame = predictability(case.simulate, gpt2[0], opt[0])["context_correlations"]
        values = np.hstack([gpt2, opt])
        tables = ({"context_correlations": frame.assign(value=row)} for row in values)
    else:
        tables = [case.simulate(rng, effect, runs)]
    found = [
        judge_claim(estimate, CLAIMS[name]["expected"])[0]
        for simulated in tables
        for _, estimate in STATISTICS[name](WITHOUT_SUITES | simulated, RUN)
    ]
    assert len(found) == runs
    return pd.Series(found).value_counts(normalize=True).reindex(
        ["supported", "contradicted", "undecided"], fill_value=0.0
    )  # fmt: skip


def test_no_claim_goes_without_a_case():
    assert set(CASES) == set(CLAIMS) == set(STATISTICS)


@pytest.mark.parametrize("name", CLAIMS)
def test_without_effect_claims_are_rarely_supported(name):
    limits = [limit for limit in expected_range(CLAIMS[name]["expected"]) if np.isfinite(limit)]
    for limit in limits:
        shares = verdicts(name, np.random.default_rng(7), limit, RUNS)
        assert shares["supported"] <= 0.05


@pytest.mark.parametrize("name", CLAIMS)
def test_with_the_effect_claims_are_supported_or_underpowered(name):
    power = CLAIMS[name].get("power")
    runs = RUNS if power is None or "scale" in name else 500
    shares = verdicts(name, np.random.default_rng(8), CASES[name].effect, runs)
    if power is None:
        assert shares["supported"] >= 0.8
    else:
        assert shares["supported"] == pytest.approx(power, abs=0.06)
        assert power < 0.8


@pytest.mark.parametrize("name", CLAIMS)
def test_with_its_effect_reversed_a_claim_is_contradicted(name):
    """Beyond the limit as far as the effect is on its other side, and more if power is low."""
    low, high = expected_range(CLAIMS[name]["expected"])
    effect = CASES[name].effect
    if np.isfinite(low) and np.isfinite(high):
        effect = high + 2 * (high - low)
    else:
        limit = low if np.isfinite(low) else high
        effect = limit - (5 if "power" in CLAIMS[name] else 1) * (effect - limit)
    effect = REVERSED.get(name, effect)
    shares = verdicts(name, np.random.default_rng(9), effect, 60)
    assert shares["contradicted"] >= 0.8
    assert shares["supported"] == 0


@pytest.mark.parametrize(
    ("suites", "error", "verdict"),
    [(6, 0.01, "supported"), (5, 0.01, "undecided"), (2, 0.01, "undecided"),
     (67, 0.0, "undecided")],
)  # fmt: skip
def test_few_suites_or_suites_all_alike_decide_nothing(suites, error, verdict):
    table = accuracy_rows(UP, np.array([0.2]), error, model="m", dataset="d").assign(
        n_suites=suites
    )
    (found,) = STATISTICS["matched_acceptable_raises"]({"context_accuracy": table}, RUN)
    assert judge_claim(found[1], "> 0")[0] == verdict
