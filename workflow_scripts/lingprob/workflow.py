"""What an entry script needs around its one call: a log, clear errors, provenance."""

from __future__ import annotations

import ast
import hashlib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError

SCRIPTS = Path(__file__).resolve().parent.parent
# Modules that carry bytes and numbers without changing them (downloads are checked by checksum):
# an edit there repeats no work.
CARRIERS = {
    SCRIPTS / "lingprob" / name
    for name in (
        "download.py",
        "errors.py",
        "files.py",
        "models/embedding.py",
        "models/hub.py",
        "models/package.py",
        "progress.py",
        "report.py",
        "tables.py",
        "training/preshuffled.py",
        "workflow.py",
    )
} | set((SCRIPTS / "lingprob" / "schemas").glob("*.py"))
logger = logging.getLogger("lingprob")


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a rule's body: log to the rule's log file, and turn errors into one clear message.

    A LingprobError prints its message alone (its traceback is in the log); any other error
    keeps its traceback. Either way the process exits with status 1.
    """
    handler = logging.FileHandler(snakemake.log[0], mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    try:
        yield
    except LingprobError as error:
        logger.exception("rule %s failed", snakemake.rule)
        print(f"\nlingprob, rule {snakemake.rule}: {error}\n", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    except Exception:
        logger.exception("rule %s failed", snakemake.rule)
        raise


@cache
def code_digest(rule: str) -> str:
    """Return a digest of every package module that a rule's script imports, at any depth.

    Passed as a rule's `code` parameter: Snakemake sees a script's own edits, not its imports'.
    Modules that cannot change a result (CARRIERS) do not count.
    """
    pending = imported_modules(SCRIPTS / f"{rule}.py")
    seen: set[Path] = set()
    while pending:
        path = pending.pop()
        if path not in seen | CARRIERS:
            seen.add(path)
            pending += imported_modules(path)
    digest = hashlib.sha256()
    for path in sorted(seen):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def imported_modules(path: Path) -> list[Path]:
    """Return the package's source files that one source file imports, also inside functions."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
    found = []
    for name in names:
        stem = SCRIPTS.joinpath(*name.split("."))
        for candidate in (stem.with_suffix(".py"), stem / "__init__.py"):
            if name.startswith("lingprob") and candidate.exists():
                found.append(candidate)
    return found
