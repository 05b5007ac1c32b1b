"""Tokenizers of tiny models: the family's own if it can be had, else one of its kind."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.io.download import RemoteFile, fetch_files
from lingprob.rehearsal.prose import sentences

MADE_TOKENS = 1000
HAN = range(0x4E00, 0x9FA6)
SPECIAL = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
BERT_SPECIAL = {
    "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}  # fmt: skip
logger = logging.getLogger(__name__)


def tokenizer_of(described: Mapping[str, Any], folder: Path) -> PreTrainedTokenizerFast:
    """Return a tokenizer as `tokenizers` of less.yaml describes it.

    Its files come from the mirror or their public address, to `folder`. If they cannot be had
    (a warning says so), or there are none, a tokenizer of the same kind is made of the demo's text.
    """
    kind, special = described["kind"], dict(described.get("special", {}))
    files = described.get("files", [])
    paths = _fetched(files, folder) if files else []
    if kind == "word_pieces":
        return _fast(word_pieces(paths), special or BERT_SPECIAL)
    if not paths:
        return _fast(byte_pairs(), special or SPECIAL)
    if kind == "byte_pairs":
        return _fast(byte_pairs(*paths), special)
    return _fast(Tokenizer.from_file(str(paths[0])), special)


def byte_pairs(vocabulary: Path | None = None, merges: Path | None = None) -> Tokenizer:
    """Return a byte-level BPE tokenizer of GPT-2's kind, from its files or trained here."""
    made = vocabulary is None or merges is None
    model = models.BPE() if made else models.BPE.from_file(str(vocabulary), str(merges))
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if made:
        trainer = trainers.BpeTrainer(
            vocab_size=MADE_TOKENS,
            special_tokens=["<|endoftext|>", "</s>", "<pad>", "[CLS]"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(sentences(), trainer)
    return tokenizer


def word_pieces(paths: Sequence[Path] = ()) -> Tokenizer:
    """Return a WordPiece tokenizer of BERT's kind: of a vocabulary file, or of letters and words.

    Chinese characters are tokens of their own.
    """
    if paths:
        words = paths[0].read_text(encoding="utf-8").splitlines()
    else:
        letters = [chr(code) for code in range(0x21, 0x7F)]
        pieces = [f"##{letter}" for letter in letters]
        known = {word.lower() for text in sentences() for word in text.split() if word.isalpha()}
        words = [*BERT_SPECIAL.values(), *letters, *pieces, *sorted(known), *map(chr, HAN)]
    vocabulary = {word: place for place, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def _fast(tokenizer: Tokenizer, special: Mapping[str, str]) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def _fetched(files: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    try:
        fetch_files(map(RemoteFile.of, files), folder, dataset="tokenizers")
    except LingprobError as error:
        logger.warning("a tokenizer of the same kind is made: %s", json.dumps(str(error)))
        return []
    return [folder / file["name"] for file in files]
