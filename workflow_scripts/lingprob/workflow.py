"""What an entry script needs around its one call: a log, clear errors, provenance."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lingprob.errors import LingprobError

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
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # nothing that a job calls may ask, and be answered by, anyone
    try:
        yield
    except LingprobError as error:
        logger.exception("rule %s failed", snakemake.rule)
        print(f"\nlingprob, rule {snakemake.rule}: {error}\n", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    except Exception:
        logger.exception("rule %s failed", snakemake.rule)
        raise
