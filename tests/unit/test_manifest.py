"""Manifests of prepared models: identity of models, and studies that are moved."""

import json
import os
import shutil
from pathlib import Path

import pytest

from lingprob.api.prepared_models import is_current
from lingprob.errors import LingprobError
from lingprob.models import folders
from lingprob.models.folders import files_digest, model_files, read_manifest, write_manifest
from lingprob.models.loading import load_prepared
from lingprob.models.prepare import prepare_model
from models_for_tests import save_tiny_model


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A folder with a model of the user's own, which is also the working folder."""
    folder = tmp_path / "study"
    save_tiny_model("gpt2", folder / "models/mine")
    monkeypatch.chdir(folder)
    return folder


def prepared(path: str) -> Path:
    manifest = Path("resources/models/mine/manifest.json")
    prepare_model("mine", {"source": "local", "path": path}, manifest)
    return manifest


def test_a_copied_study_reads_its_own_files(study, tmp_path, monkeypatch):
    absolute = str(study / "models/mine")
    assert read_manifest(prepared(absolute))["directory"] == absolute
    manifest = prepared("models/mine")
    assert read_manifest(manifest)["directory"] == "models/mine"
    shutil.copytree(study, tmp_path / "copy")
    save_tiny_model("gpt2", study / "models/mine", seed=1)
    monkeypatch.chdir(tmp_path / "copy")
    directory = Path(read_manifest(manifest)["directory"])
    assert directory.resolve() == tmp_path / "copy/models/mine"
    assert files_digest(directory) == read_manifest(manifest)["files_digest"]
    assert str(study) not in manifest.read_text()
    shutil.rmtree("models")
    with pytest.raises(LingprobError, match=r"manifest\.json: the model's files are not in models"):
        read_manifest(manifest)


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_any_other_file_is_another_model(study, file):
    before = read_manifest(manifest := prepared("models/mine"))
    path = Path("models/mine") / file
    content = path.read_bytes()
    other_weight = content[:-1] + bytes([content[-1] ^ 1])
    path.write_bytes(other_weight if path.suffix == ".safetensors" else content + b" ")
    with pytest.raises(LingprobError, match=r"have changed since .* or are damaged"):
        load_prepared(manifest, {})
    after = read_manifest(prepared("models/mine"))
    assert before["files_digest"] != after["files_digest"]
    assert (before["tokenizer_sha256"] != after["tokenizer_sha256"]) == (file == "tokenizer.json")


def test_files_that_nobody_touched_need_no_digest(study, monkeypatch):
    weights, manifest = Path("models/mine/model.safetensors"), prepared("models/mine")
    content, times, described = weights.read_bytes(), weights.stat(), read_manifest(manifest)
    with monkeypatch.context() as patched:
        patched.delattr(folders, "files_digest")
        assert folders.is_unchanged(manifest, described)
    for same, in_place in ((True, True), (False, True), (True, False), (False, False)):
        in_place or weights.rename("old")
        weights.write_bytes(content if same else content[:-1] + bytes([content[-1] ^ 1]))
        os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert folders.is_unchanged(manifest, described) == same
        assert (files_digest(Path("models/mine")) == described["files_digest"]) == same
    prepared("models/mine")
    assert not folders.is_unchanged(manifest, described)


def test_an_adapter_on_another_base_is_another_model(study):
    Path("adapter").mkdir()
    stated = {"base_model_name_or_path": str(study / "models/mine")}
    Path("adapter/adapter_config.json").write_text(json.dumps(stated))
    (own := Path("adapter/tokenizer.json")).write_text("{}")  # a name that the base has
    manifest, entry = Path("manifest.json"), {"source": "local", "path": "adapter"}
    for change in (
        lambda: save_tiny_model("gpt2", study / "models/mine", seed=1),
        lambda: own.write_text("{} "),
        lambda: own.rename("adapter/vocab.json"),
    ):
        write_manifest("mine", "local", "", Path("adapter"), manifest)
        assert is_current(manifest, entry)
        change()
        assert not is_current(manifest, entry)


def test_hidden_files_and_the_manifest_do_not_count(study):
    directory = Path("models/mine")
    names = [path.name for path in model_files(directory)]
    digest = files_digest(directory)
    for name in (".cache", "manifest.json"):
        (directory / name).write_text("{}")
    assert [path.name for path in model_files(directory)] == names
    assert files_digest(directory) == digest
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(names)
    assert model_files(Path("nowhere")) == []


def test_scores_name_their_files_and_refuse_old_manifests(study):
    manifest = prepared("models/mine")
    entry = {"context_window": 16, "dtype": {"cpu": "bfloat16", "cuda": "float16"}}
    lm, provenance = load_prepared(manifest, entry, "cpu")
    assert provenance["files_digest"] == files_digest(Path("models/mine"))
    assert lm.context_window == 16
    content = json.loads(manifest.read_text())
    for key in ("model", "origin", "tokenizer_sha256", "files_digest"):
        assert provenance.pop(key) == content[key]
        manifest.write_text(json.dumps({name: content[name] for name in content if name != key}))
        with pytest.raises(LingprobError, match=rf"without {key}: no manifest .*Delete this file"):
            load_prepared(manifest, {}, "cpu")
    assert provenance == {"dtype": "torch.bfloat16", "device": "cpu"}
    manifest.write_text('{"model": ')
    with pytest.raises(LingprobError, match=r"manifest\.json: no manifest of a model"):
        load_prepared(manifest, {})
