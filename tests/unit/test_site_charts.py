"""The site's figures: which rows they draw, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from lingprob.catalog import read_published
from lingprob.errors import LingprobError
from lingprob.profiles.rows import COLUMNS
from lingprob.schemas import SCHEMAS
from lingprob.site import library
from lingprob.site.charts import as_script, forest_chart, quantities_chart, records
from lingprob.site.library import LIBRARY, library_files
from lingprob.site.paper_charts import (
    both_chart,
    pair_chart,
    prefix_chart,
    sentence_chart,
    size_chart,
)
from lingprob.site.points import rated_sentences, read_points, scored_pairs, spaced
from lingprob.site.rows import PUBLISHED_FITS, every_row, rows_by_model, titled
from lingprob.tables import write_table

MODELS = {
    "big": {"title": "Big", "group": "F", "parameters": 200, "group_colour": "#111111"},
    "small": {"title": "Small", "group": "F", "parameters": 100, "group_colour": "#111111"},
    "other": {"title": "Other", "group": "G", "parameters": None, "group_colour": "#222222"},
}


def write(path: Path, schema: str, *rows: dict[str, Any]) -> Path:
    """Write a table with these values, and others that its columns may have."""
    usual = {"string": "x", "bool": False, "int32": 1, "int64": 1, "double": 0.5}
    fields = {field.name: usual[str(field.type)] for field in SCHEMAS[schema]
              if not pa.types.is_list(field.type)}  # fmt: skip
    write_table(pd.DataFrame([fields | row for row in rows]), schema, path)
    return path


def number(row: str, column: str, ours: float | None, low: float, high: float) -> dict[str, Any]:
    known = {"verdict": "not run", "difference": None}
    if ours is not None:
        known = {"verdict": "differs", "difference": ours - 0.5}
    return {"paper": "p", "kind": "number", "item": "Table 1", "row": row, "column": column,
            "published": 0.5, "ours": ours, "low": low, "high": high, "scale": "demo", "note": "",
            **known}  # fmt: skip


def card(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=SCHEMAS["scorecard"].names)


def row(model: str, quantity: str, value: float | None, **more: Any) -> dict[str, Any]:
    kind = {"model": model, "kind": "ours", "quantity": quantity, "value": value}
    return {"paper": "morcela", "dataset": "d", "group": "", "n": 40, "unit": "", "scale": "demo",
            "low": None, "high": None, **kind, **more}  # fmt: skip


def rows(*some: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(some, columns=[*COLUMNS, "model", "kind"])
    numbers = ["value", "low", "high", "n"]
    return titled(frame.astype(dict.fromkeys(numbers, float)), MODELS, {"d": "Data"})


def test_a_forest_has_ours_less_published_with_the_interval_around_it():
    chart = forest_chart(
        card(
            number("exact", "n_sentences", 1450.0, 1450.0, 1450.0),
            number("a", "r_cv", 0.75, 0.625, 1.0),
            number("b", "r_cv", 0.25, 0.0, 0.375),
            number("c", "r_cv", None, 0.0, 0.0),
        )
    )
    assert chart is not None
    shown = [(row["of"], row["row"], row["difference"], row["low"], row["high"], row["interval"])
             for row in chart.rows]  # fmt: skip
    assert shown == [
        ("Table 1: r cv", "a", 0.25, 0.125, 0.5, "0.625 to 1"),  # those with intervals first
        ("Table 1: r cv", "b", -0.25, -0.5, -0.125, "0 to 0.375"),
        ("Table 1: n sentences", "exact", 1449.5, 1449.5, 1449.5, ""),
    ]
    assert [one.every for one in chart.filters] == [False, True]
    assert forest_chart(card(number("c", "r_cv", None, 0.0, 0.0))) is None


def test_every_model_is_shown_beside_published_ones_of_what_ours_were_asked():
    chart = quantities_chart(
        rows(
            row("small", "r of SLOR with ratings", 0.3),
            row("big", "r of MORCELA with ratings", 0.5, low=0.4, high=0.6),
            row("other", "r of MORCELA with ratings", 0.7, kind="published"),
            row("other", "r of MORCELA with ratings", 0.7, kind="published", dataset="elsewhere"),
            row("small", "optimal beta", None),
        )
    )
    assert chart is not None
    shown = [(row["what"], row["title"], row["kind"], row["interval"]) for row in chart.rows]
    assert shown == [
        ("r of MORCELA with ratings", "Big", "ours", "0.4 to 0.6"),
        ("r of MORCELA with ratings", "Other", "published", ""),
        ("r of SLOR with ratings", "Small", "ours", ""),
    ]
    assert chart.rows[1]["low"] is None
    assert quantities_chart(rows(row("small", "q", None))) is None


def test_models_are_in_families_and_by_size_with_the_figures_colours():
    found = rows(row("big", "q", 1.0), row("other", "q", 1.0), row("small", "q", 1.0),
                 row("unknown", "q", 1.0, dataset="e"))  # fmt: skip
    assert found["title"].tolist() == ["Small", "Big", "Other", "unknown"]
    assert found["colour"].tolist()[1:3] == ["#111111", "#222222"]
    assert found["data"].tolist() == ["Data", "Data", "Data", "e"]
    assert found["parameters"].isna().tolist() == [False, False, True, True]


def test_sizes_are_of_models_whose_size_is_known_and_of_reading_alone():
    chart = size_chart(
        rows(row("small", "ΔLogLik", 3.0, low=1.0, high=5.0, group="held-out"),
             row("other", "ΔLogLik", 3.0), row("big", "perplexity of a word", 9.0),
             row("big", "ΔLogLik", 4.0, kind="published"))
    )  # fmt: skip
    assert chart is not None
    shown = [(row["title"], row["parameters"], row["value"], row["kind"]) for row in chart.rows]
    assert shown == [("Small", 100, 3, "ours"), ("Big", 200, 4, "published")]
    assert size_chart(rows(row("other", "ΔLogLik", 3.0))) is None


def test_acceptability_is_beside_reading_times_for_models_that_have_both():
    rated, read = "r of MORCELA with ratings", "ΔLogLik"
    chart = both_chart(
        rows(row("small", rated, 0.5, low=0.25, high=0.75), row("big", rated, 0.6),
             row("small", read, 3.0, dataset="t", low=1.0, high=5.0),
             row("small", read, 4.0, dataset="u"), row("big", read, 5.0, kind="published"))
    )  # fmt: skip
    assert chart is not None
    assert [(row["title"], row["data_read"], row["value_rated"], row["value_read"])
            for row in chart.rows] == [("Small", "t", 0.5, 3), ("Small", "u", 0.5, 4)]  # fmt: skip
    assert chart.rows[0]["interval_read"] == "1 to 5"
    assert both_chart(rows(row("small", rated, 0.5))) is None


def test_prefixes_are_of_all_pairs_in_points_and_no_perturbed_ones(tmp_path):
    change = {"model": "small", "dataset": "d", "level": "all", "perturbation": None, "n_pairs": 8,
              "delta": 0.125, "delta_low": 0.0, "delta_high": 0.25}  # fmt: skip
    path = write(
        tmp_path / "accuracy.parquet", "context_accuracy",
        change | {"kind": "matched_acceptable", "prefix_tokens": 90.0},
        change | {"kind": "matched_acceptable", "prefix_tokens": 30.0},
        change | {"kind": "matched_acceptable", "perturbation": "quote"},
        change | {"kind": "matched_acceptable", "level": "suite"},
        change | {"kind": "of_no_figure"},
    )  # fmt: skip
    table = titled(read_points({"accuracy": [path]}, [])["prefixes"], MODELS, {"d": "Data"})
    chart = prefix_chart(table)
    assert chart is not None
    assert [(row["kind"], row["prefix_tokens"], row["delta"], row["delta_high"], row["interval"])
            for row in chart.rows] == [
        ("matched acceptable", 30, 12.5, 25, "0 to 25"),
        ("matched acceptable", 90, 12.5, 25, "0 to 25"),
    ]  # fmt: skip
    assert prefix_chart(table[table["kind"] == "of_no_figure"]) is None
    assert read_points({}, []) == {}


def test_sentences_are_spread_over_the_ratings_and_predicted_without_themselves(tmp_path):
    rated = {"model": "small", "dataset": "d", "linking_function": "morcela", "predicted": 9.0}
    sentences = [
        rated | {"item_id": f"i{n}", "text": f"t{n}", "rating": float(n), "held_out": n / 10}
        for n in (4, 0, 2, 1, 3)
    ]
    path = write(
        tmp_path / "predicted.parquet", "predicted_ratings", *sentences,
        rated | {"item_id": "unrated", "rating": None},
        sentences[0] | {"linking_function": "slor"},
    )  # fmt: skip
    found = rated_sentences([path], most=3)
    assert found.to_numpy().tolist() == [
        ["small", "d", "t0", 0.0, 0.0],
        ["small", "d", "t2", 2.0, 0.2],
        ["small", "d", "t4", 4.0, 0.4],
    ]  # fmt: skip
    chart = sentence_chart(titled(found, MODELS, {}))
    assert chart is not None
    assert chart.rows[1]["residual"] == "1.8"
    assert chart.spec["encoding"]["y"]["title"] == "rating"  # none is below 0: no z-scores
    scored = sentence_chart(titled(found.assign(rating=found["rating"] - 2), MODELS, {}))
    assert scored is not None
    assert scored.spec["encoding"]["y"]["title"] == "rating (z)"
    assert rated_sentences([]).empty


def test_pairs_have_both_sentences_and_which_one_the_model_prefers(tmp_path):
    scored = {"model": "small", "dataset": "d"}
    scores = [
        scored | {"item_id": f"{pair}.{side}", "pair_id": pair, "grammatical": side == "good",
                  "logprob": logprob}
        for pair, *both in (("p", -10.0, -12.0), ("q", -30.0, -20.0))
        for side, logprob in zip(("good", "bad"), both, strict=True)
    ]  # fmt: skip
    alone = scored | {"item_id": "s", "pair_id": None, "grammatical": True, "logprob": -1.0}
    elsewhere = scores[0] | {"dataset": "other"}
    paths = [write(tmp_path / "scores.parquet", "string_scores", *scores, alone, elsewhere)]
    texts = [{"item_id": score["item_id"], "text": score["item_id"].upper()} for score in scores]
    stimuli = {"d": write(tmp_path / "stimuli.parquet", "stimuli", *texts)}
    found = scored_pairs(paths, stimuli)
    assert found.to_numpy().tolist() == [
        ["small", "d", "Q.GOOD", "Q.BAD", -30.0, -20.0],
        ["small", "d", "P.GOOD", "P.BAD", -10.0, -12.0],
    ]  # fmt: skip
    chart = pair_chart(titled(found, MODELS, {}))
    assert chart is not None
    assert [row["verdict"] for row in chart.rows] == ["wrong", "right"]
    assert chart.rows[1]["margin"] == "2"
    assert scored_pairs([], {}).empty


@pytest.mark.parametrize(
    ("count", "most", "places"),
    [(0, 3, []), (1, 3, [0]), (3, 3, [0, 1, 2]), (5, 3, [0, 2, 4]), (100, 2, [0, 99])],
)
def test_places_are_evenly_spaced_from_the_first_to_the_last(count, most, places):
    assert spaced(count, most) == places


def test_rows_are_of_every_model_of_every_table_and_those_that_morcela_prints(tmp_path):
    fit = {"dataset": "d", "bos": "bos", "default_convention": True, "linking_function": "morcela"}
    fits = write(tmp_path / "fits.parquet", "linking_functions",
                 fit | {"model": "a"}, fit | {"model": "b"})  # fmt: skip
    delta = {"dataset": "t", "partition": "exploratory"}
    deltas = write(tmp_path / "deltas.parquet", "delta_log_likelihood", delta | {"model": "c"})
    files = {"fits": [fits], "deltas": [deltas]}
    assert rows_by_model(files).groupby("model").size().to_dict() == {"a": 5, "b": 5, "c": 2}
    assert rows_by_model({}).empty
    published = write(
        tmp_path / "published.parquet", "published_delta",
        {"model": "p", "delta": 2.0, "published_delta": 3.0, "description": "theirs"},
        {"model": "p", "delta": 4.0, "published_delta": None, "description": "ours"},
    )  # fmt: skip
    every = every_row(files, [published], read_published("morcela"))
    of_fits = every[every["dataset"] == PUBLISHED_FITS]
    assert of_fits[["kind", "group", "value"]].to_numpy().tolist() == [
        ["ours", "theirs", 2.0], ["ours", "ours", 4.0], ["published", "theirs", 3.0],
    ]  # fmt: skip
    printed = every[(every["kind"] == "published") & (every["model"] == "pythia-70m")]
    assert 0.896 in printed["value"].tolist()


def test_numbers_are_short_and_nothing_ends_the_element_that_holds_them():
    frame = pd.DataFrame({"a": [0.123456789, None], "b": ["</script>", None], "c": [7, 8]})
    found = records(frame)
    assert found == [{"a": 0.12346, "b": "</script>", "c": 7}, {"a": None, "b": None, "c": 8}]
    script = as_script(found)
    assert "<" not in script
    assert json.loads(script) == found


def test_the_library_comes_with_snakemake_and_its_licences(monkeypatch, tmp_path):
    files = library_files()
    assert tuple(files) == LIBRARY
    assert all(len(text) > 1000 for text in files.values())
    assert "Redistribution" in files["vega-licences.txt"]
    monkeypatch.setattr(library.Assets, "_base_path", tmp_path)
    with pytest.raises(LingprobError, match=r"vega.*envs/requirements\.txt"):
        library_files()
