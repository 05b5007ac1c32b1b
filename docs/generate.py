"""Write files that follow from the settings, the catalog and docstrings.

    python docs/generate.py

config.yaml, its JSON schema, settings.md, catalog.md and api.md are written whole. A page of a
paper has its claims between the lines `<!-- claims: TARGET -->` and `<!-- end -->`. `--check`
changes nothing and fails if a file would change.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "workflow_scripts")]

from settings_files import written_files  # noqa: E402

import lingprob  # noqa: E402
from lingprob.catalog import Catalog, read_published  # noqa: E402

WRITTEN = "<!-- Written by docs/generate.py. -->\n"
BLOCK = re.compile(r"(<!-- claims: (\w+) -->\n).*?(<!-- end -->)", re.S)
# Kinds of data sets in the order of the page, as its headings call them.
KINDS = {
    "stimuli": "Stimuli: sentences and minimal pairs",
    "reading_texts": "Texts that people read",
    "reading_times": "Reading times",
    "corpus": "Corpora",
    "unigrams": "Published unigrams",
    "tokenizer": "Tokenizers",
    "surprisals": "Published surprisals",
    "overlaps": "Published overlaps",
    "accuracies": "Published accuracies",
}
# Keys of a data set's size, of which the first in its entry counts.
SIZES = ("items", "passages", "subjects", "words", "rows")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of Markdown, in which None is an empty cell."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def cell(value: object) -> str:
    """Return a value as the text of a cell."""
    return "" if value is None else str(value).replace("|", "\\|")


def catalog_page() -> str:
    """Return catalog.md: every model, embedding and data set that an entry of the catalog has."""
    catalog = Catalog()
    models = table(
        ("name", "model", "parameters", "source", "BOS policy", "unigrams", "licence"),
        [model_row(name, entry) for name, entry in catalog.models.items()],
    )
    embeddings = table(
        ("name", "model", "language", "parameters", "source", "licence"),
        [
            (f"`{name}`", entry["title"], entry["language"], size(entry.get("parameters")),
             entry["source"], entry.get("licence"))
            for name, entry in catalog.embeddings.items()
        ],
    )  # fmt: skip
    parts = [
        WRITTEN,
        "# The catalog\n",
        "These names can be used in `config.yaml` and on the command line, with those of your own\n"
        "entries ([own data](own_data.md), [own models](own_models.md)). Files, revisions,\n"
        "checksums and citations are in `workflow_scripts/lingprob/catalog/`.\n",
        "## Models\n",
        models,
        "## Sentence embeddings\n",
        embeddings,
        "## BOS policies\n",
        table(
            ("policy", "start token", "first token"),
            [
                (f"`{name}`", f"`{catalog.start_tokens[one['start_token']]}`", one["first_token"])
                for name, one in catalog.bos_policies.items()
            ],
        ),
    ]
    for kind, heading in KINDS.items():
        chosen = {name: one for name, one in catalog.datasets.items() if one["kind"] == kind}
        header = ("name", "data set", "language", "size", "parser", "access", "licence")
        rows = [dataset_row(name, entry) for name, entry in chosen.items()]
        parts += [f"## {heading}\n", table(header, rows)]
    return "\n".join(parts)


def model_row(name: str, entry: dict[str, Any]) -> tuple[object, ...]:
    """Return a model's row, with its default BOS policy and unigram source."""
    source = f"hub, `{entry['repository']}`" if entry["source"] == "hub" else entry["source"]
    return (
        f"`{name}`",
        entry["title"],
        size(entry["parameters"]),
        source + (", gated" if entry.get("gated") else ""),
        f"`{entry['bos_policies'][0]}`",
        f"`{entry['unigrams'][0]}`" if entry["unigrams"] else "none",
        entry.get("licence"),
    )


def dataset_row(name: str, entry: dict[str, Any]) -> tuple[object, ...]:
    """Return a data set's row, with the first size that its entry states."""
    counted = next((key for key in SIZES if key in entry), None)
    return (
        f"`{name}`",
        entry["title"],
        entry.get("language"),
        f"{entry[counted]:,} {counted}" if counted else None,
        f"`{entry['parser']}`" if "parser" in entry else None,
        entry.get("access", entry.get("source")),
        entry.get("licence"),
    )


def size(number: int | None) -> str | None:
    """Return a count with commas, or None for none."""
    return None if number is None else f"{number:,}"


def api_page() -> str:
    """Return api.md: the public names of lingprob, with their docstrings."""
    parts = [
        WRITTEN,
        "# Python reference\n",
        "[python.md](python.md) has examples. Errors of the input are `LingprobError`s.\n",
    ]
    for name in sorted(lingprob.__all__, key=lambda name: (name != "load", name != "Model", name)):
        thing = getattr(lingprob, name)
        parts += [f"## lingprob.{name}\n", described(name, thing)]
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            methods = inspect.getmembers(thing, inspect.isfunction)
            methods.sort(key=lambda one: one[1].__code__.co_firstlineno)
            for method, function in methods:
                if not method.startswith("_"):
                    parts += [f"### {name}.{method}\n", described(method, function)]
    return "\n".join(parts)


def described(name: str, thing: Any) -> str:
    """Return a function's parameters with their defaults, and a docstring in its own layout."""
    text = str(inspect.getdoc(thing))
    if inspect.isfunction(thing):
        given = inspect.signature(thing)
        shown = [
            one.replace(annotation=inspect.Parameter.empty)
            for one in given.parameters.values()
            if one.name != "self"
        ]
        call = given.replace(parameters=shown, return_annotation=inspect.Signature.empty)
        text = f"{name}{call}\n\n{text}"
    return f"```text\n{text}\n```\n"


def with_claims(text: str) -> str:
    """Return a page of a paper with the claims of the catalog in their places."""
    return BLOCK.sub(lambda found: found[1] + "\n" + claims(found[2]) + "\n" + found[3], text)


def claims(target: str) -> str:
    """Return a table of a target's claims and another of the statements that it leaves out."""
    published = read_published(target)
    judged = [
        (f"`{claim['id']}`", claim["section"], claim["sentence"], f"`{claim['expected']}`",
         claim.get("power"))
        for claim in published["claims"]
    ]  # fmt: skip
    keys = ("section", "statement", "reason")
    left_out = [[one[key] for key in keys] for one in published["not_computed"]]
    return (
        "Each claim is a condition on a statistic, such as a difference between two accuracies.\n"
        "A claim is *supported* if the statistic's entire 95% interval meets the condition (`true\n"
        "if`), *contradicted* if no part of the interval does, and *undecided* otherwise. *Power*\n"
        "is the probability of support if the effect and the sample are as large as in the paper.\n"
        "If the paper does not print the effect, the cell states the assumed one. An empty cell\n"
        "means a power of at least 0.8, or a statistic without sampling error.\n\n"
        + table(("claim", "section", "sentence", "true if", "power"), judged)
        + "\nThese statements of the paper are not tested, for the given reasons:\n\n"
        + table(keys, left_out)
    )


def pages() -> dict[Path, str]:
    """Return every page that is written here, with its text."""
    papers = sorted((FOLDER / "papers").glob("*.md"))
    return {
        **written_files(),
        FOLDER / "catalog.md": catalog_page(),
        FOLDER / "api.md": api_page(),
        **{path: with_claims(path.read_text(encoding="utf-8")) for path in papers},
    }


def main() -> None:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, report drift")
    checking = parser.parse_args().check
    stale = {path: text for path, text in pages().items() if not current(path, text)}
    if checking:
        sys.exit(
            "\n".join(f"{path} differs from the output of docs/generate.py" for path in stale) or 0
        )
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")


def current(path: Path, text: str) -> bool:
    """Say whether a page is there and has this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    main()
