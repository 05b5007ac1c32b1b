"""Loading a causal language model and its tokenizer from a local directory."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.models.architectures import register
from lingprob.models.devices import choose_device
from lingprob.models.kinds import is_masked
from lingprob.models.safe_files import ONLY_DATA, check_folder, unloadable
from lingprob.models.tokenizer import encode

logger = logging.getLogger(__name__)

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
UNSTATED_CONTEXT_WINDOW = 2048


@dataclass(frozen=True)
class Tokens:
    """One tokenised text without special tokens; three int32 arrays of shape (n_tokens,).

    `char_start` and `char_end` (exclusive) are offsets into the text in characters.
    """

    ids: np.ndarray
    char_start: np.ndarray
    char_end: np.ndarray

    def beginning_before(self, end: int) -> Tokens:
        """Return the tokens that begin before the character `end`."""
        n = int(np.searchsorted(self.char_start, end))
        return Tokens(self.ids[:n], self.char_start[:n], self.char_end[:n])


@dataclass(eq=False)
class LanguageModel:
    """A causal language model in evaluation mode, with its tokenizer.

    `context_window` is the largest number of tokens that may be fed at once, and
    `vocabulary_size` the number of logits that the softmax runs over.
    """

    model: Any
    tokenizer: Any
    device: torch.device
    dtype: torch.dtype
    context_window: int
    directory: Path
    vocabulary_size: int

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise texts in one batch; special tokens are neither added nor recognised."""
        if not texts:
            return []
        return tokens_of(encode(self.tokenizer, texts, offsets=True))

    def start_id(self, start_token: str) -> int | None:
        """Return the id of the token that precedes every sentence, or None for 'none'.

        `start_token` is 'none', 'bos', 'eos', or a token of the vocabulary such as
        '<|endoftext|>'. Raises LingprobError if the tokenizer has no such single token.
        """
        if start_token == "none":
            return None
        if start_token in ("bos", "eos"):
            token_id = getattr(self.tokenizer, f"{start_token}_token_id")
        else:
            token_id = self.tokenizer.convert_tokens_to_ids(start_token)
            if start_token != self.tokenizer.unk_token and token_id == self.tokenizer.unk_token_id:
                token_id = None
        if token_id is None:
            known = ", ".join(map(repr, sorted(self.tokenizer.all_special_tokens))) or "none"
            raise LingprobError(
                f"{self.directory}: the tokenizer has no single token for {start_token!r}. Its "
                f"special tokens: {known}. Name one of them, or 'none'."
            )
        return int(token_id)


def tokens_of(encoded: Any) -> list[Tokens]:
    """Return the tokens of each text that `encode` was given, with their offsets."""
    tokens = []
    for ids, spans in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
        offsets = np.asarray(spans, dtype=np.int32).reshape(-1, 2)
        tokens.append(Tokens(np.asarray(ids, dtype=np.int32), offsets[:, 0], offsets[:, 1]))
    return tokens


def load_language_model(
    directory: str | Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    device_map: str = "single",
    context_window: int | None = None,
) -> LanguageModel:
    """Load the causal language model in `directory`; never touches the network.

    `device` is as of `devices.choose_device`. `dtype` 'auto' is the checkpoint's own on an NVIDIA
    GPU, and float32 elsewhere. `device_map` 'auto' spreads the model over all GPUs.
    `context_window` narrows the model's own.
    Raises LingprobError if the directory holds no model with a fast tokenizer, wants code of its
    own, has weights that are a pickle or do not fit its config.json, if the device is absent, or
    an option is unknown.
    """
    directory = Path(directory)
    if device_map not in ("single", "auto"):
        raise LingprobError(f"scoring.device_map: {device_map!r} is neither 'single' nor 'auto'.")
    chosen_device = choose_device(device)
    chosen_dtype = _choose_dtype(dtype, chosen_device)
    model, tokenizer = _load(
        directory, dtype=chosen_dtype, device_map="auto" if device_map == "auto" else None
    )
    if device_map == "single":
        model = model.to(chosen_device)
    model.eval().requires_grad_(False)
    return LanguageModel(
        model=model,
        tokenizer=tokenizer,
        device=model.get_input_embeddings().weight.device,
        dtype=model.dtype,
        context_window=_choose_context_window(model.config, context_window, directory),
        directory=directory,
        vocabulary_size=int(model.get_output_embeddings().weight.shape[0]),
    )


def check_language_model(directory: str | Path) -> None:
    """Raise LingprobError if `load_language_model` would; reads the shapes of the weights alone."""
    _load(Path(directory), device_map="meta")


def _load(directory: Path, **options: Any) -> tuple[Any, Any]:
    """Return the model and tokenizer in a folder, whose files must fit each other."""
    check_folder(directory)
    if is_masked(directory):
        raise LingprobError(
            f"{directory}: a masked model (`architectures` in its config.json), which would give "
            "numbers that mean nothing if it were read from left to right. Say `kind: masked` in "
            "its entry."
        )
    register(directory)
    # Its bars and reports would fill the screen beside our own progress and messages.
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    model: Any
    try:
        tokenizer = AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
        model, report = AutoModelForCausalLM.from_pretrained(
            directory, use_safetensors=True, output_loading_info=True,
            ignore_mismatched_sizes=True, **ONLY_DATA, **options,
        )  # fmt: skip
    except (torch.OutOfMemoryError, MemoryError):
        raise
    except Exception as error:  # whatever transformers makes of a stranger's files
        raise unloadable(directory, error) from error
    _check_fit(directory, model, report)
    if not tokenizer.is_fast:
        raise LingprobError(f"{directory}: needs a fast tokenizer (tokenizer.json), for offsets.")
    return model, tokenizer


def _check_fit(directory: Path, model: Any, report: dict[str, Any]) -> None:
    """Refuse weights that are missing, of another shape, or of layers that config.json lacks."""
    remedy = "Is config.json of another model? Mend it, or delete the folder to fetch it again."
    if report["missing_keys"]:
        raise LingprobError(
            f"{directory}: {len(report['missing_keys'])} weights are missing, for instance "
            f"{min(report['missing_keys'])!r}. {remedy}"
        )
    if report["mismatched_keys"]:
        name, found, wanted = min(report["mismatched_keys"], key=lambda entry: str(entry[0]))
        raise LingprobError(
            f"{directory}: {len(report['mismatched_keys'])} weights do not fit config.json, for "
            f"instance {name!r} of shape {tuple(found)} where {tuple(wanted)} is needed. {remedy}"
        )
    kinds = {_kind(name) for name in model.state_dict()}
    if beyond := [name for name in report["unexpected_keys"] if _kind(name) in kinds]:
        raise LingprobError(
            f"{directory}: {len(beyond)} weights are of layers beyond those of config.json, for "
            f"instance {min(beyond)!r}. {remedy}"
        )


def _kind(name: str) -> str:
    """Return a weight's name without the number of its layer."""
    return re.sub(r"\.\d+\.", ".N.", name)


def _choose_dtype(name: str, device: torch.device) -> torch.dtype | str:
    if name == "auto":
        return "auto" if device.type == "cuda" else torch.float32
    if name not in DTYPES:
        raise LingprobError(f"scoring.dtype: {name!r} is not 'auto' or one of {list(DTYPES)}.")
    if device.type == "cpu" and name != "float32":
        logger.warning(
            "%s on a CPU is a preview only: it moves a sentence by up to several nats. "
            "Use float32 for results.", name,
        )  # fmt: skip
    return DTYPES[name]


def _choose_context_window(config: Any, asked: int | None, directory: Path) -> int:
    own = getattr(config.get_text_config(), "max_position_embeddings", None)
    if asked is None:
        return int(own or UNSTATED_CONTEXT_WINDOW)
    if not 2 <= asked <= (own or asked):
        raise LingprobError(
            f"{directory}: context_window {asked} is outside 2 to {own}, the model's own."
        )
    return asked
