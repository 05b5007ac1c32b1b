"""Commands: a file in, a call of the API, a file out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

import lingprob
from lingprob.api.inputs import COLUMNS, read_passages
from lingprob.api.prepared_models import cache_folder, find_model, read_config
from lingprob.errors import LingprobError, looked_up, nearest
from lingprob.io.files import atomic_path
from lingprob.io.own_tables import read_frame, text_of
from lingprob.io.tables import write_csv
from lingprob.workflow.configuration import read_catalog
from lingprob.workflow.sources import Run


def run(options: argparse.Namespace) -> None:
    """Do what a command line asks for, and write the table that comes of it.

    Raises LingprobError before any model is loaded where the input cannot be read.
    """
    table = COMMANDS[options.command](options)
    write(table if options.digits is None else table.round(options.digits), options.output)
    read_as = f" ({note})" if (note := NOTES.get(options.command)) else ""
    if options.output:
        print(f"{len(table):,} rows: {options.output}{read_as}", file=sys.stderr)


def score(options: argparse.Namespace) -> pd.DataFrame:
    """Return the input with the log-probability of each sentence beside it."""
    frame = read_input(options, ["sentence"])
    sentences = text_of(options.input, "sentence", frame["sentence"]).fillna("")
    context = None
    if "context" in frame.columns:
        context = text_of(options.input, "context", frame["context"]).fillna("").tolist()
    found = load(options).score(sentences.tolist(), context=context, bos=options.bos)
    found = found.drop(columns="sentence")
    if there := [name for name in found.columns if name in frame.columns]:
        raise LingprobError(
            f"{options.input}: a column {there[0]!r} is there, and would be written anew. Rename "
            "or delete it."
        )
    theirs = {ours: named for ours, named in options.columns}
    return pd.concat([frame.rename(columns=theirs), found], axis=1)


def surprisal(options: argparse.Namespace) -> pd.DataFrame:
    """Return the surprisal of each word."""
    passages = read_passages(options.input, dict(options.columns).get("text", "text"))
    return load(options).surprisal(passages)


def compare(options: argparse.Namespace) -> pd.DataFrame:
    """Return accuracy on pairs by phenomenon."""
    frame = read_pairs(options)
    return load(options).compare(frame, by=options.by, bos=options.bos)


def audit(options: argparse.Namespace) -> pd.DataFrame:
    """Return what is wrong with pairs."""
    frame = read_pairs(options)
    return load(options).audit(frame, corpora=options.corpus or ())


def overlap(options: argparse.Namespace) -> pd.DataFrame:
    """Return the longest overlaps of texts with a corpus."""
    return lingprob.find_overlap(
        read_passages(options.input),
        [Path(name) for name in options.corpus],
        tokenizer=options.model,
        min_length=options.min_length,
        cache=options.cache,
    )


def certify(options: argparse.Namespace) -> pd.DataFrame:
    """Return what corpora have of texts, of a file or of a data set of the catalog."""
    from lingprob.api.corpora import dataset_texts

    cache = cache_folder(options.cache)
    run = Run(*read_catalog(read_config(options.config)))
    name = str(options.input)
    of_catalog = not options.input.exists() and name in run.catalog.datasets
    return lingprob.certify(
        dataset_texts(name, run, cache) if of_catalog else read_passages(options.input),
        options.corpus,
        tokenizer=options.model,
        ngrams=options.ngrams,
        min_length=options.min_length,
        save=options.save,
        config=options.config,
        cache=cache,
    )


OURS = (*COLUMNS, "context")  # what `--column` may name of tables that are read
# How a table is read, said when it is written.
NOTES = {
    "score": "log-probabilities in nats",
    "surprisal": "bits; the one to report is `surprisal`, whose words end with their blanks",
}
COMMANDS = {
    "score": score,
    "surprisal": surprisal,
    "compare": compare,
    "audit": audit,
    "overlap": overlap,
    "certify": certify,
}


def load(options: argparse.Namespace) -> lingprob.Model:
    """Load the model that a command line names; a wrong name is told before torch is imported."""
    find_model(options.model, family=options.family, config=options.config)
    return lingprob.load(
        options.model,
        family=options.family,
        unigrams=getattr(options, "unigrams", None),
        device=options.device,
        correction=options.correction,
        config=options.config,
        cache=options.cache,
    )


def read_input(options: argparse.Namespace, needed: Iterable[str] = ()) -> pd.DataFrame:
    """Return the input table with its columns called as ours.

    Raises LingprobError for a column that `--column` names or a command needs, and is not there.
    """
    frame = read_frame(options.input)
    for name, _ in options.columns:
        looked_up("column", name, dict.fromkeys(OURS), "(--column)")
    ours = {theirs: name for name, theirs in options.columns}
    wanted = [*ours, *(name for name in needed if name not in ours.values())]
    for column in wanted:
        if column not in frame.columns:
            close = nearest(column, map(str, frame.columns), 1)
            named = f"--column {ours.get(column, column)}={close[0] if close else 'YOURS'}"
            raise LingprobError(
                f"{options.input}: no column {column!r}. It has {list(frame.columns)[:12]}. "
                + (f"Did you mean {named}?" if close else f"Name the one that is meant: {named}.")
            )
    return frame.rename(columns=ours)


def read_pairs(options: argparse.Namespace) -> pd.DataFrame:
    """Return the input table of pairs, a row a pair or a sentence, likewise."""
    named = {name for name, _ in options.columns}
    of_sentences = "sentence" in named or "sentence" in read_frame(options.input).columns
    return read_input(options, () if of_sentences else ("good", "bad"))


def write(table: pd.DataFrame, output: Path | None) -> None:
    """Write a table, whole or not at all; to the screen without a file."""
    if output is None:
        table.to_csv(sys.stdout, index=False)
    elif output.suffix == ".parquet":
        with atomic_path(output) as temporary:
            table.to_parquet(temporary, index=False, compression="zstd")
    else:
        write_csv(table, output)
