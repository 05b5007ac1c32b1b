"""What a causal and a masked model do with sentences and words, behind one `Model`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from lingprob.api.distributions import describe_tokens, likeliest_tokens
from lingprob.errors import LingprobError, looked_up
from lingprob.models.loading import LanguageModel
from lingprob.models.masked import MaskedLanguageModel
from lingprob.scoring.continuations import ContextItem
from lingprob.scoring.engine import Scorer
from lingprob.scoring.growing_prefixes import score_in_context
from lingprob.scoring.sentences import summarise_sentences
from lingprob.scoring.stimuli import CORRECTIONS, score_masked, score_stimuli
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

logger = logging.getLogger(__name__)

SENTENCES = "sentences"
PAPER = "paper"
# What may precede a text if a model's own entry names nothing that its tokenizer has.
START_TOKENS = ("bos", "endoftext", "eos")
PROBE = "The old cat sat on the mat, and nobody saw it."


class CausalScorer:
    """Log-probabilities from left to right; a convention is a BOS policy."""

    convention_column = "bos"

    def __init__(
        self, name: str, run: Run, lm: LanguageModel, tokens_per_batch: int | None
    ) -> None:
        self.name, self.run, self.lm = name, run, lm
        self.engine = Scorer(lm, tokens_per_batch)
        on_gpu = lm.device.type == "cuda"
        budget = tokens_per_batch if on_gpu else None
        self.context_engine = Scorer(lm, budget, self.engine.forward)
        # The model is checked here, so that not the first call pays for it.
        start_id = lm.start_id(self.policy(self.default)["start_token"])
        before = [] if start_id is None else [start_id]
        self.engine.prepare([np.array([*before, *lm.tokenize([PROBE])[0].ids])], start_id)

    def __repr__(self) -> str:
        return f"model {self.name}"

    def policy(self, bos: str) -> dict[str, str]:
        """Return the start token of a BOS policy, and what becomes of the first token."""
        looked_up("BOS policy", bos, self.run.catalog.bos_policies)
        return sources.bos_policy(self.run, bos)

    @cached_property
    def default(self) -> str:
        """The policy that puts the model's start token before a sentence and counts every token.

        The start token is the first of its own policies' that its tokenizer has. Otherwise it is
        the tokenizer's BOS token, or else its end of text, which precedes a text in training. If
        it has none of these, the first token is left out, and a warning is logged.
        """
        catalog, own = self.run.catalog, self.run.catalog.model(self.name)["bos_policies"]
        counted: dict[str, str] = {}
        for name in (*own, *catalog.bos_policies):
            if catalog.bos_policies[name]["first_token"] == "scored":
                counted.setdefault(catalog.start_token_of(name), name)
        for start_token in (*map(catalog.start_token_of, own), *START_TOKENS):
            literal = catalog.start_tokens[start_token]
            if literal != "none" and start_token in counted and self._has(literal):
                return counted[start_token]
        logger.warning(
            "%s: its tokenizer has no start token, so the first token of a sentence has no "
            "probability and is left out (BOS policy 'none').", self.name,
        )  # fmt: skip
        return "none"

    def convention(self, bos: str | None) -> str:
        """Return the BOS policy that a call means: the default, the paper's, or one by name."""
        if bos == PAPER:
            return str(self.run.catalog.model(self.name)["bos_policies"][0])
        if bos is not None:
            self.policy(bos)
        return bos or self.default

    def audited_conventions(self) -> list[str]:
        """Return the default policy and those of the model's entry."""
        own = self.run.catalog.model(self.name)["bos_policies"]
        return list(dict.fromkeys([self.default, *own]))

    def sentence_scores(
        self,
        stimuli: pd.DataFrame,
        conventions: Iterable[str],
        unigrams: Mapping[str, pd.Series],
    ) -> pd.DataFrame:
        """Return the `sentence_scores` table of a `stimuli` table under some BOS policies."""
        window, chosen = self.lm.context_window, {bos: self.policy(bos) for bos in conventions}
        scores = {
            start_token: score_stimuli(
                self.lm,
                stimuli["item_id"].tolist(),
                stimuli["text"].tolist(),
                start_token,
                dataset=SENTENCES,
                window=window,
                stride=window // 2,
                scorer=self.engine,
            )
            for start_token in dict.fromkeys(one["start_token"] for one in chosen.values())
        }
        return summarise_sentences(stimuli, scores, chosen, unigrams)

    def tokens_in_context(
        self, contexts: list[str], texts: list[str], bos: str, separator: str
    ) -> pd.DataFrame:
        """Return `score_in_context`'s row a token of each text, its place in them as item_id."""
        places: dict[str, list[int]] = {}
        for place, context in enumerate(contexts):
            places.setdefault(context, []).append(place)
        items = [
            ContextItem(context, [len(context)], [texts[place] for place in some])
            for context, some in places.items()
        ]
        tokens = score_in_context(
            self.lm,
            items,
            start_token=self.policy(bos)["start_token"],
            scorer=self.context_engine,
            separator=separator,
        )
        rows = np.concatenate([np.array(some) for some in places.values()])
        first = np.cumsum([0, *map(len, places.values())])
        tokens["item_id"] = rows[first[tokens["item_index"]] + tokens["target_index"]]
        return tokens

    def surprisal(self, words: pd.DataFrame, bos: str | None) -> pd.DataFrame:
        """Return the `surprisal` table of a `words` table (bits)."""
        from lingprob.reading.surprisal import word_surprisals

        settings = self.run.settings["reading"]
        # The paper's surprisals follow a start token even if its sums over sentences do not.
        chosen = self.default if bos == PAPER else self.convention(bos)
        return word_surprisals(
            self.lm,
            words,
            start_token=self.policy(chosen)["start_token"],
            context=settings["context"],
            window_counts=settings["window_counts"],
            scorer=self.engine,
        )

    def describe_tokens(
        self, contexts: list[str], texts: list[str], bos: str, separator: str
    ) -> pd.DataFrame:
        """Return a row a token of each text after its context, with its rank and entropy."""
        start_token = self.policy(bos)["start_token"]
        return describe_tokens(self.lm, contexts, texts, start_token, separator)

    def likeliest_tokens(self, context: str, bos: str, top: int) -> pd.DataFrame:
        """Return the likeliest tokens after a context."""
        return likeliest_tokens(self.lm, context, self.policy(bos)["start_token"], top)

    def warn_of_first_tokens(self, paired: pd.DataFrame, bos: str) -> None:
        """Warn if sentences of a pair differ in a first token that a BOS policy leaves out."""
        if self.policy(bos)["first_token"] == "scored":
            return
        first = pd.Series([one.ids[0] for one in self.lm.tokenize(paired["text"].tolist())])
        different = first.groupby(paired["pair_id"].to_numpy()).nunique() > 1
        if different.any():
            logger.warning(
                "%s: %d of %d pairs differ in their first token, which does not count under BOS "
                "policy %r.", self.name, different.sum(), len(different), bos,
            )  # fmt: skip

    def _has(self, start_token: str) -> bool:
        try:
            self.lm.start_id(start_token)
        except LingprobError:
            return False
        return True


class MaskedScorer:
    """Pseudo-log-likelihoods, from both sides; a convention is what is masked with a token."""

    convention_column = "correction"

    def __init__(
        self,
        name: str,
        lm: MaskedLanguageModel,
        correction: str | None,
        tokens_per_batch: int | None = None,
    ) -> None:
        self.name, self.lm, self.tokens_per_batch = name, lm, tokens_per_batch
        self.correction = correction or CORRECTIONS[0]
        looked_up("correction", self.correction, dict.fromkeys(CORRECTIONS), "(correction)")

    def __repr__(self) -> str:
        return f"masked model {self.name}, {self.correction}"

    def convention(self, bos: str | None) -> str:
        """Return the correction; raise LingprobError for a BOS policy."""
        if bos is not None:
            raise LingprobError(
                f"model {self.name!r} is a masked one, with its own marks around every sentence. "
                f"Leave bos={bos!r} out; what it has is a `correction`: {', '.join(CORRECTIONS)}."
            )
        return self.correction

    def audited_conventions(self) -> list[str]:
        """Raise LingprobError: an audit varies start tokens, which a masked model has not."""
        raise LingprobError(
            f"model {self.name!r} is a masked one, and an audit asks which start tokens flip a "
            "verdict. Take a causal model; `compare` judges pairs by this one."
        )

    def sentence_scores(
        self,
        stimuli: pd.DataFrame,
        conventions: Iterable[str],
        unigrams: Mapping[str, pd.Series],
    ) -> pd.DataFrame:
        """Return the `sentence_scores` table of a `stimuli` table; `bos` has the correction."""
        items, texts = stimuli["item_id"].tolist(), stimuli["text"].tolist()
        scores = {one: self._tokens(items, texts, one, SENTENCES) for one in conventions}
        read = {one: {"start_token": one, "first_token": "scored"} for one in scores}
        return summarise_sentences(stimuli, scores, read, unigrams)

    def tokens_in_context(self, *_: Any) -> pd.DataFrame:
        """Raise LingprobError: only a model from left to right takes a context."""
        raise LingprobError(
            f"model {self.name!r} is a masked one, which has no probability of a sentence after a "
            "context: it sees both sides of a token. Leave the context out, or take a causal model."
        )

    def describe_tokens(self, *_: Any) -> pd.DataFrame:
        """Raise LingprobError: no single pass has the distributions of all tokens."""
        raise LingprobError(
            f"model {self.name!r} is a masked one, which predicts no next token. Take a causal "
            "model; `score` and `surprisal` take this one."
        )

    likeliest_tokens = describe_tokens

    def surprisal(self, words: pd.DataFrame, bos: str | None) -> pd.DataFrame:
        """Return -log2 (bits) of each word's probability given the rest of its passage.

        Raises LingprobError for a word without a token.
        """
        correction = self.convention(bos)
        texts = words.groupby("passage_id", sort=False)["word"].agg(" ".join)
        tokens = self._tokens(texts.index.tolist(), texts.tolist(), correction, "texts")
        begins = words.groupby("passage_id")["word"].transform(
            lambda some: some.str.len().add(1).cumsum().shift(fill_value=0)
        )
        rows = []
        for name, some in tokens.groupby("item_id", sort=False):
            of_text = words["passage_id"] == name
            number = np.searchsorted(begins[of_text], some["char_end"] - 1, side="right") - 1
            rows.append(words.index[of_text][number])
        by_word = tokens["logprob"].astype(float).groupby(np.concatenate(rows))
        found = words[["passage_id", "word_index"]].assign(
            surprisal=-by_word.sum().reindex(words.index) / np.log(2),
            n_tokens=by_word.size().reindex(words.index, fill_value=0),
        )
        if (found["n_tokens"] == 0).any():
            word = words.loc[found["n_tokens"].idxmin()]
            raise LingprobError(
                f"text {word['passage_id']}, word {word['word_index'] + 1}, {word['word']!r}: the "
                "tokenizer makes nothing of it. Leave it out."
            )
        return found

    def warn_of_first_tokens(self, *_: Any) -> None:
        """Warn of nothing: every token counts."""

    def _tokens(
        self, items: list[str], texts: list[str], correction: str, dataset: str
    ) -> pd.DataFrame:
        return score_masked(
            self.lm, items, texts, correction, dataset=dataset,
            tokens_per_batch=self.tokens_per_batch,
        )  # fmt: skip
