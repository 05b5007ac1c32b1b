"""The engine against one sentence at a time, in float64, with a full softmax."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.scoring import forward
from lingprob.scoring.engine import Scorer
from models_for_tests import (
    CONFIGS,
    CONTEXT_WINDOW,
    SENTENCES,
    VOCABULARY_SIZE,
    float64_model,
    memory_for,
    passes,
    plain_logprobs,
    save_tiny_model,
)
from without_float64 import without_float64


@pytest.fixture(scope="module", params=CONFIGS)
def family(request, tmp_path_factory):
    return request.param, save_tiny_model(request.param, tmp_path_factory.mktemp(request.param))


IDS = np.arange(3, 12)


def slow_logprobs(directory, ids, start_id=0):
    """Feed the start token and all others, one sentence at a time, in float64."""
    return plain_logprobs(float64_model(directory), ids, start_id)


def exact_scorer(lm):
    """Return a scorer that scored IDS after a start token, exactly."""
    scorer = Scorer(lm)
    (logprobs,) = scorer.score([IDS], 0)
    np.testing.assert_allclose(logprobs, slow_logprobs(lm.directory, IDS), atol=1e-5)
    return scorer


@pytest.mark.parametrize("start_id", [None, 0])
def test_every_family_equals_the_float64_reference(family, start_id):
    """On devices with float64 and without it."""
    _, directory = family
    language_model = load_language_model(directory)
    sequences = [tokens.ids for tokens in language_model.tokenize(SENTENCES)]
    scored = Scorer(language_model, 50).score(sequences, start_id)
    with without_float64():
        narrow = Scorer(language_model, 50).score(sequences, start_id)
    expected = np.concatenate([slow_logprobs(directory, ids, start_id) for ids in sequences])
    np.testing.assert_allclose(np.concatenate(scored), expected, atol=1e-5)
    np.testing.assert_allclose(np.concatenate(narrow), expected, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_head_is_used_if_it_makes_logits(family, dtype, caplog):
    name, directory = family
    scorer = Scorer(load_language_model(directory, dtype=dtype))
    with caplog.at_level(logging.INFO):
        scorer.score([IDS], 0)
    whole = name == "gemma2"  # soft-capped logits
    assert (scorer.forward.head is None) == ("whole model is run" in caplog.text) == whole
    assert "start token is run" not in caplog.text


def test_the_start_token_is_run_once(family):
    _, directory = family
    language_model = load_language_model(directory)
    before = {name: weight.clone() for name, weight in language_model.model.named_parameters()}
    scorer = Scorer(language_model)
    scorer.score([IDS], 0)
    with passes(language_model.model.base_model) as fed:
        (scored,) = scorer.score([np.arange(20, 29)], 0)
    assert [ids.tolist() for ids in fed] == [[list(range(20, 28))]]
    expected = slow_logprobs(directory, np.arange(20, 29), 0)
    np.testing.assert_allclose(scored, expected, atol=1e-5)
    for name, weight in language_model.model.named_parameters():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, before[name])


def test_what_is_checked_takes_few_passes(llama):
    """Plain ones of two probes, the body alone, padded batches of probes and of trees' texts, a
    trunk and its trees. Then the start token, and probes with it and after it."""
    with passes(llama.model.base_model) as fed:
        scorer = Scorer(llama)
        scorer.prepare([np.array([0, 5, 6, 7, 8]), np.array([0, 9, 4])], 0)
        assert len(fed) == 7 + 3
        scorer.prepare([np.array([0, 5, 6, 7, 8, 9]), np.array([0, 9])], 0)
    assert len(fed) == 10


def test_states_of_a_start_token_are_checked(llama, monkeypatch, caplog):
    scorer, ids = Scorer(llama), IDS
    read = scorer.forward._read_start

    def damaged(start_id):
        left = read(start_id)
        return replace(left, states=[(keys, 2 * values) for keys, values in left.states])

    monkeypatch.setattr(scorer.forward, "_read_start", damaged)
    with caplog.at_level(logging.INFO):
        (scored,) = scorer.score([ids], 0)
    np.testing.assert_allclose(scored, slow_logprobs(llama.directory, ids, 0), atol=1e-5)
    assert scorer.forward.after_starts == {0: None}
    assert "the start token is run with every sentence" in caplog.text


def test_a_long_sequence_is_scored_in_windows(llama):
    ids = np.random.default_rng(0).integers(3, 300, size=3 * CONTEXT_WINDOW)
    scored = Scorer(llama, 40).score([ids], None, window=16, stride=4)[0]
    expected = np.full(len(ids), np.nan)
    for i in range(1, len(ids)):
        # The first window ends at 16. Later ones end 4 further on, and begin 16 before that.
        end = 16 if i < 16 else 20 + 4 * ((i - 16) // 4)
        start = end - 16
        expected[i] = slow_logprobs(llama.directory, ids[start : i + 1], None)[-1]
    np.testing.assert_allclose(scored, expected, atol=1e-5)


def test_the_context_token_counts_in_the_first_window(llama):
    ids = np.random.default_rng(1).integers(3, 300, size=CONTEXT_WINDOW + 10)
    scored = Scorer(llama).score([ids], 0)[0]
    first = CONTEXT_WINDOW - 1  # tokens without the start token
    expected = slow_logprobs(llama.directory, ids[:first], 0)
    np.testing.assert_allclose(scored[:first], expected, atol=1e-5)
    second = slow_logprobs(llama.directory, ids[CONTEXT_WINDOW // 2 - 1 :], None)
    np.testing.assert_allclose(scored[first:], second[CONTEXT_WINDOW // 2 :], atol=1e-5)


def test_few_logits_are_held_at_a_time(llama, monkeypatch):
    sequences = [tokens.ids for tokens in llama.tokenize(SENTENCES)]
    expected = Scorer(llama).score(sequences, 0)
    scorer = Scorer(llama, tokens_per_batch=400)
    scorer.score(sequences[:2], 0)
    monkeypatch.setattr(forward, "LOGITS_AT_ONCE", {"cpu": (3, 50)})
    shapes, plain = [], torch.Tensor.amax

    def amax(logits, **options):
        shapes.append(tuple(logits.shape))
        return plain(logits, **options)

    monkeypatch.setattr(torch.Tensor, "amax", amax)
    scored = scorer.score(sequences, 0)
    np.testing.assert_allclose(np.concatenate(scored), np.concatenate(expected), atol=1e-5)
    # 320 entries of the vocabulary in pieces of 50, for three positions at a time.
    assert {shape for shape in shapes if shape[0] == 3} == {(3, 50), (3, 20)}
    assert len(shapes) > 7 * 20


@pytest.mark.parametrize("family", [*CONFIGS, "falcon_alibi", "bloom"])
def test_models_without_trees_are_as_exact(family, tmp_path, caplog):
    lm = load_language_model(save_tiny_model(family, tmp_path))
    takes_trees = family not in ("gemma2", "falcon_alibi", "bloom")
    with caplog.at_level(logging.INFO):
        scorer = exact_scorer(lm)
    alike = Scorer(lm)
    alike.score([np.full(12, 5)], None)  # all states of this text are alike
    assert scorer.forward.takes_trees == alike.forward.takes_trees == takes_trees
    assert ("one by one" in caplog.text) != takes_trees
    sequences = [tokens.ids for tokens in lm.tokenize(SENTENCES)]
    for ids, logprobs in zip(sequences, scorer.score(sequences, 0), strict=True):
        np.testing.assert_allclose(logprobs, slow_logprobs(lm.directory, ids), atol=1e-5)


def test_a_sequence_that_exceeds_memory_is_refused(llama):
    said = r"out of memory.*50 tokens.*context_window"
    with memory_for(llama, 40), pytest.raises(LingprobError, match=said):
        Scorer(llama).score([np.arange(3, 54)], 0)


def test_another_error_is_no_lack_of_memory(llama):
    with pytest.raises((IndexError, RuntimeError), match=r"out of (range|bounds)"):
        Scorer(llama).score([np.arange(5), np.array([3, 100_000, 4])], 0)


def test_a_model_that_sees_the_padding_is_refused(llama):
    def look_ahead(_module, _args, states):
        return states + states.mean(dim=1, keepdim=True)

    with (
        llama.model.base_model.layers[0].register_forward_hook(look_ahead),
        pytest.raises(LingprobError, match="not a causal model"),
    ):
        Scorer(llama).score([np.arange(3, 30), np.arange(3, 9)], 0)


def test_damaged_weights_are_an_error(tmp_path):
    language_model = load_language_model(save_tiny_model("llama", tmp_path))
    scorer = Scorer(language_model)
    scorer.score([np.arange(3, 9)], 0)
    scorer.forward.head[0][7] = torch.nan
    with pytest.raises(LingprobError, match="not finite"):
        scorer.score([np.arange(3, 9)], 0)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-3), ("bfloat16", 0.15), ("float16", 0.02)]
)
def test_checks_allow_for_rounding(llama, monkeypatch, dtype, tolerance):
    """Each check finds as much as the tolerance, and one of them then a little more."""
    found: list[float] = []
    monkeypatch.setattr(forward, "_mean_difference", lambda *_: found.pop(0))
    for padded, tree, start in ((1, 1, 1), (1.1, 1, 1), (1, 1.1, 1), (1, 1, 1.1)):
        scorer = Scorer(load_language_model(llama.directory, dtype=dtype))
        found[:] = tolerance * padded, tolerance * tree, tolerance * start
        if padded > 1:
            with pytest.raises(LingprobError, match="not a causal model"):
                scorer.score([IDS], 0)
            continue
        scorer.score([IDS], 0)
        assert scorer.forward.takes_trees == (tree == 1)
        assert (scorer.forward.after_starts[0] is None) == (start > 1)


def test_a_sliding_window_as_wide_takes_trees(llama, monkeypatch):
    for name in ("sliding_window", "attention_window", "window_size", "attention_chunk_size"):
        for window, takes in ((CONTEXT_WINDOW, True), (CONTEXT_WINDOW - 1, False)):
            monkeypatch.setattr(llama.model.config, name, window, raising=False)
            assert exact_scorer(llama).forward.takes_trees == takes
        monkeypatch.setattr(llama.model.config, name, 4 * CONTEXT_WINDOW)


def test_the_last_tokens_of_the_vocabulary_are_probes(llama):
    ids, last = np.arange(VOCABULARY_SIZE - 9, VOCABULARY_SIZE), VOCABULARY_SIZE - 1
    (logprobs,) = Scorer(llama).score([ids], last)
    np.testing.assert_allclose(logprobs, slow_logprobs(llama.directory, ids, last), atol=1e-5)


@pytest.mark.parametrize("misread", ["prefix", "row"])
def test_a_misread_tree_mask_is_noticed(llama, misread):
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

    with llama.model.base_model.register_forward_pre_hook(change, with_kwargs=True):
        assert not exact_scorer(llama).forward.takes_trees


@pytest.mark.parametrize("head", [None, torch.nn.Linear(32, VOCABULARY_SIZE, device="meta")])
def test_without_a_head_the_whole_model_runs(llama, monkeypatch, head):
    monkeypatch.setattr(llama.model, "get_output_embeddings", lambda: head)
    assert exact_scorer(llama).forward.head is None


@pytest.mark.parametrize(
    ("change", "taken"), [(torch.finfo(torch.float32).eps, True), (1e-3, False)]
)
def test_a_head_makes_logits_up_to_rounding(tmp_path, change, taken):
    """Every other logit is larger by a given share of itself. Logits are about ninety."""
    neox = load_language_model(save_tiny_model("gpt_neox", tmp_path))
    neox.model.get_output_embeddings().weight.data.mul_(100)

    def enlarge(_module, _args, output):
        output.logits[..., ::2] *= 1 + change

    with neox.model.register_forward_hook(enlarge):
        scorer = Scorer(neox)
        scorer.score([IDS], 0)
    assert (scorer.forward.head is not None) == taken


@pytest.mark.parametrize(("dtype", "inner"), [("float32", "float64"), ("bfloat16", "bfloat16")])
def test_states_of_a_start_token_are_in_float64(llama, dtype, inner):
    """It is then rounded, and equals to the bit the value of a model of that type."""
    lm = load_language_model(llama.directory, dtype=dtype)
    scorer = Scorer(lm)
    scorer.score([IDS], 0)
    model = AutoModelForCausalLM.from_pretrained(llama.directory, dtype=getattr(torch, inner))
    with torch.no_grad():
        cache = model.base_model(torch.tensor([[0]]), use_cache=True).past_key_values
    left = scorer.forward.after_starts[0]
    for pair, layer in zip(left.states, cache.layers, strict=True):
        for found, expected in zip(pair, (layer.keys, layer.values), strict=True):
            assert torch.equal(found, expected.to(lm.dtype))


def test_members_are_summed_over_the_whole_vocabulary(llama, monkeypatch):
    """In pieces of fifty, with members at their ends and in none of some."""
    monkeypatch.setattr(forward, "LOGITS_AT_ONCE", {"cpu": (3, 50)})
    members = np.array([0, 49, 50, 99, 100, VOCABULARY_SIZE - 1])
    (scored,) = Scorer(llama).score([IDS], 0, members=members)
    with torch.no_grad():
        logits = llama.model(torch.tensor([[0, *IDS]])).logits[0, :-1].double()
    expected = logits.log_softmax(dim=1)[:, members].logsumexp(dim=1).numpy()
    np.testing.assert_allclose(scored[:, 0], slow_logprobs(llama.directory, IDS, 0), atol=1e-5)
    np.testing.assert_allclose(scored[:, 1], expected, atol=1e-5)
