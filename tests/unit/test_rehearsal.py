"""Rehearsals: entries in the place of the catalog's, tiny models, made-up files."""

import numpy as np
import pandas as pd
import pytest
import yaml

from lingprob.catalog import parse_yaml, read_yaml
from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.models.masked import load_prepared_masked
from lingprob.models.prepare import prepare_model
from lingprob.rehearsal import folder as room
from lingprob.rehearsal.folder import dataset_entry, lowered, model_entry
from lingprob.rehearsal.models import make_model, make_tokenizer
from lingprob.scoring.stimuli import score_masked
from lingprob.workflow.configuration import merged, read_settings

LESS = parse_yaml(room.HERE / "less.yaml")
_, CATALOG = read_settings({"scale": "paper"})
MADE_UP = {n: dataset_entry(n, CATALOG.datasets[n], w) for n, w in LESS["made_up"].items()}


def test_numbers_are_lowered_to_limits_and_never_raised():
    settings = {"a": {"few": 3, "many": 1000, "kept": 7}, "steps": [5, 10, 20], "other": "x"}
    limits = {"a": {"few": 10, "many": 10}, "steps": [5]}
    assert lowered(settings, limits) == {"a": {"few": 3, "many": 10}, "steps": [5]}


@pytest.mark.parametrize("short", [False, True])
def test_rehearsal_settings_fit_the_workflow(short):
    config = {"scale": "paper", **LESS["settings"]}
    if short:
        config = merged(config, parse_yaml(room.HERE / "short.yaml"))
    settings, _ = read_settings(config)
    assert settings["context"]["perturbed_suites"] == 3
    assert (settings["context"]["models"] == ["gpt2"]) == short


def test_entries_of_files_replace_fetched_ones():
    shipped = read_yaml("models.yaml")["models"]
    names = ("gpt2", "smollm2-135m", "llama-3-70b")
    entries = {n: model_entry(n, shipped[n]) | {"path": f"/models/{n}"} for n in names}
    _, changed = read_settings({"scale": "paper", "models": entries, "datasets": MADE_UP})
    same = ("family", "parameters", "tokenizer", "context_window", "bos_policies", "dtype")
    for name in entries:
        ours, theirs = changed.models[name], CATALOG.models[name]
        assert ours["source"] == "local"
        assert [ours[key] for key in same] == [theirs[key] for key in same]
    assert list(changed.models) == list(CATALOG.models)
    kept = ("kind", "language", "texts", "method", "unit")
    for name in MADE_UP:
        ours, theirs = changed.datasets[name], CATALOG.datasets[name]
        assert [ours.get(key) for key in kept] == [theirs.get(key) for key in kept]
        assert not any("sha256" in file for file in ours["files"])
        assert not {"subjects", "rows", "revision"} & {*ours}
        assert ours.get("words") == (theirs.get("words") if theirs["kind"] == "corpus" else None)


@pytest.mark.parametrize("scale", ["demo", "paper"])
def test_a_folder_has_models_data_and_configuration(tmp_path, monkeypatch, scale):
    words = pd.DataFrame({"word_index": range(300), "word": ["a", "b" * 11] * 150})
    monkeypatch.setattr(room, "read_words", lambda *_: words.assign(passage_id="1"))
    for name in ("make_model", "fetch_files", "make_tokenizer"):
        monkeypatch.setattr(room, name, lambda *_, **__: None)
    room.write_rehearsal(tmp_path, scale)
    written = (tmp_path / "config.yaml").read_text()
    settings, catalog = read_settings(yaml.safe_load(written))
    assert settings["scale"] == scale
    sizes = read_settings({"scale": scale})[0]["training"]["sizes"]
    layers = {name: size["layers"] for name, size in settings["training"]["sizes"].items()}
    assert layers == dict(zip(sizes, (1, 2, 3), strict=False))
    assert catalog.models["smollm2-135m"]["title"] == "SmolLM2 135M (random)"
    assert not {"hub", "package"} & {entry["source"] for entry in catalog.models.values()}
    data = tmp_path / "resources/datasets"
    ratings = pd.read_csv(data / "hll/hll.csv").groupby("grammatical")["rating"]
    assert ratings.mean().tolist() == pytest.approx([2.5, 5.5], abs=0.5)
    assert len((data / "dundee/dundee.txt").read_text().splitlines()) == 67
    one, other = (np.load(data / f"pile_pythia/chunk-00{n}.npy") for n in range(2))
    assert (one.shape, one.max() < 50_000, (one == other).all()) == ((16, 2049), True, False)
    files = sorted((data / "openwebtext").iterdir())
    one, other = ({*pd.read_parquet(file)["text"]} for file in files[:2])
    assert (len(one), one & other) == (120, set())
    for name, skipped in {"provo_first_pass": 0.3, "brown_spr_times": 0}.items():
        assert (data / name).exists() == (scale == "paper")
        if scale == "paper":
            times = pd.read_csv(data / name / f"{name}.csv")
            by_reader = times.groupby("subject_id")["rt_ms"]
            assert (by_reader.size().tolist(), by_reader.mean().std() > 8) == ([300] * 6, True)
            assert times["rt_ms"].isna().mean() == pytest.approx(skipped, abs=0.05)
            assert times.groupby("word")["rt_ms"].mean().diff()["b" * 11] > 100
    with pytest.raises(LingprobError, match="Name another folder"):
        room.write_rehearsal(tmp_path, "paper")
    assert (tmp_path / "config.yaml").read_text() == written


def test_a_tiny_model_has_its_model_s_window(tmp_path):
    logits = []
    for place, name in enumerate(("one", "another", "one")):
        directory = tmp_path / str(place)
        make_model(name, "causal", 300, make_tokenizer(True), directory)
        lm = load_language_model(directory)
        assert lm.context_window == 300
        (tokens,) = lm.tokenize(["The cat sat on the mat. 猫"])
        assert tokens.char_end[-1] == len("The cat sat on the mat. 猫")
        assert lm.start_id("<|endoftext|>") == lm.start_id("bos")
        ids = lm.model.dummy_inputs["input_ids"].new_tensor(tokens.ids[None].tolist())
        logits.append(lm.model(ids).logits[0, -1].numpy())
    assert sum(p.numel() for p in lm.model.parameters()) < 25_000
    np.testing.assert_array_equal(logits[0], logits[2])
    assert np.abs(logits[0] - logits[1]).max() > 0.01
    assert logits[0].std() > 0.05  # far from uniform


def test_a_masked_model_replaces_a_masked_one(tmp_path):
    shipped = {"title": "B", "family": "b", "source": "hub", "kind": "masked"}
    shipped |= {"repository": "o/b", "revision": "main"}
    make_model("b", "masked", None, make_tokenizer(False), tmp_path / "b")
    entry = {**model_entry("b", shipped), "path": str(tmp_path / "b")}
    prepare_model("b", entry, tmp_path / "manifest.json")
    lm, _ = load_prepared_masked(tmp_path / "manifest.json")
    table = score_masked(lm, ["i"], ["The cat sat."], "whole_word", dataset="d")
    assert np.isfinite(table["logprob"]).all()
    assert table["char_end"].iloc[-1] == len("The cat sat.")


def test_models_have_family_or_made_tokenizers(mirror, tmp_path, monkeypatch):
    """GPT-NeoX's ids as the models' own documentation has them."""
    made = {}
    monkeypatch.setattr(room, "make_model", lambda name, *given: made.update({name: given}))
    monkeypatch.setenv("LINGPROB_MIRROR", str(mirror))
    shipped = {name: CATALOG.models[name] for name in ("pythia-70m", "gpt2", "gpt2-chinese")}
    shipped["all-minilm-l6-v2"] = read_yaml("embeddings.yaml")["all-minilm-l6-v2"]
    entries = room.write_models(tmp_path, shipped, shipped, LESS)
    assert {entry["path"] for entry in entries.values()} == {f"models/{n}" for n in shipped}
    kind, window, tokenizer, _ = made["pythia-70m"]
    assert (kind, window) == ("causal", 2048)
    assert made["all-minilm-l6-v2"][:2] == ("embedding", 256)
    assert tokenizer("Hello world", add_special_tokens=False)["input_ids"] == [12092, 1533]
    for name in ("gpt2", "gpt2-chinese"):
        tokenizer = made[name][2]
        assert tokenizer.decode(tokenizer("The cats 猫")["input_ids"]) == "The cats 猫"
        assert tokenizer.bos_token == "<|endoftext|>"
        assert "[CLS]" in tokenizer.get_vocab()
