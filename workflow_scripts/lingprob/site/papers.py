"""The four papers, as the front page and their own pages introduce them.

Rules read this module, so it imports nothing that only a job needs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """What a paper asks, and where its answers are.

    Args:
        name: of its page.
        title: of the paper.
        authors: with the year.
        asks: its question, a sentence.
        rooms: the folders of results that are its own, with a heading each, in its order.
        answers: figures (ROOM/NAME) that answer the question, the best first.
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
        "By how much must a model's log-probability be adjusted for length and for the frequency "
        "of words before it says how acceptable people find a sentence?",
        {"morcela": "Linking functions"},
        ("morcela/figure_2",),
    ),
    Paper(
        "string_probability",
        "What Can String Probability Tell Us About Grammaticality?",
        "Hu et al. (2026)",
        "Why do probabilities tell the grammatical sentence of a minimal pair, and not grammatical "
        "sentences from all others?",
        {"string_probability": "Predictions"},
        ("string_probability/phenomena", "string_probability/figure_4b"),
    ),
    Paper(
        "leakage",
        "The Inverse Scaling Effect of Pre-Trained Language Model Surprisal Is Not Due to Data "
        "Leakage",
        "Oh, Zhu & Schuler (2025)",
        "Do larger models fit reading times worse because they saw the texts in training?",
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
        "Do models still prefer the acceptable sentence of a pair after other sentences, be these "
        "acceptable or not?",
        {"context": "Judgments after prefixes"},
        ("context/figure_2",),
    ),
)


def papers_of(rooms: Collection[str]) -> list[Paper]:
    """Return the papers that some rooms are of, in the site's order."""
    return [paper for paper in PAPERS if paper.rooms.keys() & set(rooms)]
