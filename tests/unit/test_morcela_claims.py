"""MORCELA's claims judged: on the paper's numbers, without their effect, and reversed."""

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.papers.morcela.claims import SMALL, STATISTICS, morcela_quantities
from lingprob.papers.morcela.tables import printed_fits
from lingprob.papers.morcela.trends import points_of
from lingprob.papers.run import Run
from lingprob.scorecard.comparison import compare_numbers, judge_claims
from lingprob.scorecard.estimates import slope_within
from lingprob.stats.linking import fit_linking_functions

PUBLISHED = read_published("morcela")
CLAIMS = {claim["id"]: claim for claim in PUBLISHED["claims"]}
MODELS = Catalog().models
ROUNDING = 0.0005
FUNCTIONS = ("logprob", "slor", "morcela_gamma_0", "morcela_beta_1", "morcela")
# Claims on values that the paper draws or states without printing them.
NOT_PRINTED = {
    "gain_rises_with_logprob_r", "gamma_alone_rises_with_r", "beta_alone_falls_with_r",
    "r_falls_with_frequency_slope", "beta_rises_with_frequency_slope",
}  # fmt: skip


def printed(model: str, linking_function: str) -> dict[str, float]:
    """Return the values of Tables 2 to 4 for a fit, from the first item with the column."""
    found: dict[str, float] = {}
    for item in PUBLISHED["items"]:
        values = item["rows"].get(f"{model}/{linking_function}")
        if values and item["item"].startswith("Table"):
            found |= dict(zip(item["columns"], values, strict=True))
    return found


def paper_tables(*, printed_r: bool = False) -> dict[str, pd.DataFrame]:
    """The paper's numbers as a table of fits, each with its rounding for an interval.

    R is that of the SSE, or with `printed_r` that of Table 2. For log-probability, the paper prints
    the gain of two models' MORCELA over it.
    """
    rows = []
    for model in printed_fits(PUBLISHED)["model"].unique():
        sse = {name: printed(model, name)["sse"] for name in FUNCTIONS[1:]}
        r = {name: np.sqrt(1 - value / 878.9) for name, value in sse.items()}
        if printed_r:
            r["morcela"] = printed(model, "morcela")["r_cv"]
        if model in ("pythia-6.9b", "pythia-12b"):
            r["logprob"] = r["morcela"] - 0.33
        for name, value in r.items():
            fit = {"r": value, "r_cv": value, "over_slor": value - r["slor"],
                   "below_morcela": r["morcela"] - value}  # fmt: skip
            fit |= {key: printed(model, name).get(key, np.nan) for key in ("beta", "gamma")}
            fit["logprob_slope"] = 1.0  # not printed
            ends = {f"{key}_low": number - ROUNDING for key, number in fit.items()}
            ends |= {f"{key}_high": number + ROUNDING for key, number in fit.items()}
            about = {"model": model, "linking_function": name, **described(1450)}
            rows.append({**about, "bic": printed(model, name).get("bic"), **fit, **ends})
    halves = pd.DataFrame(
        {"dataset": ["linguistic_inquiry"], "definition": "equal_halves", "r": 0.860,
         "r_low": 0.8595, "r_high": 0.8605}
    )  # fmt: skip
    fits = pd.DataFrame(rows)
    draws = drawn(fits, np.linspace(-ROUNDING, ROUNDING, 41)[:, None] * [1, -1])
    return {"linking_functions": fits, "intergroup_correlation": halves, "linking_draws": draws}


def drawn(fits: pd.DataFrame, errors: np.ndarray) -> pd.DataFrame:
    """Return draws of MORCELA's r of two models each, about their estimates.

    Errors have a row per draw and a column for OPT and for Pythia. Rows of the second model are
    in another order, because draws have numbers.
    """
    fits = fits[fits["linking_function"] == "morcela"]
    rows = []
    for fit in fits[fits["model"].isin([*SMALL, *SMALL.values()])].to_dict("records"):
        error = errors[:, int(fit["model"].startswith("pythia"))]
        table = pd.DataFrame({"draw": np.arange(len(error)), "r_cv": fit["r_cv"] + error})
        table = table.assign(model=fit["model"], dataset=fit["dataset"], n=fit["n"])
        rows.append(table[::-1] if fit["model"].startswith("pythia") else table)
    return pd.concat(rows).assign(linking_function="morcela", cluster="article", beta=0.7, gamma=1)


def described(n: int) -> dict:
    return {"dataset": "linguistic_inquiry", "rating_source": "human", "n": n,
            "default_convention": True}  # fmt: skip


PAPER = paper_tables()
PAPER_RUN = Run("paper", MODELS, published=PUBLISHED)
RUN = Run("demo", MODELS)
POINTS = points_of(PAPER, RUN)["linguistic_inquiry"].droplevel("dataset")


def judged(claim: str, tables: dict[str, pd.DataFrame], run: Run = RUN) -> list[dict]:
    one = {**PUBLISHED, "claims": [CLAIMS[claim]]}
    return judge_claims(one, {claim: STATISTICS[claim]}, tables, run)


def verdicts(claim: str, tables: dict[str, pd.DataFrame], run: Run = RUN) -> dict[str, str]:
    return {row["row"]: row["verdict"] for row in judged(claim, tables, run)}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_paper_s_numbers_support_its_claims(claim):
    tables = paper_tables(printed_r=claim == "small_opt_above_pythia")
    rows = judged(claim, tables, PAPER_RUN)
    found = {row["row"]: row["verdict"] for row in rows}
    if claim in NOT_PRINTED:
        assert set(found.values()) == {"not run"}
        return
    assert set(found.values()) == {"supported"}, found
    assert all(row["low"] <= row["ours"] <= row["high"] for row in rows)
    if claim in ("morcela_above_slor", "bic_prefers_morcela", "gamma_above_0", "beta_below_1"):
        assert len(found) == 16


def test_only_14m_is_the_paper_s_exception():
    """§4.2: BIC of 14M is -914.5 with MORCELA and -919.0 with gamma alone."""
    rows = judge_claims(PUBLISHED, STATISTICS, PAPER, PAPER_RUN)
    bic = {row["row"]: row for row in rows if row["column"] == "bic_prefers_morcela"}
    small = bic.pop("pythia-14m/linguistic_inquiry")
    assert (small["expected"], small["verdict"]) == ("< 0", "supported")
    assert small["ours"] == pytest.approx(-4.5)
    assert {row["expected"] for row in bic.values()} == {"> 0"}


def test_the_sse_puts_opt_350m_below_pythia_410m():
    found = verdicts("small_opt_above_pythia", PAPER)
    assert found["opt-350m/pythia-410m/linguistic_inquiry"] == "contradicted"
    assert found["opt-125m/pythia-160m/linguistic_inquiry"] == "supported"


@pytest.mark.parametrize("claim", ["gamma_above_0", "beta_below_1", "beta_above_0"])
def test_ratios_to_a_possibly_zero_slope_decide_nothing(claim):
    fits = PAPER["linking_functions"].assign(logprob_slope_low=-0.1)
    rows = judged(claim, {**PAPER, "linking_functions": fits})
    assert {row["verdict"] for row in rows} == {"undecided"}
    assert all("the slope of log-probability may be 0" in row["note"] for row in rows)
    assert set(verdicts("morcela_above_slor", {**PAPER, "linking_functions": fits}).values()) == {
        "supported"
    }


# Claims on one model: the fit and column that each is about, the limit of the claim, the paper's
# value (of the model nearest the limit), and the standard error of 1,450 sentences.
SINGLE = {
    "morcela_above_slor": ("morcela", "over_slor", 0, 0.108, 0.02),
    "morcela_above_logprob": ("logprob", "below_morcela", 0, 0.33, 0.03),
    "beta_alone_gains_little": ("morcela_gamma_0", "over_slor", 0.03, 0.018, 0.004),
    "gamma_alone_gains": ("morcela_beta_1", "over_slor", 0, 0.102, 0.02),
    "gamma_alone_reaches_morcela": ("morcela_beta_1", "below_morcela", 0.02, 0.0055, 0.004),
    "gamma_above_0": ("morcela", "gamma", 0, 8.2, 1.0),
    "beta_below_1": ("morcela", "beta", 1, 0.896, 0.035),
    "beta_above_0": ("morcela", "beta", 0, 0.611, 0.04),
    "people_above_models": ("morcela", "r_cv", 0.86, 0.664, 0.016),
    "small_opt_above_pythia": ("morcela", "r_cv", 0.569, 0.606, 0.016),
}
# Trends: the points' columns, and the fit and column that the second of them is written to.
TRENDS = {
    "r_rises_with_size": ("size", "r"), "r_rises_less_in_opt": ("size", "r"),
    "gain_rises_with_size": ("size", "gain"), "gain_rises_with_logprob_r": ("logprob", "gain"),
    "gap_to_gamma_alone_rises_with_size": ("size", "gap"), "gamma_rises_with_r": ("r", "gamma"),
    "beta_falls_with_r": ("r", "beta"), "gamma_rises_with_size": ("size", "gamma"),
    "beta_falls_with_size": ("size", "beta"),
    "gamma_alone_rises_with_r": ("r_gamma_alone", "gamma_alone"),
    "beta_alone_falls_with_r": ("r_beta_alone", "beta_alone"),
    "r_falls_with_frequency_slope": ("frequency_slope", "r"),
    "beta_rises_with_frequency_slope": ("frequency_slope", "beta"),
}  # fmt: skip
WRITTEN = {
    "r": ("morcela", "r_cv"), "gain": ("slor", "r_cv"), "gap": ("morcela_beta_1", "r_cv"),
    "logprob": ("logprob", "r_cv"), "r_beta_alone": ("morcela_gamma_0", "r_cv"),
    "r_gamma_alone": ("morcela_beta_1", "r_cv"), "gamma": ("morcela", "gamma"),
    "beta": ("morcela", "beta"), "gamma_alone": ("morcela_beta_1", "gamma"),
    "beta_alone": ("morcela_gamma_0", "beta"),
}  # fmt: skip
# Slope and scatter that the paper does not print: from a similar trend, or assumed.
ASSUMED = {
    "gain_rises_with_logprob_r": (0.2, 0.006), "gamma_alone_rises_with_r": (13.4, 0.5),
    "beta_alone_falls_with_r": (-0.9, 0.04), "r_falls_with_frequency_slope": (-2.0, 0.02),
    "beta_rises_with_frequency_slope": (2.0, 0.03),
}  # fmt: skip


def repeated(fits: pd.DataFrame, runs: int) -> pd.DataFrame:
    """The same fits on as many data sets as there are runs."""
    many = fits.loc[np.tile(fits.index, runs)].reset_index(drop=True)
    return many.assign(dataset=np.repeat(np.arange(runs), len(fits)).astype(str))


def single(claim: str, effect: float, runs: int, rng: np.random.Generator) -> dict:
    """Fits of one model whose estimate scatters about `effect` times the paper's."""
    name, column, limit, paper, error = SINGLE[claim]
    if claim == "small_opt_above_pythia":
        shown, base = "opt-125m", of_models("opt-125m", SMALL["opt-125m"])
        base["r"] = base["r_cv"] = limit
        base["r_cv_low"], base["r_cv_high"] = limit - 1.96 * error, limit + 1.96 * error
        known = error
    else:
        shown, base, known = "pythia-12b", of_models("pythia-12b"), 0.0
        if claim == "gamma_alone_reaches_morcela":
            shown = "pythia-70m"
            base["model"] = shown
    fits = repeated(base, runs)
    at = (fits["linking_function"] == name) & (fits["model"] == shown)
    value = limit + effect * (paper - limit) + rng.normal(0, np.hypot(error, known), runs)
    fits.loc[at, column] = value
    fits.loc[at, f"{column}_low"] = value - 1.96 * error
    fits.loc[at, f"{column}_high"] = value + 1.96 * error
    halves = PAPER["intergroup_correlation"]
    halves = halves.loc[np.zeros(runs, int)].assign(dataset=np.arange(runs).astype(str))
    draws = drawn(fits, error * rng.normal(size=(200, 2))) if known else pd.DataFrame()
    return {"linking_functions": fits, "intergroup_correlation": halves, "linking_draws": draws}


def bayes(claim: str, effect: float, runs: int, rng: np.random.Generator) -> dict:
    """BIC of one more parameter: a likelihood ratio of chi-squared, non-central with an effect.

    The effect cannot be negative, and BIC penalises the parameter.
    """
    fits = repeated(of_models("pythia-160m"), runs)
    ratio = 1450 * np.log(586.0 / 571.7) * max(effect, 0)
    gain = rng.noncentral_chisquare(1, ratio, runs) - np.log(1450)
    at = fits["linking_function"] == "morcela_beta_1"
    fits.loc[at, "bic"] = printed("pythia-160m", "morcela")["bic"] + gain
    return {"linking_functions": fits}


def trend(claim: str, effect: float, runs: int, rng: np.random.Generator) -> dict:
    """Sixteen models on a line of the paper's slope times `effect`, with the paper's scatter."""
    x, y = TRENDS[claim]
    points = POINTS.copy()
    for drawn in ("logprob", "r_beta_alone", "r_gamma_alone"):
        points[drawn] = points["slor"] if drawn == "logprob" else points["r"] - 0.03
    points["frequency_slope"] = 1.2 - 0.4 * points["r"]
    family = points["family"].to_numpy()
    if claim == "r_rises_less_in_opt":
        slope = np.where(family == "opt", 0.019, 0.089)
        slope = 0.054 + effect * (slope - 0.054)
        centred = points["size"] - 9
        scatter = 0.022
    else:
        slope, scatter = ASSUMED.get(claim) or fitted(points, x, y)
        slope, centred = effect * slope, points[x] - points[x].mean()
    level = points[y].mean() if y in points else 0.0
    level = np.where(family == "opt", level + 0.02, level)
    value = level + slope * centred.to_numpy() + rng.normal(0, scatter, (runs, len(points)))
    base = pd.concat([of_models(name) for name in points.index], ignore_index=True)
    fits = repeated(base, runs)
    for column, given in ((x, points[x].to_numpy()), (y, value)):
        if column in WRITTEN:
            name, target = WRITTEN[column]
            at = fits["linking_function"] == name
            values = np.broadcast_to(given, value.shape).ravel()
            from_r = np.tile(points["r"].to_numpy(), runs) if column in ("gain", "gap") else 0
            fits.loc[at, target] = np.abs(from_r - values) if column in ("gain", "gap") else values
    slopes = pd.DataFrame({"model": points.index, "slope": points["frequency_slope"].to_numpy()})
    return {"linking_functions": fits, "frequency_slopes": slopes}


def fitted(points: pd.DataFrame, x: str, y: str) -> tuple[float, float]:
    """The slope within families of the paper's points, and their scatter about it."""
    slope = slope_within(points[x], points[y], points["family"]).value
    left = points[y] - slope * points[x]
    left = left - left.groupby(points["family"]).transform("mean")
    return slope, float(np.sqrt((left**2).sum() / (len(points) - 3)))


def of_models(*models: str) -> pd.DataFrame:
    """The paper's fits of some models, with a log-probability for those it prints none of."""
    fits = PAPER["linking_functions"]
    fits = fits[fits["model"].isin(models)]
    wanted = fits[fits["linking_function"] == "morcela"].assign(linking_function="logprob")
    fits = fits[fits["linking_function"] != "logprob"]
    order = {model: place for place, model in enumerate(models)}
    fits = pd.concat([fits, wanted], ignore_index=True)
    return fits.sort_values("model", key=lambda column: column.map(order), kind="stable",
                            ignore_index=True)  # fmt: skip


def simulated(claim: str, effect: float, runs: int, seed: int) -> list[str]:
    """Verdicts on as many simulated data sets."""
    make = trend if claim in TRENDS else bayes if claim == "bic_prefers_morcela" else single
    tables = make(claim, effect, runs, np.random.default_rng(seed))
    found = list(verdicts(claim, tables).values())
    assert len(found) == runs
    return found


@pytest.mark.parametrize("claim", CLAIMS)
def test_verdicts_follow_the_effect_and_its_power(claim):
    """A thousand runs without an effect, or 200 if a verdict takes milliseconds."""
    runs = 200 if claim in [*TRENDS, "small_opt_above_pythia"] else 1000
    assert simulated(claim, 0, runs, 1).count("supported") <= 0.05 * runs
    reverse, found = simulated(claim, -1, 40, 2), simulated(claim, 1, 60, 3).count("supported")
    assert "supported" not in reverse
    if "power" in CLAIMS[claim]:
        assert abs(found / 60 - CLAIMS[claim]["power"]) < 0.15
    else:
        assert reverse.count("contradicted") >= 20
        assert found >= 48


def sentences(beta: float, gamma: float, n: int, rng: np.random.Generator) -> dict:
    """Sentences whose ratings follow a linking function, as noisy as people's."""
    length = rng.integers(5, 25, n)
    unigram = -8.0 * length + rng.normal(0, 1.5, n) * np.sqrt(length) * 2
    logprob = -4.5 * length + 0.5 * (unigram + 8 * length) + rng.normal(0, 1.5, n) * length**0.5 * 2
    score = (logprob - beta * unigram + gamma) / length
    rating = (score - score.mean()) / score.std() + rng.normal(0, 1.1, n)
    logprob = np.minimum(logprob, 0)
    return {"logprob": logprob, "unigram_logprob": unigram, "n_tokens": length, "rating": rating}


def fit_verdicts(beta: float, gamma: float, n: int, runs: int, claims: list[str]) -> pd.DataFrame:
    """Verdicts of claims on sentences, fitted as the room fits them: runs in rows."""
    rng = np.random.default_rng(4)
    options = {"repeats": 1, "bootstrap": 100, "linking_functions": FUNCTIONS[1:]}
    options["clusters"] = None
    tables = [
        fit_linking_functions(**sentences(beta, gamma, n, rng), **options, seed=run)
        .assign(model="pythia-1b", **(described(n) | {"dataset": str(run)}))
        for run in range(runs)
    ]  # fmt: skip
    fits = {"linking_functions": pd.concat(tables, ignore_index=True)}
    return pd.DataFrame({claim: list(verdicts(claim, fits).values()) for claim in claims})


FITTED = ["morcela_above_slor", "gamma_alone_gains", "bic_prefers_morcela", "gamma_above_0",
          "beta_below_1"]  # fmt: skip


def test_ratings_by_slor_support_no_morcela_claim():
    """100 runs of 300 sentences; each refits three hundred times."""
    found = fit_verdicts(1.0, 0.0, 300, 100, FITTED)
    assert (found == "supported").mean().max() <= 0.05, found.apply(pd.Series.value_counts)


def test_models_trained_here_test_no_claim():
    fits = PAPER["linking_functions"]
    made = {"tiny": "trained", "tiny-step4": "trained", "2gram": "ngram"}
    models = {**MODELS, **{name: {"family": "t", "source": of} for name, of in made.items()}}
    more = [of_models("pythia-1b").assign(model=name) for name in made]
    tables = {**PAPER, "linking_functions": pd.concat([fits, *more], ignore_index=True)}
    rows = judge_claims(PUBLISHED, STATISTICS, tables, Run("demo", models))
    assert not set(made) & {row["row"].partition("/")[0] for row in rows}
    alone = {"linking_functions": pd.concat(more, ignore_index=True)}
    found = judged("gamma_above_0", alone, Run("demo", models))
    assert {row["row"] for row in found} == {f"{name}/linguistic_inquiry" for name in made}


def numbers(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the scorecard's numbers by item, row and column."""
    fits = tables["linking_functions"].assign(
        bos="none", unigrams="pile", sse=1.0, aic=1.0, bic=1.0
    )
    halves = tables["intergroup_correlation"].assign(description="halves")
    stimuli = pd.DataFrame({"dataset": ["other"], "text": "", "rating": 0.0})
    given = {**tables, "linking_functions": fits, "intergroup_correlation": halves}
    ours = morcela_quantities({**given, "stimuli": stimuli}, PAPER_RUN)
    card = pd.DataFrame(compare_numbers(PUBLISHED, ours, "paper"))
    return card.set_index(["item", "row", "column"]).sort_index()


def test_printed_table_2_is_reproduced_and_others_differ():
    """Intervals over other sentences, of equal width, decide nothing."""
    tables = paper_tables(printed_r=True)
    fits = tables["linking_functions"].copy()
    for column, reach in (("beta", 0.14), ("gamma", 2.3), ("r_cv", 0.053)):
        fits[f"{column}_low"], fits[f"{column}_high"] = fits[column] - reach, fits[column] + reach
    found = numbers({**tables, "linking_functions": fits}).loc["Table 2"]
    assert len(found) == 48
    assert set(found["verdict"]) == {"reproduced"}
    for column, less, more in (("beta", 0.004, 0.006), ("gamma", 0.04, 0.06),
                               ("r_cv", 0.004, 0.005)):  # fmt: skip
        for shift, verdict in ((less, "reproduced"), (-more, "differs")):
            moved = fits.assign(**{column: fits[column] + shift})
            moved[f"{column}_low"] += shift
            rows = numbers({**tables, "linking_functions": moved}).loc["Table 2"]
            assert set(rows.xs(column, level="column")["verdict"]) == {verdict}


def test_criteria_from_the_sse_are_checks():
    found = numbers(PAPER)
    results = found[found["role"] == "paper"]
    for table in ("Table 3", "Table 4"):
        assert set(results.loc[table].index.get_level_values("column")) == {"sse"}
    assert sum(len(results.loc[table]) for table in ("Table 3", "Table 4")) == 64
    assert set(found.xs("aic", level="column")["role"]) == {"check"}


def test_opt_is_compared_with_pythia_in_any_order():
    tables = single("small_opt_above_pythia", 1, 1, np.random.default_rng(0))
    reversed_draws = {**tables, "linking_draws": tables["linking_draws"][::-1]}
    ((one,), (other,)) = (judged("small_opt_above_pythia", of) for of in (tables, reversed_draws))
    for number in ("ours", "low", "high"):
        assert one[number] == pytest.approx(other[number])
