"""Folders and files that would run code when they are read: none does, and the message says why."""

import json
import pickle
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.models.prepare import prepare_embedding, prepare_model, write_manifest
from lingprob.models.tokenizer import open_tokenizer
from lingprob.pairs.embeddings import SentenceEmbedder
from models_for_tests import save_tiny_model

ENTRY = {"source": "local"}
# Files, and changes that name code and a model that transformers lacks. It has t5, but not as a
# causal model.
MODEL = {"AutoModel": "hostile.Model", "AutoModelForCausalLM": "hostile.Model"}
TOKENIZER = {"AutoTokenizer": ["hostile.Tokenizer", None]}
CHANGES = [
    ("config.json", {"auto_map": {"AutoConfig": "hostile.Config"}, "model_type": "hostile"}),
    ("config.json", {"auto_map": MODEL, "model_type": "t5"}),
    ("tokenizer_config.json", {"auto_map": TOKENIZER, "tokenizer_class": "Hostile"}),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    return save_tiny_model("bloom", tmp_path_factory.mktemp("tiny"))


@pytest.fixture(params=CHANGES)
def hostile(request, tiny, tmp_path) -> Path:
    """A folder with code that would write a file `run` next to it, and files that name the code."""
    folder = tmp_path / "hostile"
    shutil.copytree(tiny, folder)
    (folder / "hostile.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    name, change = request.param
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(content | change))
    return folder


class Payload:
    """Writes a file where an unrestricted reader of pickles meets it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return exec, (f"open({str(self.path)!r}, 'w')",)


def ways_to_read(folder: Path) -> list:
    """Return every way in which the package reads a model's folder."""
    manifest = folder.parent / "manifest.json"
    entry = {**ENTRY, "path": str(folder)}
    write_manifest("m", "local", "here", folder, folder.parent / "written.json")
    return [
        lambda: load_language_model(folder),
        lambda: prepare_model("m", entry, manifest),
        lambda: open_tokenizer(folder.parent / "written.json"),
        lambda: SentenceEmbedder(folder, 64),
    ]


def test_code_in_a_model_s_folder_never_runs(hostile, monkeypatch):
    """transformers asks on standard input if it is not told, so an answer is ready."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    for read in ways_to_read(hostile):
        with suppress(LingprobError):
            read()
        assert not (hostile.parent / "run").exists()
    with pytest.raises(LingprobError, match=r"wants code of its own .*never run") as error:
        load_language_model(hostile)
    assert "trust_remote_code" not in str(error.value)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.ckpt"])
def test_pickled_weights_are_refused_with_a_remedy(tiny, tmp_path, name):
    folder = tmp_path / "tiny"
    shutil.copytree(tiny, folder)
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Payload(tmp_path / "run")))
    entry = {**ENTRY, "path": str(folder)}
    for read in (
        lambda: load_language_model(folder),
        lambda: prepare_model("m", entry, tmp_path / "m/manifest.json"),
        lambda: prepare_embedding("m", entry, tmp_path / "e/manifest.json"),
        lambda: SentenceEmbedder(folder, 64),
    ):
        with pytest.raises(LingprobError, match=rf"weights are in {name}.*to safetensors") as error:
            read()
        assert "weights_only" not in str(error.value)
    shutil.copy(tiny / "model.safetensors", folder)
    load_language_model(folder)  # the pickle is not read if there are safetensors
    assert not (tmp_path / "run").exists()


JOB = """
import sys
from types import SimpleNamespace
sys.path.insert(0, {scripts!r})
from lingprob.workflow import job
memory = SimpleNamespace(mem_mb=2000)
with job(SimpleNamespace(log=[{log!r}], rule="ask", resources=memory)):
    try:
        print("answered", input())
    except EOFError:
        print("nobody answers")
"""


def test_nobody_answers_on_a_job_s_standard_input(tmp_path):
    scripts = Path(__file__).parents[2] / "workflow_scripts"
    code = JOB.format(scripts=str(scripts), log=str(tmp_path / "log"))
    done = subprocess.run(
        [sys.executable, "-c", code], input="y\n" * 100, text=True, capture_output=True, check=True
    )
    assert done.stdout == "nobody answers\n"
