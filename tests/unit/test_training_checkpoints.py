"""Models kept in training: what text they have met, and scores as of the weights loaded plainly."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import GPTNeoXForCausalLM

from lingprob.errors import LingprobError
from lingprob.io.tables import read_metadata, read_table
from lingprob.models.manifest import write_manifest
from lingprob.models.prepared import load_prepared
from lingprob.scoring.engine import score_sequences
from lingprob.training.corpus import TrainingData
from lingprob.training.launch import kept_model
from lingprob.training.seen_tokens import count_seen_tokens
from lingprob.workflow import scope
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.digests import SCRIPTS
from lingprob.workflow.sources import Run
from training_for_tests import N_EXAMPLES, job, losses, rows_with_structure, save_corpus

KEPT = {"training": {"keep_checkpoints": [1, 2, 4]}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus"))


def test_counts_are_of_the_rows_that_a_training_reads(corpus, tmp_path, monkeypatch):
    read: list[np.ndarray] = []
    take = TrainingData.take

    def recorded(self, numbers):
        rows = take(self, numbers)
        read.append(rows)
        return rows

    monkeypatch.setattr(TrainingData, "take", recorded)
    losses(job(corpus, tmp_path, plan={"steps": 5}))
    monkeypatch.undo()
    expected = np.bincount(np.concatenate(read)[:, 1:].ravel(), minlength=corpus["vocabulary"])
    counts = count_seen_tokens(TrainingData(corpus, 10), 5, 8, seed=3)
    assert counts.tolist() == expected.tolist()


def test_an_epoch_counts_every_example_and_two_count_them_twice(corpus):
    data = TrainingData(corpus, 10)
    once = np.bincount(
        rows_with_structure(N_EXAMPLES)[:, 1:].ravel(), minlength=corpus["vocabulary"]
    )
    assert count_seen_tokens(data, 10, 9, seed=3).tolist() == once.tolist()
    assert count_seen_tokens(data, 20, 9, seed=4).tolist() == (2 * once).tolist()


def test_the_rule_s_counts_are_those_of_its_step(corpus, tmp_path):
    (tmp_path / "corpus.json").write_text(json.dumps(corpus))
    output = tmp_path / "training_4.parquet"
    params = SimpleNamespace(batch_size=8, validation_examples=10, seed=3, smoothing=1.0)
    snakemake = SimpleNamespace(
        input=[str(tmp_path / "corpus.json")], output=[str(output)], params=params,
        log=[str(tmp_path / "log.txt")], rule="count",
    )  # fmt: skip
    runpy.run_path(str(SCRIPTS / "count_training_tokens.py"), init_globals={"snakemake": snakemake})
    expected = count_seen_tokens(TrainingData(corpus, 10), 4, 8, seed=3)
    assert read_table(output, "unigrams")["count"].tolist() == expected.tolist()
    assert read_metadata(output)["total"] == str(4 * 8 * corpus["context_window"])


def test_a_kept_model_scores_as_its_weights_loaded_plainly_do(corpus, tmp_path):
    described = job(corpus, tmp_path, plan={"steps": 4}, means={"keep_checkpoints": [1, 2]})
    losses(described)
    sentence = rows_with_structure(1, seed=5)[0, :-1].astype(np.int64)
    found = []
    for step in (1, 2):
        folder = kept_model(Path(described["folder"]), step)
        write_manifest(f"step{step}", "trained", "", folder, folder / "manifest.json")
        lm, _ = load_prepared(folder / "manifest.json", {"context_window": 12})
        (scores,) = score_sequences(lm, [sentence[1:]], int(sentence[0]))
        with torch.no_grad():
            model = GPTNeoXForCausalLM.from_pretrained(folder)
            logits = model(torch.from_numpy(sentence[None])).logits[0, :-1].double()
        plain = logits.log_softmax(dim=1).gather(1, torch.from_numpy(sentence[1:, None]))[:, 0]
        assert scores == pytest.approx(plain.numpy(), abs=1e-5)
        found.append(scores)
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_each_step_s_model_has_the_unigrams_of_its_step():
    settings, catalog = read_settings(KEPT)
    listed = {
        name: catalog.model(f"trained-tiny-small{name}")["unigrams"]
        for name in ("", "-ft5", "-step1", "-step4")
    }
    assert {name: found[0] for name, found in listed.items()} == {
        "": "training_90", "-ft5": "training_90", "-step1": "training_1", "-step4": "training_4"
    }  # fmt: skip
    assert {found[1] for found in listed.values()} == {"corpus_demo_sentences"}
    plan = Run(settings, catalog)
    assert scope.unigram_tables(plan, "trained-tiny-small-step4")[0] == (
        "results/unigrams/trained/training_4.parquet"
    )
    _, paper = read_settings({**KEPT, "scale": "paper"})
    model = paper.model("trained-small-step2")
    assert model["unigrams"] == ["pile_published", "training_2"]
    with pytest.raises(LingprobError, match="training_all"):
        catalog.unigram_source("training_all")
    with pytest.raises(LingprobError, match=r"'training_8'.*morcela\.unigrams"):
        read_settings({**KEPT, "morcela": {"unigrams": ["training_8"]}})
    read_settings({**KEPT, "morcela": {"unigrams": ["training_4"]}})
