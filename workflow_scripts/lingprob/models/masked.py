"""Load a masked language model, which predicts a token from both sides, and its tokenizer."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM

from lingprob.errors import LingprobError
from lingprob.models.devices import choose_device
from lingprob.models.folders import read_unchanged
from lingprob.models.loading import (
    DTYPES,
    check_embedded,
    choose_context_window,
    provenance_of,
    read_model,
)
from lingprob.models.tokenizer import Letters, Tokens, encode, name_different_tokens, tokens_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class MaskableText:
    """A tokenised text, with the number of each token's word in `words`, (n_tokens,) int32.

    Words are those of the tokenizer, which separates punctuation from letters. A token that is in
    no word counts as a word.
    """

    tokens: Tokens
    words: np.ndarray


@dataclass(eq=False)
class MaskedLanguageModel:
    """A masked language model in evaluation mode, with its tokenizer.

    `before` and `after` are the ids of the marks around a text ([CLS], [SEP]), `mask_id` that of
    the mask, and `context_window` the largest number of tokens of a text with both marks.
    """

    model: Any
    tokenizer: Any
    device: torch.device
    dtype: torch.dtype
    context_window: int
    directory: Path
    before: tuple[int, ...]
    after: tuple[int, ...]
    mask_id: int
    letters: Letters = field(default_factory=Letters)

    def tokenize(self, texts: Sequence[str]) -> list[MaskableText]:
        """Return each text tokenised. Special tokens are neither added nor recognised."""
        if not texts:
            return []
        encoded = encode(self.tokenizer, texts, offsets=True)
        found = tokens_of(encoded)
        self.letters.check(texts, found)
        highest = max((int(one.ids.max()) for one in found if len(one.ids)), default=0)
        check_embedded(self.model, self.tokenizer, highest, self.directory)
        return [
            MaskableText(tokens, number_words(text, tokens, encoded.word_ids(row)))
            for row, (text, tokens) in enumerate(zip(texts, found, strict=True))
        ]


def number_words(text: str, tokens: Tokens, word_ids: Sequence[int | None]) -> np.ndarray:
    """Return the number of each token's word, int32 of shape (n_tokens,).

    A word is a word of the tokenizer within one stretch of text without white space. Some
    tokenizers (Gemma's) split no words themselves and give all tokens of a text one number.
    """
    space = np.array([letter.isspace() for letter in text], dtype=bool)
    stretches = np.cumsum(space)
    first = [
        next((at for at in range(start, end) if not space[at]), start)
        for start, end in zip(tokens.char_start.tolist(), tokens.char_end.tolist(), strict=True)
    ]
    keys = [
        (-1 - place, 0) if word is None else (word, int(stretches[at]) if at < len(text) else -1)
        for place, (word, at) in enumerate(zip(word_ids, first, strict=True))
    ]
    numbers: dict[tuple[int, int], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int32)


def load_masked_model(
    directory: str | Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    unknown_letters: str = "warn",
) -> MaskedLanguageModel:
    """Load the masked language model in `directory` without the network.

    `device` is an argument of `choose_device`, `dtype` a name in DTYPES, or auto for float32.
    `unknown_letters` is `warn` or `refuse`.

    Raises LingprobError if the folder has no such model with a fast tokenizer and a mask, needs
    code of its own or lacks weights, or if the device is absent or an option is unknown.
    """
    directory = Path(directory)
    if dtype not in ("auto", *DTYPES):
        raise LingprobError(f"scoring.dtype: {dtype!r} is not 'auto' or one of {list(DTYPES)}.")
    model, tokenizer = _load(directory, dtype=DTYPES.get(dtype, torch.float32))
    model = model.to(choose_device(device)).eval().requires_grad_(False)
    for text in ("a", *tokenizer.get_vocab()):  # any text that has a token
        try:
            marked = tokenizer(text, return_special_tokens_mask=True)
        except Exception:  # a vocabulary of words that lacks this one
            continue
        ids, special = marked["input_ids"], marked["special_tokens_mask"]
        if 0 in special:
            break
    if 1 not in special:
        logger.warning(
            "%s: its tokenizer puts no marks such as [CLS] and [SEP] around a text, so there are "
            "none. If the model was trained with them, correct `post_processor` in tokenizer.json.",
            directory,
        )
    check_embedded(model, tokenizer, max(*ids, tokenizer.mask_token_id), directory)
    first, last = special.index(0), len(special) - special[::-1].index(0)
    return MaskedLanguageModel(
        model=model,
        tokenizer=tokenizer,
        device=model.device,
        dtype=model.dtype,
        context_window=min(
            choose_context_window(model, None, directory), int(tokenizer.model_max_length)
        ),
        directory=directory,
        before=tuple(ids[:first]),
        after=tuple(ids[last:]),
        mask_id=int(tokenizer.mask_token_id),
        letters=Letters.of(tokenizer, unknown_letters),
    )


def load_prepared_masked(
    manifest: str | Path, device: str = "auto", dtype: str = "auto", **options: str
) -> tuple[MaskedLanguageModel, dict[str, str]]:
    """Return a prepared masked model and the provenance of its results (`provenance_of`).

    Arguments after `manifest` are those of `load_masked_model`.
    """
    content = read_unchanged(manifest)
    lm = load_masked_model(content["directory"], device=device, dtype=dtype, **options)
    return lm, provenance_of(content, lm)


def check_masked_model(directory: str | Path) -> None:
    """Raise LingprobError if `load_masked_model` would, reading only the shapes of weights.

    It logs texts that transformers' own tokenizer splits differently.
    """
    _load(Path(directory), device_map="meta")
    name_different_tokens(Path(directory))


def _load(directory: Path, **options: Any) -> tuple[Any, Any]:
    """Return transformers' masked language model and tokenizer of a folder."""
    model, tokenizer = read_model(AutoModelForMaskedLM, directory, directory, **options)
    if tokenizer.mask_token_id is None:
        raise LingprobError(f"{directory}: its tokenizer has no mask token. Choose another model.")
    return model, tokenizer
