"""The tokens of an n-gram model: words of its own, or those of another model's tokenizer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.io.corpora import batches
from lingprob.models.tokenizer import encode

CHARACTERS_PER_BATCH = 2**20
# The mark of both ends of a sentence, what rarer words are, and an entry that never occurs.
MARK, UNKNOWN, UNUSED = "</s>", "<unk>", "<unused>"


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
