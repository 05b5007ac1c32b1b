"""Fine-tuning batches by hand, steps against a plain loop, and perplexity against the obvious."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.models.prepare import write_manifest
from lingprob.training.fine_tuning import (
    FineTuning,
    fine_tune,
    fine_tuning_rows,
    passage_logprobs,
    perplexities,
)
from lingprob.training.launch import train
from lingprob.training.updates import accumulate
from training_for_tests import CONTEXT_WINDOW, job, save_corpus

PASSAGES = [np.arange(1, 6), np.arange(6, 9), np.arange(9, 21)]
TEXTS = [" ".join(f"w{n % 95 + 1}" for n in range(start, start + 29)) for start in (3, 40, 71)]


def test_a_batch_by_hand():
    """20 tokens and 2 separators make 5 rows of 4, with 2 tokens left, and no row of 23."""
    for step in (1, 2):
        order = np.random.default_rng([7, step]).permutation(3)
        joined = [token for number in order for token in [*PASSAGES[number], 0]]
        rows = fine_tuning_rows(PASSAGES, 0, 4, seed=7, step=step)
        assert rows.tolist() == np.reshape(joined[:20], (5, 4)).tolist()
    with pytest.raises(LingprobError, match=r"22 tokens together, fewer than one row of 23"):
        fine_tuning_rows(PASSAGES, 0, 23, seed=0, step=1)


def test_the_paper_s_tokens_make_its_batch():
    """158 passages of 165,486 tokens with separators between are 165,643, or 80 rows of 2,048."""
    lengths = np.full(158, 165_486 // 158)
    lengths[: 165_486 - lengths.sum()] += 1
    passages = [np.ones(n, dtype=int) for n in lengths]
    assert fine_tuning_rows(passages, 0, 165_643, seed=0, step=1).shape == (1, 165_643)
    assert fine_tuning_rows(passages, 0, 2048, seed=0, step=1).shape == (80, 2048)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    described = job(save_corpus(folder / "corpus"), folder)
    train(described, 1)
    return Path(described["directory"])


def how(**changes):
    settings = {"learning_rate": 1e-3, "seed": 5, "precision": "float32", "micro_batch_size": 2}
    return FineTuning(**{**settings, **changes})


def plain_fine_tuning(directory: Path, steps: int) -> list[float]:
    lm = load_language_model(directory)
    model = lm.model.requires_grad_(True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    passages = [np.array([int(word[1:]) for word in text.split()]) for text in TEXTS]
    found = []
    for step in range(1, steps + 1):
        rows = torch.from_numpy(fine_tuning_rows(passages, 0, CONTEXT_WINDOW, 5, step))
        loss = model(input_ids=rows, labels=rows).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def test_steps_are_those_of_a_plain_loop(trained, tmp_path):
    targets = {2: tmp_path / "two", 4: tmp_path / "four"}
    found = fine_tune(trained, TEXTS, targets, how(), "cpu")
    np.testing.assert_allclose(found, plain_fine_tuning(trained, 4), rtol=1e-4)
    models = [load_language_model(path).model for path in (trained, *targets.values())]
    first, two, four = (model.gpt_neox.embed_in.weight for model in models)
    assert not torch.equal(two, four)
    # The word w36 does not occur, so its row only decays, by 0.01 times the rate in each step.
    torch.testing.assert_close(four[36], first[36] * (1 - 1e-5) ** 4, rtol=2e-6, atol=0)


def test_batch_gradients_are_those_of_the_scaled_sum():
    """The loss is a weight times the sum of a part's tokens, 105 in all."""
    loss = torch.nn.Linear(1, 1, bias=False)
    loss.forward = lambda rows: 3 * loss.weight.sum() * rows.sum()
    parts, scaler = np.split(np.arange(15).reshape(5, 3), [2, 4]), torch.amp.GradScaler("cpu", 4.0)
    found = accumulate(loss, parts, 3, 0.1, scaler)
    assert found.item() == pytest.approx(3 * 105 * loss.weight.item())
    assert loss.weight.grad.item() == pytest.approx(4 * 3 * 105 / 10)


def test_an_infinite_loss_stops_and_keeps_saved_work(trained, tmp_path):
    targets = {1: tmp_path / "one", 6: tmp_path / "six"}
    with pytest.raises(LingprobError, match=r"loss of step \d is not finite"):
        fine_tune(trained, TEXTS, targets, how(learning_rate=1e30), "cpu")
    assert (targets[1] / "model.safetensors").exists()
    assert not targets[6].exists()


def test_fine_tuning_lowers_perplexity_as_defined(trained, tmp_path):
    fine_tune(trained, TEXTS, {20: tmp_path / "tuned"}, how(learning_rate=3e-3), "cpu")
    models = {}
    for name, directory, steps in (("plain", trained, 0), ("a", tmp_path / "tuned", 20)):
        manifest = tmp_path / f"{name}.json"
        write_manifest(name, "trained", "test", directory, manifest)
        models[name] = manifest, {"size": "s", "parameters": 1, "fine_tuning_steps": steps}
    corpora = {"first": TEXTS[:1], "a": TEXTS[1:]}
    table = perplexities(passage_logprobs(models, corpora, device="cpu", scale="demo"))
    found = table.set_index(["model", "corpus"])["perplexity"]
    assert found["a", "all"] < 0.8 * found["plain", "all"]
    expected = [["first", 29], ["a", 58], ["all", 87]] * 2
    assert table[["corpus", "n_tokens"]].to_numpy().tolist() == expected
    logs = [math.log(found["plain", corpus]) for corpus in corpora]
    assert math.log(found["plain", "all"]) == pytest.approx((29 * logs[0] + 58 * logs[1]) / 87)
    # Of one corpus there is no other row than its own.
    passages = passage_logprobs(models, {"first": TEXTS[:1]}, device="cpu", scale="demo")
    alone = perplexities(passages)
    assert alone["model"].tolist() == ["plain", "a"]
    assert alone["perplexity"].tolist() == found.xs("first", level="corpus").tolist()
    assert found["plain", "first"] == pytest.approx(math.exp(obvious(trained, TEXTS[0])), rel=1e-4)


def obvious(directory: Path, text: str) -> float:
    """Mean -ln p after <|endoftext|>: windows of 12 tokens, each new half after the one before."""
    lm = load_language_model(directory)
    ids = torch.tensor([0, *(int(word[1:]) for word in text.split())])
    total = 0.0
    for place in range(1, len(ids)):
        # The window that scores a token starts at a multiple of 6 and has at most 12 tokens.
        start = max(0, math.ceil((place - 11) / 6) * 6)
        logits = lm.model(ids[None, start:place]).logits[0, -1].double()
        total -= torch.log_softmax(logits, dim=0)[ids[place]].item()
    return total / (len(ids) - 1)


def test_a_step_on_fewer_rows_uses_its_shuffle(trained, tmp_path):
    passages = [np.arange(10 * n, 10 * n + 7) for n in range(6)]
    for step in (1, 2):
        whole = fine_tuning_rows(passages, 99, 5, 0, step)
        assert (fine_tuning_rows(passages, 99, 5, 0, step, 2) == whole[:2]).all()
        assert (fine_tuning_rows(passages, 99, 5, 0, step, 100) == whole).all()
    few, every = (
        fine_tune(trained, TEXTS, {2: tmp_path / str(rows)}, how(rows=rows), "cpu")
        for rows in (1, None)
    )
    assert few != every
