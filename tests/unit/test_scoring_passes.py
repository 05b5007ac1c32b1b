"""Passes of a model: no token is run twice, and no pass is larger than the batch."""

import numpy as np
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel, load_language_model
from lingprob.scoring import continuations, engine, forward
from lingprob.scoring.continuations import score_along
from lingprob.scoring.engine import Scorer
from lingprob.scoring.trees import Branch, Row, batches, pack
from models_for_tests import (
    VOCABULARY_SIZE,
    memory_for,
    no_memory,
    passes,
    plain_logprobs,
    save_tiny_model,
)


def alone(lm: LanguageModel, ids: list[int] | np.ndarray, start_id: int | None) -> np.ndarray:
    """ln p of each token by one pass of the model as its authors call it."""
    return plain_logprobs(lm.model, ids, start_id)


# Four texts of 50 tokens, no two of which begin alike: 49 are run of each after a start token.
APART = [np.arange(3 + 60 * k, 53 + 60 * k) for k in range(4)]


@pytest.mark.parametrize(
    ("row_length", "shape"), [(128, (2, 98)), (98, (2, 98)), (97, (4, 49)), (1, (4, 49)),
                              (0, (1, 196))]
)  # fmt: skip
def test_rows_are_filled_up_to_the_budget(llama, monkeypatch, row_length, shape):
    """The prefix is a start token: longer than rows of no token."""
    scorer = Scorer(llama, tokens_per_batch=400)
    scorer.score(APART, 0)
    monkeypatch.setitem(engine.TOKENS_PER_ROW, "cpu", row_length)
    with passes(llama.model.base_model) as fed:
        scorer.score(APART, 0)
    assert [ids.shape for ids in fed] == [shape]


@pytest.mark.parametrize(
    ("memory", "budget", "error"),
    [(150, 98, no_memory), (60, 49, lambda: torch.empty(2**55, dtype=torch.uint8))],
)
def test_the_budget_halves_after_memory_ran_out(llama, memory, budget, error, caplog):
    """196 tokens of four texts, then 98 of two."""
    scorer = Scorer(llama, tokens_per_batch=400)
    expected = scorer.score(APART, 0)
    with memory_for(llama, memory, error):
        scored = scorer.score(APART, 0)
    assert scorer.tokens_per_batch == budget
    assert "out of memory" in caplog.text
    np.testing.assert_allclose(np.concatenate(scored), np.concatenate(expected), atol=1e-5)


def test_a_budget_is_halved_down_to_one_token(llama):
    scorer = Scorer(llama, tokens_per_batch=9)
    for tokens, left in ((7, 3), (2, 1)):
        scorer.shrink(tokens)
        assert scorer.tokens_per_batch == left
    for given in ((1,), (7, True)):
        with pytest.raises(LingprobError, match=f"one sequence of {given[0]} tokens"):
            scorer.shrink(*given)


def test_rows_and_batches_are_filled():
    apart = [Branch(np.array([1, 2, 3]), 1), Branch(np.array([4, 5, 6]), 1)]
    alike = [Branch(np.array([1, 2, 3]), 1), Branch(np.array([1, 2, 4]), 1)]
    assert [len(pack(apart, length)) for length in (3, 4)] == [2, 1]
    assert [len(pack(alike, length)) for length in (1, 2)] == [2, 1]
    long_last = [Branch(np.array([1, 2]), 1), Branch(np.arange(4, 9), 1)]
    assert [len(row.ids) for row in pack(long_last, 4)] == [4, 1]
    rows = [Row(ids=[0] * length) for length in (4, 4, 3, 2)]
    found = [[len(row.ids) for row in batch] for batch in batches(rows, 8)]
    assert found == [[4, 4], [3, 2]]
    assert [len(batch) for batch in batches(rows, 3)] == [1, 1, 1, 1]


def test_probes_begin_the_longest_and_shortest_text(llama, monkeypatch):
    """Nine tokens of one, half as many of the other, and two at least; once for two scorers."""
    scorer, seen = Scorer(llama), []
    monkeypatch.setattr(scorer.forward, "prepare", seen.append)
    long, short = np.arange(3, 30), np.arange(40, 60)
    scorer.prepare([short, np.array([7]), long], None)
    scorer.prepare([long[:4], short[:3]], None)
    scorer.prepare([np.array([5, 6])], None)
    assert scorer.prepare([np.array([7])], None) is None
    assert [[ids.tolist() for ids in probes] for probes in seen] == [
        [long[:9].tolist(), short[:4].tolist()],
        [long[:4].tolist(), short[:2].tolist()],
        [[5, 6], [5, 6]],
    ]
    assert Scorer(llama, forward=scorer.forward).forward is scorer.forward


def test_states_are_kept_once_a_text_tries_them(llama):
    scorer = Scorer(llama)
    for ids, kept in (([], []), ([5], []), ([5, 6], [0])):
        (scored,) = scorer.score([np.array(ids, dtype=int)], 0)
        np.testing.assert_allclose(scored, alone(llama, ids, 0), atol=1e-5)
        assert scored.dtype == np.float32
        assert [*scorer.forward.after_starts] == kept


ONE_ROW = VOCABULARY_SIZE * 9  # logits


@pytest.mark.parametrize(
    ("family", "logits", "shapes"),
    [
        ("gemma2", 1, [(1, 9)] * 5),
        ("gemma2", 2 * ONE_ROW - 1, [(1, 9)] * 5),
        ("gemma2", 2 * ONE_ROW, [(2, 9), (2, 9), (1, 9)]),
        ("llama", 1, [(5, 9)]),
    ],
)
def test_without_a_head_few_rows_run_together(tmp_path, monkeypatch, family, logits, shapes):
    lm = load_language_model(save_tiny_model(family, tmp_path))
    texts = [np.arange(3 + 20 * k, 13 + 20 * k) for k in range(5)]
    scorer = Scorer(lm)
    scorer.score(texts, 0)
    monkeypatch.setitem(forward.LOGITS_PER_PASS, "cpu", logits)
    monkeypatch.setitem(engine.TOKENS_PER_ROW, "cpu", 1)
    with passes(lm.model.base_model) as fed:
        scored = scorer.score(texts, 0)
    assert [ids.shape for ids in fed] == shapes
    for ids, values in zip(texts, scored, strict=True):
        np.testing.assert_allclose(values, alone(lm, ids, 0), atol=1e-5)


CHAIN = np.arange(10, 22)
# (tokens that a text has in common with the chain, the first that is wanted); three of its own
# follow, and nothing after the last two.
LEAVES = [(0, 0), (3, 1), (4, 5), (5, 5), (6, 6), (8, 0), (10, 11), (12, 9)]
ALONG = [np.array([*CHAIN[:at], 100 + at, 200 + at, 50]) for at, _ in LEAVES]
ALONG += [CHAIN[:6], CHAIN[:9]]
FIRST = [*(first for _, first in LEAVES), 5, 8]


@pytest.mark.parametrize("start_id", [None, 0])
@pytest.mark.parametrize(
    ("piece", "budget", "n_passes"),
    [
        (256, 512, 2),  # a text that leaves at once has its own pass
        (5, 512, 4),
        (256, 26, 2),  # 12 tokens of the chain and two of each of seven texts
        (256, 25, 3),
        (256, 4, None),
        (3, 1, None),
    ],
)
def test_a_chain_and_its_branches_are_run_once(
    llama, monkeypatch, start_id, piece, budget, n_passes
):
    scorer, asked = Scorer(llama, tokens_per_batch=budget), []
    score_along(scorer, CHAIN, ALONG, FIRST, start_id)
    monkeypatch.setitem(continuations.TOKENS_PER_PIECE, "cpu", piece)
    plain = scorer.forward._logprobs_at

    def recorded(outputs, wanted, targets, members=None):
        asked.append(len(targets))
        return plain(outputs, wanted, targets, members)

    monkeypatch.setattr(scorer.forward, "_logprobs_at", recorded)
    with passes(llama.model.base_model) as fed:
        found = score_along(scorer, CHAIN, ALONG, FIRST, start_id)
    check_along(llama, ALONG, FIRST, found, start_id)
    run = [int((ids > 0).sum()) for ids in fed]  # the rest fills rows up
    assert sum(run) == len(CHAIN) + 2 * len(LEAVES)
    assert max(run) <= max(budget, 2)  # of a text's own, both lie in one row
    assert n_passes is None or len(fed) == n_passes
    # Two texts' first tokens follow nothing or the start token, and need no further pass.
    assert sum(asked) == sum(len(values) for values in found) - 2


def check_along(lm, texts, first, found, start_id=0):
    for ids, begin, values in zip(texts, first, found, strict=True):
        np.testing.assert_allclose(values, alone(lm, ids, start_id)[begin:], atol=1e-5)


def test_short_texts_lie_along_a_chain(llama):
    texts = [np.array(ids, int) for ids in ([], [5], [5, 6, 7])]
    check_along(llama, texts, [0] * 3, score_along(Scorer(llama), CHAIN, texts, [0] * 3, 0))


@pytest.mark.parametrize("memory", [20, 6])
def test_a_chain_goes_on_in_smaller_pieces(llama, memory):
    scorer = Scorer(llama)
    score_along(scorer, CHAIN, ALONG, FIRST, 0)
    with memory_for(llama, memory), passes(llama.model.base_model) as fed:
        found = score_along(scorer, CHAIN, ALONG, FIRST, 0)
    assert 1 <= scorer.tokens_per_batch <= memory
    assert len(fed) > 2
    check_along(llama, ALONG, FIRST, found)


def test_another_error_ends_a_chain(llama):
    scorer = Scorer(llama)
    score_along(scorer, CHAIN, ALONG, FIRST, 0)

    def fail(*_):
        raise RuntimeError("shapes do not match")

    with memory_for(llama, 0, fail), pytest.raises(RuntimeError, match="do not match"):
        score_along(scorer, CHAIN, ALONG[2:], FIRST[2:], 0)


def test_without_trees_each_text_is_read_alone(tmp_path):
    lm = load_language_model(save_tiny_model("gemma2", tmp_path))
    scorer, texts, start_id = Scorer(lm), [CHAIN[:6], CHAIN[:9]], 1
    score_along(scorer, CHAIN, texts, [3, 3], start_id)
    with passes(lm.model.base_model) as fed:
        found = score_along(scorer, CHAIN, texts, [3, 3], start_id)
    assert [ids.tolist() for ids in fed] == [[CHAIN[:8].tolist(), [*CHAIN[:5], 0, 0, 0]]]
    check_along(lm, texts, [3, 3], found, start_id)
