"""What a source file does, which modules it imports and which tables it writes.

To know it takes milliseconds a file, and a run asks of hundreds: the answer is kept beside the
bytecode, in `__pycache__`, for the file's content.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from lingprob.errors import LingprobError
from lingprob.io.files import write_text

# Functions that write tables, and which argument of each names the table.
WRITERS = {"write_table": 1, "table_writer": 0}
# What a dataclass reads of its fields' annotations.
READ_ANNOTATIONS = re.compile("ClassVar|InitVar|KW_ONLY")


@dataclass(frozen=True)
class SourceFile:
    """What is known of a source file.

    `behaviour` is its text without what changes nothing that it does: comments, layout, docstrings
    and type annotations are left out; of a class's fields the names stay, and annotations that
    dataclasses read. `imports` are dotted names, also those of functions; what only type checkers
    import does not count. `writes` are regular expressions for names of tables, with their line.
    """

    behaviour: str
    imports: list[str]
    writes: list[list[str]]


@cache
def read_source(path: Path) -> SourceFile:
    """Return what is known of a source file. Raises LingprobError for a relative import."""
    content = path.read_bytes()
    key = hashlib.sha256(_reader() + content).hexdigest()
    kept = path.parent / "__pycache__" / f"{path.stem}.behaviour.json"
    try:
        known = json.loads(kept.read_text(encoding="utf-8"))
        if known.pop("key") == key:
            return SourceFile(**known)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # there is none, or of another version
    source = _parsed(path, content)
    if not sys.dont_write_bytecode:
        # Where the folder may not be written to, it takes its time again.
        with suppress(OSError, LingprobError):
            write_text(json.dumps({"key": key, **asdict(source)}), kept)
    return source


@cache
def _reader() -> bytes:
    """Return what tells this reading of a source from another one's."""
    return Path(__file__).read_bytes() + repr(sys.version_info[:2]).encode()


def _parsed(path: Path, content: bytes) -> SourceFile:
    tree = _Strip().visit(ast.parse(content, str(path)))
    imports: list[str] = []
    writes: list[list[str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise LingprobError(
                    f"{path}, line {node.lineno}: a relative import. Write the module's whole "
                    "name, so that the digest of the code sees it."
                )
            imports += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in WRITERS:
            place = WRITERS[getattr(node.func, "id", "")]
            pattern = _pattern(node.args[place]) if len(node.args) > place else ".*"
            writes.append([f"line {node.lineno}", pattern])
    return SourceFile(ast.unparse(tree), imports, writes)


def _pattern(node: ast.expr) -> str:
    """Return a regular expression for the strings that an expression can have as its value."""
    if isinstance(node, ast.Constant):
        return re.escape(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(_pattern(part) for part in node.values)
    return ".*"


class _Strip(ast.NodeTransformer):
    """Takes docstrings, annotations and what only type checkers run out of a syntax tree."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if getattr(node.test, "id", "") == "TYPE_CHECKING":
            return node.orelse
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for field in node.body:
            if isinstance(field, ast.AnnAssign):
                read = READ_ANNOTATIONS.search(ast.unparse(field.annotation))
                field.annotation = ast.Name(read[0] if read else "field")
                field.simple = 2  # a mark: generic_visit leaves this one in
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.simple == 2:
            return node
        return ast.Assign([node.target], node.value, lineno=node.lineno) if node.value else None
