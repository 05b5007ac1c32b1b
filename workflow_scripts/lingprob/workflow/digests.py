"""Which code a rule's numbers come from, and a digest of what that code does.

Snakemake sees a script's own edits and not those of its imports; it also sees edits that change
nothing. So each rule has a parameter `code`, a digest of what its modules do: the syntax tree of
the script and of all that it imports, without comments, docstrings and type annotations, and the
schemas of the tables that the script writes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.workflow.source_files import read_source

SCRIPTS = Path(__file__).resolve().parents[2]
PACKAGES = ("lingprob", "studies")
# Modules that carry bytes and numbers without changing them (downloads are checked by checksum,
# schemas count with the rules that write their tables), and those that only say where a parser or a
# file is, which `code_digest` is told: an edit there repeats no work.
CARRIERS = tuple(
    f"lingprob.{name}"
    for name in (
        "demo",
        "errors",
        "io.download",
        "io.files",
        "io.hub",
        "io.parsers",
        "io.progress",
        "io.schemas",
        "io.tables",
        "models.downloads",
        "training.preshuffled",
        "workflow",
    )
)


@cache
def code_digest(rule: str, *parts: str | Path, scripts: Path = SCRIPTS) -> str:
    """Return a digest of all that decides what a rule's script does with its input and params.

    Args:
        rule: name of the rule and of its script; of a study's script its dotted name
            (`studies.my_study.fit_models`).
        parts: what the script finds by a name that only the settings know: modules (such as
            `lingprob.reading.times`, or a function, `lingprob.reading.self_paced:brown_spr_means`)
            and files of the package (its demo data).
        scripts: folder of the scripts and of the package.

    Returns:
        16 hexadecimal digits. Modules that cannot change a result (CARRIERS) do not count.

    Raises LingprobError for a part or a table that does not exist, and for a relative import.
    """
    script = _source(rule, scripts)
    digest = _Digest()
    add = digest.add
    add("script", rule, read_source(script).behaviour.encode())
    for part in parts:
        if isinstance(part, Path):
            add("file", part.name, part.read_bytes())
        else:
            add("part", part, b"")
    for module in sorted(import_chains(rule, *parts, scripts=scripts)):
        add("module", module, read_source(_source(module, scripts)).behaviour.encode())
    for table in written_tables(script):
        fields = [(field.name, str(field.type), field.nullable) for field in SCHEMAS[table]]
        add("table", table, str(fields).encode())
    return digest.text()


@cache
def modules_digest(*modules: str, scripts: Path = SCRIPTS) -> str:
    """Return a digest of what some modules and all that they import do, as `code_digest` does."""
    digest = _Digest()
    for module in sorted(_chains("", modules, scripts)):
        digest.add("module", module, read_source(_source(module, scripts)).behaviour.encode())
    return digest.text()


class _Digest:
    """A digest of named contents."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def add(self, kind: str, name: str, content: bytes) -> None:
        self.sha256.update(f"{kind} {name} {len(content)}\n".encode() + content)

    def text(self) -> str:
        return self.sha256.hexdigest()[:16]


def import_chains(
    rule: str, *parts: str | Path, scripts: Path = SCRIPTS
) -> dict[str, tuple[str, ...]]:
    """Return the modules that count in a rule's digest, each with the imports that lead to it.

    Arguments as for `code_digest`. Each is a shortest chain, from the rule's name to the module.
    """
    modules = [part.partition(":")[0] for part in parts if isinstance(part, str)]
    for module in modules:
        if not _source(module, scripts).is_file():
            raise LingprobError(f"rule {rule}: its code has no module {module!r}. Mend the name.")
    direct = [*imported_modules(_source(rule, scripts), scripts), *modules]
    return _chains(rule, direct, scripts)


def _chains(origin: str, modules: Iterable[str], scripts: Path) -> dict[str, tuple[str, ...]]:
    """Return some modules and all that they import, each with the imports that lead to it."""
    chains: dict[str, tuple[str, ...]] = {}
    pending: list[tuple[str, ...]] = [(origin, name) for name in modules]
    for *before, name in pending:  # grows as modules are found: breadth first
        if name not in chains and not is_carrier(name):
            chains[name] = (*before, name)
            found = imported_modules(_source(name, scripts), scripts)
            pending += [(*before, name, other) for other in found]
    return chains


@cache
def imported_modules(path: Path, scripts: Path = SCRIPTS) -> tuple[str, ...]:
    """Return the package's modules that a source file imports, also inside functions.

    The packages that a module is in come with it, because Python runs their `__init__` first; but
    not the whole package's, which is for users. What only type checkers import does not count.
    """
    found: dict[str, None] = {}
    for name in read_source(path).imports:
        parts = name.split(".")
        if parts[0] in PACKAGES:
            inside = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
            found |= dict.fromkeys(name for name in inside if _source(name, scripts).is_file())
    return tuple(found)


@cache
def is_carrier(module: str) -> bool:
    """Say whether a module is one of the CARRIERS, or in a package that is."""
    return any(f"{module}.".startswith(f"{carrier}.") for carrier in CARRIERS)


def written_tables(script: Path) -> list[str]:
    """Return the names of the tables that a script writes, by its calls of WRITERS.

    A name with a part that is computed, such as f"context_{name}", means all that fit it.
    Raises LingprobError where a name is nothing but computed, or no schema has it.
    """
    found: set[str] = set()
    for where, pattern in read_source(script).writes:
        fitting = {name for name in SCHEMAS if re.fullmatch(pattern, name)}
        if pattern == ".*" or not fitting:
            raise LingprobError(
                f"{script}, {where}: which table is written? Give the call the name of a schema, "
                "in quotes."
            )
        found |= fitting
    return sorted(found)


@cache
def _source(module: str, scripts: Path) -> Path:
    """Return the source file of a module or script (it need not exist)."""
    root = scripts.parent if module.startswith("studies.") else scripts
    stem = root.joinpath(*module.split("."))
    package = stem / "__init__.py"
    return package if package.is_file() else stem.with_suffix(".py")
