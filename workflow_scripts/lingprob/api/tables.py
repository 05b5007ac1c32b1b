"""Tables from a user's files and from data sets of the Hugging Face hub."""

import logging
from pathlib import Path

import pandas as pd

from lingprob.api.cli import HUB
from lingprob.errors import LingprobError
from lingprob.io.table_files import read_frame

logger = logging.getLogger(__name__)


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
