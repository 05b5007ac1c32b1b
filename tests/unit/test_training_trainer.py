"""Training against a plain loop; kills, several processes, bad data, full disks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch
from transformers import GPTNeoXForCausalLM

from lingprob.errors import LingprobError
from lingprob.models.folders import write_manifest
from lingprob.models.loading import load_language_model, load_prepared
from lingprob.scoring.engine import score_sequences
from lingprob.training.checkpoint import before
from lingprob.training.corpus import TrainingData
from lingprob.training.launch import SCRIPTS, kept_model
from lingprob.training.model import build_model
from lingprob.training.rows import examples_of_step
from lingprob.training.sizes import ModelSize
from lingprob.training.trainer import peak_flops
from lingprob.training.updates import FIRST_SCALE, GROWTH_STEPS, LossScale
from small_disk import on_small_disk
from training_for_tests import (
    CONTEXT_WINDOW,
    N_EXAMPLES,
    SIZE,
    VOCABULARY,
    job,
    log_of,
    losses,
    means,
    plan,
    rows_with_structure,
    save_corpus,
    trainer,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def uninterrupted(corpus, tmp_path_factory):
    """A training in one process, and its losses."""
    described = job(corpus, tmp_path_factory.mktemp("uninterrupted"))
    return described, losses(described)


def plain_losses(corpus, steps: int) -> list[float]:
    """The same training as one would write it first: whole batches, torch's own parts."""
    asked = plan()
    model = build_model(ModelSize(**SIZE), VOCABULARY, CONTEXT_WINDOW, seed=asked["seed"])
    decayed = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        betas=(0.9, 0.95),
    )
    rows = np.concatenate([np.load(path) for path in corpus["training"]]).astype(np.int64)
    found = []
    for step in range(1, steps + 1):
        batch = torch.from_numpy(rows[examples_of_step(step, 8, N_EXAMPLES, asked["seed"])])
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        cosine = (1 + np.cos(np.pi * (step - 3) / 27)) / 2
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * step / 3 if step < 3 else 0.001 + 0.009 * cosine
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def test_losses_are_those_of_a_plain_loop(corpus, uninterrupted):
    np.testing.assert_allclose(uninterrupted[1], plain_losses(corpus, 30), rtol=2e-4)


def test_it_learns_and_its_model_is_one_that_scoring_loads(uninterrupted):
    described, curve = uninterrupted
    assert curve[0] > 4.3  # ln 96 = 4.56
    assert curve[-1] < curve[0] - 1
    lm = load_language_model(described["directory"])
    assert (lm.context_window, lm.vocabulary_size) == (CONTEXT_WINDOW, VOCABULARY)
    rows = torch.from_numpy(TrainingData(described["corpus"], 10).validation())
    logits = lm.model(rows[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
    assert loss.item() == pytest.approx(log_of(described)[-1]["validation_loss"], abs=1e-5)


def test_the_log_has_a_line_a_step(uninterrupted):
    log = log_of(uninterrupted[0])
    assert [record["step"] for record in log] == list(range(1, 31))
    assert log[4]["tokens"] == 5 * 8 * CONTEXT_WINDOW
    assert [r["step"] for r in log if "validation_loss" in r] == [10, 20, 30]
    assert log[-1]["learning_rate"] == pytest.approx(0.001)
    assert 0 < log[10]["mfu"] < 1
    assert log[10]["gradient_norm"] > 0


def norms(described: dict) -> list[float]:
    """The lengths of the gradients of all steps."""
    return [record["gradient_norm"] for record in log_of(described)]


def kill_after(described: dict, at: int, processes: int = 1) -> None:
    """Start a training in a process of its own, and kill -9 all of it after so many steps."""
    path = Path(described["folder"]).parent / "described.json"
    path.write_text(json.dumps(described))
    log = Path(described["folder"]) / "log.jsonl"
    script = f"import json, sys; from lingprob.training.launch import train; " \
        f"train(json.load(open(sys.argv[1])), {processes})"  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", script, path],
        # As many threads as here: sums of other parts differ in their last bits.
        env={
            **os.environ,
            "PYTHONPATH": str(SCRIPTS),
            "OMP_NUM_THREADS": str(torch.get_num_threads()),
        },
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 400
    while not log.exists() or len(log.read_text().splitlines()) < at:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert len(log.read_text().splitlines()) < 30


def test_after_kill_9_the_losses_are_the_same_to_the_bit(corpus, uninterrupted, tmp_path):
    described = job(corpus, tmp_path)
    kill_after(described, 14)
    with open(Path(described["folder"]) / "log.jsonl", "a") as stream:
        stream.write('{"step": 29, "lo')  # what a kill leaves of a line
    np.testing.assert_array_equal(losses(described), uninterrupted[1])
    for name in ("model.safetensors", "tokenizer.json"):
        ours, theirs = (Path(d["directory"]) / name for d in (described, uninterrupted[0]))
        assert ours.read_bytes() == theirs.read_bytes()


def test_the_checkpoint_of_another_training_is_not_used(corpus, uninterrupted, tmp_path):
    other = job(corpus, tmp_path, plan={"seed": 4, "steps": 4})
    losses(other)
    described = job(corpus, tmp_path, plan={"steps": 2})
    assert losses(described) == losses(job(corpus, tmp_path / "fresh", plan={"steps": 2}))
    # The examples held out are asked at the end, whatever step that is.
    assert "validation_loss" in log_of(described)[-1]


def test_two_processes_give_the_losses_of_one(corpus, uninterrupted, tmp_path):
    """torchrun with gloo, gradients averaged (DDP)."""
    described = job(corpus, tmp_path)
    np.testing.assert_allclose(losses(described, processes=2), uninterrupted[1], rtol=2e-4)
    np.testing.assert_allclose(norms(described), norms(uninterrupted[0]), rtol=2e-3)
    validation = [log_of(d)[-1]["validation_loss"] for d in (described, uninterrupted[0])]
    assert validation[0] == pytest.approx(validation[1], rel=2e-4)


@pytest.mark.slow
def test_an_error_in_a_process_of_torchrun_is_told(corpus, tmp_path):
    described = job(corpus, tmp_path, plan={"batch_size": 7})
    with pytest.raises(LingprobError, match="7 examples cannot be shared equally by 2 processes"):
        losses(described, processes=2)


def test_half_precision_follows_full_precision(corpus, uninterrupted, tmp_path):
    found = losses(job(corpus, tmp_path, plan={"precision": "bfloat16"}))
    np.testing.assert_allclose(found, uninterrupted[1], rtol=0.05)
    assert found != uninterrupted[1]


@pytest.mark.parametrize(
    ("device", "teraflops"),
    [("NVIDIA H100 80GB HBM3", 989), ("NVIDIA H200", 989), ("NVIDIA A100-SXM4-40GB", 312),
     ("NVIDIA L40S", 362), ("NVIDIA L4", 121), ("NVIDIA A40", 150), ("Quadro RTX 8000", 130.5),
     ("Tesla V100-SXM2-16GB", 125), ("Tesla T4", 65), ("GeForce", None)],
)  # fmt: skip
def test_the_peak_of_a_gpu_is_its_maker_s(monkeypatch, device, teraflops):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: device)
    found = peak_flops(torch.device("cuda"), torch.float16)
    assert found == (None if teraflops is None else teraflops * 1e12)


def test_the_peak_of_a_cpu_is_the_fastest_of_five_products(monkeypatch):
    """2,048 operations an entry in a second of two threads' time."""
    clock = iter([0, 3, 10, 14, 20, 25, 30, 32, 40, 41])
    matrix = MagicMock()
    matrix.to.return_value = matrix
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(torch, "rand", lambda *sides: {(1024, 1024): matrix}[sides])
    assert peak_flops(torch.device("cpu"), torch.bfloat16) == 2 * 2048 * 1024**2
    assert not [*clock]
    assert matrix.__matmul__.call_count == 5
    matrix.to.assert_called_with(torch.bfloat16)


def test_the_loss_scale_halves_on_overflow_and_doubles_after_a_thousand_good_steps():
    scale = LossScale(torch.float16)
    assert scale.state() == {"value": 4096, "good_steps": 0}
    assert FIRST_SCALE == 4096
    scale.update(finite=False)
    assert scale.value == 2048
    assert GROWTH_STEPS == 1000
    for _ in range(999):
        scale.update(finite=True)
    assert scale.value == 2048
    scale.update(finite=True)
    assert scale.value == 4096
    other = LossScale(torch.float16)
    other.restore(scale.state())
    assert (other.value, other.good_steps) == (4096, GROWTH_STEPS)
    assert LossScale(torch.bfloat16).value == 1.0
    for value in (1.5, 1.0):  # never below 1
        scale.value = value
        scale.update(finite=False)
        assert scale.value == 1.0


def test_the_loss_scale_leaves_the_steps_as_they_are(corpus, uninterrupted, tmp_path):
    """On a CPU float16 has no place, but the scale is undone wherever it comes from."""
    scaled = trainer(corpus, tmp_path)
    scaled.scale.value = 1024.0
    found = [scaled.step(step)["loss"] for step in range(1, 11)]
    np.testing.assert_allclose(found, uninterrupted[1][:10], rtol=1e-5)


def test_gradients_that_overflow_move_nothing_and_halve_the_scale(corpus, tmp_path):
    scaled = trainer(corpus, tmp_path)
    scaled.scale.dynamic, scaled.scale.value = True, 1e38
    before = scaled.model.lm_head.weight.clone()
    assert scaled.step(1)["gradient_norm"] is None
    assert torch.equal(scaled.model.lm_head.weight, before)
    assert scaled.scale.value == 5e37


def test_a_loss_that_is_not_a_number_stops_and_names_the_example(corpus, tmp_path):
    """The embedding of one token is damaged; the first example that has it is at fault."""
    broken = trainer(corpus, tmp_path)
    rows = np.concatenate([np.load(path) for path in corpus["training"]])
    first_batch = examples_of_step(1, 8, N_EXAMPLES, plan()["seed"])
    counts = {t: int((rows[first_batch, :-1] == t).any(axis=1).sum()) for t in range(1, 96)}
    token = next(token for token, count in counts.items() if count == 1)
    number = next(n for n in first_batch if token in rows[n, :-1])
    with torch.no_grad():
        broken.model.gpt_neox.embed_in.weight[token] = float("nan")
    before = broken.model.lm_head.weight.clone()
    place = f"{'ab'[number // 50]}.npy, row {number % 50}"
    with pytest.raises(LingprobError, match=rf"step 1 is not finite.*{place} \(1 of 8\)"):
        broken.train()
    assert torch.equal(broken.model.lm_head.weight, before)
    assert not (tmp_path / "log.jsonl").exists()


def test_weights_that_give_no_finite_loss_are_not_saved(corpus, tmp_path):
    """A checkpoint is due after steps 2, 4 and 6; step 6 spoils the weights, which 7 finds out."""
    training = trainer(corpus, tmp_path, means={"checkpoint_steps": 2})
    for step in range(1, 6):
        training.step(step)
    training.plan = replace(training.plan, learning_rate=1e38)
    training.step(6)
    with pytest.raises(LingprobError, match="loss of step 7 is not finite"):
        training.step(7)
    kept = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert kept["step"] == 4
    training.model.load_state_dict(
        {name.removeprefix("model."): weight for name, weight in kept["model"].items()}
    )
    assert training.validation_loss() < 5


def test_more_examples_a_step_than_there_are_is_refused(corpus, tmp_path):
    trainer(corpus, tmp_path, plan={"batch_size": 90})
    with pytest.raises(LingprobError, match=r"accumulates 91 examples.*have 90 of 13 tokens"):
        trainer(corpus, tmp_path, plan={"batch_size": 91})


def test_a_second_epoch_is_refused_unless_it_is_allowed(corpus, tmp_path):
    """90 examples are 10 batches of 9: the eleventh would need some of them again."""
    once = {"repeat_examples": False}
    trainer(corpus, tmp_path, plan={"batch_size": 9, "steps": 10}, means=once)
    with pytest.raises(LingprobError, match=r"11 steps of 9 examples are 1\.10 epochs of the 90"):
        trainer(corpus, tmp_path, plan={"batch_size": 9, "steps": 11}, means=once)
    trainer(corpus, tmp_path, plan={"batch_size": 9, "steps": 11})


def test_models_are_kept_after_the_steps_asked_for_a_kill_notwithstanding(
    corpus, uninterrupted, tmp_path
):
    """Step 3 is kept before the kill and step 20 after it, each as it was after that step."""
    described = job(corpus, tmp_path, means={"keep_checkpoints": [3, 20]})
    kill_after(described, 14)
    first = kept_model(Path(described["folder"]), 3) / "model.safetensors"
    written = first.stat().st_mtime_ns
    assert losses(described) == uninterrupted[1]
    assert first.stat().st_mtime_ns == written
    again = trainer(corpus, tmp_path / "again")
    for step in range(1, 21):
        again.step(step)
        if step in (3, 20):
            kept = load_language_model(kept_model(Path(described["folder"]), step), device="cpu")
            for name, weight in kept.model.named_parameters():
                torch.testing.assert_close(weight, again.model.get_parameter(name))


class Payload:
    """Writes a file where an unrestricted reader of pickles meets it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return exec, (f"open({str(self.path)!r}, 'w')",)


@pytest.mark.parametrize("damage", ["cut", "emptied", "a list", "hostile"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(corpus, tmp_path, caplog, damage):
    described = job(corpus, tmp_path)
    whole = losses(described)
    path = Path(described["folder"]) / "checkpoint.pt"
    step = torch.load(before(path), weights_only=True)["step"]
    assert 0 < step < torch.load(path, weights_only=True)["step"]
    content = path.read_bytes()
    path.write_bytes({"cut": content[:1000]}.get(damage, b""))
    if damage == "a list":
        torch.save([1, 2], path)
    if damage == "hostile":
        torch.save({"identity": Payload(tmp_path / "run")}, path)
    caplog.clear()
    with caplog.at_level("INFO"):
        np.testing.assert_array_equal(losses(described), whole)
    assert f"{path}: not a whole checkpoint" in caplog.text
    assert f"training goes on after step {step}" in caplog.text
    assert not (tmp_path / "run").exists()
    for file in (path, before(path)):
        file.write_bytes(b"")
    np.testing.assert_array_equal(losses(described), whole)


SAVE_UNTIL_FULL = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import torch
from lingprob.errors import LingprobError
from lingprob.training.checkpoint import save_checkpoint
from lingprob.training.parallel import World
from lingprob.training.updates import LossScale
disk = Path(sys.argv[1])
model = torch.nn.Linear(300, 300)
optimizer = torch.optim.AdamW(model.parameters())
model(torch.ones(1, 300)).sum().backward()
optimizer.step()
world = World(0, 1, torch.device("cpu"))
def save(step):
    save_checkpoint(disk / "c.pt", "i", step, model, optimizer, LossScale(torch.float32), world)
save(1)
(disk / "filler").write_bytes(b"x" * 500_000)
try:
    save(2)
except LingprobError as error:
    print(error)
print(torch.load(disk / "c.pt", weights_only=True)["step"], sorted(os.listdir(disk)))
"""


def test_a_full_disk_costs_nothing_but_the_new_checkpoint(tmp_path):
    said = on_small_disk(tmp_path, "size=2m", SAVE_UNTIL_FULL)
    assert "c.pt" in said
    assert "Free some" in said
    assert said.splitlines()[-1] == "1 ['c.pt', 'filler']"


def test_means_do_not_change_the_losses(corpus, uninterrupted, tmp_path):
    changed = means(micro_batch_size=8, checkpoint_steps=30)
    np.testing.assert_allclose(
        losses(job(corpus, tmp_path, means=changed)), uninterrupted[1], rtol=2e-4
    )


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
