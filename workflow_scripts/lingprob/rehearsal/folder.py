"""The folder of a rehearsal, so that no stand-in is ever taken for a download or a result."""

from __future__ import annotations

import os
from pathlib import Path

from lingprob.io.files import write_text
from lingprob.rehearsal import STAMP

FOLDER = "rehearsal"
TEXT = "Stand-ins and what was computed from them (rehearse: true); nothing here is a result.\n"


def in_rehearsal_folder() -> bool:
    """Tell whether what is computed here is a rehearsal's."""
    return Path(STAMP).is_file()


def leave_rehearsal_folder() -> None:
    """Go where the user started Snakemake: jobs on other nodes start in a rehearsal's folder."""
    if in_rehearsal_folder():
        os.chdir("..")


def enter_rehearsal_folder() -> None:
    """Go to the rehearsal's folder in the present one, and mark it; a mirror's path stays valid."""
    mirror = os.environ.get("LINGPROB_MIRROR", "")
    if mirror and "://" not in mirror:
        os.environ["LINGPROB_MIRROR"] = os.path.abspath(Path(mirror).expanduser())
    if not Path(FOLDER, STAMP).is_file():
        write_text(TEXT, Path(FOLDER, STAMP))
    os.chdir(FOLDER)
