"""Kill a job, change its inputs and run it again: its numbers are those of the new inputs.

The rules' own scripts run here, in this process. A kill is an exception that nothing catches. It
leaves the same files as `kill -9` (files are complete or absent). Real kills are in
workflow/test_demo.py and test_training.py.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table, write_table
from lingprob.models.folders import write_manifest
from lingprob.models.loading import load_prepared
from lingprob.training.trainer import Trainer
from models_for_tests import SENTENCES, save_tiny_model
from scripts_for_tests import run_script
from training_for_tests import means, plan, save_corpus

OUTPUT = Path("a/b/out.parquet")
MANIFEST = Path("resources/models/tiny/manifest.json")


class Killed(BaseException):
    """Not an Exception, so that nothing takes it for an error of the job."""


@dataclass(frozen=True)
class State:
    """The state that a job's numbers depend on besides its input."""

    weights: int = 0  # a seed
    code: str = "as it was"
    settings: tuple[tuple[str, Any], ...] = ()


def run_in(rule: str, state: State, monkeypatch, **parts: dict[str, Any]) -> int:
    """Run a rule's script as Snakemake does and return how often it ran a loaded model.

    `parts` are its input, params, resources ... Edited code gives other numbers, as an edit of any
    module that makes them would.
    """
    passes: list[int] = []

    def load(*arguments, **options):
        lm, provenance = load_prepared(*arguments, **options)
        lm.model.base_model.register_forward_pre_hook(lambda *_: passes.append(1) and None)
        if state.code == "edited":
            with torch.no_grad():
                lm.model.get_output_embeddings().weight.mul_(1.5)
        return lm, provenance

    parts = {"output": {"table": str(OUTPUT)}, **parts}
    parts["params"] = {
        "code": state.code, "engine": state.code, **parts["params"], **dict(state.settings),
    }  # fmt: skip
    with monkeypatch.context() as patched:
        patched.setattr("lingprob.models.loading.load_prepared", load)
        patched.setattr("lingprob.scoring.stimuli.load_prepared", load)
        if state.code == "edited":
            patched.setattr("lingprob.training.trainer.learning_rate", lambda *_, **__: 0.02)
        run_script(rule, HOW, **parts)
    return len(passes)


def put_model(seed: int) -> None:
    """Put a model with these weights in the place of another, as `prepare_model` would."""
    directory = save_tiny_model("gpt2", MANIFEST.parent, seed)
    write_manifest("tiny", "local", "models/tiny", directory, MANIFEST)


def stimuli() -> pd.DataFrame:
    table = pd.DataFrame({"dataset": "d", "text": SENTENCES, "language": "en"})
    table["grammatical"] = [True, False] * 4
    table = table.assign(item_id=[f"i{n}" for n in range(8)])
    table = table.assign(pair_id=[f"p{n // 2}" for n in range(8)], paradigm="s")
    return table.reindex(columns=SCHEMAS["stimuli"].names)


LOADED: dict[str, Any] = {"device": "cpu", "dtype": "float32"}
HOW = {
    "scoring": {"device_map": "single", "tokens_per_batch": 64, "sentences_per_shard": 2},
    "training": {**means(), "processes": 1, "keep_checkpoints": []},
}
BOS = {"bos": {"start_token": "start", "first_token": "scored"}}


def score_sentences(state, monkeypatch):
    write_table(stimuli(), "stimuli", "stimuli.parquet")
    return run_in(
        "score_stimuli", state, monkeypatch,
        input={"model": MANIFEST, "stimuli": ["stimuli.parquet"], "unigrams": []},
        output={"tokens": [OUTPUT], "sentences": ["sentences.parquet"], "csv": ["sentences.csv"]},
        params={**LOADED, "model": "tiny", "start_tokens": {"start": "bos"}, "bos_policies": BOS,
                "unigrams": [], "entry": {}},
    )  # fmt: skip


def score_words(state, monkeypatch):
    rows = [
        (str(number), place, word, 0)
        for number, text in enumerate(SENTENCES[:4])
        for place, word in enumerate(text.split())
    ]
    words = pd.DataFrame(rows, columns=SCHEMAS["words"].names)
    write_table(words, "words", "words.parquet")
    return run_in(
        "compute_word_surprisal", state, monkeypatch,
        input={"model": MANIFEST, "words": ["words.parquet"]},
        output={"tables": [OUTPUT], "csv": ["words.csv"]},
        params={**LOADED, "start_token": "bos", "context": "passage", "entry": {},
                "window_counts": "predicted"},
        wildcards={"model": "tiny"},
    )  # fmt: skip


def judge_contexts(state, monkeypatch):
    write_table(stimuli(), "stimuli", "stimuli.parquet")
    prefixes = pd.DataFrame({"prefix_id": ["x", "y", "z"], "pair_ids": [["p0"], ["p1"], ["p2"]]})
    prefixes = prefixes.assign(text="The mats. The cats sat.", kind="matched_acceptable")
    prefixes = prefixes.assign(char_ends=[[9, 23]] * 3, source_ids=[["i0", "i1"]] * 3, dataset="d")
    prefixes = prefixes.reindex(columns=SCHEMAS["context_prefixes"].names)
    write_table(prefixes, "context_prefixes", "prefixes.parquet")
    task = {"dataset": "toy", "entry": {"parser": "table"}, "lengths": [9, 15], "alone": True}
    return run_in(
        "judge_contexts", state, monkeypatch,
        input={"model": MANIFEST, "stimuli": ["stimuli.parquet"], "prefixes": ["prefixes.parquet"]},
        params={**LOADED, "start_token": "bos", "entry": {}, "tasks": [task]},
        wildcards={"model": "tiny"},
    )  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A job of a rule, the folder of its finished parts, and settings that others depend on."""

    run: Callable[..., None]
    table: str
    kept: str
    settings: dict[str, Any]
    stays: bool = False  # for a job with another data set more


JOBS = {
    "scoring": Job(
        score_sentences, "scores", "resources/shards/scores", {"start_tokens": {"start": "eos"}},
        stays=True,
    ),
    "scoring in windows": Job(
        score_sentences, "scores", "resources/shards/scores", {"entry": {"context_window": 8}},
        stays=True,
    ),
    "word surprisal": Job(
        score_words, "surprisal", "resources/shards/surprisal", {"start_token": "eos"}, stays=True
    ),
    "contexts": Job(
        judge_contexts, "context_judgments", "resources/shards/context", {"start_token": "eos"}
    ),
}  # fmt: skip


def files_kept(folder: str) -> list[Path]:
    return [path for path in Path(folder).rglob("[!.]*") if path.is_file()]


def result(job: Job, folder: Path, state: State, monkeypatch) -> tuple[pd.DataFrame, int]:
    """Run a job to its end from nothing, and return its table and the number of passes."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    put_model(state.weights)
    passes = job.run(state, monkeypatch)
    assert bool(files_kept(job.kept)) == job.stays
    return read_table(OUTPUT, job.table), passes


@pytest.mark.parametrize("changed", ["nothing", "weights", "code", "settings"])
@pytest.mark.parametrize("name", JOBS)
def test_a_resumed_job_is_of_one_state(name, changed, tmp_path, monkeypatch):
    monkeypatch.setattr("lingprob.reading.surprisal.TOKENS_PER_BATCH_OF_PASSAGES", 10)
    monkeypatch.setattr("lingprob.context.scores.SENTENCES_AT_ONCE", 2)
    job, before = JOBS[name], State()
    after = {
        "nothing": before, "weights": State(weights=1), "code": State(code="edited"),
        "settings": State(settings=tuple(job.settings.items())),
    }[changed]  # fmt: skip
    undisturbed, all_passes = result(job, tmp_path / "undisturbed", after, monkeypatch)
    if changed != "nothing":
        old, _ = result(job, tmp_path / "old", before, monkeypatch)
        assert not old.equals(undisturbed), "the change must change numbers"

    def advance(self, count=1):
        if files_kept(job.kept):
            raise Killed

    (tmp_path / "study").mkdir()
    monkeypatch.chdir(tmp_path / "study")
    put_model(before.weights)
    with monkeypatch.context() as patched, pytest.raises(Killed):  # noqa: PT012
        patched.setattr("lingprob.io.progress.Progress.advance", advance)
        job.run(before, monkeypatch)
    assert not OUTPUT.exists()
    put_model(after.weights)
    passes = job.run(after, monkeypatch)
    pd.testing.assert_frame_equal(read_table(OUTPUT, job.table), undisturbed, check_exact=True)
    assert passes < all_passes if changed == "nothing" else passes == all_passes


TRAINED = {"directory": Path("resources/models/trained-tiny"), "folder": "resources/training/tiny"}


def train(corpus, folder: Path, state: State, monkeypatch) -> tuple[bytes, list[float]]:
    """Train in a folder; return the weights and the losses."""
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    Path("corpus.json").write_text(json.dumps(corpus))
    run_in(
        "train_model", state, monkeypatch,
        input={"corpus": "corpus.json"},
        params={"model": "trained-tiny", "folder": TRAINED["folder"], "device": "cpu",
                "plan": plan(), "validation_examples": 10},
        wildcards={"size": "tiny"},
        output={"manifest": str(TRAINED["directory"] / "manifest.json"), "log": "log.jsonl",
                "kept": []},
    )  # fmt: skip
    losses = [json.loads(line)["loss"] for line in Path("log.jsonl").read_text().splitlines()]
    return (TRAINED["directory"] / "model.safetensors").read_bytes(), losses


@pytest.mark.parametrize("changed", ["nothing", "data", "code", "plan", "validation"])
def test_a_resumed_training_is_of_one_state(changed, tmp_path, monkeypatch):
    corpus = save_corpus(tmp_path / "corpus")
    before, after = State(), State()
    if changed == "code":
        after = State(code="edited")
    if changed == "plan":
        after = State(settings=(("plan", plan(steps=29)),))
    if changed == "validation":
        after = State(settings=(("validation_examples", 9),))
    other = {**corpus, "chunks": {"a": "newer"}} if changed == "data" else corpus
    weights, losses = train(other, tmp_path / "undisturbed", after, monkeypatch)

    def die(trainer, step):
        if step == 14:
            raise Killed
        return step_of(trainer, step)

    step_of = Trainer.step
    with monkeypatch.context() as patched, pytest.raises(Killed):  # noqa: PT012
        patched.setattr(Trainer, "step", die)
        train(corpus, tmp_path / "study", before, monkeypatch)
    assert files_kept(TRAINED["folder"])
    steps = []
    monkeypatch.setattr(Trainer, "step", lambda *of: steps.append(of[1]) or step_of(*of))
    resumed_weights, resumed_losses = train(other, tmp_path / "study", after, monkeypatch)
    assert resumed_losses == losses
    assert resumed_weights == weights
    assert steps[0] == (13 if changed == "nothing" else 1)
