"""The start of a run: its settings, its catalog and the missing data that are left out of it."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.io.files import dataset_paths
from lingprob.workflow.checks import ROOT
from lingprob.workflow.configuration import export_to_jobs, read_settings, refuse_duplicate_keys
from lingprob.workflow.missing import VARIABLE, LeftOut, leave_out
from lingprob.workflow.sources import Run


@dataclass(frozen=True)
class StartedRun(Run):
    """A run with the data sets and models that are left out of it.

    `said` has the names of those that were printed with the way to get them.
    """

    left_out: list[LeftOut]
    said: set[str]

    def left_out_of(self, paper: str) -> str:
        """Return a sentence for a paper's figures and scorecard on its left-out data, or "".

        The first time that such data are named, the way to get them is also printed.
        """
        section = "overlap" if paper == "training" else paper  # whose lists a training reads
        items = [
            item
            for item in self.left_out
            if any(key.startswith(f"{section}.") for key in item.named_in)
        ]
        for item in items:
            if item.name not in self.said:
                print(item, file=sys.stderr)
                self.said.add(item.name)
        names = ", ".join(item.name for item in items)
        return f"Left out because it is not there: {names}." if names else ""


def read_run(config: dict[str, Any]) -> StartedRun:
    """Return the checked settings, the catalog and the left-out data of a configuration.

    It also sets the environment variables that jobs inherit. If the configuration has a mistake or
    a file of the user is missing, the process ends with one message.
    """
    try:
        if " " in sys.executable:
            raise LingprobError(
                f"Snakemake cannot start jobs with the Python at {sys.executable!r}, because its "
                "path has a space. Create the virtual environment in a folder without spaces."
            )
        refuse_duplicate_keys([ROOT / "config.yaml", *named_configfiles(sys.argv[1:])])
        settings, catalog = read_settings(config)
        check_own_paths(settings, catalog)
        export_to_jobs(settings)
        settings, left_out = leave_out(settings, catalog)
    except LingprobError as error:
        raise SystemExit(f"Error: {error}") from None
    end_jobs_on_hangup()
    said = os.environ.get(VARIABLE, "").split()  # by the process that started this job
    os.environ.setdefault(VARIABLE, " ".join(item.name for item in left_out))
    return StartedRun(settings, catalog, left_out, {*said})


def end_jobs_on_hangup() -> None:
    """Make the closing of the terminal (SIGHUP) end the jobs and then Snakemake, as Ctrl-C does.

    By default Snakemake alone ends, and its jobs go on. Under `nohup`, SIGHUP is still ignored.
    """
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _end_jobs)


def _end_jobs(number: int, frame: FrameType | None) -> None:
    import psutil  # type: ignore[import-untyped]  # comes with Snakemake

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    raise KeyboardInterrupt


def named_configfiles(arguments: list[str]) -> list[Path]:
    """Return the existing files that follow `--configfile` among the arguments of a command.

    A relative path begins in the folder in which the command was typed (`PWD`), or in the working
    directory, which `--directory` may have changed.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", action="extend", default=[])
    named = parser.parse_known_args(arguments)[0].configfile
    places = dict.fromkeys([os.getcwd(), os.environ.get("PWD", "")])
    paths = dict.fromkeys(Path(place, name) for name in named for place in places)
    return [path for path in paths if path.is_file()]


def check_own_paths(settings: Mapping[str, Any], catalog: Catalog) -> None:
    """Raise LingprobError for the first file or folder of the user's entries that is missing.

    The folder of a model is no longer needed once the model is prepared in resources/.
    """
    for option, path, is_there in _own_paths(settings, catalog):
        if not is_there:
            raise LingprobError(
                f"{option}: there is no {path!r}. Correct the path, which begins in {Path.cwd()}."
            )


def _own_paths(settings: Mapping[str, Any], catalog: Catalog) -> Iterator[tuple[str, str, bool]]:
    """Yield the option, the path, and whether the path exists, for each path in the settings."""
    for name in settings["datasets"]:
        entry = catalog.dataset(name)
        if "path" in entry:
            found = dataset_paths(name, entry)  # refuses an empty folder, and two of one name
            yield f"datasets.{name}.path", entry["path"], all(path.is_file() for path in found)
    for section in ("models", "embeddings"):
        for name in settings[section]:
            entry = getattr(catalog, section)[name]
            prepared = Path("resources", section, name, "manifest.json").exists()
            if "path" in entry and "dataset" not in entry:
                path = Path(entry["path"])
                there = path.is_dir() if entry["source"] == "local" else path.is_file()
                yield f"{section}.{name}.path", entry["path"], there or prepared
            for texts, path in entry.get("paths", {}).items():
                yield f"{section}.{name}.paths.{texts}", path, Path(path).is_file()
    ngrams = settings["overlap"]["ngrams"]
    if ngrams is not None and ngrams not in catalog.datasets:
        yield "overlap.ngrams", ngrams, Path(ngrams).is_file()
