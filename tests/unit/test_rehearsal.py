"""Stand-ins of a rehearsal: what becomes of settings and catalog, tiny models, made-up files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from lingprob.catalog import complete_model, read_yaml
from lingprob.figures.labels import label_provenance
from lingprob.io.corpora import iter_documents
from lingprob.io.tables import write_csv, write_table
from lingprob.models.loading import load_language_model
from lingprob.models.masked import load_prepared_masked
from lingprob.models.prepare import prepare_model
from lingprob.models.prepared import load_prepared
from lingprob.overlap.token_blocks import count_rows
from lingprob.reading import eye_tracking, self_paced
from lingprob.reading.tables import Source
from lingprob.reading.texts import build_words
from lingprob.rehearsal import STAMP, folder, reading_times
from lingprob.rehearsal.datasets import PASSAGES, ROWS, write_stand_ins
from lingprob.rehearsal.models import LAYERS, make_model
from lingprob.rehearsal.stand_ins import fewer, rehearse, stand_in_model
from lingprob.rehearsal.tokenizers import tokenizer_of
from lingprob.scoring.masked import score_masked
from lingprob.site.page import table_as_html
from lingprob.stimuli.build import build_stimuli
from lingprob.workflow import sources
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run

LESS = read_yaml("rehearsal.yaml")


@pytest.fixture
def no_mirror(monkeypatch):
    monkeypatch.delenv("LINGPROB_MIRROR", raising=False)


@pytest.fixture
def paper(no_mirror):
    return read_settings({"scale": "paper"})


def test_a_number_is_lowered_to_its_limit_and_never_raised():
    settings = {"a": {"few": 3, "many": 1000, "kept": 7}, "steps": [5, 10, 20], "other": "x"}
    limits = {"a": {"few": 10, "many": 10}, "steps": [5]}
    assert fewer(settings, limits) == {
        "a": {"few": 3, "many": 10, "kept": 7}, "steps": [5], "other": "x",
    }  # fmt: skip
    assert settings["a"]["many"] == 1000


def test_every_setting_of_a_rehearsal_is_one_of_the_configuration():
    settings, _ = read_settings({"scale": "paper"})
    for section, keys in LESS["settings"].items():
        assert set(keys) <= set(settings[section]), section


def test_a_rehearsal_has_the_same_models_data_sets_and_files(paper):
    """What jobs are named after; their number follows from it."""
    settings, catalog = paper
    less, changed = rehearse(settings, catalog)
    assert list(changed.models) == list(catalog.models)
    for name, entry in catalog.datasets.items():
        files = [file["name"] for file in entry.get("files", [])]
        assert [file["name"] for file in changed.datasets[name].get("files", [])] == files
    for section in ("morcela", "overlap", "reading", "string_probability", "context"):
        for key in ("models", "datasets", "texts", "corpora", "lengths", "frequency_shards"):
            assert less[section].get(key) == settings[section].get(key)
    assert list(less["training"]["sizes"]) == ["small", "medium", "large"]
    assert less["unigrahams"]["shards"] == 50
    plan = Run(less, changed)
    assert sources.words_read(plan, "dundee_first_pass") == "results/words/dundee.parquet"
    assert sources.words_read(Run(settings, catalog), "dundee_first_pass") == []


def test_every_model_with_files_becomes_a_tiny_one_of_its_architecture(paper):
    settings, catalog = paper
    _, changed = rehearse(settings, catalog)
    kinds = {"pythia-12b": "gpt_neox", "opt-30b": "opt", "gpt2": "gpt2", "llama-3-70b": "llama",
             "gpt2-chinese": "gpt2"}  # fmt: skip
    for name, architecture in kinds.items():
        entry = changed.models[name]
        assert (entry["source"], entry["stand_in"]["architecture"]) == ("stand_in", architecture)
        assert entry["stand_in"]["context_window"] == catalog.models[name]["context_window"]
        assert entry["parameters"] == catalog.models[name]["parameters"]
    assert {entry["source"] for entry in changed.models.values()} == {
        "stand_in", "scores", "trained", "ngram",
    }  # fmt: skip
    assert catalog.models["gpt2"]["source"] == "hub"


def test_only_what_cannot_be_had_or_is_large_is_made_up(paper, monkeypatch, tmp_path):
    settings, catalog = paper

    def made_up() -> set[str]:
        datasets = rehearse(settings, catalog)[1].datasets
        return {n for n, e in datasets.items() if any("stand_in" in f for f in e.get("files", []))}

    every = {*LESS["made_up"], *LESS["always_made_up"], "fineweb_10bt"}  # streamed from the hub
    assert made_up() == every
    changed = rehearse(settings, catalog)[1].datasets["geco_first_pass"]["files"]
    assert ["stand_in" in file for file in changed] == [True, False, False]
    for path in ("hll/hll_judgments.csv", "openwebtext/train-00000-of-00080.parquet"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    monkeypatch.setenv("LINGPROB_MIRROR", str(tmp_path))
    assert made_up() == every - {"hll"}


def test_what_states_its_scale_and_every_page_is_stamped(paper, tmp_path, monkeypatch):
    scale = rehearse(*paper)[0]["scale"]
    figure = Figure()
    label_provenance(figure, [scale])
    assert "paper" in figure.get_supxlabel()
    assert STAMP in figure.get_supxlabel()
    assert figure._supxlabel.get_fontweight() == "bold"
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"r": [0.5]})
    assert STAMP not in table_as_html(table, "Table 2")
    folder.enter_rehearsal_folder()
    assert f"{STAMP}: " in table_as_html(table, "Table 2")


def test_results_that_state_no_scale_are_stamped_in_a_rehearsal_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"r": [0.5]})

    def written(path: str, frame: pd.DataFrame = table) -> pd.DataFrame:
        write_csv(frame, path)
        return pd.read_csv(path)

    assert written("results/trends.csv").columns.tolist() == ["r"]
    folder.enter_rehearsal_folder()
    assert written("results/trends.csv")["scale"].tolist() == [STAMP]
    assert written("resources/scores.csv").columns.tolist() == ["r"]  # others' formats
    stated = written("results/fits.csv", table.assign(scale="paper, REHEARSAL"))
    assert stated["scale"].tolist() == ["paper, REHEARSAL"]


def test_one_s_own_files_are_found_from_the_rehearsal_s_folder(tmp_path, monkeypatch, no_mirror):
    monkeypatch.chdir(tmp_path)
    word = {"title": "T", "family": "t", "source": "scores", "level": "word"}
    own = {
        "models": {
            "mine": {"title": "M", "family": "m", "source": "local", "path": "models/mine"},
            "theirs": {**word, "paths": {"provo": "s.csv"}},
        },
        "datasets": {
            "ours": {"title": "O", "kind": "corpus", "parser": "lines", "path": "c/*.txt"}
        },
    }
    _, changed = rehearse(*read_settings(own))
    assert changed.models["theirs"]["paths"] == {"provo": str(tmp_path / "s.csv")}
    assert changed.datasets["ours"]["path"] == str(tmp_path / "c/*.txt")
    assert changed.models["mine"]["source"] == "stand_in"
    path = "li-adger_min_pairs_all_models.csv"
    assert changed.models["trigram"]["path"] == path  # in a data set


def test_a_rehearsal_has_a_folder_of_its_own_and_its_jobs_know_where_it_began(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINGPROB_MIRROR", "mirror")
    for _ in range(2):
        folder.leave_rehearsal_folder()
        assert Path.cwd() == tmp_path
        folder.enter_rehearsal_folder()
        assert Path.cwd() == tmp_path / "rehearsal"
    assert os.environ["LINGPROB_MIRROR"] == str(tmp_path / "mirror")
    assert [path.name for path in tmp_path.iterdir()] == ["rehearsal"]


@pytest.mark.parametrize("architecture", ["gpt_neox", "opt", "gpt2", "llama"])
def test_a_tiny_model_loads_predicts_and_sees_as_far_as_its_model(architecture, tmp_path):
    stand_in = {
        "architecture": architecture, "context_window": 300, "predicts": "next",
        "tokenizer": {"kind": "byte_pairs"},
    }  # fmt: skip
    logits = []
    for name in ("one", "another", "one"):
        manifest = tmp_path / name / "manifest.json"
        prepare_model(name, {"source": "stand_in", "stand_in": stand_in}, manifest)
        lm, provenance = load_prepared(manifest, {"context_window": 300})
        assert "rehearsal" in provenance["origin"]
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
    entry = {"title": "B", "family": "b", "source": "hub", "kind": "masked"}
    entry = complete_model("b", {**entry, "repository": "o/b", "revision": "main"}, {})
    stand_in = stand_in_model(entry, LESS)
    prepare_model("b", stand_in, tmp_path / "manifest.json")
    lm, provenance = load_prepared_masked(tmp_path / "manifest.json")
    assert "rehearsal" in provenance["origin"]
    table = score_masked(lm, ["i"], ["The cat sat."], "whole_word", dataset="d")
    assert np.isfinite(table["logprob"]).all()
    assert table["char_end"].iloc[-1] == len("The cat sat.")


@pytest.mark.parametrize("architecture", ["mpnet", "bert"])
def test_a_tiny_embedding_model_tells_sentences_apart_chinese_ones_too(architecture, tmp_path):
    from lingprob.pairs.embeddings import SentenceEmbedder

    stand_in = {
        "architecture": architecture, "context_window": 64, "predicts": "nothing",
        "tokenizer": {"kind": "word_pieces"},
    }  # fmt: skip
    make_model("embedder", stand_in, tmp_path)
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


def test_a_tokenizer_of_the_same_kind_is_made_where_none_can_be_had(
    tmp_path, no_mirror, monkeypatch
):
    described = {**LESS["tokenizers"]["gpt2"]}
    described["files"] = [{"name": "encoder.json"}, {"name": "vocab.bpe"}]
    made = tokenizer_of(described, tmp_path)
    assert made.decode(made("The cats 猫")["input_ids"]) == "The cats 猫"
    assert made.bos_token == "<|endoftext|>"


def files_of(dataset: str, count: int | None = None) -> list[dict[str, str]]:
    writer = {**LESS["made_up"], **LESS["always_made_up"]}[dataset]
    entry = read_settings({})[1].datasets[dataset]
    return [{"name": f["name"], "stand_in": writer} for f in entry["files"][:count]]


@pytest.mark.parametrize(
    ("dataset", "parser"),
    [("pile_test", "lines"), ("gigaword", "lines"), ("openwebtext", "parquet")],
)
def test_a_made_up_corpus_is_read_as_the_real_one(dataset, parser, tmp_path):
    write_stand_ins(dataset, files_of(dataset, 2), tmp_path)
    paths = sorted(tmp_path.iterdir())
    texts = [list(iter_documents(parser, [path])) for path in paths]
    assert all(len(found) > 50 and len(set(found)) > 50 for found in texts)
    assert sum(path.stat().st_size for path in paths) < 1e6
    if len(texts) > 1:
        assert texts[0] != texts[1]


def test_a_made_up_chunk_has_pythia_s_layout(tmp_path):
    write_stand_ins("pile_pythia", files_of("pile_pythia", 2), tmp_path)
    assert count_rows(tmp_path / "chunk-000.npy") == ROWS
    first, second = (np.load(tmp_path / f"chunk-00{n}.npy") for n in (0, 1))
    assert first.dtype == np.uint16
    assert (first != second).mean() > 0.5
    assert first.max() < 50_277


def test_made_up_judgments_have_pairs_of_the_expected_sign(tmp_path):
    entry = {"parser": "hll", "files": files_of("hll")}
    write_stand_ins("hll", entry["files"], tmp_path)
    stimuli, ratings = build_stimuli("hll", entry, tmp_path, 1)
    means = stimuli.groupby("grammatical")["rating"].mean()
    assert means[True] > means[False] + 1
    assert ratings["participant_id"].nunique() == 12
    fewer_pairs, judged = build_stimuli("hll", {**entry, "rehearsed_pairs": 30}, tmp_path, 1)
    assert fewer_pairs["pair_id"].nunique() == 30
    assert set(judged["item_id"]) == set(fewer_pairs["item_id"])


@pytest.mark.parametrize("dataset", ["dundee", "brown_spr"])
def test_a_made_up_text_has_the_passages_of_the_real_one(dataset, tmp_path, no_mirror):
    files = files_of(dataset)
    write_stand_ins(dataset, files, tmp_path)
    entry = rehearse(*read_settings({}))[1].datasets[dataset]
    words = build_words(dataset, entry, [tmp_path / files[0]["name"]])
    assert words["passage_id"].nunique() == PASSAGES[dataset]
    assert words.groupby("passage_id")["sentence_index"].max().mean() > 8


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> tuple[pd.DataFrame, Path]:
    """The words of made-up editorials, and their table's file."""
    place = tmp_path_factory.mktemp("words")
    write_stand_ins("dundee", files_of("dundee"), place)
    table = build_words("dundee", {"parser": "passages"}, [place / "dundee.txt"])
    table = table[table["passage_id"].isin(table["passage_id"].unique()[:20])]
    write_table(table, "words", place / "words.parquet")
    return table, place / "words.parquet"


@pytest.mark.parametrize(
    ("dataset", "parse", "skips"),
    [
        ("natural_stories_spr", self_paced.natural_stories, False),
        ("brown_spr_times", self_paced.brown_spr, False),
        ("provo_first_pass", eye_tracking.provo_first_pass, True),
    ],
)
def test_a_parser_gives_back_the_reading_times_that_were_made_up(
    dataset, parse, skips, words, tmp_path
):
    text, (file,) = words[0], files_of(dataset)
    # Its passages are numbers.
    text = text.assign(passage_id=(pd.factorize(text["passage_id"])[0] + 1).astype(str))
    write_table(text, "words", tmp_path / "words.parquet")
    write_stand_ins(dataset, [file], tmp_path, tmp_path / "words.parquet")
    found = parse(Source([tmp_path / file["name"]], text, {}, 1))
    made = reading_times.times(text, reading_times.READERS, file["name"])
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
    text, path = words
    files = files_of("dundee_first_pass")
    write_stand_ins("dundee_first_pass", files, tmp_path, path)
    found = eye_tracking.dundee_first_pass(
        Source([tmp_path / file["name"] for file in files], text, {}, 1)
    )
    assert found["subject_id"].nunique() == 10
    share = len(found) / (10 * len(text))
    assert 0.65 < share < 0.75
    assert not found.duplicated(["subject_id", "passage_id", "word_index"]).any()
    assert set(found["passage_id"]) == set(text["passage_id"])


def test_made_up_times_of_geco_stand_where_its_words_do(mirror, tmp_path, monkeypatch):
    monkeypatch.setenv("LINGPROB_MIRROR", str(mirror))
    entry = rehearse(*read_settings({}))[1].datasets["geco_first_pass"]
    files = [mirror / file["mirror"] for file in entry["files"][1:]]
    text = build_words("geco", {"parser": "geco"}, files)
    few = text[text["passage_id"] == "1"]
    write_table(few, "words", tmp_path / "words.parquet")
    write_stand_ins("geco_first_pass", entry["files"], tmp_path, tmp_path / "words.parquet")
    paths = [tmp_path / file["name"] for file in entry["files"]]
    found = eye_tracking.geco_first_pass(Source(paths, text, {}, 1))
    assert found["subject_id"].nunique() == reading_times.GECO_READERS
    assert set(found["passage_id"]) == {"1"}
    assert found["word_index"].nunique() > 0.95 * len(few)
    assert 0.25 < found["rt_ms"].isna().mean() < 0.35


def test_files_that_are_there_stay_and_reading_times_want_their_words(tmp_path):
    (tmp_path / "hll_judgments.csv").write_text("mine")
    write_stand_ins("hll", files_of("hll"), tmp_path)
    assert (tmp_path / "hll_judgments.csv").read_text() == "mine"
    with pytest.raises(Exception, match="without their words"):
        write_stand_ins("brown_spr_times", files_of("brown_spr_times"), tmp_path)


def test_a_tiny_model_is_made_again_from_its_name_alone(tmp_path):
    stand_in = {
        "architecture": "gpt2", "context_window": 50, "predicts": "next",
        "tokenizer": {"kind": "word_pieces"},
    }  # fmt: skip
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "left-over.bin").touch()
    make_model("x", stand_in, tmp_path / "a")
    assert not (tmp_path / "a" / "left-over.bin").exists()
    lm = load_language_model(tmp_path / "a")
    assert lm.start_id("[CLS]") is not None
