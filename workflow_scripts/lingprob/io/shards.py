"""Finished parts of a job, in files that a later run of the same job finds again."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lingprob.io.files import atomic_path

logger = logging.getLogger(__name__)


def shard_path(directory: str | Path, described: object) -> Path:
    """Return the path of the shard that `described` (JSON values) distinguishes from all others."""
    digest = hashlib.sha256(json.dumps(described).encode()).hexdigest()[:32]
    return Path(directory) / f"{digest}.parquet"


def write_shard(path: Path, table: pa.Table) -> None:
    """Write a shard, whole or not at all."""
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read_shard(path: Path) -> pa.Table | None:
    """Return a shard, or None if there is none or (the log says so) a damaged one."""
    try:
        return pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError:
        return None
    except (pa.ArrowException, OSError) as error:
        logger.warning("%s: a damaged shard (%s), which is made again", path, error)
        return None


def delete_shards(shard_directory: str | Path) -> None:
    """Delete the shards of a finished table, if there are any."""
    shutil.rmtree(shard_directory, ignore_errors=True)
