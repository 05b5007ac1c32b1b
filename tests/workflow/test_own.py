"""A researcher's own model, data and scores, by config entries alone; and their mistakes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from checkout import copy_of_the_checkout, snakemake
from models_for_tests import save_tiny_model

SENTENCES = [
    f"The {noun} {verb} {adverb}."
    for noun in ("cat", "dog", "old man", "queen of France")
    for verb in ("sleeps", "runs away", "sings")
    for adverb in ("now", "here", "very well")
]
TABLE = '{"title": "Bad", "kind": "stimuli", "parser": "table"'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose config has a tiny local model, a rated CSV file and imported scores."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("own") / "lingprob")
    save_tiny_model("gpt_neox", folder / "tiny")
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
    config = {
        "models": {
            "tiny": {
                "title": "Tiny",
                "family": "own",
                "source": "local",
                "path": "tiny",
                "bos_policies": ["bos", "none"],
            },
            "theirs": {
                "title": "Theirs",
                "family": "theirs",
                "source": "scores",
                "level": "sentence",
                "path": "scores.csv",
            },
        },
        "datasets": {
            "mine": {"title": "Mine", "kind": "stimuli", "parser": "table", "path": "ratings.csv"}
        },
        "morcela": {
            "models": ["tiny", "theirs"],
            "datasets": ["mine"],
            "repeats": 3,
            "bootstrap": 20,
            "frequency_tokens": 200,
        },
        "unigrahams": {"samples": 16, "length": 5},
    }
    (folder / "own.yaml").write_text(yaml.safe_dump(config))
    return folder


def test_own_model_own_ratings_and_imported_scores_go_all_the_way(folder):
    done = snakemake(folder, "--configfile", "own.yaml", "--", "morcela")
    assert done.returncode == 0, done.stdout[-4000:]
    table = pd.read_csv(folder / "results/morcela/linking_functions.csv")
    tiny = table[table["model"] == "tiny"]
    assert set(tiny["bos"]) == {"bos", "none"}
    assert set(tiny["unigrams"]) == {"unigrahams_tiny"}
    assert set(tiny["n"]) == {len(SENTENCES)}
    theirs = table[table["model"] == "theirs"]
    assert set(theirs["linking_function"]) == {"logprob", "mean_logprob"}
    assert set(table["rating_source"]) == {"human"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sentence,rating\nThe cat sleeps.,1\nThe dog runs.,\n", "data row 2, column 'rating'"),
        ("sentence,rating\nThe cat sleeps.,good\n", "not a number: 'good'"),
        ("sentence,score\nThe cat sleeps.,1\n", "no column 'rating'"),
        ("sentence,rating\n", "no rows"),
        ("sentence,rating\n ,1\n", "an empty sentence"),
        ("item,sentence,rating\na,The cat sleeps.,1\na,The dog runs.,2\n", "an id that an earlier"),
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
    assert said in refused.stdout
    assert "bad.csv" in refused.stdout
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


def test_a_missing_model_directory_is_named(folder):
    entry = 'models={"gone": {"title": "G", "family": "own", "source": "local", "path": "nowhere"}}'
    target = "resources/models/gone/manifest.json"
    refused = snakemake(folder, "--config", entry, "--", target)
    assert refused.returncode != 0
    assert "nowhere" in refused.stdout
    assert "config.json" in refused.stdout
