"""Statistics of claims by hand: limits and ends of intervals, which simulations do not check."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lingprob.papers.context import contrasts
from lingprob.papers.context import effects as context
from lingprob.papers.context.effects import STATISTICS, coefficient
from lingprob.papers.leakage import overlap_claims as overlap
from lingprob.papers.leakage import reading_claims as reading
from lingprob.papers.leakage.overlap_claims import overlap_quantities
from lingprob.papers.leakage.trends import size_trends
from lingprob.papers.morcela import claims as morcela
from lingprob.papers.morcela.trends import points_of
from lingprob.papers.run import Run

RUN = Run("demo", {})


def ends(found: Any) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def fit(model: str, linking_function: str, **columns: float) -> dict[str, Any]:
    about = {"model": model, "dataset": "d", "linking_function": linking_function, "n": 50}
    about |= {"rating_source": "human", "logprob_slope_low": 0.1, "logprob_slope_high": 0.2}
    return {**about, "default_convention": True, **columns}


def test_two_units_of_bic_are_no_evidence():
    fits = pd.DataFrame([fit("m", "morcela", bic=10.0), fit("m", "morcela_beta_1", bic=13.5)])
    ((name, found),) = morcela.bic_difference({"linking_functions": fits}, RUN)
    assert (name, ends(found), found.note) == ("m/d", (3.5, 1.5, 5.5), morcela.RULE)
    assert not [*morcela.bic_difference({"linking_functions": fits.iloc[:1]}, RUN)]


def test_differences_from_people_use_both_intervals():
    halves = pd.DataFrame({"dataset": ["d", "d"], "definition": ["equal_halves", "uneven_groups"],
                           "r": [0.8, 0.1], "r_low": [0.75, 0], "r_high": [0.9, 0.2]})  # fmt: skip
    fits = pd.DataFrame([fit("m", "morcela", r=0.1, r_cv=0.6, r_cv_low=0.55, r_cv_high=0.7)])
    tables = {"linking_functions": fits, "intergroup_correlation": halves}
    ((_, found),) = morcela.people_above_models(tables, RUN)
    assert ends(found) == pytest.approx((0.2, 0.05, 0.35))
    tables["linking_functions"] = fits.assign(dataset="e")
    assert not [*morcela.people_above_models(tables, RUN)]


def test_points_of_models_are_their_own_columns():
    names = ["logprob", "slor", "morcela_gamma_0", "morcela_beta_1", "morcela"]
    fits = pd.DataFrame([
        fit("m", name, r_cv=place / 10, beta=place + 1.0, gamma=place + 2.0)
        for place, name in enumerate(names, start=1)
    ])  # fmt: skip
    run = Run("demo", {"m": {"family": "f", "parameters": 10**8}})
    slopes = pd.DataFrame({"model": ["m", "m"], "slope": [0.7, 0.9]})  # after two start tokens
    tables = {"linking_functions": fits, "frequency_slopes": slopes}
    points = points_of(tables, run)["d"].iloc[0].to_dict()
    assert points.pop("family") == "f"
    assert points == pytest.approx({
        "logprob": 0.1, "slor": 0.2, "r_beta_alone": 0.3, "r_gamma_alone": 0.4, "r": 0.5,
        "beta": 6, "gamma": 7, "beta_alone": 4, "gamma_alone": 6, "gain": 0.3, "gap": 0.1,
        "size": 8, "frequency_slope": 0.7,
    })  # fmt: skip
    # Of three functions whose log-probability may have no slope at all.
    few = fits[fits["linking_function"].isin(["slor", "morcela_beta_1", "morcela"])]
    tables = {"linking_functions": few.assign(logprob_slope_low=-1.0)}
    points = points_of(tables, Run("demo", {"m": {"family": "f", "parameters": None}}))["d"]
    assert points[["r", "gain", "gap"]].iloc[0].tolist() == pytest.approx([0.5, 0.3, 0.1])
    assert points["size"].isna().all()
    assert {"beta", "gamma"}.isdisjoint(points)


def passages(*rows: tuple[str, int, int, int]) -> pd.DataFrame:
    """Published overlaps with the Pile: corpus, tokens, tokens of the longest, its frequency."""
    table = pd.DataFrame(rows, columns=["corpus", "article_len", "overlap_len", "overlap_freq"])
    return table.assign(searched="the_pile", origin="published", article_num=range(len(rows)))


def of(statistic: Any, table: pd.DataFrame) -> list[Any]:
    return [found for _, found in statistic({"overlap": table}, RUN)]


def test_limits_of_overlaps_follow_the_paper_s_words():
    """Less than half; above 100 tokens; half of a Provo passage or more, under ten times."""
    table = passages(("geco", 20, 10, 3), ("geco", 20, 9, 3), ("geco", 200, 100, 8),
                     ("geco", 300, 101, 5), ("provo", 20, 10, 9), ("provo", 20, 11, 10),
                     ("provo", 20, 9, 1), ("provo", 30, 30, 1))  # fmt: skip
    table["covered"] = table["overlap_len"] >= 11
    long = "long_overlaps_occur_at_most_twice"
    for name, value, note in (
        ("overlaps_are_short", 3 / 8, "3 of 8 passages"),
        (long, 5, "1 overlaps of more than 100 tokens"),
        ("overlaps_of_provo_are_rare", 2 / 3, "2 of 3 passages"),
        ("some_of_provo_whole", 2, "of 4 passages, 1 of them complete"),
        ("nothing_whole_outside_provo", 2, "of 4 passages, 0 of them complete"),
    ):
        (found,) = of(overlap.STATISTICS[name], table)
        assert (found.value, found.note) == (value, note)
    assert not of(overlap.STATISTICS[long], table[table["overlap_len"] <= 100])


def test_the_shortest_improbable_overlap_is_of_the_pile():
    table = passages(("geco", 90, 30, 1), ("geco", 90, 14, 1), ("provo", 90, 12, 1)).assign(
        below_threshold_compat=[True, True, False], below_threshold_corrected=[True, None, None]
    )
    nats, both = of(overlap.shortest_improbable, table)
    assert (nats.value, nats.note) == (14, "2 of 3 overlaps flagged")
    assert (both.value, both.note) == (30, "1 of 3 overlaps flagged")
    assert not of(overlap.shortest_improbable, table.assign(searched="owt"))


def test_numbers_of_overlaps_and_of_the_sequence():
    table = passages(("geco", 600, 10, 3), ("geco", 700, 9, 8), ("geco", 698, 17, 5),
                     ("provo", 2095, 9, 3)).assign(
        below_threshold=[True, False, True, False], below_threshold_compat=True,
        below_threshold_corrected=[False, False, False, True],
    )  # fmt: skip
    ours = table.assign(origin="ours", searched="pile_pythia", article_len=[600, 700, 698, 2096])
    quantities = overlap_quantities(pd.concat([table, ours]))
    expected = {
        # The passages with a separator between them: two windows of 2,048 tokens.
        ("published/fine_tuning_sequence", "tokens"): 4096,
        ("published/fine_tuning_sequence", "examples"): 2,
        ("geco", "same_length"): 3, ("provo", "same_length"): 0, ("provo", "tokens"): 2096,
        ("geco", "passages"): 3, ("the_pile", "same_flag"): 2, ("the_pile", "flagged"): 4,
        ("the_pile/geco", "median_overlap"): 10, ("the_pile/geco", "longest_overlap"): 17,
        ("the_pile/geco", "highest_frequency"): 8, ("the_pile/provo", "median_overlap"): 9,
    }  # fmt: skip
    assert {key: quantities[key].value for key in expected} == expected
    assert quantities["the_pile", "flagged"].note == "1 with natural logarithms on both sides"


MODELS = {f"m{n}": {"family": "trained", "parameters": 10 ** (7 + n)} for n in range(3)}


def trends() -> pd.DataFrame:
    """Three models with 8, 6 and 2 nats per word. Four passages are alike."""
    nats = [8.0, 6.0, 2.0]
    deltas = pd.DataFrame({"model": list(MODELS), "delta": [3.0, 5.0, 4.0], "dataset": "d",
                           "rt_source": "human", "context": "passage", "corrected": True,
                           "word_perplexity": np.exp(nats), "scale": "demo"})  # fmt: skip
    gains = pd.DataFrame([
        {"dataset": "d", "convention": "", "model": model, "of": "log_perplexity",
         "subject": "mean", "item": f"p{item}", "nats": 5 * value, "n": 5}
        for model, value in zip(MODELS, nats, strict=True) for item in range(4)
    ])  # fmt: skip
    return size_trends(deltas, gains, None, MODELS, draws=50, seed=0)


def test_a_log_perplexity_slope_is_per_word():
    found = trends().set_index(["of", "on"])
    row = found.loc[("log_perplexity", "parameters")]
    assert (row["slope"], row["slope_low"], row["slope_high"]) == pytest.approx((-3, -3, -3))
    assert (row["items"], row["resampled"], row["models"]) == (4, "passages", 3)
    delta = found.loc[("delta", "parameters")]
    assert delta["slope"] == pytest.approx(0.5)
    assert pd.isna(delta["slope_low"])
    # On the logarithm of perplexity, to the base of ten.
    x = np.array([8, 6, 2]) / np.log(10)
    expected = stats.linregress(x, [3, 5, 4])
    on_perplexity = found.loc[("delta", "word_perplexity")]
    assert on_perplexity[["slope", "std_error", "r", "p"]].tolist() == pytest.approx(
        [expected.slope, expected.stderr, expected.rvalue, expected.pvalue]
    )


def test_a_trend_without_items_has_its_points_interval():
    ((name, found),) = reading.STATISTICS["fit_falls_with_size"]({"reading_trends": trends()}, RUN)
    error = stats.linregress([7, 8, 9], [3, 5, 4]).stderr
    reach = stats.t.ppf(0.975, 1) * error
    assert name == "d/trained, passage context"
    assert ends(found) == pytest.approx((0.5, 0.5 - reach, 0.5 + reach))
    assert (found.n, found.note) == (3, "3 models")


def test_shares_of_partitions_are_counted():
    counts = pd.DataFrame({"dataset": "d", "fate": ["fit", "exploratory", "held_out", "fit"],
                           "rows": [30, 20, 9, 10]})  # fmt: skip
    ((_, found),) = reading.exploratory_share({"reading_counts": counts}, RUN)
    assert ends(found) == (0.5, 0.5, 0.5)
    others = [counts[counts["fate"] != fate] for fate in ("exploratory", "fit")]
    for without in (*others, counts.assign(rows=[0, 20, 9, 0])):
        assert not [*reading.exploratory_share({"reading_counts": without}, RUN)]


def test_gains_are_judged_by_the_tables_interval():
    deltas = pd.DataFrame(
        [("d", True, "human"), ("e", False, "simulated")],
        columns=["dataset", "singular", "rt_source"],
    ).assign(model="m", delta=9.0, delta_low=5.0, delta_high=15.0)
    found = dict(reading.surprisal_predicts({"delta_log_likelihood": deltas}, RUN))
    assert (ends(found["m/d"]), found["m/d"].note) == ((9, 5, 15), "singular fit")
    assert (ends(found["m/e"]), found["m/e"].note) == ((9, 5, 15), "simulated reading times")


def slopes(*rows: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Trends of ΔLogLik over three trained models that are finished, with changes."""
    usual = {"dataset": "d", "rt_source": "human", "context": "passage", "corrected": True,
             "convention": "", "family": "trained", "training_step": None, "fine_tuning_steps": 0,
             "of": "delta", "on": "parameters", "models": 3, "slope": 9.0, "slope_low": np.nan,
             "slope_high": np.nan, "std_error": 1.0, "change": np.nan, "change_low": np.nan,
             "change_high": np.nan, "items": 10, "resampled": "subjects",
             "largest": 1e8}  # fmt: skip
    return {"reading_trends": pd.DataFrame([{**usual, **row} for row in rows])}


def values(found: Any) -> dict[str, float]:
    return {name: one.value for name, one in found}


def test_trends_separate_family_state_context_and_correction():
    """Neither those on other things nor those of models kept before their training was done."""
    changed = {"change": -2.0, "change_low": -3.0, "change_high": -1.0, "fine_tuning_steps": 1}
    imported = {"family": "gpt2", "context": "imported"}
    tables = slopes(
        {"slope": 1.0},
        {"slope": 2.0, **changed},
        {"of": "log_perplexity", **changed, "change": 0.5, "change_high": 0.75},
        {"on": "word_perplexity"},
        {"training_step": 40},
        {**imported, "slope": 3.0, "corrected": False, "convention": "compat"},
        {**imported, "slope": 4.0, "corrected": True},
        {**imported, "slope": 5.0, "corrected": None},
    )
    tuned = "d/trained, passage context, 1 fine-tuning steps"
    found = values(reading.STATISTICS["fit_falls_with_size"](tables, RUN))
    assert found == {"d/trained, passage context": 1, tuned: 2}
    assert values(reading.STATISTICS["fit_falls_with_size_of_pretrained_models"](tables, RUN)) == {
        "d/gpt2, imported context, uncorrected, compat": 3,
        "d/gpt2, imported context, corrected": 4,
        "d/gpt2, imported context": 5,
    }
    ((name, change),) = reading.STATISTICS["leakage_steepens_the_fall"](tables, RUN)
    assert (name, change.note) == (tuned, "3 models, 10 subjects")
    assert ends(change) == (-2, -3, -1)
    ((_, small),) = reading.STATISTICS["fit_falls_with_size"](slopes({"largest": 2e6}), RUN)
    assert small.note == "3 models; smaller than the paper's: at most 2,000,000 parameters"
    found = values(reading.trends("log_perplexity", "change", trained=True)(tables, RUN))
    assert found == {tuned: 0.5}


def test_coefficients_have_95_percent_intervals_over_suites():
    rows = pd.DataFrame({"model": ["m", "m"], "dataset": "blimp", "n": 30, "prefixes": "related",
                         "term": ["t", "u"], "estimate": [2.0, 9], "suite_std_error": [0.5, 1],
                         "suite_df": [np.inf, 4], "std_error": 7.0})  # fmt: skip
    for term, value, reach in (("t", 2, 0.979982), ("u", 9, 2.776445)):  # normal, and t of 4
        ((name, found),) = coefficient("related", term)({"context_regression": rows}, RUN)
        assert ends(found) == pytest.approx((value, value - reach, value + reach), abs=1e-6)
        assert (name, found.n, found.note) == ("m/blimp", 30, "30 judgments")
    unknown = rows[:1].assign(suite_std_error=np.nan)
    ((_, found),) = coefficient("related", "t")({"context_regression": unknown}, RUN)
    assert (np.isnan(found.low), found.note) == (True, "no standard error over suites")
    others = [rows.assign(estimate=9.0, prefixes="unrelated"),
              rows.assign(estimate=9.0, dataset="crows_pairs")]  # fmt: skip
    missing = [one.assign(estimate=np.nan, model="n") for one in (rows[:1], *others)]
    more = {"context_regression": pd.concat([rows, *others, *missing])}
    found = dict(coefficient("related", "t")(more, RUN))
    assert found.keys() == {"m/blimp", "n/blimp"}
    assert found["m/blimp"].value == 2
    assert np.isnan(ends(found["n/blimp"])).all()


def changes(*rows: tuple[str, str, str, int, float]) -> dict[str, pd.DataFrame]:
    """Changes in accuracy, give or take 0.1: model, data set, kind of prefixes, tokens, value."""
    columns = ["model", "dataset", "kind", "length", "delta"]
    table = pd.DataFrame(rows, columns=columns).assign(
        level="all", group="all", perturbation=None, n_suites=9, n_pairs=90,
        delta_low=lambda t: t["delta"] - 0.1, delta_high=lambda t: t["delta"] + 0.1,
    )  # fmt: skip
    return {"context_accuracy": table}


UP, OTHER = "matched_acceptable", "mismatched_acceptable"


def test_sums_over_kinds_need_all_of_them():
    tables = changes(("m", "d", UP, 10, 9.0), ("m", "d", UP, 20, 0.5), ("m", "d", OTHER, 20, 0.2),
                     ("n", "d", UP, 20, 0.7), ("m", "crows_pairs", UP, 20, 0.4),
                     ("m", "crows_pairs", OTHER, 20, 0.3))  # fmt: skip
    ((name, found),) = context.weighted({UP: 1, OTHER: -1})(tables, RUN)
    reach = np.hypot(0.1, 0.1)
    assert name == "m/d"
    assert ends(found) == pytest.approx((0.3, 0.3 - reach, 0.3 + reach))
    assert (found.n, found.note) == (9, "9 suites, 20 tokens")
    suite = tables["context_accuracy"].assign(level="suite", length=30, delta=0.45)
    more = {"context_accuracy": pd.concat([tables["context_accuracy"], suite])}
    assert dict(context.weighted({UP: 1, OTHER: -1})(more, RUN)) == {name: found}
    by = dict(context.weighted({UP: 2}, context.only("crows_pairs"))(tables, RUN))
    assert set(by) == {"m/crows_pairs"}
    assert ends(by["m/crows_pairs"]) == pytest.approx((0.8, 0.6, 1.0))


def test_one_suite_counts_pairs_and_margins_need_values():
    table = changes(("m", "d", UP, 10, 0.3), ("m", "d", UP, 20, 0.5))["context_accuracy"]
    for end in ("", "_low", "_high"):
        table[f"margin{end}"] = table[f"delta{end}"].where(table["length"] == 10)
    tables = {"context_accuracy": table.assign(n_suites=1)}
    for column, value, length in (("delta", 0.5, 20), ("margin", 0.3, 10)):
        ((_, found),) = context.weighted({UP: 1}, column=column)(tables, RUN)
        assert (found.n, found.note) == (90, f"90 pairs, {length} tokens")
        assert ends(found) == pytest.approx((value, value - 0.1, value + 0.1))


GRAMMAR, PLAIN, STEREOTYPES = ("blimp", "syntaxgym"), ("blimp",), ("crows_pairs",)
PAPER = (*GRAMMAR, *STEREOTYPES)
# Terms of GPT-2's changes that claims add up, in hundredths, and their data sets.
SUMS = {
    "matched_acceptable_raises": (1, GRAMMAR), "matched_unacceptable_lowers": (2, GRAMMAR),
    "matched_exceeds_mismatched_acceptable": (1 - 4, GRAMMAR),
    "matched_exceeds_mismatched_unacceptable": (2 - 8, GRAMMAR),
    "unacceptable_exceeds_acceptable": (32 + 64, GRAMMAR), "below_chance": (100 + 2, PLAIN),
    "unrelated_changes_nothing": (16, GRAMMAR), "matched_acceptable_raise_by_up_to_20": (1, PAPER),
    "acceptable_raise_by_at_most_12": (32, PLAIN), "matched_acceptable_raise_by_15": (1, PLAIN),
    "mismatched_acceptable_raise_by_at_most_5": (4, PLAIN),
    "unacceptable_lower_by_30_to_40": (64, PLAIN),
    "matched_unacceptable_lower_by_50_to_80": (2, PLAIN),
    "mismatched_unacceptable_lower_by_at_most_20": (8, PLAIN),
    "opt_falls_below_gpt2": ((3 - 1) * 64, GRAMMAR), "opt_gains_above_gpt2": ((3 - 1) * 1, GRAMMAR),
    "gpt2_recovers": (64 - 5 * 64, PLAIN), "perturbed_acceptable_still_raise": (10, GRAMMAR),
    "perturbed_unacceptable_still_lower": (20, GRAMMAR),
    "mismatched_stereotypes_change_nothing": (8, STEREOTYPES),
    "stereotypes_lower": (2, STEREOTYPES), "antistereotypes_raise": (1, STEREOTYPES),
    "antistereotypes_reach_balance": (100 + 1, STEREOTYPES),
    "margin_falls_with_length": (2 - 7 * 2, PLAIN),
    "margin_unacceptable_below_acceptable": (2 - 1, PLAIN),
    "margin_related_below_unrelated": (1 - 16, PLAIN),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_claims_sum_their_own_prefixes_and_data_sets(name):
    """Kinds change by 1, 2, 4, ... hundredths, so that a sum identifies its terms."""
    kinds = (UP, "matched_unacceptable", OTHER, "mismatched_unacceptable", "unrelated",
             "acceptable", "unacceptable")  # fmt: skip
    deltas = changes(*((model, dataset, kind, length, times * factor * 2**place / 100)
                       for model, times in (("gpt2", 1), ("opt-6.7b", 3)) for dataset in PAPER
                       for place, kind in enumerate(kinds)
                       for length, factor in ((100, 1), (50, 5), (10, 7))))  # fmt: skip
    deltas = deltas["context_accuracy"]
    tenfold = {f"delta{end}": deltas[f"delta{end}"] + 9 * deltas["delta"]
               for end in ("", "_low", "_high")}  # fmt: skip
    perturbed = deltas.assign(perturbation="all", **tenfold)
    table = pd.concat([deltas, perturbed], ignore_index=True)
    for column, level in (("accuracy", 1), ("margin", 3)):
        for end in ("", "_low", "_high"):
            table[column + end] = level + table[f"delta{end}"]
    every = values(STATISTICS[name]({"context_accuracy": table}, RUN))
    found = {about.split("/")[1]: value for about, value in every.items() if "gpt2" in about}
    hundredths, datasets = SUMS[name]
    assert found == pytest.approx(dict.fromkeys(datasets, hundredths / 100))


def test_length_effects_use_a_long_and_short_prefix():
    tables = changes(*((model, data, UP, length, length / 100)
                       for model in "mn" for data in ("d", "crows_pairs", "syntaxgym")
                       for length in (10, 40, 70, 100)),
                     ("m", "d", OTHER, 100, 0.0), ("m", "e", UP, 30, 0.3))  # fmt: skip
    found = values(context.over_lengths(UP, 0.6)(tables, RUN))
    assert found == pytest.approx({"m/d": 0.3, "n/d": 0.3})
    ((name, found),) = context.over_lengths(UP, 0, model="n")(tables, RUN)
    reach = np.hypot(0.1, 0.1)
    assert name == "n/d"
    assert ends(found) == pytest.approx((0.9, 0.9 - reach, 0.9 + reach))


def test_models_are_compared_on_common_data_sets():
    tables = changes(*((model, data, UP, 10, value)
                       for model, data, value in (("a", "d", 0.1), ("b", "d", 0.3), ("a", "e", 0.1),
                                                  ("b", "e", 0.5), ("a", "f", 1), ("c", "e", 9),
                                                  ("a", "crows_pairs", 1),
                                                  ("b", "crows_pairs", 2))))  # fmt: skip
    found = values(context.between_models(UP, "b", "a")(tables, RUN))
    assert found == pytest.approx({"b less a/d": 0.2, "b less a/e": 0.4})


def test_size_trends_vary_over_models_and_suites():
    sizes, values = dict(zip("abce", (6, 7, 9, 10), strict=True)), (0.1, 0.3, 0.8, 0.9)
    rows = [(model, "d", UP, 10, value) for model, value in zip(sizes, values, strict=True)]
    few = [(model, data, UP, 10, 1.0) for model in "abc" for data in ("e", "crows_pairs")]
    tables = changes(*rows, *few)
    models = {name: {"parameters": 10**size, "family": "f"} for name, size in sizes.items()}
    found = dict(context.over_scale(UP)(tables, Run("demo", models)))
    line = stats.linregress(list(sizes.values()), values)
    assert (found["all models/d"].value, found["all models/d"].n) == (pytest.approx(line.slope), 4)
    assert np.isnan(found["all models/e"].value), "a slope of three has one degree of freedom"
    assert set(found) == {"all models/d", "all models/e"}
    # With one suite, the variation between suites is unknown.
    assert np.isnan([found["all models/d"].low, found["all models/d"].high]).all()
    assert "one suite" in found["all models/d"].note
    # A model without a size, or trained here, is in no trend. In a fourth of the draws, all pairs
    # are of one of the two suites.
    trained = {"parameters": 10**8, "family": "f", "source": "trained"}
    unsized = {**models, "d": {"parameters": None, "family": "f"}, "t": trained}
    more = changes(("d", "d", UP, 10, 9.0), ("t", "d", UP, 10, 9.0))["context_accuracy"]
    slopes = {"s": line.slope + 0.2, "t": line.slope - 0.2}
    suites = pd.concat([
        changes(*((model, "d", UP, length, slope * size * (3 if length < 10 else 1))
                  for model, size in sizes.items() for length in (5, 10)))[
            "context_accuracy"].assign(level="suite", group=suite, n_pairs=pairs)
        for (suite, slope), pairs in zip(slopes.items(), (30, 10), strict=True)
    ])  # fmt: skip
    every = pd.concat([tables["context_accuracy"], more, suites], ignore_index=True)
    together = {"context_accuracy": every}
    found = dict(context.over_scale(UP)(together, Run("demo", unsized)))["all models/d"]
    assert (found.value, found.n) == (pytest.approx(line.slope), 4)
    made = {name: {**look, "source": "trained"} for name, look in models.items()}
    assert not dict(context.over_scale(UP)(together, Run("demo", made)))
    alone = line.stderr * stats.t.ppf(0.975, 2)
    # Draws' slopes: +0.2 and -0.2 in a fourth each, else (30 x 0.2 - 10 x 0.2) / 40 = +0.1.
    ends = found.value - np.hypot(alone, 0.3), found.value + np.hypot(alone, 0.1)
    assert (found.low, found.high) == pytest.approx(ends)


def test_means_count_shared_suites_by_pairs():
    rows = [("a", "u", 0.9, 20), ("a", "t", 0.5, 10), ("a", "s", 0.1, 30), ("a", "v", 9.0, 20),
            ("b", "s", 0.3, 30), ("b", "t", -0.2, 10), ("b", "u", 0.2, 20)]  # fmt: skip
    suites = pd.DataFrame(rows, columns=["model", "group", "delta", "n_pairs"])
    both = [suites[suites["model"] == name] for name in "ba"]
    found = contrasts.resampled_means(*contrasts.shared_suites(both, "delta"))
    counts = np.random.default_rng(0).multinomial(3, [1 / 3] * 3, 1000)
    values, pairs = np.array([[0.3, -0.2, 0.2], [0.1, 0.5, 0.9]]), np.array([30, 10, 20])
    expected = [[np.average(one, weights=count * pairs) for one in values] for count in counts]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("statistic", "name", "less"),
    [
        (context.weighted({UP: 1, OTHER: -1}), "m/d", ("m", OTHER, 20)),
        (context.over_lengths(UP, 0.5), "m/d", ("m", UP, 10)),
        (context.between_models(UP, "m", "n"), "m less n/d", ("n", UP, 20)),
    ],
)
def test_contrasts_resample_shared_suites_once(statistic, name, less):
    """Suites differ much and the differences within them little, in no order and with gaps."""
    random = np.random.default_rng(1)
    level, pairs = random.normal(0, 0.3, 12), random.integers(5, 30, 12)
    keys = [("m", UP, 20), ("m", OTHER, 20), ("m", UP, 10), ("n", UP, 20)]
    parts = {key: level + random.normal(0.05 * (key == keys[0]), 0.01, 12) for key in keys}
    suites, whole = [], []
    for (model, kind, length), values in parts.items():
        mean, error = np.average(values, weights=pairs), values.std() / np.sqrt(12)
        about = {"model": model, "dataset": "d", "kind": kind, "length": length,
                 "perturbation": None}  # fmt: skip
        whole.append({**about, "level": "all", "group": "all", "delta": mean, "n_suites": 12,
                      "delta_low": mean - 2 * error, "delta_high": mean + 2 * error,
                      "n_pairs": pairs.sum()})  # fmt: skip
        table = {**about, "level": "suite", "delta": values, "n_suites": 1, "n_pairs": pairs}
        suites.append(pd.DataFrame({**table, "group": [f"s{n}" for n in range(12)]}))
    table = pd.concat([pd.DataFrame(whole), *suites]).sample(frac=1, random_state=2)
    found = dict(statistic({"context_accuracy": table}, RUN))[name]
    first, second = parts[keys[0]], parts[less]
    drawn = random.integers(12, size=(4000, 12))
    means = [np.average((first - second)[one], weights=pairs[one]) for one in drawn]
    assert found.value == pytest.approx(np.average(first - second, weights=pairs))
    ends_of = found.value + 1.3 * (np.quantile(means, [0.025, 0.975]) - found.value)
    assert (found.low, found.high) == pytest.approx(tuple(ends_of), abs=0.003)
    # As if independent, and if a suite is not in the table.
    few = table[table["group"] != "s3"]
    apart = dict(statistic({"context_accuracy": few}, RUN))[name]
    assert apart.high - apart.low > 10 * (found.high - found.low)


def test_both_models_share_resampled_suites():
    random, suites, correlations = np.random.default_rng(3), [], []
    for dataset in context.PAPER_DATASETS:
        alone = random.random(30)
        after = alone + random.normal(0, 0.3, 30)
        for model, noise in (("gpt2", 0.0), ("opt-2.7b", 0.05)):
            accuracy = after + random.normal(0, noise, 30)
            about = {"model": model, "dataset": dataset}
            table = {"level": "suite", "kind": UP, "perturbation": None, "length": 9, "n_pairs": 5}
            table |= {"group": [f"s{n}" for n in range(30)], "baseline": alone}
            suites.append(pd.DataFrame({**about, **table, "accuracy": accuracy}))
            r = np.corrcoef(alone, accuracy)[0, 1]
            correlations.append({**about, "analysis": "metric", "x": "baseline", "y": UP,
                                 "statistic": "pearson", "value": r, "n": 30})  # fmt: skip
    tables = {"context_correlations": pd.DataFrame(correlations), "context_accuracy": suites[0][:0]}
    ((_, apart),) = STATISTICS["gpt2_predictable_acceptable"](tables, RUN)
    tables["context_accuracy"] = pd.concat(suites).sample(frac=1, random_state=1)
    ((_, found),) = STATISTICS["gpt2_predictable_acceptable"](tables, RUN)
    drawn = random.integers(30, size=(2000, 30))
    one, other = (
        np.mean([
            [np.corrcoef(rows["baseline"].to_numpy()[at], rows["accuracy"].to_numpy()[at])[0, 1]
             for at in drawn]
            for rows in suites if rows["model"].iloc[0] == model
        ], axis=0)
        for model in ("gpt2", "opt-2.7b")
    )  # fmt: skip
    assert found.value == apart.value
    width = np.ptp(np.quantile(one - other, [0.025, 0.975]))
    assert width < found.high - found.low < 1.5 * width < 0.3 * (apart.high - apart.low)


def test_two_overlaps_have_one_set_of_permutations():
    names = [f"s{n}" for n in range(9)]
    cells = pd.DataFrame([(a, b) for a in names for b in names], columns=["target_suite",
                         "prefix_suite"]).assign(model="m", dataset="blimp")  # fmt: skip
    random = np.random.default_rng(2)
    cells["accuracy"], token = random.random(81), random.random(81)
    f1 = {"token": token, "dependency": token + random.normal(0, 0.02, 81)}
    overlap = pd.concat([cells.assign(measure=name, f1=value) for name, value in f1.items()])
    related = pd.DataFrame({"model": "m", "dataset": "blimp", "analysis": "suites",
                            "x": [f"{name} overlap of suites" for name in f1], "y": "accuracy",
                            "statistic": "spearman", "value": [0.1, 0.08], "value_low": -0.2,
                            "value_high": 0.4, "n": 72})  # fmt: skip
    tables = {"context_correlations": related, "context_overlap": overlap}
    ((_, apart),) = context.overlap_advantage(tables | {"context_matrix": cells[:0]}, RUN)
    tables["context_matrix"] = cells
    ((name, found),) = context.overlap_advantage(tables, RUN)
    assert (name, found.value) == ("m/blimp", pytest.approx(0.02))
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.3 * (apart.high - apart.low)
    few = cells[cells[["target_suite", "prefix_suite"]].lt("s3").all(axis=1)]
    ((_, same),) = context.overlap_advantage(tables | {"context_matrix": few}, RUN)
    assert same == apart


def test_correlations_are_named_by_what_they_are_of():
    rows = [("suites", "accuracy", "x", 0.5), ("suites", "delta", "x", 0.4),
            ("suites", "accuracy", "z", 0.3), ("pairs", "correct", "x", 0.2),
            ("suites", "accuracy", "x", np.nan)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["analysis", "y", "x", "value"]).assign(
        model="m", dataset="d", statistic="pearson", n=50, value_low=0.1, value_high=0.7
    )

    def found(*about: str, **of: str) -> list[tuple[str, float]]:
        named = context.correlations({"context_correlations": table}, *about, **of)
        return [(name, one.value) for name, one in named]

    assert found("pairs") == [("m/d/x", 0.2)]
    assert found("suites") == [("m/d/x", 0.5), ("m/d/x", 0.4), ("m/d/z", 0.3)]
    assert found("suites", y="accuracy") == [("m/d", 0.5), ("m/d", 0.3)]
    assert found("suites", x="x") == [("m/d", 0.5), ("m/d", 0.4)]
    assert found("suites", "accuracy", "x") == [("m/d", 0.5)]


def test_figure_14_means_leave_out_the_own_suite():
    cells = pd.DataFrame(
        [("m", "x", "a_masc", 10.0, -5.0, 30.0, 20), ("m", "x", "b_masc", 20.0, 5.0, 50.0, 18),
         ("m", "x", "c_fem", 99.0, 98.0, 99.0, 18), ("m", "x", "x", 77.0, 77.0, 77.0, 2),
         ("m", "y", "x", np.nan, np.nan, np.nan, 9)],
        columns=["model", "target_suite", "prefix_suite", "relative_improvement",
                 "relative_improvement_low", "relative_improvement_high", "n_pairs"],
    ).assign(dataset="syntaxgym")  # fmt: skip
    elsewhere = cells.assign(dataset="mine", relative_improvement=29.0)
    tables = {"context_matrix": pd.concat([cells, elsewhere])}
    ((name, found),) = context.mean_improvement("x", "y", after="_masc")(tables, RUN)
    assert (name, ends(found), found.n) == ("m/syntaxgym, x", (15.0, 0.0, 40.0), 18)
    named = {"context_matrix": cells.fillna(1.0).replace({"x": "npi_src_any", "y": "fgd_subject"})}
    found = values(STATISTICS["any_prefix_helps"](named, RUN))
    assert found == {"m/syntaxgym, npi_src_any": 43, "m/syntaxgym, fgd_subject": 1}


def test_feminine_reflexives_are_compared_between_both_genders():
    fem, masc = ([f"reflexive_{where}_{gender}" for where in ("orc", "prep", "src")]
                 for gender in ("fem", "masc"))  # fmt: skip
    rows = [(fem[0], fem[1], 40), (fem[2], fem[0], 60), (fem[0], masc[0], -10),
            (masc[0], fem[0], 900), (masc[0], masc[1], 900), (fem[1], "mvrr", 900)]  # fmt: skip
    cells = pd.DataFrame(rows, columns=["target_suite", "prefix_suite", "relative_improvement"])
    reach = {"low": -8.0, "high": 6.0}
    ends_of = {f"relative_improvement_{end}": cells["relative_improvement"] + by
               for end, by in reach.items()}  # fmt: skip
    cells = cells.assign(model="m", dataset="syntaxgym", n_pairs=[20, 18, 19, 9, 9, 9], **ends_of)
    ((name, found),) = context.feminine_advantage({"context_matrix": cells}, RUN)
    assert name == "m/syntaxgym"
    # 50 (42 to 56) less -10 (-18 to -4).
    assert ends(found) == pytest.approx((60, 60 - np.hypot(8, 6), 60 + np.hypot(6, 8)))
    assert (found.n, found.note) == (18, "2 cells")
    assert not [*context.feminine_advantage({"context_matrix": cells[:2]}, RUN)]


def test_overlaps_are_compared_between_different_suites():
    rows = [
        ("x", "x", "token", 9), ("x", "y", "token", 0.1), ("x", "z", "token", 0.3),
        ("y", "x", "token", 0.2), ("x", "y", "dependency", 0.5), ("x", "z", "dependency", 0.5),
        ("y", "x", "dependency", 0.3), ("x", "x", "dependency", 0.0),
    ]  # fmt: skip
    columns = ["target_suite", "prefix_suite", "measure", "f1"]
    overlap = pd.DataFrame(rows, columns=columns).assign(dataset="d")
    ((name, found),) = context.labels_above_tokens({"context_overlap": overlap}, RUN)
    assert (name, found.value, found.n) == ("d", pytest.approx(0.2), 2)
    tokens = overlap[overlap["measure"] == "token"]
    assert not [*context.labels_above_tokens({"context_overlap": tokens}, RUN)]
