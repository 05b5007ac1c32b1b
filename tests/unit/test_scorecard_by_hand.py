"""Statistics of claims by hand, where simulations see no difference: limits and intervals' ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lingprob.papers.contract import Run
from lingprob.papers.leakage.overlap import claims as overlap
from lingprob.papers.leakage.overlap.scorecard import chunk_quantities, overlap_quantities
from lingprob.papers.leakage.reading import claims as reading
from lingprob.papers.leakage.reading.size_trends import size_trends
from lingprob.papers.morcela import claims as morcela
from lingprob.papers.morcela.trends import points_of

RUN = Run("demo", {})


def ends(found: Any) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def fit(model: str, linking_function: str, **columns: float) -> dict[str, Any]:
    about = {"model": model, "dataset": "d", "linking_function": linking_function, "n": 50}
    return {**about, "rating_source": "human", "default_convention": True, **columns}


def test_two_units_of_bic_either_way_are_no_evidence():
    fits = pd.DataFrame([fit("m", "morcela", bic=10.0), fit("m", "morcela_beta_1", bic=13.5)])
    ((name, found),) = morcela.bic_difference({"linking_functions": fits}, RUN)
    assert (name, ends(found)) == ("m/d", (3.5, 1.5, 5.5))
    assert not [*morcela.bic_difference({"linking_functions": fits.iloc[:1]}, RUN)]


def test_two_models_differ_by_the_ends_of_both_intervals():
    """.6 (.5 to .63) less .4 (.36 to .52): the ends are hypot(.1, .12) and hypot(.03, .04) off."""
    fits = pd.DataFrame([
        fit("pythia-160m", "morcela", r=0.1, r_cv=0.4, r_cv_low=0.36, r_cv_high=0.52) | {"n": 40},
        fit("opt-125m", "morcela", r=0.1, r_cv=0.6, r_cv_low=0.5, r_cv_high=0.63),
        fit("opt-350m", "morcela", r=0.1, r_cv=0.6, r_cv_low=0.5, r_cv_high=0.7),
    ])  # fmt: skip
    ((name, found),) = morcela.small_models({"linking_functions": fits}, RUN)
    assert name == "opt-125m/pythia-160m/d"
    assert ends(found) == pytest.approx((0.2, 0.2 - np.hypot(0.1, 0.12), 0.25))
    assert found.n == 40
    assert [*morcela.small_models({"linking_functions": fits.iloc[:2]}, RUN)] == [(name, found)]


def test_people_are_above_a_model_by_what_both_intervals_leave():
    halves = pd.DataFrame({"dataset": ["d", "d"], "definition": ["equal_halves", "uneven_groups"],
                           "r": [0.8, 0.1], "r_low": [0.75, 0], "r_high": [0.9, 0.2]})  # fmt: skip
    fits = pd.DataFrame([fit("m", "morcela", r=0.1, r_cv=0.6, r_cv_low=0.55, r_cv_high=0.7)])
    tables = {"linking_functions": fits, "intergroup_correlation": halves}
    ((_, found),) = morcela.people_less_models(tables, RUN)
    assert ends(found) == pytest.approx((0.2, 0.05, 0.35))
    tables["linking_functions"] = fits.assign(dataset="e")
    assert not [*morcela.people_less_models(tables, RUN)]


def test_points_of_models_are_their_own_columns():
    names = ["logprob", "slor", "morcela_gamma_0", "morcela_beta_1", "morcela"]
    fits = pd.DataFrame([
        fit("m", name, r_cv=place / 10, beta=place + 1.0, gamma=place + 2.0)
        for place, name in enumerate(names, start=1)
    ])  # fmt: skip
    run = Run("demo", {"m": {"family": "f", "parameters": 10**8}})
    slopes = pd.DataFrame({"model": ["m"], "slope": [0.7]})
    tables = {"linking_functions": fits, "slopes": slopes}
    points = points_of(tables, run)["d"].iloc[0].to_dict()
    assert [points.pop(name) for name in ("family", "kind", "series")] == ["f", "model", "m"]
    assert points == pytest.approx({
        "logprob": 0.1, "slor": 0.2, "r_beta_alone": 0.3, "r_gamma_alone": 0.4, "r": 0.5,
        "beta": 6, "gamma": 7, "beta_alone": 4, "gamma_alone": 6, "gain": 0.3, "gap": 0.1,
        "size": 8, "frequency_slope": 0.7,
    })  # fmt: skip


def passages(*rows: tuple[str, int, int, int]) -> pd.DataFrame:
    """Published overlaps with the Pile: corpus, tokens, tokens of the longest, its frequency."""
    table = pd.DataFrame(rows, columns=["corpus", "article_len", "overlap_len", "overlap_freq"])
    return table.assign(searched="the_pile", origin="published", article_num=range(len(rows)))


def of(statistic: Any, table: pd.DataFrame) -> list[Any]:
    return [found for _, found in statistic({"overlaps": table}, RUN)]


def test_limits_of_overlaps_are_as_the_paper_words_them():
    """Less than half; above 100 tokens; half of a Provo passage or more, under ten times."""
    table = passages(("geco", 20, 10, 3), ("geco", 20, 9, 3), ("geco", 200, 100, 8),
                     ("geco", 300, 101, 5), ("provo", 20, 10, 9), ("provo", 20, 11, 10),
                     ("provo", 20, 9, 1), ("provo", 30, 30, 1))  # fmt: skip
    (short,) = of(overlap.short_overlaps, table)
    assert short.value == 3 / 8
    (often,) = of(overlap.frequency_of_long_overlaps, table)
    assert (often.value, often.note) == (5, "1 overlaps above 100 tokens")
    (rare,) = of(overlap.rare_overlaps_of_provo, table)
    assert rare.value == 2 / 3
    (whole,) = of(overlap.whole_in_provo, table)
    assert (whole.value, whole.note) == (1, "of 4 passages")
    (elsewhere,) = of(overlap.whole_elsewhere, table)
    assert (elsewhere.value, elsewhere.note) == (0, "of 4 passages")
    assert not of(overlap.frequency_of_long_overlaps, table[table["overlap_len"] <= 100])


def test_the_shortest_improbable_overlap_is_of_the_pile():
    table = passages(("geco", 90, 30, 1), ("geco", 90, 14, 1), ("provo", 90, 12, 1)).assign(
        below_threshold_compat=[True, True, False], below_threshold_corrected=[True, None, None]
    )
    nats, both = of(overlap.shortest_improbable, table)
    assert (nats.value, nats.note) == (14, "2 of 3 overlaps flagged")
    assert (both.value, both.note) == (30, "1 of 3 overlaps flagged")
    assert not of(overlap.shortest_improbable, table.assign(searched="owt"))


def test_numbers_of_chunks_and_sequences():
    chunks = pd.DataFrame({"searched": "pile_pythia", "n_tokens": [10**9, 5 * 10**8, 10**8],
                           "leakage_free": [True, True, False],
                           "selected": [True, False, False]})  # fmt: skip
    found = {key: one.value for (_, key), one in chunk_quantities(chunks).items()}
    assert found == pytest.approx({"chunks": 3, "all_billion_tokens": 1.6, "leakage_free": 2,
                                   "selected": 1, "billion_tokens": 1.0})  # fmt: skip
    table = passages(("geco", 2000, 10, 3), ("provo", 2095, 9, 3)).assign(
        below_threshold=[True, False], below_threshold_compat=[True, True],
        below_threshold_corrected=[False, True],
    )  # fmt: skip
    ours = table.assign(origin="ours", article_len=[2000, 2096], searched="mine")
    quantities = overlap_quantities(pd.concat([table, ours]))
    numbers = {key: one.value for key, one in quantities.items()}
    # The two passages with a separator between them: two windows of 2,048 tokens.
    assert numbers[("published/fine_tuning_sequence", "tokens")] == 4096
    assert numbers[("published/fine_tuning_sequence", "examples")] == 2
    assert numbers[("geco", "same_length")] == 1
    assert numbers[("provo", "same_length")] == 0
    assert numbers[("provo", "tokens")] == 2096
    assert numbers[("geco", "passages")] == 1
    assert numbers[("the_pile", "same_flag")] == 1
    assert quantities[("the_pile", "flagged")].value == 2
    assert quantities[("the_pile", "flagged")].note == "1 with both sides in nats"


MODELS = {f"m{n}": {"family": "trained", "parameters": 10 ** (7 + n)} for n in range(3)}


def trends(items: int) -> pd.DataFrame:
    """Three models with 8, 6 and 2 nats a word; all passages are alike."""
    nats = [8.0, 6.0, 2.0]
    deltas = pd.DataFrame({"model": list(MODELS), "delta": [3.0, 5.0, 4.0], "dataset": "d",
                           "rt_source": "human", "context": "passage", "corrected": True,
                           "word_perplexity": np.exp(nats), "scale": "demo"})  # fmt: skip
    gains = pd.DataFrame([
        {"dataset": "d", "model": model, "of": "log_perplexity", "item_kind": "passage",
         "item": f"p{item}", "nats": 5 * value, "n": 5}
        for model, value in zip(MODELS, nats, strict=True) for item in range(items)
    ])  # fmt: skip
    return size_trends(deltas, gains, None, MODELS, draws=50, seed=0)


def test_a_slope_of_log_perplexity_is_a_word_s_whatever_passages_are_drawn():
    found = trends(4).set_index(["of", "on"])
    row = found.loc[("log_perplexity", "parameters")]
    assert (row["slope"], row["slope_low"], row["slope_high"]) == pytest.approx((-3, -3, -3))
    assert (row["items"], row["resampled"], row["models"]) == (4, "passage", 3)
    delta = found.loc[("delta", "parameters")]
    assert delta["slope"] == pytest.approx(0.5)
    assert pd.isna(delta["slope_low"])
    # On the logarithm of perplexity, to the base of ten.
    x = np.array([8, 6, 2]) / np.log(10)
    expected = stats.linregress(x, [3, 5, 4])
    on_perplexity = found.loc[("delta", "word_perplexity")]
    assert on_perplexity["slope"] == pytest.approx(expected.slope)
    assert on_perplexity["std_error"] == pytest.approx(expected.stderr)
    assert on_perplexity["r"] == pytest.approx(expected.rvalue)
    assert on_perplexity["p"] == pytest.approx(expected.pvalue)


def test_a_trend_without_items_has_the_interval_of_its_points():
    ((name, found),) = reading.falls_with_size({"trends": trends(4)}, RUN)
    error = stats.linregress([7, 8, 9], [3, 5, 4]).stderr
    reach = stats.t.ppf(0.975, 1) * error
    assert name == "d/trained, passage context"
    assert ends(found) == pytest.approx((0.5, 0.5 - reach, 0.5 + reach))
    assert (found.n, found.note) == (3, "3 models")


def test_shares_of_partitions_are_counted():
    counts = pd.DataFrame({"dataset": "d", "fate": ["fit", "exploratory", "held_out", "fit"],
                           "rows": [30, 20, 9, 10]})  # fmt: skip
    ((_, found),) = reading.exploratory_share({"counts": counts}, RUN)
    assert ends(found) == (0.5, 0.5, 0.5)
    for without in (
        counts[counts["fate"] != "exploratory"],
        counts[counts["fate"] != "fit"],
        counts.assign(rows=[0, 20, 9, 0]),
    ):
        assert not [*reading.exploratory_share({"counts": without}, RUN)]


def test_what_a_model_adds_is_widened_for_few_readers():
    """Ten readers make 4 and 6 nats to either side 1.2166 times as many; sentences are many."""
    deltas = pd.DataFrame(
        [("d", "mixed model", 10, "human"), ("e", "least squares", 1, "simulated")],
        columns=["dataset", "regression", "n_subjects", "rt_source"],
    ).assign(model="m", delta=9.0, delta_low=5.0, delta_high=15.0)
    found = dict(reading.surprisal_predicts({"deltas": deltas}, RUN))
    factor = stats.t.ppf(0.975, 9) / stats.norm.ppf(0.975) * np.sqrt(10 / 9)
    assert ends(found["m/d"]) == pytest.approx((9, 9 - 4 * factor, 9 + 6 * factor))
    assert (found["m/d"].n, found["m/d"].note) == (10, "")
    assert (ends(found["m/e"]), found["m/e"].note) == ((9, 5, 15), "simulated reading times")


def slopes(*rows: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Trends of ΔLogLik over three trained models that are finished, but for what is given."""
    usual = {"dataset": "d", "rt_source": "human", "context": "passage", "corrected": True,
             "convention": "", "family": "trained", "training_step": None, "fine_tuning_steps": 0,
             "of": "delta", "on": "parameters", "models": 3, "slope": 9.0, "slope_low": np.nan,
             "slope_high": np.nan, "std_error": 1.0, "change": np.nan, "change_low": np.nan,
             "change_high": np.nan, "items": 10, "resampled": "subject"}  # fmt: skip
    return {"trends": pd.DataFrame([{**usual, **row} for row in rows])}


def values(found: Any) -> dict[str, float]:
    return {name: one.value for name, one in found}


def test_trends_are_told_by_family_state_context_and_correction():
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
    found = values(reading.falls_with_size(tables, RUN))
    assert found == {"d/trained, passage context": 1, tuned: 2}
    assert values(reading.falls_with_size_of_others(tables, RUN)) == {
        "d/gpt2, imported context, uncorrected, compat": 3,
        "d/gpt2, imported context, corrected": 4,
        "d/gpt2, imported context": 5,
    }
    ((name, change),) = reading.leakage_steepens_the_fall(tables, RUN)
    assert (name, change.note) == (tuned, "3 models, 10 subjects")
    assert ends(change) == ends(reading.widened(-2.0, -3.0, -1.0, 10))
    assert values(reading.larger_models_gain_more(tables, RUN)) == {tuned: 0.5}


def test_doses_and_peaks_are_told_by_size():
    rows = [("delta", "small", -1.0), ("delta", None, -2.0),
            ("log_perplexity", "small", -3.0), ("log_perplexity", None, -4.0)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["of", "size", "slope"]).assign(
        dataset="d", rt_source="human", models=5, items=10, item_kind="subject",
        slope_low=lambda t: t["slope"] - 1, slope_high=lambda t: t["slope"] + 2,
    )  # fmt: skip
    tables = {"dose_slopes": table}
    ((name, found),) = reading.falls_with_copies(tables, RUN)
    assert (name, ends(found), found.note) == ("d, small", (-1, -2, 1), "5 models, 10 subjects")
    assert values(reading.copies_steepen_the_fall(tables, RUN)) == {"d": -2}
    assert values(reading.perplexity_falls_with_copies(tables, RUN)) == {"d, small": -3}
    peaks = pd.DataFrame({"lead": [np.nan, 4.0], "lead_low": [np.nan, 1], "lead_high": [np.nan, 9],
                          "dataset": "d", "size": ["large", "small"], "models": 5, "items": 10,
                          "item_kind": "subject", "rt_source": "simulated"})  # fmt: skip
    ((name, found),) = reading.highest_before_the_end({"peaks": peaks}, RUN)
    assert (name, ends(found), found.n) == ("d, small", (4, 1, 9), 10)
    assert found.note == "5 models, 10 subjects; simulated reading times"
