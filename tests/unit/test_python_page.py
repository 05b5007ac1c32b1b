"""README and docs/python.md: their calls and commands run, and return the tables that they show."""

import ast
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from checkout import ROOT
from lingprob.api.cli import COMMANDS, main
from lingprob.catalog import Catalog
from lingprob.models.folders import write_manifest
from lingprob.models.prepare import origin_of
from models_for_tests import save_tiny_model

README, PAGE = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/python.md")
)
COMMAND_LINES = re.search(r"```bash\n(.*?)```", PAGE, re.S)[1].splitlines()


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with the files that the page names, and an empty cache."""
    monkeypatch.setenv("LINGPROB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"sentence": ["The cat sat."], "mine": [1]}).to_csv("sentences.csv", index=False)
    pairs = {"good": ["The cats sleep."], "bad": ["The cats sleeps."]}
    pd.DataFrame(pairs).to_csv("pairs.csv", index=False)
    random = np.random.default_rng(1)
    ratings = pd.DataFrame(random.normal(size=(40, 3)), columns=["logprob", "rating", "other"])
    ratings["logprob"] -= 10
    ratings.assign(n_tokens=7, article=np.arange(40) // 4).to_csv("ratings.csv", index=False)
    Path("text.txt").write_text("The old man the boat.\n")
    Path("results.csv").write_text("participant,sentence,rating\na,The cat sat.,7\n")
    Path("corpus.jsonl").write_text(json.dumps({"text": "Once, the old man sat."}) + "\n")
    return tmp_path


def shown(table: pd.DataFrame) -> list[list[str]]:
    """A data frame as the page shows it: two decimals, a row a list."""
    cells = [[f"{cell:.2f}" if isinstance(cell, float) else str(cell).strip() for cell in row]
             for row in table.itertuples(index=False)]  # fmt: skip
    return [list(table.columns), *cells]


@pytest.mark.parametrize(("page", "shown_tables"), [(README, 3), (PAGE, 4)])
def test_calls_return_what_the_page_shows(place, smollm2, page, shown_tables):
    name, folder = "smollm2-135m", place / "resources/models/smollm2-135m"
    folder.mkdir(parents=True)
    origin = origin_of(Catalog().model(name))
    write_manifest(name, "package", origin, smollm2, folder / "manifest.json")
    (place / "path/to").mkdir(parents=True)
    (place / "path/to/model").symlink_to(smollm2)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```\n+((?:\|[^\n]*\n)+)", page, re.S)
    assert len(blocks) == shown_tables
    for code, printed in blocks:
        *before, last = ast.parse(code).body
        exec(compile(ast.Module(before, []), "page", "exec"), names)
        result = eval(compile(ast.Expression(last.value), "page", "eval"), names)
        header, _, *rows = printed.splitlines()
        expected = [[cell.strip() for cell in row.strip("|").split("|")] for row in (header, *rows)]
        assert shown(result) == expected, code


def test_commands_run_and_write_their_files(place, monkeypatch):
    """With a tiny model in the place of the page's."""
    save_tiny_model("gpt_neox", place / "tiny")
    monkeypatch.setattr("lingprob.api.pairs.measure_distances", lambda *_: None)
    for line in COMMAND_LINES:
        program, *arguments = shlex.split(line.replace("smollm2-135m", "./tiny"))
        assert program == "lingprob"
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0, line
        assert len(pd.read_csv(arguments[-1])) > 0, line
    assert {line.split()[1] for line in COMMAND_LINES} == set(COMMANDS)
