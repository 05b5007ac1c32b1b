"""MORCELA: fits, predictions, tables, differences and the scorecard, of small tables."""

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.io.tables import write_table
from lingprob.papers.morcela.analysis import (
    DataSet,
    correlate_participant_groups,
    fit_model,
    predict_datasets,
    sampling_units,
    tabulate_sentences,
    with_ratings,
)
from lingprob.papers.morcela.claims import EXAMPLES, compare, morcela_quantities
from lingprob.papers.morcela.tables import (
    comparable_fits,
    default_fits,
    parameter_differences,
    printed_fits,
    tabulate,
)
from lingprob.papers.run import Run, scores_under
from lingprob.stats.agreement import split_half
from lingprob.stats.linking import fit_linking_functions
from lingprob.stats.linking_fits import LINKING_FUNCTIONS
from lingprob.stimuli.tables import NO_RATINGS
from morcela_for_tests import FITTING, SENTENCES, data_set, fits, inputs, tables_of

PUBLISHED = read_published("morcela")
PAPER = "linguistic_inquiry"
RUN = Run("demo", describe_models(Catalog().models), published=PUBLISHED)


def alike_sentences(dataset: str, items: int = 1) -> pd.DataFrame:
    """Rated sentences of a data set, with the same text and rating."""
    return pd.DataFrame({"item_id": range(items), "dataset": dataset, "text": "x", "rating": 0.0})


def test_fits_recover_the_parameters_that_made_the_ratings(tmp_path):
    table = fits()
    row = default_fits(table).set_index("linking_function").loc["morcela"]
    assert row["beta_low"] < 0.7 < row["beta_high"] < 1
    assert row["gamma_low"] < 11 < row["gamma_high"]
    assert table["bos"].unique().tolist() == ["bos", "none"]
    write_table(table, "linking_functions", tmp_path / "fits.parquet")


def test_the_default_convention_has_one_policy_and_source():
    stimuli, scores = inputs()
    given = pd.concat([scores.assign(unigrams=name) for name in ("u", "v")])
    options = FITTING | {"repeats": 1, "bootstrap": 2, "default_convention": ("none", "v")}
    table = fit_model("m", {PAPER: DataSet(stimuli, given)}, **options)[0]
    assert len(table.groupby(["bos", "unigrams"])) == 4
    chosen = default_fits(table)[["bos", "unigrams"]].drop_duplicates()
    assert chosen.to_numpy().tolist() == [["none", "v"]]


@pytest.mark.parametrize(
    ("wanted", "articles", "unknown", "pairs", "used"),
    [
        ("article", 30, 1, 60, "article"),
        ("article", 20, 1, 60, "article"),
        ("article", 19, 1, 60, "pair"),
        ("article", 19, 0, 60, "paradigm"),
        ("article", 19, 1, 19, "sentence"),
        ("pair", 30, 0, 60, "pair"),
        ("sentence", 30, 0, 60, "sentence"),
    ],
)
def test_intervals_resample_the_wanted_or_next_finer_unit(
    wanted, articles, unknown, pairs, used, caplog
):
    """Fewer than twenty clusters are too few. The paradigm of a sentence may be unknown."""
    items = pd.DataFrame({"item_id": [f"s{row}" for row in range(120)]})
    items["pair_id"] = [f"p{row % pairs}" for row in range(120)]
    items["paradigm"] = [None if row < unknown else f"g{row % 40}" for row in range(120)]
    items["phenomenon"] = [f"a{row % articles}" for row in range(120)]
    name, ids = sampling_units(items, wanted)
    assert name == used
    expected = {"article": articles, "paradigm": 40, "pair": pairs, "sentence": 120}[used]
    assert ids.nunique() == expected
    assert ("taking each" in caplog.text) == (used != wanted)


def test_intervals_resample_the_unit_that_the_table_names():
    stimuli, scores = inputs()
    stimuli["phenomenon"] = [f"a{row % 24}" for row in range(SENTENCES)]
    for cluster in ("sentence", "article"):
        options = FITTING | {"cluster": cluster}
        table, _ = fit_model("m", {PAPER: DataSet(stimuli, scores)}, **options)
        table = default_fits(table).set_index("linking_function")
        assert set(table["cluster"]) == {cluster}
        one = scores[scores["bos"] == "bos"]
        called = fit_linking_functions(
            one["logprob"], one["unigram_logprob"], one["n_tokens"], stimuli["rating"],
            clusters=stimuli["phenomenon" if cluster == "article" else "item_id"],
            **{name: options[name] for name in ("folds", "repeats", "bootstrap", "seed")},
        ).set_index("linking_function")  # fmt: skip
        pd.testing.assert_frame_equal(called, table[called.columns])


def test_published_values_are_shown_for_their_data_alone():
    """A second data set, of other ratings, has none, and leaves the first as it is."""
    table = fits()
    both = pd.concat([table.assign(dataset="mine", beta=0.2, r_cv=0.9), table], ignore_index=True)
    theirs = comparable_fits(PUBLISHED, both)
    assert len(theirs) == 64
    pages = tabulate(tables_of(both), RUN)
    for page, rows in (("table_2", 1), ("table_3", 0), ("table_4", 4)):
        own = pages[page][pages[page]["dataset"] == "mine"]
        assert (len(own), own.filter(like="_published").notna().any(axis=None)) == (rows, False)
    shown = {name: page[page["dataset"] == PAPER] for name, page in pages.items()}
    row = shown["table_2"].set_index("model").loc["pythia-70m"]
    assert row["r_cv_published"] == 0.457
    own = table[table["default_convention"] & (table["linking_function"] == "morcela")]
    assert row["beta"] == own["beta"].item()
    by_model = shown["table_4"].groupby("model")
    assert by_model.get_group("pythia-70m")["bic"].is_monotonic_increasing
    assert by_model.get_group("pythia-14m")["bic_published"].is_monotonic_increasing
    for page, family in (("table_3", "opt"), ("table_4", "pythia")):
        in_order = [name for name in RUN.models if name in {*theirs["model"]} and family in name]
        assert shown[page]["model"].tolist() == [*np.repeat(in_order, 4)]
    assert comparable_fits(PUBLISHED, table.assign(dataset="other")).empty


def test_the_scorecard_judges_claims_and_names_gaps(tmp_path):
    table = fits()
    stimuli = alike_sentences(PAPER, 1450)
    stimuli.loc[:2, "rating"] = 1.191, 0.004, -1.109
    stimuli.loc[:2, "text"] = [
        "It is silly for one to sing in the shower.",
        "Tanya danced with as handsome a boy as her father.",
        "It seems a cat to be in the tree.",
    ]
    card = compare(tables_of(table, stimuli), RUN)
    write_table(card, "scorecard", tmp_path / "scorecard.parquet")
    by_key = card.set_index(["item", "row", "column"])
    for key in (
        ("§3.3", f"{PAPER}/sentences", "value"),
        *(("Figure 1", f"{PAPER}/{name}", "rating") for name in EXAMPLES),
        ("Table 1", "pythia-70m/parameters", "millions"),
    ):
        assert by_key.loc[key, "verdict"] == "reproduced"
    ours = by_key.loc[("Table 2", "pythia-70m/morcela", "beta")]
    assert ours["published"] == 0.896
    assert ours["difference"] == pytest.approx(ours["ours"] - 0.896)
    assert ours["high"] < 0.896
    assert ours["verdict"] == "differs"
    assert by_key.loc[("Table 2", "opt-125m/morcela", "beta"), "verdict"] == "not run"
    gamma = by_key.loc[("§4.3", "pythia-70m/linguistic_inquiry", "gamma_above_0")]
    own = default_fits(table).set_index("linking_function").loc["morcela"]
    assert (gamma["low"], gamma["high"]) == (own["gamma_low"], own["gamma_high"])
    own = by_key.loc[("§4.3", "models/linguistic_inquiry", "gamma_rises_with_size")]
    assert own["note"].startswith("too few models for a slope within families: pythia-70m")
    numbers = card[card["kind"] == "number"]
    assert len(numbers) == 3 + 1 + 1 + 2 * 3 + 16 + 16 * 3 + 64 * 3
    claims = {claim["id"] for claim in PUBLISHED["claims"]}
    assert set(card.loc[card["kind"] == "claim", "column"]) == claims


def test_agreement_is_that_of_equal_halves():
    kinds = [("linguistic_inquiry", "equal_halves"), ("linguistic_inquiry", "one_and_rest"),
             ("elsewhere", "equal_halves")]  # fmt: skip
    halves = pd.DataFrame(kinds, columns=["dataset", "definition"])
    halves = halves.assign(
        r=[0.99, 0.5, 0.5], r_low=0.4, r_high=1.0, description=["of these", "", ""]
    )
    fits = pd.DataFrame([one_fit("slor", r_cv=0.5)])
    tables = {"linking_functions": fits, "stimuli": alike_sentences(PAPER)}
    for order in (halves, halves[::-1]):
        found = morcela_quantities(tables | {"intergroup_correlation": order}, RUN)
        half = found[f"{PAPER}/intergroup_correlation", "r"]
        assert (half.value, half.note, found["m/slor", "bic"].note) == (0.99, "of these", "b, u")


def test_numbers_on_simulated_ratings_never_meet_published_ones():
    table = fits(rating_source="simulated").assign(dataset="demo_minimal_pairs")
    card = compare(tables_of(table, alike_sentences("demo_minimal_pairs", 9)), RUN)
    numbers = card[(card["kind"] == "number") & (card["item"] != "Table 1")]
    assert set(numbers["verdict"]) == {"not run"}
    claims = card[card["row"] == "pythia-70m/demo_minimal_pairs"]
    assert claims["note"].str.contains("simulated ratings").all()


def test_published_r_follows_from_the_printed_sse():
    """OPT 350M: sqrt(1 - 530.9 / 878.9) = 0.629, but Table 2 has 0.751."""
    table = printed_fits(PUBLISHED).set_index(["model", "linking_function"])
    odd = table.loc[("opt-350m", "morcela")]
    assert (round(odd["r"], 3), odd["r_cv"]) == (0.629, 0.751)
    printed = table["r_cv"].dropna()
    at_odds = (table["r"] - printed).dropna().abs() > 0.01
    assert set(at_odds[at_odds].index.get_level_values("model")) == {
        "opt-350m", "pythia-70m", "pythia-160m", "pythia-410m", "pythia-1b", "pythia-1.4b"
    }  # fmt: skip


def test_scores_follow_one_convention_in_stimulus_order():
    conventions = [("a", "u"), ("a", "v"), ("b", "u"), ("b", "v")]
    one = pd.DataFrame(conventions, columns=["bos", "unigrams"]).assign(logprob=np.arange(4.0))
    scores = pd.DataFrame({"item_id": ["s1", "s2"]}).merge(one, how="cross")
    found = scores_under(scores, "d", ("a", "v"))
    assert list(found) == list(scores)
    assert found[["item_id", "logprob"]].to_numpy().tolist() == [["s1", 1.0], ["s2", 1.0]]
    stimuli = pd.DataFrame({"item_id": ["s2", "s1"], "rating": [0.2, 0.1], "paradigm": ["p", "q"]})
    rated = with_ratings("d", stimuli, found)
    assert list(rated) == ["item_id", "rating", "paradigm", *scores.columns[1:]]
    assert rated[["item_id", "rating"]].to_numpy().tolist() == [["s2", 0.2], ["s1", 0.1]]


@pytest.mark.parametrize(("articles", "kept"), [(10, "article"), (9, "sentence")])
def test_folds_keep_articles_together_where_each_has_five(articles, kept):
    stimuli, scores = inputs()
    stimuli["phenomenon"] = [f"a{row % articles}" for row in range(SENTENCES)]
    given = {"d": DataSet(stimuli, scores)}
    options = FITTING | {"cluster": "sentence", "folds": 2, "repeats": 2, "bootstrap": 3}
    table, by_article = fit_model("m", given, **(options | {"keep_together": "article"}))
    assert set(table["kept_together"]) == {kept}
    assert list(default_fits(table)) == list(table)
    by_sentence = fit_model("m", given, **options)[1]
    assert by_article.equals(by_sentence) == (kept == "sentence")
    assert by_article["n"].tolist() == [SENTENCES] * len(by_sentence)


def test_groups_are_correlated_if_there_are_judgments():
    judged = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(12, 9)) + 2 * rng.normal(size=9)
        rows = [(f"w{who}", f"s{item}", value, value) for (who, item), value in np.ndenumerate(z)]
        columns = ["participant_id", "item_id", "z", "rating"]
        judged.append(pd.DataFrame(rows, columns=columns))
    sources = ("human", "human", "simulated")
    stimuli = [pd.DataFrame({"rating_source": [source]}) for source in sources]
    given = [judged[0], NO_RATINGS, judged[1]]
    table = correlate_participant_groups(["a", "b", "c"], stimuli, given, seed=3, scale="demo")
    for name, source, judgments in (("a", "human", judged[0]), ("c", "simulated", judged[1])):
        expected = split_half(judgments, seed=3)
        found = table[table["dataset"] == name].reset_index(drop=True)
        pd.testing.assert_series_equal(found["r"], expected["r"])
        about = found[["rating_source", "judgments", "participants"]].drop_duplicates()
        assert about.to_numpy().tolist() == [[source, 12 * 9, 12]]
    assert set(table["dataset"]) == {"a", "c"}


def one_fit(linking_function: str, **columns: float) -> dict:
    """A row of `linking_functions`, whose columns have intervals of 0.1 below and 0.2 above."""
    values = {"beta": 0.5, "gamma": 9.0, "logprob_slope": 1.0, "over_slor": 0.12,
              "below_morcela": 0.3, **columns}  # fmt: skip
    ends = {f"{name}_low": value - 0.1 for name, value in values.items()}
    ends |= {f"{name}_high": value + 0.2 for name, value in values.items()}
    about = {"model": "m", "dataset": PAPER, "linking_function": linking_function, "n": 50,
             "rating_source": "human", "default_convention": True, "bos": "b", "unigrams": "u",
             "aic": 1.0, "bic": 2.0, "sse": 3.0}  # fmt: skip
    return {**about, **values, **ends}


@pytest.mark.parametrize(("slor", "reduced"), [(0.56, True), (0.86, False)])
def test_an_error_falls_by_the_gain_s_share(slor, reduced):
    """0.12 (0.02 to 0.32) of 0.86 - 0.56. The halves of this run's judgments do not matter."""
    fits = pd.DataFrame(
        [one_fit("logprob", r_cv=0.4), one_fit("slor", r_cv=slor), one_fit("morcela", r_cv=0.6)]
    )
    elsewhere = fits.assign(model="pythia-1b", dataset="elsewhere")
    tables = tables_of(pd.concat([fits, elsewhere], ignore_index=True), alike_sentences(PAPER))
    half = {"dataset": PAPER, "definition": "equal_halves", "r": 0.9, "r_low": 0.8, "r_high": 1.0}
    tables["intergroup_correlation"] = pd.DataFrame([half]).assign(description="")
    run = Run("demo", {"pythia-1b": {"parameters": 11 * 10**8}}, published=PUBLISHED)
    found = morcela_quantities(tables, run)
    assert found["pythia-1b/parameters", "billions"].value == pytest.approx(1.1)
    assert found["m/gain", "over_slor"].value == 0.12
    assert found["m/gain", "over_logprob"].value == 0.3
    assert (("m/gain", "error_reduction") in found) == reduced
    if reduced:
        part = found["m/gain", "error_reduction"]
        ends = (part.value, part.low, part.high)
        assert ends == pytest.approx((40, 2 / 0.3, 32 / 0.3))


PREDICTING = {"convention": ("bos", "u"), "cluster": "sentence", "scale": "demo"}


def test_unrated_sentences_get_predictions_by_every_fit(tmp_path):
    new = data_set("new", 20, 1, rated=False)
    rated = {"first": data_set("a", 100, 2), "second": data_set("b", 100, 3, gamma=-5)}
    every = predict_datasets("m", {**rated, "new": new}, fitted_to=[*rated], **PREDICTING)
    table = every[every["dataset"] == "new"]
    assert len(table) == 2 * len(LINKING_FUNCTIONS) * 20
    assert set(table["bos"]) == {"bos"}
    assert table[["rating", "residual", "held_out"]].isna().all(axis=None)
    morcela = table[table["linking_function"] == "morcela"].set_index(["fitted_to", "item_id"])
    scores = new.scores[new.scores["bos"] == "bos"].set_index("item_id")
    for name, gamma in (("first", 11), ("second", -5)):
        truth = 0.5 * (scores["logprob"] - 0.7 * scores["unigram_logprob"] + gamma)
        truth = truth / scores["n_tokens"]
        found = morcela.loc[name]
        inside = (found["predicted_low"] < truth) & (truth < found["predicted_high"])
        assert inside.mean() > 0.7
        assert (found["predicted"] - truth).abs().max() < 0.3
    assert morcela.loc["first", "text"].iloc[3] == "Sentence 3."
    write_table(every, "predicted_ratings", tmp_path / "table.parquet")


def test_rated_sentences_get_residuals_and_held_out_predictions():
    own = data_set("a", 60, 4)
    given = {"own": own, "other": data_set("b", 60, 5)}
    every = predict_datasets("m", given, fitted_to=[*given], **PREDICTING)
    table = every[every["dataset"] == "own"]
    assert np.allclose(table["residual"], table["rating"] - table["predicted"])
    within = table[table["fitted_to"] == "own"]
    assert table[table["fitted_to"] == "other"]["held_out"].isna().all()
    morcela = within[within["linking_function"] == "morcela"]
    assert morcela["residual"].sum() == pytest.approx(0, abs=1e-9)
    # A fit without the sentence is farther from it, always.
    assert ((morcela["rating"] - morcela["held_out"]).abs() > morcela["residual"].abs()).all()
    by_pair = predict_datasets("m", given, fitted_to=["own"], **{**PREDICTING, "cluster": "pair"})
    by_pair = by_pair[by_pair["dataset"] == "own"]
    assert not np.allclose(by_pair["held_out"], within["held_out"])


def test_sentences_have_one_row_each_with_their_columns():
    """Of a rated set in other order, by its own fit; of a new one, by the first set's."""
    given = {"b": data_set("b", 60, 5), "own": data_set("a", 60, 4)}
    given["new"] = data_set("n", 8, 6, rated=False)
    predicted = predict_datasets("m", given, fitted_to=["b", "own"], **PREDICTING)
    described = {
        name: one.stimuli[["item_id"]].assign(slor="mine", note=name)[::-1]
        for name, one in given.items()
    }
    table = tabulate_sentences("m", given, described, predicted, PREDICTING["convention"])
    assert table["item_id"].tolist() == [*predicted["item_id"].unique()]
    assert table.columns[:3].tolist() == ["item_id", "slor_given", "note"]
    fitted_to = table.drop_duplicates("note").set_index("note")["fitted_to"].to_dict()
    assert fitted_to == {"b": "b", "own": "own", "new": "b"}
    row = table.set_index("item_id").loc["a3"]
    of_item = predicted[(predicted["item_id"] == "a3") & (predicted["fitted_to"] == "own")]
    by_function = of_item.set_index("linking_function")
    assert row["held_out"] == by_function.loc["morcela", "held_out"]
    scores = given["own"].scores.set_index(["item_id", "bos"]).loc[("a3", "bos")]
    assert row["mean_logprob"] == scores["logprob"] / scores["n_tokens"]
    slor = row["mean_logprob"] - row["unigram_logprob"] / row["n_tokens"]
    assert row["slor"] == pytest.approx(slor)


def test_simulated_ratings_are_marked_and_unigrams_may_lack():
    rated, new = data_set("a", 40, 6), data_set("n", 5, 7, rated=False)
    rated.stimuli.loc[3, "rating_source"] = "simulated"
    for given in (rated, new):
        given.scores["unigram_logprob"] = np.nan
    table = predict_datasets("m", {"own": rated, "new": new}, fitted_to=["own"], **PREDICTING)
    assert set(table["linking_function"]) == {"logprob", "mean_logprob"}
    assert set(table["rating_source"]) == {"simulated"}
    described = {"own": rated.stimuli[["item_id"]], "new": new.stimuli[["item_id"]]}
    given = {"own": rated, "new": new}
    assert len(tabulate_sentences("m", given, described, table, PREDICTING["convention"])) == 45


def test_unscored_and_unrated_sentences_are_named():
    rated, new = data_set("a", 40, 9), data_set("n", 5, 8, rated=False)
    lacking = new._replace(scores=new.scores[new.scores["item_id"] != "n3"])
    with pytest.raises(LingprobError, match=r"'new', item 'n3': no score under BOS policy 'bos'"):
        predict_datasets("m", {"own": rated, "new": lacking}, fitted_to=["own"], **PREDICTING)
    scores = rated.scores[(rated.scores["item_id"] != "a7") | (rated.scores["bos"] == "bos")]
    with pytest.raises(LingprobError, match=r"'own', item 'a7': no score under BOS policy 'none'"):
        with_ratings("own", rated.stimuli, scores)
    rated.stimuli.loc[3, "rating"] = np.nan
    with pytest.raises(LingprobError, match="'own', item 'a3': no rating"):
        fit_model("m", {"own": rated}, **FITTING)


def test_models_differ_as_their_scores_in_every_resample(tmp_path):
    """p + 0.1 u for p: beta rises by exactly 0.1, so that the paired interval has no width."""
    stimuli, scores = inputs()
    moved = scores.assign(logprob=scores["logprob"] + 0.1 * scores["unigram_logprob"])
    tables = [
        fit_model(name, {"d": DataSet(stimuli, table)}, **FITTING)
        for name, table in (("a", scores), ("b", moved))
    ]
    fits, draws = (pd.concat(of_both, ignore_index=True) for of_both in zip(*tables, strict=True))
    write_table(draws, "linking_draws", tmp_path / "draws.parquet")
    row = parameter_differences(default_fits(fits), draws).iloc[0]
    assert (row["model"], row["other"]) == ("a", "b")
    for end in ("", "_low", "_high"):
        found = row[[f"beta{end}", f"gamma{end}", f"r_cv{end}"]].tolist()
        assert found == pytest.approx([-0.1, 0, 0], rel=1e-6, abs=1e-9)


def test_differences_by_hand():
    """r_cv of draws lies elsewhere than that of all sentences: its interval is moved to it."""
    fits = pd.DataFrame({
        "dataset": "d", "model": ["a", "b"], "linking_function": "morcela",
        "beta": [0.9, 0.5], "gamma": [20.0, 11.0], "r_cv": [0.7, 0.6],
    })  # fmt: skip
    number = np.arange(41)
    base = 7 * number % 41  # draws neither rise nor fall with their number
    draws = pd.concat(
        pd.DataFrame({
            "dataset": "d", "model": model, "draw": number, "n": 9, "cluster": "item",
            "linking_function": name,
            "beta": base + own, "gamma": base**2 + own, "r_cv": (base + own) / 100,
        })
        for model, name, own in (
            ("a", "morcela", number), ("b", "morcela", 0), ("a", "morcela_gamma_0", 7.0))
    )  # fmt: skip
    row = parameter_differences(fits, draws.sample(frac=1, random_state=0)).iloc[0]
    assert row[["beta", "beta_low", "beta_high"]].to_list() == pytest.approx([0.4, 1, 39])
    assert row[["gamma", "gamma_low", "gamma_high"]].to_list() == pytest.approx([9, 1, 39])
    assert row[["r_cv", "r_cv_low", "r_cv_high"]].to_list() == pytest.approx([0.1, -0.09, 0.29])
    # Models of other sentences are not compared.
    of_b = draws["model"] == "b"
    assert parameter_differences(fits, draws[~(of_b & (draws["draw"] == 40))]).empty
    assert parameter_differences(fits, draws.assign(n=draws["n"] - of_b)).empty
