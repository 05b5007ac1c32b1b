"""A digest of the code that a rule's numbers come from.

Snakemake detects edits of a script, but not of the modules that it imports, and it also reacts to
edits of comments. Each rule therefore has a param `code`: a digest of its script and all imported
modules. The digest leaves out comments, docstrings and annotations. It includes the schemas of the
tables that the script writes.
"""

import ast
import atexit
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from lingprob.errors import LingprobError
from lingprob.io.files import identity_of, sha256_of, write_text
from lingprob.io.schemas import SCHEMAS

SCRIPTS = Path(__file__).resolve().parents[2]
PACKAGES = ("lingprob", "studies")
# Modules that do not count, so that an edit of them repeats no work. Some pass bytes and numbers on
# without a change (checksums guard downloads, and schemas count separately). Others have the places
# of parsers and files, which are arguments of `code_digest`.
CARRIERS = tuple(f"lingprob.{name}." for name in (
    "demo", "errors", "io.download", "io.files", "io.hub", "io.parsers", "io.progress",
    "io.schemas", "io.tables", "models.downloads", "training.preshuffled", "workflow",
))  # fmt: skip
# Reading a source file takes milliseconds and a run reads hundreds, so results are kept by content.
KEPT = Path(".snakemake/lingprob_sources.json")
READER = Path(__file__).read_bytes() + repr(sys.version_info[:2]).encode()
_used: dict[str, Sequence[Any]] = {}


class Source(NamedTuple):
    """The digest of a source file, the names that it imports, and names that tables may have."""

    digest: str
    imports: list[str]
    names: list[str]


@cache
def code_digest(rule: str, *parts: str | Path, scripts: Path = SCRIPTS) -> str:
    """Return a digest (16 hexadecimal digits) of all code that a rule's results depend on.

    Args:
        rule: name of the rule and of its script. A study's script has a dotted name
            (`studies.my_study.fit_models`).
        parts: code that the script does not import by name: modules (such as
            `lingprob.reading.times`), functions (`lingprob.reading.self_paced:brown_spr_means`)
            and files of the package.
        scripts: folder of the scripts and of the package.

    Raises LingprobError for a part that does not exist.
    """
    script = read_source(source_files(scripts)[rule])
    named = [(part.name, sha256_of(part)) if isinstance(part, Path) else part for part in parts]
    modules = imported_modules(rule, *parts, scripts=scripts)
    columns = {
        table: [(field.name, str(field.type), field.nullable) for field in SCHEMAS[table]]
        for table in named_tables(script)
    }
    return identity_of(rule, script.digest, named, _digests(modules, scripts), columns)


@cache
def modules_digest(*modules: str) -> str:
    """Return a digest of modules and of all modules that they import, except CARRIERS."""
    return identity_of(_digests(_with_imports(modules, SCRIPTS), SCRIPTS))


def imported_modules(rule: str, *parts: str | Path, scripts: Path = SCRIPTS) -> list[str]:
    """Return the dotted names of the modules in a rule's digest. Arguments as for `code_digest`."""
    named = [part.partition(":")[0] for part in parts if isinstance(part, str)]
    for module in named:
        if module not in source_files(scripts):
            raise LingprobError(f"rule {rule}: there is no module {module!r}. Correct its name.")
    return _with_imports([*_imports(rule, scripts), *named], scripts)


def named_tables(script: Source) -> list[str]:
    """Return the names of tables that occur in a script, in full or as a prefix (`context_`)."""
    whole = {name for name in script.names if not name.endswith("_")}
    begun = tuple({*script.names} - whole)
    return sorted(name for name in SCHEMAS if name in whole or name.startswith(begun))


def _digests(modules: Iterable[str], scripts: Path) -> dict[str, str]:
    return {module: read_source(source_files(scripts)[module]).digest for module in modules}


def _with_imports(modules: Iterable[str], scripts: Path) -> list[str]:
    """Return modules and all that they import, except CARRIERS, in alphabetical order."""
    found: set[str] = set()
    pending = [*modules]
    for module in pending:  # grows as modules are found
        if module not in found and not f"{module}.".startswith(CARRIERS):
            found.add(module)
            pending += _imports(module, scripts)
    return sorted(found)


@cache
def _imports(module: str, scripts: Path) -> tuple[str, ...]:
    """Return the modules of this project that a source file imports, and the packages around them.

    Python runs the `__init__` of these packages first. That of `lingprob` itself is left out,
    because it only has names for users.
    """
    known = source_files(scripts)
    parts = [name.split(".") for name in read_source(known[module]).imports]
    inside = [
        ".".join(part[:end]) for part in parts if part[0] in PACKAGES
        for end in range(2, len(part) + 1)
    ]  # fmt: skip
    return tuple(name for name in dict.fromkeys(inside) if name in known)


@cache
def source_files(scripts: Path) -> dict[str, Path]:
    """Return the paths of the scripts and of the modules of package and studies, by dotted name."""
    found = {}
    for root, pattern in ((scripts, "**/*.py"), (scripts.parent, "studies/**/*.py")):
        for path in root.glob(pattern):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def read_source(path: Path) -> Source:
    """Return the relevant content of a source file, from the kept results if it was read before."""
    content = path.read_bytes()
    key = hashlib.sha256(READER + content).hexdigest()
    if not (known := _kept().get(key)):
        known = _parsed(content, path)
        atexit.unregister(_keep)
        atexit.register(_keep)
    _used[key] = known
    return Source(*known)


@cache
def _kept() -> dict[str, Sequence[Any]]:
    """Return the results of earlier processes in this working directory, by digest of the file."""
    with suppress(OSError, ValueError):
        return dict(json.loads(KEPT.read_text(encoding="utf-8")))
    return {}


def _keep() -> None:
    """Write the results that this process used to the folder .snakemake, if it exists."""
    if KEPT.parent.is_dir():
        with suppress(OSError, LingprobError):
            write_text(json.dumps(_used), KEPT)


def _parsed(content: bytes, path: Path) -> Source:
    tree = _Strip().visit(ast.parse(content, str(path)))
    imports: list[str] = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            within = "." * node.level + (node.module or "")  # digests cover only absolute imports
            imports += [f"{within}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and re.fullmatch("[a-z][a-z_]*", str(node.value)):
            names.add(str(node.value))
    digest = hashlib.sha256(ast.unparse(tree).encode()).hexdigest()
    return Source(digest, imports, sorted(names))


class _Strip(ast.NodeTransformer):
    """Remove docstrings, annotations and code for type checkers from a syntax tree.

    The annotations of a class's fields stay, because dataclasses read them.
    """

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.orelse if getattr(node.test, "id", "") == "TYPE_CHECKING" else node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for field in node.body:
            if isinstance(field, ast.AnnAssign):
                field.simple = 2  # a mark for visit_AnnAssign
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.simple == 2:
            return node
        return ast.Assign([node.target], node.value, lineno=node.lineno) if node.value else None
