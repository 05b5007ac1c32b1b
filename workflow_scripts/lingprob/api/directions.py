"""The two kinds of `Model`: those that read from left to right, and those that see both sides."""

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, looked_up
from lingprob.models.loading import LanguageModel
from lingprob.models.masked import MaskedLanguageModel
from lingprob.scoring.continuations import ContextItem, score_in_context
from lingprob.scoring.engine import Scorer
from lingprob.scoring.sentences import summarise_sentences
from lingprob.scoring.stimuli import CORRECTIONS, score_masked, score_stimuli
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

logger = logging.getLogger(__name__)

SENTENCES = "sentences"
PAPER = "paper"
# Start tokens to try if the tokenizer lacks those of the model's catalog entry.
START_TOKENS = ("bos", "endoftext", "eos")
Unigrams = Mapping[str, pd.Series]


class LeftToRight:
    """A causal model, which reads from left to right. Its conventions are BOS policies."""

    convention_column = "bos"

    def __init__(
        self, name: str, run: Run, lm: LanguageModel, tokens_per_batch: int | None
    ) -> None:
        self.name, self.run, self.lm = name, run, lm
        self.own_policies = list(run.catalog.model(name)["bos_policies"])
        setting = run.settings["scoring"]["tokens_per_batch"]
        self.scorer = Scorer(lm, tokens_per_batch or setting)
        # On a CPU, texts after contexts have their own default batch size.
        default = setting if lm.device.type == "cuda" else None
        self.context_scorer = Scorer(lm, tokens_per_batch or default, self.scorer.forward)
        self.default = self._default_policy()

    def policy(self, bos: str) -> dict[str, str]:
        """Return a BOS policy: its `start_token`, and whether the `first_token` is scored."""
        policies = self.run.catalog.bos_policies.items()
        others = (*self.run.catalog.corrections, "imported")  # of masked models, or of scores
        looked_up("BOS policy", bos, {name: one for name, one in policies if name not in others})
        return sources.bos_policy(self.run, bos)

    def start_token(self, bos: str) -> str:
        """Return the start token of a BOS policy."""
        return self.policy(bos)["start_token"]

    def _default_policy(self) -> str:
        """Return the default BOS policy: a start token precedes the text, and every token counts.

        The start token is the first one of the model's own policies that its tokenizer has, or else
        the tokenizer's BOS or end-of-text token. Without any of them, the policy is `none`, which
        leaves the first token out, and a warning is logged.
        """
        catalog = self.run.catalog
        counted: dict[str, str] = {}
        for name in (*self.own_policies, *catalog.bos_policies):
            if catalog.bos_policies[name]["first_token"] == "scored":
                counted.setdefault(catalog.start_token_of(name), name)
        for start_token in (*map(catalog.start_token_of, self.own_policies), *START_TOKENS):
            literal = catalog.start_tokens[start_token]
            if literal != "none" and start_token in counted:
                with suppress(LingprobError):
                    self.lm.start_id(literal)
                    return counted[start_token]
        logger.warning(
            "%s: its tokenizer has no start token, so the first token of a sentence has no "
            "probability and is left out (BOS policy 'none').", self.name,
        )  # fmt: skip
        return "none"

    def convention(self, bos: str | None) -> str:
        """Return the BOS policy `bos`: the default (None), the paper's (`paper`) or any other."""
        if bos == PAPER:
            return self.own_policies[0]
        if bos is not None:
            self.policy(bos)
        return bos or self.default

    def audited_conventions(self) -> list[str]:
        """Return an audit's BOS policies: the default and those of the model's entry."""
        return list(dict.fromkeys([self.default, *self.own_policies]))

    def sentence_scores(
        self, stimuli: pd.DataFrame, conventions: Iterable[str], unigrams: Unigrams
    ) -> pd.DataFrame:
        """Return the `sentence_scores` table of a `stimuli` table under several BOS policies."""
        items, texts = stimuli["item_id"].tolist(), stimuli["text"].tolist()
        policies = {bos: self.policy(bos) for bos in conventions}
        scores = {
            start_token: score_stimuli(self.scorer, items, texts, start_token, dataset=SENTENCES)
            for start_token in {policy["start_token"] for policy in policies.values()}
        }
        return summarise_sentences(stimuli, scores, policies, unigrams)

    def tokens_in_context(
        self, contexts: list[str], texts: list[str], bos: str, separator: str
    ) -> pd.DataFrame:
        """Return the table of `score_in_context`, with each text's number (from 0) as item_id."""
        groups = list(pd.Series(texts).groupby(np.array(contexts, dtype=object), sort=False))
        items = [ContextItem(str(name), [len(str(name))], part.tolist()) for name, part in groups]
        tokens = score_in_context(
            self.context_scorer, items, start_token=self.start_token(bos), separator=separator
        )
        rows = np.concatenate([part.index for _, part in groups])
        first = np.cumsum([0, *(len(part) for _, part in groups)])
        tokens["item_id"] = rows[first[tokens["item_index"]] + tokens["target_index"]]
        return tokens

    def tokens_in_chat(self, prompts: list[str], texts: list[str]) -> pd.DataFrame:
        """Return the table of `score_turns`, for texts that are turns of an assistant."""
        from lingprob.api.chat import score_turns

        return score_turns(self.scorer, prompts, texts)

    def surprisal(self, words: pd.DataFrame, bos: str | None) -> pd.DataFrame:
        """Return the `surprisal` table (bits) of a `words` table."""
        from lingprob.reading.surprisal import word_surprisals

        settings = self.run.settings["reading"]
        # The leakage paper puts a start token before a text even if the policy `paper` has none.
        chosen = self.default if bos == PAPER else self.convention(bos)
        return word_surprisals(
            self.lm,
            words,
            start_token=self.start_token(chosen),
            context=settings["context"],
            window_counts=settings["window_counts"],
            scorer=self.scorer,
        )

    def warn_of_first_tokens(self, paired: pd.DataFrame, bos: str) -> None:
        """Log a warning if the sentences of a pair differ in the first token and it is excluded."""
        if self.policy(bos)["first_token"] == "scored":
            return
        tokens = self.lm.tokenize(paired["text"].tolist())
        first = pd.Series([tuple(one.ids[:1]) for one in tokens])
        different = first.groupby(paired["pair_id"].to_numpy()).nunique() > 1
        if different.any():
            logger.warning(
                "%s: %d of %d pairs differ in their first token, which does not count under BOS "
                "policy %r.", self.name, different.sum(), len(different), bos,
            )  # fmt: skip


class BothSides:
    """A masked model, which gives pseudo-log-likelihoods. Its conventions are corrections."""

    convention_column = "correction"
    scorer: Any = None  # which only a causal model has

    def __init__(
        self, name: str, lm: MaskedLanguageModel, correction: str | None, tokens_per_batch: int
    ) -> None:
        self.name, self.lm, self.tokens_per_batch = name, lm, tokens_per_batch
        self.correction = correction or CORRECTIONS[0]
        looked_up("correction", self.correction, dict.fromkeys(CORRECTIONS), "(correction)")

    def convention(self, bos: str | None) -> str:
        """Return the correction. Raises LingprobError if the call names a BOS policy."""
        if bos is not None:
            raise LingprobError(
                f"model {self.name!r} is a masked one, which puts its own marks around sentences. "
                f"Leave bos={bos!r} out, or choose a `correction`: {', '.join(CORRECTIONS)}."
            )
        return self.correction

    def sentence_scores(
        self, stimuli: pd.DataFrame, conventions: Iterable[str], unigrams: Unigrams
    ) -> pd.DataFrame:
        """Return the `sentence_scores` table of a `stimuli` table, with corrections as `bos`."""
        items, texts = stimuli["item_id"].tolist(), stimuli["text"].tolist()
        scores = {one: self._tokens(items, texts, one, SENTENCES) for one in conventions}
        read = {one: {"start_token": one, "first_token": "scored"} for one in scores}
        return summarise_sentences(stimuli, scores, read, unigrams)

    def start_token(self, *_: Any) -> Any:
        """Raise LingprobError for a call that only a model from left to right can answer."""
        raise LingprobError(
            f"model {self.name!r} is a masked one, which has no start tokens to compare, reads no "
            "context before a text and predicts no next token. Use `score`, `surprisal` or "
            "`compare` without contexts, or load a causal model."
        )

    audited_conventions = tokens_in_context = tokens_in_chat = start_token

    def surprisal(self, words: pd.DataFrame, bos: str | None) -> pd.DataFrame:
        """Return each word's surprisal (bits) given the rest of its passage, for a `words` table.

        The columns are passage_id, word_index, surprisal and n_tokens. Raises LingprobError for a
        context, for a word without a token, and for a token that spans two regions.
        """
        from lingprob.reading.surprisal import join_words, passages_of

        if not words["of_text"].all():
            self.tokens_in_context()
        pieces = passages_of(words, "passage")
        names = [piece.name for piece in pieces]
        texts = [join_words(piece.words, piece.glued) for piece in pieces]
        scores = self._tokens(names, texts, self.convention(bos), "texts")
        tables = []
        for piece, (_, some) in zip(pieces, scores.groupby("item_id", sort=False), strict=True):
            ends = np.cumsum([len(word) for word in piece.words] + ~piece.glued) - 1
            index = np.searchsorted(ends, some["char_end"] - 1, side="right")
            split = piece.glued[index] & (some["char_start"] < ends[index - 1]).to_numpy()
            if split.any():
                region = piece.words[index[split][0]]
                raise LingprobError(
                    f"{piece.name}: a token spans the regions before and of {region!r}. Join them."
                )
            n_tokens = np.bincount(index, minlength=len(piece.words))
            if not n_tokens.all():
                word = int(n_tokens.argmin())
                raise LingprobError(
                    f"{piece.name}, word {word + 1}, {piece.words[word]!r}: the tokenizer has no "
                    "token for it. Leave it out."
                )
            surprisal = np.bincount(index, -some["logprob"].astype(float)) / np.log(2)
            tables.append(piece.keys.assign(surprisal=surprisal, n_tokens=n_tokens))
        return pd.concat(tables)

    def warn_of_first_tokens(self, *_: Any) -> None:
        """Do nothing, because a masked model scores every token."""

    def _tokens(
        self, items: list[str], texts: list[str], correction: str, dataset: str
    ) -> pd.DataFrame:
        return score_masked(
            self.lm, items, texts, correction, dataset=dataset,
            tokens_per_batch=self.tokens_per_batch,
        )  # fmt: skip
