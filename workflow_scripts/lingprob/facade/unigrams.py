"""Unigram log-probabilities of a model: given, or a table that a workflow made in the cache."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.own_tables import FORMATS, need_columns, numeric, read_frame, whole
from lingprob.io.tables import read_table
from lingprob.workflow.sources import Run

GIVEN = "given"


def find_unigrams(
    wanted: str | Path | pd.DataFrame | pd.Series | None, model: str, run: Run, cache: Path
) -> dict[str, pd.Series]:
    """Return the unigram log-probabilities (nats, by token id) under their source's name.

    Args:
        wanted: a source, a file, a table (`token_id`, `logprob`) or a series by token id; None for
            the first source of the model's entry that the cache has.
        model, run: whose, and the run that has its entry.
        cache: the folder, laid out as a workflow's.

    Returns:
        One source's, or nothing where none is wanted and none is there.

    Raises LingprobError for a source that the cache has not, with the command that makes it.
    """
    if isinstance(wanted, pd.Series):
        return {GIVEN: wanted.astype(float)}
    if isinstance(wanted, pd.DataFrame):
        return {GIVEN: _by_token(wanted, "the table of unigrams")}
    if wanted is not None and Path(wanted).suffix in FORMATS:
        return {GIVEN: _by_token(read_frame(Path(wanted)), wanted)}
    entry = run.catalog.model(model)
    sources = entry["unigrams"] if wanted is None else [str(wanted)]
    for source in sources:
        run.catalog.unigram_source(source)
        table = f"results/unigrams/{entry['tokenizer']}/{source}.parquet"
        if (cache / table).is_file():
            return {source: read_table(cache / table, "unigrams").set_index("token_id")["logprob"]}
        if wanted is not None:
            raise LingprobError(
                f"unigram source {source!r}: {cache / table} is not there. Make it, in the "
                f"folder of the workflow: `snakemake --directory {cache} --cores 2 {table}`."
            )
    return {}


def _by_token(frame: pd.DataFrame, path: str | Path) -> pd.Series:
    need_columns(path, frame, ["token_id", "logprob"], "A row is a token of the vocabulary.")
    ids = whole(path, "token_id", frame["token_id"])
    logprobs = numeric(path, "logprob", frame["logprob"])
    return pd.Series(logprobs.to_numpy(), index=ids.to_numpy())
