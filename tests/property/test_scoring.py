"""Windows cover each token once, and scores do not depend on batch size, order or duplicates."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.scoring import engine
from lingprob.scoring.engine import Scorer, sliding_windows
from lingprob.scoring.trees import Branch, pack, visible
from models_for_tests import passes, plain_logprobs, save_tiny_model

ids = st.lists(st.integers(3, 319), min_size=0, max_size=90).map(np.array)


@pytest.fixture(scope="module")
def language_models():
    with tempfile.TemporaryDirectory() as directory:
        yield [
            load_language_model(save_tiny_model(family, Path(directory) / family))
            for family in ("gpt_neox", "opt_projected", "llama", "gpt2")
        ]


@given(n_tokens=st.integers(0, 500), window=st.integers(2, 60), data=st.data())
def test_each_token_is_scored_once_with_its_context(n_tokens, window, data):
    stride = data.draw(st.one_of(st.none(), st.integers(1, window - 1)))
    windows = sliding_windows(n_tokens, window, stride)
    stride = window // 2 if stride is None else stride
    scored = [i for _, end, score_from in windows for i in range(score_from, end)]
    assert scored == list(range(n_tokens))
    for start, end, score_from in windows:
        assert 0 <= start <= score_from < end <= start + window
        if start > 0:
            assert score_from - start >= window - stride
    assert [start for start, _, _ in windows] == [i * stride for i in range(len(windows))]


@pytest.mark.parametrize(("window", "stride"), [(1, None), (8, 0), (8, 8), (8, -1)])
def test_windows_that_would_skip_tokens_are_refused(window, stride):
    with pytest.raises(LingprobError, match="that advance by"):
        sliding_windows(20, window, stride)


@settings(max_examples=20, deadline=None)
@given(
    sequences=st.lists(ids, min_size=1, max_size=12),
    budgets=st.tuples(st.integers(1, 200), st.integers(1, 2000)),
    start_id=st.sampled_from([None, 0]),
    which=st.integers(0, 2),
    data=st.data(),
)
def test_batch_size_order_and_duplicates_change_nothing(
    language_models, sequences, budgets, start_id, which, data
):
    language_model = language_models[which]
    expected = Scorer(language_model, budgets[0]).score(sequences, start_id)
    places = st.integers(0, len(sequences) - 1)
    order = data.draw(st.permutations(range(len(sequences)))) + data.draw(st.lists(places))
    shuffled = [sequences[i] for i in order]
    scored = Scorer(language_model, budgets[1]).score(shuffled, start_id)
    for i, logprobs in zip(order, scored, strict=True):
        assert len(logprobs) == len(sequences[i])
        np.testing.assert_allclose(logprobs, expected[i], atol=1e-5)


def test_duplicates_are_scored_once(language_models):
    language_model = language_models[0]
    scorer = Scorer(language_model, tokens_per_batch=10_000)
    scorer.score([np.array([5, 6, 7])], 0)
    with passes(language_model.model.base_model) as fed:
        scorer.score([np.array([5, 6, 7])] * 10 + [np.array([5, 6, 8, 9])] * 2, 0)
    assert [ids.shape for ids in fed] == [(1, 3)]  # 5, 6 and 8: no last token is run, and 5, 6 once


# Few distinct tokens, so that sequences begin alike.
alike = st.lists(st.integers(3, 5), min_size=1, max_size=12).map(np.array)


@settings(max_examples=20, deadline=None)
@given(
    sequences=st.lists(alike, min_size=1, max_size=12),
    row_length=st.integers(1, 40),
    start_id=st.sampled_from([None, 0]),
    which=st.integers(0, 3),
)
def test_trees_score_as_sequences_one_by_one(
    language_models, sequences, row_length, start_id, which
):
    language_model = language_models[which]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(engine.TOKENS_PER_ROW, "cpu", row_length)
        scored = Scorer(language_model).score(sequences, start_id)
    for ids, logprobs in zip(sequences, scored, strict=True):
        expected = plain_logprobs(language_model.model, ids, start_id)
        np.testing.assert_allclose(logprobs, expected, atol=1e-5)


@given(
    sequences=st.lists(st.tuples(alike, st.integers(0, 2)), min_size=1, max_size=15),
    row_length=st.integers(1, 40),
    merge=st.booleans(),
)
def test_rows_have_every_branch_and_share_common_beginnings(sequences, row_length, merge):
    branches = [Branch(np.array([7, *ids]), 1, start) for ids, start in sequences]
    rows = pack(branches, row_length, merge)
    assert sorted(number for row in rows for number in row.branches) == list(range(len(branches)))
    for row in rows:
        if len(row.ids) > row_length:  # one long branch, and texts that add nothing to it
            assert len(row.ids) == max(len(branches[number].ids) - 1 for number in row.branches)
        sees = visible(row, 2)
        read = 0
        for number, wanted in zip(row.branches, row.wanted, strict=True):
            branch = branches[number]
            nodes = row.nodes[read : read + wanted]
            read += wanted
            assert row.targets[read - wanted : read] == branch.ids[1:].tolist()
            assert [row.ids[node] for node in nodes] == branch.ids[:-1].tolist()
            for depth, node in enumerate(nodes):
                assert row.positions[node] == branch.start + depth
                assert np.flatnonzero(sees[node]).tolist() == [
                    *range(branch.start), *(2 + seen for seen in nodes[: depth + 1])
                ]  # fmt: skip
    if merge and sum(len(branch.ids) for branch in branches) <= row_length:
        (row,) = rows
        distinct = {
            (branch.start, *branch.ids[:end])
            for branch in branches
            for end in range(1, len(branch.ids))
        }
        assert len(row.ids) == len(distinct)
