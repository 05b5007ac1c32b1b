"""The page of a model and the table of models, from tables made by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import write_table
from lingprob.site.models import COLUMNS, TABLES, main_rows, own_rows, rows_by_model, titled
from lingprob.workflow import scope
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run

OWN = {"title": "Mine", "family": "mine", "source": "local", "path": "mine"}


def plan(scale: str = "laptop", **config: Any) -> Run:
    return Run(*read_settings({"scale": scale, **config}))


def table(path: Path, schema: str, *rows: dict[str, Any]) -> Path:
    """Write a table with these values, and others that its columns may have."""
    usual = {"string": "x", "bool": False, "int32": 1, "int64": 1, "double": 0.5}
    fields = {field.name: usual[str(field.type)] for field in SCHEMAS[schema]
              if not pa.types.is_list(field.type)}  # fmt: skip
    write_table(pd.DataFrame([fields | row for row in rows]), schema, path)
    return path


def interval(name: str, value: float, low: float, high: float) -> dict[str, float]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


@pytest.fixture
def files(tmp_path) -> dict[str, list[Path]]:
    """One model's tables, with another model's rows among its regressions."""
    fit = {"model": "m", "dataset": "d", "rating_source": "simulated", "n": 40, "scale": "demo"}
    chosen = {"bos": "bos", "unigrams": "u", "default_convention": True}
    morcela = {"linking_function": "morcela", **interval("beta", 0.7, 0.6, 0.8),
               **interval("gamma", 9, 8, 10)}  # fmt: skip
    fits = [
        fit | chosen | {"linking_function": "slor"} | interval("r_cv", 0.3, 0.2, 0.4),
        fit | chosen | morcela | interval("r_cv", 0.5, 0.4, 0.6),
        fit | morcela | {"bos": "none", "unigrams": "u"} | interval("r_cv", 0.2, 0.1, 0.3),
        fit | morcela | {"dataset": "e"} | interval("r_cv", 0.9, 0.8, 1.0),
    ]
    pairs = {"model": "m", "dataset": "d", "n_pairs": 8}
    separation = [
        pairs | {"phenomenon": "", "metric": "logprob", "n_ungrammatical": 5}
        | interval("accuracy", 0.75, 0.5, 0.9) | interval("auc", 0.6, 0.5, 0.7),
        pairs | {"phenomenon": "anaphor_agreement", "metric": "logprob"}
        | interval("accuracy", 0.8, 0.6, 1.0),
        pairs | {"phenomenon": "", "metric": "uniform_bayes_factor"},
        pairs | {"phenomenon": "no_pairs", "metric": "logprob", "n_pairs": 0},
    ]  # fmt: skip
    correlations = [
        {"model": "m", "dataset": "d", "prediction": prediction, "subset": subset, "n": 8}
        | interval("r", r, 0.1, 0.9)
        for prediction, subset, r in ((1, "overall", 0.4), (2, "bin", 0.9), (2, "overall", 0.3))
    ]
    deltas = [
        {"model": model, "dataset": "t", "partition": "held-out", "rt_source": "human",
         "n_evaluated": 99, "word_perplexity": 50.0} | interval("delta", delta, 1, 5)
        for model, delta in (("m", 3.0), ("other", 4.0))
    ]  # fmt: skip
    grown = {"model": "m", "dataset": "d", "level": "all", "kind": "matched_acceptable"}
    accuracy = [
        grown | {"perturbation": perturbation, "length": length, "n_pairs": 8}
        | interval("delta", delta, -0.1, 0.3)
        for perturbation, length, delta in ((None, 20, 0.05), (None, 40, 0.1), ("quote", 60, 0.2))
    ]  # fmt: skip
    accuracy.append(accuracy[0] | {"dataset": "e", "baseline": 0.25})
    accuracy.append(accuracy[1] | {"level": "suite", "length": 80})
    given = zip(TABLES, (fits, separation, correlations, deltas, accuracy), strict=True)
    return {name: [table(tmp_path / f"{name}.parquet", name, *rows)] for name, rows in given}


def test_a_model_s_tables_become_rows_of_quantities(files):
    every = rows_by_model(files)
    assert every["model"].value_counts().to_dict() == {"m": 17, "other": 2}
    found = every[every["model"] == "m"]
    shown = found[["quantity", "group", "value", "n"]].fillna({"n": 0})
    shown = [tuple(row) for row in shown.to_numpy()]
    assert shown == [
        ("r of SLOR with ratings", "", 0.3, 40),
        ("r of MORCELA with ratings", "", 0.5, 40),
        ("optimal beta", "", 0.7, 40),
        ("optimal gamma", "", 9.0, 40),
        ("lowest r of MORCELA over conventions", "none, u", 0.2, 40),
        ("highest r of MORCELA over conventions", "bos, u", 0.5, 40),
        ("accuracy on minimal pairs", "", 0.75, 8),
        ("AUC of log p over unpaired sentences", "", 0.6, 6),
        ("accuracy on minimal pairs", "anaphor agreement", 0.8, 8),
        ("r of log p within pairs", "", 0.4, 8),
        ("r of differences in log p and in ratings", "", 0.3, 8),
        ("ΔLogLik", "held-out", 3.0, 99),
        ("perplexity of a word", "", 50.0, 0),  # not of the reading times
        ("accuracy without a prefix", "", 0.5, 8),
        ("accuracy without a prefix", "", 0.25, 8),
        ("change of accuracy after a prefix", "matched acceptable, 40 tokens", 0.1, 8),
        ("change of accuracy after a prefix", "matched acceptable, 20 tokens", 0.05, 8),
    ]
    assert found.loc[2, ["low", "high"]].tolist() == [0.6, 0.8]
    assert found.loc[11, ["low", "high", "unit"]].tolist() == [1, 5, "nats"]
    assert found["rating_source"].dropna().unique().tolist() == ["simulated"]


def test_a_model_has_tables_of_papers_naming_it():
    assert set(scope.model_tables(plan(), "smollm2-135m")) == {*TABLES}
    fits = {"linking_functions": ["results/morcela/gpt2.parquet"]}
    assert scope.model_tables(plan(), "gpt2") == fits
    assert scope.model_tables(plan(site={"papers": ["overlap"]}), "smollm2-135m") == {}
    # There are no sentences in its language.
    japanese = {"models": {"mine": OWN | {"language": "ja"}}}
    japanese["string_probability"] = {"models": ["mine"], "bos": "excluded"}
    assert scope.model_tables(plan(**japanese), "mine") == {}
    assert "mine" not in scope.shown_models(plan(**japanese))
    own = plan("demo", models={"mine": OWN}, reading={"models": ["mine"]})
    gains = scope.model_tables(own, "mine")["delta_log_likelihood"]
    assert gains == ["results/reading/demo_reading_times.parquet"]
    assert "mine" in scope.shown_models(own)
    assert "gpt2" not in scope.shown_models(own)
    assert not [name for name in scope.shown_models(plan()) if "-step" in name]


def row(model: str, quantity: str, value: float | None, **more: Any) -> dict[str, Any]:
    usual = {"paper": "p", "dataset": "d", "group": "", "scale": "demo", "n": 9.0}
    known = {"model": model, "quantity": quantity, "value": value, "low": 0.0, "high": 1.0}
    return usual | known | more


@pytest.fixture
def rows() -> pd.DataFrame:
    some = [
        row("a", "ΔLogLik", 3.0, group="exploratory"), row("a", "ΔLogLik", 4.0, group="held-out"),
        row("a", "r of MORCELA with ratings", 0.5),
        row("a", "r of MORCELA with ratings", 0.75, dataset="my-pairs"),
        row("b", "r of MORCELA with ratings", 0.25, dataset="my-pairs"),
        row("mine", "optimal beta", 0.5), row("mine", "optimal gamma", None),
    ]  # fmt: skip
    frame = pd.DataFrame(some, columns=[*COLUMNS, "model"])
    of = {"a": {"title": "A", "group": "A", "parameters": 7}, "b": {"group": "A", "parameters": 3}}
    return titled(frame.astype({"value": float}), of, {})


def test_main_quantities_of_a_model_come_once(rows):
    found = [(row["title"], row["quantity"], row["data"], row["value"]) for row in main_rows(rows)]
    assert found == [
        ("b", "r of MORCELA with ratings", "my-pairs", 0.25),
        ("A", "ΔLogLik, exploratory", "d", 3.0),
        ("A", "r of MORCELA with ratings", "d", 0.5),
        ("A", "r of MORCELA with ratings", "my-pairs", 0.75),
    ]


def test_own_rows_are_of_own_models_or_data(rows):
    found = own_rows(rows, {"models": ["mine"], "datasets": ["my-pairs"]})
    values = [(row["model"], row["value"]) for row in found]
    assert values == [("b", 0.25), ("a", 0.75), ("mine", 0.5)]
    assert own_rows(rows, {"models": [], "datasets": []}) == []
