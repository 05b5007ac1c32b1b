"""Counts, smoothing and published tables on hand-made input."""

import json

import numpy as np
import pytest
from transformers import AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.io.tables import read_table, write_table
from lingprob.unigrams.counts import count_tokens
from lingprob.unigrams.estimate import merge_sums, smoothed_logprobs, sums_table
from lingprob.unigrams.published import published_counts, published_logprobs
from models_for_tests import VOCABULARY_SIZE, save_tiny_tokenizer


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tokenizer")
    save_tiny_tokenizer(directory)
    return AutoTokenizer.from_pretrained(directory)


def test_special_tokens_in_the_text_are_counted_as_plain_text(tokenizer):
    counts = count_tokens(["<s>a</s>"], tokenizer, VOCABULARY_SIZE)
    ids = tokenizer.convert_tokens_to_ids(list("<s>a</s>"))
    assert counts[:3].sum() == 0
    assert counts.sum() == len("<s>a</s>")
    assert counts[ids[0]] == 2


def test_tokens_outside_the_vocabulary_and_shards_that_do_not_exist_are_refused(tokenizer):
    with pytest.raises(LingprobError, match="vocabulary has 10 entries"):
        count_tokens(["The cat"], tokenizer, 10)
    for shard, n_shards in [(2, 2), (-1, 2)]:
        with pytest.raises(LingprobError, match=f"shard {shard} of 2"):
            count_tokens([], tokenizer, 10, shard=shard, n_shards=n_shards)


def test_additive_smoothing_by_hand():
    sums = sums_table(np.array([6, 0, 2]))
    table = smoothed_logprobs(sums, smoothing=0.5, total=8)
    np.testing.assert_allclose(np.exp(table["logprob"]), [6.5 / 9.5, 0.5 / 9.5, 2.5 / 9.5])
    # The sample variance of eight draws of which six are 1: (6 - 36/8) / 7; of their sum, times 8.
    expected = np.sqrt(8 * (6 - 36 / 8) / 7) / 6.5
    assert table["std_error"][0] == pytest.approx(expected)
    assert table["std_error"][1] == 0


def test_two_draws_have_a_standard_error_and_one_has_none():
    sums = sums_table(np.array([1, 1]))
    assert smoothed_logprobs(sums, smoothing=1.0, total=1)["std_error"].isna().all()
    # Of draws 1 and 0 the variance is .5, of their sum 1.
    two = smoothed_logprobs(sums, smoothing=1.0, total=2)
    assert two["std_error"].tolist() == pytest.approx([1 / 2, 1 / 2])


def test_without_smoothing_an_unseen_token_is_an_error_not_minus_infinity():
    sums = sums_table(np.array([3, 0, 5, 0]))
    with pytest.raises(LingprobError, match=r"token 1 never occurs .* 1 others.*smoothing"):
        smoothed_logprobs(sums, smoothing=0.0, total=8)
    seen = smoothed_logprobs(sums_table(np.array([3, 5])), smoothing=0.0, total=8)
    np.testing.assert_allclose(np.exp(seen["logprob"]), [3 / 8, 5 / 8])


@pytest.mark.parametrize(("value", "smoothing"), [(-1.0, 2.0), (np.nan, 1.0), (1.0, -1.0)])
def test_impossible_sums_and_smoothing_are_refused(value, smoothing):
    with pytest.raises(LingprobError, match=r"token 1 has sum .* smoothing is"):
        smoothed_logprobs(sums_table(np.array([2.0, value])), smoothing=smoothing, total=8)


def test_tables_survive_the_file_format(tmp_path):
    sums = sums_table(np.array([1, 2]))
    write_table(sums, "unigram_sums", tmp_path / "sums.parquet")
    sums = read_table(tmp_path / "sums.parquet", "unigram_sums")
    table = smoothed_logprobs(merge_sums([sums, sums]), smoothing=1.0, total=6)
    write_table(table, "unigrams", tmp_path / "unigrams.parquet")
    logprobs = read_table(tmp_path / "unigrams.parquet", "unigrams")["logprob"]
    np.testing.assert_allclose(np.exp(logprobs), [3 / 8, 5 / 8])


def test_shards_of_different_vocabularies_do_not_merge():
    with pytest.raises(LingprobError, match="shard 1: 3 token ids"):
        merge_sums([sums_table(np.ones(2)), sums_table(np.ones(3))])
    with pytest.raises(LingprobError, match="at least one shard"):
        merge_sums([])


@pytest.fixture
def published(tmp_path, tokenizer):
    """Values for ' cat'-like strings; two byte tokens decode to the same replacement sign."""
    path = tmp_path / "published.json"
    values = {"a": 0.5, ".": 0.25, "\ufffd": 0.125, "Ġb": 0.0625}
    path.write_text(json.dumps({key: float(np.log(value)) for key, value in values.items()}))
    return path


def test_published_values_are_kept_and_the_rest_gets_the_floor(published, tokenizer):
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
    assert metadata["published_sum"] == pytest.approx(0.9375)
    assert metadata["covered_sum"] == pytest.approx(0.875)
    assert metadata["covered_tokens"] == pytest.approx((2 + len(shared)) / (VOCABULARY_SIZE + 5))
    assert metadata["sum"] == pytest.approx(np.exp(table["logprob"]).sum())


def test_normalising_shares_a_string_out_and_subtracts_one_constant(published, tokenizer):
    table, metadata = published_logprobs(
        published, tokenizer, VOCABULARY_SIZE, normalise=True, floor=-12.0
    )
    decoded = [tokenizer.decode([token_id]) for token_id in range(VOCABULARY_SIZE)]
    copies = decoded.count("\ufffd")
    total = 0.875 + (VOCABULARY_SIZE - 2 - copies) * np.exp(-12.0)
    probability = np.exp(table["logprob"])
    assert probability.sum() == pytest.approx(1.0, abs=1e-12)
    assert probability[tokenizer.convert_tokens_to_ids("a")] == pytest.approx(0.5 / total)
    assert probability[decoded.index("\ufffd")] == pytest.approx(0.125 / copies / total)
    assert metadata["normalising_constant"] == pytest.approx(np.log(total))
    assert metadata["sum"] == pytest.approx(1.0)


class SpacedTokenizer:
    """Decodes id 0 to '.', 1 to ' .', 2 to ' do'; cleans spacing up unless told not to."""

    def __len__(self):
        return 3

    def decode(self, ids, clean_up_tokenization_spaces=True):
        text = [".", " .", " do"][ids[0]]
        return text.replace(" .", ".") if clean_up_tokenization_spaces else text


def test_a_spaced_full_stop_has_the_value_of_the_cleaned_up_string(published):
    table, metadata = published_logprobs(published, SpacedTokenizer(), 3)
    np.testing.assert_allclose(np.exp(table["logprob"]), [0.25, 0.25, 0.0625])
    assert metadata["covered_tokens"] == pytest.approx(2 / 3)
    assert metadata["covered_tokens_exactly"] == pytest.approx(1 / 3)
    normalised, _ = published_logprobs(published, SpacedTokenizer(), 3, normalise=True)
    np.testing.assert_allclose(np.exp(normalised["logprob"]), np.array([4, 1, 1]) / 6)


def test_a_string_that_is_in_the_file_is_not_cleaned_up(tmp_path):
    path = tmp_path / "published.json"
    path.write_text(json.dumps({".": -1.0, " .": -2.0}))
    table, metadata = published_logprobs(path, SpacedTokenizer(), 3)
    assert table["logprob"].tolist() == [-1, -2, -2]
    assert metadata["covered_tokens_exactly"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "content",
    ["[1, 2]", "{}", '{"a": 0.5}', '{"a": "x"}', "{", '{"a": NaN}', '{"a": -Infinity}'],
)
def test_a_file_that_holds_no_log_probabilities_is_refused(tmp_path, tokenizer, content):
    path = tmp_path / "published.json"
    path.write_text(content)
    with pytest.raises(LingprobError, match=r"published\.json"):
        published_logprobs(path, tokenizer, VOCABULARY_SIZE)


def test_a_certain_token_has_log_probability_zero(tmp_path):
    path = tmp_path / "published.json"
    path.write_text('{".": 0}')
    table, _ = published_logprobs(path, SpacedTokenizer(), 3)
    assert table["logprob"].tolist() == [0, 0, 0]


def test_published_counts_are_padded_to_the_vocabulary(tmp_path):
    path = tmp_path / "counts.npy"
    np.save(path, np.array([[4, 0, 2]], dtype=np.uint32))
    assert published_counts(path, 5)["sum"].tolist() == [4, 0, 2, 0, 0]
    assert published_counts(path, 3)["sum"].tolist() == [4, 0, 2]
    with pytest.raises(LingprobError, match=r"counts of 3 tokens.*another tokenizer"):
        published_counts(path, 2)
    for fault in (np.zeros((2, 3), dtype=int), np.zeros(3), np.array([2, -1])):
        np.save(path, fault)
        with pytest.raises(LingprobError, match="token counts are non-negative"):
            published_counts(path, 9)
    np.save(path, np.array([4, 0, 2]))
    assert published_counts(path, 3)["sum"].tolist() == [4, 0, 2]
    path.write_bytes(b"nothing")
    with pytest.raises(LingprobError, match="not a NumPy file"):
        published_counts(path, 5)


class Letters:
    """A tokenizer of single letters, the first of which has id 0."""

    def __call__(self, texts, **_):
        return {"input_ids": [["abc".index(letter) for letter in text] for text in texts]}


def test_the_first_and_the_last_token_of_the_vocabulary_are_counted():
    assert count_tokens(["cab", "aa"], Letters(), 3).tolist() == [3, 1, 1]
    assert count_tokens(["aa"], Letters(), 3).tolist() == [2, 0, 0]
    assert count_tokens([""], Letters(), 3).tolist() == [0, 0, 0]
    with pytest.raises(LingprobError):
        count_tokens(["cab"], Letters(), 2)
