"""SmolLM2 on the Linguistic Inquiry sentences against float64, one sentence at a time."""

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM

from lingprob.models.loading import load_language_model
from lingprob.scoring.engine import Scorer
from models_for_tests import plain_logprobs


def float64_sums(directory, texts):
    """Sum over tokens of ln p in float64; one sentence at a time, <|endoftext|> before it."""
    language_model = load_language_model(directory, device="cpu")
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float64)
    sums = []
    for tokens in language_model.tokenize(texts):
        sums.append(plain_logprobs(model, tokens.ids.tolist(), 0).sum())
    return np.array(sums)


def check_against_float64(directory, pairs):
    """Check pairs (good, bad); return the mean and largest difference per sentence in nats."""
    texts = [text for pair in pairs for text in pair]
    language_model = load_language_model(directory, device="cpu")
    start_id = language_model.start_id("<|endoftext|>")
    sequences = [tokens.ids for tokens in language_model.tokenize(texts)]
    scored = Scorer(language_model).score(sequences, start_id)
    ours = np.array([logprobs.sum(dtype=np.float64) for logprobs in scored])
    reference = float64_sums(directory, texts)
    differences = np.abs(ours - reference)
    flipped = np.sign(ours[::2] - ours[1::2]) != np.sign(reference[::2] - reference[1::2])
    print(
        f"\n{len(texts)} sentences: mean difference {differences.mean():.2e} nats, largest "
        f"{differences.max():.2e}, preferences flipped {int(flipped.sum())}"
    )
    assert differences.mean() <= 2e-5
    assert differences.max() <= 1e-3
    assert not flipped.any()


@pytest.fixture(scope="module")
def pairs(mirror):
    frame = pd.read_csv(mirror / "linguistic_inquiry" / "linguistic_inquiry_data.csv")
    return list(zip(frame["Good Sentence"], frame["Bad Sentence"], strict=True))


def test_a_sample_equals_float64(smollm2, pairs):
    check_against_float64(smollm2, pairs[:: len(pairs) // 12][:12])


@pytest.mark.slow
def test_all_sentences_equal_float64(smollm2, pairs):
    assert len(pairs) == 725
    check_against_float64(smollm2, pairs)


def test_a_sentence_is_more_probable_than_shuffled_words(smollm2):
    language_model = load_language_model(smollm2, device="cpu")
    texts = ["The children are playing in the garden.", "Garden the in playing are children the."]
    sequences = [tokens.ids for tokens in language_model.tokenize(texts)]
    natural, shuffled = (x.sum() for x in Scorer(language_model).score(sequences, 0))
    assert natural > shuffled + 20
