"""A tiny model, its unigrams, and texts for tests of the API."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lingprob
from lingprob.io.tables import write_table
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run
from models_for_tests import save_tiny_model

PAIRS = pd.DataFrame(
    {
        "good": ["The cat sat on the mat.", "The cats sit.", "No student has ever seen it.",
                 "Who did Mary say that John saw?"],
        "bad": ["The cat sat on mat the.", "The cats sits.", "A student has ever seen it.",
                "Who did Mary say John saw that?"],
        "phenomenon": ["order", "agreement", "licensing", "order"],
    }
)  # fmt: skip
PASSAGES = ["The cat sat on the mat. It slept all day.", "Naïve façades: a test of accents!"]
POLICIES = ["bos_first_excluded", "bos", "none", "eos"]
CORPUS = ["Once the cat sat on the mat again.", "Nobody sees a test of accents there."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A tiny model's folder, next to the tables of a workflow."""
    folder = tmp_path_factory.mktemp("api")
    save_tiny_model("gpt_neox", folder / "tiny")
    return folder


@pytest.fixture(scope="module")
def config(folder) -> dict[str, Any]:
    entry = {"title": "Tiny", "family": "own", "source": "local", "path": str(folder / "tiny")}
    unigrams = {"tokenizer": "bytes", "unigrams": ["pile_published", "unigrahams_tiny"]}
    return {"models": {"tiny": {**entry, **unigrams, "bos_policies": POLICIES}}}


@pytest.fixture(scope="module")
def unigrams(folder) -> Path:
    """Unigrams of the model in the folder of a workflow: shuffled, with gaps."""
    path = folder / "results/unigrams/bytes/unigrahams_tiny.parquet"
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {"token_id": np.arange(320, dtype=np.int32), "logprob": random.uniform(-9, -2, 320)}
    )
    table = table.drop(index=[0, 1, 2]).sample(frac=1, random_state=1)  # special tokens
    write_table(table.assign(count=None, std_error=None), "unigrams", path)
    return path


@pytest.fixture(scope="module")
def lm(config, folder, unigrams) -> lingprob.Model:
    return lingprob.load("tiny", config=config, cache=folder)


@pytest.fixture(scope="module")
def plan(config) -> Run:
    return Run(*read_settings(config))


def stimuli_of(texts: list[str], **columns: Any) -> pd.DataFrame:
    table = pd.DataFrame({"item_id": [f"i{n}" for n in range(len(texts))], "text": texts})
    empty = dict.fromkeys(["pair_id", "condition", "grammatical", "rating", "rating_source",
                           "phenomenon", "paradigm"])  # fmt: skip
    return table.assign(**{**empty, "dataset": "d", "language": "en", **columns})
