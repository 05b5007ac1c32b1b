"""Run docs/tutorial.ipynb from its first cell to its last and write the outputs into it.

    python docs/run_tutorial.py

Unlike Jupyter, this needs no kernel, and it leaves out all that changes between runs. Any program
for notebooks can edit the notebook.
"""

import ast
from pathlib import Path
from typing import Any

import nbformat

NOTEBOOK = Path(__file__).resolve().parent / "tutorial.ipynb"


def run(notebook: nbformat.NotebookNode) -> list[str | None]:
    """Return the output of each code cell: its last expression as text, or None for a statement.

    A data frame is shown whole, without its index. An error in a cell is an error here.
    """
    names: dict[str, Any] = {}
    shown: list[str | None] = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        body = ast.parse(cell.source).body
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), str(NOTEBOOK), "exec"), names)
        value = last and eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)
        shown.append(None if value is None else as_text(value))
    return shown


def as_text(value: Any) -> str:
    """Return a value as a cell shows it."""
    return value.to_string(index=False) if hasattr(value, "to_string") else repr(value)


def main() -> None:
    """Run the notebook and write it with the outputs of its cells."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, (cell, text) in enumerate(zip(cells, run(notebook), strict=True), 1):
        cell.execution_count = number
        data = {} if text is None else {"text/plain": text}
        cell.outputs = [
            nbformat.v4.new_output("execute_result", data, execution_count=number)
            for _ in data
        ]  # fmt: skip
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
