"""The commands of `lingprob`: each reads a file, calls the Python API and writes a table."""

import argparse
import gc
import sys
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

import lingprob
from lingprob.api.cli import HUB
from lingprob.api.inputs import COLUMNS, as_frame, read_passages
from lingprob.api.prepared_models import cache_folder, find_model, read_config
from lingprob.errors import looked_up
from lingprob.io.files import atomic_path
from lingprob.io.table_files import (
    FORMATS,
    label_of,
    names_alike,
    need_columns,
    numeric,
    read_frame,
    refuse,
    warn_of_spelling,
)
from lingprob.io.tables import guard_formulas, write_csv
from lingprob.workflow.configuration import read_catalog
from lingprob.workflow.sources import Run

FITTED = ("logprob", "unigram_logprob", "n_tokens", "rating")
# Names that `--column` may give to columns of a table.
OURS = (*COLUMNS, *FITTED, "text", "context", "regions")


def run(options: argparse.Namespace) -> None:
    """Run the command that the options name, and write its table."""
    gc.enable()
    table = CALLS.get(options.command, of_model)(options)
    write(table if options.digits is None else table.round(options.digits), options.output)
    if options.output:
        print(f"{len(table):,} rows: {options.output}", file=sys.stderr)


def of_model(options: argparse.Namespace) -> pd.DataFrame:
    """Return the table from the `Model` method that has the command's name."""
    read, named = METHODS[options.command]
    given = read(options)
    method = getattr(load(options), options.command.replace("-", "_"))
    found: pd.DataFrame = method(given, **chosen(options, *named))
    return found.rename(columns=dict(options.columns)) if options.command == "score" else found


def audit(options: argparse.Namespace) -> pd.DataFrame:
    """Return a table of the problems in minimal pairs."""
    pairs = read_pairs(options)
    return load(options).audit(pairs, corpora=options.corpus or ())


def overlap(options: argparse.Namespace) -> pd.DataFrame:
    """Return a table of the longest overlaps of texts with a corpus."""
    texts, corpora = column_of_texts(options), [Path(name) for name in options.corpus]
    given = chosen(options, "min_length", "cache")
    return lingprob.find_overlap(texts, corpora, tokenizer=options.model, **given)


def certify(options: argparse.Namespace) -> pd.DataFrame:
    """Return a table of overlaps between corpora and the texts of a file or catalog data set."""
    from lingprob.api.corpora import dataset_texts

    cache = cache_folder(options.cache)
    run = Run(*read_catalog(read_config(options.config)))
    name = options.input
    of_catalog = not Path(name).exists() and name in run.catalog.datasets
    return lingprob.certify(
        dataset_texts(name, run, cache) if of_catalog else column_of_texts(options),
        options.corpus,
        tokenizer=options.model,
        cache=cache,
        **chosen(options, "ngrams", "min_length", "save", "config"),
    )


def fit(options: argparse.Namespace) -> pd.DataFrame:
    """Return a table of linking functions, fitted to the ratings in the input table."""
    from lingprob.scoring.imported import SIGN

    named = [] if options.cluster == "none" else [options.cluster]
    frame = read_table(options, ["logprob", "n_tokens", "rating", *named])
    where = options.input
    values = {name: numeric(where, name, frame[name]) for name in FITTED if name in frame.columns}
    for name in {"logprob", "unigram_logprob"} & {*values}:
        refuse(where, name, values[name] > 0, "above 0", values[name], SIGN)
    return lingprob.fit_linking_functions(
        values["logprob"],
        values.get("unigram_logprob"),
        values["n_tokens"],
        values["rating"],
        clusters=label_of(where, options.cluster, frame[options.cluster]) if named else None,
    )


def import_results(options: argparse.Namespace) -> pd.DataFrame:
    """Return the table of reading times or ratings in a result file. Print the omitted rows."""
    from lingprob.io.lab_exports import import_export

    rows: dict[str, list[str]] = {}
    for column, value in options.rows:
        rows.setdefault(column, []).append(value)
    columns, values = dict(options.columns), dict(options.values)
    table, notes = import_export(Path(options.input), options.kind, columns, rows, values)
    print("\n".join(notes), file=sys.stderr)
    return table


def guard(options: argparse.Namespace) -> pd.DataFrame:
    """Return a table with an apostrophe before cells that a spreadsheet would run as formulas."""
    return guard_formulas(read_frame(Path(options.input)))


def load(options: argparse.Namespace) -> "lingprob.Model":
    """Load the options' model. A wrong name raises an error before torch is imported."""
    find_model(options.model, family=options.family, config=options.config)
    gc.disable()  # as in `cli.main`
    names = ("family", "device", "tokens_per_batch", "correction", "config", "cache")
    unigrams = getattr(options, "unigrams", None)
    model = lingprob.load(options.model, unigrams=unigrams, **chosen(options, *names))
    gc.enable()
    return model


def chosen(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options that have these names, as arguments of a call."""
    return {name: getattr(options, name) for name in names}


def read_table(options: argparse.Namespace, needed: Iterable[str] = ()) -> pd.DataFrame:
    """Return the input table with its columns renamed by `--column`, and all `needed` ones."""
    where = options.input
    frame = lingprob.read_table(where, split=options.split, configuration=options.configuration)
    ours = {theirs: name for name, theirs in options.columns}
    for name in ours.values():
        looked_up("column", name, dict.fromkeys(OURS), "(--column)")
    need_columns(where, frame, ours, "Correct --column.")
    frame = frame.rename(columns=ours)
    need_columns(where, frame, needed, "Name each with --column, as in --column sentence=Text.")
    warn_of_spelling(where, names_alike(frame, OURS), "Name them with --column.")
    return frame


def read_texts(options: argparse.Namespace) -> pd.DataFrame | list[str]:
    """Return the passages of the input: parts of a text file, or a table with a column `text`."""
    path = Path(options.input)
    if options.input.startswith(HUB) or path.suffix.lower() in FORMATS:
        return read_table(options, ["text"])
    return read_passages(path, options.passages)


def read_pairs(options: argparse.Namespace) -> pd.DataFrame:
    """Return the input table of pairs, with one row per pair or per sentence."""
    frame = read_table(options)
    return frame if "sentence" in frame.columns else read_table(options, ("good", "bad"))


def column_of_texts(options: argparse.Namespace) -> list[str]:
    """Return the passages of the input as a list of texts."""
    return list(as_frame(read_texts(options), "text", True)["text"])


def write(table: pd.DataFrame, output: Path | None) -> None:
    """Write a table to the output file (atomically), or print it if there is no output file."""
    if output is None:
        table.to_csv(sys.stdout, index=False)
    elif output.suffix == ".parquet":
        with atomic_path(output) as temporary:
            table.to_parquet(temporary, index=False, compression="zstd")
    else:
        write_csv(table, output)


Call = Callable[[argparse.Namespace], Any]
# For each command that runs a model: how it reads its input, and the options of its method.
METHODS: dict[str, tuple[Call, tuple[str, ...]]] = {
    "score": (partial(read_table, needed=["sentence"]), ("bos", "chat")),
    "tokens": (partial(read_table, needed=["sentence"]), ("bos",)),
    "next-tokens": (attrgetter("input"), ("top", "bos")),
    "next-words": (attrgetter("input"), ("top", "bos")),
    "surprisal": (read_texts, ("bos",)),
    "compare": (read_pairs, ("by", "bos")),
}
CALLS: dict[str, Call] = {
    "audit": audit,
    "overlap": overlap,
    "certify": certify,
    "fit": fit,
    "import": import_results,
    "guard": guard,
}
