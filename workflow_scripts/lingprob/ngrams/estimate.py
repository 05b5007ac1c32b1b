"""From a corpus to the folder of an n-gram model.

Its tokens are words of its own, or those of another model's tokenizer. Modified Kneser-Ney
estimates are made from counts in memory, as KenLM's lmplz makes them on disk.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches
from lingprob.models.tokenizer import encode
from lingprob.ngrams.lmplz import estimate_arpa
from lingprob.ngrams.model import as_language_model
from lingprob.ngrams.tables import NgramTables, as_numerals, read_arpa

logger = logging.getLogger(__name__)
# KenLM's, where a small corpus lacks the counts for a discount (lmplz --discount_fallback).
FALLBACK = np.array([0.0, 0.5, 1.0, 1.5])
CHARACTERS_PER_BATCH = 2**20
# The mark of both ends of a sentence, what rarer words are, and an entry that never occurs.
MARK, UNKNOWN, UNUSED = "</s>", "<unk>", "<unused>"


def estimate_model(
    documents: Callable[[], Iterable[str]],
    order: int,
    directory: Path,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    vocabulary_size: int | None = None,
    least_count: int = 2,
    programs: Path | None = None,
    memory_mb: int = 1000,
) -> None:
    """Estimate an n-gram model with modified Kneser-Ney smoothing and save it.

    Every line of a document is a sentence: its first token follows the mark, which follows its
    last one.

    Args:
        documents: streams the corpus's texts; called once or twice.
        order: tokens of the longest n-grams.
        directory: of the files, which transformers loads.
        tokenizer: whose tokens are counted; None: words of the corpus itself.
        vocabulary_size: logits of the tokenizer's model, where it has more than tokens.
        least_count: of words of the corpus itself that are not `<unk>`.
        programs: the directory of `obtain_programs`, for KenLM to estimate; None: counted here.
        memory_mb: that KenLM may take.

    Raises LingprobError if the corpus has no text, or KenLM fails.
    """
    if tokenizer is None:
        tokenizer = word_tokenizer(documents(), least_count)
    mark = with_mark(tokenizer, str(tokenizer.name_or_path))
    vocabulary_size = max(vocabulary_size or 0, len(tokenizer))
    text = sentences(documents(), tokenizer)
    if programs is None:
        tables = count_ngrams(list(text), order, vocabulary_size, mark)
    else:
        directory.mkdir(parents=True, exist_ok=True)
        arpa = directory / ".model.arpa"
        try:
            estimate_arpa(
                programs, as_numerals(text), order, memory_mb, arpa, vocabulary=vocabulary_size
            )
            tables = read_arpa(arpa, vocabulary_size, mark)
        finally:
            arpa.unlink(missing_ok=True)
    _save(tables, mark, tokenizer, directory)


def _save(
    tables: NgramTables, mark: int, tokenizer: PreTrainedTokenizerBase, directory: Path
) -> None:
    transformers_logging.disable_progress_bar()
    sizes = [tables.vocabulary_size, *map(len, tables.keys[1:])]
    logger.info("n-grams by order: %s", ", ".join(f"{size:,}" for size in sizes))
    try:
        as_language_model(tables, mark).save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    except OSError as error:
        raise LingprobError(
            f"{directory}: the model could not be saved ({error}). Free some space and run again."
        ) from error


@dataclass(frozen=True)
class _Ngrams:
    """The n-grams of one order: `key` as in `NgramTables`, `suffix`, the place of the last n - 1
    tokens among those of the order below, `count`, how often each occurs, and whether each
    `begins` a sentence; `place` is that of the one which ends at each token of the text."""

    key: np.ndarray
    suffix: np.ndarray
    count: np.ndarray
    begins: np.ndarray
    place: np.ndarray


def count_ngrams(
    sentences: Sequence[np.ndarray], order: int, vocabulary_size: int, mark: int
) -> NgramTables:
    """Estimate an interpolated model with modified Kneser-Ney smoothing (Chen & Goodman 1998).

    Nothing is pruned, and the unigrams are interpolated with the uniform distribution over the
    vocabulary, so that the probabilities after any context sum to one over the V token ids.

    Args:
        sentences: token ids, without marks.
        order: of the model, 1 or more.
        vocabulary_size: the number V of token ids.
        mark: the id that begins and ends every sentence, and is in none.

    Raises LingprobError if there is no sentence.
    """
    if not sentences:
        raise LingprobError("a corpus without a sentence makes no n-gram model. Fill it.")
    tokens = np.concatenate([np.r_[mark, ids, mark] for ids in sentences]).astype(np.int64)
    depth = np.concatenate([np.arange(len(ids) + 2) for ids in sentences])
    counted = _ngrams(tokens, depth, order, vocabulary_size)
    probabilities = np.full(vocabulary_size, 1.0 / vocabulary_size)
    tables = NgramTables([], [], [])
    for k, ngrams in enumerate(counted, start=1):
        last = k == order
        counts = ngrams.count if last else _adjusted(ngrams, counted[k])
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
    """Return what is taken from counts of 0, 1, 2, and 3 or more (Chen & Goodman 1998, eq. 26).

    Where none of 1, 2 or 3 occurs, or a discount would be out of range, all are the fixed ones.
    """
    of = np.bincount(counts[counts <= 4], minlength=5).astype(float)
    if not of[1:4].all():
        return FALLBACK
    share = of[1] / (of[1] + 2 * of[2])
    sizes = np.arange(1, 4)
    found = sizes - (sizes + 1) * share * of[2:5] / of[1:4]
    return np.r_[0.0, found] if ((found >= 0) & (found <= sizes)).all() else FALLBACK


def _ngrams(
    tokens: np.ndarray, depth: np.ndarray, order: int, vocabulary_size: int
) -> list[_Ngrams]:
    """Return the n-grams of every order; of the first all token ids, whether they occur or not.

    `depth` is how many tokens, the mark included, precede each in its sentence.
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


def _adjusted(ngrams: _Ngrams, longer: _Ngrams) -> np.ndarray:
    """Return how many tokens precede each n-gram, or, where it begins a sentence, its count."""
    preceded = np.bincount(longer.suffix, minlength=len(ngrams.key))
    return np.where(ngrams.begins, ngrams.count, preceded)


def word_tokenizer(documents: Iterable[str], least_count: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer of the words and punctuation marks of a corpus, in its own spelling.

    Those that occur fewer than `least_count` times are `<unk>`, as are words of other texts; so
    with 2 or more `<unk>` has a count of its own. `</s>` precedes and ends sentences.
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
    """Make the token that ends a text precede it, too, and return its id.

    Raises LingprobError if the tokenizer has no token that ends or begins a text.
    """
    token = tokenizer.eos_token or tokenizer.sep_token or tokenizer.bos_token
    if token is None:
        raise LingprobError(
            f"tokenizer {name!r}: no token for the ends of a sentence, which an n-gram model "
            "needs. Name another tokenizer in the model's entry, or leave it out for words."
        )
    tokenizer.bos_token = tokenizer.eos_token = token
    return int(tokenizer.convert_tokens_to_ids(token))


def sentences(documents: Iterable[str], tokenizer: Any) -> Iterator[np.ndarray]:
    """Yield the token ids (int32) of every line of a corpus: what stands between two marks."""
    for some in batches(lines(documents), CHARACTERS_PER_BATCH):
        for ids in encode(tokenizer, some)["input_ids"]:
            if ids:
                yield np.array(ids, dtype=np.int32)


def lines(documents: Iterable[str]) -> Iterator[str]:
    """Yield the lines of documents that are not empty."""
    for document in documents:
        yield from filter(str.strip, document.splitlines())
