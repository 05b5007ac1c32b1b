"""Tiny random language models of several families, and a tiny tokenizer, made in code."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BloomConfig,
    FalconConfig,
    Gemma2Config,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    OPTConfig,
    PhiConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

CONTEXT_WINDOW = 64
VOCABULARY_SIZE = 320
SENTENCES = (
    "The cat sat on the mat.", "The cats sat on the mats.", "Who did Mary say that John saw?",
    "Kerry attempted to study physics.", "It seems to him that Kim solved the problem.",
    "What does the teacher think the children read?",
    "No student has ever seen any of these films.",
    "Naïve façades, 1995: a test of accents & digits!",
)  # fmt: skip

_SMALL = {
    "vocab_size": VOCABULARY_SIZE, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": CONTEXT_WINDOW, "bos_token_id": 0,
    "eos_token_id": 1,
}  # fmt: skip
_GATED = {**_SMALL, "intermediate_size": 64, "num_key_value_heads": 2}

CONFIGS: dict[str, PreTrainedConfig] = {
    "gpt_neox": GPTNeoXConfig(**_SMALL, intermediate_size=64),
    "opt": OPTConfig(**_SMALL, ffn_dim=64, word_embed_proj_dim=32, pad_token_id=2),
    "opt_projected": OPTConfig(
        **_SMALL, ffn_dim=64, word_embed_proj_dim=16, pad_token_id=2, do_layer_norm_before=False
    ),
    "gpt2": GPT2Config(
        vocab_size=VOCABULARY_SIZE, n_embd=32, n_layer=2, n_head=4, n_positions=CONTEXT_WINDOW,
        bos_token_id=0, eos_token_id=1,
    ),
    "llama": LlamaConfig(**_GATED, tie_word_embeddings=True, rms_norm_eps=1e-3, rope_theta=500.0),
    "phi": PhiConfig(**_GATED),  # its output embedding has a bias
    "gemma2": Gemma2Config(
        **_GATED, head_dim=8, final_logit_softcapping=5.0, sliding_window=16, pad_token_id=2
    ),
}  # fmt: skip


# Positions enter as a bias that falls with the distance.
CONFIGS_WITH_ALIBI: dict[str, PreTrainedConfig] = {
    "bloom": BloomConfig(
        vocab_size=VOCABULARY_SIZE, hidden_size=32, n_layer=2, n_head=4, bos_token_id=0,
        eos_token_id=1, seq_length=CONTEXT_WINDOW,
    ),
    "falcon_alibi": FalconConfig(
        **{**_SMALL, "num_kv_heads": 4}, alibi=True, new_decoder_architecture=False,
        multi_query=False, parallel_attn=False,
    ),
}  # fmt: skip


def save_tiny_tokenizer(directory: Path) -> None:
    """Save a byte-level BPE tokenizer of 320 entries; <s> (0), </s> (1), <pad> (2)."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    fast.save_pretrained(directory)


def tiny_model(family: str, seed: int = 0) -> Any:
    """Return a random float32 model of a family above, far from uniform predictions."""
    torch.manual_seed(seed)
    config = {**CONFIGS, **CONFIGS_WITH_ALIBI}[family]
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


@cache
def float64_model(directory: Path) -> Any:
    """Return the causal model of a folder in float64, read once."""
    return AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float64)


def save_tiny_model(family: str, directory: Path, seed: int = 0) -> Path:
    """Save a random model of a family above with the tiny tokenizer; return `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    tiny_model(family, seed).save_pretrained(directory)
    save_tiny_tokenizer(directory)
    return directory


def plain_logprobs(model: Any, ids: Sequence[int], start_id: int | None = None) -> np.ndarray:
    """Return ln p (n,) of tokens by one pass of transformers' model, computed in float64.

    Without a start token the first is NaN.
    """
    fed = torch.tensor([[*([] if start_id is None else [start_id]), *ids]])
    with torch.no_grad():
        logits = model(input_ids=fed, use_cache=False).logits[0, :-1].double()
    values = logits.log_softmax(dim=1).gather(1, fed[0, 1:, None])[:, 0].numpy()
    return values if start_id is not None else np.append(np.nan, values)


@contextmanager
def passes(model: Any) -> Iterator[list[torch.Tensor]]:
    """Give the token ids of each pass that a model, or its body, makes within."""
    fed: list[torch.Tensor] = []

    def note(_module: Any, arguments: Any, given: dict[str, Any]) -> None:
        fed.append(given["input_ids"] if "input_ids" in given else arguments[0])

    with model.register_forward_pre_hook(note, with_kwargs=True):
        yield fed


def no_memory() -> None:
    """Fail as a GPU does that has no memory left."""
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


@contextmanager
def memory_for(lm: Any, tokens: int, fail: Callable[[], Any] = no_memory) -> Iterator[None]:
    """Let a pass of a loaded model over more tokens run out of memory."""

    def check(_module: Any, _args: Any, given: dict[str, Any]) -> None:
        if given["input_ids"].numel() > tokens:
            fail()

    with lm.model.base_model.register_forward_pre_hook(check, with_kwargs=True):
        yield


_ENCODER = {
    "vocab_size": VOCABULARY_SIZE, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
MASKED_CONFIGS: dict[str, PreTrainedConfig] = {
    "bert": BertConfig(**_ENCODER, max_position_embeddings=CONTEXT_WINDOW, pad_token_id=2),
    # Positions begin after that of the padding.
    "roberta": RobertaConfig(
        **_ENCODER, max_position_embeddings=CONTEXT_WINDOW + 3, pad_token_id=2
    ),
}  # fmt: skip


def save_tiny_masked_tokenizer(family: str, directory: Path) -> None:
    """Save WordPiece (bert) or byte-level BPE (roberta): <s> (0), </s> (1), <pad>, <mask>, <unk>.

    Words are cut into pieces, because there are few entries.
    """
    special = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>",
               "mask_token": "<mask>", "unk_token": "<unk>"}  # fmt: skip
    if family == "bert":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(
            vocab_size=120, special_tokens=[*special.values()], show_progress=False
        )
    else:
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=VOCABULARY_SIZE, special_tokens=[*special.values()],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        )  # fmt: skip
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(directory)


def save_tiny_masked_model(family: str, directory: Path, seed: int = 0) -> Path:
    """Save a random masked model of a family above with its tokenizer; return `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    model = AutoModelForMaskedLM.from_config(MASKED_CONFIGS[family], dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(directory)
    save_tiny_masked_tokenizer(family, directory)
    return directory
