"""Conversion of a GGUF file, once, to float32 safetensors that load in about a second."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gguf
import numpy as np
import torch
from safetensors import SafetensorError
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.io.files import disk_problem
from lingprob.models.folders import ONLY_DATA

# Pre-tokenizers of byte-level tokenizers, by the name that llama.cpp gives to each rule
# (`tokenizer.ggml.pre`). That of smollm splits off each numeral (Unicode category N) first.
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
PRE_TOKENIZERS = {
    "gpt-2": _BYTES,
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _BYTES]),
}


def convert_gguf(gguf_path: str | Path, directory: str | Path) -> None:
    """Write the model and tokenizer of a GGUF file to `directory`, in float32.

    The weights are dequantised once; half precision would not hold them exactly. `directory`
    appears whole or not at all, and an earlier one of that name is replaced.
    Raises LingprobError if the file is missing, is not a GGUF that transformers reads, or splits
    text by an unknown rule.
    """
    gguf_path, directory = Path(gguf_path), Path(directory)
    if not gguf_path.is_file():
        raise LingprobError(f"{gguf_path}: no such file. Fetch the model again.")
    transformers_logging.disable_progress_bar()
    source = {"pretrained_model_name_or_path": str(gguf_path.parent), "gguf_file": gguf_path.name}
    try:
        with _read_once():
            tokenizer = AutoTokenizer.from_pretrained(**source, **ONLY_DATA)
            _set_pre_tokenizer(tokenizer, gguf_path)
            quantised = AutoModelForCausalLM.from_pretrained(
                **source, dtype=torch.float32, **ONLY_DATA
            )
    except (OSError, ValueError, KeyError, IndexError, ImportError) as error:
        raise LingprobError(
            f"{gguf_path}: not a GGUF model that transformers can read ({error}). Fetch it again."
        ) from error
    # save_pretrained refuses a model that knows it came from a GGUF file: one that does not takes
    # its weights.
    config = quantised.config
    del config.quantization_config
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(quantised.state_dict(), assign=True)
    model.tie_weights()
    temporary = directory.with_name(f".{directory.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)  # what a killed conversion left
    temporary.mkdir(parents=True)
    try:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        for path in temporary.iterdir():
            path.chmod(0o644)
        if directory.exists():
            shutil.rmtree(directory)
        temporary.replace(directory)
    except (OSError, SafetensorError) as error:
        problem = disk_problem(error, directory) or str(error)
        raise LingprobError(f"{directory}: the model could not be written: {problem}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _set_pre_tokenizer(tokenizer: Any, gguf_path: Path) -> None:
    """Give a byte-level tokenizer the pre-tokenizer that the file names, which transformers drops.

    Raises LingprobError if the file names none, or one that is not in PRE_TOKENIZERS.
    """
    reader = gguf.GGUFReader(str(gguf_path))  # as transformers names it, to be read once
    if _field(reader, "tokenizer.ggml.model") != "gpt2":
        return  # sentence pieces, which have no pre-tokenizer of this kind
    name = _field(reader, "tokenizer.ggml.pre")
    if name not in PRE_TOKENIZERS:
        raise LingprobError(
            f"{gguf_path}: its tokenizer splits text by the rule {name!r} (tokenizer.ggml.pre), "
            f"and those known here are {', '.join(PRE_TOKENIZERS)}. Take the model as safetensors "
            "with its tokenizer.json."
        )
    tokenizer.backend_tokenizer.pre_tokenizer = PRE_TOKENIZERS[name]


def _field(reader: gguf.GGUFReader, key: str) -> str | None:
    field = reader.get_field(key)
    return None if field is None else str(field.contents())


@contextmanager
def _read_once() -> Iterator[None]:
    """Keep what transformers asks of the gguf library again and again: half of the time.

    It reads the file for the tokenizer, the configuration and the weights, and makes the table of
    all names of weights once a module of the model (397 times for SmolLM2-135M). The file is read
    in 3.7 million slices, which take a third of the time of an array that does not know its file.
    """
    memmap = np.memmap
    with (
        patch.object(np, "memmap", lambda *args, **options: np.asarray(memmap(*args, **options))),
        patch.object(gguf, "GGUFReader", cache(gguf.GGUFReader)),
        patch.object(gguf, "get_tensor_name_map", cache(gguf.get_tensor_name_map)),
    ):
        yield
