"""A model that is loaded once: sentences, words and pairs in, the numbers of the rules out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.api import distributions
from lingprob.api.inputs import (
    Context,
    Given,
    as_contexts,
    as_frame,
    as_pairs,
    as_regions,
    as_words,
    stimuli_of,
    warn_of_trailing_space,
    with_new_columns,
    with_own_columns,
)
from lingprob.api.prepared_models import cache_folder, find_model, find_unigrams, prepared_model
from lingprob.api.scorers import CausalScorer, MaskedScorer
from lingprob.errors import LingprobError
from lingprob.models.folders import is_masked, read_manifest
from lingprob.models.loading import load_prepared
from lingprob.models.masked import load_prepared_masked
from lingprob.scoring.continuations import sum_tokens
from lingprob.scoring.sentences import unigram_sums
from lingprob.workflow import sources
from lingprob.workflow.sources import Run

WITHOUT_SPACES = ("zh", "ja", "th", "km", "lo", "my")


def load(
    model: str | Path,
    *,
    revision: str | None = None,
    family: str | None = None,
    unigrams: str | Path | pd.DataFrame | pd.Series | None = None,
    device: str | None = None,
    dtype: str | None = None,
    tokens_per_batch: int | None = None,
    correction: str | None = None,
    unknown_letters: str = "warn",
    config: str | Path | Mapping[str, Any] | None = None,
    cache: str | Path | None = None,
) -> Model:
    """Load a language model. The first time, it is fetched, prepared and kept.

    Args:
        model: a name of the catalog such as `smollm2-135m`, a folder that transformers can load,
            or a repository of the hub (`owner/name` with a `revision`, or `owner/name@revision`).
        revision: a commit, tag or branch of the repository.
        family: family of a folder or repository, such as gpt2, whose conventions it gets.
        unigrams: log-probabilities (nats) of the vocabulary, for SLOR: the name of a source, a
            Parquet or CSV file or data frame (`token_id`, `logprob`), or a series by token id.
            Default: those of the model's own sources that are in the cache.
        device: auto (a GPU if there is one), cpu, cuda, cuda:N or mps (an Apple GPU, untested).
            Default: `scoring.device`.
        dtype: auto (the catalog's), float32, bfloat16 or float16. Default: `scoring.dtype`.
        tokens_per_batch: tokens that are run at once, which changes only speed and memory.
            Default: `scoring.tokens_per_batch`.
        correction: tokens that a masked model masks together with a token: within_word_l2r
            (default: those of its word that follow it), whole_word or none.
        unknown_letters: `warn` logs texts with letters that the tokenizer cannot represent.
            `refuse` raises LingprobError.
        config: your own entries and conventions: a file laid out as config.yaml, or its content.
        cache: folder where models are kept. Default: LINGPROB_CACHE or ~/.cache/lingprob. The
            folder of a workflow lends its models and unigrams.

    Raises LingprobError if there is no such model, or if it cannot be fetched or loaded.
    """
    name, run = find_model(model, revision, family, config)
    folder, entry = cache_folder(cache), run.catalog.model(name)
    manifest = prepared_model(name, entry, folder / sources.model_manifest(name))
    settings = run.settings["scoring"]
    device, dtype = device or settings["device"], dtype or settings["dtype"]
    budget = tokens_per_batch or settings["tokens_per_batch"]
    found = find_unigrams(unigrams, name, run, folder)
    if is_masked(read_manifest(manifest)["directory"]):
        masked, provenance = load_prepared_masked(manifest, device, dtype, unknown_letters)
        return Model(run, MaskedScorer(name, masked, correction, budget), provenance, found, folder)
    if correction is not None:
        raise LingprobError(
            f"model {name!r} is no masked one, so there is no correction {correction!r}. Leave it "
            "out."
        )
    lm, provenance = load_prepared(
        manifest, entry, device, dtype, settings["device_map"], unknown_letters
    )
    return Model(run, CausalScorer(name, run, lm, budget), provenance, found, folder)


class Model:
    """A loaded language model, causal or masked, as `load` returns it.

    All calls read a sentence in the same way: a start token precedes it, and all of its tokens
    count. `bos` names another BOS policy, and `bos="paper"` is the policy of the model's paper. If
    a tokenizer has no start token, a sentence's first token has no probability and does not count.
    `load` logs a warning of it.

    A masked model predicts a token from both sides. Its logprob is a pseudo-log-likelihood: the sum
    over tokens of each one's log-probability given all others, except those that its correction
    masks with it. It is comparable only within one model and correction. Tables have a column
    `correction` instead of `bos`. Contexts, `bos` and audits are refused.

    `provenance` names the source of the model's files, their digest, dtype and device. `unigrams`
    maps the source of its unigram log-probabilities to these (nats, by token id), if any are known.
    `model` and `tokenizer` are the objects of transformers.
    """

    def __init__(
        self,
        run: Run,
        scorer: CausalScorer | MaskedScorer,
        provenance: dict[str, str],
        unigrams: dict[str, pd.Series],
        cache: Path,
    ) -> None:
        self.name = scorer.name
        self.lm: Any = scorer.lm
        self.run, self.scorer, self.provenance = run, scorer, provenance
        self.unigrams, self.cache = unigrams, cache
        self.model, self.tokenizer = self.lm.model, self.lm.tokenizer
        self.language = str(run.catalog.model(self.name)["language"])

    def __repr__(self) -> str:
        return f"<lingprob {self.scorer!r}, {self.provenance['dtype']} on {self.lm.device}>"

    def score(
        self,
        sentences: Given,
        *,
        context: Context = None,
        context_separator: str | None = None,
        bos: str | None = None,
        chat: bool = False,
    ) -> pd.DataFrame:
        """Return the log-probability of each sentence, one row per sentence in the order given.

        Args:
            sentences: one text, several, or a data frame with a column `sentence` and optionally
                `context`. Other columns and the index are kept.
            context: text that precedes all sentences, or one text for each. Every token of a
                sentence counts after a context. None and an empty text are no context.
            context_separator: text between a context and a sentence. Default: a space, or nothing
                for a model whose entry states a language without spaces.
            bos: the BOS policy, or `paper`. Default: a start token, and every token counts.
            chat: whether the sentences are an assistant's turns, in the layout of the model's chat
                template. A context is then the user's turn.

        Returns:
            sentence, logprob (nats), n_tokens (tokens that count), mean_logprob and, if the model
            has unigrams, unigram_logprob (nats) and slor, (logprob - unigram_logprob) / n_tokens.
            The last column is the BOS policy.

        Raises LingprobError that names the sentence that is empty or too long.
        """
        if chat and not (bos is None and context_separator is None):
            raise LingprobError("chat=True: the template sets bos and separators. Leave them out.")
        frame, convention = as_frame(sentences, "sentence"), self.scorer.convention(bos)
        separator = "" if chat else self._separator(context_separator)
        contexts, texts = as_contexts(context, frame, separator), frame["sentence"].tolist()
        if chat:
            convention = "chat"
            tokens = self.scorer.tokens_in_chat(contexts or [""] * len(texts), texts)
            table = self._summed(tokens, texts, convention)
        elif contexts is None:
            table = self.scorer.sentence_scores(stimuli_of(texts), [convention], self.unigrams)
        else:
            tokens = self.scorer.tokens_in_context(contexts, texts, convention, separator)
            table = self._summed(tokens, texts, convention)
        logprob, n_tokens = table["logprob"].to_numpy(), table["n_tokens"].to_numpy()
        found = {"logprob": logprob, "n_tokens": n_tokens, "mean_logprob": logprob / n_tokens}
        if self.unigrams:
            found["unigram_logprob"] = table["unigram_logprob"].to_numpy()
            found["slor"] = (logprob - found["unigram_logprob"]) / n_tokens
        named = pd.DataFrame(found).assign(**{self.scorer.convention_column: convention})
        return with_new_columns(frame, named)

    def surprisal(
        self,
        texts: Given,
        *,
        context: Context = None,
        regions: Iterable[Any] | None = None,
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return the surprisal of each word or region in bits, one row per word.

        Args:
            texts: one text, several, or a data frame with a column `text` and optionally
                `context` and `regions`, whose other columns are kept.
            context: text that precedes all texts, or one text for each. Its words have no rows.
            regions: a list of regions for each text, or a text with `|` between regions. They spell
                the text, and may be several words or parts of a word, such as `it` and `'s`.
                Default: words between spaces and line breaks.
            bos: the BOS policy, of which only the start token matters. Default: as for `score`.
                `paper` is the default, because its papers put a start token before a text.

        Returns:
            text_id (from 1), word_index (from 0 in its text), word, surprisal (bits, corrected for
            the space after the word: leakage, §3.1), surprisal_uncorrected, n_tokens. A masked
            model also sees the words after a word: its surprisal is -log2 of the word's probability
            given the rest of its text, and it has no surprisal_uncorrected.

        Raises LingprobError for a word or a text that the model cannot read.
        """
        frame = as_frame(texts, "text", may_be_empty=True)
        contexts, cut = as_contexts(context, frame, ""), as_regions(regions, frame)
        words = as_words(frame["text"].tolist(), contexts, cut)
        table = self.scorer.surprisal(words, bos)
        table.insert(2, "word", words["word"].to_numpy())
        table = table[words["of_text"].to_numpy()].reset_index(drop=True)
        table["passage_id"] = table["passage_id"].astype(int)
        table["word_index"] = table.groupby("passage_id").cumcount()
        table = table.rename(columns={"passage_id": "text_id"})
        return with_own_columns(frame, table, {"text", "context", "regions"})

    def tokens(
        self,
        sentences: Given,
        *,
        context: Context = None,
        context_separator: str | None = None,
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return the probability, rank and entropy of each token, one row per token.

        Arguments are those of `score`. A sentence and its context must fit the context window.

        Returns:
            sentence_id (from 1), token_index (from 0), token (its text), token_id, char_start and
            char_end (offsets in the sentence), logprob (nats), surprisal (bits), rank (1 for the
            likeliest token), entropy (bits, of the distribution that predicts the token) and bos.
            A first token without a start token has no logprob, surprisal, rank and entropy.

        Raises LingprobError for a masked model.
        """
        frame, convention = as_frame(sentences, "sentence"), self.scorer.convention(bos)
        separator, texts = self._separator(context_separator), frame["sentence"].tolist()
        contexts = as_contexts(context, frame, separator) or [""] * len(texts)
        start_token = self.scorer.start_token(convention)
        table = distributions.describe_tokens(self.lm, contexts, texts, start_token, separator)
        return with_own_columns(frame, table.assign(bos=convention), {"sentence", "context"})

    def next_tokens(self, context: str, *, top: int = 10, bos: str | None = None) -> pd.DataFrame:
        """Return the likeliest next tokens after a context, one row per token.

        Args:
            context: a text. If it is empty, only the start token precedes.
            top: number of tokens.
            bos: the BOS policy, of which only the start token matters.

        Returns:
            rank (from 1), token (its text), token_id, probability, logprob (nats).

        Raises LingprobError for a masked model, or if nothing precedes the token.
        """
        warn_of_trailing_space([context], "the next token usually brings its own space")
        start_token = self.scorer.start_token(self.scorer.convention(bos))
        return distributions.likeliest_tokens(self.lm, context, start_token, top)

    def next_words(self, context: str, *, top: int = 10, bos: str | None = None) -> pd.DataFrame:
        """Return the likeliest next words after a context, one row per word.

        A word ends before a space, so its probability counts the space after it, as `surprisal`
        does: that of its tokens times that of a space after it, over that of a space before it.

        Args:
            context: a text. If it is empty, only the start token precedes.
            top: number of words.
            bos: the BOS policy, of which only the start token matters.

        Returns:
            rank (from 1), word, probability, logprob (nats), surprisal (bits), n_tokens.

        Raises LingprobError for a masked model, for a model whose tokens begin with no spaces, or
        if nothing precedes the word.
        """
        start_token = self.scorer.start_token(self.scorer.convention(bos))
        return distributions.likeliest_words(self.lm, context, start_token, top)

    def compare(
        self,
        pairs: pd.DataFrame | Iterable[tuple[str, str]],
        *,
        by: str = "phenomenon",
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return how often the model prefers the grammatical sentence of minimal pairs.

        Args:
            pairs: (good, bad) sentences, a table with one row per pair (columns `good`, `bad` and
                optionally `pair`, `phenomenon` and `paradigm`), or a table with one row per
                sentence (`sentence`, `pair` and `grammatical`).
            by: phenomenon, paradigm or pair.
            bos: the BOS policy, as for `score`. If it leaves the first token out, a warning says
                how many pairs differ in that token.

        Returns:
            One row per phenomenon in the order of the pairs, and one for all pairs: its name, n,
            accuracy, accuracy_low and accuracy_high (Wilson's 95% interval), bos. A tie counts one
            half. By pair: pair, good, bad, logprob_good and logprob_bad (nats, as of `score`),
            difference, preferred (good, bad or neither) and bos.
        """
        from lingprob.api.pairs import preference_table

        convention = self.scorer.convention(bos)
        paired = as_pairs(pairs, self.language)
        self.scorer.warn_of_first_tokens(paired, convention)
        scores = self.scorer.sentence_scores(paired, [convention], self.unigrams)
        table = preference_table(paired, scores, by, convention)
        return table.assign(**{self.scorer.convention_column: convention})

    def audit(
        self,
        pairs: pd.DataFrame | Iterable[tuple[str, str]],
        *,
        corpora: Iterable[str | Path] = (),
    ) -> pd.DataFrame:
        """Return the problems of minimal pairs, one row per pair, the worst first.

        Args:
            pairs: as for `compare`.
            corpora: names or files, as for `certify`, in which the sentences are searched.

        Returns:
            The `audit` table, whose columns are described in lingprob.io.schemas.
        """
        from lingprob.api.pairs import audit_pairs

        conventions = self.scorer.audited_conventions()
        paired = as_pairs(pairs, self.language)
        scores = self.scorer.sentence_scores(paired, conventions, self.unigrams)
        convention = (conventions[0], next(iter(self.unigrams), "imported"))
        return audit_pairs(self, paired, scores, convention, list(corpora))

    def _separator(self, given: str | None) -> str:
        return given if given is not None else "" if self.language in WITHOUT_SPACES else " "

    def _summed(self, tokens: pd.DataFrame, texts: list[str], convention: str) -> pd.DataFrame:
        """Return logprob, n_tokens and unigram_logprob of each text, from its tokens."""
        table = sum_tokens(tokens, ["item_id"]).set_index("item_id").reindex(range(len(texts)))
        if table["logprob"].isna().any():
            row = int(table["logprob"].isna().to_numpy().argmax())
            raise LingprobError(
                f"sentence {row + 1}, {texts[row]!r}: no token of it has a score under BOS policy "
                f"{convention!r}. Choose a policy with a start token, such as `bos`."
            )
        table["n_tokens"] = table["n_tokens"].astype(np.int64)
        counted = tokens[tokens["logprob"].notna()]
        for source, logprobs in self.unigrams.items():
            table["unigram_logprob"] = unigram_sums(counted, logprobs, source)
        return table
