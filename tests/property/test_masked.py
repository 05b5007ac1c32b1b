"""Pseudo-log-likelihoods in batches against a pass and a token at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.models.masked import MaskedLanguageModel, load_masked_model
from lingprob.scoring.stimuli import CORRECTIONS, pseudo_logprobs
from models_for_tests import passes, save_tiny_masked_model


@pytest.fixture(scope="module")
def lm(tmp_path_factory) -> MaskedLanguageModel:
    return load_masked_model(save_tiny_masked_model("bert", tmp_path_factory.mktemp("bert")))


def one_at_a_time(lm: MaskedLanguageModel, ids: list[int], words: list[int], correction: str):
    """Each token's log-probability, with the mask decided token by token."""
    found = []
    for place, (token, word) in enumerate(zip(ids, words, strict=True)):
        masked = [
            lm.mask_id
            if other == place
            or (words[other] == word and correction == "whole_word")
            or (words[other] == word and correction == "within_word_l2r" and other > place)
            else ids[other]
            for other in range(len(ids))
        ]
        with torch.no_grad():
            logits = lm.model(torch.tensor([[*lm.before, *masked, *lm.after]])).logits
        found.append(float(logits[0, place + len(lm.before)].log_softmax(-1)[token]))
    return found


@given(
    text=st.text("catshed ,.?M", min_size=1, max_size=25).filter(lambda text: text.strip()),
    correction=st.sampled_from(CORRECTIONS),
    tokens_per_batch=st.integers(1, 80),
)
@settings(max_examples=25, deadline=None)
def test_batches_give_what_single_passes_give(lm, text, correction, tokens_per_batch):
    (tokenized,) = lm.tokenize([text])
    ids, words = tokenized.tokens.ids.tolist(), tokenized.words.tolist()
    with passes(lm.model) as fed:
        found = pseudo_logprobs(lm, tokenized, correction, tokens_per_batch)
    rows = max(1, tokens_per_batch // (len(ids) + len(lm.before) + len(lm.after)))
    assert [len(one) for one in fed[:-1]] == [rows] * (len(fed) - 1)
    assert sum(map(len, fed)) == len(ids)
    assert len(fed[-1]) <= rows
    np.testing.assert_allclose(found, one_at_a_time(lm, ids, words, correction), atol=2e-5)
