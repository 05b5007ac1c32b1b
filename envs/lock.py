"""Write the lock files from the packages of the current environment.

    pip install -e '.[test]' && python envs/lock.py

requirements.txt pins the packages of the workflow. requirements-test.txt adds those of the tests.
environment.yaml is the conda environment with the same pins. `--check` changes nothing and fails
if a file differs from the one that requirements*.txt and pyproject.toml give.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).resolve().parent
PROJECT = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]
RUN, TEST, CONDA = (
    FOLDER / name for name in ("requirements.txt", "requirements-test.txt", "environment.yaml")
)
HEADER = "# Written by envs/lock.py; change pyproject.toml and run it again.\n"
# Conditions of pyproject.toml under which a package is installed, which the lock repeats.
MARKERS = {
    canonicalize_name(requirement.name): f"; {requirement.marker}"
    for texts in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in map(Requirement, texts)
    if requirement.marker
}
CUDA = (
    "# Wheels of PyTorch for Linux in the Python package index are built for CUDA; docs/install.md "
    "says\n# how to get those for another CUDA version, or for none.\n"
)


def closure(requirements: list[str]) -> dict[str, str]:
    """Return the version of each requirement and of all that it needs, by canonical name."""
    found: dict[str, str] = {}
    pending = [(Requirement(text), "") for text in requirements]
    while pending:
        requirement, extra = pending.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        known = name in found
        package = distribution(name)
        found[name] = package.version.split("+")[0]
        for wanted in requirement.extras if known else {"", *requirement.extras}:
            pending += [(Requirement(text), wanted) for text in package.requires or []]
    return found


def pinned(path: Path) -> dict[str, str]:
    """Return the pins of a lock file by canonical name."""
    lines = [line for line in path.read_text().splitlines() if "==" in line]
    return dict(line.partition(";")[0].split("==") for line in lines)


def as_lines(pins: dict[str, str]) -> str:
    """Return pins as lines of a requirements file."""
    return "".join(
        f"{name}=={version}{MARKERS.get(name, '')}\n" for name, version in sorted(pins.items())
    )


def conda_environment(pins: dict[str, str]) -> str:
    """Return a conda environment with these pins, all from pip."""
    lines = "".join(f"      - {name}=={version}\n" for name, version in sorted(pins.items()))
    return (
        HEADER + "name: lingprob\nchannels:\n  - conda-forge\n  - nodefaults\ndependencies:\n"
        f"  - python={PROJECT['requires-python'].removeprefix('>=')}\n  - pip\n  - pip:\n" + lines
    )


def drift() -> list[str]:
    """Return the differences between the lock files, and between them and pyproject.toml."""
    found = []
    if CONDA.read_text() != conda_environment(pinned(RUN)):
        found.append("environment.yaml does not have the pins of requirements.txt")
    test = pinned(TEST) | pinned(RUN)
    for pins, texts in (
        (pinned(RUN), PROJECT["dependencies"]),
        (test, PROJECT["optional-dependencies"]["test"]),
    ):
        for requirement in map(Requirement, texts):
            version = pins.get(canonicalize_name(requirement.name))
            if version is None or version not in requirement.specifier:
                found.append(f"{requirement} of pyproject.toml is locked to {version}")
    return found


def main() -> None:
    """Write the lock files, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, report drift")
    if parser.parse_args().check:
        found = drift()
        sys.exit("\n".join(found) if found else 0)
    run = closure(PROJECT["dependencies"])
    test = closure(PROJECT["optional-dependencies"]["test"])
    RUN.write_text(HEADER + CUDA + as_lines(run))
    only_test = {name: version for name, version in test.items() if name not in run}
    TEST.write_text(HEADER + "-r requirements.txt\n" + as_lines(only_test))
    CONDA.write_text(conda_environment(run))


if __name__ == "__main__":
    main()
