"""Loading a model, tokenising with offsets, start tokens, and what a user can get wrong."""

import json

import numpy as np
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import check_language_model, load_language_model
from lingprob.models.prepare import prepare_model
from models_for_tests import SENTENCES, save_tiny_model


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return save_tiny_model("gpt_neox", tmp_path_factory.mktemp("gpt_neox"))


@pytest.fixture(scope="module")
def language_model(directory):
    return load_language_model(directory, device="cpu")


def test_loaded_ready_to_score(language_model):
    assert language_model.dtype == torch.float32
    assert language_model.device == torch.device("cpu")
    assert language_model.context_window == 64
    assert language_model.vocabulary_size == 320
    assert not language_model.model.training
    assert not any(weight.requires_grad for weight in language_model.model.parameters())


def test_offsets_cover_the_text_in_characters(language_model):
    for text, tokens in zip(SENTENCES, language_model.tokenize(SENTENCES), strict=True):
        assert tokens.ids.dtype == np.int32
        pieces = [
            text[start:end] for start, end in zip(tokens.char_start, tokens.char_end, strict=True)
        ]
        covered = set()
        for start, end in zip(tokens.char_start, tokens.char_end, strict=True):
            covered |= set(range(start, end))
        assert {i for i, character in enumerate(text) if character != " "} <= covered
        assert all(len(piece) >= 1 for piece in pieces)
        assert language_model.tokenizer.decode(tokens.ids) == text


def test_no_special_token_is_added_or_recognised(language_model):
    (tokens,) = language_model.tokenize(["a </s> b"])
    assert not set(tokens.ids.tolist()) & {0, 1, 2}
    assert language_model.tokenizer.decode(tokens.ids) == "a </s> b"
    (empty,) = language_model.tokenize([""])
    assert len(empty.ids) == len(empty.char_start) == len(empty.char_end) == 0
    assert language_model.tokenize([]) == []


def test_context_tokens(language_model):
    assert language_model.start_id("none") is None
    assert language_model.start_id("bos") == 0
    assert language_model.start_id("eos") == 1
    assert language_model.start_id("<pad>") == 2
    with pytest.raises(LingprobError, match=r"'<\|endoftext\|>'.*'</s>', '<pad>', '<s>'"):
        language_model.start_id("<|endoftext|>")


def test_a_tokenizer_without_bos_says_so(directory, language_model):
    own = language_model.tokenizer.bos_token
    language_model.tokenizer.bos_token = None
    try:
        with pytest.raises(LingprobError, match="'bos'"):
            language_model.start_id("bos")
    finally:
        language_model.tokenizer.bos_token = own


def test_context_window_can_be_narrowed_only(directory):
    assert load_language_model(directory, context_window=10).context_window == 10
    assert load_language_model(directory, context_window=65).context_window == 64
    with pytest.raises(LingprobError, match="context_window 1"):
        load_language_model(directory, context_window=1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_missing_gpu_names_the_remedy(directory):
    with pytest.raises(LingprobError, match=r"scoring\.device: cpu.*scale.*profile"):
        load_language_model(directory, device="cuda")


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="this machine has an Apple GPU")
def test_a_missing_apple_gpu_names_the_remedy(directory):
    with pytest.raises(LingprobError, match=r"no Apple GPU.*scoring\.device: cpu"):
        load_language_model(directory, device="mps")


@pytest.mark.parametrize(
    ("option", "value"), [("device", "gpu"), ("dtype", "float8"), ("device_map", "balanced")]
)
def test_unknown_options_are_named(directory, option, value):
    with pytest.raises(LingprobError, match=f"scoring.{option}: '{value}'"):
        load_language_model(directory, **{option: value})


def test_half_precision_on_a_cpu_is_flagged(directory, caplog):
    language_model = load_language_model(directory, device="cpu", dtype="bfloat16")
    assert language_model.dtype == torch.bfloat16
    assert "preview" in caplog.text


def test_a_directory_without_a_model(tmp_path):
    with pytest.raises(LingprobError, match=r"config\.json is missing"):
        load_language_model(tmp_path)


def test_damaged_weights(tmp_path):
    directory = save_tiny_model("gpt_neox", tmp_path)
    weights = directory / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(LingprobError, match="not a causal language model"):
        load_language_model(directory)


def test_missing_weights_are_not_made_up(tmp_path):
    directory = save_tiny_model("gpt_neox", tmp_path)
    config = json.loads((directory / "config.json").read_text())
    config["num_hidden_layers"] = 3
    (directory / "config.json").write_text(json.dumps(config))
    with pytest.raises(LingprobError, match="weights are missing"):
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
def test_weights_that_do_not_fit_are_refused_when_a_model_is_prepared(tmp_path, change, said):
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


@pytest.mark.parametrize("content", ["[]", "{}", "null", "not JSON", '{"model_type": []}'])
def test_a_config_json_of_another_form_is_one_clear_message(tmp_path, content):
    directory = save_tiny_model("gpt_neox", tmp_path)
    (directory / "config.json").write_text(content)
    with pytest.raises(LingprobError, match="not a causal language model that transformers can"):
        load_language_model(directory)


def test_a_model_without_a_tokenizer_is_not_blamed_on_the_data(tmp_path):
    directory = save_tiny_model("gpt_neox", tmp_path / "tiny")
    for path in directory.glob("tokenizer*"):
        path.unlink()
    entry = {"source": "local", "path": str(directory)}
    with pytest.raises(LingprobError, match="no tokenizer there"):
        prepare_model("mine", entry, tmp_path / "manifest.json")
