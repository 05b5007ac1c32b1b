"""Every paper's room has the same parts, and the scripts that serve them all go by names."""

from __future__ import annotations

import inspect
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
from lingprob.io.tables import read_table, write_table
from lingprob.papers.contract import Run, read_tables
from lingprob.papers.description import PLAIN, Room
from lingprob.papers.rooms import PACKAGES, USES, module_of
from lingprob.site.page import write_pages
from lingprob.workflow.digests import SCRIPTS

MODEL = {"title": "M", "family": "opt", "family_title": "OPT", "parameters": 10**8}


class Files(dict):
    """Named files, as Snakemake gives them to a script."""

    __getattr__ = dict.__getitem__


@pytest.mark.parametrize("paper", PACKAGES)
def test_every_room_has_one_contract(paper):
    draw, compare = module_of(paper, "plot").draw, module_of(paper, "compare").compare
    assert list(inspect.signature(draw).parameters) == ["tables", "run"]
    assert list(inspect.signature(compare).parameters) == ["tables", "published", "run"]
    tables = module_of(paper, "inputs").TABLES.values()
    assert {table.schema for table in tables} <= {*SCHEMAS, None}
    uses = {use for table in tables for use in table.uses}
    assert {"plot", "compare"} <= uses <= set(USES)
    if "tabulate" in uses:
        tabulate = module_of(paper, "tabulate").tabulate
        assert list(inspect.signature(tabulate).parameters) == ["tables", "run"]
    assert read_published(paper)["paper"]


def deltas() -> pd.DataFrame:
    """A `delta_log_likelihood` table of one model and data set."""
    values = {"string": "mine", "bool": True, "double": 1.5, "int64": 10}
    row = {field.name: values[str(field.type)] for field in SCHEMAS["delta_log_likelihood"]}
    return pd.DataFrame([{**row, "model": "m", "delta_low": 1.0, "delta_high": 2.0}])


@pytest.fixture
def reading(tmp_path) -> dict[str, Any]:
    """What the rules that plot and compare give their scripts, for a room of two figures."""
    write_table(deltas(), "delta_log_likelihood", tmp_path / "deltas.parquet")
    fits = {
        field.name: {"string": "m", "double": 2.0, "int64": 10}[str(field.type)]
        for field in SCHEMAS["published_delta"]
    }
    fits = {**fits, "convention": "compat"}
    write_table(pd.DataFrame([fits]), "published_delta", tmp_path / "published.parquet")
    counts = {
        field.name: {"string": "mine", "int64": 7}[str(field.type)]
        for field in SCHEMAS["reading_counts"]
    }
    write_table(pd.DataFrame([counts]), "reading_counts", tmp_path / "counts.parquet")
    trends = pd.DataFrame(columns=SCHEMAS["reading_trends"].names)
    write_table(trends, "reading_trends", tmp_path / "trends.parquet")
    names = ("deltas", "published", "trends", "counts")
    return {name: str(tmp_path / f"{name}.parquet") for name in names}


def run_script(
    name: str, files: dict[str, str], output: list[Path] | dict[str, Path], folder: Path
) -> None:
    run = {"scale": "demo", "models": describe_models({"m": MODEL}), "titles": {"mine": "Mine"}}
    snakemake = SimpleNamespace(
        input=Files(files),
        output=Files(output) if isinstance(output, dict) else [str(path) for path in output],
        wildcards=SimpleNamespace(paper="reading"), log=[str(folder / "log.txt")], rule=name,
        params=SimpleNamespace(
            paper="reading", parts={}, run=run, published=read_published("reading"),
            left_out="Left out, for it is not there: dundee_first_pass.",
        ),
    )  # fmt: skip
    runpy.run_path(str(SCRIPTS / f"{name}.py"), init_globals={"snakemake": snakemake})


def test_swapping_outputs_of_a_plot_rule_changes_no_file(reading, tmp_path):
    names = [f"{figure}.{suffix}" for suffix in ("pdf", "png")
             for figure in ("figure_2", "inverse_scaling")]  # fmt: skip
    files = {name: reading[name] for name in ("deltas", "published")}
    for folder, order in (("one", names), ("other", names[::-1])):
        (tmp_path / folder).mkdir()
        run_script("plot", files, [tmp_path / folder / name for name in order], tmp_path)
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    contents = [(tmp_path / "one" / name).read_bytes() for name in names]
    assert len(set(contents)) == len(names)


def test_a_figure_that_the_tables_cannot_make_is_one_clear_message(reading, tmp_path):
    with pytest.raises(SystemExit):
        run_script("plot", {"deltas": reading["deltas"]}, [tmp_path / "inverse_scaling.png"],
                   tmp_path)  # fmt: skip
    assert "no figure is called 'inverse_scaling'" in (tmp_path / "log.txt").read_text()


def test_one_script_makes_a_scorecard_of_named_tables(reading, tmp_path):
    files = {name: reading[name] for name in ("deltas", "trends", "counts")}
    output = {kind: tmp_path / f"scorecard.{kind}" for kind in ("parquet", "csv", "html")}
    run_script("compare", files, output, tmp_path)
    card = read_table(tmp_path / "scorecard.parquet", "scorecard")
    (claim,) = card.loc[card["row"] == "m/mine"].itertuples()
    assert (claim.ours, claim.verdict) == (1.5, "supported")
    assert len(pd.read_csv(output["csv"])) == len(card)
    page = output["html"].read_text()
    assert "<h1>Scorecard: Reading</h1>" in page
    assert "Left out, for it is not there: dundee_first_pass." in page


def test_files_of_one_table_are_put_together_and_say_what_they_are_of(tmp_path):
    for size in ("small", "large"):
        (tmp_path / f"{size}.jsonl").write_text('{"step": 1}\n{"step": 2}\n')
    files = [str(tmp_path / f"{size}.jsonl") for size in ("small", "large")]
    table = read_tables("training", {"logs": files}, {"logs": ["small", "large"]})["logs"]
    assert table.to_dict("list") == {
        "step": [1, 2, 1, 2], "size": ["small", "small", "large", "large"]
    }  # fmt: skip


def test_a_table_without_a_schema_is_read_as_its_name_says(tmp_path):
    (tmp_path / "sizes.csv").write_text("paradigm,pairs\nagreement,3\n")
    table = read_tables("string_probability", {"paradigms": str(tmp_path / "sizes.csv")})
    assert table["paradigms"].to_dict("list") == {"paradigm": ["agreement"], "pairs": [3]}


def test_a_table_that_a_room_does_not_have_is_named():
    with pytest.raises(LingprobError, match=r"unknown table of reading 'delta'.*deltas"):
        read_tables("reading", {"delta": "x.parquet"})


CATALOG = {name: {**MODEL, "title": name} for name in ("opt-small", "opt-large", "other")}


def room(**more: Any) -> Room:
    files = {
        "linking_functions": "fits.parquet",
        "slopes": ["a.parquet", "b.parquet"],
        "bins": [],
        "stimuli": {"one": "1.parquet", "two": "2.parquet"},
    }
    return Room("morcela", "MORCELA", **{"files": files, "figures": ["figure_2"], **more})


def test_a_use_gets_its_own_tables_and_no_others():
    both = {"linking_functions": "fits.parquet", "stimuli": ["1.parquet", "2.parquet"]}
    for use in ("plot", "compare"):
        assert room().input(use) == {**both, "slopes": ["a.parquet", "b.parquet"]}
        assert room().parts(use) == {"stimuli": ["one", "two"]}
    assert room().input("tabulate") == {"linking_functions": "fits.parquet"}
    assert room().parts("tabulate") == {}
    assert room().code("compare") == [f"lingprob.papers.morcela.{name}"
                                      for name in ("inputs", "claims")]  # fmt: skip


def test_a_file_of_an_undeclared_table_is_named():
    with pytest.raises(LingprobError, match=r"unknown table of morcela 'slope'.*slopes"):
        room(files={"slope": "x.parquet"}).input("plot")


def test_a_run_describes_the_models_shown_and_their_looks_for_figures_alone():
    published = {"items": [{"rows": {"opt-large/slor": [1.0]}}]}
    shown = room(models=["opt-small"], published_for=["plot"])
    plot = shown.run("plot", CATALOG, published, "demo")
    assert list(plot["models"]) == ["opt-small", "opt-large"]
    assert plot["published"] == published
    compare = shown.run("compare", CATALOG, published, "demo")
    assert {name: set(entry) for name, entry in compare["models"].items()} == {
        "opt-small": set(PLAIN["compare"])
    }
    assert compare["published"] == {}
    everything = room(models=["opt-*"]).run("plot", CATALOG, {}, "demo")
    assert list(everything["models"]) == ["opt-small", "opt-large"]
    assert Run(**everything).scale == "demo"


def test_tables_are_written_under_their_own_names_whatever_the_order(tmp_path):
    tables = {name: pd.DataFrame({"a": [number]}) for number, name in enumerate(("one", "two"))}
    names = ["one.csv", "two.csv", "one.html", "two.html"]
    write_pages(tables, {"one": "First", "two": "Second"}, [tmp_path / n for n in names[::-1]])
    assert [(tmp_path / name).read_text() for name in names[:2]] == ["a\n0\n", "a\n1\n"]
    assert "<h1>Second</h1>" in (tmp_path / "two.html").read_text()
    with pytest.raises(LingprobError, match="three"):
        write_pages(tables, {}, [tmp_path / "three.csv"])


def test_a_run_cannot_be_changed():
    with pytest.raises(AttributeError):
        Run("demo").scale = "paper"  # type: ignore[misc]
