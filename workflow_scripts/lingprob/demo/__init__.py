"""Data files that were written for this project, and the parsers that read them.

No catalog entry names these files. Rules that read them include them in the digest of their code.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
MINIMAL_PAIRS = FOLDER / "minimal_pairs.csv"
CONTROL_SENTENCES = FOLDER / "control_sentences.txt"
READ_BY = {
    "demo_control": CONTROL_SENTENCES,
    "demo_passages": MINIMAL_PAIRS,
    "demo_reading": MINIMAL_PAIRS,
    "demo_sentences": MINIMAL_PAIRS,
    "minimal_pairs": MINIMAL_PAIRS,
}


def demo_files(parser: str) -> list[Path]:
    """Return the files of the package that a parser reads, which is [] for most parsers."""
    return [READ_BY[parser]] if parser in READ_BY else []
