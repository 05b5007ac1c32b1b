"""Modified Kneser-Ney estimates of n-gram models of a corpus's words or tokens, in memory."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches
from lingprob.io.text_units import split_lines
from lingprob.models.tokenizer import Tokenizer as ModelTokenizer
from lingprob.models.tokenizer import encode

logger = logging.getLogger(__name__)
# KenLM's discounts if a small corpus lacks the counts for others (lmplz --discount_fallback).
FALLBACK = np.array([0.0, 0.5, 1.0, 1.5])
# The mark of both ends of a sentence, rare words, and an entry that never occurs.
MARK, UNKNOWN, UNUSED = "</s>", "<unk>", "<unused>"


@dataclass(frozen=True)
class NgramTables:
    """A backoff model as sorted arrays: interpolated log-probabilities and backoff weights (nats).

    The key of an n-gram is p V + w. Here p is the place of its first n - 1 tokens among the
    (n-1)-grams, V the number of token ids, and w the last token. All tokens seen after a context
    therefore lie together. One token id, the `mark`, is both the beginning of a sentence (in a
    context) and its end (as an outcome).
    """

    keys: list[np.ndarray]  # for each order, int64, ascending. keys[0] is empty
    logprobs: list[np.ndarray]  # for each order, float32. logprobs[0] has one per token id, (V,)
    backoffs: list[np.ndarray]  # for each order but the highest, of its n-grams as contexts

    @property
    def vocabulary_size(self) -> int:
        """Return the number V of token ids."""
        return len(self.logprobs[0])


def estimate_model(
    documents: Callable[[], Iterable[str]],
    order: int,
    directory: Path,
    *,
    tokenizer: ModelTokenizer | None = None,
    least_count: int = 2,
) -> None:
    """Estimate an n-gram model with modified Kneser-Ney smoothing, and save it for transformers.

    Each line of the corpus's documents is a sentence. The tokens are those of another model's
    tokenizer or, without one, words that occur at least `least_count` times, and `<unk>`. Raises
    LingprobError if the corpus has no text.
    """
    from lingprob.ngrams.model import as_language_model

    own = tokenizer.tokenizer if tokenizer else word_tokenizer(documents(), least_count)
    mark = with_mark(own, str(own.name_or_path))
    text = list(sentences(documents(), own))
    size = max(tokenizer.vocabulary_size if tokenizer else 0, len(own))
    tables = count_ngrams(text, order, size, mark)
    logger.info("n-grams by order: %s", [len(part) for part in tables.logprobs])
    transformers_logging.disable_progress_bar()
    as_language_model(tables, mark).save_pretrained(directory)
    own.save_pretrained(directory)


@dataclass(frozen=True)
class _Ngrams:
    """The n-grams of one order."""

    key: np.ndarray  # as in `NgramTables`
    suffix: np.ndarray  # place of the last n - 1 tokens among the (n-1)-grams
    count: np.ndarray  # number of occurrences
    begins: np.ndarray  # whether the n-gram begins a sentence
    place: np.ndarray  # the n-gram that ends at each token of the corpus, or -1


def count_ngrams(
    sentences: Sequence[np.ndarray], order: int, vocabulary_size: int, mark: int
) -> NgramTables:
    """Return an interpolated model with modified Kneser-Ney smoothing (Chen & Goodman 1998).

    No n-gram is pruned, and unigrams are interpolated with the uniform distribution, so that the
    probabilities after any context sum to one over the V token ids. `sentences` are token ids,
    integers (n_tokens,), without the mark, which is added at both ends. Raises LingprobError if
    there are none.
    """
    if not sentences:
        raise LingprobError("a corpus without a sentence makes no n-gram model. Fill it.")
    tokens = np.concatenate([np.r_[mark, ids, mark] for ids in sentences]).astype(np.int64)
    depth = np.concatenate([np.arange(len(ids) + 2) for ids in sentences])
    # No sentence may be long enough for n-grams of the highest orders.
    counted = [some for some in _ngrams(tokens, depth, order, vocabulary_size) if len(some.key)]
    probabilities = np.full(vocabulary_size, 1.0 / vocabulary_size)
    tables = NgramTables([], [], [])
    for k, ngrams in enumerate(counted, start=1):
        counts = ngrams.count
        if k < len(counted):  # different tokens before the n-gram, except at a beginning
            preceding = np.bincount(counted[k].suffix, minlength=len(counts))
            counts = np.where(ngrams.begins, counts, preceding)
        context = ngrams.key // vocabulary_size
        n_contexts = len(counted[k - 2].key) if k > 1 else 1
        of_order = discounts(counts)
        if of_order is FALLBACK:
            logger.warning("order %d: too few n-grams for discounts of their own, so fixed ones", k)
        discounted = of_order[np.minimum(counts, 3)]
        total = np.bincount(context, counts, n_contexts)
        backoff = np.bincount(context, discounted, n_contexts) / np.maximum(total, 1)
        probabilities = (counts - discounted) / total[context] + (
            backoff[context] * probabilities[ngrams.suffix]
        )
        tables.keys.append(ngrams.key if k > 1 else np.empty(0, dtype=np.int64))
        tables.logprobs.append(np.log(probabilities).astype(np.float32))
        if k > 1:
            known = np.where(total > 0, backoff, 1.0)
            tables.backoffs.append(np.log(known).astype(np.float32))
    return tables


def discounts(counts: np.ndarray) -> np.ndarray:
    """Return the discounts of counts of 0, 1, 2, and 3 or more (Chen & Goodman 1998, eq. 26).

    They are FALLBACK if one of the counts 1, 2 and 3 does not occur, or if one would be negative.
    """
    of = np.bincount(counts[counts <= 4], minlength=5).astype(float)
    if not of[1:4].all():
        return FALLBACK
    share = of[1] / (of[1] + 2 * of[2])
    sizes = np.arange(1, 4)
    found = sizes - (sizes + 1) * share * of[2:5] / of[1:4]
    return np.r_[0.0, found] if (found >= 0).all() else FALLBACK


def _ngrams(
    tokens: np.ndarray, depth: np.ndarray, order: int, vocabulary_size: int
) -> list[_Ngrams]:
    """Return the n-grams of each order. Those of order 1 are all token ids, even if unseen.

    `depth` is the number of tokens before each token in its sentence, including the mark.
    """
    every = np.arange(vocabulary_size)
    outcomes = np.bincount(tokens[depth > 0], minlength=vocabulary_size)
    none = np.zeros(vocabulary_size, dtype=bool)
    found = [_Ngrams(every, every, outcomes, none, tokens)]
    for n in range(2, order + 1):
        ends = np.flatnonzero(depth >= n - 1)
        below = found[-1].place
        keys = below[ends - 1] * vocabulary_size + tokens[ends]
        key, first, inverse, count = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        place = np.full(len(tokens), -1)
        place[ends] = inverse
        seen = ends[first]
        found.append(_Ngrams(key, below[seen], count, depth[seen] == n - 1, place))
    return found


def word_tokenizer(documents: Iterable[str], least_count: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are the words and punctuation marks of a corpus.

    Words that occur fewer than `least_count` times are `<unk>`. `</s>` begins and ends sentences.
    """
    split = pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for line in lines(documents):
        counts.update(word for word, _ in split.pre_tokenize_str(line))
    kept = sorted(word for word, count in counts.items() if count >= least_count)
    vocabulary = {word: place for place, word in enumerate([MARK, UNKNOWN, UNUSED, *kept])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = split
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=MARK, eos_token=MARK, unk_token=UNKNOWN
    )


def with_mark(tokenizer: Any, name: str) -> int:
    """Set one token of a tokenizer (`name`) as the mark of both ends of a text. Return its id."""
    token = tokenizer.eos_token or tokenizer.sep_token or tokenizer.bos_token
    if token is None:
        raise LingprobError(
            f"tokenizer {name!r}: no token for the ends of a sentence. Name another tokenizer in "
            "the model's entry, or leave it out for words."
        )
    tokenizer.bos_token = tokenizer.eos_token = token
    return int(tokenizer.convert_tokens_to_ids(token))


def sentences(documents: Iterable[str], tokenizer: Any) -> Iterator[np.ndarray]:
    """Yield the token ids, int32 (n_tokens,), of each line of a corpus, without marks."""
    for some in batches(lines(documents)):
        for ids in encode(tokenizer, some)["input_ids"]:
            if ids:
                yield np.array(ids, dtype=np.int32)


def lines(documents: Iterable[str]) -> Iterator[str]:
    """Yield the lines of documents that are not empty."""
    for document in documents:
        yield from filter(str.strip, split_lines(document))
