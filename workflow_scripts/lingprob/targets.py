"""What is answered to a target that no rule makes, and to a path of the user's with no file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from snakemake.exceptions import MissingInputException, MissingRuleException
from snakemake.io import strip_wildcard_constraints

from lingprob.errors import nearest

RESULTS = "results/"
# Rules that only answer a mistyped name make nothing.
ANSWERING = "name_unknown_"
SHOWN = 3


def unmade(
    target: str, outputs: Iterable[str], is_made: Callable[[str], bool], names: Iterable[str]
) -> str:
    """Return what is said of a file that no rule makes.

    Args:
        target: its path.
        outputs: what rules make, with their wildcards in braces.
        is_made: whether some rule makes a path.
        names: of models, data sets and all else that paths are made of.

    Returns:
        The paths with one other name that are made, or else those in its folder; or else how paths
        look that begin as it does.
    """
    said = f"{target}: no rule makes this file with this configuration."
    others, known = list(outputs), list(names)
    made = dict.fromkeys(path for path in _renamed(target, known) if is_made(path))
    folder = f"{PurePosixPath(target).parent}/"
    beside = [path for path in others if "{" not in path and path.startswith(folder)]
    if found := [*made][:SHOWN] or nearest(target, beside):
        return f"{said} Did you mean {' or '.join(found)}? {REMEDY}"
    alike = sorted(others, key=lambda path: -_shared(path, target))
    alike = [path for path in alike if _shared(path, target) > 1][:SHOWN]
    if not alike:
        return f"{said} {REMEDY}"
    stem, named = PurePosixPath(target).stem, any("{" in path for path in alike)
    own = OWN.format(stem) if named and stem not in known else ""
    return f"{said} There are {', '.join(alike)}. {own}{REMEDY}"


REMEDY = (
    "What a run makes follows from the lists of its paper's section in config.yaml; results.md in "
    "the folder report says what is where."
)


OWN = "If {!r} is an entry in a file of your own, name that with --configfile. "


def unknown_target(target: str, known: Iterable[str]) -> str:
    """Return what is said of a name that is no target's, with the nearest or all that are."""
    others = sorted(known)
    meant = " or ".join(nearest(target, others)) or ", ".join(others)
    return f"{target}: no such target. Did you mean {meant}?"


def options_with(value: object, config: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield the options of a configuration, as `a.b`, that have this value."""
    for key, found in config.items():
        if isinstance(found, Mapping):
            yield from options_with(value, found, f"{above}{key}.")
        elif found == value:
            yield f"{above}{key}"


def _renamed(target: str, names: list[str]) -> Iterator[str]:
    """Yield the path with one of its folders, or its stem, under each of the nearest names."""
    path = PurePosixPath(target)
    for place, part in enumerate(path.parts):
        suffix = path.suffix if place == len(path.parts) - 1 else ""
        for name in nearest(part.removesuffix(suffix), names):
            parts = [*path.parts[:place], f"{name}{suffix}", *path.parts[place + 1 :]]
            yield str(PurePosixPath(*parts))


def _shared(one: str, other: str) -> int:
    """Return how many folders two paths begin with alike, if they end with the same suffix."""
    both = PurePosixPath(one), PurePosixPath(other)
    if both[0].suffix != both[1].suffix:
        return 0
    same = [a == b for a, b in zip(both[0].parts, both[1].parts, strict=False)]
    return (same + [False]).index(False)


def answering(workflow: Any, names: Iterable[str]) -> type[MissingRuleException]:
    """Return Snakemake's error for what no rule makes, in our words.

    Of results (`unmade`) and bare names (`unknown_target`) alone: a source file, too, has no rule.
    Arguments: the workflow, whose rules are asked when a file is not made, and `names` as of
    `unmade`.
    """
    known = list(names)

    class MissingRule(MissingRuleException):
        def __init__(self, file: Any, lineno: Any = None, snakefile: Any = None) -> None:
            super().__init__(file, lineno, snakefile)
            if str(file).startswith(RESULTS):
                rules = [one for one in workflow.rules if not one.name.startswith(ANSWERING)]
                made = [str(path) for rule in rules for path in rule.products()]
                self.args = (
                    unmade(
                        str(file),
                        dict.fromkeys(map(strip_wildcard_constraints, made)),
                        lambda path: any(rule.is_producer(path) for rule in rules),
                        known,
                    ),
                )
            elif "/" not in str(file):
                targets = [rule.name for rule in workflow.rules if not [*rule.products()]]
                self.args = (unknown_target(str(file), targets),)

    return MissingRule


def naming_options(config: Mapping[str, Any]) -> type[MissingInputException]:
    """Return Snakemake's error for files that are not there, which names their options."""

    class MissingInput(MissingInputException):
        def __init__(self, job: Any, files: Iterable[Any], *place: Any, **more: Any) -> None:
            super().__init__(job, files, *place, **more)
            said = [
                f"{file}: no such file ({option}). Mend the path: it begins in {Path.cwd()}."
                for file in files
                for option in options_with(str(file), config)
            ]
            if said:
                self.args = ("\n".join(said),)

    return MissingInput
