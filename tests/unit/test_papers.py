"""All papers: tables have the names of schemas, and a fault affects only its own output."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table, read_tables, write_table
from lingprob.papers.run import failures, make_each
from lingprob.scorecard.comparison import with_failures
from lingprob.site.cards import scorecard_page
from lingprob.site.page import write_pages
from lingprob.workflow.digests import SCRIPTS

MODEL = {"title": "M", "family": "opt", "family_title": "OPT", "parameters": 10**8}
VALUES = {"string": "mine", "bool": True, "double": 1.5, "int32": 7, "int64": 7}
# Columns of the tables below that are not of VALUES.
OTHERS = {
    "delta_log_likelihood": {"model": "m", "delta_low": 1.0, "delta_high": 2.0},
    "published_delta": {"model": "m", "convention": "compat"},
    "reading_gains": {"model": "m", "of": "delta", "subject": "s"},
    "reading_effects": {"model": "m"},
    "reading_counts": {},
}


class Files(dict):
    """Named files, as Snakemake gives them to a script."""

    __getattr__ = dict.__getitem__


def table_of(name: str) -> pd.DataFrame:
    """A table of one row."""
    row = {field.name: VALUES[str(field.type)] for field in SCHEMAS[name]}
    return pd.DataFrame([{**row, **OTHERS[name]}])


@pytest.fixture
def inputs(tmp_path) -> dict[str, Any]:
    """Files of the tables that `report_reading` reads, of one model and data set."""
    for name in OTHERS:
        write_table(table_of(name), name, tmp_path / f"{name}.parquet")
    return {name: [str(tmp_path / f"{name}.parquet")] for name in OTHERS}


def test_tables_have_schema_names_and_files_are_joined(inputs):
    found = read_tables(
        {**inputs, "model_differences": [], "logs": ["small.jsonl"],
         "reading_counts": inputs["reading_counts"] * 2}
    )  # fmt: skip
    assert set(found) == set(OTHERS)
    assert len(found["reading_counts"]) == 2
    assert len(read_tables({"reading_counts": inputs["reading_counts"][0]})["reading_counts"]) == 1
    with pytest.raises(LingprobError, match="no such table"):
        read_tables({"reading_counts": "elsewhere.parquet"})


PAGES = ("scorecard.csv", "scorecard.html", "verdicts.csv")


def run_report(inputs: dict[str, Any], folder: Path, figures: list[str]) -> SimpleNamespace:
    """Run `report_reading`; return its outputs."""
    tables = ("delta_log_likelihood", "reading_counts", "reading_trends")
    output = Files(
        {name: folder / f"{name}.parquet" for name in tables}
        | {"model_differences": [], "csv": [folder / "trends.csv"],
           "html": [folder / "table_2.html"], "figures": [folder / name for name in figures],
           "scorecard": folder / "scorecard.parquet",
           "pages": [folder / name for name in PAGES]}
    )  # fmt: skip
    folder.mkdir()
    run = {"scale": "demo", "models": describe_models({"m": MODEL}), "titles": {"mine": "Mine"},
           "published": read_published("reading")}  # fmt: skip
    params = SimpleNamespace(
        run=run, left_out="Left out because it is not there: dundee_first_pass.", draws=4, seed=1,
        entries={"m": MODEL, "nobody": MODEL}, page_titles={"table_2": "Table 2"},
    )  # fmt: skip
    snakemake = SimpleNamespace(input=Files(inputs), output=output, params=params,
                                log=[str(folder / "log.txt")], rule="report_reading",
                                resources=SimpleNamespace(mem_mb=1))  # fmt: skip
    runpy.run_path(str(SCRIPTS / "report_reading.py"), init_globals={"snakemake": snakemake})
    return output


FIGURES = [f"{name}.{suffix}" for suffix in ("pdf", "png") for name in ("figure_2",
           "inverse_scaling")]  # fmt: skip


def test_a_report_has_figures_tables_and_a_scorecard(inputs, tmp_path):
    output = run_report(inputs, tmp_path / "one", FIGURES)
    card = read_table(output.scorecard, "scorecard")
    (claim,) = card.loc[card["row"] == "m/mine"].itertuples()
    assert claim.ours == 1.5
    assert "failed" not in set(card["verdict"])
    assert len(pd.read_csv(output.pages[0])) == len(card)
    assert "populations" in pd.read_csv(output.pages[2])
    page = output.pages[1].read_text()
    assert "<h1>Scorecard: One</h1>" in page
    assert "Left out because it is not there: dundee_first_pass." in page
    other = run_report(inputs, tmp_path / "other", FIGURES[::-1])
    contents = {path.name: path.read_bytes() for path in output.figures}
    assert {path.name: path.read_bytes() for path in other.figures} == contents
    assert len(set(contents.values())) == len(FIGURES)


def test_a_failing_figure_is_reported_and_spares_others(inputs, tmp_path):
    fits = table_of("published_delta").assign(model="nobody")
    write_table(fits, "published_delta", Path(inputs["published_delta"][0]))
    output = run_report(inputs, tmp_path / "one", FIGURES)
    assert all(path.stat().st_size for path in output.figures)
    card = read_table(output.scorecard, "scorecard")
    (failed,) = card[card["verdict"] == "failed"].itertuples()
    assert (failed.kind, failed.role, failed.item) == ("output", "paper", "inverse_scaling")
    assert "KeyError: 'nobody'" in failed.note
    assert "Traceback" in (tmp_path / "one" / "log.txt").read_text()
    page = output.pages[1].read_text()
    assert "inverse_scaling was not drawn" in page
    assert "1 failed" in " ".join(page.split())


def test_an_impossible_figure_gives_one_clear_message(inputs, tmp_path):
    with pytest.raises(SystemExit):
        run_report({**inputs, "published_delta": []}, tmp_path / "one", ["inverse_scaling.png"])
    assert "no figure is called 'inverse_scaling'" in (tmp_path / "one" / "log.txt").read_text()


def test_a_failing_table_shows_the_reason():
    whole = pd.DataFrame({"a": [1]})
    made = make_each({"whole": lambda: whole, "broken": lambda: whole[["b"]]})
    assert made["whole"] is whole
    assert list(failures(made)) == ["broken"]
    assert made["broken"]["failed"].item().startswith("broken was not made. KeyError")
    row = {name: "x" for name in SCHEMAS["scorecard"].names}
    card = with_failures(pd.DataFrame([row]), failures(made))
    assert card["verdict"].tolist() == ["x", "failed"]
    assert card[["paper", "scale"]].to_numpy().tolist() == [["x", "x"]] * 2
    assert "broken was not made" in scorecard_page(card, "Scorecard")
    assert with_failures(card, {}) is card


def test_tables_have_their_own_names_in_any_order(tmp_path):
    tables = {name: pd.DataFrame({"a": [number]}) for number, name in enumerate(("one", "two"))}
    names = ["one.csv", "two.csv", "one.html", "two.html"]
    write_pages(tables, {"one": "First", "two": "Second"}, [tmp_path / n for n in names[::-1]])
    assert [(tmp_path / name).read_text() for name in names[:2]] == ["a\n0\n", "a\n1\n"]
    assert "<h1>Second</h1>" in (tmp_path / "two.html").read_text()
    with pytest.raises(LingprobError, match="three"):
        write_pages(tables, {}, [tmp_path / "three.csv"])
