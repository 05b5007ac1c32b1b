"""A researcher's own model, data and scores, by config entries alone; and their mistakes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml

import checkout
import lingprob
from checkout import copy_of_the_checkout, snakemake
from lingprob.io.tables import read_table
from models_for_tests import save_tiny_masked_model, save_tiny_model

SENTENCES = [
    f"The {noun} {verb} {adverb}."
    for noun in ("cat", "dog", "old man", "queen of France")
    for verb in ("sleeps", "runs away", "sings")
    for adverb in ("now", "here", "very well")
]
NEW = ["The queen sleeps here.", "The man runs, and the dog of France sings."]
TABLE = '{"title": "Bad", "kind": "stimuli", "parser": "table"'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with tiny models of both kinds, a rated CSV file and imported scores."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("own") / "lingprob")
    save_tiny_model("gpt_neox", folder / "tiny")
    save_tiny_masked_model("bert", folder / "bert")
    ratings = [((7 * row) % 11) / 5 - 1 for row in range(len(SENTENCES))]
    pd.DataFrame({"sentence": SENTENCES, "rating": ratings}).to_csv(
        folder / "ratings.csv", index=False
    )
    pd.DataFrame(
        {
            "sentence": SENTENCES,
            "logprob": [-3.0 * len(text.split()) - row % 5 for row, text in enumerate(SENTENCES)],
            "n_tokens": [len(text.split()) + 1 for text in SENTENCES],
        }
    ).to_csv(folder / "scores.csv", index=False)
    pd.DataFrame({"sentence": NEW}).to_csv(folder / "new.csv", index=False)
    config = {
        "models": {
            "tiny": {
                "title": "Tiny",
                "family": "own",
                "source": "local",
                "path": "tiny",
                "bos_policies": ["bos", "none"],
            },
            "bert": {
                "title": "Tiny BERT",
                "family": "own",
                "source": "local",
                "path": "bert",
                "unigrams": ["corpus_demo_sentences"],
            },
            "theirs": {
                "title": "Theirs",
                "family": "theirs",
                "source": "scores",
                "level": "sentence",
                "path": "scores.csv",
                "datasets": ["mine"],
            },
        },
        "datasets": {
            "mine": {"title": "Mine", "kind": "stimuli", "parser": "table", "path": "ratings.csv"},
            "new": {"title": "New", "kind": "stimuli", "parser": "table", "path": "new.csv"},
        },
        "morcela": {
            "models": ["tiny", "theirs"],
            "datasets": ["mine"],
            "predicted": ["new"],
            "repeats": 3,
            "frequency_tokens": 200,
        },
        "bootstrap": 20,
        "unigrahams": {"samples": 16},
    }
    (folder / "own.yaml").write_text(yaml.safe_dump(config))
    return folder


@pytest.fixture
def one_thread():
    """Torch with the one thread that scoring jobs have."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
def test_own_model_own_ratings_and_imported_scores_go_all_the_way(folder, monkeypatch):
    of_bert = "results/morcela/bert.parquet"
    done = snakemake(folder, "--configfile", "own.yaml", "--", "morcela", of_bert)
    assert done.returncode == 0, done.stdout[-4000:]
    tiny, theirs = (
        pd.read_csv(folder / f"results/morcela/{name}.csv") for name in ("tiny", "theirs")
    )
    assert set(tiny["bos"]) == {"bos", "none"}
    assert set(tiny["unigrams"]) == {"unigrahams_tiny"}
    assert set(tiny["n"]) == {len(SENTENCES)}
    assert set(theirs["linking_function"]) == {"logprob", "mean_logprob"}
    assert set(tiny["rating_source"]) == {"human"}
    # A masked model's corrections stand where start tokens do.
    bert = pd.read_parquet(folder / of_bert)
    assert set(bert["bos"]) == {"within_word_l2r", "whole_word", "uncorrected"}
    assert set(bert["unigrams"]) == {"corpus_demo_sentences"}
    assert {"morcela", "slor"} <= set(bert["linking_function"])
    # The API, with the models and the unigrams of this run: the same numbers to the bit.
    monkeypatch.chdir(folder)
    for name, policies in (("tiny", ["bos", "none"]), ("bert", ["within_word_l2r", "whole_word"])):
        scores = read_table(f"results/sentence_scores/{name}/mine.parquet", "sentence_scores")
        for bos in policies:
            read = {"bos": bos} if name == "tiny" else {}
            corrected = {"correction": bos} if name == "bert" else {}
            lm = lingprob.load(name, config="own.yaml", cache=".", **corrected)
            theirs, ours = scores[scores["bos"] == bos], lm.score(SENTENCES, **read)
            for column in ("logprob", "unigram_logprob", "n_tokens"):
                assert ours[column].tolist() == theirs[column].tolist()
    ours, theirs = (
        pd.read_csv(folder / f"results/morcela/predictions/{name}.csv")
        for name in ("tiny", "theirs")
    )
    assert set(theirs["dataset"]) == {"mine"}
    new = ours[ours["dataset"] == "new"]
    assert set(new["text"]) == set(NEW)
    assert set(new["fitted_to"]) == {"mine"}
    assert set(new["bos"]) == {"bos"}
    assert new["rating"].isna().all()
    assert (new["rating_low"] < new["predicted_low"]).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sentence,rating\nThe cat sleeps.,1\nThe dog runs.,\n", "data row 2, column 'rating'"),
        ("sentence,rating\nThe cat sleeps.,good\n", "not a number: 'good'"),
        ("sentence,score\nThe cat sleeps.,1\n", "no column 'rating'"),
        ("sentence,rating\n", "no rows"),
        ("sentence,rating\n ,1\n", "an empty sentence"),
        ("item,sentence,rating\na,The cat sleeps.,1\na,The dog runs.,2\n", "an id that an earlier"),
        (
            "item,sentence,rating\na,The cat sleeps.,1\n,The dog runs.,2\n",
            "data row 2, column 'item'",
        ),
        ("sentence;rating\nThe cat sleeps.;1\n", "separated by a semicolon"),
        ("sentence,rating\nThe cat sleeps.,1\nThe dog runs.,1\n", "every rating is 1"),
        ("sentence,rating\nThe cat sleeps.,1\nThe dog runs.,2\n", "which need 25. Give more"),
    ],
)
def test_bad_data_stops_before_any_scoring_with_one_message(folder, text, said):
    bad = folder / "bad.csv"
    bad.write_text(text)
    entry = (
        'datasets={"bad": {"title": "B", "kind": "stimuli", "parser": "table", "path": "bad.csv"}}'
    )
    fitted = 'morcela={"datasets": ["bad"]}'
    target = "results/scores/tiny/bos/bad.parquet"
    refused = snakemake(folder, "--configfile", "own.yaml", "--config", entry, fitted, "--", target)
    assert refused.returncode != 0
    log = (folder / "logs/build_stimuli/bad.log").read_text()
    _, message = log.split(" ERROR lingprob: ")
    assert "bad.csv" in message
    assert message.count(said) == 1
    assert refused.stdout.count(f" ERROR lingprob: {message}") == 1
    assert not (folder / "results/stimuli/bad.parquet").exists()
    assert not (folder / target).exists()
    assert not list(folder.glob("results/**/.*"))


def test_a_missing_gpu_is_said_at_once(folder):
    config = 'scoring={"device": "cuda"}'
    target = "results/scores/tiny/bos/mine.parquet"
    refused = snakemake(folder, "--configfile", "own.yaml", "--config", config, "-f", "--", target)
    assert refused.returncode != 0
    assert "scoring.device" in refused.stdout


def test_a_sentence_without_a_scored_token_is_named(folder):
    bad = folder / "short.csv"
    bad.write_text("item,sentence,rating\nlong,The cat sleeps.,1\nshort,a,2\n")
    entry = f'datasets={{"short": {TABLE}, "path": "short.csv"}}}}'
    target = "results/scores/tiny/none/short.parquet"
    refused = snakemake(folder, "--configfile", "own.yaml", "--config", entry, "--", target)
    assert refused.returncode != 0
    assert "'short'" in refused.stdout
    assert not (folder / target).exists()


def test_a_model_that_cannot_be_loaded_stops_its_first_job(folder):
    """A local folder without tokenizer, and one with code of its own that someone says yes to."""
    for name in ("silent", "hostile"):
        shutil.copytree(folder / "tiny", folder / name)
    (folder / "silent/tokenizer.json").unlink()
    (folder / "hostile/own.py").write_text(f"open({str(folder / 'run')!r}, 'w')\n")
    config = json.loads((folder / "hostile/config.json").read_text())
    config |= {"model_type": "hostile", "auto_map": {"AutoConfig": "own.Config"}}
    (folder / "hostile/config.json").write_text(json.dumps(config))
    for name, said in (("silent", "no tokenizer there"), ("hostile", "is never run")):
        entry = {name: {"title": name, "family": "own", "source": "local", "path": name}}
        target = f"resources/models/{name}/manifest.json"
        command = checkout.command("--config", f"models={json.dumps(entry)}", "--", target)
        refused = subprocess.run(
            command, cwd=folder, env=checkout.environment(), input="y\n" * 99, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert refused.returncode != 0
        assert said in refused.stdout
        assert not (folder / target).exists()
    assert not (folder / "run").exists()


def test_a_masked_model_is_refused_where_words_are_read_from_left_to_right(folder):
    named = 'reading={"models": ["bert"]}'
    refused = snakemake(
        folder, "-n", "--configfile", "own.yaml", "--config", named, "--", "reading"
    )
    assert refused.returncode != 0
    assert "reading.models: 'bert' is a masked model" in refused.stdout
    assert "Traceback" not in refused.stdout


def test_a_missing_model_directory_is_named(folder):
    entry = 'models={"gone": {"title": "G", "family": "own", "source": "local", "path": "nowhere"}}'
    target = "resources/models/gone/manifest.json"
    refused = snakemake(folder, "--config", entry, "--", target)
    assert refused.returncode != 0
    assert "models.gone.path: there is no 'nowhere'" in refused.stdout
