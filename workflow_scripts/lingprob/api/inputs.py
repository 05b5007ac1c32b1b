"""Conversion of users' input (lists, data frames, text files) to the tables of the project."""

import logging
import re
from collections.abc import Iterable, Mapping, Set
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from lingprob.api.cli import HUB
from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.io.table_files import (
    need_columns,
    read_frame,
    refuse_names,
    text_of,
    warn_of_outer_space,
)
from lingprob.io.tables import as_table
from lingprob.io.text_tables import decoded
from lingprob.io.text_units import refuse_halves, sentence_ends, split_lines, split_words
from lingprob.reading.texts import PARSED, with_places
from lingprob.stimuli.distances import pair_texts
from lingprob.stimuli.own_sentences import ABOUT, as_stimuli
from lingprob.stimuli.tables import SIDES, check_stimuli

logger = logging.getLogger(__name__)
PAIRS = "the table of pairs"
# Columns that are read from a table of pairs.
COLUMNS = (*SIDES, "sentence", "item", "condition", *ABOUT)
Given: TypeAlias = str | Iterable[object] | pd.DataFrame
Context: TypeAlias = str | Iterable[str | None] | None


def read_table(
    source: str | Path, *, split: str = "train", configuration: str | None = None
) -> pd.DataFrame:
    """Return the table in a file, or all rows of a data set on the Hugging Face hub.

    Args:
        source: a CSV, TSV, Parquet, Excel (.xlsx) or JSON-lines (.jsonl) file, or
            `hub:owner/name@revision`. Without a revision, the newest commit is read and logged.
        split, configuration: the part of a data set on the hub, as in the `datasets` library.

    Raises LingprobError that names the missing file, repository, revision or part.
    """
    if not str(source).startswith(HUB):
        frame = read_frame(Path(source))
        frame.attrs["source"] = str(source)
        return frame
    import httpx2
    import pyarrow as pa
    from huggingface_hub.errors import HfHubHTTPError

    from lingprob.io.hub import HubRepository
    from lingprob.io.hub_rows import ROWS_PER_PART, open_stream

    name, _, revision = str(source).removeprefix(HUB).partition("@")
    repository = HubRepository("dataset", name, revision or "main")
    commit = str(repository.ask().sha)
    entry = {"repository": name, "revision": commit, "split": split}
    try:
        stream = open_stream(name, {**entry, "configuration": configuration})
        tables = list(stream.with_format("arrow").iter(ROWS_PER_PART))
    except (OSError, httpx2.HTTPError, HfHubHTTPError) as error:
        raise repository.unreachable(f"{type(error).__name__}: {error}") from error
    if not tables:
        raise LingprobError(f"{source}: split {split!r} has no rows. Choose another split.")
    frame = pa.concat_tables(tables, promote_options="default").to_pandas()
    frame.attrs["source"] = f"{HUB}{name}@{commit}"
    logger.info("%s, split %s: %d rows", frame.attrs["source"], split, len(frame))
    return frame


def as_texts(given: str | Iterable[object], what: str, may_be_empty: bool = False) -> list[str]:
    """Return one or several texts as a list. `what` is the word for a text in messages.

    Raises LingprobError for a data frame, an empty list, a value that is no text or, unless
    allowed, an empty text. Also raises it for sets and mappings, whose texts have no order.
    """
    wrong = isinstance(given, pd.DataFrame | Mapping | Set | bytes)
    if wrong or not isinstance(given, Iterable):
        kind = type(given).__name__
        raise LingprobError(f"the {what}s are a {kind}, which is no list of texts. Give one.")
    texts = [given] if isinstance(given, str) else list(given)
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str) or not (may_be_empty or text.strip()):
            raise LingprobError(
                f"{what} {row} is {text!r}, which is no text. Fill it in or drop it."
            )
    if not texts:
        raise LingprobError(f"there are no {what}s. Give at least one.")
    found = [str(text) for text in texts]
    refuse_halves(found, what)
    return found


def as_frame(given: Given, column: str, may_be_empty: bool = False) -> pd.DataFrame:
    """Return texts, or a data frame of texts, as a data frame whose column `column` has the texts.

    Values of this column and of `context` are strings, '' if missing. Other columns are kept.
    """
    if not isinstance(given, pd.DataFrame):
        index = given.index if isinstance(given, pd.Series) else None
        return pd.DataFrame({column: as_texts(given, column, may_be_empty)}, index=index)
    where = given.attrs.get("source", "the table")
    refuse_names(where, given)
    need_columns(where, given, [column], f"Rename the column of texts to {column!r}.")
    read = {
        name: text_of(where, name, given[name]).fillna("").astype(object)
        for name in (column, "context")
        if name in given.columns
    }
    as_texts(read[column], f"{where}: {column}", may_be_empty)
    if column == "sentence":
        warn_of_outer_space(where, column, read[column])
    return given.assign(**read)


def as_contexts(context: Context, frame: pd.DataFrame, separator: str) -> list[str] | None:
    """Return the context of each row of a frame ('' for none), or None if there are no contexts.

    The argument (one text for all rows, or one per row) or the column `context` gives them. Logs
    contexts that look like conditions, and white space before a separator. Raises LingprobError if
    there is not one per row.
    """
    of_frame = "context" in frame.columns
    if context is None and not of_frame:
        return None
    if context is not None and of_frame:
        raise LingprobError("contexts are an argument and a column `context`. Give one of the two.")
    given = frame["context"] if context is None else context
    if isinstance(given, str):
        given = [given] * len(frame)
    if isinstance(given, pd.DataFrame | Mapping | Set):
        as_texts(given, "context")  # which raises
    contexts = as_texts(
        ["" if pd.api.types.is_scalar(one) and pd.isna(one) else one for one in given],
        "context", True,
    )  # fmt: skip
    if len(contexts) != len(frame):
        raise LingprobError(
            f"there are {len(contexts)} contexts for {len(frame)} texts. Give one context for all "
            "of them, or one for each."
        )
    named = sorted({*contexts} - {""})
    if of_frame and named and all(re.fullmatch(r"[\w-]+(\.\d+)?", one, re.ASCII) for one in named):
        logger.warning(
            "the column `context` is read as text before the texts, and has only words such as %r. "
            "Rename it if they are conditions.", named[0],
        )  # fmt: skip
    if missing := contexts.count("NA"):
        logger.warning("%d contexts are the text NA. Leave them empty if there is none.", missing)
    if separator:
        warn_of_trailing_space(contexts, f"the separator {separator!r} follows it")
    return contexts


def warn_of_trailing_space(contexts: list[str], why: str) -> None:
    """Log a warning that names the first context that ends in white space."""
    ending = [row for row, one in enumerate(contexts, start=1) if one != one.rstrip()]
    if ending:
        logger.warning(
            "context %d, %r, ends in white space, and %s, which changes the log-probabilities "
            "after it (%d such contexts). Strip it.",
            ending[0], contexts[ending[0] - 1], why, len(ending),
        )  # fmt: skip


def with_new_columns(frame: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Add the columns of `found` to a user's table. Raises LingprobError if it has one."""
    if taken := [name for name in found.columns if name in frame.columns]:
        raise LingprobError(
            f"{frame.attrs.get('source', 'the table')}: a column {taken[0]!r} is there already. "
            "Rename or delete it."
        )
    return pd.concat([frame, found.set_axis(frame.index)], axis=1)


def with_own_columns(frame: pd.DataFrame, table: pd.DataFrame, read: set[str]) -> pd.DataFrame:
    """Return `table`, with several rows per text, after the columns of the user's `frame`.

    The first column of `table` has the number of the text, from 1. `read` names columns of `frame`
    to leave out.
    """
    rows = frame.drop(columns=[name for name in frame.columns if name in read])
    if rows.columns.empty:
        return table
    own = rows.iloc[table.iloc[:, 0].to_numpy() - 1].set_axis(table.index)
    return with_new_columns(own, table)


def stimuli_of(texts: list[str]) -> pd.DataFrame:
    """Return sentences as item_id and text, the columns of a `stimuli` table that scoring reads."""
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    return pd.DataFrame({"item_id": numbers, "text": texts})


def as_pairs(pairs: pd.DataFrame | Iterable[tuple[str, str]], language: str) -> pd.DataFrame:
    """Return minimal pairs, as `Model.compare` takes them, as a `stimuli` table.

    `language` is an ISO 639-1 code. Raises LingprobError that names the row and column at fault.
    """
    where = PAIRS
    if isinstance(pairs, pd.DataFrame):
        where = pairs.attrs.get("source", PAIRS)
        refuse_names(where, pairs)
        if "context" in pairs.columns:
            raise LingprobError(
                f"{where}: pairs take no contexts. Score the sentences after their contexts with "
                "`score`, or rename the column `context`."
            )
        frame = pairs[[name for name in COLUMNS if name in pairs.columns]]
    else:
        try:
            rows = [(good, bad) for good, bad in map(_ordered, pairs)]
            refuse_halves([str(text) for row in rows for text in row], "sentence")
            frame = pd.DataFrame(rows, columns=["good", "bad"])
        except (TypeError, ValueError) as error:
            raise LingprobError(
                "the pairs are neither a data frame nor (good, bad) sentences. Give one of these. "
                "A list of records becomes one by `pandas.DataFrame(records)`."
            ) from error
    if not {"sentence", "good", "bad"} & {*frame.columns}:
        need_columns(
            where, pd.DataFrame(pairs), ["good", "bad"],
            "A row is a pair (`good`, `bad`) or a sentence (`sentence`, `pair`, `grammatical`).",
        )  # fmt: skip
    sides = [] if "sentence" in frame.columns else ["good", "bad"]
    entry = {"language": language, "columns": {side: side for side in sides}}
    stimuli = as_stimuli(frame.reset_index(drop=True), where, entry, "columns")
    check_stimuli(stimuli, where)
    if pair_texts(stimuli, where).empty:  # it refuses a pair without one sentence of each kind
        raise LingprobError(f"{where}: no row is in a pair. Give it columns `good` and `bad`.")
    # Without other columns, such as the item or condition of a pair.
    read = stimuli.assign(dataset=PAIRS)[SCHEMAS["stimuli"].names]
    table = as_table(read, "stimuli", PAIRS)
    return table[table["pair_id"].notna()]


def _ordered(pair: Any) -> Any:
    """Return a pair. Raises TypeError for a text, mapping or set, which Python unpacks."""
    if isinstance(pair, str | bytes | Mapping | Set):
        raise TypeError(f"{pair!r} is no pair")
    return pair


def as_passages(texts: Given) -> pd.Series:
    """Return a series of the texts that are not empty, indexed by their numbers ("1", "2", ...)."""
    passages = [(str(n), text) for n, text in enumerate(as_texts(texts, "text", True), start=1)]
    kept = {name: text for name, text in passages if text.strip()}
    if not kept:
        raise LingprobError("there is no word in the texts. Give at least one.")
    return pd.Series(kept)


def as_words(
    texts: list[str], contexts: list[str] | None, regions: list[list[str]] | None
) -> pd.DataFrame:
    """Return texts as a `words` table, with one passage per text that is not empty.

    A passage has the words of a context and then those (or the regions) of its text. The boolean
    column `of_text` marks the latter, and `glued` words without a space before them.
    """
    rows = []
    for name, text in as_passages(texts).items():
        place = int(str(name)) - 1
        before = split_words(contexts[place]) if contexts else []
        cut = None if regions is None else cut_regions(text, regions[place], place + 1)
        words = cut or [(word, False) for word in split_words(text)]
        rows += [(name, word, None, False, False) for word in before]
        rows += [(name, word, None, True, glued) for word, glued in words]
    table = pd.DataFrame(rows, columns=[*PARSED, "of_text", "glued"])
    return with_places(table[PARSED].copy()).assign(of_text=table["of_text"], glued=table["glued"])


def as_regions(regions: Iterable[Any] | None, frame: pd.DataFrame) -> list[list[str]] | None:
    """Return a list of regions for each text, or None if there are none.

    The argument or the frame's column `regions` gives them. A text is split at `|`. Raises
    LingprobError if the number of lists is not that of the texts.
    """
    if regions is None and "regions" not in frame.columns:
        return None
    given = frame["regions"] if regions is None else regions
    given = [given] if isinstance(given, str) else list(given)
    for row, one in enumerate(given, start=1):
        if not isinstance(one, Iterable):
            raise LingprobError(f"text {row} has the regions {one!r}. Fill them in.")
    if len(frame) == 1 and len(given) != 1 and all(isinstance(one, str) for one in given):
        given = [given]
    lists = [one.split("|") if isinstance(one, str) else list(one) for one in given]
    if len(lists) != len(frame):
        raise LingprobError(
            f"there are regions of {len(lists)} texts, and {len(frame)} texts. Give a list of "
            "regions for each text."
        )
    return lists


def cut_regions(text: str, regions: list[str], row: int) -> list[tuple[str, bool]]:
    """Return the regions of a text, each with a flag that is true if no space precedes it.

    Raises LingprobError for an empty region, and if the regions do not spell out the text.
    """
    place, found = 0, []
    for region in regions:
        words = split_words(region) if isinstance(region, str) else []
        begin = len(text) - len(text[place:].lstrip())
        pattern = r"\s+".join(map(re.escape, words))
        match = re.compile(pattern).match(text, begin)
        if not words or match is None:
            raise LingprobError(
                f"text {row}: its regions do not spell it, because {region!r} is not at "
                f"{text[begin : begin + 20]!r}. Correct the regions or the text."
            )
        found.append((" ".join(words), begin == place > 0))
        place = match.end()
    if text[place:].strip():
        raise LingprobError(
            f"text {row}: its regions end before {text[place:].strip()[:20]!r}. Add a region."
        )
    return found


def read_passages(path: Path, by: str = "lines") -> list[str]:
    """Return the passages of a text file: its `lines`, or its `paragraphs` between empty lines.

    Logs a warning if most lines do not end a sentence.
    """
    lines = split_lines(decoded(path))
    if by == "paragraphs":
        blocks = groupby(lines, key=lambda line: bool(line.strip()))
        return [" ".join(block) for filled, block in blocks if filled]
    written = [line for line in lines if line.strip()]
    unended = sum(not sentence_ends([line.split()[-1]])[0] for line in written)
    if len(written) > 1 and unended > len(written) / 2:
        logger.warning(
            "%s: %d of %d lines do not end a sentence. Each line is a passage, read without the "
            "lines before it. If lines are wrapped, separate passages by empty lines and choose "
            "--passages paragraphs.",
            path, unended, len(written),
        )  # fmt: skip
    return lines
