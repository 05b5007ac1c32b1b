"""Changes that a rule's digest notices or ignores, and the rooms of its code."""

import json
import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pyarrow as pa
import pytest

from lingprob.demo import CONTROL_SENTENCES, MINIMAL_PAIRS, demo_files
from lingprob.errors import LingprobError
from lingprob.io.parsers import STIMULI
from lingprob.workflow import digests
from lingprob.workflow.digests import (
    CARRIERS,
    KEPT,
    SCRIPTS,
    code_digest,
    imported_modules,
    modules_digest,
    named_tables,
    read_source,
)

# A script, the module that it imports, one imported in a function, and a carrier.
SOURCES = {
    "score.py": """
from lingprob.scoring.engine import run
from lingprob.io.files import tidy

with job(snakemake):
    write_table(run(1), "scores", tidy("x"))
""",
    "lingprob/__init__.py": "",
    "lingprob/io/files.py": "def tidy(x):\n    return x\n",
    "lingprob/scoring/__init__.py": '"""The room."""\n',
    "lingprob/scoring/engine.py": '''
from typing import TYPE_CHECKING

from dataclasses import dataclass

if TYPE_CHECKING:
    from lingprob.figures import style


@dataclass
class Options:
    step: int = 2


def run(x: int) -> int:
    """Return what comes of x."""
    from lingprob.scoring.late import more

    total: int = x + Options().step  # a comment
    return more(total)
''',
    "lingprob/scoring/late.py": "def more(x):\n    return x + 1\n",
    "lingprob/figures/__init__.py": "",
    "lingprob/figures/style.py": "BLUE = 1\n",
    "lingprob/parsers.py": "def one():\n    return 1\n",
}


@pytest.fixture
def tree(tmp_path_factory):
    """Write the sources above, with some text of a file put in place of another."""

    def of(file: str = "", old: str = "", new: str = "") -> Path:
        folder = tmp_path_factory.mktemp("scripts")
        for name, text in SOURCES.items():
            assert name != file or old in text
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(old, new) if name == file else text)
        return folder

    return of


@pytest.fixture
def digest(tree):
    """Return the digest of the script in such a tree."""

    def of(file: str = "", old: str = "", new: str = "", parts: tuple = ()) -> str:
        return code_digest("score", *parts, scripts=tree(file, old, new))

    return of


ENGINE = "lingprob/scoring/engine.py"


@pytest.mark.parametrize(("file", "old", "new"), [
    (ENGINE, "# a comment", "# another"),
    (ENGINE, "Return what comes of x.", "Return x and more."),
    (ENGINE, '    """Return what comes of x."""\n', ""),
    (ENGINE, "x: int) -> int", "x: float) -> float"),
    (ENGINE, "total: int =", "total ="),
    (ENGINE, "x + Options().step", "(x   +\n        Options().step)"),
    (ENGINE, "lingprob.figures import style", "lingprob.figures import colours"),
    ("score.py", "with job", "# what follows\nwith job"),
    ("lingprob/scoring/__init__.py", "The room.", "The room of scores."),
    ("lingprob/figures/style.py", "BLUE = 1", "BLUE = 2"),  # for type checkers alone
    ("lingprob/io/files.py", "return x", "return x or None"),  # a carrier
])  # fmt: skip
def test_harmless_edits_change_no_digest(digest, file, old, new):
    assert digest(file, old, new) == digest()


@pytest.mark.parametrize(("file", "old", "new"), [
    ("score.py", "run(1)", "run(2)"),
    ("score.py", '"scores"', '"surprisal"'),
    (ENGINE, "x + ", "x - "),
    (ENGINE, "step: int = 2", "step: int = 3"),
    (ENGINE, "step: int", "step: ClassVar[int]"),  # no longer a field
    ("lingprob/scoring/late.py", "x + 1", "x + 2"),  # imported in a function
    ("lingprob/scoring/__init__.py", '"""The room."""', "import torch"),
])  # fmt: skip
def test_edits_of_numbers_change_the_digest(digest, file, old, new):
    assert digest(file, old, new) != digest()


def test_engine_digests_include_imported_modules(tree, monkeypatch):
    def of(*edit: str) -> str:
        monkeypatch.setattr(digests, "SCRIPTS", tree(*edit))
        return modules_digest.__wrapped__("lingprob.scoring.engine")

    edits = [("lingprob/scoring/late.py", "x + 1", "x + 2"), (ENGINE, "x + ", "x - ")]
    assert len({of(), *(of(*edit) for edit in edits)}) == 3
    assert of() == of("lingprob/parsers.py", "return 1", "return 2")


def test_parts_count_by_name_and_content(digest, tmp_path):
    data = tmp_path / "pairs.csv"
    data.write_text("a")
    parts = ("lingprob.parsers:one", data)
    with_parts = digest(parts=parts)
    assert with_parts != digest()
    assert digest("lingprob/parsers.py", "return 1", "return 2") == digest()
    assert digest("lingprob/parsers.py", "return 1", "return 2", parts) != with_parts
    assert digest(parts=("lingprob.parsers:two", data)) != with_parts
    assert digest(parts=("lingprob.parsers:one", data.rename(tmp_path / "other.csv"))) != with_parts
    data = (tmp_path / "other.csv").rename(data)
    data.write_text("b")
    assert digest(parts=parts) != with_parts
    with pytest.raises(LingprobError, match=r"rule score: .*no module 'lingprob\.gone'"):
        digest(parts=("lingprob.gone:one",))


@pytest.mark.parametrize(("table", "column", "new", "counts"), [
    ("scores", "logprob", pa.field("logprob", pa.float64()), True),
    ("scores", "scored", pa.field("scored", pa.bool_(), nullable=True), True),
    ("scores", "scored", pa.field("counted", pa.bool_(), nullable=False), True),
    ("surprisal", "surprisal", pa.field("surprisal", pa.float32()), False),  # another rule's
])  # fmt: skip
def test_columns_count_for_rules_that_write_them(digest, monkeypatch, table, column, new, counts):
    before = digest()
    schema = digests.SCHEMAS[table]
    place = schema.get_field_index(column)
    assert schema.field(place) != new
    monkeypatch.setitem(digests.SCHEMAS, table, schema.set(place, new))
    assert (digest() != before) == counts


def test_tables_are_found_by_whole_names_and_beginnings(tmp_path):
    script = tmp_path / "script.py"
    written = 'write_table(a, "words", p)\nwrite_table(b, f"string_{name}", p)\n'
    script.write_text(f"import lingprob.a as a\nfrom lingprob.b import c\n{written}")
    assert read_source(script).imports == ["lingprob.a", "lingprob.b.c"]
    strings = {name for name in digests.SCHEMAS if name.startswith("string_")}
    assert len(strings) > 3
    assert set(named_tables(read_source(script))) == {"words", *strings}


def test_scripts_alone_write_tables_and_name_them():
    """Otherwise `named_tables`, which reads the script, would miss one."""
    for path in SCRIPTS.rglob("*.py"):
        source = read_source(path)
        imports = {*source.imports}
        writes = imports & {
            f"lingprob.io.tables.{name}" for name in ("write_table", "table_writer")
        }
        assert not writes or (path.parent == SCRIPTS and named_tables(source)), path
        # Digests do not follow relative imports.
        assert not any(name.startswith(".") for name in imports), path


WORK = """
import ast, sys
from pathlib import Path
from lingprob.workflow import digests
digests.READER = {reader}
parsed, parse = [], ast.parse
ast.parse = lambda *given: (parsed.append(1), parse(*given))[1]
print(digests.read_source(Path("script.py")), len(parsed))
"""


def test_sources_are_read_once_per_working_directory(tmp_path):
    def read(text: str, reader: str = "digests.READER") -> tuple[str, str]:
        (tmp_path / "script.py").write_text(text)
        place = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
        command = [sys.executable, "-c", WORK.format(reader=reader)]
        done = subprocess.run(command, cwd=tmp_path, env=place, capture_output=True, text=True)
        assert done.stderr == ""
        said, _, parsed = done.stdout.rpartition(" ")
        return said, parsed.strip()

    text = 'import lingprob.a\nwrite_table(a, "words")  # why\n'
    first = read(text)
    assert first[1] == "1"
    assert not (tmp_path / KEPT).exists()  # Snakemake was not here
    (tmp_path / KEPT).parent.mkdir()
    assert [read(text)[1] for _ in range(2)] == ["1", "0"]
    assert read(text)[0] == first[0]
    assert read(text, "b'another'")[1] == "1"
    other, parsed = read(text.replace("words", "scores"))
    assert (parsed, "scores" in other) == ("1", True)
    for spoilt in ("{", "[]"):
        (tmp_path / KEPT).write_text(spoilt)
        assert read(text) == first
    assert len(json.loads((tmp_path / KEPT).read_text())) == 1


def test_no_script_has_the_name_of_a_package():
    """The scripts' folder comes first on the path: PyTorch imports `tabulate` as it ends."""
    elsewhere = [folder for folder in sys.path if folder and Path(folder).resolve() != SCRIPTS]
    for script in SCRIPTS.glob("*.py"):
        assert PathFinder.find_spec(script.stem, elsewhere) is None, script


def test_every_carrier_exists():
    for name in CARRIERS:
        stem = SCRIPTS.joinpath(*name.strip(".").split("."))
        assert stem.with_suffix(".py").is_file() or stem.is_dir(), name


def test_demo_data_count_for_their_parsers_alone(tmp_path):
    for parser in ("demo_passages", "demo_reading", "demo_sentences", "minimal_pairs"):
        assert demo_files(parser) == [MINIMAL_PAIRS]
    assert (demo_files("demo_control"), demo_files("gutenberg")) == ([CONTROL_SENTENCES], [])
    changed = tmp_path / MINIMAL_PAIRS.name
    changed.write_text("good,bad\n")
    parts = ([], [MINIMAL_PAIRS], [changed])
    assert len({code_digest("scan_corpus", *given) for given in parts}) == 3


# The package's rooms from the ground up; a room imports those of lower lines, and none of its own.
LAYERS = (
    "errors demo",
    "io",
    "stats models",
    "stimuli",
    "catalog scoring",
    "reading overlap unigrams context",
    "ngrams training pairs",
    "workflow",
    "scorecard figures",
    "papers",
    "site",
    "api",
)
# Rooms of numbers that many jobs wait for: they load no models.
WITHOUT_MODELS = ("report_morcela", "report_reading", "fit_linking_functions")


def test_rooms_import_lower_ones_alone():
    """Imports for type checkers do not count, nor names that the workflow's room reads."""
    level = {room: number for number, rooms in enumerate(LAYERS) for room in rooms.split()}
    upward = []
    for path in sorted(SCRIPTS.glob("lingprob/*/**/*.py")):
        here = path.relative_to(SCRIPTS).with_suffix("").parts[1]
        for name in read_source(path).imports:
            there = name.split(".")[1] if name.startswith("lingprob.") else here
            if there != here and level.get(there, -1) >= level.get(here, len(LAYERS)):
                upward.append(f"{path.relative_to(SCRIPTS)} imports {name}")
    assert not upward


@pytest.mark.parametrize("script", WITHOUT_MODELS)
def test_figures_and_fits_load_no_models(script):
    rooms = {module.split(".")[1] for module in imported_modules(script)}
    assert not rooms & {"models", "scoring", "training"}


@pytest.mark.parametrize(("module", "rules"), [
    ("stats.linking", "correlate_participant_groups fit_linking_functions"),
    ("stats.linear_mixed.likelihood",
     "fit_reading_times report_reading report_training reproduce_published_fits"),
    ("figures.style", "report_context report_morcela report_overlap report_reading "
     "report_string_probability report_training"),
    ("scoring.forward", "compute_word_surprisal fine_tune_model judge_contexts "
     "measure_perplexity regress_on_frequency score_stimuli sum_frequency_moments"),
    ("training.updates", "fine_tune_model measure_perplexity train_model"),
])  # fmt: skip
def test_edits_rerun_the_rules_that_import_them(module, rules):
    users = {
        s.stem for s in SCRIPTS.glob("*.py") if f"lingprob.{module}" in imported_modules(s.stem)
    }
    assert users == {*rules.split()}


def test_pairs_parsers_are_not_the_code_of_sentences():
    hll = imported_modules("build_stimuli", STIMULI["hll"])
    assert "lingprob.stimuli.sentences" in hll
    assert "lingprob.stimuli.pairs" not in hll
    assert "lingprob.stimuli.sentences" not in imported_modules("build_stimuli")
