"""What the site tells of models, data, conventions and cost, by hand and from the catalog."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from lingprob.profiles.rows import COLUMNS
from lingprob.site.methods import cost_by_rule, methods
from lingprob.site.rows import PUBLISHED_FITS, titled

from lingprob.site.facts import named, run_facts
from lingprob.site.models import model_table, own_rows
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.settings import keys

OWN = {"title": "Mine", "family": "mine", "source": "local", "path": "/home/me/mine"}
PAIRS = {"title": "My pairs", "kind": "stimuli", "parser": "table", "path": "/home/me/pairs.csv"}
HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def facts(scale: str = "laptop", **config: Any) -> dict[str, Any]:
    return run_facts(*read_settings({"scale": scale, **config}))


def test_data_sets_are_those_that_the_settings_name_with_licences_and_checksums():
    told = facts()["datasets"]
    assert {"linguistic_inquiry", "blimp", "provo", "gutenberg"} <= told.keys()
    assert "demo_minimal_pairs" not in told
    blimp = told["blimp"]
    assert blimp["licence"] == "CC BY 4.0"
    assert len(blimp["files"]) == 67
    assert blimp["files"][0] == (
        "adjunct_island.jsonl",
        "ecc71c452516de03deeb9262b4203e45220dc52727327a08eef07c79c01eac8b",
    )
    checksums = [checksum for entry in told.values() for _, checksum in entry["files"]]
    assert {len(checksum) for checksum in checksums} <= {0, 64}
    assert "demo_minimal_pairs" in facts("demo")["datasets"]


def test_names_are_found_at_any_depth_and_texts_with_their_reading_times():
    catalog = read_settings({"scale": "demo"})[1]
    some = {"a": {"b": [{"c": "provo_first_pass"}]}, "d": "corpus_gutenberg", "e": 3,
            "models": {"m": "blimp"}, "datasets": {"blimp": "blimp"}}  # fmt: skip
    assert set(named(some, catalog)) == {"provo_first_pass", "provo", "gutenberg"}


def test_every_convention_is_told_with_its_value():
    told = {key: value for key, value, _ in facts(scoring={"dtype": "float16"})["conventions"]}
    marked = sum(key.convention for key in keys())
    assert len(told) == marked > 15
    assert told["scoring.dtype"] == "float16"
    assert told["morcela.folds"] == "5"


def test_the_user_s_own_are_named_and_where_they_lie_is_not():
    told = facts(models={"mine": OWN}, datasets={"my-pairs": PAIRS})
    assert told["own"] == {"models": ["mine"], "datasets": ["my-pairs"]}
    assert "/home/me" not in str(told)
    assert facts()["own"] == {"models": [], "datasets": []}


def test_methods_have_the_models_that_numbers_are_of_and_their_number_format(tmp_path):
    found = methods(facts(), ["gpt2", "no-such-model"], tmp_path)
    assert list(found["models"]) == ["gpt2"]
    assert found["models"]["gpt2"]["dtype"] == "float32 (cpu), float32 (cuda)"
    assert len(found["models"]["gpt2"]["revision"]) == 40
    assert found["cost"] == []
    assert found["versions"]["numpy"] == np.__version__
    asked = methods(facts(scoring={"dtype": "bfloat16"}), ["gpt2"], tmp_path)
    assert asked["models"]["gpt2"]["dtype"] == "bfloat16"


def test_cost_is_summed_by_rule_and_short_jobs_have_no_memory(tmp_path):
    for name, seconds, memory, cpu in (
        ("score_stimuli/m/none/d", 90, 800, 60), ("score_stimuli/n/none/d", 30, 900, 30),
        ("build_site", 6, "-", 3),
    ):  # fmt: skip
        path = tmp_path / f"{name}.benchmark.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [(1, 9999, 1), (seconds, memory, cpu)]  # of tries, of which the last one counts
        text = "".join(f"{s}\t0\t{rss}\t1\t1\t1\t0\t0\t9\t{time}\n" for s, rss, time in lines)
        path.write_text(HEAD + text)
    (tmp_path / "other.log").touch()
    table = cost_by_rule(tmp_path)
    assert table.fillna(-1).to_numpy().tolist() == [
        ["score_stimuli", 2, 2.0, 1.5, 900], ["build_site", 1, 0.1, 0.05, -1],
    ]  # fmt: skip
    assert cost_by_rule(tmp_path / "none").empty


def row(model: str, quantity: str, value: float | None, **more: Any) -> dict[str, Any]:
    usual = {"paper": "p", "dataset": "d", "group": "", "scale": "demo", "kind": "ours", "n": 9.0}
    known = {"model": model, "quantity": quantity, "value": value, "low": 0.0, "high": 1.0}
    return usual | known | more


@pytest.fixture
def rows() -> pd.DataFrame:
    some = [
        row("a", "ΔLogLik", 3.0, group="exploratory"),
        row("a", "ΔLogLik", 4.0, group="held-out"),
        row("a", "r of MORCELA with ratings", 0.5),
        row("b", "r of MORCELA with ratings", 0.75, dataset="my-pairs", kind="published"),
        row("b", "r of MORCELA with ratings", 0.25, dataset="my-pairs"),
        row("c", "ΔLogLik", 9.0, dataset=PUBLISHED_FITS),
        row("mine", "optimal beta", 0.5),
        row("mine", "optimal gamma", None),
    ]
    frame = pd.DataFrame(some, columns=[*COLUMNS, "model", "kind"])
    return titled(frame.astype({"value": float}), {"a": {"title": "A", "parameters": 7}}, {})


def test_models_stand_side_by_side_by_the_main_quantity_of_each_paper(rows, tmp_path):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles/b.html").touch()
    table = model_table(rows, tmp_path)
    assert table["columns"] == [
        ("r of MORCELA with ratings", "d"), ("r of MORCELA with ratings", "my-pairs"),
        ("ΔLogLik", "d"),
    ]  # fmt: skip
    first, second = table["rows"]
    assert (first["title"], first["parameters"], first["profile"]) == ("A", 7, "")
    assert first["values"] == [("0.5", "0 to 1"), None, ("3", "0 to 1")]
    assert (second["title"], second["profile"]) == ("b", "profiles/b.html")
    assert second["values"] == [None, ("0.25", "0 to 1"), None]


def test_own_rows_are_of_own_models_or_own_data_and_computed(rows):
    found = own_rows(rows, {"models": ["mine"], "datasets": ["my-pairs"]})
    assert [(row["model"], row["value"]) for row in found] == [("b", 0.25), ("mine", 0.5)]
    assert own_rows(rows, {"models": [], "datasets": []}) == []
