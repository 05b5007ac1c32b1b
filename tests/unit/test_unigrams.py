"""Unigrams: corpus counts, published tables and the unigrahams estimator."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import DynamicCache, GPTNeoXConfig, GPTNeoXForCausalLM

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.io.tables import write_table
from lingprob.models.loading import LanguageModel
from lingprob.scoring.key_values import make_room
from lingprob.unigrams import unigrahams
from lingprob.unigrams.counts import count_tokens
from lingprob.unigrams.estimate import merge_sums, read_unigrams, smoothed_logprobs, sums_table
from lingprob.unigrams.published import published_counts, published_logprobs
from lingprob.unigrams.unigrahams import Sampling, sample_totals, unigrahams_sums
from models_for_tests import CONFIGS, CONTEXT_WINDOW, VOCABULARY_SIZE, tiny_model
from without_float64 import without_float64

SMALL_VOCABULARY, LENGTH, PROMPT = 7, 4, [3]


@pytest.fixture
def tokenizer(tiny_tokenizer):
    return tiny_tokenizer.tokenizer


def test_additive_smoothing_by_hand():
    sums = sums_table(np.array([6, 0, 2]))
    table = smoothed_logprobs(sums, smoothing=0.5, total=8)
    np.testing.assert_allclose(np.exp(table["logprob"]), [6.5 / 9.5, 0.5 / 9.5, 2.5 / 9.5])
    # The sample variance of eight draws of which six are 1: (6 - 36/8) / 7; of their sum, times 8.
    expected = np.sqrt(8 * (6 - 36 / 8) / 7) / 6.5
    assert table["std_error"][0] == pytest.approx(expected)
    assert table["std_error"][1] == 0
    # Three equal draws: their sum of squares is below 0.3² / 3, because it is rounded.
    equal = sums_table(np.array([3 * 0.1]), np.array([3 * 0.1**2]))
    assert smoothed_logprobs(equal, smoothing=0.5, total=3)["std_error"].tolist() == [0]


def test_one_draw_has_no_standard_error():
    sums = sums_table(np.array([1, 1]))
    with np.errstate(all="raise"):
        for total in (0, 1):
            assert smoothed_logprobs(sums, smoothing=1.0, total=total)["std_error"].isna().all()
    # The variance of draws 1 and 0 is 0.5, and that of their sum is 1.
    two = smoothed_logprobs(sums, smoothing=1.0, total=2)
    assert two["std_error"].tolist() == pytest.approx([1 / 2, 1 / 2])


def test_unseen_tokens_need_smoothing():
    sums = sums_table(np.array([3, 0, 5, 0]))
    with pytest.raises(LingprobError, match=r"2 tokens, such as 1, never occur.*smoothing"):
        smoothed_logprobs(sums, smoothing=0.0, total=8)
    seen = smoothed_logprobs(sums_table(np.array([3, 5])), smoothing=0.0, total=8)
    np.testing.assert_allclose(np.exp(seen["logprob"]), [3 / 8, 5 / 8])


@pytest.fixture
def published(tmp_path, tokenizer):
    """Values for ' cat'-like strings; two byte tokens decode to the same replacement sign."""
    path = tmp_path / "published.json"
    values = {"a": 0.5, ".": 0.25, "\ufffd": 0.125, "Ġb": 0.0625}
    path.write_text(json.dumps({key: float(np.log(value)) for key, value in values.items()}))
    return path


def test_tokens_without_a_value_get_the_floor(published, tokenizer):
    table, metadata = published_logprobs(published, tokenizer, VOCABULARY_SIZE + 5)
    probability = dict(zip(table["token_id"], np.exp(table["logprob"]), strict=True))
    decoded = [tokenizer.decode([token_id]) for token_id in range(VOCABULARY_SIZE)]
    a, stop, b = (tokenizer.convert_tokens_to_ids(token) for token in ("a", ".", "b"))
    assert probability[a] == pytest.approx(0.5)
    assert probability[stop] == pytest.approx(0.25)
    assert probability[b] == pytest.approx(0.0625)  # the floor is the lowest published value
    assert probability[VOCABULARY_SIZE + 4] == pytest.approx(0.0625)
    shared = [token_id for token_id, text in enumerate(decoded) if text == "\ufffd"]
    assert len(shared) > 1
    assert {round(probability[token_id], 9) for token_id in shared} == {0.125}
    assert [np.exp(metadata["floor"]), metadata["published_sum"]] == pytest.approx([0.0625, 0.9375])
    assert metadata["covered_sum"] == pytest.approx(0.875)
    assert metadata["covered_tokens"] == pytest.approx((2 + len(shared)) / (VOCABULARY_SIZE + 5))
    assert metadata["sum"] == pytest.approx(np.exp(table["logprob"]).sum())


def test_normalised_values_sum_to_one(published, tokenizer):
    table, metadata = published_logprobs(published, tokenizer, VOCABULARY_SIZE, normalise=True)
    decoded = [tokenizer.decode([token_id]) for token_id in range(VOCABULARY_SIZE)]
    copies = decoded.count("\ufffd")
    total = 0.875 + (VOCABULARY_SIZE - 2 - copies) * 0.0625
    probability = np.exp(table["logprob"])
    assert probability.sum() == pytest.approx(1.0, abs=1e-12)
    assert probability[tokenizer.convert_tokens_to_ids("a")] == pytest.approx(0.5 / total)
    assert probability[decoded.index("\ufffd")] == pytest.approx(0.125 / copies / total)
    assert metadata["normalising_constant"] == pytest.approx(np.log(total))
    assert metadata["sum"] == pytest.approx(1.0)


class SpacedTokenizer:
    """Decodes ids to its strings; cleans spacing up unless told not to."""

    def __init__(self, *strings):
        self.strings = strings or (".", " .", " do")

    def __len__(self):
        return len(self.strings)

    def decode(self, ids, clean_up_tokenization_spaces=True):
        text = self.strings[ids[0]]
        return text.replace(" .", ".") if clean_up_tokenization_spaces else text


def test_spacing_is_cleaned_up(published):
    table, metadata = published_logprobs(published, SpacedTokenizer(), 3)
    np.testing.assert_allclose(np.exp(table["logprob"]), [0.25, 0.25, 0.0625])
    assert metadata["covered_tokens"] == pytest.approx(2 / 3)
    assert metadata["covered_tokens_exactly"] == pytest.approx(1 / 3)
    normalised, _ = published_logprobs(published, SpacedTokenizer(), 3, normalise=True)
    np.testing.assert_allclose(np.exp(normalised["logprob"]), np.array([4, 1, 1]) / 6)


def test_only_strings_absent_from_the_file_are_cleaned(tmp_path):
    cleaned = [".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"]
    path = tmp_path / "published.json"
    path.write_text(json.dumps({**dict.fromkeys([*cleaned, "a'b"], 0), " !": -2.0}))
    spaced = SpacedTokenizer(*(f" {text}" for text in cleaned), "a ' b")
    table, metadata = published_logprobs(path, spaced, 10)
    assert table["logprob"].tolist() == [0, 0, -2, *[0] * 7]
    assert metadata["covered_tokens_exactly"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    "content",
    ["[1, 2]", "{}", '{"b": -1, "a": 1}', '{"a": "x"}', "{", '{"a": NaN}', '{"a": -Infinity}'],
)
def test_a_file_of_other_values_is_refused(tmp_path, tokenizer, content):
    path = tmp_path / "published.json"
    path.write_text(content)
    with pytest.raises(LingprobError, match=r"published\.json: (not a JSON|.*(\[\]|\['a'\])\.$)"):
        published_logprobs(path, tokenizer, VOCABULARY_SIZE)


def test_published_counts_are_padded_to_the_vocabulary(tmp_path):
    path = tmp_path / "counts.npy"
    np.save(path, np.array([[4, 0, 2]], dtype=np.uint32))
    assert published_counts(path, 5)["sum"].tolist() == [4, 0, 2, 0, 0]
    with pytest.raises(LingprobError, match=r"counts of 3 tokens.*another tokenizer"):
        published_counts(path, 2)
    for fault in (np.zeros((2, 3), dtype=int), np.zeros(3), np.array([2, -1])):
        np.save(path, fault)
        with pytest.raises(LingprobError, match="Token counts are non-negative"):
            published_counts(path, 9)
    for content in (b"nothing", b""):
        path.write_bytes(content)
        with pytest.raises(LingprobError, match="not a NumPy file"):
            published_counts(path, 5)


class Letters:
    """A tokenizer of single letters, the first of which has id 0."""

    def __call__(self, texts, **_):
        return {"input_ids": [["abc".index(letter) for letter in text] for text in texts]}


def test_the_first_and_last_token_are_counted():
    assert count_tokens(["cab", "aa"], Letters(), 3).tolist() == [3, 1, 1]
    assert count_tokens([""], Letters(), 3).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="broadcast"):
        count_tokens(["cab"], Letters(), 2)


def wrapped(model, vocabulary_size):
    place = torch.device("cpu"), torch.float32, CONTEXT_WINDOW, Path("tiny")
    return LanguageModel(model, None, *place, None, vocabulary_size)


@pytest.fixture(scope="module")
def lm():
    torch.manual_seed(1)
    config = GPTNeoXConfig(
        vocab_size=SMALL_VOCABULARY, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=CONTEXT_WINDOW,
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return wrapped(model, SMALL_VOCABULARY)


@pytest.fixture(scope="module")
def exact(lm):
    """f(w | x) of Definition 1: occurrences in all 7^4 responses, weighted by probability."""
    responses = np.array(list(itertools.product(range(SMALL_VOCABULARY), repeat=LENGTH)))
    ids = torch.from_numpy(np.hstack([np.tile(PROMPT, (len(responses), 1)), responses]))
    with torch.no_grad():
        logits = lm.model(ids).logits.double()
    logprobs = (logits - logits.logsumexp(dim=-1, keepdim=True))[:, :-1]
    logprob = logprobs.gather(2, ids[:, 1:, None]).sum(dim=(1, 2)).numpy()
    occurrences = (responses[:, :, None] == np.arange(SMALL_VOCABULARY)).sum(axis=1)
    expected = np.exp(logprob) @ occurrences
    assert expected.sum() == pytest.approx(LENGTH)
    return expected


def sampled_otherwise(lm, top_k, suppressed):
    """The expectation of the sums if texts are sampled from a part of the vocabulary: whole
    distributions, weighted by the probability that such a text leads there."""
    expected = np.zeros(SMALL_VOCABULARY)
    texts = {(): 1.0}
    for _ in range(LENGTH):
        longer: dict = {}
        for text, weight in texts.items():
            with torch.no_grad():
                logits = lm.model(torch.tensor([[*PROMPT, *text]])).logits[0, -1].double()
            probability = torch.softmax(logits, dim=0).numpy()
            expected += weight * probability
            allowed = [token for token in np.argsort(-probability) if token != suppressed][:top_k]
            for token in allowed:
                share = probability[token] / probability[allowed].sum()
                longer[(*text, token)] = weight * share
        texts = longer
    return expected


@pytest.mark.parametrize(
    ("top_k", "suppressed"), [(1, None), (3, 1), (3, None), (None, 1), (7, None), (9, None)]
)
def test_texts_may_be_sampled_from_some_tokens(lm, exact, top_k, suppressed):
    """As the released code does it, with sums over whole distributions."""
    sums, _, samples = estimate(lm, 4000, 5, top_k=top_k, suppressed_id=suppressed)
    expected = sampled_otherwise(lm, top_k, suppressed)
    assert sums / samples == pytest.approx(expected, abs=0.02)
    apart = np.abs(expected - exact).max()
    assert apart < 1e-5 if top_k in (7, 9) else apart > 0.08


def estimate(lm, samples, seed, batch_size=250, progress=None, **options):
    sampling = Sampling(samples, seed, length=LENGTH, batch_size=batch_size, **options)
    return unigrahams_sums(lm, PROMPT, sampling, progress)


def test_the_estimate_agrees_with_exhaustive_enumeration(lm, exact):
    assert exact.max() / exact.min() > 3  # far from uniform
    sums, squares, samples = estimate(lm, samples=20_000, seed=5)
    assert samples == 20_000
    mean = sums / samples
    std_error = np.sqrt((squares / samples - mean**2) / (samples - 1))
    z = (mean - exact) / std_error
    assert (np.abs(z) < 4.5).all()
    assert np.sqrt((z**2).mean()) < 2
    assert (std_error < 0.02 * exact).all()  # so that the agreement means something
    assert mean.sum() == pytest.approx(LENGTH, abs=1e-6)


def test_standard_errors_are_calibrated_over_many_seeds(lm, exact):
    tables = []
    for seed in range(200):
        sums, squares, samples = estimate(lm, samples=60, seed=seed, batch_size=60)
        tables.append(smoothed_logprobs(sums_table(sums, squares), smoothing=0.0, total=samples))
    logprobs = np.array([table["logprob"] for table in tables])
    claimed = np.array([table["std_error"] for table in tables])
    ratio = claimed.mean(axis=0) / logprobs.std(axis=0, ddof=1)
    assert ((ratio > 0.85) & (ratio < 1.15)).all()
    z = (logprobs - np.log(exact / LENGTH)) / claimed
    assert 0.9 < np.sqrt((z**2).mean()) < 1.15


@pytest.mark.parametrize("family", CONFIGS)
def test_batches_equal_single_responses(family):
    # More than the window of a family that sees 16 tokens back in some layers.
    model, prompt, steps = tiny_model(family), [0, 5, 7], 18
    uniforms = np.random.default_rng(0).random((steps, 3))
    totals = sample_totals(wrapped(model, VOCABULARY_SIZE), prompt, uniforms).numpy()
    for row in range(3):
        ids, expected = list(prompt), np.zeros(VOCABULARY_SIZE)
        for step in range(steps + 1):
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, -1].double()
            probabilities = torch.exp(logits - logits.logsumexp(dim=0)).numpy()
            expected += probabilities
            if step < steps:
                ids.append(int(np.searchsorted(probabilities.cumsum(), uniforms[step, row])))
        np.testing.assert_allclose(totals[row], expected, atol=1e-6)
        assert totals[row].sum() == pytest.approx(steps + 1, abs=1e-5)
    half = sample_totals(wrapped(model.bfloat16(), VOCABULARY_SIZE), prompt, uniforms)
    assert half.sum(dim=1).numpy() == pytest.approx([steps + 1] * 3, abs=1e-5)


def test_shards_add_up_to_the_whole(lm):
    progress = Progress(None, "samples", "samples")
    whole = estimate(lm, samples=230, seed=9, batch_size=50, progress=progress)
    assert progress.done == 230
    shards = [
        estimate(lm, samples=230, seed=9, batch_size=50, shard=shard, n_shards=3)
        for shard in range(3)
    ]
    assert [samples for *_, samples in shards] == [100, 80, 50]  # batches 0 and 3, 1 and 4, 2
    merged = merge_sums(sums_table(sums, squares) for sums, squares, _ in shards)
    np.testing.assert_allclose(merged["sum"], whole[0], rtol=1e-12)
    np.testing.assert_allclose(merged["sum_of_squares"], whole[1], rtol=1e-12)
    other = estimate(lm, samples=230, seed=10, batch_size=50)
    assert np.abs(other[0] - whole[0]).max() > 1


def test_merged_sums_are_matched_by_token():
    one, other = (sums_table(np.array(values)) for values in ([1, 2, 4], [8, 16, 32]))
    other = other.set_axis([7, 8, 9])  # rows with other labels
    assert merge_sums([one, other])["sum"].tolist() == [9, 18, 36]
    with pytest.raises(LingprobError, match="shards 0 and 1 have different token ids"):
        merge_sums([one, other.iloc[::-1]])


def test_unigrams_are_indexed_by_token_id(tmp_path):
    """Ids with gaps, not in their order."""
    for name, ids in (("a", [5, 0, 9]), ("b", [1, 7, 3])):
        sums = sums_table(np.array([1, 2, 5])).assign(token_id=np.array(ids, np.int32))
        write_table(smoothed_logprobs(sums, smoothing=1.0, total=8), "unigrams", tmp_path / name)
    found = read_unigrams(["first", "second"], [tmp_path / "a", tmp_path / "b"])
    assert {name: series.index.tolist() for name, series in found.items()} == {
        "first": [5, 0, 9], "second": [1, 7, 3]
    }  # fmt: skip
    assert found["first"].loc[9] == pytest.approx(np.log(6 / 11))
    assert found["second"].loc[1] == pytest.approx(np.log(2 / 11))


def test_a_device_without_float64_gives_the_same_sums(lm):
    sums, squares, _ = estimate(lm, samples=20, seed=0, batch_size=5)
    with without_float64():
        others = estimate(lm, samples=20, seed=0, batch_size=5)
    np.testing.assert_allclose(others[0], sums, rtol=1e-6)
    np.testing.assert_allclose(others[1], squares, rtol=1e-6)


def test_room_is_made_once_where_no_window_slides():
    """Of two layers the first sees 16 tokens back."""
    cache, draws = DynamicCache(config=CONFIGS["gemma2"]), torch.Generator().manual_seed(1)
    states = [torch.randn(1, 2, n, 8, generator=draws) for n in (5, 1, 2)]
    for layer in range(2):
        cache.update(states[0], -states[0], layer)
    sliding, _ = cache.layers
    make_room(cache, 8)
    place = cache.layers[1].keys.data_ptr()
    for some in states[1:]:
        keys, values = cache.update(some, -some, 1)
    assert torch.equal(keys, torch.cat(states, dim=2))
    assert torch.equal(values, -keys)
    assert keys.data_ptr() == place  # none was copied again
    assert cache.layers[0] is sliding


def test_responses_beyond_the_window_are_refused(lm):
    with pytest.raises(LingprobError, match=f"At most {CONTEXT_WINDOW} is possible"):
        unigrahams_sums(lm, PROMPT, Sampling(samples=2, seed=0, length=CONTEXT_WINDOW + 1))
    assert Sampling(2, 0) == Sampling(2, 0, length=34, batch_size=128)
    sums, _, _ = unigrahams_sums(lm, PROMPT, Sampling(2, 0, length=CONTEXT_WINDOW, batch_size=2))
    assert sums.sum() == pytest.approx(2 * CONTEXT_WINDOW, abs=1e-4)


@pytest.mark.parametrize("vocabulary", [1, 5, 255, 256, 257, 512, 1000])
def test_tokens_are_drawn_as_from_one_long_sum(vocabulary):
    """A block, then a token in it. Whole numbers, many of them 0, make all sums exact."""
    rng = np.random.default_rng(vocabulary)
    weights = rng.integers(0, 9, (2000, vocabulary)) * rng.integers(0, 2, (2000, vocabulary))
    weights[:, rng.integers(vocabulary)] += 1
    uniforms = rng.random(2000)
    uniforms[:3] = 0, np.nextafter(1, 0), np.nextafter(0.5, 0)
    drawn = unigrahams._draw(torch.from_numpy(weights).float(), uniforms)[:, 0].numpy()
    ends = weights.cumsum(axis=1, dtype=np.float64)
    expected = [
        np.searchsorted(row, share * row[-1], side="right")
        for row, share in zip(ends[1:], uniforms[1:], strict=True)
    ]
    assert drawn[0] == np.flatnonzero(weights[0])[0]
    assert (drawn[1:] == np.minimum(expected, [np.flatnonzero(w)[-1] for w in weights[1:]])).all()
    assert (np.take_along_axis(weights, drawn[:, None], 1) > 0).all()


@pytest.mark.parametrize("vocabulary", [300, 49_152])
def test_short_sums_add_up_to_what_float64_says(vocabulary):
    values = torch.rand(4, vocabulary, generator=torch.Generator().manual_seed(1)) ** 20
    sums = unigrahams._block_sums(values).sum(dim=1)
    assert sums.numpy() == pytest.approx(values.double().sum(dim=1).numpy(), rel=1e-7)
