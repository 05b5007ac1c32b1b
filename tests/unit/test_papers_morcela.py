"""MORCELA's tables, scorecard and figures from small tables made by hand."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from layout import layout_faults
from lingprob.catalog import Catalog, read_published
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.figures.style import save_figures
from lingprob.papers.contract import Run
from lingprob.papers.morcela.analysis import (
    correlate_participant_groups,
    fit_model,
)
from lingprob.papers.morcela.figures import draw, highest_r
from lingprob.papers.morcela.fits import (
    default_fits,
    main_dataset,
    printed_fits,
    published_fits,
)
from lingprob.papers.morcela.pages import tabulate
from lingprob.papers.morcela.parameter_figures import numbered
from lingprob.papers.morcela.rated import DataSet, read_datasets
from lingprob.papers.morcela.scorecard import compare
from lingprob.papers.morcela.units import units_of
from lingprob.schemas import SCHEMAS
from lingprob.site.page import table_as_html
from lingprob.stimuli.checks import NO_RATINGS
from lingprob.tables import write_table

PUBLISHED = read_published("morcela")
MODELS = Catalog().models
OPTIONS = {"bos_policies": Catalog().bos_policies}
RUN = Run("demo", describe_models(MODELS), published=PUBLISHED, options=OPTIONS)
SENTENCES = 120


def inputs(rating_source: str = "human") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stimuli and sentence scores under two conventions, with a known linking function."""
    rng = np.random.default_rng(0)
    n_tokens = rng.integers(4, 20, SENTENCES)
    unigram = -8.0 * n_tokens + rng.normal(0, 4, SENTENCES)
    logprob = -3.0 * n_tokens + rng.normal(0, 6, SENTENCES)
    rating = (logprob - 0.7 * unigram + 11) / n_tokens + rng.normal(0, 0.3, SENTENCES)
    ids = [f"s{row}" for row in range(SENTENCES)]
    stimuli = pd.DataFrame(
        {
            "item_id": ids,
            "pair_id": None,
            "rating": rating,
            "rating_source": rating_source,
            "text": "x",
        }
    )
    scores = pd.DataFrame({"item_id": ids, "unigram_logprob": unigram, "n_tokens": n_tokens})
    both = [
        scores.assign(bos=bos, unigrams="u", logprob=logprob + shift, n_words=1)
        for bos, shift in (("bos", 0.0), ("none", 1.0))
    ]
    return stimuli, pd.concat(both, ignore_index=True)


FITTING = {
    "default_convention": ("bos", "u"), "cluster": "article", "keep_together": "sentence",
    "scale": "demo", "folds": 5, "repeats": 4, "bootstrap": 50, "seed": 1,
}  # fmt: skip


def fits(model: str = "pythia-70m", rating_source: str = "human") -> pd.DataFrame:
    stimuli, scores = inputs(rating_source)
    return fit_model(model, {"linguistic_inquiry": DataSet(stimuli, scores)}, **FITTING)


def tables(fits: pd.DataFrame, stimuli: pd.DataFrame | None = None) -> dict[str, pd.DataFrame]:
    """What figures and scorecard take, with no single judgments, pairs or shared resamples."""
    empty = {
        name: SCHEMAS[schema].empty_table().to_pandas()
        for name, schema in (
            ("intergroup_correlation", "intergroup_correlation"),
            ("draws", "linking_draws"),
        )
    }
    given = {"linking_functions": fits, **empty}
    return given if stimuli is None else {**given, "stimuli": stimuli}


def test_figures_of_two_data_sets_show_the_models_that_each_has():
    """SmolLM2 has ratings of both, a trigram of the second alone, and BERT there no unigrams."""
    ours, trigram, bert = (fits(name) for name in ("smollm2-135m", "trigram", "bert-large-cased"))
    trigram["r_cv"] -= 0.3
    second = [ours, trigram, bert[bert["linking_function"] == "logprob"]]
    second = [table.assign(dataset="li_adger") for table in second]
    titles = {name: Catalog().dataset(name)["title"] for name in ("linguistic_inquiry", "li_adger")}
    run = Run("laptop", RUN.models, titles=titles, published=PUBLISHED, options=OPTIONS)
    table = pd.concat([ours, *second], ignore_index=True)
    figures = draw(tables(table), run)
    families = {
        "figure_2": [["SmolLM2", "OPT", "Pythia"], ["SmolLM2", "n-grams", "BERT"]],
        "figure_3": [["SmolLM2", "OPT", "Pythia"], ["SmolLM2", "n-grams"]],
    }
    for name, expected in families.items():
        shown = [ax for ax in figures[name].axes if ax.get_visible()]
        rows = [[ax.get_title() for ax in shown if ax.get_subplotspec().rowspan.start == row]
                for row in (0, 1)]  # fmt: skip
        assert rows == expected
    for name in ("figure_2", "figure_3", "figure_4", "figure_6", "conventions"):
        assert layout_faults(figures[name]) == [], name
    legend = [text.get_text() for text in figures["figure_4"].legends[0].get_texts()]
    assert legend == ["SmolLM2", "n-grams", "OPT", "Pythia", "published"]
    plt.close("all")


def test_scores_without_unigrams_have_figures_that_say_why_they_are_empty():
    """As imported sums of log-probabilities: Figure 2 has their r, no table of theirs fails."""
    table = fits("bert-large-cased")
    table = table[table["linking_function"].isin(["logprob", "mean_logprob"])]
    table = table.assign(dataset="mine")
    run = Run("laptop", RUN.models, titles={"mine": "Mine"}, published=PUBLISHED, options=OPTIONS)
    figures = draw(tables(table), run)
    full = draw(tables(fits("smollm2-135m")), RUN)
    assert list(figures) == list(full)
    assert [ax.get_title() for ax in figures["figure_2"].axes if ax.get_visible()] == ["BERT"]
    for name in ("figure_3", "figure_4", "figure_6", "conventions", "differences"):
        (ax,) = figures[name].axes
        assert "no model has unigrams" in ax.texts[0].get_text()
    pages = tabulate(tables(table), run)
    assert pages["table_2"].empty
    plt.close("all")


def test_figure_4_names_in_its_legend_whom_it_shows():
    without = fits("trigram").assign(gamma=np.nan, beta=np.nan)
    figures = draw(tables(pd.concat([fits("smollm2-135m"), without], ignore_index=True)), RUN)
    legend = [text.get_text() for text in figures["figure_4"].legends[0].get_texts()]
    assert legend == ["SmolLM2", "OPT", "Pythia", "published"]
    plt.close("all")


def test_fits_recover_the_parameters_that_made_the_ratings(tmp_path):
    table = fits()
    row = default_fits(table).set_index("linking_function").loc["morcela"]
    assert row["beta_low"] < 0.7 < row["beta_high"] < 1
    assert row["gamma_low"] < 11 < row["gamma_high"]
    assert table["bos"].unique().tolist() == ["bos", "none"]
    write_table(table, "linking_functions", tmp_path / "fits.parquet")


def test_the_default_convention_is_one_bos_policy_with_one_unigram_source():
    stimuli, scores = inputs()
    given = [scores.assign(unigrams=name) for name in ("u", "v")]
    fitting = {"folds": 5, "repeats": 1, "bootstrap": 2, "seed": 1}
    table = fit_model(
        "m", {"linguistic_inquiry": DataSet(stimuli, pd.concat(given))},
        **(FITTING | fitting | {"default_convention": ("none", "v")}),
    )  # fmt: skip
    assert len(table.groupby(["bos", "unigrams"])) == 4
    chosen = default_fits(table)[["bos", "unigrams"]].drop_duplicates()
    assert chosen.to_numpy().tolist() == [["none", "v"]]


def test_pages_show_the_paper_s_data_set_or_else_the_first():
    for names, shown in (
        (["b", "linguistic_inquiry", "a"], "linguistic_inquiry"),
        (["b", "a"], "b"),
    ):
        assert main_dataset(pd.DataFrame({"dataset": names})) == shown


def test_a_sentence_without_rating_is_named():
    stimuli, scores = inputs()
    stimuli.loc[3, "rating"] = np.nan
    with pytest.raises(LingprobError, match="'linguistic_inquiry', item 's3': no rating"):
        fit_model("m", {"linguistic_inquiry": DataSet(stimuli, scores)}, **FITTING)


@pytest.mark.parametrize(
    ("wanted", "articles", "pairs", "used"),
    [
        ("article", 30, 60, "article"),
        ("article", 20, 60, "article"),
        ("article", 19, 60, "pair"),
        ("article", 19, 19, "sentence"),
        ("pair", 30, 60, "pair"),
        ("sentence", 30, 60, "sentence"),
    ],
)
def test_what_intervals_resample_is_the_wanted_unit_or_the_next_finer_one(
    wanted, articles, pairs, used, caplog
):
    """Fewer than twenty clusters tell little; here paradigms are unknown of one sentence."""
    items = pd.DataFrame({"item_id": [f"s{row}" for row in range(120)]})
    items["pair_id"] = [f"p{row % pairs}" for row in range(120)]
    items["paradigm"] = ["x", *[None] * 119]
    items["phenomenon"] = [f"a{row % articles}" for row in range(120)]
    name, ids = units_of(items, wanted)
    assert name == used
    expected = {"article": articles, "pair": pairs, "sentence": 120}[used]
    assert ids.nunique() == expected
    assert ("taking each" in caplog.text) == (used != wanted)


def test_intervals_resample_the_unit_that_the_table_names():
    """Ratings of an article have a part in common: intervals by article are wider."""
    stimuli, scores = inputs()
    rng = np.random.default_rng(1)
    article = np.arange(SENTENCES) % 24
    stimuli["phenomenon"] = [f"a{number}" for number in article]
    scores["logprob"] += np.tile(12 * rng.normal(size=24)[article], 2)
    stimuli["rating"] += rng.normal(size=24)[article]
    widths = {}
    for cluster in ("sentence", "article"):
        options = FITTING | {"cluster": cluster, "bootstrap": 400}
        table = default_fits(
            fit_model("m", {"linguistic_inquiry": DataSet(stimuli, scores)}, **options)
        ).set_index("linking_function")
        assert set(table["cluster"]) == {cluster}
        widths[cluster] = (table["r_cv_high"] - table["r_cv_low"])["logprob"]
    assert widths["article"] > 1.3 * widths["sentence"]


def test_models_meet_sentences_in_one_order_whatever_that_of_their_scores():
    stimuli, scores = inputs()
    shuffled = scores.sample(frac=1, random_state=1)
    options = FITTING | {"bootstrap": 10}
    tables = [
        fit_model("m", {"linguistic_inquiry": DataSet(stimuli, given)}, **options)
        .sort_values(["bos", "linking_function"], ignore_index=True)
        for given in (scores, shuffled)
    ]  # fmt: skip
    pd.testing.assert_frame_equal(*tables)


def test_no_single_judgments_give_an_empty_table(tmp_path):
    table = correlate_participant_groups(["d"], [inputs()[0]], [NO_RATINGS], seed=1, scale="demo")
    assert table.empty
    write_table(table, "intergroup_correlation", tmp_path / "none.parquet")


def test_published_values_stand_beside_ours_and_only_for_the_paper_s_data():
    table = fits()
    theirs = published_fits(PUBLISHED, table)
    assert len(theirs) == 64
    shown = tabulate(tables(table), RUN)
    row = shown["table_2"].set_index("model").loc["pythia-70m"]
    assert row["r_cv_published"] == 0.457
    own = table[table["default_convention"] & (table["linking_function"] == "morcela")]
    assert row["beta"] == own["beta"].item()
    pythia = shown["table_4"].loc[lambda rows: rows["model"] == "pythia-70m"]
    assert pythia["bic"].is_monotonic_increasing
    assert set(shown["table_3"]["model"].str.split("-").str[0]) == {"opt"}
    assert published_fits(PUBLISHED, table.assign(dataset="other")).empty


def test_a_model_of_neither_family_stands_in_table_3():
    shown = tabulate(tables(fits("smollm2-135m")), RUN)
    assert "smollm2-135m" in set(shown["table_3"]["model"])
    assert "smollm2-135m" not in set(shown["table_4"]["model"])


def test_the_scorecard_judges_numbers_and_claims_and_says_what_it_lacks(tmp_path):
    table = fits()
    stimuli = pd.DataFrame(
        {"item_id": range(1450), "dataset": "linguistic_inquiry", "text": "x", "rating": 0.0}
    )
    stimuli.loc[0, ["text", "rating"]] = "It seems a cat to be in the tree.", -1.1092
    card = compare(tables(table, stimuli), PUBLISHED, RUN)
    write_table(card, "scorecard", tmp_path / "scorecard.parquet")
    by_key = card.set_index(["item", "row", "column"])
    sentences = ("§3.3", "linguistic_inquiry/sentences", "value")
    assert by_key.loc[sentences, "verdict"] == "reproduced"
    example = ("Figure 1", "linguistic_inquiry/unacceptable", "rating")
    assert by_key.loc[example, "verdict"] == "reproduced"
    ours = by_key.loc[("Table 2", "pythia-70m/morcela", "beta")]
    assert ours["published"] == 0.896
    assert ours["difference"] == pytest.approx(ours["ours"] - 0.896)
    assert ours["high"] < 0.896
    assert ours["verdict"] == "differs"
    assert by_key.loc[("Table 2", "opt-125m/morcela", "beta"), "verdict"] == "not run"
    size = ("Table 1", "pythia-70m/parameters", "millions")
    assert by_key.loc[size, "verdict"] == "reproduced"
    gamma = by_key.loc[("§4.3", "pythia-70m/linguistic_inquiry", "gamma_above_0")]
    assert gamma["verdict"] == "supported"
    own = default_fits(table).set_index("linking_function").loc["morcela"]
    assert (gamma["low"], gamma["high"]) == (own["gamma_low"], own["gamma_high"])
    frequency = ("§5", "(none)", "r_falls_with_frequency_slope")
    assert by_key.loc[frequency, "verdict"] == "not run"
    published = by_key.loc[("§4.3", "models/published", "gamma_rises_with_size")]
    assert published["verdict"] == "supported"
    own = by_key.loc[("§4.3", "models/linguistic_inquiry", "gamma_rises_with_size")]
    assert own["verdict"] == "not run"
    assert own["note"].startswith("too few models for a slope within families: pythia-70m")
    numbers = card[card["kind"] == "number"]
    assert len(numbers) == 3 + 1 + 1 + 2 * 3 + 16 + 16 * 3 + 64 * 3
    assert set(card.loc[card["kind"] == "claim", "column"]) == {
        claim["id"] for claim in PUBLISHED["claims"]
    }


def test_of_the_agreements_between_participants_the_paper_s_own_meets_the_published_one():
    """§4.1: of equal halves, of its data set; other rows, whatever their order, say nothing."""
    kinds = [("linguistic_inquiry", "equal_halves"), ("linguistic_inquiry", "one_and_rest"),
             ("elsewhere", "equal_halves")]  # fmt: skip
    halves = pd.DataFrame(kinds, columns=["dataset", "definition"])
    halves = halves.assign(r=[0.99, 0.5, 0.5], r_low=0.4, r_high=1.0, description="of these")
    table, stimuli = fits("pythia-12b"), inputs()[0].assign(dataset="linguistic_inquiry")
    by_name = default_fits(table).set_index("linking_function")
    for order in (halves, halves[::-1]):
        card = compare(
            tables(table, stimuli) | {"intergroup_correlation": order}, PUBLISHED, RUN
        ).set_index(["row", "column"])
        row = card.loc[("linguistic_inquiry/intergroup_correlation", "r")]
        assert (row["ours"], row["published"]) == (0.99, 0.86)
        less = card.loc[("pythia-12b/gain", "error_reduction")]
        gain = by_name.loc["morcela", "r_cv"] - by_name.loc["slor", "r_cv"]
        assert less["ours"] == pytest.approx(100 * gain / (0.99 - by_name.loc["slor", "r_cv"]))


def test_where_slor_lacks_nothing_of_the_agreement_there_is_no_error_to_reduce():
    halves = pd.DataFrame(
        {"dataset": ["linguistic_inquiry"], "definition": ["equal_halves"], "r": [0.1],
         "r_low": [0.0], "r_high": [0.2], "description": ["of these"]}
    )  # fmt: skip
    given = tables(fits("pythia-12b"), inputs()[0].assign(dataset="linguistic_inquiry"))
    card = compare(given | {"intergroup_correlation": halves}, PUBLISHED, RUN)
    row = card.set_index(["row", "column"]).loc[("pythia-12b/gain", "error_reduction")]
    assert row["verdict"] == "not run"


def test_data_sets_are_read_from_their_tables_by_name(tmp_path):
    files = []
    for schema in ("stimuli", "sentence_scores"):
        files.append(str(tmp_path / f"{schema}.parquet"))
        write_table(SCHEMAS[schema].empty_table().to_pandas(), schema, Path(files[-1]))
    stimuli, scores = files
    found = read_datasets(["one"], [stimuli], [scores])
    assert list(found) == ["one"]
    assert {"rating", "text"} <= set(found["one"].stimuli)
    assert {"logprob", "unigram_logprob"} <= set(found["one"].scores)


def test_numbers_on_simulated_ratings_never_meet_published_ones():
    table = fits(rating_source="simulated").assign(dataset="demo_minimal_pairs")
    stimuli = pd.DataFrame(
        {"item_id": range(9), "dataset": "demo_minimal_pairs", "text": "x", "rating": 0.0}
    )
    card = compare(tables(table, stimuli), PUBLISHED, RUN)
    numbers = card[(card["kind"] == "number") & (card["item"] != "Table 1")]
    assert set(numbers["verdict"]) == {"not run"}
    claims = card[card["row"] == "pythia-70m/demo_minimal_pairs"]
    assert claims["note"].str.contains("simulated ratings").all()
    assert not card["row"].str.contains("published").any()


def test_published_r_is_that_of_the_sse_and_stands_beside_the_printed_one():
    """OPT 350M: sqrt(1 - 530.9 / 878.9) = .629, where Table 2 has .751."""
    table = printed_fits(PUBLISHED).set_index(["model", "linking_function"])
    odd = table.loc[("opt-350m", "morcela")]
    assert (round(odd["r"], 3), odd["r_cv"]) == (0.629, 0.751)
    printed = table["r_cv"].dropna()
    at_odds = (table["r"] - printed).dropna().abs() > 0.015
    assert set(at_odds[at_odds].index.get_level_values("model")) == {
        "opt-350m", "pythia-70m", "pythia-160m", "pythia-410m"
    }  # fmt: skip


def two_datasets() -> pd.DataFrame:
    """One's own 600 ratings of another spread, after those of the paper."""
    table = fits()
    own = table.assign(dataset="mine", sse=table["sse"] / 40, beta=0.2, gamma=3.0, r_cv=0.9)
    return pd.concat([table, own, own], ignore_index=True)


def test_a_second_data_set_leaves_the_published_values_and_the_first_one_s_numbers_alone():
    """Its total sum of squares drew the published SLOR of Pythia 12B at 0 instead of .479."""
    alone, both = fits(), two_datasets()
    theirs = published_fits(PUBLISHED, both)
    pd.testing.assert_frame_equal(theirs, published_fits(PUBLISHED, alone))
    slor = theirs.set_index(["model", "linking_function"]).loc[("pythia-12b", "slor"), "r"]
    assert slor == pytest.approx(0.479, abs=0.001)
    shown = {name: tabulate(tables(table), RUN) for name, table in (("1", alone), ("2", both))}
    for page in ("table_2", "table_4"):
        of_paper = shown["2"][page].query("dataset == 'linguistic_inquiry'")
        pd.testing.assert_frame_equal(
            of_paper.reset_index(drop=True), shown["1"][page], check_dtype=False
        )
        own = shown["2"][page].query("dataset == 'mine'")
        assert len(own)
        assert own.filter(like="_published").isna().all(axis=None)


def test_each_data_set_has_its_own_panels_and_published_points_stand_in_their_own():
    run = Run(
        "demo", RUN.models, {"linguistic_inquiry": "LI", "mine": "My ratings"}, PUBLISHED, OPTIONS
    )
    figures = draw(tables(two_datasets()), run)
    for name, points in (("figure_2", 27), ("figure_4", 16)):
        axes = figures[name].axes
        titles = [ax.get_ylabel().split("\n")[0] for ax in axes if "\n" in ax.get_ylabel()]
        assert titles == ["LI"] * (len(titles) // 2) + ["My ratings"] * (len(titles) // 2)
        assert titles
        hollow = {
            half: sum(
                len(line.get_xdata())
                for ax in part
                for line in ax.lines
                if line.get_markerfacecolor() == "white"
            )
            for half, part in (("LI", axes[: len(axes) // 2]), ("own", axes[len(axes) // 2 :]))
        }
        assert hollow["LI"] >= points
        assert hollow["own"] == 0
    plt.close("all")


def test_the_paper_s_agreement_is_drawn_beside_what_bounds_r_on_its_own_data_set_alone():
    table = pd.DataFrame(
        {"dataset": ["linguistic_inquiry"], "definition": ["equal_halves"], "r": [0.896]}
    )
    run = Run(
        "demo", RUN.models, {"linguistic_inquiry": "LI", "mine": "My ratings"}, PUBLISHED, OPTIONS
    )
    given = tables(two_datasets()) | {"intergroup_correlation": table}
    axes = draw(given, run)["figure_2"].axes
    drawn = [
        sorted(round(line.get_ydata()[0], 3) for line in ax.lines if len(set(line.get_ydata())) == 1
               and list(line.get_xdata()) == [0, 1])
        for ax in axes
    ]  # fmt: skip
    assert drawn[: len(axes) // 2] == [[0.86, 0.896, 0.972]] * (len(axes) // 2)
    assert drawn[len(axes) // 2 :] == [[]] * (len(axes) // 2)
    plt.close("all")


def test_the_ceiling_is_what_noise_in_the_mean_ratings_allows():
    """Ratings = truth + noise of the same variance in each half: h = 1 / (1 + v), r(truth, whole
    mean) = 1 / sqrt(1 + v / 2)."""
    variance = 0.3
    half = 1 / (1 + variance)
    assert highest_r(half) == pytest.approx(1 / np.sqrt(1 + variance / 2))
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200_000)
    halves = truth + rng.normal(0, np.sqrt(variance), (2, truth.size))
    assert highest_r(np.corrcoef(halves)[0, 1]) == pytest.approx(
        np.corrcoef(truth, halves.mean(axis=0))[0, 1], abs=0.002
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [("human", "your own data (draws and samples: scale demo)"), ("simulated", "SIMULATED")],
)
def test_figures_say_scale_and_simulation(tmp_path, source, said):
    open_before = plt.get_fignums()
    figures = draw(tables(fits(rating_source=source)), RUN)
    assert {"figure_2", "conventions"} <= set(figures)
    assert all(said in figure._supxlabel.get_text() for figure in figures.values())
    save_figures(figures, [tmp_path / f"{name}.png" for name in figures])
    assert all((tmp_path / f"{name}.png").stat().st_size > 5_000 for name in figures)
    assert plt.get_fignums() == open_before


def test_figures_name_the_model_in_full_once():
    figures = draw(tables(fits("smollm2-135m")), RUN)
    said = [figure._supxlabel.get_text().replace("\n", " ") for figure in figures.values()]
    assert all(text.count("SmolLM2-135M-Instruct (Q4_1)") == 1 for text in said)
    assert all("the papers have base models" in text for text in said)
    plt.close("all")


def test_a_table_as_html_escapes_and_leaves_out_what_is_null():
    page = table_as_html(pd.DataFrame({"a": ["<b>", None]}), "T", "Left out: <x>")
    assert "&lt;b&gt;" in page
    assert "<p>Left out: &lt;x&gt;</p>" in page
    assert "<td></td>" in page


def test_many_models_of_a_family_are_numbered_by_size():
    names = ["pythia-12b", "pythia-70m", "opt-125m", "pythia-1b", "pythia-70m", "opt-30b"]
    assert numbered(names, RUN.models) == {"pythia-70m": 1, "pythia-1b": 2, "pythia-12b": 3}
    assert numbered(["smollm2-135m", "pythia-70m"], RUN.models) == {}
