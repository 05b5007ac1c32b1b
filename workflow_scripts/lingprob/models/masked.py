"""Load a masked language model, which predicts a token from both sides, and its tokenizer."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from lingprob.models.devices import choose_device
from lingprob.models.folders import read_unchanged
from lingprob.models.loading import (
    LoadedModel,
    choose_context_window,
    choose_dtype,
    provenance_of,
    read_masked,
)
from lingprob.models.tokenizer import Letters, Tokens

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
class MaskedLanguageModel(LoadedModel):
    """A masked language model.

    `before` and `after` are the ids of the marks around a text ([CLS], [SEP]), which count in the
    context window. `mask_id` is that of the mask.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    mask_id: int

    def tokenize(self, texts: Sequence[str]) -> list[MaskableText]:
        """Return each text tokenised. Special tokens are neither added nor recognised."""
        if not texts:
            return []
        encoded, found = self.encode(texts)
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

    Arguments and errors are those of `load_language_model`. `dtype` auto is float32.
    """
    directory, place = Path(directory), choose_device(device)
    chosen = torch.float32 if dtype == "auto" else choose_dtype(dtype, place)
    model, tokenizer = read_masked(directory, dtype=chosen)
    model = model.to(place).eval().requires_grad_(False)
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
            "%s: its tokenizer puts no marks such as [CLS] and [SEP] around a text. If the model "
            "was trained with them, correct `post_processor` in tokenizer.json.", directory,
        )  # fmt: skip
    first, last = special.index(0), len(special) - special[::-1].index(0)
    lm = MaskedLanguageModel(
        model=model,
        tokenizer=tokenizer,
        device=model.device,
        dtype=model.dtype,
        context_window=min(choose_context_window(model), int(tokenizer.model_max_length)),
        directory=directory,
        letters=Letters.of(tokenizer, unknown_letters),
        before=tuple(ids[:first]),
        after=tuple(ids[last:]),
        mask_id=int(tokenizer.mask_token_id),
    )
    lm.check_id(max(*ids, lm.mask_id))
    return lm


def load_prepared_masked(
    manifest: str | Path, device: str = "auto", dtype: str = "auto", **options: str
) -> tuple[MaskedLanguageModel, dict[str, str]]:
    """Return a prepared masked model and the provenance of its results (`provenance_of`)."""
    content = read_unchanged(manifest)
    lm = load_masked_model(content["directory"], device=device, dtype=dtype, **options)
    return lm, provenance_of(content, lm)
