"""A model that is loaded once: sentences, words and pairs in, numbers of the rules out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.api.inputs import as_contexts, as_pairs, as_texts, as_words, stimuli_of
from lingprob.api.prepared_models import cache_folder, find_model, find_unigrams, prepared_model
from lingprob.api.scorers import CausalScorer, MaskedScorer
from lingprob.errors import LingprobError
from lingprob.models.folders import is_masked, read_manifest
from lingprob.models.loading import load_prepared
from lingprob.models.masked import load_prepared_masked
from lingprob.scoring.growing_prefixes import sum_tokens
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
    """Load a language model; the first time it is fetched and prepared, and kept.

    Args:
        model: a name of the catalog such as `smollm2-135m`, a folder as transformers saves models,
            or a repository of the hub, `owner/name` with a `revision` or `owner/name@revision`.
        revision: a commit, tag or branch of the repository.
        family: of a folder or repository; a known one (pythia, opt, gpt2) brings its conventions.
        unigrams: log-probabilities (nats) of the vocabulary, for SLOR: a source's name, a Parquet
            or CSV file or data frame (`token_id`, `logprob`), or a series by token id; by default
            what the cache has of the model's sources.
        device: auto (a GPU if there is one), cpu, cuda, cuda:N or mps (an Apple GPU, not tried
            yet); `scoring.device` if None.
        dtype: auto (the catalog's), float32, bfloat16 or float16; `scoring.dtype` if None.
        tokens_per_batch: tokens that are run at once, which changes speed and memory alone;
            `scoring.tokens_per_batch` if None.
        correction: of a masked model: what is masked with a token, within_word_l2r (if None: the
            tokens of its word that follow it), whole_word or none.
        unknown_letters: `warn` logs texts with letters that the tokenizer cannot represent,
            `refuse` raises LingprobError.
        config: a file laid out as config.yaml, or its content: entries of one's own, conventions.
        cache: where models are kept: LINGPROB_CACHE or ~/.cache/lingprob, if None. The folder of a
            workflow lends its models and unigrams.

    Raises LingprobError if there is no such model, or it cannot be had or loaded.
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
            f"model {name!r} is no masked one: nothing of a sentence is masked, so there is no "
            f"correction {correction!r}. Leave it out."
        )
    lm, provenance = load_prepared(
        manifest, entry, device, dtype, settings["device_map"], unknown_letters
    )
    return Model(run, CausalScorer(name, run, lm, budget), provenance, found, folder)


class Model:
    """A loaded language model, causal or masked; `load` makes it.

    Every call reads a sentence in the same way: a start token precedes it, and all of its tokens
    count. `bos` names another BOS policy, and `bos="paper"` is that of the model's paper. If a
    tokenizer has no start token, a sentence's first token has no probability and does not count;
    `load` warns of it.

    A masked model predicts a token from both sides. Its logprob is a pseudo-log-likelihood: the sum
    over tokens of each one's given all others but those that its correction masks with it. It
    compares with that of the same model under the same correction alone. Tables have a column
    `correction` in the place of `bos`. Contexts, `bos` and audits are refused.

    `provenance` says where its files are from, their digest, dtype and device. `unigrams` has the
    source of its unigram log-probabilities and these (nats, by token id), if any are known. `model`
    and `tokenizer` are those of transformers.
    """

    def __init__(
        self,
        run: Run,
        scorer: CausalScorer | MaskedScorer,
        provenance: dict[str, str],
        unigrams: dict[str, pd.Series],
        cache: Path,
    ) -> None:
        self.name, self.lm = scorer.name, scorer.lm
        self.run, self.scorer, self.provenance = run, scorer, provenance
        self.unigrams, self.cache = unigrams, cache

    def __repr__(self) -> str:
        return f"<lingprob {self.scorer!r}, {self.provenance['dtype']} on {self.lm.device}>"

    @property
    def model(self) -> Any:
        """The model of transformers."""
        return self.lm.model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return self.lm.tokenizer

    @property
    def entry(self) -> dict[str, Any]:
        """The model's entry in the catalog."""
        return self.run.catalog.model(self.name)

    def score(
        self,
        sentences: str | Iterable[str],
        *,
        context: str | Iterable[str | None] | None = None,
        context_separator: str | None = None,
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return the log-probability of each sentence, a row a sentence in the order given.

        Args:
            sentences: texts; of a series the index is kept.
            context: text that precedes all sentences, or one text for each; None or an empty text
                is no context. Every token of a sentence counts then.
            context_separator: text between a context and a sentence; by default a space, and
                nothing for a model whose entry states a language without spaces.
            bos: the BOS policy, or `paper`; by default a start token, and every token counts.

        Returns:
            sentence, logprob (nats), n_tokens (those that count), mean_logprob and, if the model
            has unigrams, unigram_logprob (nats) and slor, (logprob - unigram_logprob) / n_tokens;
            the BOS policy.

        Raises LingprobError that names the sentence that is empty or too long.
        """
        texts, convention = as_texts(sentences, "sentence"), self.scorer.convention(bos)
        if context is None:
            table = self.scorer.sentence_scores(stimuli_of(texts), [convention], self.unigrams)
        else:
            separator = self._separator() if context_separator is None else context_separator
            contexts = as_contexts(context, len(texts), separator)
            table = self._after(contexts, texts, convention, separator)
        logprob, n_tokens = table["logprob"].to_numpy(), table["n_tokens"].to_numpy()
        found = {"sentence": texts, "logprob": logprob, "n_tokens": n_tokens}
        found["mean_logprob"] = logprob / n_tokens
        if self.unigrams:
            found["unigram_logprob"] = table["unigram_logprob"].to_numpy()
            found["slor"] = (logprob - found["unigram_logprob"]) / n_tokens
        index = sentences.index if isinstance(sentences, pd.Series) else None
        return pd.DataFrame({**found, self.scorer.convention_column: convention}, index=index)

    def surprisal(self, text: str | Iterable[str], *, bos: str | None = None) -> pd.DataFrame:
        """Return the surprisal of each word in bits, a row a word.

        Args:
            text: a text, or several; words are separated by spaces or line breaks.
            bos: the BOS policy, of which the start token counts; by default as for `score`.
                `paper` is the default, because its papers have a start token before a text.

        Returns:
            text_id (from 1), word_index (from 0 in its text), word, surprisal (bits, corrected for
            the space after the word: leakage, §3.1), surprisal_uncorrected, n_tokens. A masked
            model sees what follows a word, too: its surprisal is -log2 of the word's probability
            given the rest of its text, and it has no surprisal_uncorrected.

        Raises LingprobError for a word or a text that the model cannot take.
        """
        words = as_words(text)
        table = self.scorer.surprisal(words, bos)
        table.insert(2, "word", words["word"].to_numpy())
        table["passage_id"] = table["passage_id"].astype(int)
        return table.rename(columns={"passage_id": "text_id"})

    def tokens(
        self,
        sentences: str | Iterable[str],
        *,
        context: str | Iterable[str | None] | None = None,
        context_separator: str | None = None,
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return what the model says of each token of sentences, a row a token.

        Arguments are as of `score`; a sentence and its context must fit the context window.

        Returns:
            sentence_id (from 1), token_index (from 0), token (its text), token_id, char_start and
            char_end (offsets in the sentence), logprob (nats), surprisal (bits), rank (1 for the
            likeliest token) and entropy (bits, of the distribution that the token is from), bos. A
            first token that nothing precedes has none of the last four.

        Raises LingprobError for a masked model.
        """
        texts, convention = as_texts(sentences, "sentence"), self.scorer.convention(bos)
        separator = self._separator() if context_separator is None else context_separator
        contexts = as_contexts("" if context is None else context, len(texts), separator)
        table = self.scorer.describe_tokens(contexts, texts, convention, separator)
        return table.assign(bos=convention)

    def next_tokens(self, context: str, *, top: int = 10, bos: str | None = None) -> pd.DataFrame:
        """Return the likeliest next tokens after a context, a row a token.

        Args:
            context: a text; an empty one leaves the start token alone.
            top: how many tokens.
            bos: the BOS policy, of which the start token counts, as for `surprisal`.

        Returns:
            rank (from 1), token (its text), token_id, probability, logprob (nats).

        Raises LingprobError for a masked model, or if nothing precedes the token.
        """
        return self.scorer.likeliest_tokens(context, self.scorer.convention(bos), top)

    def compare(
        self,
        pairs: pd.DataFrame | Iterable[tuple[str, str]],
        *,
        by: str = "phenomenon",
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return how often the model prefers the grammatical sentence of minimal pairs.

        Args:
            pairs: (good, bad) sentences, or a table with a row a pair (columns `good` and `bad`;
                `pair`, `phenomenon` and `paradigm` if it has them) or a row a sentence
                (`sentence`, `pair` and `grammatical`).
            by: phenomenon, paradigm or pair.
            bos: the BOS policy, as for `score`. Under one that leaves the first token out, a
                warning says how many pairs differ in it.

        Returns:
            A row a phenomenon in the order of the pairs, and one of all pairs: its name, n,
            accuracy, accuracy_low and accuracy_high (Wilson's 95% interval), bos. A tie counts
            half. By pair, a row a pair: pair, good, bad, logprob_good and logprob_bad (nats, as of
            `score`), difference and preferred (good, bad or neither), bos.
        """
        from lingprob.api.pairs import only_pairs, preference_table

        convention = self.scorer.convention(bos)
        paired = only_pairs(as_pairs(pairs, self.entry["language"]))
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
        """Return what is wrong with minimal pairs, a row a pair, the worst first.

        Args:
            pairs: as for `compare`.
            corpora: names or files, as for `certify`, in which their sentences are looked for.

        Returns:
            The `audit` table (`lingprob.io.schemas` describes its columns).
        """
        from lingprob.api.pairs import PAIRS, find_leakage, measure_distances, only_pairs
        from lingprob.pairs.audit import Evidence, audit

        conventions = self.scorer.audited_conventions()
        paired = only_pairs(as_pairs(pairs, self.entry["language"]))
        evidence = Evidence(
            PAIRS,
            paired,
            self.scorer.sentence_scores(paired, conventions, self.unigrams),
            (conventions[0], next(iter(self.unigrams), "imported")),
            measure_distances(
                paired, self.entry["language"], self.run, self.cache, str(self.lm.device)
            ),
            find_leakage(paired, list(corpora), self.name, self.run, self.cache),
        )
        settings = self.run.settings
        edited, scale = settings["audit"]["words_edited"], settings["scale"]
        table, _ = audit(evidence, self.name, edited, scale)
        return table

    def _separator(self) -> str:
        return "" if self.entry["language"] in WITHOUT_SPACES else " "

    def _after(
        self, contexts: list[str], texts: list[str], convention: str, separator: str
    ) -> pd.DataFrame:
        """Return logprob, n_tokens and unigram_logprob of each text after its context."""
        tokens = self.scorer.tokens_in_context(contexts, texts, convention, separator)
        table = sum_tokens(tokens, ["item_id"]).set_index("item_id").reindex(range(len(texts)))
        if table["logprob"].isna().any():
            row = int(table["logprob"].isna().to_numpy().argmax())
            raise LingprobError(
                f"sentence {row + 1}, {texts[row]!r}: no token of it has a score under BOS policy "
                f"{convention!r}. Take a policy with a start token, such as `bos`."
            )
        table["n_tokens"] = table["n_tokens"].astype(np.int64)
        for source, logprobs in self.unigrams.items():
            counted = tokens[tokens["logprob"].notna()]
            table["unigram_logprob"] = unigram_sums(counted, logprobs, source)
        return table
