"""Profiles: what is asked for a model, what its tables say, and the page, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from lingprob.catalog import read_published
from lingprob.plan import Plan, profile_facts, profile_files, profile_notes, profiles_beside
from lingprob.profiles.cost import cost_of
from lingprob.profiles.page import profile_page
from lingprob.profiles.quantities import quantity_like
from lingprob.profiles.rows import COLUMNS, profile_rows, published_rows
from lingprob.schemas import SCHEMAS
from lingprob.tables import write_table
from lingprob.workflow.configuration import read_settings

OWN = {"title": "Mine", "family": "mine", "source": "local", "path": "mine"}


def plan(scale: str = "laptop", **config: Any) -> Plan:
    return Plan(*read_settings({"scale": scale, **config}))


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
    ]
    pairs = {"model": "m", "dataset": "d", "n_pairs": 8}
    separation = [
        pairs | {"phenomenon": "", "metric": "logprob"}
        | interval("accuracy", 0.75, 0.5, 0.9) | interval("auc", 0.6, 0.5, 0.7),
        pairs | {"phenomenon": "anaphor_agreement", "metric": "logprob"}
        | interval("accuracy", 0.8, 0.6, 1.0),
        pairs | {"phenomenon": "", "metric": "uniform_bayes_factor"},
    ]  # fmt: skip
    correlations = [
        {"model": "m", "dataset": "d", "prediction": 1, "subset": subset, "n": 8}
        | interval("r", r, 0.1, 0.9)
        for subset, r in (("overall", 0.4), ("bin", 0.9))
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
    unprefixed = [
        {"model": "m", "dataset": "d", "level": level, "bos_policy": "bos", "n_pairs": 8}
        | interval("accuracy", 0.7, 0.6, 0.8)
        for level in ("all", "suite")
    ]
    given = {
        "fits": ("linking_functions", fits), "separation": ("string_separation", separation),
        "correlations": ("string_correlations", correlations),
        "deltas": ("delta_log_likelihood", deltas), "accuracy": ("context_accuracy", accuracy),
        "unprefixed": ("context_unprefixed", unprefixed),
    }  # fmt: skip
    return {
        name: [table(tmp_path / f"{name}.parquet", schema, *rows)]
        for name, (schema, rows) in given.items()
    }


def test_a_model_s_tables_become_a_row_a_quantity(files):
    found = profile_rows("m", files)
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
        ("AUC of log p over unpaired sentences", "", 0.6, 2),
        ("accuracy on minimal pairs", "anaphor agreement", 0.8, 8),
        ("r of log p within pairs", "", 0.4, 8),
        ("ΔLogLik", "held-out", 3.0, 99),
        ("perplexity of a word", "", 50.0, 0),  # not of the reading times
        ("accuracy without a prefix", "bos", 0.7, 8),
        ("change of accuracy after a prefix", "matched acceptable, 40 tokens", 0.1, 8),
    ]
    assert found.loc[2, ["low", "high"]].tolist() == [0.6, 0.8]
    assert found.loc[10, ["low", "high", "unit"]].tolist() == [1, 5, "nats"]
    assert found["rating_source"].dropna().unique().tolist() == ["simulated"]
    twice = {**files, "deltas": 2 * files["deltas"]}  # the run's and the model's own
    assert profile_rows("other", twice)["quantity"].tolist() == ["ΔLogLik", "perplexity of a word"]


def test_published_numbers_are_those_of_the_paper_s_tables():
    pythia = published_rows(read_published("morcela"))["pythia-70m"].set_index("quantity")["value"]
    assert pythia["optimal beta"] == 0.896
    assert pythia["optimal gamma"] == 9.026
    # Of the SSE that Table 3 prints, not of Table 2's r: they are at odds.
    assert pythia["r of MORCELA with ratings"] == pytest.approx(0.508, abs=0.0005)


def page(rows: pd.DataFrame, others: dict[str, pd.DataFrame], **more: Any) -> str:
    given = {
        "titles": {"d": "Data <1>"},
        "facts": ["Mine"],
        "notes": [],
        "made": "1.0, today",
    } | more
    return profile_page({"title": "My <model>"}, rows, others, {}, **given)


def test_a_page_places_a_value_and_its_interval_among_those_of_others():
    """.5 with .4 to .6 beside .2, .6 and 1: 37.5% of the way from .2 to 1, and second of four."""
    row = {"paper": "morcela", "dataset": "d", "quantity": "q", "group": "", "scale": "laptop"}
    own = pd.DataFrame([row | {"value": 0.5, "low": 0.4, "high": 0.6, "n": 7}], columns=COLUMNS)
    others = {
        name: pd.DataFrame([row | {"value": value, "group": group}], columns=COLUMNS)
        for name, value, group in (
            ("a", 0.2, ""),
            ("b", 0.6, ""),
            ("c", 1.0, ""),
            ("e", 9, "of it"),
        )
    }
    text = page(own, others, notes=["Not <here>."], cost="3 jobs")
    assert '<span class="own" style="left: 37.5%"' in text
    assert 'class="interval" style="left: 25.0%; width: 25.0%"' in text
    assert 'style="left: 0.0%"\n title="a: 0.200"' in text
    assert "e: 9.00" not in text  # another group
    assert "above 1 of 3 others" in text
    assert "0.400 to 0.600; n 7" in text
    assert "Mine · 1.0, today" in text
    for escaped in ("My &lt;model&gt;", "Data &lt;1&gt;", "Not &lt;here&gt;."):
        assert escaped in text
    assert "<h2>Cost</h2><p>3 jobs</p>" in text


def test_a_page_of_one_model_alone_and_of_a_value_that_is_not_defined():
    row = {"paper": "context", "dataset": "d", "quantity": "q", "group": "", "scale": "demo"}
    nothing = pd.DataFrame([row | {"value": None}, row | {"value": 1.0}], columns=COLUMNS)
    text = page(nothing.assign(rating_source="simulated"), {})
    assert "not defined" in text
    assert 'class="strip"' not in text  # beside nothing, a value has no place
    assert "others</span>" not in text
    assert "computed here" not in text
    assert "published" not in text.split("</style>")[1]
    assert "Simulated ratings" in text


@pytest.mark.parametrize(("groups", "folded"), [(12, False), (13, True)])
def test_a_quantity_of_many_groups_is_folded_behind_its_range(groups, folded):
    row = {"paper": "string_probability", "dataset": "d", "quantity": "accuracy", "scale": "demo"}
    alone = [row | {"group": "", "value": 0.5}, row | {"group": "", "quantity": "r", "value": 0.1}]
    many = [row | {"group": f"g{n}", "value": 0.9 - n / 100} for n in range(groups)]
    text = page(pd.DataFrame([*alone, *many], columns=COLUMNS), {})
    before, _, behind = text.partition("<details>")
    summary = "<summary>accuracy of 13 groups: lowest 0.780, highest 0.900</summary>"
    assert (summary in behind) == folded
    assert before.count('class="row"') == (2 if folded else 2 + groups)
    assert text.count('class="row"') == 2 + groups


def test_chance_is_on_the_axis_whatever_other_models_have():
    row = {"paper": "string_probability", "dataset": "d", "group": "", "scale": "demo", "n": 60}
    accuracy = row | {"quantity": "accuracy on minimal pairs"}
    own = [
        accuracy | {"value": 0.6, "low": 0.55, "high": 0.7},
        accuracy | {"group": "three pairs", "value": 1.0, "low": 1.0, "high": 1.0, "n": 3},
        row | {"quantity": "perplexity of a word", "value": 257_883_835_027.0},
    ]
    text = page(pd.DataFrame(own, columns=COLUMNS), {})
    assert '<span class="own" style="left: 60.0%"' in text
    assert 'class="interval" style="left: 55.0%; width: 15.0%"' in text
    assert text.count('<span class="chance" style="left: 50.0%"') == 2
    assert text.count('class="interval"') == 1  # three that came out alike bound nothing
    assert "1.00 to 1.00" not in text
    assert "2.58e11" in text


@pytest.mark.parametrize(
    ("low", "high", "is_open", "bar"),
    [
        (-40.0, 82.0, True, None),
        (0.5, 1.25, False, "left: 40.0%; width: 60.0%"),  # of 0 to 1.25
        (-0.25, 1.0, False, "left: 0.0%; width: 100.0%"),  # SLOR's 1 is at its very end
    ],
)
def test_a_beta_that_leaves_everything_open_is_said_to(low, high, is_open, bar):
    row = {"paper": "morcela", "dataset": "d", "group": "", "scale": "demo", "n": 60}
    beta = row | {"quantity": "optimal beta", "value": 0.5, "low": low, "high": high}
    text = page(pd.DataFrame([beta], columns=COLUMNS), {})
    assert ("undetermined: neither no correction" in text) == is_open
    assert ('class="strip"' in text) == (not is_open)
    assert bar is None or f'class="interval" style="{bar}"' in text


def test_what_quantities_are_is_told_once_of_those_that_are_alike(files):
    rows = profile_rows("m", files)
    assert all(quantity_like(name).gloss for name in rows["quantity"])
    text = page(rows, {})
    assert text.count("<dt>r of SLOR with ratings, r of MORCELA with ratings</dt><dd>Pearson") == 1
    assert text.count("<summary>What these quantities are</summary>") == 4
    unknown = rows.iloc[:1].assign(quantity="q")
    assert "What these quantities are" not in page(unknown, {})


def test_conventions_are_compared_whatever_they_are_called():
    row = {"paper": "morcela", "dataset": "d", "scale": "demo", "value": 0.5,
           "quantity": "highest r of MORCELA over conventions"}  # fmt: skip
    own = pd.DataFrame([row | {"group": "bos, u"}], columns=COLUMNS)
    other = pd.DataFrame([row | {"group": "none, u", "value": 0.4}], columns=COLUMNS)
    assert "above 1 of 1 others" in page(own, {"other": other})


def test_a_profile_asks_for_the_tables_of_a_model_and_of_its_data_sets_alone():
    there = plan()
    listed, unlisted = (profile_files(there, name) for name in ("smollm2-135m", "gpt2"))
    assert "results/string_probability/smollm2-135m/separation.parquet" in listed["separation"]
    assert "separation" not in unlisted
    assert profile_notes(there, "smollm2-135m") == []
    (note,) = profile_notes(there, "gpt2")
    assert note.endswith("put gpt2 into profiles.models.")
    assert all("/gpt2" in path for paths in unlisted.values() for path in paths)
    named = plan(profiles={"models": ["gpt2"]})
    of_strings = profile_files(named, "gpt2")["separation"]
    assert of_strings == ["results/string_probability/gpt2/separation.parquet"]
    assert named.string_models()[-1] == "gpt2"
    own = plan(models={"mine": OWN}, profiles={"models": ["mine"], "papers": ["morcela"]})
    assert profile_files(own, "mine") == {"fits": ["results/morcela/mine.parquet"]}
    assert profile_notes(own, "mine") == [
        "Not asked for: reading, context. Add them to profiles.papers."
    ]
    facts = ["mine", "mine", "source: local", "BOS policies: none"]
    assert profile_facts(own, "mine") == facts


def test_a_model_of_imported_scores_or_another_language_is_asked_for_less():
    there = plan()
    assert set(profile_files(there, "bert-large-cased")) == {"fits", "separation", "correlations"}
    chinese = profile_files(plan("paper"), "gpt2-chinese")
    assert "fits" not in chinese
    in_context = {Path(path).parent.name for path in chinese["unprefixed"] + chinese["accuracy"]}
    assert in_context == {"zhoblimp", "sling"}


def test_others_are_shown_where_their_tables_are_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = plan()
    assert profiles_beside(there, "smollm2-135m") == {}
    for name in ("morcela/trigram.parquet", "context/summaries/gpt2/blimp/accuracy.parquet"):
        Path("results", name).parent.mkdir(parents=True, exist_ok=True)
        Path("results", name).touch()
    beside = profiles_beside(there, "smollm2-135m")
    assert beside["trigram"] == {"fits": ["results/morcela/trigram.parquet"]}
    assert "trigram" not in profiles_beside(there, "trigram")


def test_the_cost_is_that_of_the_benchmarks_named_after_a_model(tmp_path):
    head = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
    for name, seconds, memory in (
        ("score_stimuli/m/none/d", 90, 800), ("fit_linking_functions/m", 30, 900),
        ("prepare_model/m", 6, "-"),
        ("score_stimuli/m2/none/d", 1000, 5000),
    ):  # fmt: skip
        path = tmp_path / f"{name}.benchmark.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{seconds}\t0:00:01\t{memory}\t1\t1\t1\t0\t0\t99\t1\n")
    assert cost_of("m", tmp_path).startswith("3 jobs of this model took 2.1 minutes")
    assert "at most 900 MB" in cost_of("m", tmp_path)
    assert cost_of("other", tmp_path) == ""
