"""Models are loaded from folders, and GGUF files converted."""

import json
import random
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import gguf
import numpy as np
import pytest
import regex
import torch
from transformers import AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.models.gguf import PRE_TOKENIZERS, convert_gguf
from lingprob.models.loading import check_language_model, load_language_model
from lingprob.models.prepare import prepare_model
from lingprob.scoring.engine import Scorer
from models_for_tests import SENTENCES, save_tiny_model, tiny_model

NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
}  # fmt: skip


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return save_tiny_model("gpt_neox", tmp_path_factory.mktemp("gpt_neox"))


@pytest.fixture(scope="module")
def language_model(directory):
    return load_language_model(directory, device="cpu")


def test_loaded_ready_to_score(language_model):
    assert (language_model.dtype, language_model.device.type) == (torch.float32, "cpu")
    assert (language_model.context_window, language_model.vocabulary_size) == (64, 320)
    assert not language_model.model.training
    assert not any(weight.requires_grad for weight in language_model.model.parameters())


def test_offsets_cover_the_text_in_characters(language_model):
    for text, tokens in zip(SENTENCES, language_model.tokenize(SENTENCES), strict=True):
        assert tokens.ids.dtype == np.int32
        spans = [*zip(tokens.char_start, tokens.char_end, strict=True)]
        covered = {place for start, end in spans for place in range(start, end)}
        assert {i for i, character in enumerate(text) if character != " "} <= covered
        assert all(start < end for start, end in spans)
        assert language_model.tokenizer.decode(tokens.ids) == text


def test_no_special_token_is_added_or_recognised(language_model):
    (tokens,) = language_model.tokenize(["a </s> b"])
    assert not set(tokens.ids.tolist()) & {0, 1, 2}
    assert language_model.tokenizer.decode(tokens.ids) == "a </s> b"
    (empty,) = language_model.tokenize([""])
    assert len(empty.ids) == len(empty.char_start) == len(empty.char_end) == 0
    assert language_model.tokenize([]) == []


@pytest.mark.parametrize("unknown", [None, "<pad>"])
def test_an_unknown_start_token_is_not_unk(directory, unknown):
    lm = load_language_model(directory)
    lm.tokenizer.unk_token = unknown
    assert [lm.start_id(name) for name in ("none", "bos", "eos", "<pad>")] == [None, 0, 1, 2]
    with pytest.raises(LingprobError, match=r"'<\|endoftext\|>'.*'</s>', '<pad>', '<s>'"):
        lm.start_id("<|endoftext|>")


def test_context_window_can_be_narrowed_only(directory):
    assert load_language_model(directory, context_window=2).context_window == 2
    assert load_language_model(directory, context_window=65).context_window == 64


@pytest.mark.skipif(
    torch.cuda.is_available() or torch.backends.mps.is_available(), reason="a GPU is here"
)
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("device", "cuda", r"scoring\.device: cpu.*scale.*profile"),
        ("device", "mps", r"no Apple GPU.*scoring\.device: cpu"),
        ("device", "gpu", "scoring.device: 'gpu'"),
        ("dtype", "float8", "scoring.dtype: 'float8'"),
    ],
)
def test_options_that_cannot_be_are_named(directory, option, value, said):
    with pytest.raises(LingprobError, match=said):
        load_language_model(directory, **{option: value})


def test_half_precision_on_a_cpu_is_flagged(directory, caplog):
    language_model = load_language_model(directory, device="cpu", dtype="bfloat16")
    assert language_model.dtype == torch.bfloat16
    assert "preview" in caplog.text


def test_damaged_weights(tmp_path, caplog):
    directory = save_tiny_model("gpt_neox", tmp_path)
    (directory / "model.safetensors.index.json").write_text("{}")
    load_language_model(directory)
    assert "weights in one file and in parts" in caplog.text
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(LingprobError, match="not a causal language model"):
        load_language_model(directory)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vocab_size": 100}, r"weights do not fit config\.json, .*\(320, 32\) where \(100, 32\)"),
        ({"num_hidden_layers": 1}, r"12 weights are of layers beyond .*layers\.1\."),
        ({"num_hidden_layers": 3}, r"12 weights are missing, .*layers\.2\."),
        ({"hidden_size": "wide"}, r"not a causal language model .*hidden_size"),
        ({"num_attention_heads": 5}, r"not a causal language model .*attention heads"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, change, said):
    directory = save_tiny_model("gpt_neox", tmp_path / "tiny")
    check_language_model(directory)
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, **change}))
    for read in (load_language_model, check_language_model):
        with pytest.raises(LingprobError, match=said):
            read(directory)
    entry = {"source": "local", "path": str(directory)}
    with pytest.raises(LingprobError, match=said):
        prepare_model("mine", entry, tmp_path / "manifest.json")
    assert not (tmp_path / "manifest.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("config.json", content, "not a causal language model that transformers can")
     for content in ("[]", "{}", "null", "not JSON", '{"model_type": []}')]
    + [("config.json", None, r"config\.json is missing"),
       ("*.safetensors", None, "no weights there"), ("tokenizer*", None, "no tokenizer there")],
)  # fmt: skip
def test_files_of_another_form_are_named(tmp_path, name, content, said):
    directory = save_tiny_model("gpt_neox", tmp_path / "tiny")
    for path in directory.glob(name):
        path.unlink() if content is None else path.write_text(content)
    entry = {"source": "local", "path": str(directory)}
    with pytest.raises(LingprobError, match=said):
        prepare_model("mine", entry, tmp_path / "manifest.json")


def as_gguf_stores_it(name, weight, config):
    """Queries and keys have the two halves of each head interleaved in a Llama GGUF."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for part, count in heads.items():
        if part in name:
            halves = weight.reshape(count, 2, weight.shape[0] // count // 2, -1)
            return halves.swapaxes(1, 2).reshape(weight.shape)
    return weight


def write_gguf(
    path, directory, kind="llama", change=None, quantise=lambda _, weight: (weight, None)
):
    """Write the tiny Llama and its tokenizer, saved in `directory`, as a GGUF."""
    model, tokenizer = tiny_model("llama"), AutoTokenizer.from_pretrained(directory)
    config, writer = model.config, gguf.GGUFWriter(path, kind)
    tokens = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    merges = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]
    described = {
        "block_count": config.num_hidden_layers, "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size, "feed_forward_length": config.intermediate_size,
        "head_count": config.num_attention_heads, "head_count_kv": config.num_key_value_heads,
        "layer_norm_rms_eps": config.rms_norm_eps, "vocab_size": config.vocab_size,
        "rope_freq_base": config.rope_parameters["rope_theta"], "tokenizer_model": "gpt2",
        "tokenizer_pre": "gpt-2", "token_list": tokens,
        "token_types": [3 if token in tokenizer.all_special_tokens else 1 for token in tokens],
        "token_merges": [" ".join(pair) for pair in merges],
        "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id, "chat_template": "{{ messages }}",
    }  # fmt: skip
    for name, value in described.items():
        getattr(writer, f"add_{name}")(value)
    for name, weight in model.state_dict().items():
        stored = np.ascontiguousarray(as_gguf_stores_it(name, weight.numpy(), config))
        stored, dtype = quantise(name, stored)
        layer, _, part = name.removeprefix("model.layers.").partition(".")
        if name in NAMES:
            writer.add_tensor(NAMES[name], stored, raw_dtype=dtype)
        elif layer.isdigit():
            part = NAMES[part.removesuffix(".weight")]
            writer.add_tensor(f"blk.{layer}.{part}.weight", stored, raw_dtype=dtype)
    if change is not None:
        change(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return save_tiny_model("llama", tmp_path_factory.mktemp("original"))


@pytest.fixture(scope="module")
def gguf_path(original, tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_gguf(path, original)
    return path


def test_the_converted_model_is_the_original(original, gguf_path, tmp_path):
    convert_gguf(gguf_path, tmp_path / "models" / "tiny")
    before = load_language_model(original)
    after = load_language_model(tmp_path / "models" / "tiny")
    assert (after.dtype, after.context_window) == (torch.float32, before.context_window)
    assert after.tokenizer.special_tokens_map == before.tokenizer.special_tokens_map
    assert (tmp_path / "models/tiny/chat_template.jinja").read_text() == "{{ messages }}"
    old, new = before.model.state_dict(), after.model.state_dict()
    assert set(old) == set(new)
    assert all(torch.equal(old[name], new[name]) for name in old)
    sequences = [tokens.ids for tokens in before.tokenize(SENTENCES)]
    for ids, tokens in zip(sequences, after.tokenize(SENTENCES), strict=True):
        assert ids.tolist() == tokens.ids.tolist()
    assert after.start_id("bos") == before.start_id("bos")
    both = [np.concatenate(Scorer(lm).score(sequences, 0)) for lm in (before, after)]
    np.testing.assert_allclose(*both, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda writer: writer.add_rope_scaling_type(gguf.RopeScalingType.YARN), "parts that"),
        (lambda writer: writer.add_tensor("rope_freqs.weight", np.ones(4, "f4")), "rope_freqs"),
        (None, "general.architecture is 'qwen2', and only llama"),
    ],
)
def test_other_kinds_of_gguf_are_refused(original, tmp_path, change, message):
    write_gguf(tmp_path / "other.gguf", original, "llama" if change else "qwen2", change)
    with pytest.raises(LingprobError, match=message):
        convert_gguf(tmp_path / "other.gguf", tmp_path / "models" / "tiny")
    assert not (tmp_path / "models").exists()


def test_quantised_weights_are_those_of_the_gguf_library(original, tmp_path):
    def quantise(name, weight):
        if weight.ndim == 1:
            return weight, None
        return gguf.quantize(weight, gguf.GGMLQuantizationType.Q8_0), gguf.GGMLQuantizationType.Q8_0

    write_gguf(tmp_path / "small.gguf", original, quantise=quantise)
    convert_gguf(tmp_path / "small.gguf", tmp_path / "tiny")
    weights = load_language_model(tmp_path / "tiny").model.state_dict()
    for name, weight in load_language_model(original).model.state_dict().items():
        if weight.ndim == 1:
            assert torch.equal(weights[name], weight)
        else:
            distance = (weights[name] - weight).abs().max()
            assert 0 < distance < weight.abs().max() / 250


KILLED = """
import os, signal, sys
from transformers import PreTrainedTokenizerBase
PreTrainedTokenizerBase.save_pretrained = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from lingprob.models.gguf import PRE_TOKENIZERS, convert_gguf
convert_gguf(sys.argv[1], sys.argv[2])
"""


def test_a_killed_conversion_can_be_repeated(gguf_path, tmp_path):
    target = tmp_path / "tiny"
    package = str(Path(__file__).resolve().parents[2] / "workflow_scripts")
    killed = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {package!r})\n{KILLED}",
         str(gguf_path), str(target)], capture_output=True, text=True,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not target.exists()
    convert_gguf(gguf_path, target)
    load_language_model(target)
    assert list(tmp_path.iterdir()) == [target]


def test_another_file_leaves_nothing_behind(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"not a model")
    for name, said in (("model.gguf", r"model\.gguf"), ("absent.gguf", "No such file")):
        with pytest.raises(LingprobError, match=said):
            convert_gguf(tmp_path / name, tmp_path / "models/converted")
    assert not (tmp_path / "models").exists()


GPT2_RULE = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)
NUMERALS = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code))[0] == "N"]


def test_the_rule_of_smollm_on_10000_strings():
    """llama.cpp splits off each numeral (Unicode category N), then applies GPT-2's rule."""
    drawn = random.Random(0)
    others = [*"abc  \n\t.,'", "it's", "Émile", "狗", "ा", "\u00a0", "²"]
    for _ in range(10_000):
        pieces = drawn.choices(NUMERALS, k=3) + drawn.choices(others, k=8)
        drawn.shuffle(pieces)
        text = "".join(pieces)
        wanted = [
            found for part in regex.split(r"(\p{N})", text) for found in GPT2_RULE.findall(part)
        ]
        places = PRE_TOKENIZERS["smollm"].pre_tokenize_str(text)
        assert [text[start:end] for _, (start, end) in places] == wanted, text


def test_an_unknown_rule_is_refused(gguf_path, tmp_path, monkeypatch):
    for known in ({"smollm": PRE_TOKENIZERS["smollm"]}, {}):
        monkeypatch.setattr("lingprob.models.gguf.PRE_TOKENIZERS", known)
        with pytest.raises(LingprobError, match=r"tokenizer\.ggml\.pre is 'gpt-2'"):
            convert_gguf(gguf_path, tmp_path / "tiny")
        assert not (tmp_path / "tiny").exists()
