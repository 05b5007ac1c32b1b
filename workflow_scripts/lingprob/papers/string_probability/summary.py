"""What of the analyses' tables goes into the report."""

from __future__ import annotations

import pandas as pd


def page(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that a reader wants to see; the rest is in its CSV file."""
    if name == "confounds":
        chosen = table[table["subset"] == "change"].drop(columns=["subset", "name"])
        return chosen.assign(note=chosen["simulated"].map({True: "simulated ratings", False: ""}))
    if name == "pools":
        return table[table["subset"] == "overall"].drop(columns=["subset", "name"])
    return table
