"""A model that is loaded once: sentences, words and pairs in, numbers of the rules out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lingprob.api.inputs import as_pairs, as_texts, as_words
from lingprob.api.masked import MaskedModel
from lingprob.api.prepared_models import cache_folder, find_model, find_unigrams, prepared_model
from lingprob.api.scores import score_table, stimuli_of
from lingprob.errors import LingprobError, looked_up
from lingprob.models.kinds import is_masked
from lingprob.models.manifest import read_manifest
from lingprob.models.masked import load_prepared_masked
from lingprob.models.prepared import load_prepared
from lingprob.scoring.continuations import ContextItem
from lingprob.scoring.engine import Scorer
from lingprob.scoring.growing_prefixes import score_in_context, sum_tokens
from lingprob.scoring.sentences import summarise_sentences, unigram_sums
from lingprob.scoring.stimuli import score_stimuli
from lingprob.workflow import scope, sources
from lingprob.workflow.sources import Run

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from lingprob.models.loading import LanguageModel

SENTENCES = "sentences"
# Policies for a tokenizer without the token of the preferred one, in this order.
START_POLICIES = ("endoftext", "eos", "none")
WITHOUT_SPACES = ("zh", "ja", "th", "km", "lo", "my")
PROBE = "The old cat sat on the mat, and nobody saw it."


def load(
    model: str | Path,
    *,
    revision: str | None = None,
    family: str | None = None,
    unigrams: str | Path | pd.DataFrame | pd.Series | None = None,
    device: str | None = None,
    dtype: str | None = None,
    correction: str | None = None,
    unknown_letters: str = "warn",
    config: str | Path | Mapping[str, Any] | None = None,
    cache: str | Path | None = None,
) -> Model | MaskedModel:
    """Load a language model; the first time it is fetched and prepared, and kept.

    A folder or repository whose config.json says that it is a masked model gives a `MaskedModel`.

    Args:
        model: a name of the catalog such as `smollm2-135m`, a folder as transformers saves models,
            or a repository of the hub, `owner/name` with a `revision` or `owner/name@revision`.
        revision: a commit, tag or branch of the repository.
        family: of a folder or repository; a known one (pythia, opt, gpt2) brings its conventions.
        unigrams: log-probabilities (nats) of the vocabulary, for SLOR: a source's name, a Parquet
            or CSV file or data frame (`token_id`, `logprob`), or a series by token id; by default
            what the cache has of the model's sources.
        device: auto (a GPU where there is one), cpu, cuda, cuda:N or mps (an Apple GPU, not tried
            yet); `scoring.device` if None.
        dtype: auto (the catalog's), float32, bfloat16 or float16; `scoring.dtype` if None.
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
    found = find_unigrams(unigrams, name, run, folder)
    if is_masked(read_manifest(manifest)["directory"]):
        masked, provenance = load_prepared_masked(manifest, device, dtype, unknown_letters)
        return MaskedModel(name, run, masked, provenance, found, correction)
    if correction is not None:
        raise LingprobError(
            f"model {name!r} is no masked one: nothing of a sentence is masked, so there is no "
            f"correction {correction!r}. Leave it out."
        )
    lm, provenance = load_prepared(
        manifest, entry, device, dtype, settings["device_map"], unknown_letters
    )
    return Model(name, run, lm, provenance, found, folder)


class Model:
    """A loaded language model under the conventions of the workflow; `load` makes it.

    `provenance` says where its files are from, their digest, dtype and device; `unigrams` has the
    source of its unigram log-probabilities and these (nats, by token id), if any are known.
    """

    def __init__(
        self,
        name: str,
        run: Run,
        lm: LanguageModel,
        provenance: dict[str, str],
        unigrams: dict[str, pd.Series],
        cache: Path,
    ) -> None:
        self.name, self.run, self.lm, self.provenance = name, run, lm, provenance
        self.unigrams, self.cache = unigrams, cache
        self.fallbacks: set[str] = set()
        budget = run.settings["scoring"]["tokens_per_batch"]
        self.scorer = Scorer(lm, budget)
        on_gpu = lm.device.type == "cuda"
        self.context_scorer = Scorer(lm, budget if on_gpu else None, self.scorer.forward)
        # The model is checked here, so that not the first call pays for it.
        start_id = lm.start_id(self._policy(None)["start_token"])
        before = [] if start_id is None else [start_id]
        self.scorer.prepare([np.array([*before, *lm.tokenize([PROBE])[0].ids])], start_id)

    def __repr__(self) -> str:
        return f"<lingprob model {self.name}, {self.provenance['dtype']} on {self.lm.device}>"

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
            bos: the BOS policy: what precedes a sentence, and whether its first token counts; by
                default the model's own first one.

        Returns:
            sentence, logprob (nats), n_tokens (those that count), mean_logprob and, where the model
            has unigrams, unigram_logprob (nats) and slor, (logprob - unigram_logprob) / n_tokens;
            the BOS policy.

        Raises LingprobError that names the sentence that is empty or too long.
        """
        index = sentences.index if isinstance(sentences, pd.Series) else None
        texts = as_texts(sentences, "sentence")
        bos = bos or self.entry["bos_policies"][0]
        if context is None:
            table = self.sentence_scores(stimuli_of(texts), [bos])
        else:
            separator = self._separator() if context_separator is None else context_separator
            table = self._after(_contexts(context, len(texts)), texts, bos, separator)
        return score_table(texts, table, bool(self.unigrams), index).assign(bos=bos)

    def sentence_scores(
        self, stimuli: pd.DataFrame, policies: Iterable[str], dataset: str = SENTENCES
    ) -> pd.DataFrame:
        """Return the `sentence_scores` table of a `stimuli` table under some BOS policies."""
        settings, window = self.run.settings["scoring"], self.lm.context_window
        chosen = {bos: self._policy(bos) for bos in policies}
        scores = {
            start_token: score_stimuli(
                self.lm,
                stimuli["item_id"].tolist(),
                stimuli["text"].tolist(),
                start_token,
                dataset=dataset,
                sentences_per_shard=settings["sentences_per_shard"],
                window=window,
                stride=window // 2,
                scorer=self.scorer,
            )
            for start_token in dict.fromkeys(one["start_token"] for one in chosen.values())
        }
        return summarise_sentences(stimuli, scores, chosen, self.unigrams)

    def surprisal(self, text: str | Iterable[str], *, bos: str | None = None) -> pd.DataFrame:
        """Return the surprisal of each word in bits, a row a word.

        Args:
            text: a text, or several; words are separated by spaces or line breaks.
            bos: the BOS policy, of which the start token counts; by default the one that the model
                generates text from.

        Returns:
            text_id (from 1), word_index (from 0 in its text), word, surprisal (bits, corrected for
            the blank after the word: leakage, §3.1), surprisal_uncorrected, n_tokens.
        """
        from lingprob.reading.surprisal import word_surprisals

        words, settings = as_words(text), self.run.settings["reading"]
        own = next((p for p in self.entry["bos_policies"] if self._starts(p)), "bos")
        table = word_surprisals(
            self.lm,
            words,
            start_token=self._policy(bos or self._start_policy(own))["start_token"],
            context=settings["context"],
            window_counts=settings["window_counts"],
            scorer=self.scorer,
        )
        table.insert(2, "word", words["word"].to_numpy())
        table["passage_id"] = table["passage_id"].astype(int)
        return table.rename(columns={"passage_id": "text_id"})

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
            by: phenomenon or paradigm.
            bos: the BOS policy; by default the first of the model's under which a sentence's first
                token counts (`string_probability.bos`).

        Returns:
            A row a phenomenon in the order of the pairs, and one of all pairs: its name, n,
            accuracy, accuracy_low and accuracy_high (Wilson's 95% interval), bos. A tie counts
            half.
        """
        from lingprob.api.pairs import compare_pairs

        policy = bos or self._start_policy(scope.string_bos(self.run, self.name))
        table = compare_pairs(self, as_pairs(pairs, self.entry["language"]), by, policy)
        return table.assign(bos=policy)

    def audit(
        self,
        pairs: pd.DataFrame | Iterable[tuple[str, str]],
        *,
        corpora: Iterable[str | Path] = (),
    ) -> pd.DataFrame:
        """Return what is wrong with minimal pairs, a row a pair, the worst first.

        Args:
            pairs: as for `compare`.
            corpora: text files in which their sentences are looked for.

        Returns:
            The `audit` table (lingprob.io.schemas.audit says what its columns are).
        """
        from lingprob.api.pairs import audit_pairs

        return audit_pairs(self, as_pairs(pairs, self.entry["language"]), corpora)

    def _policy(self, bos: str | None) -> dict[str, str]:
        """Return the start token of a BOS policy and what becomes of the first token; of the
        model's first one if it is None."""
        bos = bos or self.entry["bos_policies"][0]
        looked_up("BOS policy", bos, self.run.catalog.bos_policies)
        return sources.bos_policy(self.run, bos)

    def _starts(self, bos: str) -> bool:
        return self._policy(bos)["start_token"] != "none"

    def _separator(self) -> str:
        return "" if self.entry["language"] in WITHOUT_SPACES else " "

    def _start_policy(self, bos: str) -> str:
        """Return a policy under which the first token counts, for a tokenizer that may lack `bos`.

        A text's end is what precedes a text in training, so its token serves if there is no other.
        """
        for policy in (bos, *START_POLICIES):
            try:
                self.lm.start_id(self._policy(policy)["start_token"])
            except LingprobError:
                continue
            if policy != bos and policy not in self.fallbacks:
                self.fallbacks.add(policy)
                logger.warning(
                    "%s: its tokenizer has no token for %r, so the policy is %r", self.name, bos,
                    policy,
                )  # fmt: skip
            return policy
        return bos

    def _after(
        self, contexts: list[str], texts: list[str], bos: str, separator: str
    ) -> pd.DataFrame:
        """Return logprob, n_tokens and unigram_logprob of each text after its context."""
        places: dict[str, list[int]] = {}
        for place, context in enumerate(contexts):
            places.setdefault(context, []).append(place)
        items = [
            ContextItem(context, [len(context)], [texts[place] for place in some])
            for context, some in places.items()
        ]
        start_token = self._policy(bos)["start_token"]
        tokens = score_in_context(
            self.lm,
            items,
            start_token=start_token,
            scorer=self.context_scorer,
            separator=separator,
        )
        rows = np.concatenate([np.array(some) for some in places.values()])
        first = np.cumsum([0, *map(len, places.values())])
        tokens["item_id"] = rows[first[tokens["item_index"]] + tokens["target_index"]]
        table = sum_tokens(tokens, ["item_id"]).set_index("item_id").reindex(range(len(texts)))
        if table["logprob"].isna().any():
            row = int(table["logprob"].isna().to_numpy().argmax())
            raise LingprobError(
                f"sentence {row + 1}, {texts[row]!r}: no token of it has a score under BOS policy "
                f"{bos!r}. Take a policy with a start token, such as `bos`."
            )
        table["n_tokens"] = table["n_tokens"].astype(np.int64)
        for source, logprobs in self.unigrams.items():
            counted = tokens[tokens["logprob"].notna()]
            table["unigram_logprob"] = unigram_sums(counted, logprobs, source)
        return table


def _contexts(context: str | Iterable[str | None], n: int) -> list[str]:
    """Return what precedes each of n sentences, nothing as an empty text."""
    if isinstance(context, str):
        return [context] * n
    contexts = ["" if pd.isna(one) else one for one in context]
    if len(contexts) != n:
        raise LingprobError(
            f"there are {len(contexts)} contexts for {n} sentences. Give one for all, or each one."
        )
    return as_texts(contexts, "context", True)
