"""CSV files of published data sets, whatever is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError


def read_csv_utf8(path: Path, **options: Any) -> pd.DataFrame:
    """Read a CSV file in UTF-8, with or without a byte-order mark; `options` go to pandas.

    Raises LingprobError that names a file in another encoding or that is no table.
    """
    try:
        return pd.read_csv(path, encoding="utf-8-sig", **options)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise LingprobError(f"{path}: not a CSV file in UTF-8 ({error}). Convert it.") from error
