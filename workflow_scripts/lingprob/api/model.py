"""The class `Model`, which scores sentences, words and minimal pairs as the workflow's rules do."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.api import distributions
from lingprob.api.directions import BothSides, LeftToRight
from lingprob.api.inputs import (
    Context,
    Given,
    as_contexts,
    as_frame,
    as_pairs,
    as_regions,
    as_texts,
    as_words,
    stimuli_of,
    warn_of_trailing_space,
    with_new_columns,
    with_own_columns,
)
from lingprob.api.prepared_models import cache_folder, find_model, find_unigrams, prepared_model
from lingprob.errors import LingprobError, refuse_other_order
from lingprob.models.folders import is_masked, read_manifest
from lingprob.models.loading import load_prepared
from lingprob.models.masked import load_prepared_masked
from lingprob.scoring.sentences import summarise_sentences
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
) -> "Model":
    """Return a language model. The first call downloads it to the cache.

    Args:
        model: a name of the catalog such as `smollm2-135m`, a folder that transformers can load,
            or a repository of the Hugging Face hub (`owner/name`).
        revision: a commit, tag or branch of the repository. It can also be part of the name, as
            in `owner/name@revision`.
        family: a family of the catalog, such as gpt2. A model in a folder or repository then uses
            the conventions of this family.
        unigrams: log-probabilities of single tokens (nats), from which `score` computes SLOR. Give
            the name of a unigram source in the catalog, a series indexed by token id, or a Parquet
            file, CSV file or data frame with the columns `token_id` and `logprob`. Default: the
            first source of the model's catalog entry that is already in the cache, if any.
        device: auto (a GPU if there is one), cpu, cuda, cuda:N or mps (an Apple GPU, untested).
            Default: the setting `scoring.device`.
        dtype: auto (the catalog's), float32, bfloat16 or float16. Default: the setting
            `scoring.dtype`.
        tokens_per_batch: number of tokens in a forward pass. It affects only speed and memory.
            Default: the setting `scoring.tokens_per_batch`, or 512 after contexts on a CPU.
        correction: which tokens a masked model masks together with the predicted one.
            `within_word_l2r` (default) masks the later tokens of the same word, `whole_word` all
            its tokens, and `none` no others.
        unknown_letters: `warn` logs texts with letters that the tokenizer cannot represent.
            `refuse` raises LingprobError for them.
        config: a configuration file like config.yaml, or its content, with your own entries and
            settings.
        cache: folder of downloaded models. Default: LINGPROB_CACHE or ~/.cache/lingprob. The
            folder of a workflow's run can also serve as the cache.

    Raises LingprobError if the model does not exist, or cannot be downloaded or loaded.
    """
    name, run = find_model(model, revision, family, config)
    folder, entry = cache_folder(cache), run.catalog.model(name)
    manifest = prepared_model(name, entry, folder / sources.model_manifest(name))
    settings = run.settings["scoring"]
    device, dtype = str(device or settings["device"]), dtype or settings["dtype"]
    found = find_unigrams(unigrams, name, run, folder)
    letters = {"unknown_letters": unknown_letters}
    if tokens_per_batch is not None and tokens_per_batch < 1:
        raise LingprobError(f"tokens_per_batch: {tokens_per_batch}. Give a number from 1.")
    if is_masked(read_manifest(manifest)["directory"]):
        masked, provenance = load_prepared_masked(manifest, device, dtype, **letters)
        budget = tokens_per_batch or settings["tokens_per_batch"]
        return Model(run, BothSides(name, masked, correction, budget), provenance, found, folder)
    if correction is not None:
        raise LingprobError(
            f"model {name!r} is no masked one, so there is no correction {correction!r}. Leave it "
            "out."
        )
    device_map = settings["device_map"]
    lm, provenance = load_prepared(manifest, entry, device, dtype, device_map, **letters)
    return Model(run, LeftToRight(name, run, lm, tokens_per_batch), provenance, found, folder)


class Model:
    """A loaded language model, causal or masked, as `load` returns it.

    By default, a start token (such as a BOS token) precedes each sentence, and all tokens of the
    sentence count. The argument `bos` selects another policy, and `bos="paper"` the policy of the
    model's paper. If a tokenizer has no start token, a sentence's first token has no probability
    and does not count. `load` then logs a warning.

    A masked model predicts each token from the tokens on both sides. Its logprob is a
    pseudo-log-likelihood: the sum of the tokens' log-probabilities, each given all tokens that are
    not masked with it. Compare it only within one model and correction. Tables have a column
    `correction` instead of `bos`. Contexts, `bos` and audits are refused.

    Attributes:
        provenance: the source and digest of the model's files, its dtype and its device.
        unigrams: unigram log-probabilities (nats, by token id) by source, if any are known.
        model, tokenizer: the objects of transformers.
    """

    def __init__(
        self,
        run: Run,
        direction: LeftToRight | BothSides,
        provenance: dict[str, str],
        unigrams: dict[str, pd.Series],
        cache: Path,
    ) -> None:
        self.name = direction.name
        self.lm: Any = direction.lm
        self.run, self.direction, self.provenance = run, direction, provenance
        self.unigrams, self.cache = unigrams, cache
        self.model, self.tokenizer = self.lm.model, self.lm.tokenizer
        self.language = str(run.catalog.model(self.name)["language"])

    def __repr__(self) -> str:
        return f"<lingprob model {self.name}, {self.provenance['dtype']} on {self.lm.device}>"

    def score(
        self,
        sentences: Given,
        *,
        context: Context = None,
        context_separator: str | None = None,
        bos: str | None = None,
        chat: bool = False,
    ) -> pd.DataFrame:
        """Return the log-probability of each sentence, with one row per sentence in input order.

        Args:
            sentences: one text, several texts, or a data frame with a column `sentence` and
                optionally `context`. The result keeps its other columns and its index.
            context: a text that precedes all sentences, or one text for each sentence. After a
                context, every token of a sentence counts. None and an empty text mean no context.
            context_separator: text between a context and a sentence. Default: a space, or nothing
                if the model's language (in its catalog entry) is written without spaces.
            bos: a BOS policy such as `bos`, `endoftext` or `none` (docs/conventions.md), or
                `paper`. Default: a start token, and every token counts.
            chat: whether to score the sentences as the assistant's turns in the model's chat
                template. The context is the user's turn.

        Returns:
            The columns sentence, logprob (nats), n_tokens (tokens that count), mean_logprob and
            bos (the BOS policy). If unigrams are known, also unigram_logprob (nats) and slor,
            which is (logprob - unigram_logprob) / n_tokens.

        Raises LingprobError that quotes the sentence if a sentence is empty or too long.
        """
        refuse_other_order(sentences=sentences, contexts=context)
        if chat and not (bos is None and context_separator is None):
            raise LingprobError("chat=True: the template sets bos and separators. Leave them out.")
        frame, convention = as_frame(sentences, "sentence"), self.direction.convention(bos)
        separator = "" if chat else self._separator(context_separator)
        contexts, texts = as_contexts(context, frame, separator), frame["sentence"].tolist()
        if chat:
            convention = "chat"
            tokens = self.direction.tokens_in_chat(contexts or [""] * len(texts), texts)
            table = self._summed(tokens, texts, convention)
        elif contexts is None:
            table = self.direction.sentence_scores(stimuli_of(texts), [convention], self.unigrams)
        else:
            table = self._after_contexts(contexts, texts, convention, separator)
        logprob, n_tokens = table["logprob"].to_numpy(), table["n_tokens"].to_numpy()
        found = {"logprob": logprob, "n_tokens": n_tokens, "mean_logprob": logprob / n_tokens}
        if self.unigrams:
            found["unigram_logprob"] = table["unigram_logprob"].to_numpy()
            found["slor"] = (logprob - found["unigram_logprob"]) / n_tokens
        found[self.direction.convention_column] = convention
        return with_new_columns(frame, pd.DataFrame(found))

    def surprisal(
        self,
        texts: Given,
        *,
        context: Context = None,
        regions: Iterable[Any] | None = None,
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return the surprisal of each word or region in bits, with one row per word.

        Args:
            texts: one text, several texts, or a data frame with a column `text` and optionally
                `context` and `regions`. The result keeps its other columns.
            context: a text that precedes all texts, or one text for each. Its words have no rows.
            regions: a list of regions for each text, or a text with `|` between regions. Apart from
                spaces between regions, the regions must together spell out the text. A region can
                be several words or part of a word, such as `it` and `'s`. Default: words, separated
                by spaces and line breaks.
            bos: a BOS policy. Only its start token matters here. Default: as for `score`. `paper`
                gives the same result, because the leakage paper puts a start token before each
                text.

        Returns:
            The columns text_id (from 1), word_index (from 0 in its text), word, surprisal (bits,
            including the space after the word, as in §3.1 of the leakage paper),
            surprisal_uncorrected (including the space before the word instead) and n_tokens. A
            masked model also sees the words after a word. Its surprisal is -log2 of the word's
            probability given the rest of the text, and there is no surprisal_uncorrected.

        Raises LingprobError for a word or text that the model cannot read.
        """
        refuse_other_order(texts=texts, contexts=context, regions=regions)
        frame = as_frame(texts, "text", may_be_empty=True)
        contexts, cut = as_contexts(context, frame, ""), as_regions(regions, frame)
        words = as_words(frame["text"].tolist(), contexts, cut)
        table = self.direction.surprisal(words, bos)
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
        """Return the probability, rank and entropy of each token, with one row per token.

        The arguments are those of `score`. A sentence and its context must fit into the context
        window.

        Returns:
            The columns sentence_id (from 1), token_index (from 0), token (its text), token_id,
            char_start and char_end (offsets in the sentence), logprob (nats), surprisal (bits),
            rank (1 for the most likely token), entropy (bits, of the distribution that predicts
            the token) and bos. Without a start token, the first token has no logprob, surprisal,
            rank and entropy.

        Raises LingprobError for a masked model.
        """
        refuse_other_order(sentences=sentences, contexts=context)
        frame, convention = as_frame(sentences, "sentence"), self.direction.convention(bos)
        separator, texts = self._separator(context_separator), frame["sentence"].tolist()
        contexts = as_contexts(context, frame, separator) or [""] * len(texts)
        start_token = self.direction.start_token(convention)
        table = distributions.describe_tokens(
            self.direction.scorer, contexts, texts, start_token, separator
        )
        return with_own_columns(frame, table.assign(bos=convention), {"sentence", "context"})

    def next_tokens(self, context: str, *, top: int = 10, bos: str | None = None) -> pd.DataFrame:
        """Return the most likely next tokens after a context, with one row per token.

        Args:
            context: a text. If it is empty, only the start token precedes the tokens.
            top: number of tokens.
            bos: a BOS policy, of which only the start token matters.

        Returns:
            The columns rank (from 1), token (its text), token_id, probability and logprob (nats).

        Raises LingprobError for a masked model, or if nothing precedes the token.
        """
        warn_of_trailing_space(
            as_texts([context], "context", True), "the next token usually brings its own space"
        )
        start_token = self.direction.start_token(self.direction.convention(bos))
        return distributions.likeliest_tokens(self.direction.scorer, context, start_token, top)

    def next_words(self, context: str, *, top: int = 10, bos: str | None = None) -> pd.DataFrame:
        """Return the most likely next words after a context, with one row per word.

        As in `surprisal`, a word's probability includes the space after it and not the space
        before it. It is the product of the probabilities of its tokens and of a following space,
        divided by the probability of a preceding space.

        Args:
            context: a text. If it is empty, only the start token precedes the words.
            top: number of words.
            bos: a BOS policy. Only its start token matters here.

        Returns:
            The columns rank (from 1), word, probability, logprob (nats), surprisal (bits) and
            n_tokens.

        Raises LingprobError for a masked model, for a model without tokens that begin with a space,
        for a context that is too long, or if nothing precedes the word.
        """
        start_token = self.direction.start_token(self.direction.convention(bos))
        as_texts([context], "context", True)
        return distributions.likeliest_words(self.direction.scorer, context, start_token, top)

    def compare(
        self,
        pairs: pd.DataFrame | Iterable[tuple[str, str]],
        *,
        by: str = "phenomenon",
        bos: str | None = None,
    ) -> pd.DataFrame:
        """Return how often the model prefers the grammatical sentence of minimal pairs.

        Args:
            pairs: a list of (good, bad) sentences, a table with one row per pair, or a table with
                one row per sentence. A table of pairs has the columns `good`, `bad` and optionally
                `pair`, `phenomenon` and `paradigm`. A table of sentences has the columns
                `sentence`, `pair` and `grammatical`.
            by: phenomenon, paradigm or pair.
            bos: a BOS policy, as for `score`. If the policy leaves out the first token
                of a sentence, a warning says in how many pairs the first tokens differ.

        Returns:
            For phenomenon or paradigm: one row for each value in order of first appearance, then
            one row `all`. The columns are phenomenon or paradigm, n, accuracy, accuracy_low and
            accuracy_high (Wilson's 95% interval) and bos. A tie counts as one half. For pair, the
            columns are pair, good, bad, logprob_good and logprob_bad (nats), difference, preferred
            (good, bad or neither) and bos.
        """
        from lingprob.api.pairs import preference_table

        convention = self.direction.convention(bos)
        paired = as_pairs(pairs, self.language)
        self.direction.warn_of_first_tokens(paired, convention)
        scores = self.direction.sentence_scores(paired, [convention], self.unigrams)
        table = preference_table(paired, scores, by, convention)
        return table.assign(**{self.direction.convention_column: convention})

    def audit(
        self,
        pairs: pd.DataFrame | Iterable[tuple[str, str]],
        *,
        corpora: str | Path | Iterable[str | Path] = (),
    ) -> pd.DataFrame:
        """Return the problems of minimal pairs, with one row per pair and the worst pair first.

        Args:
            pairs: as for `compare`.
            corpora: corpora that are searched for the sentences, names or files as for `certify`.

        Returns:
            The `audit` table. lingprob.io.schemas describes its columns.
        """
        from lingprob.api.pairs import PAIRS, find_leakage, measure_distances
        from lingprob.pairs.audit import Evidence, audit

        conventions = self.direction.audited_conventions()
        paired = as_pairs(pairs, self.language)
        scores = self.direction.sentence_scores(paired, conventions, self.unigrams)
        convention = (conventions[0], next(iter(self.unigrams), "imported"))
        distances = measure_distances(paired, self.language, self.run, self.cache, self.lm.device)
        searched = [corpora] if isinstance(corpora, str | Path) else list(corpora)
        leakage = find_leakage(paired, searched, self.name, self.run, self.cache)
        found = Evidence(PAIRS, paired, scores, convention, distances, leakage)
        settings = self.run.settings
        return audit(found, self.name, settings["audit"]["words_edited"], settings["scale"])[0]

    def _separator(self, given: str | None) -> str:
        if given is None:
            return "" if self.language in WITHOUT_SPACES else " "
        return as_texts([given], "context_separator", True)[0]

    def _after_contexts(
        self, contexts: list[str], texts: list[str], convention: str, separator: str
    ) -> pd.DataFrame:
        """Return the `sentence_scores` of texts after contexts. An empty context is none."""
        rows, parts = pd.DataFrame({"context": contexts, "text": texts}), []
        for is_alone, group in rows.groupby(rows["context"] == ""):
            some = group["text"].tolist()
            if is_alone:
                stimuli = stimuli_of(texts).loc[group.index]
                part = self.direction.sentence_scores(stimuli, [convention], self.unigrams)
            else:
                before = group["context"].tolist()
                tokens = self.direction.tokens_in_context(before, some, convention, separator)
                part = self._summed(tokens, some, convention)
            parts.append(part.set_axis(group.index))
        return pd.concat(parts).sort_index()

    def _summed(self, tokens: pd.DataFrame, texts: list[str], convention: str) -> pd.DataFrame:
        """Return the `sentence_scores` of texts by summing over all their tokens."""
        policies = {convention: {"start_token": convention, "first_token": "scored"}}
        items, scored = (tokens["item_id"] + 1).astype(str), tokens["logprob"].notna()
        scores = {convention: tokens.assign(item_id=items, scored=scored)}
        return summarise_sentences(stimuli_of(texts), scores, policies, self.unigrams)
