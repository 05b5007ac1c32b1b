"""Introductions to the four papers for their pages, and captions of figures."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paper:
    """A paper and the question that it `asks`. Its page has its `name`.

    `rooms` has the folders of its results with their headings. `answers` has the figures that
    answer the question (ROOM/NAME), the best first.
    """

    name: str
    title: str
    authors: str
    asks: str
    rooms: dict[str, str]
    answers: tuple[str, ...]


PAPERS = (
    Paper(
        "morcela",
        "What Goes Into a LM Acceptability Judgment?",
        "Tjuatja et al. (2025)",
        "How much must a sentence's log-probability be adjusted for length and word frequency to "
        "predict how acceptable people find the sentence?",
        {"morcela": "Linking functions"},
        ("morcela/figure_2",),
    ),
    Paper(
        "string_probability",
        "What Can String Probability Tell Us About Grammaticality?",
        "Hu et al. (2026)",
        "Why do probabilities identify the grammatical sentence of a minimal pair, but not "
        "separate grammatical from ungrammatical sentences in general?",
        {"string_probability": "Predictions"},
        ("string_probability/figure_2b", "string_probability/figure_4b"),
    ),
    Paper(
        "leakage",
        "The Inverse Scaling Effect of Pre-Trained Language Model Surprisal Is Not Due to Data "
        "Leakage",
        "Oh, Zhu & Schuler (2025)",
        "Does surprisal from larger models predict reading times worse because these models saw "
        "the texts in training?",
        {
            "overlap": "Study 1: overlaps with training data",
            "training": "Study 2: training without leakage",
            "reading": "Study 2: reading times",
        },
        ("reading/figure_2", "overlap/figure_1a", "training/figure_2_perplexity"),
    ),
    Paper(
        "context",
        "Language Model Acceptability Judgements Are Not Always Robust to Context",
        "Sinha et al. (2023)",
        "Do models still prefer the acceptable sentence of a pair if acceptable or unacceptable "
        "sentences precede the pair?",
        {"context": "Judgments after prefixes"},
        ("context/figure_2",),
    ),
)


def papers_of(rooms: Collection[str]) -> list[Paper]:
    """Return the papers with results in any of the rooms, in the order of PAPERS."""
    return [paper for paper in PAPERS if paper.rooms.keys() & set(rooms)]


def read_captions(folder: Path, rooms: Iterable[str]) -> dict[str, str]:
    """Return the plain text of each file ROOM_NAME.rst in a folder (a caption), by ROOM/NAME."""
    found = {}
    for room in rooms:
        for path in sorted(folder.glob(f"{room}_*.rst")):
            name = path.stem.removeprefix(f"{room}_")
            text = path.read_text(encoding="utf-8").replace("`", "")
            found[f"{room}/{name}"] = " ".join(text.split())
    return found
