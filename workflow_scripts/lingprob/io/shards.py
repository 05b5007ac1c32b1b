"""Shards: finished parts of a job's result, saved so that a later run of the job can read them."""

import hashlib
import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lingprob.io.files import atomic_path

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shards:
    """The shards (finished parts) of a job's result in a folder. Without a folder, none are kept.

    `identity` names the weights and the code that made the shards. The argument `described` of
    `read` and `write` (JSON values) names one of them.
    """

    directory: str | Path | None
    identity: str

    def read(self, described: object) -> pa.Table | None:
        """Return a shard, or None if there is none or it is damaged."""
        return None if self.directory is None else read_shard(self._path(described))

    def write(self, described: object, table: pa.Table) -> None:
        """Write a shard, if there is a folder."""
        if self.directory is not None:
            write_shard(self._path(described), table)

    def _path(self, described: object) -> Path:
        text = json.dumps([self.identity, described])
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        return Path(self.directory or "") / f"{digest}.parquet"


NOWHERE = Shards(None, "")


def write_shard(path: Path, table: pa.Table) -> None:
    """Write a shard to a Parquet file with checksums, atomically."""
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read_shard(path: Path) -> pa.Table | None:
    """Return a shard, or None if the file is absent or (with a warning in the log) damaged."""
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError:
        return None
    except (pa.ArrowException, OSError) as error:
        logger.warning("%s: a damaged shard (%s), which is made again", path, error)
        return None


def delete_shards(shard_directory: str | Path) -> None:
    """Delete the folder of the shards of a finished table, if it exists."""
    shutil.rmtree(shard_directory, ignore_errors=True)
