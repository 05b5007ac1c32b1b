"""The script of a rule, run in this process as Snakemake runs it."""

import runpy
from types import SimpleNamespace
from typing import Any

from lingprob.workflow.digests import SCRIPTS

PARTS = ("input", "output", "params", "wildcards", "resources")


class Named(dict):
    """Named values that are attributes too, or by place, as Snakemake's are."""

    __getattr__ = dict.__getitem__

    def __getitem__(self, key):
        return list(self.values())[key] if isinstance(key, int) else dict.__getitem__(self, key)

    def __iter__(self):
        return iter(self.values())


def run_script(
    rule: str, config: dict[str, Any] | None = None, log: object = "log.txt", **given: Any
) -> None:
    """Run a rule's script with such `PARTS`."""
    given["resources"] = {"mem_mb": 1000, "gpu": 0, **given.get("resources", {})}
    parts = {part: Named(given.get(part, {})) for part in PARTS}
    snakemake = SimpleNamespace(rule=rule, threads=1, log=[str(log)], config=config or {}, **parts)
    runpy.run_path(str(SCRIPTS / f"{rule}.py"), init_globals={"snakemake": snakemake})
