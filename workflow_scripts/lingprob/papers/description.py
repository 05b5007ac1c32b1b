"""What a rules file says of its paper's room, and what rules make of it.

Rules read this module, so it imports nothing that only a job needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lingprob.errors import unknown_name
from lingprob.figures.palette import Models, describe_models
from lingprob.papers.rooms import PACKAGES, Table, module_name, module_of
from lingprob.workflow.names import matches

# A table's file, its files, or its files by the model, data set or size that each is of.
Files = str | Sequence[str] | Mapping[str, str]
# What of a model's entry scorecards and tables need; a change of its look repeats neither.
PLAIN = {
    "compare": ("family", "parameters"),
    "tabulate": ("title", "family", "family_title", "parameters"),
}


@dataclass(frozen=True)
class Room:
    """What a rules file says of its paper.

    Args:
        paper: the target.
        category: of the report.
        files: of the tables that the room declares, by name; none of one that the scale does
            not make.
        figures: names, of those that the tables allow.
        pages: names of the paper's own tables.
        models: those shown, by name or pattern.
        titles: of data sets, by name.
        published_for: uses that show the paper's numbers beside ours (`compare` always does).
        options: what this paper alone needs to say; its modules tell what.
    """

    paper: str
    category: str
    files: Mapping[str, Files]
    figures: Sequence[str]
    pages: Sequence[str] = ()
    models: Sequence[str] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    published_for: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def code(self, use: str) -> list[str]:
        """Return the modules that a script imports for this room, beside its own imports."""
        return [
            f"{PACKAGES[self.paper]}.{name}" for name in ("inputs", module_name(self.paper, use))
        ]

    def output(self) -> list[str]:
        """Return the files that rules make for every room: figures, pages and the scorecard."""
        made = [
            (self.figures, "pdf png"),
            (self.pages, "csv html"),
            (["scorecard"], "parquet csv html"),
        ]
        return [
            f"results/{self.paper}/{name}.{suffix}"
            for names, suffixes in made
            for name in names
            for suffix in suffixes.split()
        ]

    def input(self, use: str) -> dict[str, str | list[str]]:
        """Return the files of the tables for one use, by name.

        Raises LingprobError if the room declares no table of a name.
        """
        return {
            name: files if isinstance(files, str) else list(_values(files))
            for name, files in self._files(use).items()
        }

    def parts(self, use: str) -> dict[str, list[str]]:
        """Return which model, data set or size each file is of, for tables that do not say."""
        by_part = self._files(use).items()
        return {name: list(files) for name, files in by_part if isinstance(files, Mapping)}

    def run(
        self, use: str, catalog: Models, published: Mapping[str, Any], scale: str
    ) -> dict[str, Any]:
        """Return what `contract.Run` is made of, for one use.

        Args:
            catalog: the entries of all models.
            published: the paper's numbers; those models of theirs that they name are shown too.
            scale: of the run.
        """
        shown = published if use in self.published_for else {}
        rows = [row for item in shown.get("items", []) for row in item["rows"]]
        wanted = [*self.models, *{row.partition("/")[0] for row in rows}]
        names = [name for name in catalog if matches(name, wanted)]
        return {
            "scale": scale,
            "models": describe_models(catalog, names)
            if use == "plot"
            else {name: {key: catalog[name].get(key) for key in PLAIN[use]} for name in names},
            "titles": dict(self.titles),
            "published": dict(shown),
            "options": dict(self.options),
        }

    def _files(self, use: str) -> dict[str, Files]:
        declared: dict[str, Table] = module_of(self.paper, "inputs").TABLES
        for name in self.files:
            if name not in declared:
                raise unknown_name(f"table of {self.paper}", name, declared)
        return {
            name: files
            for name, files in self.files.items()
            if files and use in declared[name].uses
        }


def _values(files: Sequence[str] | Mapping[str, str]) -> Sequence[str]:
    return list(files.values()) if isinstance(files, Mapping) else files
