"""Conversion of a GGUF file, once, to float32 safetensors that load in about a second.

GGUF names, scales and orders weights differently for each kind of model. This module converts Llama
models with a byte-level tokenizer, such as the packaged model.
"""

import shutil
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.io.files import disk_problem, give_usual_permissions

# Pre-tokenizers of byte-level tokenizers, by the name that llama.cpp gives to each rule
# (`tokenizer.ggml.pre`). That of smollm splits off each numeral (Unicode category N) first.
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
PRE_TOKENIZERS = {
    "gpt-2": _BYTES,
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _BYTES]),
}
CONTROL = 3  # the type of a special token
SPECIAL = {
    "bos_token": "tokenizer.ggml.bos_token_id",
    "eos_token": "tokenizer.ggml.eos_token_id",
    "unk_token": "tokenizer.ggml.unknown_token_id",
    "pad_token": "tokenizer.ggml.padding_token_id",
}
CONFIG = {
    "num_hidden_layers": "llama.block_count",
    "hidden_size": "llama.embedding_length",
    "intermediate_size": "llama.feed_forward_length",
    "num_attention_heads": "llama.attention.head_count",
    "num_key_value_heads": "llama.attention.head_count_kv",
    "rms_norm_eps": "llama.attention.layer_norm_rms_epsilon",
    "max_position_embeddings": "llama.context_length",
}


def convert_gguf(gguf_path: str | Path, directory: str | Path) -> None:
    """Write the model and tokenizer of a GGUF file to `directory`, in transformers' format.

    The weights are dequantised to float32, because half precision would round them. `directory`
    gets all files or none, and replaces an earlier one.

    Raises LingprobError if the file is missing or damaged, or has a model of another kind.
    """
    gguf_path, directory = Path(gguf_path), Path(directory)
    transformers_logging.disable_progress_bar()
    try:
        reader = gguf.GGUFReader(str(gguf_path))
        _refuse_other_kinds(reader, gguf_path)
        tokenizer, model = _tokenizer(reader), _model(reader)
    except (OSError, ValueError, KeyError, IndexError, RuntimeError) as error:
        raise LingprobError(
            f"{gguf_path}: not a GGUF model that can be converted ({error}). Fetch it again."
        ) from error
    temporary = directory.with_name(f".{directory.name}.partial")
    shutil.rmtree(temporary, ignore_errors=True)  # a killed conversion may have left it
    temporary.mkdir(parents=True)
    try:
        model.save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        for path in temporary.iterdir():
            give_usual_permissions(path)
        if directory.exists():
            shutil.rmtree(directory)
        temporary.replace(directory)
    except (OSError, SafetensorError) as error:
        problem = disk_problem(error, directory) or str(error)
        raise LingprobError(f"{directory}: the model could not be written: {problem}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse_other_kinds(reader: gguf.GGUFReader, path: Path) -> None:
    """Raise LingprobError unless the model is Llama's and its pre-tokenizer is known."""
    known = {
        "general.architecture": ("llama",),
        "tokenizer.ggml.model": ("gpt2",),
        "tokenizer.ggml.pre": tuple(PRE_TOKENIZERS),
    }
    for key, names in known.items():
        if (name := _field(reader, key)) not in names:
            raise LingprobError(
                f"{path}: its {key} is {name!r}, and only {', '.join(names)} is converted here. "
                "Take the model as safetensors with its tokenizer.json."
            )


def _tokenizer(reader: gguf.GGUFReader) -> PreTrainedTokenizerFast:
    """Return the byte-level tokenizer of a GGUF file."""
    tokens = _field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(pair.split(" ")) for pair in _field(reader, "tokenizer.ggml.merges")]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = PRE_TOKENIZERS[_field(reader, "tokenizer.ggml.pre")]
    tokenizer.decoder = decoders.ByteLevel()
    kinds = _field(reader, "tokenizer.ggml.token_type")
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens(control)
    ids = {name: _field(reader, key) for name, key in SPECIAL.items()}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=_field(reader, "tokenizer.chat_template"),
        **{name: tokens[number] for name, number in ids.items() if number is not None},
    )


def _model(reader: gguf.GGUFReader) -> LlamaForCausalLM:
    """Return the float32 model of a GGUF file. Raise ValueError for parts that Llama lacks."""
    stored = {tensor.name: tensor for tensor in reader.tensors}
    numbers = {name: _field(reader, key) for name, key in CONFIG.items()}
    config = LlamaConfig(
        **numbers,
        head_dim=numbers["hidden_size"] // numbers["num_attention_heads"],
        rope_parameters={
            "rope_type": "default", "rope_theta": _field(reader, "llama.rope.freq_base")
        },
        vocab_size=len(_field(reader, "tokenizer.ggml.tokens")),
        tie_word_embeddings="output.weight" not in stored,
        bos_token_id=_field(reader, "tokenizer.ggml.bos_token_id"),
        eos_token_id=_field(reader, "tokenizer.ggml.eos_token_id"),
        pad_token_id=_field(reader, "tokenizer.ggml.padding_token_id"),
        dtype="float32",
    )  # fmt: skip
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    layers = config.num_hidden_layers
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, layers)
    weights = {}
    for name in model.state_dict():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        tensor = stored.pop(names.get_name(name, try_suffixes=(".weight",)))
        weight = gguf.dequantize(tensor.data, tensor.tensor_type)
        heads = {"q": config.num_attention_heads, "k": config.num_key_value_heads}
        if (part := name.partition("self_attn.")[2][:1]) in heads:
            # GGUF interleaves the two halves of each head's queries or keys.
            pairs = weight.reshape(heads[part], len(weight) // heads[part] // 2, 2, -1)
            weight = pairs.swapaxes(1, 2).reshape(weight.shape)
        weights[name] = torch.from_numpy(np.array(weight, dtype=np.float32))
    if stored or reader.get_field("llama.rope.scaling.type") is not None:
        raise ValueError(f"its model has parts that Llama's first kind lacks: {[*stored][:3]}")
    model.load_state_dict(weights, strict=False, assign=True)
    model.tie_weights()
    return model


def _field(reader: gguf.GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    return None if field is None else field.contents()
