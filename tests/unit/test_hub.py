"""Models from a stand-in hub on the loopback, which the hub's own client library talks to."""

import hashlib
import json
import pickle
from io import BytesIO
from pathlib import Path

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.io import download
from lingprob.models.downloads import choose_files, fetch_snapshot
from loopback import Fault, FileServer, HubServer, Repository
from models_for_tests import VOCABULARY_SIZE, save_tiny_model, tiny_model

NAME = "lab/tiny"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NEEDED = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"]
CLUTTER = {
    name: b"of no use"
    for name in (
        ".gitattributes", "README.md", "consolidated.safetensors", "flax_model.msgpack",
        "model.fp16.safetensors", "onnx/model.onnx", "onnx/vocab.json", "original/config.json",
        "rust_model.ot", "tf_model.h5", "tiny.gguf", "training_args.bin",
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def model_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A tiny GPT-NeoX model with random weights and a byte-level tokenizer, as files."""
    folder = save_tiny_model("gpt_neox", tmp_path_factory.mktemp("model"))
    torch.save(tiny_model("gpt_neox").state_dict(), folder / "pytorch_model.bin")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def repository(model_files) -> Repository:
    return Repository(
        COMMIT,
        {**model_files, **CLUTTER},
        lfs={"model.safetensors", "pytorch_model.bin", "tokenizer.json"},
        tags={"main", "step1"},
    )


@pytest.fixture
def hub(repository, monkeypatch, tmp_path):
    """The hub, in force from here on; no token, no mirror, and no waiting between tries."""
    monkeypatch.setattr(download, "RETRY_SECONDS", (0.01,) * 4)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with HubServer({NAME: repository}) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetched(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("[!.]*")}


def failure(directory: Path, repository: str = NAME, revision: str = COMMIT) -> str:
    with pytest.raises(LingprobError) as raised:
        fetch_snapshot(repository, revision, directory)
    return str(raised.value)


@pytest.mark.parametrize("revision", [COMMIT, "step1"])
def test_what_is_needed_arrives_and_loads(hub, model_files, tmp_path, revision):
    fetch_snapshot(NAME, revision, tmp_path / "tiny")
    expected = [*NEEDED, "model.safetensors"]
    assert fetched(tmp_path / "tiny") == {name: model_files[name] for name in expected}
    assert [request.path for request in hub.requests if "/resolve/" in request.path] == [
        f"/{NAME}/resolve/{COMMIT}/{name}" for name in expected
    ]
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "tiny")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "tiny")
    tokens = tokenizer("the cats", return_tensors="pt")["input_ids"]
    assert model(tokens).logits.shape == (1, tokens.shape[1], VOCABULARY_SIZE)


def test_pickles_are_used_only_without_safetensors(hub, repository, model_files, tmp_path, caplog):
    del repository.files["model.safetensors"]
    fetch_snapshot(NAME, COMMIT, tmp_path / "tiny")
    files = fetched(tmp_path / "tiny")
    weights = files.pop("model.safetensors")
    assert files == {name: model_files[name] for name in NEEDED}
    assert f"{NAME} has its weights as a pickle (.bin) only" in caplog.text
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "tiny").state_dict()
    expected = torch.load(BytesIO(model_files["pytorch_model.bin"]))
    torch.testing.assert_close(loaded, expected, rtol=0, atol=0)
    before = len(hub.requests)
    fetch_snapshot(NAME, COMMIT, tmp_path / "tiny")
    assert len(hub.requests) == before
    (tmp_path / "tiny/model.safetensors").write_bytes(weights[:-1])
    fetch_snapshot(NAME, COMMIT, tmp_path / "tiny")
    assert fetched(tmp_path / "tiny")["model.safetensors"] == weights


def test_a_pickle_in_parts_becomes_as_many_safetensors(hub, repository, model_files, tmp_path):
    """Weights that share memory, as tied embeddings do, are written twice."""
    weights = torch.load(BytesIO(model_files["pytorch_model.bin"]))
    names = list(weights)
    parts = {"pytorch_model-00001-of-00002.bin": names[:5],
             "pytorch_model-00002-of-00002.bin": names[5:]}  # fmt: skip
    for name in ("model.safetensors", "pytorch_model.bin"):
        del repository.files[name]
    weights[names[1]] = weights[names[0]]
    for part, members in parts.items():
        content = BytesIO()
        torch.save({name: weights[name] for name in members}, content)
        repository.files[part] = content.getvalue()
    index = {"weight_map": {name: part for part, members in parts.items() for name in members}}
    repository.files["pytorch_model.bin.index.json"] = json.dumps(index).encode()
    fetch_snapshot(NAME, COMMIT, tmp_path)
    files = fetched(tmp_path)
    expected = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    assert sorted(set(files) - set(NEEDED)) == sorted([*expected, "model.safetensors.index.json"])
    index = json.loads(files["model.safetensors.index.json"])["weight_map"]
    found = {name: load_file(tmp_path / file)[name] for name, file in index.items()}
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], weights[name]) for name in names)


def test_a_pickle_with_code_is_refused(hub, repository, tmp_path):
    class Hostile:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'run')!r}, 'w')",))

    del repository.files["model.safetensors"]
    repository.lfs.remove("pytorch_model.bin")
    repository.files["pytorch_model.bin"] = pickle.dumps({"weight": Hostile()})
    message = failure(tmp_path / "tiny")
    assert "pytorch_model.bin: damaged, or more than weights" in message
    assert "weights_only" not in message
    assert not (tmp_path / "run").exists()
    assert not list((tmp_path / "tiny").glob("*.safetensors"))


def test_a_broken_download_continues_in_the_next_call(hub, model_files, tmp_path):
    weights = model_files["model.safetensors"]
    path = digest(weights)
    hub.storage.faults[path] = [Fault(break_after=100_000), *[Fault(status=503)] * 4]
    assert "HTTP 503" in failure(tmp_path)
    assert not (tmp_path / "model.safetensors").exists()
    before = len(hub.requests)
    fetch_snapshot(NAME, COMMIT, tmp_path)
    assert fetched(tmp_path)["model.safetensors"] == weights
    assert hub.storage.ranges(path)[-1] == f"bytes={100_000 // download.CHUNK * download.CHUNK}-"
    assert [request.path for request in hub.requests[before:]] == [
        f"/api/models/{NAME}/revision/{COMMIT}?blobs=true",
        f"/{NAME}/resolve/{COMMIT}/model.safetensors",
    ]


def test_complete_folders_need_no_network_until_damaged(hub, model_files, tmp_path):
    fetch_snapshot(NAME, COMMIT, tmp_path)
    assert "'lab/other': " in failure(tmp_path, "lab/other")
    before = len(hub.requests)
    fetch_snapshot(NAME, COMMIT, tmp_path)
    assert len(hub.requests) == before
    spoilt = bytes(len(model_files["config.json"]))
    (tmp_path / "config.json").write_bytes(spoilt)
    fetch_snapshot(NAME, COMMIT, tmp_path)
    assert fetched(tmp_path)["config.json"] == model_files["config.json"]
    assert [request.path for request in hub.requests[before:]] == [
        f"/api/models/{NAME}/revision/{COMMIT}?blobs=true",
        f"/{NAME}/resolve/{COMMIT}/config.json",
    ]


def test_another_revision_replaces_files_and_deletes_others(hub, repository, model_files, tmp_path):
    repository.files["chat_template.jinja"] = b"{{ messages }}"
    fetch_snapshot(NAME, COMMIT, tmp_path)
    (tmp_path / "notes.txt").write_text("the user's own")
    del repository.files["chat_template.jinja"]
    repository.commit = "f" * 40
    repository.files["config.json"] = b"{}"
    del repository.files["model.safetensors"]
    fetch_snapshot(NAME, "f" * 40, tmp_path)
    files = fetched(tmp_path)
    assert sorted(files) == sorted([*NEEDED, "model.safetensors", "notes.txt"])
    assert files["config.json"] == b"{}"
    record = json.loads((tmp_path / ".snapshot.json").read_text())
    assert (record["repository"], record["commit"]) == (NAME, "f" * 40)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_wrong_content_is_refused_in_all_files(hub, model_files, tmp_path, name):
    fault = Fault(content=bytes(len(model_files[name])))
    hub.storage.always[digest(model_files[name])] = fault
    hub.always[f"{NAME}/resolve/{COMMIT}/{name}"] = fault
    assert f"{name}: wrong content, twice: its checksum is" in failure(tmp_path)
    assert not (tmp_path / name).exists()


def test_server_errors_and_broken_listings_are_retried(hub, tmp_path):
    path = f"api/models/{NAME}/revision/{COMMIT}"
    hub.faults[path] = [Fault(status=500), Fault(break_after=10), Fault(status=429)]
    fetch_snapshot(NAME, COMMIT, tmp_path)
    assert len(hub.gets(path)) == 4
    assert (tmp_path / "config.json").exists()


def test_a_licence_to_accept(hub, repository, tmp_path, monkeypatch):
    repository.gated = True
    message = failure(tmp_path)
    assert f"Accept it at {hub.url}/{NAME}" in message
    assert "set HF_TOKEN" in message
    assert "The token in use" not in message
    monkeypatch.setenv("HF_TOKEN", "of-somebody-else")
    message = failure(tmp_path)
    assert "The token in use does not open it." in message
    assert "of-somebody-else" not in message
    monkeypatch.setenv("HF_TOKEN", repository.token)
    fetch_snapshot(NAME, COMMIT, tmp_path)
    assert (tmp_path / "model.safetensors").exists()


def test_the_storage_server_gets_no_token(hub, repository, tmp_path, monkeypatch):
    repository.private = True
    monkeypatch.setenv("HF_TOKEN", repository.token)
    fetch_snapshot(NAME, COMMIT, tmp_path)
    assert hub.storage.requests
    assert not [request for request in hub.storage.requests if "authorization" in request.headers]


@pytest.mark.parametrize("token", ["", "of-somebody"])
@pytest.mark.parametrize("name", ["lab/absent", NAME, "not/a/name"])
def test_a_repository_that_is_absent_or_private(
    hub, repository, tmp_path, monkeypatch, token, name
):
    repository.private = True
    monkeypatch.setenv("HF_TOKEN", token)
    message = failure(tmp_path, name)
    assert f"model repository {name!r}: {hub.url} has none of this name that is public" in message


def test_an_absent_revision_and_absent_weights(hub, repository, tmp_path):
    message = failure(tmp_path, revision="step2")
    assert f"model repository {NAME!r} at {hub.url} has no revision 'step2'" in message
    del repository.files["model.safetensors"], repository.files["pytorch_model.bin"]
    message = failure(tmp_path)
    assert "has no weights as safetensors or pytorch_model.bin" in message
    assert "tf_model.h5" in message


def test_no_network_or_an_endpoint_without_hub(hub, tmp_path, monkeypatch):
    page = {f"api/models/{NAME}/revision/{COMMIT}": b"<html>Please log in</html>"}
    with FileServer(page) as portal:
        monkeypatch.setenv("HF_ENDPOINT", portal.url)
        assert f"could not be fetched from {portal.url}" in failure(tmp_path)
    with FileServer() as stopped:
        pass
    monkeypatch.setenv("HF_ENDPOINT", stopped.url)
    message = failure(tmp_path)
    for part in (f"could not be fetched from {stopped.url}", "Connection refused", "HF_ENDPOINT",
                 "`source: local`", "--config scale=demo"):  # fmt: skip
        assert part in message


def test_a_directory_that_cannot_be_made(hub, tmp_path):
    (tmp_path / "file").touch()
    message = failure(tmp_path / "file" / "tiny")
    assert f"{tmp_path}/file/tiny/config.json could not be written: Not a directory" in message


@pytest.mark.parametrize(
    ("names", "weights"),
    [
        (["model.safetensors", "model.safetensors.index.json"], ["model.safetensors"]),
        (
            ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
             "model.safetensors.index.json", "pytorch_model.bin", "x/model.safetensors"],
            ["model.safetensors.index.json", "model-00001-of-00002.safetensors",
             "model-00002-of-00002.safetensors"],
        ),
        (
            ["pytorch_model-00001-of-00001.bin", "pytorch_model.bin.index.json",
             "model-00001-of-00001.safetensors", "pytorch_model.fp16.bin"],
            ["pytorch_model.bin.index.json", "pytorch_model-00001-of-00001.bin"],
        ),
        (["flax_model.msgpack", "adapter_model.safetensors"], []),
    ],
)  # fmt: skip
def test_one_form_of_the_weights_is_chosen(names, weights):
    assert choose_files(names) == ([], weights)


def test_every_kind_of_tokenizer_file_is_chosen():
    names = ["added_tokens.json", "chat_template.jinja", "config.json", "generation_config.json",
             "merges.txt", "qwen.tiktoken", "sentencepiece.bpe.model", "special_tokens_map.json",
             "spiece.model", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
             "vocab.json", "vocab.txt"]  # fmt: skip
    assert choose_files([*CLUTTER, *names]) == (names, [])
