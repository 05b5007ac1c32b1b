"""What the Snakefile, the rules and the entry scripts share: settings, and the job around a call.

The room loads neither pandas nor torch.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError

logger = logging.getLogger("lingprob")
REFUSED = "lingprob.refused"  # the name that a log has a LingprobError's message under


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a rule's body: log to the rule's log file, errors included.

    A LingprobError has its message alone in the last line of the log, where `refusal` finds it, and
    its traceback before; any other error has its traceback. Either way the process ends with status
    1 and prints nothing: Snakemake shows the log.
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
        logger.info("rule %s stopped here", snakemake.rule, exc_info=True)
        logging.getLogger(REFUSED).error("%s", error)
        raise SystemExit(1) from None
    except Exception:
        logger.exception("rule %s failed", snakemake.rule)
        raise SystemExit(1) from None


def refusal(log: Path) -> str | None:
    """Return the message of the LingprobError that a rule's log ends with; None where none does."""
    if not log.is_file():
        return None
    text = log.read_text(encoding="utf-8", errors="replace")
    _, mark, said = text.rpartition(f" ERROR {REFUSED}: ")
    return re.split(r"\n(?=\d{4}-\d\d-\d\d |$)", said)[0] if mark else None
