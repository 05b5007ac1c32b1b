"""The settings of a run, the work that follows from them, and the wrapper of each job.

The Snakefile and the rules import this package, so it loads neither pandas nor torch.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lingprob.errors import LingprobError

logger = logging.getLogger("lingprob")


def work_settings(snakemake: Any, *keys: str, section: str = "scoring") -> dict[str, Any]:
    """Return settings that change the speed or memory of a job, but not its results, by key.

    Scripts read them from Snakemake's `config` (filled in rules/common.smk) and not from params,
    because a changed param would repeat the job. For a job with several GPUs, `device_map` is
    `auto`, which spreads the model over all of them.
    """
    found = {key: snakemake.config[section][key] for key in keys}
    if "device_map" in found and snakemake.resources.gpu > 1:
        found["device_map"] = "auto"
    return found


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run the body of a rule's script, and write messages and errors to the rule's log file.

    After a LingprobError, its message is the last line of the log. Other errors end the log with a
    traceback. In both cases the process ends with status 1 and prints nothing, because Snakemake
    shows the log. Progress bars are switched off, because several jobs share a terminal.
    """
    handler = logging.FileHandler(snakemake.log[0], mode="w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    # On a full disk nothing can be logged, so messages go to the terminal.
    handler.handleError = lambda record: print(record.getMessage(), file=sys.stderr)  # type: ignore[method-assign]
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it logs each part of each font
    logging.captureWarnings(True)
    rule, memory = snakemake.rule, getattr(snakemake.resources, "mem_mb", "unknown")
    logger.info(
        "rule %s asked for %s MB of memory. If this log ends without an error, the job was killed, "
        "most likely because it used more memory. Ask for more (--set-resources %s:mem_mb=N), or "
        "lower scoring.tokens_per_batch.",
        rule, memory, rule,
    )  # fmt: skip
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # programs that a job starts cannot wait for an answer
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
