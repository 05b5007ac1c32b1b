"""Modified Kneser-Ney from its definition, one n-gram at a time, and the corpus of the tests.

`ngram_facts.arpa` is the output of KenLM's lmplz 0.3.0 for that corpus:

    lmplz -o 3 --discount_fallback --vocab_pad 30 --text text --arpa ngram_facts.arpa

The lines of `text` are the sentences of `corpus()`, ids written as numbers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

FACTS = Path(__file__).with_name("ngram_facts.arpa")
ORDER, VOCABULARY, MARK = 3, 30, 0


def corpus(seed: int = 7, n_sentences: int = 150) -> list[np.ndarray]:
    """Sentences of the ids 2 to 24, a few of them frequent; 25 to 29 and 1 never occur."""
    rng = np.random.default_rng(seed)
    return [2 + rng.zipf(1.4, size=rng.integers(1, 9)) % 23 for _ in range(n_sentences)]


def arpa_ngrams() -> Iterator[tuple[list, float]]:
    """Yield token ids and ln p of each n-gram of FACTS. Both marks are MARK."""
    for line in FACTS.read_text().splitlines():
        parts = line.split("\t")
        if len(parts) > 1 and "<unk>" not in parts[1]:
            words = [MARK if word in ("<s>", "</s>") else int(word) for word in parts[1].split()]
            yield words, float(parts[0]) * np.log(10)


class KneserNey:
    """A model as Chen & Goodman (1998, §4.1.6) write it down; probabilities by recursion."""

    def __init__(self, sentences: Sequence[np.ndarray], order: int, vocabulary: int) -> None:
        self.vocabulary = vocabulary
        marked = [("<s>", *map(int, ids), "</s>") for ids in sentences]
        raw = {
            n: Counter(
                gram
                for words in marked
                for gram in zip(*(words[k:] for k in range(n)), strict=False)
                if gram != ("<s>",)
            )
            for n in range(1, order + 1)
        }
        self.counts: dict[int, Counter] = {order: raw[order]}
        for n in range(1, order):
            self.counts[n] = Counter(gram[1:] for gram in raw[n + 1])
            self.counts[n] |= {g: c for g, c in raw[n].items() if g[0] == "<s>"}
        self.discounts = {n: self._discounts(counts) for n, counts in self.counts.items()}

    @staticmethod
    def _discounts(counts: Counter) -> list[float]:
        n1, n2, n3, n4 = (sum(c == size for c in counts.values()) for size in (1, 2, 3, 4))
        if not n1 * n2 * n3:
            return [0, 0.5, 1, 1.5]
        y = n1 / (n1 + 2 * n2)
        found = [0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3]
        in_range = all(0 <= d <= size for size, d in enumerate(found))
        return found if in_range else [0, 0.5, 1, 1.5]

    def probability(self, word: int | str, context: tuple) -> float:
        """p(word | context), which may be longer than the order allows."""
        n = min(len(context) + 1, max(self.counts))
        context = context[len(context) - n + 1 :]
        counts, discounts = self.counts[n], self.discounts[n]
        after = {gram[-1]: c for gram, c in counts.items() if gram[:-1] == context}
        below = 1 / self.vocabulary if n == 1 else self.probability(word, context[1:])
        if not after:
            return below
        total, c = sum(after.values()), after.get(word, 0)
        taken = sum(discounts[min(count, 3)] for count in after.values())
        return (c - discounts[min(c, 3)] + taken * below) / total
