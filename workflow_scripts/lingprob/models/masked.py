"""Loading a masked language model, which predicts a token from both sides, and its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.models.devices import choose_device
from lingprob.models.loading import DTYPES, Tokens, tokens_of
from lingprob.models.manifest import read_manifest
from lingprob.models.prepared import KEPT
from lingprob.models.safe_files import ONLY_DATA, check_folder, unloadable
from lingprob.models.tokenizer import encode


@dataclass(frozen=True)
class MaskableText:
    """A tokenised text; `words` has the number of each token's word, int32 of shape (n_tokens,).

    Words are those of the tokenizer, which parts marks from letters; a token outside of them is a
    word of its own.
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

    def tokenize(self, texts: Sequence[str]) -> list[MaskableText]:
        """Tokenise texts in one batch; special tokens are neither added nor recognised."""
        if not texts:
            return []
        encoded = encode(self.tokenizer, texts, offsets=True)
        found = []
        for row, tokens in enumerate(tokens_of(encoded)):
            numbers = encoded.word_ids(row)
            words = [-1 - place if word is None else word for place, word in enumerate(numbers)]
            found.append(MaskableText(tokens, np.asarray(words, dtype=np.int32)))
        return found


def load_masked_model(
    directory: str | Path, *, device: str = "auto", dtype: str = "auto"
) -> MaskedLanguageModel:
    """Load the masked language model in `directory`; never touches the network.

    `device` is as of `devices.choose_device`; `dtype` 'auto' is float32. Raises LingprobError if
    the folder holds no such model with a fast tokenizer and a mask, wants code of its own, lacks
    weights, or if the device is absent or an option unknown.
    """
    directory = Path(directory)
    if dtype not in ("auto", *DTYPES):
        raise LingprobError(f"scoring.dtype: {dtype!r} is not 'auto' or one of {list(DTYPES)}.")
    model, tokenizer = _load(directory, dtype=DTYPES.get(dtype, torch.float32))
    model = model.to(choose_device(device)).eval().requires_grad_(False)
    marks = tokenizer("a", return_special_tokens_mask=True)
    ids, special = marks["input_ids"], marks["special_tokens_mask"]
    first, last = special.index(0), len(special) - special[::-1].index(0)
    return MaskedLanguageModel(
        model=model,
        tokenizer=tokenizer,
        device=model.device,
        dtype=model.dtype,
        context_window=_context_window(model, tokenizer),
        directory=directory,
        before=tuple(ids[:first]),
        after=tuple(ids[last:]),
        mask_id=int(tokenizer.mask_token_id),
    )


def load_prepared_masked(
    manifest: str | Path, device: str = "auto", dtype: str = "auto"
) -> tuple[MaskedLanguageModel, dict[str, str]]:
    """Load a prepared masked model; return it with the provenance that its results carry."""
    content = read_manifest(manifest)
    lm = load_masked_model(content["directory"], device=device, dtype=dtype)
    kept = {key: content[key] for key in KEPT}
    return lm, {**kept, "dtype": str(lm.dtype), "device": lm.device.type}


def check_masked_model(directory: str | Path) -> None:
    """Raise LingprobError if `load_masked_model` would; reads the shapes of the weights alone."""
    _load(Path(directory), device_map="meta")


def _load(directory: Path, **options: Any) -> tuple[Any, Any]:
    check_folder(directory)
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        tokenizer = AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
        model, report = AutoModelForMaskedLM.from_pretrained(
            directory, use_safetensors=True, output_loading_info=True, **ONLY_DATA, **options
        )
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:  # whatever transformers makes of a stranger's files
        raise unloadable(directory, error, "masked language") from error
    if missing := report["missing_keys"]:
        raise LingprobError(
            f"{directory}: {len(missing)} weights are missing, for instance {min(missing)!r}. Is "
            "config.json of another model? Mend it, or delete the folder to fetch it again."
        )
    if not tokenizer.is_fast or tokenizer.mask_token_id is None:
        raise LingprobError(
            f"{directory}: needs a fast tokenizer (tokenizer.json), for offsets, with a mask."
        )
    return model, tokenizer


def _context_window(model: Any, tokenizer: Any) -> int:
    """Return how many tokens may be fed: RoBERTa's positions begin after that of its padding."""
    embeddings = getattr(model.base_model, "embeddings", None)
    padding = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
    positions = model.config.max_position_embeddings - (0 if padding is None else padding + 1)
    return int(min(positions, tokenizer.model_max_length))
