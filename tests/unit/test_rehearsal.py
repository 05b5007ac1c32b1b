"""Rehearsals: entries in the place of the catalog's, tiny models, made-up files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from lingprob.catalog import complete_model, parse_yaml, read_yaml
from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.models.loading import load_language_model
from lingprob.models.masked import load_prepared_masked
from lingprob.models.prepare import prepare_model
from lingprob.overlap.token_blocks import count_rows
from lingprob.reading import eye_tracking, self_paced
from lingprob.reading.tables import Source
from lingprob.reading.texts import build_words
from lingprob.rehearsal import folder as room
from lingprob.rehearsal import reading_times
from lingprob.rehearsal.datasets import PASSAGES, ROWS, make_datasets
from lingprob.rehearsal.entries import dataset_entry, lowered, model_entry, model_shape
from lingprob.rehearsal.models import LAYERS, make_model
from lingprob.rehearsal.tokenizers import tokenizer_of
from lingprob.scoring.stimuli import score_masked
from lingprob.stimuli.build import build_stimuli
from lingprob.workflow.configuration import read_settings

LESS = parse_yaml(room.HERE / "less.yaml")
_, CATALOG = read_settings({"scale": "paper"})


def test_a_number_is_lowered_to_its_limit_and_never_raised():
    settings = {"a": {"few": 3, "many": 1000, "kept": 7}, "steps": [5, 10, 20], "other": "x"}
    limits = {"a": {"few": 10, "many": 10}, "steps": [5]}
    assert lowered(settings, limits) == {"a": {"few": 3, "many": 10}, "steps": [5]}


def test_entries_of_files_take_the_place_of_those_that_are_fetched():
    shipped = read_yaml("models.yaml")["models"]
    entries = {name: model_entry(name, shipped[name]) for name in ("gpt2", "smollm2-135m")}
    entries |= {"llama-3-70b": model_entry("llama-3-70b", shipped["llama-3-70b"])}
    datasets = {
        name: dataset_entry(CATALOG.datasets[name], w) for name, w in LESS["made_up"].items()
    }
    for name in entries:
        entries[name]["path"] = f"/models/{name}"
    _, changed = read_settings({"scale": "paper", "models": entries, "datasets": datasets})
    for name in entries:
        ours, theirs = changed.models[name], CATALOG.models[name]
        assert ours["source"] == "local"
        same = ("family", "parameters", "tokenizer", "context_window", "bos_policies", "dtype")
        assert [ours[key] for key in same] == [theirs[key] for key in same]
    assert list(changed.models) == list(CATALOG.models)
    for name in datasets:
        names = [[f["name"] for f in c.datasets[name]["files"]] for c in (changed, CATALOG)]
        assert names[0] == names[1]
    geco = changed.datasets["geco_first_pass"]["files"]
    assert ["sha256" in file for file in geco] == [False, True, True]


def test_a_folder_with_a_configuration_is_left_alone(tmp_path):
    (tmp_path / "config.yaml").write_text("mine: 1")
    with pytest.raises(LingprobError, match="Name another folder"):
        room.write_rehearsal(tmp_path, "paper")
    assert (tmp_path / "config.yaml").read_text() == "mine: 1"


def test_a_folder_of_the_demo_has_its_models_and_a_configuration_that_is_sound(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(room, "make_model", lambda name, shape, tokenizer, place: None)
    monkeypatch.delenv("LINGPROB_MIRROR", raising=False)
    monkeypatch.setattr(room, "tokenizer_of", lambda described, place: None)
    room.write_rehearsal(tmp_path, "demo")
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    settings, catalog = read_settings(config)
    assert settings["training"]["sizes"].keys() == {"tiny-small", "tiny-medium"}
    assert catalog.models["smollm2-135m"]["title"] == "SmolLM2 135M (random)"
    assert not {"hub", "package"} & {entry["source"] for entry in catalog.models.values()}
    assert (tmp_path / "resources/datasets/hll/hll_judgments.csv").exists()


def make(name: str, directory: Path, **shape: Any) -> None:
    """Write a tiny model with a tokenizer that is made."""
    shape = {"context_window": 64, "predicts": "next", "tokenizer": {"kind": "byte_pairs"}} | shape
    make_model(name, shape, tokenizer_of(shape["tokenizer"], directory / "none"), directory)


@pytest.mark.parametrize("architecture", ["gpt_neox", "opt", "gpt2", "llama"])
def test_a_tiny_model_loads_predicts_and_sees_as_far_as_its_model(architecture, tmp_path):
    logits = []
    for place, name in enumerate(("one", "another", "one")):
        directory = tmp_path / str(place)
        make(name, directory, architecture=architecture, context_window=300)
        lm = load_language_model(directory)
        assert lm.context_window == 300
        assert lm.model.config.model_type == architecture
        (tokens,) = lm.tokenize(["The cat sat on the mat. 猫"])
        assert tokens.char_end[-1] == len("The cat sat on the mat. 猫")
        assert lm.start_id("<|endoftext|>") == lm.start_id("bos")
        ids = lm.model.dummy_inputs["input_ids"].new_tensor(tokens.ids[None].tolist())
        logits.append(lm.model(ids).logits[0, -1].numpy())
    weights = sum(p.numel() for p in lm.model.parameters())
    embeddings = lm.model.get_input_embeddings().weight.numel() * 2 + 302 * 8
    assert weights - embeddings < 5000
    assert len(lm.model.base_model.layers if architecture == "llama" else range(2)) == LAYERS
    np.testing.assert_array_equal(logits[0], logits[2])
    assert np.abs(logits[0] - logits[1]).max() > 0.01
    assert logits[0].std() > 0.05  # far from uniform


def test_a_masked_model_has_a_masked_one_in_its_place(tmp_path):
    shipped = {"title": "B", "family": "b", "source": "hub", "kind": "masked"}
    shipped |= {"repository": "o/b", "revision": "main"}
    make("b", tmp_path / "b", **model_shape("b", complete_model("b", shipped, {}), LESS))
    entry = {**model_entry("b", shipped), "path": str(tmp_path / "b")}
    prepare_model("b", entry, tmp_path / "manifest.json")
    lm, _ = load_prepared_masked(tmp_path / "manifest.json")
    table = score_masked(lm, ["i"], ["The cat sat."], "whole_word", dataset="d")
    assert np.isfinite(table["logprob"]).all()
    assert table["char_end"].iloc[-1] == len("The cat sat.")


@pytest.mark.parametrize("architecture", ["mpnet", "bert"])
def test_a_tiny_embedding_model_tells_sentences_apart_chinese_ones_too(architecture, tmp_path):
    from lingprob.pairs.embeddings import SentenceEmbedder

    words = {"kind": "word_pieces"}
    make("e", tmp_path, architecture=architecture, predicts="nothing", tokenizer=words)
    embedded = SentenceEmbedder(tmp_path, 64, "cpu")(["我看书", "他吃饭", "the cat", "a " * 200])
    assert np.isfinite(embedded).all()
    assert np.abs(embedded[0] - embedded[1]).max() > 0.01


@pytest.mark.parametrize(
    ("tokenizer", "ids"),
    [
        # As the models' own documentation has them; OPT's without its start token.
        ("gpt2", [15496, 995]),
        ("opt", [31414, 232]),
        ("gpt-neox-20b", [12092, 1533]),
    ],
)
def test_a_family_s_own_tokenizer_is_taken_where_the_mirror_has_it(
    tokenizer, ids, mirror, tmp_path, monkeypatch
):
    monkeypatch.setenv("LINGPROB_MIRROR", str(mirror))
    described = LESS["tokenizers"][tokenizer]
    made = tokenizer_of(described, tmp_path)
    assert made("Hello world", add_special_tokens=False)["input_ids"] == ids
    assert len(made) <= described["logits"]


def test_a_tokenizer_of_the_same_kind_is_made_where_none_can_be_had(tmp_path, monkeypatch):
    monkeypatch.delenv("LINGPROB_MIRROR", raising=False)
    described = {**LESS["tokenizers"]["gpt2"]}
    described["files"] = [{"name": "encoder.json"}, {"name": "vocab.bpe"}]
    made = tokenizer_of(described, tmp_path)
    assert made.decode(made("The cats 猫")["input_ids"]) == "The cats 猫"
    assert made.bos_token == "<|endoftext|>"


def written(dataset: str, place: Path, entry: dict[str, Any] | None = None) -> list[Path]:
    """Write a made-up data set; return its files."""
    entry = entry or dataset_entry(CATALOG.datasets[dataset], LESS["made_up"][dataset])
    make_datasets(place, CATALOG, {dataset: entry}, LESS["made_up"])
    return [place / dataset / file["name"] for file in entry["files"]]


@pytest.mark.parametrize(
    ("dataset", "parser"),
    [("pile_test", "lines"), ("gigaword", "lines"), ("openwebtext", "parquet")],
)
def test_a_made_up_corpus_is_read_as_the_real_one(dataset, parser, tmp_path):
    paths = written(dataset, tmp_path)[:2]
    texts = [list(iter_documents(parser, [path])) for path in paths]
    assert all(len(found) > 50 and len(set(found)) > 50 for found in texts)
    assert sum(path.stat().st_size for path in paths) < 1e6
    if len(texts) > 1:
        assert texts[0] != texts[1]


def test_a_made_up_chunk_has_pythia_s_layout(tmp_path):
    paths = written("pile_pythia", tmp_path)[:2]
    assert count_rows(paths[0]) == ROWS
    first, second = map(np.load, paths)
    assert first.dtype == np.uint16
    assert (first != second).mean() > 0.5
    assert first.max() < 50_277


def test_made_up_judgments_have_pairs_of_the_expected_sign(tmp_path):
    (path,) = written("hll", tmp_path)
    entry = {"parser": "hll", "files": [{"name": path.name}]}
    stimuli, ratings = build_stimuli("hll", entry, path.parent, 1)
    means = stimuli.groupby("grammatical")["rating"].mean()
    assert means[True] > means[False] + 1
    assert ratings["participant_id"].nunique() == 12


@pytest.mark.parametrize("dataset", ["dundee", "brown_spr"])
def test_a_made_up_text_has_the_passages_of_the_real_one(dataset, tmp_path):
    entry = dataset_entry(CATALOG.datasets[dataset], LESS["made_up"][dataset])
    words = build_words(dataset, entry, written(dataset, tmp_path))
    assert words["passage_id"].nunique() == PASSAGES[dataset]
    assert words.groupby("passage_id")["sentence_index"].max().mean() > 8


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> pd.DataFrame:
    """The words of made-up editorials."""
    paths = written("dundee", tmp_path_factory.mktemp("words"))
    table = build_words("dundee", {"parser": "passages"}, paths)
    return table[table["passage_id"].isin(table["passage_id"].unique()[:20])]


@pytest.mark.parametrize(
    ("writer", "parse", "skips"),
    [
        ("natural_stories", self_paced.natural_stories, False),
        ("brown", self_paced.brown_spr, False),
        ("provo", eye_tracking.provo_first_pass, True),
    ],
)
def test_a_parser_gives_back_the_reading_times_that_were_made_up(
    writer, parse, skips, words, tmp_path
):
    # Its passages are numbers.
    text = words.assign(passage_id=(pd.factorize(words["passage_id"])[0] + 1).astype(str))
    reading_times.WRITERS[writer](tmp_path, ["times"], text)
    found = parse(Source([tmp_path / "times"], text, {}, 1))
    made = reading_times.times(text, reading_times.READERS, "times")
    expected = made["rt_ms"].where(~made["skipped"]) if skips else made["rt_ms"]
    keys = ["subject_id", "passage_id", "word_index"]
    order = np.lexsort([found[key] for key in reversed(keys)])
    assert len(found) == len(made)
    assert found["subject_id"].nunique() == reading_times.READERS
    both = found.merge(
        made.assign(rt=expected)[["passage_id", "word_index", "rt", "subject"]],
        on=["passage_id", "word_index"],
    )
    same = both[both["subject_id"].str.extract(r"(\d+)")[0].astype(int) == both["subject"]]
    assert len(same) == len(order)
    np.testing.assert_array_equal(same["rt_ms"], same["rt"])


def test_made_up_fixations_are_read_as_dundee_s(words, tmp_path):
    names = [file["name"] for file in CATALOG.datasets["dundee_first_pass"]["files"]]
    reading_times.dundee(tmp_path, names, words)
    found = eye_tracking.dundee_first_pass(
        Source([tmp_path / name for name in names], words, {}, 1)
    )
    assert found["subject_id"].nunique() == 10
    assert 0.65 < len(found) / (10 * len(words)) < 0.75
    assert not found.duplicated(["subject_id", "passage_id", "word_index"]).any()
    assert set(found["passage_id"]) == set(words["passage_id"])


def test_made_up_times_of_geco_stand_where_its_words_do(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("LINGPROB_MIRROR", str(mirror))
    monkeypatch.setattr(reading_times, "GECO_READERS", 1)
    paths = written("geco_first_pass", tmp_path)
    text = build_words("geco", {"parser": "geco"}, paths[1:])
    found = eye_tracking.geco_first_pass(Source(paths, text, {}, 1))
    assert found["subject_id"].nunique() == 1
    assert found.groupby("passage_id")["word_index"].nunique().sum() > 0.95 * len(text)
    assert 0.25 < found["rt_ms"].isna().mean() < 0.35
