"""Token ids of many texts, by the fastest tokenizer that gives the same ids."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lingprob.errors import LingprobError
from lingprob.models.tokenizer import encode

logger = logging.getLogger(__name__)

Tokenize = Callable[[list[str]], Sequence[Sequence[int]]]


def usual_tokenize(tokenizer: Any) -> Tokenize:
    """Return a function from texts to token ids by a fast tokenizer of transformers."""
    return lambda texts: encode(tokenizer, texts)["input_ids"]


def fast_tokenize(tokenizer: Any, sample: Sequence[str], *, threads: int = 1) -> Tokenize:
    """Return the usual function, or tiktoken's with the same vocabulary where that agrees.

    Args:
        tokenizer: a fast tokenizer of transformers.
        sample: normalised texts of the corpus, on which both must give the same ids for tiktoken
            to be used.
        threads: number of tiktoken's threads.

    Raises LingprobError if the sample is empty.
    """
    if not any(sample):
        raise LingprobError("the tokenizers are compared on a sample of texts; it is empty.")
    usual = usual_tokenize(tokenizer)
    try:
        other = _tiktoken_of(tokenizer, threads)
    except (ImportError, KeyError, ValueError) as error:
        logger.info("tokenising without tiktoken: %s", error)
        return usual
    texts = [text for text in sample if text]
    for expected, found in zip(usual(texts), other(texts), strict=True):
        if list(expected) != list(found):
            logger.info("tokenising without tiktoken: its ids differ on the sample")
            return usual
    return other


def _tiktoken_of(tokenizer: Any, threads: int) -> Tokenize:
    """Build tiktoken's encoding from a byte-level BPE; ranks are the order of the merges."""
    import tiktoken  # optional: `pip install tiktoken`

    content = json.loads(tokenizer.backend_tokenizer.to_str())
    model = content["model"]
    if model.get("type") != "BPE" or model.get("byte_fallback"):
        raise ValueError("not a byte-level BPE tokenizer")
    # In normalised text no run of blanks can match one of the tokens made for them.
    if any(t["content"].strip() and not t["special"] for t in content["added_tokens"]):
        raise ValueError("it has tokens besides its merges")
    kept = _normaliser(content.get("normalizer"))
    byte_of = {character: byte for byte, character in _printable_bytes().items()}
    ids: list[int] = []
    ranks: dict[bytes, int] = {}
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    # Single bytes without an id cannot occur in UTF-8, yet tiktoken asks for all 256.
    for token in [*byte_of, *("".join(merge) for merge in merges)]:
        key = bytes(byte_of[character] for character in token)
        if key not in ranks:
            ranks[key] = len(ids)
            ids.append(model["vocab"].get(token, -1))
    encoding = tiktoken.Encoding(
        "lingprob", pat_str=_pattern(content["pre_tokenizer"]), mergeable_ranks=ranks,
        special_tokens={},
    )  # fmt: skip
    id_of_rank = np.array(ids, dtype=np.int64)

    def tokenize(texts: list[str]) -> Sequence[Sequence[int]]:
        found = encoding.encode_ordinary_batch(list(map(kept, texts)), num_threads=threads)
        return [id_of_rank[ranks_of_text] for ranks_of_text in map(_as_array, found)]

    return tokenize


def _as_array(ranks: list[int]) -> np.ndarray:
    return np.array(ranks, dtype=np.int64)


def _normaliser(description: dict[str, Any] | None) -> Callable[[str], str]:
    import unicodedata

    if description is None:
        return lambda text: text
    if description.get("type") == "NFC":
        return lambda text: unicodedata.normalize("NFC", text)
    raise ValueError(f"normaliser {description.get('type')!r} is not known here")


def _pattern(description: dict[str, Any]) -> str:
    if description.get("type") != "ByteLevel" or description.get("add_prefix_space"):
        raise ValueError("its pre-tokenizer is not the plain byte-level one")
    return r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _printable_bytes() -> dict[int, str]:
    """Return the character that stands for each byte in a byte-level vocabulary (GPT-2's)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {
        byte: chr(256 + i) for i, byte in enumerate(others)
    }
