"""Functions that the Snakefile, the rules and the entry scripts share: settings, and jobs.

The room loads neither pandas nor torch.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lingprob.errors import LingprobError

logger = logging.getLogger("lingprob")


def work_settings(snakemake: Any, *keys: str, section: str = "scoring") -> dict[str, Any]:
    """Return settings that change how a job does its work and none of its results.

    They are not params, because a change must not repeat the work. rules/common.smk puts them into
    Snakemake's `config`. A model that has several GPUs is spread over all of them.
    """
    found = {key: snakemake.config[section][key] for key in keys}
    if "device_map" in found and snakemake.resources.gpu > 1:
        found["device_map"] = "auto"
    return found


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a rule's body: log to the rule's log file, errors included.

    A LingprobError's message is the last line of the log, after its traceback. Any other error has
    its traceback. Either way the process ends with status 1 and prints nothing, because Snakemake
    shows the log. There are no progress bars, because several jobs share a terminal.
    """
    handler = logging.FileHandler(snakemake.log[0], mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    # On a full disk nothing can be logged, and the terminal has the message.
    handler.handleError = lambda record: print(record.getMessage(), file=sys.stderr)  # type: ignore[method-assign]
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    rule, memory = snakemake.rule, getattr(snakemake.resources, "mem_mb", "unknown")
    logger.info(
        "rule %s asked for %s MB of memory. If this log ends without an error, the job was killed, "
        "most likely because it used more memory. Ask for more (--set-resources %s:mem_mb=N), or "
        "lower scoring.tokens_per_batch.",
        rule, memory, rule,
    )  # fmt: skip
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # nothing that a job calls may ask, and be answered by, anyone
    os.environ["TQDM_DISABLE"] = "1"
    try:
        yield
    except LingprobError as error:
        logger.info("rule %s stopped here", snakemake.rule, exc_info=True)
        logger.error("%s", error)
        raise SystemExit(1) from None
    except Exception:
        logger.exception("rule %s failed", snakemake.rule)
        raise SystemExit(1) from None
