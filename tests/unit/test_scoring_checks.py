"""Faster ways to run a model are taken where they give its own numbers, and only there."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.scoring import forward
from lingprob.scoring.engine import Scorer
from models_for_tests import CONTEXT_WINDOW, VOCABULARY_SIZE, save_tiny_model

IDS = np.arange(3, 12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture
def llama(folder):
    return load_language_model(folder)


@pytest.fixture
def neox(tmp_path):
    return load_language_model(save_tiny_model("gpt_neox", tmp_path))


def alone(lm, ids, start_id):
    """ln p of each token after the start token, by one pass of the model as its authors call it."""
    fed = torch.tensor([[start_id, *ids]])
    with torch.no_grad():
        logprobs = lm.model(fed).logits[0, :-1].double().log_softmax(dim=1)
    return logprobs.gather(1, fed[0, 1:, None])[:, 0].numpy()


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-3), ("bfloat16", 0.15), ("float16", 0.02)]
)
def test_what_rounding_explains_is_not_held_against_a_model(folder, monkeypatch, dtype, tolerance):
    """Each check finds as much as the tolerance, and one of them then a little more."""
    found: list[float] = []
    monkeypatch.setattr(forward, "_mean_difference", lambda *_: found.pop(0))
    for padded, tree, start in ((1, 1, 1), (1.1, 1, 1), (1, 1.1, 1), (1, 1, 1.1)):
        scorer = Scorer(load_language_model(folder, dtype=dtype))
        found[:] = tolerance * padded, tolerance * tree, tolerance * start
        if padded > 1:
            with pytest.raises(LingprobError, match="not a causal model"):
                scorer.score([IDS], 0)
            continue
        scorer.score([IDS], 0)
        assert scorer.forward.takes_trees == (tree == 1)
        assert (scorer.forward.after_starts[0] is None) == (start > 1)


def test_a_model_that_sees_its_whole_window_takes_trees_whatever_its_entry_states(
    llama, monkeypatch
):
    for window, takes in ((CONTEXT_WINDOW, True), (CONTEXT_WINDOW - 1, False)):
        monkeypatch.setattr(llama.model.config, "sliding_window", window, raising=False)
        scorer = Scorer(llama)
        scorer.score([IDS], 0)
        assert scorer.forward.takes_trees == takes


@pytest.mark.parametrize("family", ["bloom", "falcon_alibi"])
def test_no_text_hides_that_a_model_takes_no_trees(tmp_path, family):
    """Of one repeated token all states are alike, whatever is seen; the other is of many."""
    lm = load_language_model(save_tiny_model(family, tmp_path))
    for ids in (np.full(12, 5), np.arange(3, 15)):
        scorer = Scorer(lm)
        scorer.score([ids], None)
        assert not scorer.forward.takes_trees


def test_the_last_tokens_of_the_vocabulary_are_tried_without_going_beyond(llama):
    ids = np.arange(VOCABULARY_SIZE - 9, VOCABULARY_SIZE)
    (scored,) = Scorer(llama).score([ids], VOCABULARY_SIZE - 1)
    np.testing.assert_allclose(scored, alone(llama, ids, VOCABULARY_SIZE - 1), atol=1e-5)


@pytest.mark.parametrize("misread", ["prefix", "row"])
def test_a_model_that_misreads_part_of_a_tree_s_mask_takes_no_trees(llama, misread):
    """It sees the whole prefix, or all that precedes in a row."""

    def change(_module, args, given):
        mask = given.get("attention_mask")
        if mask is not None and mask.dim() == 4:
            n = mask.shape[2]
            if misread == "prefix":
                mask[..., :-n] = 0
            else:
                mask[..., -n:] = torch.full((n, n), torch.finfo(mask.dtype).min).triu(1)
        return args, given

    handle = llama.model.base_model.register_forward_pre_hook(change, with_kwargs=True)
    try:
        scorer = Scorer(llama)
        (scored,) = scorer.score([IDS], 0)
    finally:
        handle.remove()
    assert not scorer.forward.takes_trees
    np.testing.assert_allclose(scored, alone(llama, IDS, 0), atol=1e-5)


@pytest.mark.parametrize("head", [None, torch.nn.Linear(32, VOCABULARY_SIZE, device="meta")])
def test_without_a_head_at_hand_the_whole_model_is_run(llama, monkeypatch, head):
    monkeypatch.setattr(llama.model, "get_output_embeddings", lambda: head)
    scorer = Scorer(llama)
    (scored,) = scorer.score([IDS], 0)
    assert scorer.forward.head is None
    np.testing.assert_allclose(scored, alone(llama, IDS, 0), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "taken"), [(torch.finfo(torch.float32).eps, True), (1e-3, False)]
)
def test_a_head_makes_the_logits_where_rounding_alone_is_between_them(neox, change, taken):
    """Every other logit is larger by so much of itself; logits are some ninety."""
    neox.model.get_output_embeddings().weight.data.mul_(100)

    def enlarge(_module, _args, output):
        output.logits[..., ::2] *= 1 + change

    handle = neox.model.register_forward_hook(enlarge)
    try:
        scorer = Scorer(neox)
        scorer.score([IDS], 0)
    finally:
        handle.remove()
    assert (scorer.forward.head is not None) == taken


def test_a_head_of_zeros_is_a_head_and_leaves_all_tokens_alike(neox):
    neox.model.get_output_embeddings().weight.data.zero_()
    scorer = Scorer(neox)
    (scored,) = scorer.score([IDS], 0)
    assert scorer.forward.head is not None
    np.testing.assert_allclose(scored, -np.log(VOCABULARY_SIZE), atol=1e-6)


@pytest.mark.parametrize(("dtype", "inner"), [("float32", "float64"), ("bfloat16", "bfloat16")])
def test_what_a_start_token_leaves_is_computed_in_float64_for_float32_alone(neox, dtype, inner):
    """And is then rounded: to the bit what a model of that type has there."""
    lm = load_language_model(neox.directory, dtype=dtype)
    scorer = Scorer(lm)
    scorer.score([IDS], 0)
    model = AutoModelForCausalLM.from_pretrained(neox.directory, dtype=getattr(torch, inner))
    with torch.no_grad():
        cache = model.base_model(torch.tensor([[0]]), use_cache=True).past_key_values
    left = scorer.forward.after_starts[0]
    for pair, layer in zip(left.states, cache.layers, strict=True):
        for found, expected in zip(pair, (layer.keys, layer.values), strict=True):
            assert torch.equal(found, expected.to(lm.dtype))


def test_the_probability_of_any_of_some_tokens_is_summed_over_the_whole_vocabulary(
    llama, monkeypatch
):
    """In pieces of fifty, with members at their ends and in none of some."""
    monkeypatch.setattr(forward, "LOGITS_AT_ONCE", {"cpu": (3, 50)})
    members = np.array([0, 49, 50, 99, 100, VOCABULARY_SIZE - 1])
    (scored,) = Scorer(llama).score([IDS], 0, members=members)
    with torch.no_grad():
        logits = llama.model(torch.tensor([[0, *IDS]])).logits[0, :-1].double()
    expected = logits.log_softmax(dim=1)[:, members].logsumexp(dim=1).numpy()
    np.testing.assert_allclose(scored[:, 0], alone(llama, IDS, 0), atol=1e-5)
    np.testing.assert_allclose(scored[:, 1], expected, atol=1e-5)
