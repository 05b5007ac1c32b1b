"""The tables of a run put together: from which judgments, and where there is no number."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import write_table
from lingprob.papers.context.analysis import accuracy_table, matrix_table
from lingprob.papers.context.statistics import (
    overlap_correlations,
    perturbation_correlations,
    perturbation_points,
)
from lingprob.papers.context.summary import (
    Settings,
    summarise,
    summarise_changed,
    summarise_datasets,
    with_unchanged,
)

SETTINGS = {"fewest_pairs": 2, "bootstrap": 30, "seed": 4, "scale": "demo"}
KINDS = ("matched_acceptable", "matched_unacceptable", "mismatched_acceptable")


def judgments(seed: int, dataset: str = "d", lengths: tuple[int, ...] = (9, 18)) -> pd.DataFrame:
    """Judgments of three suites of six pairs at random, with and without prefixes."""
    random = np.random.default_rng(seed)
    cells = [("none", 0), *((kind, length) for kind in KINDS for length in lengths)]
    rows = [
        (suite, f"{suite}{pair}", kind, length, f"{kind}/{suite}{pair}", random.random() < 0.6)
        for suite in "abc" for pair in range(6) for kind, length in cells
    ]  # fmt: skip
    columns = ["suite", "pair_id", "kind", "length", "prefix_id", "correct"]
    return pd.DataFrame(rows, columns=columns).assign(
        model="m", dataset=dataset, phenomenon="p", source_suite=None, perturbation=None,
        prefix_tokens=lambda table: table["length"], n_sentences=2, margin=1.0,
    )  # fmt: skip


def changed(name: str, seed: int) -> pd.DataFrame:
    rows = judgments(seed, lengths=(9,))
    rows = rows[rows["kind"].isin(KINDS[:2])]
    return rows.assign(perturbation=name, prefix_id=f"{name}/" + rows["prefix_id"])


def test_changed_rows_are_of_perturbed_and_of_shared_prefixes_each_beside_their_own():
    own, quoted, shared = judgments(1), changed("quote", 2), changed("shared", 3)
    similarity = pd.Series({"quote": 0.5})
    drawn = pd.concat([own, shared], ignore_index=True)
    found = summarise_changed(drawn, quoted, similarity, Settings(**SETTINGS))
    tables = [
        accuracy_table(with_unchanged(rows, own, name), **SETTINGS)
        for rows, name in ((quoted, "original"), (shared, "own"))
    ]
    pd.testing.assert_frame_equal(found["context_accuracy"], pd.concat(tables, ignore_index=True))
    points = perturbation_points(tables[0], similarity)
    pd.testing.assert_frame_equal(
        found["context_correlations"], perturbation_correlations(points, "demo")
    )
    by = found["context_points"].set_index(["kind", "point"])
    assert set(by.index) == {(kind, name) for kind in KINDS[:2] for name in ("original", "quote")}
    assert by["x"].groupby("point").first().to_dict() == {"original": 1.0, "quote": 0.5}
    deltas = points.set_index(["kind", "perturbation"])["delta"]
    assert by["y"].to_dict() == pytest.approx(deltas.to_dict())


def test_tables_of_data_sets_stand_below_each_other_with_the_overlaps_of_one(tmp_path):
    """Shared prefixes are left out, and a data set of one's own may have no phenomena."""
    parts = {name: judgments(seed, name) for name, seed in (("d", 1), ("e", 2))}
    parts["e"]["phenomenon"] = None
    path = tmp_path / "judgments.parquet"
    every = pd.concat([*parts.values(), changed("shared", 3)], ignore_index=True)
    write_table(every, "context_judgments", path)
    alone = every[every["kind"] == "none"].assign(bos_policy="bos")
    prefixes = parts["d"][["prefix_id", "pair_id"]].drop_duplicates().assign(measure="token")
    prefixes["f1"] = [[share] * 2 for share in np.linspace(0, 1, len(prefixes))]
    names = ["dataset", "target_suite", "prefix_suite"]
    cells = pd.MultiIndex.from_product([["d"], [*"abc"], [*"abc"]], names=names)
    overlap = pd.DataFrame({"f1": np.arange(9) ** 2}, cells).reset_index()
    overlap = overlap.assign(measure="token", scale="demo")
    given = Settings(**SETTINGS)
    found = summarise_datasets(path, alone, ["d", "e"], overlap, prefixes, given)
    one, two = (
        summarise(rows, alone[alone["dataset"] == name], given) for name, rows in parts.items()
    )
    for table in ("accuracy", "regression", "unprefixed", "points"):
        name = f"context_{table}"
        expected = pd.concat([one[name], two[name]], ignore_index=True)
        assert found[name].astype(object).equals(expected.astype(object))
        write_table(found[name], name, tmp_path / "table.parquet")
    assert "(none)" in set(found["context_accuracy"]["group"])
    related = overlap_correlations(parts["d"], prefixes, one["context_matrix"], overlap, "demo")
    expected = pd.concat(
        [one["context_correlations"], related, two["context_correlations"]], ignore_index=True
    )
    assert found["context_correlations"].astype(object).equals(expected.astype(object))


def test_unchanged_judgments_are_of_the_same_data_set_pairs_kinds_and_lengths():
    """Pair ids may be those of another data set, too."""
    rows = changed("quote", 2).query("suite == 'a'")
    both = with_unchanged(rows, pd.concat([judgments(1), judgments(5, "e")]), "original")
    own = both[both["perturbation"] == "original"]
    assert set(own["dataset"]) == {"d"}
    assert set(own["suite"]) == {"a"}
    cells = own[["kind", "length"]].drop_duplicates()
    assert set(cells.itertuples(index=False, name=None)) == {
        ("none", 0), (KINDS[0], 9), (KINDS[1], 9)
    }  # fmt: skip
    assert len(own) == 6 * 3


def test_nothing_is_an_improvement_on_an_accuracy_of_zero():
    table = judgments(1).query("kind in ['none', 'matched_acceptable']")
    across = table[table["kind"] != "none"].assign(kind="from_suite", source_suite="c")
    both = pd.concat([table, across[across["suite"] != "c"]], ignore_index=True)
    wrong = (both["kind"] == "none") & (both["suite"] == "a")
    both["correct"] = both["correct"] & ~wrong
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = matrix_table(both, 2, "demo")
    assert list(table) == SCHEMAS["context_matrix"].names
    cells = table.set_index(["target_suite", "prefix_suite"])
    improvements = cells.filter(like="relative_improvement")
    assert improvements.loc["a"].isna().all(axis=None)
    assert improvements.loc[["b", "c"]].notna().all(axis=None)
    assert (cells.loc[("a", "c"), "baseline"], cells.loc[("a", "c"), "n_pairs"]) == (0, 6)
