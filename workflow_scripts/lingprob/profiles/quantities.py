"""What the quantities of a profile are: a sentence for each, and what its axis has at least."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Quantity:
    """Quantities whose names are like `named`.

    Attributes:
        named: a pattern; the first of QUANTITIES that a name is like counts.
        gloss: what it is, with the paper's section.
        items: what it is of so many of.
        axis: values that its axis has, whatever the models have; others end where these do.
        nothing: where on it nothing is known: chance, no correlation, no effect.
        undetermined: what an interval leaves open that goes beyond both ends of `axis`.
    """

    named: str
    gloss: str
    items: str = ""
    axis: tuple[float, ...] = ()
    nothing: float | None = None
    undetermined: str = ""

    def is_undetermined(self, low: float, high: float) -> bool:
        """Whether an interval goes beyond both ends of an axis that means something."""
        return bool(self.undetermined) and low < min(self.axis) and high > max(self.axis)


QUANTITIES = (
    Quantity(
        "r of * with ratings",
        "Pearson's r of human ratings and what the linking function predicts, cross-validated "
        "(MORCELA, §3.4): log p, SLOR = (log p - unigram log p) / tokens, or MORCELA, with both "
        "weights fitted.",
        "sentences",
        (0.0, 1.0),
        0.0,
    ),
    Quantity(
        "* r of MORCELA over conventions",
        "The same r where it is lowest and highest over BOS policies and unigram sources.",
        "sentences",
        (0.0, 1.0),
        0.0,
    ),
    Quantity(
        "optimal beta",
        "How much of the words' frequency is subtracted: 0 none of it, 1 as SLOR does (MORCELA, "
        "§4.3).",
        "sentences",
        (0.0, 1.0),
        0.0,
        "undetermined: neither no correction for frequency (0) nor SLOR's (1) is ruled out",
    ),
    Quantity(
        "optimal gamma",
        "What is added before the division by length: above 0 where SLOR corrects too much for "
        "length (MORCELA, §4.3).",
        "sentences",
        (0.0,),
        0.0,
    ),
    Quantity(
        "accuracy on minimal pairs",
        "Share of pairs whose grammatical sentence has the higher log-probability (string "
        "probability, §5).",
        "pairs",
        (0.0, 1.0),
        0.5,
    ),
    Quantity(
        "AUC of *",
        "How well grammatical and ungrammatical sentences are told apart without their partners: "
        "the probability that one drawn of each stands in the right order (Prediction 3, §6).",
        "sentences",
        (0.0, 1.0),
        0.5,
    ),
    Quantity(
        "r of log p within pairs",
        "Pearson's r of the two sentences' log-probabilities over pairs (Prediction 1, §4).",
        "pairs",
        (0.0, 1.0),
        0.0,
    ),
    Quantity(
        "r of differences in log p and in ratings",
        "Pearson's r over pairs of the sentences' differences in log-probability and in mean "
        "rating (Prediction 2, §5).",
        "pairs",
        (0.0, 1.0),
        0.0,
    ),
    Quantity(
        "ΔLogLik",
        "What the model's surprisal adds to the log-likelihood of a mixed regression of reading "
        "times on a partition that it was not fitted to, exploratory or held out (leakage, §3.1). "
        "The interval resamples readers or sentences; the scorecard widens that of few.",
        "reading times",
        (0.0,),
        0.0,
    ),
    Quantity(
        "perplexity of a word",
        "Two to the mean surprisal of a word in bits: the lower, the better it was expected.",
    ),
    Quantity(
        "accuracy without a prefix",
        "Share of the pairs that prefixes are put before, judged right with nothing before them, "
        "by BOS policy (context, §3). Intervals resample suites.",
        "pairs",
        (0.0, 1.0),
        0.5,
    ),
    Quantity(
        "change of accuracy after a prefix",
        "That accuracy after the longest prefix of a kind, minus that without one (context, §4): "
        "acceptable or unacceptable sentences, of the target's own suite (matched) or of others "
        "(mismatched). Intervals resample suites; the scorecard gives none of few.",
        "pairs",
        (-0.5, 0.5),
        0.0,
    ),
)


def quantity_like(name: str) -> Quantity:
    """Return what is known of a quantity by its name; nothing of one that is not described."""
    known = (quantity for quantity in QUANTITIES if fnmatchcase(name, quantity.named))
    return next(known, Quantity(name, ""))
