"""Training against a plain loop: sizes, schedules, steps, kills, processes, full disks."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.training import launch
from lingprob.training.corpus import TrainingData, examples_of_step
from lingprob.training.launch import SCRIPTS, kept_model
from lingprob.training.model import build_model
from lingprob.training.sizes import ModelSize
from lingprob.training.trainer import World
from lingprob.training.updates import loss_scaler, move_weights
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
    save_corpus,
    trainer,
)

CPU = torch.device("cpu")


# One step.


@pytest.fixture
def group_of_one():
    """A process that joined others, of which there are none."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def scaler_of(scale: float) -> torch.amp.GradScaler:
    return torch.amp.GradScaler("cpu", init_scale=scale)


@pytest.mark.parametrize(
    ("gradient", "clip"),
    [([3.0, 4.0], math.inf), ([3.0, 4.0], 10.0), ([3.0, 4.0], 2.0), ([3e-6, 4e-6], 3e-6)],
)
@pytest.mark.parametrize("scale", [None, 8.0])
def test_gradients_are_unscaled_and_clipped_as_torch_does(gradient, clip, scale):
    weights, expected = (nn.Parameter(torch.zeros(2)) for _ in range(2))
    unused = nn.Parameter(torch.zeros(1))
    expected.grad = torch.tensor(gradient)
    norm = nn.utils.clip_grad_norm_([expected], clip)
    scaler = loss_scaler(torch.float32, CPU) if scale is None else scaler_of(scale)
    scaler.scale((weights * torch.tensor(gradient)).sum()).backward()
    optimizer = torch.optim.SGD([weights, unused], lr=0.0)
    own = {} if clip == math.inf else {"clip": clip}
    found = move_weights([weights, unused], optimizer, scaler, 0.5, **own)
    assert found == pytest.approx(norm.item())
    torch.testing.assert_close(weights.detach(), -0.5 * expected.grad, rtol=1e-5, atol=0)
    assert weights.grad is None


def test_gradients_that_are_not_finite_move_nothing():
    """They are refused, unless a loss scale may be to blame: then it is halved."""
    weights = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weights], lr=0.0)
    scaler = scaler_of(8.0)
    for value in (math.nan, math.inf):
        scaler.scale((weights * torch.tensor([1.0, value])).sum()).backward()
        assert not math.isfinite(move_weights([weights], optimizer, scaler, 0.5, 1.0))
        assert weights.tolist() == [1, 1]
    assert scaler.get_scale() == 2.0
    weights.grad = torch.tensor([1.0, math.nan])
    with pytest.raises(LingprobError, match="the norm of the gradients is not finite"):
        move_weights([weights], optimizer, loss_scaler(torch.bfloat16, CPU), 0.5)
    assert weights.tolist() == [1, 1]


def test_the_loss_scale_is_pythias():
    state = loss_scaler(torch.float16, CPU).state_dict()
    names = ("scale", "growth_interval", "growth_factor", "backoff_factor")
    assert [state[name] for name in names] == [4096, 1000, 2, 0.5]
    assert not loss_scaler(torch.bfloat16, CPU).is_enabled()


def test_no_pass_has_more_examples_than_allowed(corpus, tmp_path):
    """Eight in two equal parts, ten held out in three."""
    training = trainer({**corpus, "separator": 7}, tmp_path, means={"micro_batch_size": 4})
    assert training.model.config.eos_token_id == 7
    sizes: list[int] = []
    training.loss.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0])))
    training.step(1)
    assert sizes == [4, 4]
    training.validation_loss()
    assert sizes[2:] == [4, 3, 3]
    training.data.validation = training.data.validation[:0]
    assert training.validation_loss() is None


def test_the_loss_scale_does_not_change_steps(corpus, uninterrupted, tmp_path):
    """A CPU needs no scale, but one is undone wherever it comes from."""
    scaled = trainer(corpus, tmp_path)
    scaled.scaler = scaler_of(1024.0)
    found = [scaled.step(step)["loss"] for step in range(1, 6)]
    np.testing.assert_allclose(found, uninterrupted[1][:5], rtol=1e-5)
    plain = trainer(corpus, tmp_path)
    plain.step(1)
    plain.save(1)
    assert scaled.resume() == 1  # after a training without a scale


def test_an_infinite_loss_stops_the_training(corpus, tmp_path):
    broken = trainer(corpus, tmp_path)
    with torch.no_grad():
        broken.model.gpt_neox.embed_in.weight[1:] = math.nan
    before = broken.model.lm_head.weight.clone()
    with pytest.raises(LingprobError, match="the loss of step 1 is not finite"):
        broken.train()
    assert torch.equal(broken.model.lm_head.weight, before)
    assert not (tmp_path / "log.jsonl").exists()
    with pytest.raises(LingprobError, match="validation examples is not finite"):
        broken.validation_loss()


def test_layers_are_compiled_on_a_gpu_alone(corpus, tmp_path, monkeypatch):
    layers: list[nn.Module] = []
    monkeypatch.setattr(nn.Module, "compile", lambda layer: layers.append(layer))
    monkeypatch.setattr(nn.Module, "to", lambda module, *_: module)
    for device, compiled in (("cpu", 0), ("cuda", 2)):
        trainer(corpus, tmp_path, World(0, 1, torch.device(device)))
        assert len(set(layers)) == compiled


# Whole trainings.


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


def test_a_trained_model_learns_and_can_be_scored(uninterrupted):
    described, curve = uninterrupted
    assert curve[0] > 4.3  # ln 96 = 4.56
    assert curve[-1] < curve[0] - 1
    lm = load_language_model(described["directory"])
    assert (lm.context_window, lm.vocabulary_size) == (CONTEXT_WINDOW, VOCABULARY)
    rows = torch.from_numpy(TrainingData(described["corpus"], 10).validation)
    logits = lm.model(rows[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
    assert loss.item() == pytest.approx(log_of(described)[-1]["validation_loss"], abs=1e-5)


def test_the_log_has_one_line_per_step(uninterrupted):
    log = log_of(uninterrupted[0])
    assert [record["step"] for record in log] == list(range(1, 31))
    assert log[4]["tokens"] == 5 * 8 * CONTEXT_WINDOW
    assert [r["step"] for r in log if "validation_loss" in r] == [10, 20, 30]
    assert log[-1]["learning_rate"] == pytest.approx(0.001)
    assert log[10]["gradient_norm"] > 0
    # Both numbers are rounded.
    assert log[10]["tokens_per_second"] * log[10]["seconds"] == pytest.approx(96, rel=0.05)


def kill_after(described: dict, at: int, processes: int = 1, group: bool = True) -> None:
    """Start a training in its own process and kill it, or all its group, after some steps."""
    path = Path(described["folder"]).parent / "described.json"
    path.write_text(json.dumps(described))
    log = Path(described["folder"]) / "log.jsonl"
    script = f"import json, sys; from lingprob.training.launch import train; " \
        f"train(json.load(open(sys.argv[1])), {processes})"  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", script, path],
        # As many threads as here: sums of other parts differ in their last bits.
        env={**os.environ, "PYTHONPATH": str(SCRIPTS),
             "OMP_NUM_THREADS": str(torch.get_num_threads())},
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 400
    while not log.exists() or len(log.read_text().splitlines()) < at:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    assert len(log.read_text().splitlines()) < described["plan"]["steps"]


def test_a_killed_training_ends_the_same(corpus, uninterrupted, tmp_path):
    """Steps 3 and 20 are kept, before the kill and after it. All losses are equal to the bit."""
    described = job(corpus, tmp_path, means={"keep_checkpoints": [3, 20]})
    folder = Path(described["folder"])
    kill_after(described, 14)
    first = kept_model(folder, 3) / "model.safetensors"
    written = first.stat().st_mtime_ns
    with open(folder / "log.jsonl", "a") as stream:
        stream.write('{"step": 29, "lo')  # a kill leaves such a line
    described["means"] |= {"validation_steps": 7, "checkpoint_steps": 9}
    np.testing.assert_array_equal(losses(described), uninterrupted[1])
    assert first.stat().st_mtime_ns == written
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        found, expected = (Path(d["directory"]) / name for d in (described, uninterrupted[0]))
        assert found.read_bytes() == expected.read_bytes()
    again = trainer(corpus, tmp_path / "again")
    for step in range(1, 21):
        again.step(step)
        if step in (3, 20):
            kept = load_language_model(kept_model(folder, step), device="cpu")
            for name, weight in kept.model.named_parameters():
                torch.testing.assert_close(weight, again.model.get_parameter(name))


def test_the_checkpoint_of_another_training_is_not_used(corpus, tmp_path, caplog):
    other = job(corpus, tmp_path, plan={"seed": 4, "steps": 4})
    losses(other)
    described = job(corpus, tmp_path, plan={"steps": 2})
    assert losses(described) == losses(job(corpus, tmp_path / "fresh", plan={"steps": 2}))
    assert "of other settings, data or code" in caplog.text
    # The examples held out are asked at the end, whatever step that is.
    assert "validation_loss" in log_of(described)[-1]
    # A training that kept no steps does not have the models of a later wish.
    again = job(corpus, tmp_path, plan={"steps": 2}, means={"keep_checkpoints": [1]})
    assert losses(again) == losses(described)
    assert (kept_model(tmp_path / "work", 1) / "model.safetensors").is_file()


def test_half_precision_follows_full_precision(corpus, uninterrupted, tmp_path):
    formats: list[torch.dtype] = []
    training = trainer(corpus, tmp_path / "by_hand", plan={"precision": "bfloat16"})
    product = training.model.gpt_neox.layers[0].mlp.dense_h_to_4h
    product.register_forward_hook(lambda module, given, made: formats.append(made.dtype))
    training.step(1)
    assert set(formats) == {torch.bfloat16}
    found = losses(job(corpus, tmp_path, plan={"precision": "bfloat16"}))
    np.testing.assert_allclose(found, uninterrupted[1], rtol=0.05)
    assert found != uninterrupted[1]


def test_too_few_examples_are_refused_unless_repeated(corpus, tmp_path):
    """90 examples are 10 batches of 9: the eleventh would need some of them again."""
    once = {"repeat_examples": False}
    trainer(corpus, tmp_path, plan={"batch_size": 9, "steps": 10}, means=once)
    with pytest.raises(LingprobError, match=r"11 steps of 9 examples are 1\.10 epochs of the 90"):
        trainer(corpus, tmp_path, plan={"batch_size": 9, "steps": 11}, means=once)
    trainer(corpus, tmp_path, plan={"batch_size": 9, "steps": 11})
    with pytest.raises(LingprobError, match=r"91 examples .* the 90 of 13 tokens besides 10"):
        trainer(corpus, tmp_path, plan={"batch_size": 91})


class Payload:
    """Writes a file where an unrestricted reader of pickles meets it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return exec, (f"open({str(self.path)!r}, 'w')",)


@pytest.mark.parametrize("damage", ["cut", "emptied", "a list", "hostile"])
def test_a_damaged_checkpoint_is_left_out(corpus, tmp_path, caplog, damage):
    described = job(corpus, tmp_path, plan={"steps": 5})
    whole = losses(described)
    path = Path(described["folder"]) / "checkpoint.pt"
    path.write_bytes({"cut": path.read_bytes()[:1000]}.get(damage, b""))
    if damage == "a list":
        torch.save([1, 2], path)
    if damage == "hostile":
        torch.save({"identity": Payload(tmp_path / "run")}, path)
    caplog.clear()
    assert losses(described) == whole
    assert f"{path}: damaged" in caplog.text
    assert not (tmp_path / "run").exists()


SAVE_UNTIL_FULL = """
import os, sys
from pathlib import Path
sys.path[:0] = [sys.argv[2], TESTS]
import torch
from lingprob.errors import LingprobError
from training_for_tests import save_corpus, trainer
disk = Path(sys.argv[1])
training = trainer(save_corpus(disk.parent / "corpus"), disk)
training.step(1)
training.save(1)
(disk / "filler").write_bytes(b"x" * 700_000)
try:
    training.save(2)
except LingprobError as error:
    print(error)
print(torch.load(disk / "checkpoint.pt", weights_only=True)["step"], sorted(os.listdir(disk)))
"""


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path):
    script = SAVE_UNTIL_FULL.replace("TESTS", repr(str(Path(__file__).parents[1])))
    message = on_small_disk(tmp_path, "size=1200k", script)
    assert "checkpoint.pt" in message
    assert "Free some" in message
    assert message.splitlines()[-1] == "1 ['checkpoint.pt', 'filler']"


def test_means_do_not_change_the_losses(corpus, uninterrupted, tmp_path):
    found = losses(job(corpus, tmp_path, means=means(micro_batch_size=8, checkpoint_steps=30)))
    np.testing.assert_allclose(found, uninterrupted[1], rtol=2e-4)


# Processes.


def test_two_processes_give_the_losses_of_one(corpus, uninterrupted, tmp_path):
    """torchrun with gloo. Gradients are averaged (DDP)."""
    described = job(corpus, tmp_path)
    np.testing.assert_allclose(losses(described, processes=2), uninterrupted[1], rtol=2e-4)
    logs = [log_of(one) for one in (described, uninterrupted[0])]
    norms = [[record["gradient_norm"] for record in log] for log in logs]
    np.testing.assert_allclose(*norms, rtol=2e-3)
    validation = [log[-1]["validation_loss"] for log in logs]
    assert validation[0] == pytest.approx(validation[1], rel=2e-4)


@pytest.mark.slow
def test_an_error_in_another_process_is_shown(corpus, tmp_path):
    described = job(corpus, tmp_path, plan={"batch_size": 7})
    with pytest.raises(LingprobError, match="7 examples cannot be shared equally by 2 processes"):
        losses(described, processes=2)


@pytest.mark.slow
def test_the_processes_of_a_killed_job_end(corpus, tmp_path):
    """The training is endless, and only its first process is killed."""
    described = job(corpus, tmp_path, plan={"steps": 100_000})
    kill_after(described, 2, processes=2, group=False)
    log = Path(described["folder"]) / "log.jsonl"
    deadline = time.monotonic() + 60
    size = -1
    while log.stat().st_size != size:
        assert time.monotonic() < deadline
        size = log.stat().st_size
        time.sleep(2)


def test_failed_trainings_name_the_remedy(corpus, tmp_path, monkeypatch):
    """In one process or several, whose earlier message is deleted."""
    described = job(corpus, tmp_path)
    monkeypatch.setattr(launch.Trainer, "train", Mock(side_effect=torch.OutOfMemoryError("full")))
    with pytest.raises(LingprobError, match=r"memory on cpu \(full\).*micro_batch_size \(3\)"):
        losses(described)
    monkeypatch.setattr(launch.Trainer, "train", Mock(side_effect=OSError(5, "broken")))
    with pytest.raises(LingprobError, match="work could not be written: broken"):
        losses(described)
    (tmp_path / "work/error.txt").write_text("an earlier message")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 3))
    with pytest.raises(LingprobError, match="torchrun ended with status 3"):
        losses(described, processes=2)


def test_other_processes_than_the_first_write_nothing(corpus, tmp_path, group_of_one):
    kept: list[Any] = []
    changes = {"plan": {"steps": 3}, "means": {"keep_checkpoints": [1], "checkpoint_steps": 1}}
    second = trainer(corpus, tmp_path / "two", World(1, 2, CPU), kept.append, **changes)
    second.train()
    assert os.listdir(tmp_path / "two") == []
    assert kept == []
    one = trainer(corpus, tmp_path / "one", keep=lambda *of: kept.append(of), **changes)
    assert one.train() is one.model
    assert kept == [(1, one.model)]


def test_processes_resume_from_their_checkpoint(corpus, tmp_path, group_of_one):
    """The first of two processes: its weights, and another training that resumes from them."""
    first, other = (trainer(corpus, tmp_path, World(0, 2, CPU)) for _ in range(2))
    assert isinstance(first.loss, DistributedDataParallel)
    for step in (1, 2):
        first.step(step)
    first.save(2)
    assert other.resume() == 2
    for step in (3, 4):
        assert other.step(step)["loss"] == first.step(step)["loss"]


def test_a_second_training_waits_for_the_first(tmp_path, caplog):
    """Another process has the lock for a second."""
    code = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(1);"
    code += "sys.stdout.flush(); time.sleep(1)"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "lock")], stdout=subprocess.PIPE
    )
    holder.stdout.readline()
    with launch.sole_user(tmp_path, wanted=False):
        assert holder.poll() is None
    with launch.sole_user(tmp_path, wanted=True):
        assert "another process trains there" in caplog.text
    assert holder.wait() == 0
