"""What corrects the expected times on this machine; read by the Snakefile, so without pandas."""

from __future__ import annotations

import csv
from pathlib import Path

FACTORS = Path("resources/measured_factors.csv")


def read_factors(path: Path = FACTORS) -> dict[str, float]:
    """Return what jobs of a rule took on this machine to what was expected; nothing at first."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as lines:
        return {row["rule"]: float(row["factor"]) for row in csv.DictReader(lines)}
