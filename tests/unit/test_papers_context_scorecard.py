"""The context paper's published numbers next to computed ones."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.context.names import figures_of, primary_dataset
from lingprob.io.schemas import SCHEMAS
from lingprob.papers.context.claims import compare, context_quantities, tabulate
from lingprob.papers.run import Run
from lingprob.scorecard.estimates import combined, known_correlation
from lingprob.scorecard.verdicts import Estimate

SUITE = "principle_A_reconstruction"
KINDS = {
    "matched_acceptable": 0.5, "mismatched_acceptable": 0.1, "matched_unacceptable": -0.6,
    "mismatched_unacceptable": -0.1, "unrelated": 0.0,
}  # fmt: skip


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    """Tables of one model as the paper describes models, with one cell of Figure 14."""
    rows = [
        {"level": level, "group": group, "kind": kind, "delta": delta, "accuracy": 0.5 + delta / 2}
        for level, group in (("all", "all"), ("suite", SUITE))
        for kind, delta in KINDS.items()
    ]
    accuracy = pd.DataFrame(rows).assign(model="gpt2", dataset="blimp", length=10, n_pairs=100,
                                         perturbation=None, scale="paper")  # fmt: skip
    accuracy["n_suites"] = accuracy["level"].map({"all": 9, "suite": 1})
    for end, reach in (("_low", -0.1), ("_high", 0.1)):
        for column in ("delta", "accuracy"):
            accuracy[column + end] = accuracy[column] + reach
    accuracy[["margin", "margin_low", "margin_high"]] = None
    cell = {"model": "gpt2", "dataset": "syntaxgym", "target_suite": "number_src",
            "prefix_suite": "mvrr", "accuracy": 18 / 19, "baseline": 15 / 19,
            "relative_improvement": 20.0, "relative_improvement_low": -10.0,
            "relative_improvement_high": 26.0, "n_pairs": 19, "n_prefixes": 10}  # fmt: skip
    empty = {
        f"context_{name}": SCHEMAS[f"context_{name}"].empty_table().to_pandas()
        for name in ("regression", "overlap", "correlations")
    }
    found = {"context_accuracy": accuracy, "context_matrix": pd.DataFrame([cell])}
    return {**found, **empty}


def test_published_tables_name_known_models_and_suites():
    published = {item["item"]: item for item in read_published("context")["items"]}
    models = {*Catalog().models, "mean"}
    for number in (1, 2):
        rows = published[f"Table {number}"]["rows"]
        assert len(rows) == 70
        assert {row.split("/")[0] for row in rows} <= models
    figure = published["Figure 14"]
    suites = Catalog().dataset("syntaxgym")["suites"]
    assert figure["columns"] == suites
    assert len(figure["rows"]) == 21
    assert {row.split("/")[1] for row in figure["rows"]} < set(suites)
    assert all(len(values) == 23 for values in figure["rows"].values())
    # The paper's own example: feminine reflexives fall after masculine ones.
    row = dict(zip(suites, figure["rows"]["gpt2/reflexive_orc_fem"], strict=True))
    assert row["reflexive_orc_masc"] < 0 < row["reflexive_prep_fem"]


def test_the_catalog_names_figures_that_are_drawn():
    published = read_published("context")
    known = [*published["claims"], *published["items"]]
    drawn = {entry["figure"].removeprefix("context/") for entry in known if "figure" in entry}
    assert drawn <= set(figures_of(["blimp", "syntaxgym", "crows_pairs"]))
    for item in published["items"]:
        widths = {len(item["places"]), len(item["decides"]), *map(len, item["rows"].values())}
        assert widths == {len(item["columns"])}


def test_plain_pairs_are_primary_for_allowed_figures():
    def numbered(*numbers: int) -> list[str]:
        return [f"figure_{number}" for number in numbers]

    assert figures_of(["mine"]) == numbered(2, 3, 4, 5, 9, 10, 11, 12, 13, 15)
    assert figures_of(["crows_pairs"]) == numbered(*range(2, 14), 15)
    assert figures_of(["syntaxgym", "crows_pairs"]) == numbered(*range(2, 18))
    assert primary_dataset(["syntaxgym", "crows_pairs", "mine", "blimp"]) == "mine"
    assert primary_dataset(["syntaxgym"]) is None


def test_numbers_and_claims_are_compared(tables):
    card = compare(tables, Run("paper", published=read_published("context")))
    by = card.set_index(["item", "row", "column"])
    found = by.loc[("Table 1", f"gpt2/{SUITE}", "delta_acceptable")]
    # 0.528 is between 0.4 and 0.6, and ten points are too wide to separate five.
    assert (found["published"], found["ours"], found["verdict"]) == (0.528, 0.5, "undecided")
    assert "about n = 400 would tell" in found["note"]
    cell = by.loc[("Figure 14", "gpt2/number_src", "mvrr")]
    assert (cell["published"], cell["ours"], cell["verdict"]) == (21.4, 20.0, "undecided")
    assert (cell["low"], cell["high"]) == (-10.0, 26.0)
    alone = by.loc[("Figure 14, without a prefix", "gpt2/number_src", "accuracy_unprefixed")]
    assert (alone["published"], alone["verdict"]) == (0.789, "reproduced")  # 15 of 19
    claims = card[card["kind"] == "claim"].set_index("column")["verdict"]
    assert claims["matched_acceptable_raises"] == "supported"
    assert claims["matched_unacceptable_lowers"] == "supported"
    assert claims["unrelated_changes_nothing"] == "undecided"
    assert claims["stereotypes_lower"] == "not run"
    assert (card["verdict"] == "not run").sum() > 500


def test_the_paper_s_suites_appear_below_computed_ones(tables):
    published, models = read_published("context"), {"gpt2": {"title": "GPT-2"}}
    run = Run("paper", models, {"blimp": "B"}, published)
    own = tables["context_accuracy"].query("level == 'suite'")
    more = [own.assign(group=name, delta=own["delta"] * (1.5 if name < "k" else 0.1))
            for name in "abcdefghijk"]  # fmt: skip
    one, two = tabulate(pd.concat([*more, own]), run).values()
    assert (one["suite"].tolist(), two["suite"].tolist()) == (
        [*"abcdefghij", SUITE],
        [*"abcdefghij"],
    )
    last = one.iloc[-1][["GPT-2: delta", "published mean_delta"]]
    assert last.tolist() == [0.5, 0.603]
    assert two["published mean_delta"].isna().all()
    mine = tables["context_accuracy"].assign(dataset="mine")
    elsewhere = tabulate(mine, replace(run, titles={"mine": "M"}))
    assert "published mean_delta" not in elsewhere["table_1"]


EMPTY = {
    name: SCHEMAS[name].empty_table().to_pandas()
    for name in ("context_accuracy", "context_matrix", "context_correlations")
}


def numbers(found: Estimate) -> list[float]:
    return [found.value, found.low, found.high]


def test_tables_1_and_2_by_hand():
    """Two models at two lengths; rows of other levels, data sets, kinds and perturbations."""
    deltas = {"one": [(0.2, 0.1, 0.4), (0.4, 0.2, 0.7)], "two": [(0.6, 0.5, 0.7), (0.6, 0.4, 0.8)]}
    rows = [
        {"model": model, "length": length, "delta": value, "delta_low": low, "delta_high": high,
         "n_pairs": 2 * length, "dataset": "blimp", "level": "suite", "group": "s",
         "kind": "matched_acceptable", "perturbation": None}
        for model, values in deltas.items()
        for length, (value, low, high) in zip((5, 10), values, strict=True)
    ]  # fmt: skip
    own = pd.DataFrame(rows)
    down = own.assign(kind="matched_unacceptable", delta=-own["delta"],
                      delta_low=-own["delta_high"], delta_high=-own["delta_low"])  # fmt: skip
    others = [
        own.assign(delta=9.0, delta_high=9.5, **{column: value})
        for column, value in (("level", "phenomenon"), ("dataset", "mine"), ("kind", "unrelated"),
                              ("perturbation", "quote"))
    ]  # fmt: skip
    published = {"items": [
        {"item": "Table 1", "rows": {"one/s": [], "two/s": [], "mean/s": []}},
        {"item": "Figure 14", "rows": {"three/s": []}},
    ]}  # fmt: skip
    table = pd.concat([own, down, *others], ignore_index=True)
    found = context_quantities(EMPTY | {"context_accuracy": table}, published)
    assert set(found) == {
        (f"{row}/s", f"{what}_{side}")
        for row in ("one", "two", "mean")
        for what in ("delta", "sd")
        for side in ("acceptable", "unacceptable")
    }
    one = found["one/s", "delta_acceptable"]
    assert numbers(one) == pytest.approx([0.3, 0.15, 0.55])
    assert (one.n, one.note) == (15, "15 pairs")
    reach = np.sqrt((0.15**2 + 0.25**2) / 2)
    assert numbers(found["one/s", "sd_acceptable"]) == pytest.approx([0.1, 0, 0.1 + reach])
    assert numbers(found["mean/s", "delta_acceptable"]) == pytest.approx([0.45, 0.275, 0.625])
    reach = np.sqrt((0.2**2 + 0.15**2) / 2)
    assert numbers(found["mean/s", "sd_acceptable"]) == pytest.approx([0.15, 0, 0.15 + reach])
    assert numbers(found["one/s", "delta_unacceptable"]) == pytest.approx([-0.3, -0.55, -0.15])
    fewer = {"context_accuracy": table[table["model"] != "two"]}
    assert ("mean/s", "delta_acceptable") not in context_quantities(EMPTY | fewer, published)
    narrow = table.assign(delta_low=table["delta"] - 0.01, delta_high=table["delta"] + 0.01)
    found = context_quantities(EMPTY | {"context_accuracy": narrow}, published)
    assert numbers(found["one/s", "sd_acceptable"]) == pytest.approx([0.1, 0.09, 0.11])


def test_figure_14_uses_the_paper_s_data_sets():
    cells = pd.DataFrame({
        "model": "m", "dataset": ["syntaxgym", "syntaxgym", "mine"], "prefix_suite": "x",
        "target_suite": ["a", "b", "c"], "baseline": [0.5, 0.0, 0.25], "n_pairs": 19,
        "n_prefixes": 3,
        "relative_improvement": [20.0, np.nan, 5], "relative_improvement_low": [-1.0, np.nan, 4],
        "relative_improvement_high": [30.0, np.nan, 6],
    })  # fmt: skip
    columns = ["dataset", "analysis", "x", "y", "statistic", "value", "n"]
    up, tokens = "delta, matched_acceptable", "token overlap of suites"
    rows = [("blimp", "perturbations", "similarity", up, "spearman", 0.9, 9),
            ("mine", "perturbations", "similarity", up, "spearman", 0.1, 9),
            ("blimp", "suites", tokens, "accuracy", "spearman", 0.4, 50),
            ("blimp", "suites", "dependency overlap of suites", "accuracy", "spearman", 0.2, 50),
            ("blimp", "suites", tokens, "delta", "spearman", 0.7, 50),
            ("mine", "suites", tokens, "accuracy", "spearman", 0.8, 50)]  # fmt: skip
    rows += [(name, "metric", "baseline", "matched_acceptable", "pearson", r, 40)
             for name, r in (("blimp", 0.8), ("syntaxgym", 0.5), ("crows_pairs", 0.2),
                             ("mine", 0.9))]  # fmt: skip
    correlations = pd.DataFrame(rows, columns=columns).assign(
        model="m", value_low=lambda t: t["value"] - 0.1, value_high=lambda t: t["value"] + 0.1
    )
    tables = EMPTY | {"context_matrix": cells, "context_correlations": correlations}
    found = context_quantities(tables, {"items": []})
    assert set(found) == {
        ("m/a", "accuracy_unprefixed"), ("m/b", "accuracy_unprefixed"), ("m/a", "x"),
        ("m/perturbations", "rho_acceptable"), ("m/mean", "r_acceptable"),
        ("m/suites", "rho_token"), ("m/suites", "rho_dependency"),
    }  # fmt: skip
    assert numbers(found["m/a", "accuracy_unprefixed"]) == [0.5, 0.5, 0.5]
    cell = found["m/a", "x"]
    assert (*numbers(cell), cell.n, cell.note) == (20, -1, 30, 19, "19 items, 3 prefixes")
    rho = known_correlation(0.9, 9, ranks=True)
    assert numbers(found["m/perturbations", "rho_acceptable"]) == numbers(rho)
    assert numbers(found["m/suites", "rho_token"]) == pytest.approx([0.4, 0.3, 0.5])
    assert found["m/suites", "rho_dependency"].value == 0.2
    three = [known_correlation(r, 40) for r in (0.8, 0.5, 0.2)]
    assert numbers(found["m/mean", "r_acceptable"]) == numbers(combined(three, [1 / 3] * 3))
    without = correlations[correlations["dataset"] != "crows_pairs"]
    found = context_quantities(tables | {"context_correlations": without}, {"items": []})
    assert ("m/mean", "r_acceptable") not in found
