"""What a run starts with: its settings, its catalog and what is left out of it.

The Snakefile reads this module, so it imports nothing that only a job needs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.io.files import dataset_paths
from lingprob.workflow.configuration import (
    export_mirror,
    export_package,
    read_settings,
    refuse_duplicate_keys,
)
from lingprob.workflow.missing import VARIABLE, LeftOut, hand_on, leave_out, left_out_of
from lingprob.workflow.sources import Run

PREPARED = "resources/{section}/{name}/manifest.json"


@dataclass(frozen=True)
class StartedRun(Run):
    """A run, what is left out of it, and the names of what the user was already told of."""

    left_out: list[LeftOut]
    said: set[str]

    def left_out_of(self, paper: str) -> str:
        """Return what is left out of a paper, and print it if the user does not know."""
        return left_out_of(paper, self.left_out, self.said)


def read_run(config: dict[str, Any]) -> StartedRun:
    """Read and check the configuration of a run, and hand the jobs what they need of it.

    A mistake in the configuration, or a file of the user's that is not there, ends the process with
    one message.
    """
    try:
        return _read_run(config)
    except LingprobError as error:
        raise SystemExit(f"Error: {error}") from None


def _read_run(config: dict[str, Any]) -> StartedRun:
    refuse_duplicate_keys(named_configfiles(sys.argv[1:]))
    settings, catalog = read_settings(config)
    check_own_paths(settings, catalog)
    export_mirror(settings)
    export_package()
    settings, left_out = leave_out(settings, catalog)
    told = {item.name for item in left_out} if VARIABLE in os.environ else set()
    hand_on(left_out)
    return StartedRun(settings, catalog, left_out, told)


def named_configfiles(arguments: list[str]) -> list[Path]:
    """Return the configuration files that a command line names.

    Their paths begin where the command was given, which `--directory` leaves.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", action="extend", default=[])
    named = parser.parse_known_args(arguments)[0].configfile
    places = dict.fromkeys([os.getcwd(), os.environ.get("PWD", "")])
    paths = dict.fromkeys(Path(place, name) for name in named for place in places)
    return [path for path in paths if path.is_file()]


def check_own_paths(settings: Mapping[str, Any], catalog: Catalog) -> None:
    """Raise LingprobError for a file or folder of the user's that is not there.

    The folder of a model may be gone once the model is prepared.
    """
    for option, path, is_there in _own_paths(settings, catalog):
        if not is_there:
            raise LingprobError(
                f"{option}: there is no {path!r}. Correct the path, which begins in {Path.cwd()}."
            )


def _own_paths(settings: Mapping[str, Any], catalog: Catalog) -> Iterator[tuple[str, str, bool]]:
    """Yield the option, the path and whether something is there, of each path of the user's."""
    for name in settings["datasets"]:
        entry = catalog.dataset(name)
        if "path" in entry:
            found = dataset_paths(name, entry)  # refuses an empty folder, and two of one name
            yield f"datasets.{name}.path", entry["path"], all(path.is_file() for path in found)
    for section in ("models", "embeddings"):
        for name in settings[section]:
            entry = getattr(catalog, section)[name]
            prepared = Path(PREPARED.format(section=section, name=name)).exists()
            if "path" in entry and "dataset" not in entry:
                path = Path(entry["path"])
                there = path.is_dir() if entry["source"] == "local" else path.is_file()
                yield f"{section}.{name}.path", entry["path"], there or prepared
            for texts, path in entry.get("paths", {}).items():
                yield f"{section}.{name}.paths.{texts}", path, Path(path).is_file()
    ngrams = settings["overlap"]["ngrams"]
    if ngrams is not None and ngrams not in catalog.datasets:
        yield "overlap.ngrams", ngrams, Path(ngrams).is_file()
