"""Perturb the sentences of prefixes without a change of their grammaticality (context, §5)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from lingprob.context.names import MATCHED
from lingprob.context.prefixes import ENDS, prefix_row
from lingprob.context.sampling import generator

SHORT_ADVERBS = ["However", "Surprisingly", "Apparently", "Unfortunately", "Frankly", "Clearly"]
LONG_ADVERBS = [
    "First and foremost", "As a matter of fact", "Generally speaking", "More often than not",
    "To tell the truth",
]  # fmt: skip
CLAUSES = [
    "regardless of what {name} thinks about it",
    "although {name} would not agree",
    "even if {name} never noticed",
]
QUOTES = ["Yesterday, {name} said", "Last week, {name} wrote", "This morning, {name} announced"]
# First words that always lose their capital inside a sentence.
FUNCTION_WORDS = """
a after all an another any are aren't as at because before both by can can't could couldn't did
didn't do does doesn't don't each even every few for from had hadn't has hasn't have haven't he her
here his how if in is isn't it its many may might more most my no nobody not nothing on one only our
she should shouldn't since some somebody someone that the their there these they this those to two
was wasn't we were weren't what when where which while who whose why will with won't would wouldn't
you your
"""
NAMES = ["Sarah", "David", "Maria", "Peter", "Julia", "Thomas", "Emma", "Daniel"]

# The paper's strategies, adverbs and clauses by place, and their combination. Its p-values (rho of
# 0.93 with p < 0.001, -0.7 with p < 0.05) need nine points: these eight and unperturbed prefixes.
PERTURBATIONS = (
    "prefix_adverb", "suffix_adverb", "both_adverbs", "long_prefix_adverb", "prefix_clause",
    "suffix_clause", "quote", "all",
)  # fmt: skip
# `All` takes the long adverb, not the short (footnote 9), and a clause at either end.
COMBINED = {
    "both_adverbs": ["prefix_adverb", "suffix_adverb"],
    "all": ["long_prefix_adverb", "suffix_adverb", "any_clause", "quote"],
}

# The places in a sentence of the words that each step adds.
STEPS = {
    "prefix_adverb": ("{added}, {body}", SHORT_ADVERBS),
    "suffix_adverb": ("{body}, {added}", [adverb.lower() for adverb in SHORT_ADVERBS]),
    "long_prefix_adverb": ("{added}, {body}", LONG_ADVERBS),
    "prefix_clause": ("{added}, {body}", CLAUSES),
    "suffix_clause": ("{body}, {added}", CLAUSES),
    "quote": ('{added}, "{body}', QUOTES),
}


class Perturber:
    """Perturbs the sentences of one data set, `pool`.

    If words are put before a sentence, its first word loses its capital if it is a function word,
    or if it occurs inside other sentences of the pool, but never with a capital there. So names
    keep their capitals.
    """

    def __init__(self, pool: Iterable[str]) -> None:
        inside = {word for text in pool for word in text.rstrip(".?!").split()[1:]}
        self.lowered = set(FUNCTION_WORDS.split()) | {
            word for word in inside if word.capitalize() not in inside
        }

    def perturb(self, sentence: str, kind: str, rng: np.random.Generator) -> str:
        """Return a sentence after the perturbation `kind`, one of PERTURBATIONS."""
        end = next((end for end in ENDS if sentence.endswith(end)), "")
        body, end = sentence.removesuffix(end), end or "."
        for step in COMBINED.get(kind, [kind]):
            body, end = _with_step(step, self.uncapitalised(body), end, rng)
            body = body[0].upper() + body[1:]
        return body + end

    def uncapitalised(self, body: str) -> str:
        """Return a sentence's body without its first capital, unless the first word keeps it."""
        first = body.split()[0].rstrip(",")
        forms = {first.lower(), re.split("['’]", first.lower())[0]}  # also without an ending 's
        if forms & self.lowered or first in FIRST_WORDS:
            return body[0].lower() + body[1:]
        return body


FIRST_WORDS = {text.split()[0] for text in [*SHORT_ADVERBS, *LONG_ADVERBS]} | {
    clause.split()[0].capitalize() for clause in CLAUSES
}


def _with_step(step: str, body: str, end: str, rng: np.random.Generator) -> tuple[str, str]:
    """Return a sentence's body and end with an adverb, a clause or a quote around them."""
    if step == "any_clause":
        step = "prefix_clause" if rng.integers(2) else "suffix_clause"
    if step == "quote":
        body, end = body[0].upper() + body[1:], f'{end}"'
    place, options = STEPS[step]
    option, name = (list_[int(rng.integers(len(list_)))] for list_ in (options, NAMES))
    return place.format(added=option.format(name=name), body=body), end


def f1(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the F1 score of two bags: twice the number of shared entries over the sum of sizes."""
    left, right = Counter(one), Counter(other)
    return 2 * (left & right).total() / max(left.total() + right.total(), 1)


def words(sentence: str) -> list[str]:
    """Return the words of a sentence in order, in lower case and without punctuation."""
    return re.findall(r"[\w']+", sentence.lower())


def perturbed_prefixes(
    prefixes: pd.DataFrame,
    stimuli: pd.DataFrame,
    suites: Sequence[str],
    sentences: Mapping[str, int],
    seed: int,
) -> Iterator[pd.DataFrame]:
    """Yield a `context_prefixes` table of perturbed matched prefixes of `suites`, suite by suite.

    Each prefix has a row for each of PERTURBATIONS. `sentences` is how many sentences are
    kept of each prefix, by prefix id. `similarity` is the mean F1 between the words of a
    sentence before and after the perturbation (context, Appendix B).
    """
    text = stimuli.set_index("item_id")["text"]
    perturber = Perturber(stimuli["text"])
    wanted = prefixes[prefixes["suite"].isin(suites) & prefixes["kind"].isin(MATCHED)]
    for _, of_suite in wanted.groupby("suite", sort=False):
        rows = []
        for prefix in of_suite.itertuples():
            sources = prefix.source_ids[: sentences[prefix.prefix_id]]
            originals = [text[source] for source in sources]
            for kind in PERTURBATIONS:
                rng = generator(seed, str(prefix.prefix_id), kind)
                changed = [perturber.perturb(sentence, kind, rng) for sentence in originals]
                pairs = zip(originals, changed, strict=True)
                similarity = float(np.mean([f1(words(a), words(b)) for a, b in pairs]))
                rows.append(
                    prefix_row(
                        changed, sources, dataset=prefix.dataset,
                        prefix_id=f"{kind}/{prefix.prefix_id}", kind=prefix.kind,
                        suite=prefix.suite, perturbation=kind, similarity=similarity,
                        pair_ids=list(prefix.pair_ids),
                    )
                )  # fmt: skip
        yield pd.DataFrame(rows)
