"""A prepared model's tokenizer without its weights is the one that transformers loads."""

import json
import subprocess
import sys

import pytest
from transformers import AutoConfig, AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.models.folders import write_manifest
from lingprob.models.tokenizer import encode, open_tokenizer
from models_for_tests import SENTENCES, save_tiny_model


@pytest.fixture
def manifest(tmp_path):
    directory = save_tiny_model("llama", tmp_path / "model")
    write_manifest("tiny", "local", "here", directory, tmp_path / "manifest.json")
    return tmp_path / "manifest.json"


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("kind", ["TokenizersBackend", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("more", [{}, {"added_tokens_decoder": {}}])
def test_it_is_what_transformers_makes_of_the_folder(manifest, kind, more):
    folder = manifest.parent / "model"
    edit(folder / "tokenizer_config.json", tokenizer_class=kind, **more)
    (folder / "special_tokens_map.json").write_text('{"bos_token": "</s>"}')
    opened = open_tokenizer(manifest)
    tokenizer = opened.tokenizer
    usual = AutoTokenizer.from_pretrained(folder)
    assert type(tokenizer) is type(usual)
    assert tokenizer.backend_tokenizer.to_str() == usual.backend_tokenizer.to_str()
    assert tokenizer.special_tokens_map == usual.special_tokens_map
    texts = [*SENTENCES, "<|endoftext|> twice  blank\n", ""]
    assert encode(tokenizer, texts, offsets=True) == encode(usual, texts, offsets=True)
    assert opened.vocabulary_size == AutoConfig.from_pretrained(folder).vocab_size


def test_logits_are_those_of_the_text_model(manifest):
    """A config.json may have a number for the whole, and another for its text model."""
    config = manifest.parent / "model" / "config.json"
    inner = json.loads(config.read_text()) | {"model_type": "gemma3_text"}
    whole = {"model_type": "gemma3", "vocab_size": 7, "text_config": inner}
    config.write_text(json.dumps(whole))
    assert open_tokenizer(manifest).vocabulary_size == inner["vocab_size"] != 7


def test_torch_is_not_imported_for_it(manifest):
    code = (
        "import sys; from lingprob.models.tokenizer import open_tokenizer;"
        f"open_tokenizer({str(manifest)!r}); print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "tokenizer_config.json"])
def test_a_damaged_file_is_refused(manifest, name):
    (manifest.parent / "model" / name).write_text("[]")
    with pytest.raises(LingprobError, match="model: not a causal language model"):
        open_tokenizer(manifest)
