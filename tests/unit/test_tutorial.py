"""docs/tutorial.ipynb runs from its first cell to its last, and shows the stored outputs."""

import re
import runpy

import nbformat
import pytest

from checkout import ROOT
from lingprob.catalog import Catalog
from lingprob.models.folders import write_manifest
from lingprob.models.prepare import origin_of

TUTORIAL = runpy.run_path(str(ROOT / "docs" / "run_tutorial.py"))
NOTEBOOK = nbformat.read(ROOT / "docs" / "tutorial.ipynb", as_version=4)
CODE = [cell for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def test_cells_show_what_stands_in_the_notebook(tmp_path, monkeypatch, smollm2):
    """After a change there: `python docs/run_tutorial.py`."""
    monkeypatch.setenv("LINGPROB_CACHE", str(tmp_path))
    folder = tmp_path / "resources/models/smollm2-135m"
    folder.mkdir(parents=True)
    origin = origin_of(Catalog().model("smollm2-135m"))
    write_manifest("smollm2-135m", "package", origin, smollm2, folder / "manifest.json")
    shown = TUTORIAL["run"](NOTEBOOK)
    stored = [cell.outputs[0].data["text/plain"] if cell.outputs else None for cell in CODE]
    assert shown == stored
    assert sum(text is not None for text in stored) == 7
    # According to the last cell, MORCELA's intervals include the true values.
    *_, beta_low, beta_high, _, gamma_low, gamma_high = re.search(
        r"^ +morcela (.*)$", shown[-1], re.M
    )[1].split()
    assert float(beta_low) < 0.6 < float(beta_high)
    assert float(gamma_low) < 12 < float(gamma_high)


def test_a_cell_shows_its_last_expression_or_error():
    cells = [nbformat.v4.new_code_cell(source) for source in ("x = 2", "y = x + 1\n[x, y]")]
    assert TUTORIAL["run"](nbformat.v4.new_notebook(cells=cells)) == [None, "[2, 3]"]
    broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(ZeroDivisionError):
        TUTORIAL["run"](broken)


def test_links_of_the_notebook_lead_somewhere():
    text = "".join(cell.source for cell in NOTEBOOK.cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 4
    assert [link for link in links if not (ROOT / "docs" / link).is_file()] == []
