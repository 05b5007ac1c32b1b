"""Sentences with nonce words: the syntax of English without its words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lingprob.context.perturbations import FUNCTION_WORDS
from lingprob.context.sampling import generator

# Words that stay, beside those of `perturbations`: they carry the syntax, with the endings below.
CLOSED_CLASSES = """
about above across after against along also although always among am and anybody anyone anything
around as at away back be because been before behind being below beneath beside besides between
beyond but by despite down during either else enough ever everybody everyone everything except
fewer for from further had has have her hers herself him himself his i i'd i'll i'm i've into
itself just least less let like me mine most much must mustn't my myself near needn't neither never
next none nor not now of off often once only onto or other others ought our ours ourselves out over
own past perhaps rather really said same several shall shan't since so somehow something sometimes
somewhere still such than them themselves then there'd there's they'd they're they've though
through throughout till to together too toward towards under unless unlike until up upon us very
was we'd we'll we're we've whenever whereas wherever whether whichever whoever whom whose within
without yet you'd you'll you're you've your yours yourself yourselves one two three four five six
seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand it's that's he's
she's what's who's
"""
FUNCTION = frozenset([*FUNCTION_WORDS.split(), *CLOSED_CLASSES.split()])
# Endings that stay, on stems with a vowel.
ENDINGS = ("'s", "ing", "ed", "ly", "s")
VOWEL = re.compile("[aeiouy]")
# Words that end as if they had an ending, and have none.
WITHOUT_ENDING = ("ss", "us", "is", "eed")
# A letter that is written twice before -ing and -ed alone.
DOUBLED = re.compile(r"([^lsz])\1$")
# Plurals without an ending that stays.
IRREGULAR_PLURALS = """
alumni cacti children feet fungi geese men mice nuclei oxen people phenomena stimuli teeth women
"""
ONSETS = "b bl br ch d dr f fl fr g gl gr h j k kl kr l m n p pl pr r s sk sl sm sn sp t tr v w z"
NUCLEI = "a e i o u ai ee oo"
CODAS = "b d ft g k lt m mp n nd nk p rb rd rk rm rp sk sp t v x"


class NonceWriter:
    """Puts a nonce word in the place of every word of an open class, the same one for one stem.

    Regular endings (-s, -'s, -ed, -ing, -ly) stay, irregular plurals get -s; irregular verb forms
    lose what tells them apart, and with it a violation that consists in it.

    Args:
        sentences: the data set's; none of their words is a nonce word.
        seed: of the nonce words, which depend on it and on the stem alone (so that two stems may
            have one in common).
    """

    def __init__(self, sentences: Iterable[str], seed: int) -> None:
        self.known = {word for text in sentences for word in re.findall(r"\w+", text.lower())}
        self.seed = seed
        self.word_of: dict[str, str] = {}

    def rewrite(self, sentence: str) -> str:
        """Return a sentence with nonce words; capitals and punctuation stay where they are."""
        return re.sub(r"[^\W\d_]+(?:'[^\W\d_]+)?", lambda found: self._word(found[0]), sentence)

    def _word(self, word: str) -> str:
        if word.lower() in FUNCTION:
            return word
        stem, ending = split_ending(word.lower())
        if stem not in self.word_of:
            self.word_of[stem] = self._invented(stem)
        nonce = self.word_of[stem] + ending
        return nonce.capitalize() if word[0].isupper() else nonce

    def _invented(self, stem: str) -> str:
        rng = generator(self.seed, "nonce", stem)
        while True:
            parts = [ONSETS, NUCLEI, ONSETS, NUCLEI, CODAS]
            word = "".join(str(rng.choice(part.split())) for part in parts)
            if word not in self.known:
                return word


def split_ending(word: str) -> tuple[str, str]:
    """Split a word in lower case into what tells its stem from others, and its ending.

    `hug`, `hugs` and `hugged`, like `make` and `making`, have one stem.
    """
    if word in IRREGULAR_PLURALS.split():
        return word, "s"
    if not word.endswith(WITHOUT_ENDING):
        for ending in ENDINGS:
            stem = word.removesuffix(ending)
            if stem != word and len(stem) > 1 and VOWEL.search(stem):
                doubled = ending in ("ing", "ed") and DOUBLED.search(stem)
                return (stem[:-1] if doubled else stem.rstrip("e")), ending
    return word.rstrip("e"), ""
