"""A masked model that is loaded once: pseudo-log-likelihoods of sentences, words and pairs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

from lingprob.api.inputs import as_pairs, as_texts, as_words
from lingprob.api.scores import score_table, stimuli_of
from lingprob.errors import LingprobError, looked_up
from lingprob.models.masked import MaskedLanguageModel
from lingprob.scoring.masked import CORRECTIONS, score_masked
from lingprob.scoring.sentences import summarise_sentences
from lingprob.workflow.sources import Run


class MaskedModel:
    """A loaded masked language model, which predicts tokens from both sides; `load` makes it.

    A log-probability is a pseudo-log-likelihood: the sum over tokens of each one's given all others
    but those that `correction` masks with it (lingprob.scoring.masked). It is that of no
    distribution over sentences, and compares with that of the same model under the same correction
    alone. `provenance` and `unigrams` are as those of `Model`.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        lm: MaskedLanguageModel,
        provenance: dict[str, str],
        unigrams: dict[str, pd.Series],
        correction: str | None,
    ) -> None:
        self.name, self.run, self.lm, self.provenance = name, run, lm, provenance
        self.unigrams = unigrams
        self.correction = correction or CORRECTIONS[0]
        looked_up("correction", self.correction, dict.fromkeys(CORRECTIONS), "(correction)")

    def __repr__(self) -> str:
        kind = f"masked model {self.name}, {self.correction}"
        return f"<lingprob {kind}, {self.provenance['dtype']} on {self.lm.device}>"

    def score(
        self,
        sentences: str | Iterable[str],
        *,
        context: str | Iterable[str | None] | None = None,
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return the pseudo-log-likelihood of each sentence, a row a sentence in the order given.

        Args:
            sentences: texts; of a series the index is kept.
            context, bos: refused, as a masked model has neither.

        Returns:
            As `Model.score`, with the correction in the place of the BOS policy.

        Raises LingprobError that names the sentence that is empty or too long.
        """
        self._refuse_sides(context, bos)
        index = sentences.index if isinstance(sentences, pd.Series) else None
        texts = as_texts(sentences, "sentence")
        table = self.sentence_scores(stimuli_of(texts), [self.correction])
        has_unigrams = bool(self.unigrams)
        return score_table(texts, table, has_unigrams, index).assign(correction=self.correction)

    def sentence_scores(
        self, stimuli: pd.DataFrame, policies: Iterable[str], dataset: str = "sentences"
    ) -> pd.DataFrame:
        """Return the `sentence_scores` table of a `stimuli` table; `bos` has the correction."""
        items, texts = stimuli["item_id"].tolist(), stimuli["text"].tolist()
        scores = {
            correction: score_masked(
                self.lm, items, texts, correction, dataset=dataset,
                tokens_per_batch=self.run.settings["scoring"]["tokens_per_batch"],
            )
            for correction in policies
        }  # fmt: skip
        read = {one: {"start_token": one, "first_token": "scored"} for one in scores}
        return summarise_sentences(stimuli, scores, read, self.unigrams)

    def surprisal(self, text: str | Iterable[str]) -> pd.DataFrame:
        """Return -log2 of each word's probability given the rest of its text, a row a word.

        Args:
            text: a text, or several; a word is what stands between blanks or line breaks.

        Returns:
            text_id (from 1), word_index (from 0 in its text), word, surprisal (bits: minus the sum
            over the word's tokens), n_tokens. What follows a word is seen, too, so this is no
            prediction from left to right.

        Raises LingprobError for a text that is too long, and for a word without a token.
        """
        words = as_words(text)
        texts = words.groupby("passage_id", sort=False)["word"].agg(" ".join)
        tokens = score_masked(
            self.lm, texts.index.tolist(), texts.tolist(), self.correction, dataset="texts",
            tokens_per_batch=self.run.settings["scoring"]["tokens_per_batch"],
        )  # fmt: skip
        begins = words.groupby("passage_id")["word"].transform(
            lambda some: some.str.len().add(1).cumsum().shift(fill_value=0)
        )
        rows = []
        for name, some in tokens.groupby("item_id", sort=False):
            of_text = words["passage_id"] == name
            number = np.searchsorted(begins[of_text], some["char_end"] - 1, side="right") - 1
            rows.append(words.index[of_text][number])
        by_word = tokens["logprob"].astype(float).groupby(np.concatenate(rows))
        found = pd.DataFrame(
            {
                "text_id": words["passage_id"].astype(int),
                "word_index": words["word_index"],
                "word": words["word"],
                "surprisal": -by_word.sum().reindex(words.index) / np.log(2),
                "n_tokens": by_word.size().reindex(words.index, fill_value=0),
            }
        )
        if (found["n_tokens"] == 0).any():
            word = found.loc[found["n_tokens"].idxmin()]
            raise LingprobError(
                f"text {word['text_id']}, word {word['word_index'] + 1}, {word['word']!r}: the "
                "tokenizer makes nothing of it. Leave it out."
            )
        return found

    def compare(
        self,
        pairs: pd.DataFrame | Iterable[tuple[str, str]],
        *,
        by: str = "phenomenon",
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return how often the model prefers the grammatical sentence; see `Model.compare`."""
        from lingprob.api.pairs import compare_pairs

        self._refuse_sides(None, bos)
        language = self.run.catalog.model(self.name)["language"]
        table = compare_pairs(self, as_pairs(pairs, language), by, self.correction)
        return table.assign(correction=self.correction)

    def audit(self, pairs: object, *, corpora: Iterable[str | Path] = ()) -> NoReturn:
        """Refuse to audit: an audit varies start tokens, which a masked model has not."""
        raise LingprobError(
            f"model {self.name!r} is a masked one, and an audit asks which start tokens flip a "
            "verdict. Take a causal model; `compare` judges pairs by this one."
        )

    def _refuse_sides(self, context: object, bos: str | None) -> None:
        """Raise LingprobError for what only a model from left to right can take."""
        if context is not None:
            raise LingprobError(
                f"model {self.name!r} is a masked one, which has no probability of a sentence "
                "after a context: it sees both sides of a token. Leave the context out, or take a "
                "causal model."
            )
        if bos is not None:
            raise LingprobError(
                f"model {self.name!r} is a masked one, with its own marks around every sentence. "
                f"Leave bos={bos!r} out; what it has is a `correction`: {', '.join(CORRECTIONS)}."
            )
