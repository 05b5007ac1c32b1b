"""Tiny models of every causal and masked architecture of transformers, scored and compared.

    python tests/architectures.py

writes docs/architectures.md: which architectures score as a plain forward pass does, which are
refused and why, and which were not tried because no tiny model of them can be built here.
"""

import gc
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers as hf
from transformers.utils import logging as hf_logging

import lingprob
from lingprob.errors import LingprobError
from models_for_tests import (
    VOCABULARY_SIZE,
    plain_logprobs,
    save_tiny_masked_tokenizer,
    save_tiny_tokenizer,
)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "architectures.md"
TOLERANCE = 1e-4  # nats for each token
LARGEST = 4_000_000  # parameters of a tiny model
SENTENCE, CONTEXT = "The keys to the cabinet are old.", "Who did Mary say that John saw?"
# Values of the settings that architectures share under many names.
SIZES: list[tuple[Any, str]] = [
    (VOCABULARY_SIZE, "vocab_size"),
    (
        64,
        "intermediate_size ffn_dim d_ff n_inner ffn_hidden_size hidden_dim decoder_ffn_dim "
        "encoder_ffn_dim d_inner inner_dim max_position_embeddings n_positions max_sequence_length "
        "seq_length n_ctx attention_window_size",
    ),
    (
        32,
        "hidden_size d_model n_embd dim embed_dim emb_dim n_embed moe_intermediate_size "
        "shared_expert_intermediate_size word_embed_proj_dim embedding_size lru_width",
    ),
    (16, "mamba_d_head mamba_head_dim chunk_size q_lora_rank kv_lora_rank"),
    (
        8,
        "head_dim d_head attention_head_dim state_size mamba_d_state ssm_state_size "
        "qk_nope_head_dim qk_rope_head_dim v_head_dim linear_key_head_dim linear_value_head_dim",
    ),
    (
        4,
        "num_attention_heads n_head n_heads num_heads attention_heads decoder_attention_heads "
        "encoder_attention_heads num_experts num_local_experts n_routed_experts moe_num_experts "
        "mamba_n_heads mamba_num_heads mamba_dt_rank time_step_rank rotary_dim "
        "linear_num_value_heads",
    ),
    (
        2,
        "num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers "
        "num_key_value_heads num_kv_heads multi_query_group_num num_experts_per_tok moe_topk moe_k "
        "mamba_expand linear_num_key_heads pad_token_id",
    ),
    (1, "num_decoder_layers n_group topk_group mamba_n_groups n_groups eos_token_id"),
    (0, "bos_token_id"),
    (0.0, "attention_dropout"),
    (True, "is_decoder use_cache"),
    (16, "sliding_window"),
]
SMALL = {name: value for value, names in SIZES for name in names.split()}
# Settings of single architectures, and of their parts, by model type.
GEMMA = {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": VOCABULARY_SIZE}
DOTS = {"per_layer_config": {}, "adapter_out_dim": 32}
FOUR = {"num_hidden_layers": 4}
ROC_BERT = {"pronunciation_vocab_size": 64, "shape_vocab_size": 64, "pronunciation_embed_dim": 32,
            "shape_embed_dim": 32}  # fmt: skip
REFORMER = {
    "axial_pos_shape": [8, 8], "axial_pos_embds_dim": [16, 16], "attention_head_size": 8,
    "feed_forward_size": 64, "attn_layers": ["local", "lsh"], "num_hidden_layers": None,
    "local_attn_chunk_length": 8, "lsh_attn_chunk_length": 8, "num_buckets": 4, "hash_seed": 0,
}  # fmt: skip
ROPE = {"rope_type": "default", "rope_theta": 10_000.0}
EXTRA: dict[str, dict[str, Any]] = {
    "blt": {
        "encoder_hash_byte_group_vocab": 64,
        "encoder_config": {"hidden_size_global": 32},
        "decoder_config": {"hidden_size_global": 32},
    },
    "cohere_compass_text": {
        "rope_parameters": {"full_attention": ROPE, "sliding_attention": ROPE},
    },
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0},
        "ffn_config": {"moe_top_k": 2},
    },
    "dots1": {"n_shared_experts": 1},
    "dots3_note_text": {
        **FOUR, "num_key_value_heads": 4, "index_topk": 64, "index_head_dim": 16,
        "index_n_heads": 4, "head_dim": 16, "per_layer_config": {},
    },
    "falcon_h1": {"mamba_d_ssm": 64},
    "gemma3n_text": {
        **GEMMA, **FOUR, "num_kv_shared_layers": 0, "laurel_rank": 4,
        "activation_sparsity_pattern": [0.0] * 4, "intermediate_size": [64] * 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
    },
    "gemma4_text": {**GEMMA, "num_hidden_layers": 6},
    "gemma4_unified_text": {"num_hidden_layers": 6},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 16},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "longcat_flash": {"num_key_value_heads": 4, "zero_expert_num": 2, "expert_ffn_hidden_size": 32},
    "mamba2": {"num_heads": 4, "head_dim": 16},
    "prophetnet": {
        "num_hidden_layers": None, "num_attention_heads": None, "num_encoder_layers": 2,
        "num_decoder_layers": 2, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4,
    },
    "qwen3_5_text": FOUR,
    "qwen3_5_moe_text": FOUR,
    "qwen4_exp_text": {
        **FOUR, "indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 8,
        "indexer_budget": 16, "indexer_compress_ratio": 2, "ngram_vocab_size_base": 64,
    },
    "reformer": REFORMER,
    "roc_bert": ROC_BERT,
    "xlnet": {"max_position_embeddings": None},
    "xlstm": {"v_head_dim": None, "qk_head_dim": None, "embedding_dim": 32, "num_blocks": 2},
    "xmod": {"default_language": "en_XX"},
    "zamba2": {
        **FOUR, "layer_types": ["linear_attention", "hybrid"] * 2, "attention_hidden_size": 64,
        "attention_head_dim": 16, "n_mamba_heads": 4, "mamba_headdim": 16, "adapter_rank": 8,
        "hybrid_layer_ids": [1, 3],
    },
    "dots3_note_vision_encoder": {**DOTS, "adapter_in_dim": 32},
    "dots3_note_audio_encoder": {**DOTS, "adapter_input_size": 32},
    "zaya": {"num_experts_per_tok": 1, "router_hidden_size": 16},
    "phi4_multimodal": {
        "vision_config": {"image_size": 28, "crop_size": 28, "patch_size": 14},
        "audio_config": {"num_blocks": 1, "ext_pw_out_channel": 32, "nemo_conv_channels": 8,
                         "depthwise_separable_out_channel": 32},
    },
    "funnel": {"num_hidden_layers": None, "block_sizes": [1, 1]},
    "luke": {"entity_vocab_size": 64, "entity_emb_size": 16},
    "neomme": FOUR,
    "perceiver": {
        "num_latents": 8, "d_latents": 32, "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4, "num_cross_attention_heads": 4,
    },
}  # fmt: skip
DRAFTS = "drafts tokens for another model, whose cache it shares, so it does not predict alone"
CODES = "predicts codes of sound, several for each step, and not tokens of text"
REASONS = {
    "gemma3n": "needs the package timm, which is not installed here", "gemma4_assistant": DRAFTS,
    "gemma4_unified_assistant": DRAFTS, "musicgen": CODES, "musicgen_melody": CODES,
}  # fmt: skip
ABSENT, VARIES = object(), object()
OPTIONAL = ("sliding_window", "head_dim", "num_key_value_heads", "num_decoder_layers")


class Verdict(NamedTuple):
    """The result for one architecture: right, refused, wrong or not built, and why."""

    kind: str
    architecture: str
    result: str
    reason: str = ""


def architectures(kind: str) -> dict[str, Any]:
    """Return transformers' configuration classes of a kind (causal or masked) by model type.

    Classes that lingprob registers with transformers, such as its n-gram model, are left out.
    """
    mapping = hf.MODEL_FOR_CAUSAL_LM_MAPPING if kind == "causal" else hf.MODEL_FOR_MASKED_LM_MAPPING
    configs = [config for config in mapping if config.__module__.startswith("transformers.")]
    return {config.model_type: config for config in sorted(configs, key=lambda c: c.model_type)}


def tiny_settings(config_class: Any, kind: str) -> dict[str, Any]:
    """Return the settings of a configuration of a few thousand parameters, with all its parts."""
    usual = config_class()
    given = {name: value for name, value in SMALL.items() if setting_of(usual, name) is not ABSENT}
    if setting_of(usual, "sliding_window") is None:
        given.pop("sliding_window", None)
    if kind == "masked":
        given.pop("is_decoder", None)
    for name in config_class.sub_configs:
        part = getattr(usual, name, None)
        if isinstance(part, hf.PreTrainedConfig):
            given[name] = tiny_settings(type(part), kind)
    return merged(given, EXTRA.get(config_class.model_type, {}))


def setting_of(config: Any, name: str) -> Any:
    """Return the value of a setting, ABSENT if a configuration lacks it, VARIES by layer."""
    try:
        return getattr(config, name, ABSENT)
    except Exception:  # transformers' own class of error
        return VARIES


def tiny_configs(config_class: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Yield settings of tiny models, the barest first.

    Hybrids need more layers to have one of each kind, and some classes refuse a setting.
    """
    given = tiny_settings(config_class, kind)
    for left_out in ((), ("head_dim",), ("sliding_window",), OPTIONAL):
        for layers in (2, 4, 8):
            kept = {name: value for name, value in given.items() if name not in left_out}
            own = "num_hidden_layers" in EXTRA.get(config_class.model_type, {})
            more = {} if own or layers == 2 else {"num_hidden_layers": layers}
            yield kept | more


def merged(settings: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """Return settings with others laid over them, part by part. None leaves a setting out."""
    found = dict(settings)
    for name, value in extra.items():
        if isinstance(value, dict) and isinstance(found.get(name), dict):
            found[name] = merged(found[name], value)
        elif value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def save_tiny(kind: str, config_class: Any, folder: Path) -> None:
    """Save a random model far from uniform predictions with a tokenizer.

    Raises the last error of transformers if it builds no tiny model that predicts.
    """
    auto = hf.AutoModelForCausalLM if kind == "causal" else hf.AutoModelForMaskedLM
    for settings in tiny_configs(config_class, kind):
        try:
            model = tiny_model(auto, config_class(**settings))
            break
        except Exception as error:  # each class has checks of its own
            problem = error
    else:
        raise problem
    model.save_pretrained(folder)
    if kind == "causal":
        save_tiny_tokenizer(folder)
    else:
        save_tiny_masked_tokenizer("roberta", folder)


@torch.no_grad()
def tiny_model(auto: Any, config: Any) -> Any:
    """Return a random model, which must be small and predict without a cache."""
    with torch.device("meta"):
        size = sum(one.numel() for one in auto.from_config(config).parameters())
    if size > LARGEST:
        raise ValueError(f"no tiny model: {size / 1e6:.0f} million parameters")
    torch.manual_seed(0)
    model = auto.from_config(config, dtype=torch.float32).eval()
    for parameter in model.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    model(input_ids=torch.tensor([[0, 5, 6, 7, 8, 9]]), use_cache=False)
    return model


def differences(folder: Path) -> dict[str, float]:
    """Return how far each call is from the plain pass of a causal model, in nats per token."""
    lm: Any = lingprob.load(folder)
    model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = lm.lm.tokenize([SENTENCE])[0].ids.tolist()
    whole = lm.lm.tokenize([f"{CONTEXT} {SENTENCE}"])[0]
    first = int(np.argmax(whole.char_end > len(CONTEXT)))
    bits = lm.surprisal(SENTENCE, bos="bos")["surprisal_uncorrected"].sum()
    pairs = {
        "score, no start token": (
            lm.score(SENTENCE, bos="none")["logprob"][0],
            np.nansum(plain_logprobs(model, ids)),
        ),
        "score": (lm.score(SENTENCE, bos="bos")["logprob"][0], plain_logprobs(model, ids, 0).sum()),
        "surprisal": (-bits * np.log(2), plain_logprobs(model, ids, 0).sum()),
        "context": (
            lm.score(SENTENCE, context=CONTEXT, bos="bos")["logprob"][0],
            plain_logprobs(model, whole.ids.tolist(), 0)[first:].sum(),
        ),
    }
    return {call: abs(found - wanted) / len(ids) for call, (found, wanted) in pairs.items()}


@torch.no_grad()
def masked_difference(folder: Path) -> dict[str, float]:
    """Return how far a pseudo-log-likelihood is from one made pass by pass, in nats per token."""
    model = hf.AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()
    lm: Any = lingprob.load(folder, correction="none")
    (text,) = lm.lm.tokenize([SENTENCE])
    ids = text.tokens.ids.tolist()
    total = 0.0
    for place, token in enumerate(ids):
        row = [*lm.lm.before, *ids, *lm.lm.after]
        row[len(lm.lm.before) + place] = lm.lm.mask_id
        logits = model(input_ids=torch.tensor([row])).logits[0, len(lm.lm.before) + place]
        total += float(logits.double().log_softmax(-1)[token])
    return {"score": abs(lm.score(SENTENCE)["logprob"][0] - total) / len(ids)}


def judge(kind: str, architecture: str, config_class: Any) -> Verdict:
    """Return the verdict on one architecture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "model")
        folder.mkdir()
        os.environ["LINGPROB_CACHE"] = str(Path(name, "cache"))
        try:
            save_tiny(kind, config_class, folder)
        except Exception as error:  # transformers' own, of many kinds
            reason = REASONS.get(architecture, f"{type(error).__name__}: {error}")
            return Verdict(kind, architecture, "not built", reason)
        try:
            found = differences(folder) if kind == "causal" else masked_difference(folder)
        except LingprobError as error:
            return Verdict(kind, architecture, "refused", str(error).replace(str(folder), "FOLDER"))
        except Exception as error:  # a traceback is a fault of lingprob
            return Verdict(kind, architecture, "wrong", f"{type(error).__name__}: {error}")
    wrong = {call: far for call, far in found.items() if not far <= TOLERANCE}
    if not wrong:
        return Verdict(kind, architecture, "right")
    return Verdict(kind, architecture, "wrong", json.dumps(wrong))


def judge_all(*kinds: str) -> Iterator[Verdict]:
    """Yield the verdict on each architecture of the kinds."""
    warnings.filterwarnings("ignore")
    hf_logging.set_verbosity_error()
    for kind in kinds:
        for architecture, config_class in architectures(kind).items():
            yield judge(kind, architecture, config_class)
            gc.collect()


def page(verdicts: list[Verdict]) -> str:
    """Return docs/architectures.md."""
    lines = [
        "# Architectures",
        "",
        "<!-- Written by tests/architectures.py. -->",
        "",
        f"For each architecture of transformers {hf.__version__}, a tiny random model was scored",
        "by `score`, `surprisal` and `context=` and compared with a plain forward pass, to 1e-4",
        "nats per token. Masked models were compared by `score`.",
    ]
    for kind in ("causal", "masked"):
        some = [one for one in verdicts if one.kind == kind]
        right = [one.architecture for one in some if one.result == "right"]
        lines += ["", f"## {kind.capitalize()} models", "", f"Right ({len(right)}):", ""]
        lines += [", ".join(f"`{name}`" for name in right) + "."]
        for result in ("refused", "wrong", "not built"):
            listed = [one for one in some if one.result == result]
            if listed:
                lines += ["", f"{result.capitalize()} ({len(listed)}):", ""]
                lines += [
                    f"- `{one.architecture}`: {' '.join(one.reason.split())[:160]}"
                    for one in listed
                ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    found = []
    for verdict in judge_all("causal", "masked"):
        print(*verdict[:3], verdict.reason[:200].replace("\n", " "), flush=True, file=sys.stderr)
        found.append(verdict)
    PAGE.write_text(page(found), encoding="utf-8")
