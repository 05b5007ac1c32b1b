"""MORCELA's conventions: crossed, explained, and the samples behind the unigrams."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from layout import layout_faults
from lingprob.catalog import Catalog, read_yaml
from lingprob.figures.labels import label_provenance
from lingprob.figures.palette import describe_models
from lingprob.papers.contract import Run
from lingprob.papers.morcela.analysis import decompose_model, draw_parameters, fit_model
from lingprob.papers.morcela.comparison_figures import decomposition, parameter_matrix
from lingprob.papers.morcela.convention_figures import (
    conventions,
    one_at_a_time,
    specification_curve,
)
from lingprob.papers.morcela.differences import parameter_differences
from lingprob.papers.morcela.fits import default_fits
from lingprob.papers.morcela.multiverse import cross_conventions
from lingprob.papers.morcela.rated import DataSet
from lingprob.papers.morcela.sample_sizes import extrapolate, parts, vary_samples
from lingprob.papers.morcela.specifications import explained, shapley, source_name, specifications
from lingprob.regression.linking import fit_linking_functions
from lingprob.tables import write_table
from lingprob.unigrams.estimate import sums_table

SENTENCES = 240
POLICIES = Catalog().bos_policies
FITTING = {
    "default_convention": ("none", "pile"), "cluster": "article", "keep_together": "sentence",
    "scale": "demo", "folds": 5, "repeats": 3, "bootstrap": 30, "seed": 1,
}  # fmt: skip


def inputs(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sentences in pairs and 30 articles, scored under three BOS policies and two sources."""
    rng = np.random.default_rng(seed)
    length = rng.integers(4, 20, SENTENCES)
    unigram = -8.0 * length + rng.normal(0, 4, SENTENCES)
    logprob = -3.0 * length + rng.normal(0, 6, SENTENCES)
    rating = (logprob - 0.7 * unigram + 11) / length + rng.normal(0, 0.3, SENTENCES)
    number = np.arange(SENTENCES)
    stimuli = pd.DataFrame({
        "item_id": [f"s{row}" for row in number], "pair_id": [f"p{row // 2}" for row in number],
        "paradigm": None, "phenomenon": [f"a{row // 8}" for row in number], "text": "x",
        "rating": rating, "rating_source": "human",
    })  # fmt: skip
    scores = pd.DataFrame({"item_id": stimuli["item_id"], "n_tokens": length, "n_words": 1})
    every = [
        scores.assign(bos=bos, unigrams=source, logprob=logprob - shift,
                      unigram_logprob=unigram + noise * rng.normal(size=SENTENCES))
        for bos, shift in (("none", 0.0), ("bos", 3.0), ("bos_first_excluded", 1.0))
        for source, noise in (("pile", 0.0), ("unigrahams_m", 9.0))
    ]  # fmt: skip
    return stimuli, pd.concat(every, ignore_index=True)


@pytest.fixture(scope="module")
def crossed() -> pd.DataFrame:
    stimuli, scores = inputs()
    return cross_conventions("m", {"d": DataSet(stimuli, scores)}, **FITTING)


def test_every_convention_meets_every_other_and_one_specification_is_the_default(crossed, tmp_path):
    """3 BOS policies, 2 sources, 3 units (no paradigms are known) of resamples and of folds."""
    write_table(crossed, "linking_functions", tmp_path / "crossed.parquet")
    assert len(crossed) == 3 * 2 * 3 * 3 * 3
    keys = ["bos", "unigrams", "cluster", "kept_together"]
    assert not crossed.duplicated([*keys, "linking_function"]).any()
    default = crossed.loc[crossed["default_convention"], keys].drop_duplicates()
    assert default.to_numpy().tolist() == [["none", "pile", "article", "sentence"]]
    alone = fit_model("m", {"d": DataSet(*inputs())}, **FITTING)
    ours = default_fits(crossed).set_index("linking_function").loc["morcela"]
    theirs = default_fits(alone).set_index("linking_function").loc["morcela"]
    for column in ("beta", "beta_low", "r_cv", "r_cv_high"):
        assert ours[column] == theirs[column]


def test_specifications_have_200_draws_and_20_shuffles_at_most():
    stimuli, scores = inputs()
    one = scores[(scores["bos"] == "none") & (scores["unigrams"] == "pile")]
    given = ("m", {"d": DataSet(stimuli.assign(pair_id=None, phenomenon=None), one)})
    asked = FITTING | {"bootstrap": 900, "repeats": 90, "cluster": "sentence"}
    found = default_fits(cross_conventions(*given, **asked))
    functions = ("logprob", "slor", "morcela")
    most = asked | {"bootstrap": 200, "repeats": 20, "linking_functions": functions}
    pd.testing.assert_frame_equal(found, default_fits(fit_model(*given, **most)))


def test_a_convention_explains_what_it_moves(crossed):
    """Resamples move widths alone, folds r alone, and an inverted order of rows nothing."""
    specified = specifications(crossed, POLICIES)
    morcela = crossed[crossed["linking_function"] == "morcela"]
    assert list(specified)[: crossed.shape[1]] == list(crossed)
    for name in ("beta", "r_cv"):
        width = morcela[f"{name}_high"] - morcela[f"{name}_low"]
        np.testing.assert_array_equal(specified[f"{name}_width"], width)
    table = explained(specified).set_index("quantity")
    assert table.loc["beta", ["cluster", "kept_together"]].abs().max() < 1e-9
    assert table.loc["beta", "unigrams"] > 0.5
    assert table.loc["beta_width", "cluster"] > 0.001
    shares = ["start_token", "first_token", "unigrams", "kept_together", "cluster", "together"]
    assert table[shares].sum(axis=1).to_numpy() == pytest.approx(1)
    again = explained(specified.sample(frac=1, random_state=1)).set_index("quantity")
    pd.testing.assert_frame_equal(table, again)
    of_one_source = explained(specified[specified["unigrams"] == "pile"]).set_index("quantity")
    assert (of_one_source["unigrams"] == 0).all()
    assert of_one_source[shares].sum(axis=1).tolist() == pytest.approx([0, 1, 1, 1, 1, 1])
    assert (explained(specified.iloc[:1])[shares] == 0).all(axis=None)


def test_shares_by_hand():
    """y = 3a + b over a full 2 x 2 x 2 crossing: variances 9/4, 1/4 and 0."""
    grid = pd.MultiIndex.from_product([[0, 1]] * 3, names=["a", "b", "c"]).to_frame(index=False)
    shares = shapley(grid, ["a", "b", "c"], (3.0 * grid["a"] + grid["b"]).to_numpy())
    assert shares == pytest.approx({"a": 0.9, "b": 0.1, "c": 0.0})
    both = shapley(grid, ["a", "b"], (grid["a"] * grid["b"]).to_numpy(float))
    assert both == pytest.approx({"a": 1 / 3, "b": 1 / 3})  # the rest is their interaction
    assert shapley(grid, ["a"], np.full(8, 0.3)) == {}
    assert shapley(grid, ["a"], 1e6 + 1e-7 * grid["a"].to_numpy()) == {}
    # Two names for one convention share what it explains.
    twins = grid.assign(b=grid["a"])
    assert shapley(twins, ["a", "b"], twins["a"].to_numpy(float)) == pytest.approx(
        {"a": 0.5, "b": 0.5}
    )


def test_normalising_published_unigrams_moves_no_fit():
    """It adds the same to u/l of every sentence, which the intercept absorbs."""
    stimuli, scores = inputs()
    one = scores[(scores["bos"] == "bos") & (scores["unigrams"] == "pile")]
    moved = one["unigram_logprob"] - np.log(1.05) * one["n_tokens"]
    tables = [
        fit_linking_functions(one["logprob"], unigram, one["n_tokens"], stimuli["rating"],
                              repeats=2, bootstrap=20)
        for unigram in (one["unigram_logprob"], moved)
    ]  # fmt: skip
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)


def test_sources_are_named_without_the_model():
    assert source_name("unigrahams_smollm2-135m") == "unigrahams"
    assert source_name("unigrahams-released_opt-30b") == "unigrahams-released"
    assert source_name("corpus_my_texts") == "my_texts"
    assert source_name("pile_published") == "pile_published"


def test_the_figure_of_conventions_leaves_one_thing_after_the_other(crossed):
    rows = one_at_a_time(crossed)
    morcela = rows[rows["linking_function"] == "morcela"]
    assert morcela["row"].tolist() == [
        "none | pile (default)", "none | unigrahams", "bos | pile", "bos | unigrahams",
        "bos_first_excluded | pile", "bos_first_excluded | unigrahams",
        "resampled: sentences", "resampled: pairs", "folds keep: pairs", "folds keep: articles",
    ]  # fmt: skip
    by_row = morcela.set_index("row")
    assert set(by_row.loc[["resampled: pairs", "folds keep: pairs"], "bos"]) == {"none"}
    assert by_row.loc["resampled: pairs", ["cluster", "kept_together"]].tolist() == [
        "pair", "sentence"
    ]  # fmt: skip


VOCABULARY = 2000


def sampled_truth(samples: int, seed: int) -> tuple[dict, list[pd.DataFrame]]:
    """Sentences of Zipfian tokens whose ratings follow MORCELA with the true unigrams (beta .75),
    and eight shards of sampled text that estimate these.

    A token's sum is a gamma variate with half the variance of a count, which is more than the sums
    of a model's next-token distributions have (SmolLM2's half of the time less than .21 of it).
    """
    rng = np.random.default_rng(seed)
    probability = 1 / (np.arange(VOCABULARY) + 3.0) ** 1.1
    probability /= probability.sum()
    ids = [rng.choice(VOCABULARY, size=length, p=0.5 * probability + 0.5 / VOCABULARY)
           for length in rng.integers(4, 20, 600)]  # fmt: skip
    length = np.array([len(one) for one in ids])
    unigram = np.array([np.log(probability[one]).sum() for one in ids])
    logprob = 0.6 * unigram + rng.normal(0, 4, 600)
    rating = 0.5 * (logprob - 0.75 * unigram + 11) / length + rng.normal(0, 0.1, 600)
    items = [f"s{row}" for row in range(600)]
    stimuli = pd.DataFrame({"item_id": items, "rating": rating, "text": "x"})
    rows = [(item, token, place) for item, one in zip(items, ids, strict=True)
            for place, token in enumerate(one)]  # fmt: skip
    scores = pd.DataFrame(rows, columns=["item_id", "token_id", "token_index"])
    scores["logprob"] = np.repeat(logprob / length, length)
    scores["scored"] = True
    expected = 34 * samples / 8 * probability
    shards = [sums_table(np.maximum(rng.gamma(2 * expected, 0.5), 1e-12)) for _ in range(8)]
    policy = {"start_token": "bos", "first_token": "scored"}
    return {"stimuli": stimuli, "token_scores": scores, "policy": policy}, shards


def test_extrapolation_takes_away_what_errors_in_unigrams_do_to_beta():
    """Ten simulated truths with beta .75: sampled unigrams give .736, the limit .758."""
    found = []
    for seed in range(10):
        given, shards = sampled_truth(1000, seed)
        table = vary_samples(**given, shards=shards, samples=[125] * 8)
        naive = table.loc[(table["samples"] == 8 * 125) & ~table["extrapolated"], "beta"].item()
        found.append((naive, table.loc[table["extrapolated"], "beta"].item()))
    naive, limit = np.mean(found, axis=0)
    assert naive < 0.738
    assert abs(limit - 0.75) < 0.65 * (0.75 - naive)


def test_more_samples_bring_beta_nearer_and_parts_are_side_by_side(tmp_path):
    given, shards = sampled_truth(3000, 1)
    table = vary_samples(**given, shards=shards, samples=[375] * 8)
    fitted = table[~table["extrapolated"]].groupby("samples")["beta"]
    assert fitted.size().to_dict() == {375: 8, 750: 4, 1500: 2, 3000: 1}
    assert fitted.mean().is_monotonic_increasing
    about = {"model": "m", "dataset": "d", "rating_source": "human", "bos": "b", "unigrams": "u"}
    write_table(table.assign(**about, scale="demo"), "sample_sizes", tmp_path / "t.parquet")


def test_shards_without_samples_are_left_out(tmp_path):
    """Few samples may leave a shard without any."""
    given, shards = sampled_truth(1000, 1)
    nothing = shards[0].assign(sum=0.0, sum_of_squares=0.0)
    table = vary_samples(**given, shards=[*shards[:2], nothing], samples=[125, 125, 0])
    assert table["samples"].tolist() == [125, 125, 250, 250]
    assert table["extrapolated"].tolist() == [False, False, False, True]
    alone = vary_samples(**given, shards=[shards[0], nothing], samples=[125, 0])
    assert alone["samples"].tolist() == [125]
    assert alone["beta"].item() == table["beta"].iloc[0]


def test_a_part_s_unigrams_are_shares_of_its_sums():
    given, shards = sampled_truth(1000, 2)
    table = vary_samples(**given, shards=shards[:1], samples=[125])
    scores, sums = given["token_scores"], shards[0]["sum"].to_numpy()
    scores = scores.assign(unigram=np.log(sums / sums.sum())[scores["token_id"]])
    by_item = scores.groupby("item_id", sort=False)
    p, u, length = by_item["logprob"].sum(), by_item["unigram"].sum(), by_item.size()
    design = np.column_stack([np.ones(600), p / length, u / length, 1 / length])
    _, a, b, c = np.linalg.lstsq(design, given["stimuli"]["rating"])[0]
    row = table.iloc[0]
    assert (row["beta"], row["gamma"]) == pytest.approx((-b / a, c / a))


def test_parts_by_hand():
    assert parts(1) == [range(1)]
    assert parts(2) == [range(1), range(1, 2), range(2)]
    assert parts(5) == [range(n, n + 1) for n in range(5)] + [range(2), range(2, 4), range(5)]


def test_the_limit_by_hand():
    """Errors that fall as 1 / n: beta = 1 - 10 / n, of 60, 20 and 20 samples, or 19, 20 and 39."""
    for samples in ([20, 20, 60], [19, 20, 39]):
        table = pd.DataFrame({"samples": samples, "part": range(3)})
        table["beta"] = table["gamma"] = table["r"] = 1 - 10 / table["samples"]
        row = extrapolate(table).iloc[0]
        assert row[["beta", "gamma", "r"]].to_numpy(float) == pytest.approx(1)


def two_models(shift: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fits and draws of two models: the second's scores are the first's and a part of u."""
    stimuli, scores = inputs()
    tables: tuple[list, list] = ([], [])
    for name, part in (("a", 0.0), ("b", shift)):
        moved = scores.assign(logprob=scores["logprob"] + part * scores["unigram_logprob"])
        given = (name, {"d": DataSet(stimuli, moved)})
        tables[0].append(fit_model(*given, **FITTING))
        tables[1].append(draw_parameters(*given, **FITTING))
    return tuple(pd.concat(table, ignore_index=True) for table in tables)


def test_models_differ_by_what_their_scores_do_in_every_resample(tmp_path):
    """p + .1 u for p: beta rises by .1 exactly, so that the paired interval has no width."""
    fits, draws = two_models(0.1)
    write_table(draws, "linking_draws", tmp_path / "draws.parquet")
    row = parameter_differences(default_fits(fits), draws).iloc[0]
    assert (row["model"], row["other"]) == ("a", "b")
    for end in ("", "_low", "_high"):
        assert row[f"beta{end}"] == pytest.approx(-0.1)
        assert row[f"gamma{end}"] == pytest.approx(0, abs=1e-9)
        assert row[f"r_cv{end}"] == pytest.approx(0, abs=1e-9)


def test_differences_by_hand():
    """r_cv of draws lies elsewhere than that of all sentences: its interval is moved to it."""
    fits = pd.DataFrame({
        "dataset": "d", "model": ["a", "b"], "linking_function": "morcela",
        "beta": [0.9, 0.5], "gamma": [20.0, 11.0], "r_cv": [0.7, 0.6],
    })  # fmt: skip
    number = np.arange(41)
    draws = pd.concat(
        pd.DataFrame({
            "dataset": "d", "model": model, "draw": number, "n": 9, "cluster": "item",
            "linking_function": name,
            "beta": size * number, "gamma": size * number**2, "r_cv": size * number / 100,
        })
        for model, name, size in (
            ("a", "morcela", 2.0), ("b", "morcela", 1.0), ("a", "morcela_gamma_0", 7.0))
    )  # fmt: skip
    row = parameter_differences(fits, draws.sample(frac=1, random_state=0)).iloc[0]
    assert row[["beta", "beta_low", "beta_high"]].to_list() == pytest.approx([0.4, 1, 39])
    assert row[["gamma", "gamma_low", "gamma_high"]].to_list() == pytest.approx([9, 1, 39**2])
    assert row[["r_cv", "r_cv_low", "r_cv_high"]].to_list() == pytest.approx([0.1, -0.09, 0.29])


def test_models_of_other_sentences_are_not_compared():
    fits, draws = two_models(0.1)
    of_b = draws.index[(draws["model"] == "b") & (draws["linking_function"] == "morcela")]
    fits, fewer = default_fits(fits), draws.drop(of_b[-1])
    assert parameter_differences(fits, fewer).empty
    draws.loc[draws["model"] == "b", "n"] -= 1
    assert parameter_differences(fits, draws).empty


def sixteen(table: pd.DataFrame) -> pd.DataFrame:
    """One model's rows as those of the paper's sixteen, a little apart."""
    names = read_yaml("scales.yaml")["paper"]["morcela"]["models"]
    moved = []
    for number, name in enumerate(names):
        rows = table.assign(model=name)
        for column in ("r_cv", "beta", "gamma"):
            ends = [end for end in (column, f"{column}_low", f"{column}_high") if end in rows]
            rows[ends] = rows[ends] * (1 - 0.02 * number)
        moved.append(rows)
    return pd.concat(moved, ignore_index=True)


def test_figures_of_sixteen_models_have_nothing_cut_or_overprinted(crossed):
    stimuli, scores = inputs()
    options = {key: FITTING[key] for key in ("default_convention", "bootstrap", "seed", "scale")}
    parts = decompose_model("m", {"linguistic_inquiry": DataSet(stimuli, scores)}, **options)
    draws = draw_parameters("m", {"linguistic_inquiry": DataSet(stimuli, scores)}, **FITTING)
    table = sixteen(crossed.assign(dataset="linguistic_inquiry"))
    run = Run("paper", describe_models(Catalog().models))
    figures = {
        "conventions": conventions(table, run),
        "multiverse": specification_curve(table, run, POLICIES),
        "decomposition": decomposition(sixteen(parts), run),
        "differences": parameter_matrix(sixteen(draws), default_fits(table), run),
    }
    for name, figure in figures.items():
        label_provenance(figure, ["paper"])
        assert layout_faults(figure) == [], name
        assert figure.get_figheight() < 11
        plt.close(figure)
